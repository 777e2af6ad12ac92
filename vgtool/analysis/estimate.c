/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/estimate.h"

#include <math.h>

#include "vgtool/analysis/student.h"

struct vg_estimate vg_estimate_make(const struct vg_spread *spread, double expected_variance, bool combine)
{
	struct vg_estimate estimate = { .mean = spread->mean, .runs = spread->count };

	if (spread->count > 1) {
		estimate.freedom = (double)(spread->count - 1);
		estimate.variance = spread->squared_distances / estimate.freedom;
	}
	if (expected_variance >= 0 && (combine || spread->count < 2)) {
		double squares = estimate.variance * estimate.freedom + expected_variance * VG_EXPECTED_FREEDOM;

		estimate.freedom += VG_EXPECTED_FREEDOM;
		estimate.variance = squares / estimate.freedom;
	}
	return estimate;
}

/* A variance with its degrees of freedom. */
struct known_variance {
	double variance, freedom;
};

/* The variance of (b's mean - factor * a's mean), by Welch and Satterthwaite. */
static struct known_variance difference_variance(const struct vg_estimate *a, const struct vg_estimate *b,
						 double factor)
{
	struct known_variance known = { 0 };
	double of_a, of_b;

	if (a->runs == 0 || b->runs == 0 || (a->freedom <= 0 && b->freedom <= 0))
		return known;
	of_a = (a->freedom > 0 ? a : b)->variance / (double)a->runs * factor * factor;
	of_b = (b->freedom > 0 ? b : a)->variance / (double)b->runs;
	known.variance = of_a + of_b;
	if (a->freedom <= 0 || b->freedom <= 0 || known.variance <= 0)
		known.freedom = fmax(a->freedom, b->freedom);
	else
		known.freedom = known.variance * known.variance /
				(of_a * of_a / a->freedom + of_b * of_b / b->freedom);
	return known;
}

struct vg_estimate_change vg_estimate_compare(const struct vg_estimate *a, const struct vg_estimate *b)
{
	struct known_variance known = difference_variance(a, b, 1);

	return (struct vg_estimate_change){
		.change = b->mean - a->mean, .has_margin = known.freedom > 0,
		.margin = known.variance > 0 ? vg_student_margin(known.freedom) * sqrt(known.variance) : 0,
	};
}

double vg_estimate_exceeds(const struct vg_estimate *a, const struct vg_estimate *b, double limit_percent)
{
	double factor = 1 + limit_percent / 100, excess = b->mean - factor * a->mean;
	struct known_variance known = difference_variance(a, b, factor);

	if (a->freedom <= 0 || b->freedom <= 0 || known.freedom <= 0)
		return NAN;
	if (known.variance <= 0)
		return excess > 0 ? 0 : 1;
	return vg_student_above(excess / sqrt(known.variance), known.freedom);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/spread.h"

#include <math.h>

void vg_spread_add(struct vg_spread *spread, double value)
{
	double distance = value - spread->mean;

	if (spread->count == 0)
		spread->min = spread->max = value;
	spread->count++;
	spread->sum += value;
	spread->mean += distance / (double)spread->count;
	spread->squares += distance * (value - spread->mean);
	spread->min = fmin(spread->min, value);
	spread->max = fmax(spread->max, value);
}

void vg_spread_add_zeros(struct vg_spread *spread, size_t count)
{
	while (count-- > 0)
		vg_spread_add(spread, 0);
}

double vg_spread_deviation(const struct vg_spread *spread)
{
	return spread->count > 1 ? sqrt(spread->squares / (double)(spread->count - 1)) : 0;
}

/* Student's t that 2.5% exceed. */
static double t_quantile(double freedom)
{
	static const double table[] = {
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
	};
	enum { ROWS = sizeof table / sizeof *table };

	if (freedom < 1)
		return table[0];
	if (freedom < ROWS + 1)
		return table[(size_t)freedom - 1];
	/* The first term of the expansion around the normal distribution's quantile. */
	return 1.959964 + 2.372271 / freedom;
}

static double variance(const struct vg_spread *spread, const struct vg_spread *other)
{
	double deviation = vg_spread_deviation(spread->count > 1 ? spread : other);

	return deviation * deviation / (double)spread->count;
}

struct vg_spread_change vg_spread_compare(const struct vg_spread *a, const struct vg_spread *b)
{
	struct vg_spread_change change = { .change = b->mean - a->mean };
	double of_a, of_b, freedom = 0;

	if (a->count == 0 || b->count == 0 || (a->count < 2 && b->count < 2))
		return change;
	of_a = variance(a, b);
	of_b = variance(b, a);
	change.has_margin = true;
	if (a->count < 2 || b->count < 2)
		freedom = (double)(a->count < 2 ? b->count : a->count) - 1;
	else if (of_a + of_b > 0)
		freedom = (of_a + of_b) * (of_a + of_b) /
			  (of_a * of_a / (double)(a->count - 1) + of_b * of_b / (double)(b->count - 1));
	change.margin = of_a + of_b > 0 ? t_quantile(freedom) * sqrt(of_a + of_b) : 0;
	return change;
}

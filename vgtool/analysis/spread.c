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
	spread->squared_distances += distance * (value - spread->mean);
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
	return spread->count > 1 ? sqrt(spread->squared_distances / (double)(spread->count - 1)) : 0;
}

/* The 97.5 % quantile of Student's t distribution. */
static double t_quantile(double degrees_of_freedom)
{
	static const double table[] = {
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
	};
	enum { ROWS = sizeof table / sizeof *table };

	if (degrees_of_freedom < 1)
		return table[0];
	if (degrees_of_freedom < ROWS + 1)
		return table[(size_t)degrees_of_freedom - 1];
	/* More degrees of freedom than the table has: the quantile of the normal distribution plus the first term of
	 * the expansion around it. */
	return 1.959964 + 2.372271 / degrees_of_freedom;
}

/* Variance of the mean of `spread`.  If it has only one number, its standard deviation is assumed to be that of
 * `other`. */
static double mean_variance(const struct vg_spread *spread, const struct vg_spread *other)
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
	of_a = mean_variance(a, b);
	of_b = mean_variance(b, a);
	change.has_margin = true;
	if (a->count < 2 || b->count < 2)
		freedom = (double)(a->count < 2 ? b->count : a->count) - 1;
	else if (of_a + of_b > 0)
		freedom = (of_a + of_b) * (of_a + of_b) /
			  (of_a * of_a / (double)(a->count - 1) + of_b * of_b / (double)(b->count - 1));
	change.margin = of_a + of_b > 0 ? t_quantile(freedom) * sqrt(of_a + of_b) : 0;
	return change;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/student.h"

#include <math.h>
#include <stddef.h>

/* With more degrees of freedom than this, the normal distribution is used.  Its probabilities are exact to 0.001
 * there, and the fraction below would be long. */
static const double NORMAL_FREEDOM = 10000;

/* The regularized incomplete beta function I_x(a, b), for x below (a + 1) / (a + b + 2): the continued fraction of the
 * Digital Library of Mathematical Functions, 8.17.22.  The number of terms that it needs is proportional to the square
 * root of the larger parameter.  The terms are computed from the last to the first. */
static double beta_fraction(double x, double a, double b)
{
	double scale = exp(a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b)) / a;
	double fraction = 1;

	for (int m = 30 + (int)(6 * sqrt(fmax(a, b))); m >= 1; m--) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		fraction = 1 + even / (1 + odd / fraction);
	}
	return scale / (1 - (a + b) * x / (a + 1) / fraction);
}

double vg_student_above(double t, double freedom)
{
	double square = t * t, half, x;

	if (freedom > NORMAL_FREEDOM)
		return erfc(t / sqrt(2)) / 2;
	if (t == 0)
		return 0.5;
	if (isinf(square))
		return t > 0 ? 0 : 1;
	x = freedom / (freedom + square);
	if (x < (freedom / 2 + 1) / (freedom / 2 + 2.5))
		half = beta_fraction(x, freedom / 2, 0.5) / 2;
	else
		half = (1 - beta_fraction(square / (freedom + square), 0.5, freedom / 2)) / 2;
	return t > 0 ? half : 1 - half;
}

double vg_student_margin(double freedom)
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
	/* Above the table: the quantile of the normal distribution, and the first term of the expansion around it. */
	return 1.959964 + 2.372271 / freedom;
}

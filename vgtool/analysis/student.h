/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_STUDENT_H
#define VG_VGTOOL_STUDENT_H

/* The probability that a number of Student's t distribution is above t.  `freedom`: degrees of freedom, above 0. */
double vg_student_above(double t, double freedom);

/* The t for which vg_student_above() is 2.5 %.  This is half the width of a 95 % confidence interval, in standard
 * errors.  Degrees of freedom are rounded down, and below 1 they count as 1. */
double vg_student_margin(double freedom);

#endif

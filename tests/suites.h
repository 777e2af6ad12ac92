/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_TESTS_SUITES_H
#define VG_TESTS_SUITES_H

#include <check.h>

/* One suite a file, in check_<noun>.c; the runner runs them all, or those named. */
Suite *capture_suite(void);
Suite *vgctl_suite(void);

#endif

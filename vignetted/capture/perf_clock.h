/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_PERF_CLOCK_H
#define VG_VIGNETTED_PERF_CLOCK_H

#include <stdint.h>

/*
 * The times of perf records are CLOCK_MONOTONIC of the initial time namespace (time_namespaces(7)).  The helper reads
 * CLOCK_MONOTONIC of its own namespace.  The helper's clock is ahead of the records' clock by a constant, which may be
 * negative.
 */

/* Sets *offset_ns to how far the helper's clock is ahead of the records' clock.  Returns 0, -EXDEV if that cannot be
 * found out, or another negative errno. */
int vg_perf_clock_offset(int64_t *offset_ns);

#endif

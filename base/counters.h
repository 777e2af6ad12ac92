/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_COUNTERS_H
#define VG_BASE_COUNTERS_H

#include <stdint.h>

#include "base/err.h"

/*
 * The perf counters that a recording can have, with the names that perf(1) uses.  A code is a number from this enum,
 * plus VG_COUNTER_USER or VG_COUNTER_KERNEL.  Programs of different versions exchange codes, so a number is never
 * reused.
 *
 * 	uint16_t codes[VG_COUNTERS_MAX] = { 0 };
 * 	rc = vg_counters_parse("page-faults,cycles:u", codes, &err);
 */
enum vg_counter {
	VG_COUNTER_TASK_CLOCK = 1,
	VG_COUNTER_PAGE_FAULTS = 2,
	VG_COUNTER_MINOR_FAULTS = 3,
	VG_COUNTER_MAJOR_FAULTS = 4,
	VG_COUNTER_CONTEXT_SWITCHES = 5,
	VG_COUNTER_CPU_MIGRATIONS = 6,
	VG_COUNTER_HARDWARE_FIRST = 16, /* hardware perf counters from here on */
	VG_COUNTER_CYCLES = 16,
	VG_COUNTER_INSTRUCTIONS = 17,
	VG_COUNTER_CACHE_REFERENCES = 18,
	VG_COUNTER_CACHE_MISSES = 19,
	VG_COUNTER_BRANCHES = 20,
	VG_COUNTER_BRANCH_MISSES = 21,
	VG_COUNTER_BUS_CYCLES = 22,
	VG_COUNTER_REF_CYCLES = 23,
	VG_COUNTER_STALLED_FRONTEND = 24,
	VG_COUNTER_STALLED_BACKEND = 25,
	VG_COUNTER_NUMBER = 0xff,    /* mask of the number */
	VG_COUNTER_USER = 0x100,     /* NAME:u counts only user code */
	VG_COUNTER_KERNEL = 0x200,   /* NAME:k counts only kernel code */
};

/* The most perf counters in one recording, and the bytes of a buffer for one name. */
enum { VG_COUNTERS_MAX = 4, VG_COUNTER_NAME_BYTES = 32 };

/* Adds the perf counters named in `text`, separated by commas, to `codes`.  `codes` ends with a 0 unless it is full.
 * Returns 0, or -EINVAL with err set: for an unknown name or suffix, a name given twice, too many names, or a suffix
 * that the perf counter cannot have. */
int vg_counters_parse(const char *text, uint16_t codes[VG_COUNTERS_MAX], struct vg_err *err);

/* Number of codes before the 0. */
uint32_t vg_counters_count(const uint16_t codes[VG_COUNTERS_MAX]);

/* Returns 0, or -EINVAL if the codes are not a possible result of vg_counters_parse(). */
int vg_counters_check(const uint16_t codes[VG_COUNTERS_MAX]);

/* Writes the code's name to `room` and returns `room`.  The name of an unknown code is "?". */
const char *vg_counter_name(uint16_t code, char room[VG_COUNTER_NAME_BYTES]);

#endif

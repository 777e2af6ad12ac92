/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_COUNTERS_H
#define VG_BASE_COUNTERS_H

#include <stdint.h>

#include "base/err.h"

/*
 * What can be counted of each thread, by the names that perf(1) has for it.  A code is a number below,
 * perhaps with one of the bits behind it; it goes from program to program, and numbers are never
 * reused.
 */
enum vg_counter {
	VG_COUNTER_TASK_CLOCK = 1,
	VG_COUNTER_PAGE_FAULTS = 2,
	VG_COUNTER_MINOR_FAULTS = 3,
	VG_COUNTER_MAJOR_FAULTS = 4,
	VG_COUNTER_CONTEXT_SWITCHES = 5,
	VG_COUNTER_CPU_MIGRATIONS = 6,
	VG_COUNTER_OF_PROCESSOR = 16, /* from here on */
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
	VG_COUNTER_NUMBER = 0xff,    /* the code's number */
	VG_COUNTER_USER = 0x100,     /* NAME:u, only while the thread runs its own code */
	VG_COUNTER_KERNEL = 0x200,   /* NAME:k, only while it runs the kernel's */
};

/* Of a recording. */
enum { VG_COUNTERS_MAX = 4, VG_COUNTER_NAME_BYTES = 32 };

/*
 * Adds those that the text names, with a comma between, to codes, which ends with a 0 unless it is
 * full.  0, or -EINVAL with the reason: no counter has that name, it is there already, there are too
 * many, or it would count nothing.
 */
int vg_counters_parse(const char *text, uint16_t codes[VG_COUNTERS_MAX], struct vg_err *err);

/* How many there are. */
uint32_t vg_counters_count(const uint16_t codes[VG_COUNTERS_MAX]);

/* 0, or -EINVAL: these are not codes that parsing makes. */
int vg_counters_check(const uint16_t codes[VG_COUNTERS_MAX]);

/* The code's name; returns room. */
const char *vg_counter_name(uint16_t code, char room[VG_COUNTER_NAME_BYTES]);

#endif

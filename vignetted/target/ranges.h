/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_RANGES_H
#define VG_VIGNETTED_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

/* A range of executable addresses, and the time for which its contents are known.  Times are CLOCK_MONOTONIC. */
struct vg_code_range {
	uint64_t start, end;
	uint64_t since_ns;           /* when it was first seen, or when the kernel recorded it; 0: before all samples */
	uint64_t until_ns;           /* only of a past range: when other code was first seen or recorded there */
	uint32_t module;             /* index in vg_modules.items, or VG_NONE: no ELF image (JIT code) */
	bool reused;                 /* another module had some of these addresses before */
	bool found_again;            /* the current reading has found it again */
};

/* The number of past ranges that are kept.  If there are more, the oldest are dropped. */
enum { VG_RANGES_PAST = 256 };

/* The most ranges.  The kernel's records divide ranges, and only a reading of the maps joins them again.  If a mapping
 * would exceed this number, the ranges that it overlaps are removed, and the mapping gets no range.  Walks then end at
 * its addresses, and the maps are read.  The kernel allows 65,530 mappings by default (vm.max_map_count). */
enum { VG_RANGES_MAX = 1 << 18 };

/* Where the process has code now, and where it had code before. */
struct vg_ranges {
	/* now: sorted, disjoint.  previous: during a reading, the ranges before the reading; at other times, working
	 * memory of vg_ranges_map(). */
	VG_ARRAY(struct vg_code_range) now, previous;
	struct vg_code_range past[VG_RANGES_PAST];
	uint64_t past_total;         /* number of ranges ever put into `past` */
	uint64_t latest_ns;          /* the latest since_ns of any range */
};

/* One reading of all ranges: begin, add each in order of address, end.  A range keeps its times if it has the same
 * module as before.  A range that is not found again ended at read_ns.  vg_ranges_add() returns 0 or -ENOMEM. */
void vg_ranges_begin(struct vg_ranges *ranges);
int vg_ranges_add(struct vg_ranges *ranges, uint64_t start, uint64_t end, uint32_t module);
void vg_ranges_end(struct vg_ranges *ranges, uint64_t read_ns);

/* Adds a mapping of code that the kernel recorded at time_ns.  `module` is VG_NONE if the module is not known.  The
 * mapping replaces the ranges at its addresses, except ranges that a reading first saw after time_ns.  The calls must
 * be in order of time.  Returns whether ranges have changed. */
bool vg_ranges_map(struct vg_ranges *ranges, uint64_t start, uint64_t end, uint32_t module, uint64_t time_ns);

/* The current range that contains the address, or NULL. */
const struct vg_code_range *vg_ranges_now(const struct vg_ranges *ranges, uint64_t address);

/* The past range that contained the address at time_ns, or NULL. */
const struct vg_code_range *vg_ranges_past(const struct vg_ranges *ranges, uint64_t address, uint64_t time_ns);

/* Whether a past range contained one of these addresses. */
bool vg_ranges_reused(const struct vg_ranges *ranges, uint64_t start, uint64_t end);

void vg_ranges_free(struct vg_ranges *ranges);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_INTERVAL_TABLE_H
#define VG_VGTOOL_INTERVAL_TABLE_H

#include "vgtool/analysis/intervals.h"
#include "vgtool/analysis/thread_samples.h"

/*
 * Sampled time of each interval name (kind and label).  Self counts the samples whose innermost open interval, on the
 * sample's thread, has the row's name.  Total counts the samples for which any interval of that name was open; a sample
 * counts once, even if several were open.  The row with is_none has the samples in no interval, or in an interval whose
 * begin event is lost.
 */
struct vg_interval_row {
	uint32_t kind, label;        /* strings, or VG_NONE */
	bool is_none;                /* the row of samples in no interval */
	uint64_t self_ns, total_ns;
	uint64_t self_samples, total_samples;
};

struct vg_interval_table {
	VG_ARRAY(struct vg_interval_row) rows; /* self descending, then total descending, then by label */
	uint64_t samples;
	uint64_t weight_ns, wall_ns, cpu_ns;
};

/*
 * State that is shared by many tables of one profile.  A table costs time in proportion to its samples
 * and to the intervals around them.  It is used like struct vg_table_maker (function_table.h).
 */
struct vg_interval_table_maker {
	const struct vg_intervals *intervals;
	enum vg_weight weight;
	const uint64_t *values;      /* by sample: the value to sum up; NULL: the samples' weights are summed up.
	                                Owned by the caller, who sets it after vg_interval_table_maker_open() */
	struct vg_interval_weight { uint64_t ns, samples; } *self, *total;  /* by interval */
	unsigned char *reached;      /* by interval: 1: it is in reached_list */
	VG_ARRAY(uint32_t) reached_list; /* intervals of the samples of the current table, and outer intervals */
};

/* Returns 0 or -ENOMEM; call vg_interval_table_maker_close() in either case.  The intervals must
 * outlive the maker. */
int vg_interval_table_maker_open(struct vg_interval_table_maker *maker, const struct vg_intervals *intervals,
				 enum vg_weight weight);
void vg_interval_table_maker_close(struct vg_interval_table_maker *maker);

/* samples: indices into the profile's samples.  Returns 0 or -ENOMEM; call vg_interval_table_free() in
 * either case. */
int vg_interval_table_build(struct vg_interval_table *table, struct vg_interval_table_maker *maker,
			    const uint32_t *samples, size_t count);
void vg_interval_table_free(struct vg_interval_table *table);

/*
 * Selects the samples that were taken while an interval with that label was open on their thread, as the innermost
 * interval or an outer one.  An interval without a label is selected by its kind.  *keep has one byte for each sample,
 * 0 or 1; the caller frees it, also after a failure.  Returns 0, -ESRCH if no interval has the label, or -ENOMEM.
 */
int vg_samples_in_interval(const struct vg_intervals *intervals, const char *label, unsigned char **keep);

#endif

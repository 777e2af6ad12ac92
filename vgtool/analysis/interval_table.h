/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_INTERVAL_TABLE_H
#define VG_VGTOOL_INTERVAL_TABLE_H

#include "vgtool/analysis/spans.h"
#include "vgtool/analysis/threads.h"

/*
 * The time of samples by the program's intervals.  Self is where a row's interval was the innermost
 * one that was open on the sample's thread, total where any was; one within another of its name
 * counts once.  Samples in none, or in one whose beginning was lost, are a row without a label.
 */
struct vg_interval_row {
	uint32_t kind, label;        /* strings, or VG_NONE */
	bool outside;                /* no interval */
	uint64_t self_ns, total_ns;
	uint64_t self_samples, total_samples;
};

struct vg_interval_table {
	VG_ARRAY(struct vg_interval_row) rows; /* self, then total descending, then by label */
	uint64_t samples;
	uint64_t weight_ns, wall_ns, cpu_ns;
};

/* What the making of any number of tables over one profile needs.  A table costs time in proportion
 * to its samples and to the intervals that these are in. */
struct vg_interval_tables {
	const struct vg_spans *spans;
	enum vg_weight weight;
	const uint64_t *values;      /* the caller's, by sample: their weights instead; to be set behind
	                                vg_interval_tables_open(); NULL: there are none */
	struct vg_interval_weight { uint64_t ns, samples; } *own, *all;  /* by span */
	unsigned char *reached;      /* by span */
	VG_ARRAY(uint32_t) touched;  /* spans that are reached */
};

/* 0 or -ENOMEM; free in either case.  The spans must outlive this. */
int vg_interval_tables_open(struct vg_interval_tables *tables, const struct vg_spans *spans,
			    enum vg_weight weight);
void vg_interval_tables_close(struct vg_interval_tables *tables);

/* Over those samples (indices).  0 or -ENOMEM; free in either case. */
int vg_interval_table_build(struct vg_interval_table *table, struct vg_interval_tables *tables,
			    const uint32_t *samples, size_t count);
void vg_interval_table_free(struct vg_interval_table *table);

/*
 * Which samples were taken while an interval of that label, or of that kind where it has none, was
 * open on their thread, in others or not: *keep is by sample, to be freed.  0; -ESRCH if there is no
 * such interval at all; -ENOMEM.
 */
int vg_interval_samples(const struct vg_spans *spans, const char *label, unsigned char **keep);

#endif

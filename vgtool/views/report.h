/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_REPORT_H
#define VG_VGTOOL_REPORT_H

#include "vgtool/analysis/frames.h"
#include "vgtool/analysis/perf_counts.h"
#include "vgtool/analysis/thread_samples.h"
#include "vgtool/output/json.h"
#include "vgtool/output/terminal.h"

/*
 * What the views of `vgtool report` have in common: the samples, the weight, and how to print.  All of them print on
 * standard output.
 */
struct vg_report {
	const struct vg_profile *profile;
	struct vg_terminal terminal;
	struct vg_thread_samples threads;    /* only the samples that the filter selects */
	const struct vg_perf_counts *counts; /* of a perf counter, shown in place of time; NULL: time */
	enum vg_weight weight;
	bool is_cpu_first;                   /* the report shows CPU time because vg_report_cpu_first() is true */
	const char *filter;                  /* what the filter says; NULL: no filter */
	uint64_t unfiltered;                 /* weight of all samples, without the filter */
	bool is_unresolved;                  /* --unresolved: rows for addresses, not for modules without symbols */
	bool is_one_thread;                  /* no table over all threads: --thread has selected one */
	uint64_t limit;                      /* rows of a table; 0: the default */
	bool is_json;
	bool is_temporary;                   /* the profile is removed after the report */
	struct vg_json json;
};

/* Sums over the samples that the filter selects. */
struct vg_report_sums {
	uint64_t samples, wall_ns, cpu_ns;
	uint64_t weight;                     /* in the unit of the report */
	uint64_t threads;                    /* number of threads with samples */
};

struct vg_report_sums vg_report_sums(const struct vg_report *report);

/* True if threads wait for more than half of the wall time: a table of wall time would mostly show where they wait. */
bool vg_report_cpu_first(const struct vg_report_sums *sums);

/* The weight that pictures show first: that of the profile's mode, or CPU time if vg_report_cpu_first(). */
enum vg_weight vg_report_weight(const struct vg_profile *profile);

/* Text: prints what was recorded, the filter, how long threads wait, and an empty line.  If there are no
 * samples, prints "no samples" and returns false. */
bool vg_report_heading(const struct vg_report *report, const struct vg_report_sums *sums);

/* JSON: writes the members "program", "weight" and, for a perf counter or a filter, further ones. */
void vg_report_json_heading(struct vg_report *report);

/* JSON: writes the members "samples", "wall_ns" and "cpu_ns". */
void vg_report_json_sums(struct vg_report *report, uint64_t samples, uint64_t wall_ns, uint64_t cpu_ns);

/* JSON, in the object of a thread (an index): the members "pid" and "process", if there are several processes. */
void vg_report_json_process(struct vg_report *report, uint32_t thread);

/* JSON: the name of a member with a weight: "self_ns", or "self" for a perf counter. */
const char *vg_report_key(const struct vg_report *report, const char *name_ns, const char *name);

/* Text: prints the name, its source line or module, and a newline, in the columns that `used` columns leave.  The name
 * is red if `is_hot`. */
void vg_report_name(const struct vg_report *report, const struct vg_function_view *view, size_t used, bool is_hot);

/* True if the part is at least 10 % of the whole. */
bool vg_report_is_hot(uint64_t part, uint64_t whole);

/* Text: what a hint at another option begins with: "", or what keeps the profile if it is temporary. */
const char *vg_report_hint(const struct vg_report *report);

/* Text: formats a value as an amount of the perf counter or, without a perf counter, as a time. */
const char *vg_report_amount(const struct vg_report *report, struct vg_text *room, uint64_t value);

#endif

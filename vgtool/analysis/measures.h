/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_MEASURES_H
#define VG_VGTOOL_MEASURES_H

#include "vgtool/analysis/blocks.h"
#include "vgtool/analysis/comparable.h"
#include "vgtool/analysis/exclusion.h"
#include "vgtool/analysis/spread.h"
#include "vgtool/analysis/thread_samples.h"

/*
 * Times of labels and functions in many profiles, side by side.  Rows of two profiles are the same if
 * they have the same name and the same kind (labels) or module (functions).  A function without a name
 * is identified by its module and address.
 *
 *	struct vg_measures measures = { 0 };
 *	vg_measures_add(&measures, &profile, "a.vgp", &err);     (for each profile)
 *	vg_measures_finish(&measures);
 *	spread = vg_measures_spread(&measures, &measures.rows.items[0], VG_MEASURE_SELF, 0, measures.runs);
 *	vg_measures_free(&measures);
 */
enum vg_measure_type {
	VG_MEASURE_WHOLE,            /* all samples of a profile: one row, always the first */
	VG_MEASURE_INTERVAL,
	VG_MEASURE_DETACHED,
	VG_MEASURE_FUNCTION,
	VG_MEASURE_OTHERS,           /* the sum of functions: see vg_measures_sum() */
};

struct vg_measure_row {
	enum vg_measure_type type;
	const char *name;
	const char *origin;          /* kind of a label, module of a function; NULL: none */
	size_t first, count;         /* its values: one for each profile that has the row.  A row without values
	                                is that of a profile that could not be added */
};

struct vg_measure {
	uint32_t row;
	uint32_t run;                /* number of the profile, from 0 */
	uint64_t self_ns, total_ns;
	uint64_t count;              /* number of intervals, or of samples with the function in any frame */
	size_t blocks;               /* index in vg_measures.blocks + 1; 0: none */
};

/* The times of a row in the blocks of a profile, in nanoseconds. */
struct vg_measure_blocks {
	float self[VG_BLOCKS], total[VG_BLOCKS];
};

/* One profile. */
struct vg_measure_run {
	double all_ns, labels_ns;    /* time of all samples; sum of the self times of all labels */
	double samples;
	size_t blocks;               /* of all samples: index in vg_measures.blocks + 1; 0: it is too short */
};

struct vg_measures {
	bool for_diff;               /* set by the caller: measure variances, merge addresses (address_groups.h), and
	                                refuse profiles that were sampled differently */
	bool by_share;               /* set by the caller: scale the times of each profile, so that all profiles have
	                                the same time of all samples, and the same sum of labels */
	struct vg_exclusion exclusion; /* set by the caller, before the first profile: leave out the samples of these
	                                functions, and these labels; freed by vg_measures_free() */
	bool weight_given;           /* the caller has set `weight`; false: the profiles' mode decides */
	enum vg_weight weight;
	VG_ARRAY(struct vg_measure_row) rows;  /* valid after vg_measures_finish() */
	VG_ARRAY(struct vg_measure) values;
	VG_ARRAY(struct vg_measure_blocks) blocks;
	VG_ARRAY(struct vg_measure_run) by_run;
	uint32_t runs;               /* number of profiles */
	struct vg_measure_run mean_run; /* the mean times of all runs; valid after vg_measures_finish() */
	const char *changed_module;  /* name of a module without symbols whose build ids differ, or NULL */
	bool incomparable;           /* a profile was refused, because it cannot be compared with the others */

	/* Private. */
	struct vg_intern keys;       /* type, name, origin -> row */
	struct vg_intern modules;    /* names of modules without symbols -> number */
	struct vg_intern builds;     /* number that `modules` has for the name, build id */
	uint32_t changed_module_id;  /* number that `modules` has for the name, + 1; 0: none */
	struct vg_comparable comparable;
};

/*
 * Adds a profile as the next run, or no run if it fails.  `path` is the path that it was read from.  The path must
 * outlive the measures; the profile may be freed.
 *
 * Returns 0, -ENOMEM, or -EINVAL if the profile cannot be compared with an earlier one.  err then names both files.
 * The reason is one of these:
 *  - the two profiles were recorded in different modes, and the caller gave no weight,
 *  - one has function names, and the other has addresses,
 *  - for_diff is set, and they were sampled differently.
 */
int vg_measures_add(struct vg_measures *measures, const struct vg_profile *profile, const char *path,
		    struct vg_err *err);

/* Sorts the values by row and run, and fills the rows and mean_run.  Returns 0 or -ENOMEM. */
int vg_measures_finish(struct vg_measures *measures);
void vg_measures_free(struct vg_measures *measures);

/* The limit of rows applies to each of three groups: the one row of all samples; the labels; the functions. */
enum vg_measure_group { VG_MEASURE_ALL, VG_MEASURE_LABELS, VG_MEASURE_FUNCTIONS, VG_MEASURE_GROUPS };

struct vg_measure_limit {
	uint64_t limit;              /* rows of each group, set by the caller; 0: no limit */
	uint64_t seen[VG_MEASURE_GROUPS]; /* rows of each group so far */
};

enum vg_measure_group vg_measure_group(const struct vg_measure_row *row);

/* Call this for each row, in order.  Returns true if the row is within the limit of its group. */
bool vg_measure_shown(struct vg_measure_limit *limit, const struct vg_measure_row *row);

enum vg_measure_field { VG_MEASURE_SELF, VG_MEASURE_TOTAL, VG_MEASURE_COUNT };

/* Spread of a row over the runs `first` to `end` - 1.  A run without the row counts as 0. */
struct vg_spread vg_measures_spread(const struct vg_measures *measures,
				    const struct vg_measure_row *row, enum vg_measure_field field,
				    uint32_t first, uint32_t end);

/*
 * Runs of the same work differ by this share of each row's time (a standard deviation), even if each run is measured
 * exactly: caches, other programs and the CPU's frequency differ.  24 runs of one program had 3.3 % on two CPUs that
 * other programs kept busy.  A single run does not show this difference, so the larger number is assumed.  Several
 * runs show it themselves.  For them the smaller number is enough: without it, runs could seem equal by chance.
 */
#define VG_RUN_DEVIATION_ALONE 0.03
#define VG_RUN_DEVIATION 0.01

/* The expected variance of the row's time in one run: the mean of the variances that are expected for the runs `first`
 * to `end` - 1.  The variance of each run is the sum of two variances: that of sampling, and that of VG_RUN_DEVIATION
 * (if there is only one run, VG_RUN_DEVIATION_ALONE).  The runs are not compared with each other.
 * Returns -1 if the variance is unknown: for labels, and if a profile is too short. */
double vg_measures_variance(const struct vg_measures *measures, const struct vg_measure_row *row,
			    enum vg_measure_field field, uint32_t first, uint32_t end);

/* Adds a row "[others]" with the sum of the rows whose entry in `parts` (by row) is true.  Call it after
 * vg_measures_finish().  Only the sum of self times has a meaning.  Returns 0 or -ENOMEM. */
int vg_measures_sum(struct vg_measures *measures, const bool *parts);

/* Number of runs from `first` to `end` - 1 that have the row. */
size_t vg_measures_run_count(const struct vg_measures *measures, const struct vg_measure_row *row,
			     uint32_t first, uint32_t end);

#endif

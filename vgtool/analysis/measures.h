/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_MEASURES_H
#define VG_VGTOOL_MEASURES_H

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
};

struct vg_measure_row {
	enum vg_measure_type type;
	const char *name;
	const char *origin;          /* kind of a label, module of a function; NULL: none */
	size_t first, count;         /* its values: one for each profile that has the row */
};

struct vg_measure {
	uint32_t row;
	uint32_t run;                /* number of the profile, from 0 */
	uint64_t self_ns, total_ns;
	uint64_t count;              /* number of intervals, or of samples with the function in any frame */
};

struct vg_measures {
	bool weight_given;           /* the caller has set `weight`; false: the profiles' mode decides */
	enum vg_weight weight;
	VG_ARRAY(struct vg_measure_row) rows;  /* valid after vg_measures_finish() */
	VG_ARRAY(struct vg_measure) values;
	uint32_t runs;               /* number of profiles */
	const char *changed_module;  /* name of a module without symbols whose build ids differ, or NULL */
	bool incomparable;           /* a profile was refused, because it cannot be compared with the others */

	/* Private. */
	struct vg_intern keys;       /* type, name, origin -> row */
	struct vg_intern modules;    /* names of modules without symbols -> number */
	struct vg_intern builds;     /* number that `modules` has for the name, build id */
	uint32_t changed_module_id;  /* number that `modules` has for the name, + 1; 0: none */
	const char *first_path;      /* of the first profile */
	const char *symbolized_path, *unsymbolized_path; /* of the first profile with function names;
	                                                    of the first one with addresses only */
};

/*
 * Adds a profile as the next run.  `path` is the path that it was read from.  The path must outlive the measures; the
 * profile may be freed.
 *
 * Returns 0, -ENOMEM, or -EINVAL if the profile cannot be compared with an earlier one: they were recorded in different
 * modes and the caller gave no weight, or one has function names and the other has addresses.  err then names both
 * files.
 */
int vg_measures_add(struct vg_measures *measures, const struct vg_profile *profile, const char *path,
		    struct vg_err *err);

/* Sorts the values by row and run, and fills the rows.  Returns 0 or -ENOMEM. */
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

/* Number of runs from `first` to `end` - 1 that have the row. */
size_t vg_measures_run_count(const struct vg_measures *measures, const struct vg_measure_row *row,
			     uint32_t first, uint32_t end);

#endif

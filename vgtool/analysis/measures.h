/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_MEASURES_H
#define VG_VGTOOL_MEASURES_H

#include "vgtool/analysis/spread.h"
#include "vgtool/analysis/threads.h"

/*
 * The times of labels and functions in many profiles, side by side.  What has the same name, and
 * the same kind or module, is the same; a function without a name is its module and address.
 */
enum vg_measure_what {
	VG_MEASURE_WHOLE,            /* all samples of a profile: one row, always the first */
	VG_MEASURE_INTERVAL,
	VG_MEASURE_DETACHED,
	VG_MEASURE_FUNCTION,
};

struct vg_measure_row {
	enum vg_measure_what what;
	const char *name;
	const char *of;              /* kind of a label, module of a function; NULL: none */
	size_t first, count;         /* in values: one for each profile that has it */
};

struct vg_measure {
	uint32_t row, run;           /* run: the number of the profile, from 0 */
	uint64_t self_ns, total_ns;
	uint64_t count;              /* of intervals; of samples with the function in any frame */
};

struct vg_measures {
	bool weight_given;           /* set by the caller; else the weight is what all profiles were recorded for */
	enum vg_weight weight;
	VG_ARRAY(struct vg_measure_row) rows;  /* after vg_measures_finish() */
	VG_ARRAY(struct vg_measure) values;
	uint32_t runs;
	const char *rebuilt;         /* a module without names whose build ids differ, or NULL */
	bool mixed;                  /* a profile was refused: it cannot be compared with those before it */

	/* Its own. */
	struct vg_intern keys;       /* what, name, of -> row */
	struct vg_intern modules;    /* name -> index in builds */
	struct vg_intern builds_of;  /* name and build id */
	uint32_t rebuilt_module;     /* id in modules + 1, or 0 */
	const char *first;           /* path of the first run */
	const char *named, *nameless; /* paths of the first run with names of functions, and with addresses instead */
};

/*
 * Adds the profile, which was read from that path, as the next run.  Nothing of it is needed afterwards, but the path.
 * 0, -ENOMEM, or -EINVAL with a sentence that names two files: they were recorded for different weights and none
 * was given, or one has names of functions and the other has addresses in their place.
 */
int vg_measures_add(struct vg_measures *measures, const struct vg_profile *profile, const char *path,
		    struct vg_err *err);

/* Sorts the values by row and run; fills the rows. */
int vg_measures_finish(struct vg_measures *measures);
void vg_measures_free(struct vg_measures *measures);

/* How many rows of each group are shown. */
enum vg_measure_group { VG_MEASURE_ALL, VG_MEASURE_LABELS, VG_MEASURE_FUNCTIONS, VG_MEASURE_GROUPS };

struct vg_measure_limit {
	uint64_t limit;              /* set by the caller; 0: no limit */
	uint64_t seen[VG_MEASURE_GROUPS];
};

enum vg_measure_group vg_measure_group(const struct vg_measure_row *row);

/* Whether the row, which is the next one of its group, is shown. */
bool vg_measure_shown(struct vg_measure_limit *limit, const struct vg_measure_row *row);

enum vg_measure_of { VG_MEASURE_SELF, VG_MEASURE_TOTAL, VG_MEASURE_COUNT };

/* The spread of a row over the runs from `first` up to before `end`; a run without it counts 0. */
struct vg_spread vg_measures_spread(const struct vg_measures *measures,
				    const struct vg_measure_row *row, enum vg_measure_of of,
				    uint32_t first, uint32_t end);

/* In how many of these runs it is. */
size_t vg_measures_runs(const struct vg_measures *measures, const struct vg_measure_row *row,
			uint32_t first, uint32_t end);

#endif

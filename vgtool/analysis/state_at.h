/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_STATE_AT_H
#define VG_VGTOOL_STATE_AT_H

#include "base/infile.h"
#include "profile/model.h"

/*
 * What the records of a profile say up to a time: the names of the threads and of the program, which change, and the
 * sampling periods.  The model has only the last names and no periods.  Reads the whole file.
 *
 *	vg_state_at_read(&state, profile, &file, end_ns);
 *	... state.thread_names[thread] ...
 *	vg_state_at_free(&state);
 */
struct vg_state_text {
	const char *bytes;           /* in the file, as recorded, not terminated; NULL: unknown */
	size_t length;
};

/* Samples were due every period_ns from then on. */
struct vg_state_rate {
	uint64_t time_us, period_ns;
};

struct vg_state_at {
	struct vg_state_text program; /* the last one that surely ran before that time */
	struct vg_state_text *thread_names; /* by index of the thread */
	VG_ARRAY(struct vg_state_rate) rates; /* in the order of the file */
};

/* file: the file from which the profile was read; must outlive *state.  before_ns: records of this time and later do
 * not count.  Returns 0 or -ENOMEM; call vg_state_at_free() in either case. */
int vg_state_at_read(struct vg_state_at *state, const struct vg_profile *profile, const struct vg_infile *file,
		     uint64_t before_ns);
void vg_state_at_free(struct vg_state_at *state);

#endif

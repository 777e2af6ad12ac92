/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_RECORD_RUN_H
#define VG_VGTOOL_RECORD_RUN_H

#include "vgtool/commands/record_options.h"
#include "vgtool/run/descendants.h"
#include "vgtool/run/vignetted_run.h"

/*
 * Runs one vignetted for each process that vgtool record records: the processes of --pid or the command, and with
 * --children those that descend from them.
 *
 *	struct vg_record_run run = { .options = &options, .program = path, .out = out, .on_status = show, .context = x };
 *	vg_child_signals();
 *	rc = vg_record_run(&run, &err);
 *
 * A descendant is recorded when it has lived for some time.  So the many processes that end at once are not recorded.
 * The recording ends when the processes of --pid, or the command, have ended.
 */
enum { VG_RECORD_AT_ONCE_MAX = 64, VG_RECORD_TOTAL_MAX = 4096 };

struct vg_record_run {
	/* Set by the caller. */
	const struct vg_record_options *options;
	const char *program;         /* the path of vignetted */
	const char *out;             /* of the profile; a directory if vg_record_options_several() */
	/* Called after each line of a vignetted. */
	void (*on_status)(void *context, const struct vg_vignetted_status *status);
	void *context;
	/* Results.  During the recording vg_record_run_sum() computes the first ones. */
	struct vg_vignetted_status sum; /* of all processes; elapsed_ms: of the longest; `ended`: of one at least */
	uint64_t processes;          /* that were recorded */
	uint64_t early;              /* that were seen, but were too short to record */
	uint64_t failed;             /* that could not be recorded for another reason */
	uint64_t bounded;            /* that were not recorded because of a bound */
	bool incomplete;             /* there were more processes than can be watched */
	char failure[256];           /* the reason of the first that failed; "": none */
	int exit_status;             /* of vignetted for the command; with --pid, the first that is not 0 */
	/* Private: */
	VG_ARRAY(struct vg_record_helper *) live;
	struct vg_vignetted_status ended; /* the sum of those that have ended */
	struct vg_descendants descendants;
	uint64_t started;
	size_t roots;                /* running helpers of the command or of the processes of --pid */
	bool is_ending;
};

/* Returns 0 if a process was recorded, or if vignetted has printed why not (exit_status).  Otherwise returns a negative
 * errno with a message in err. */
int vg_record_run(struct vg_record_run *run, struct vg_err *err);

/* Computes run->sum. */
void vg_record_run_sum(struct vg_record_run *run);

#endif

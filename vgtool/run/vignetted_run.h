/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_VIGNETTED_RUN_H
#define VG_VGTOOL_VIGNETTED_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Runs vignetted, and reads its lines of --status-fd.
 *
 *	struct vg_vignetted helper = { .on_status = progress_show, .context = record };
 *	vg_vignetted_find(&path, &err);
 *	vg_vignetted_start(&helper, arguments, &err);
 *	while (vg_vignetted_read(&helper))               (when helper.status_fd is ready)
 *		;
 *	vg_vignetted_wait(&helper, path, &err);
 */
struct vg_vignetted_status {
	pid_t pid;                   /* of the recorded process; 0: the recording has not begun */
	int exec_errno;              /* 0, or why the file cannot be executed */
	uint64_t elapsed_ms, samples, cpu_ms;
	bool ended;                  /* the profile is complete, and the members below are set */
	uint64_t threads, bytes, lost, skipped;
	char reason[128];
	char message[256];           /* if `is_quiet` is set: the first line that vignetted printed; "": none */
};

struct vg_vignetted {
	/* Called after each line. */
	void (*on_status)(void *context, const struct vg_vignetted_status *status);
	/* Called in the child before vignetted is executed; NULL: nothing is called. */
	void (*prepare)(void *context);
	void *context;
	bool is_quiet;               /* what vignetted prints on standard error becomes status.message */
	/* Results of vg_vignetted_start(). */
	pid_t pid;
	int status_fd;               /* the lines */
	/* Results of vg_vignetted_read() and vg_vignetted_wait(). */
	struct vg_vignetted_status status;
	int exit_status;             /* as a shell reports it: 128 + signal if a signal ended vignetted */
	/* Private: a line that is not complete. */
	char line[512];
	size_t line_bytes;
};

/* Finds vignetted: $VIGNETTED; else in this program's directory; else in the libexecdir of the configuration.  Returns
 * 0 and sets *path, which the caller frees, or -ENOPKG or -ENOMEM with a message in err. */
int vg_vignetted_find(char **path, struct vg_err *err);

/* Executes arguments[0] with these arguments, of which arguments[2] is replaced by the number of the descriptor: the
 * caller puts "--status-fd" into arguments[1].  Passes signals on: call vg_child_signals() first.  Returns 0, or a
 * negative errno with a message in err. */
int vg_vignetted_start(struct vg_vignetted *helper, char **arguments, struct vg_err *err);

/* Waits until helper->status_fd can be read, and reads it once.  Calls on_status() after each complete line.  Returns
 * false after the last line, when vignetted has ended; helper->status_fd is then closed.  A caller with a reader of its
 * own (vgtool top) closes the descriptor itself. */
bool vg_vignetted_read(struct vg_vignetted *helper);

/* Waits until vignetted ends; program: arguments[0].  Returns 0; -ECHILD if a signal ended vignetted before it had
 * completed the profile; or another negative errno, each with a message in err. */
int vg_vignetted_wait(struct vg_vignetted *helper, const char *program, struct vg_err *err);

/* Whether vignetted should read the perf map of the process; 0: of a command that it starts.  Perf maps are in a
 * directory that everybody can write to, so vignetted is not asked to read another user's. */
bool vg_vignetted_perf_map_wanted(pid_t pid);

/* Parses one line without its newline.  Ignores lines of other versions. */
void vg_vignetted_line(struct vg_vignetted_status *status, const char *line);

#endif

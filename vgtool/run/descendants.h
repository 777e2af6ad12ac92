/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_DESCENDANTS_H
#define VG_VGTOOL_DESCENDANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/err.h"

/*
 * Processes, and the processes that descend from them.  They are found by reading /proc/PID/task/TID/children.  A
 * process whose parent ended before a scan saw the process is not found.
 *
 *	struct vg_descendants descendants = { 0 };
 *	vg_descendants_add(&descendants, pid);
 *	if (vg_descendants_scan(&descendants, vg_now_ns()))      (again and again)
 *		...
 *	vg_descendants_free(&descendants);
 *
 * Scans are due every 10 ms, and less often if they would take more than 1 % of one CPU.  A scan is skipped if no
 * process or thread was created on this machine since the latest one.
 */
enum { VG_DESCENDANTS_MAX = 4096, VG_DESCENDANTS_PERIOD_MS = 10 };

struct vg_descendant {
	pid_t pid;
	uint64_t start_ticks;        /* when it was created: the kernel reuses ids, also for other users' processes */
	uint64_t seen_ns;            /* CLOCK_MONOTONIC time of the scan that found it; 0: before the second scan */
	bool exited;                 /* the latest scan did not find it any more; the next scan removes it */
	int state;                   /* the caller's; 0 at first */
};

struct vg_descendants {
	VG_ARRAY(struct vg_descendant) items; /* at most VG_DESCENDANTS_MAX */
	bool full;                   /* processes were left out because of VG_DESCENDANTS_MAX */
	/* Private: */
	uint64_t due_ns, scanned_ns;
	uint64_t now_ns;             /* seen_ns of the processes that are added */
	long latest;                 /* at the latest scan: the id of the newest process or thread */
};

/* Checks that the kernel has the files.  Returns 0, or -ENOTSUP with a message in err. */
int vg_descendants_check(struct vg_err *err);

/* Adds a process, unless it is known.  Returns 0 or -ENOMEM. */
int vg_descendants_add(struct vg_descendants *descendants, pid_t pid);

/* Scans, if a scan is due.  Returns whether it did. */
bool vg_descendants_scan(struct vg_descendants *descendants, uint64_t now_ns);

void vg_descendants_free(struct vg_descendants *descendants);

/* Whether the process that was created at start_ticks is a zombie, or does not exist any more: another process can have
 * its id. */
bool vg_process_exited(pid_t pid, uint64_t start_ticks);

#endif

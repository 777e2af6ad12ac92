/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_COUNTERS_H
#define VG_VIGNETTED_COUNTERS_H

#include <sys/types.h>

#include "base/counters.h"
#include "base/err.h"
#include "profile/writer.h"
#include "vignetted/target/tasks.h"

/*
 * Perf counters of one thread: what the kernel or the CPU counts for it (perf_event_open(2)).
 *
 * Each thread has its own perf counters.  New threads do not inherit them, because the kernel cannot read inherited
 * perf counters as a group.  The software perf counters (counted by the kernel) form one group, the hardware perf
 * counters (counted by the CPU) another.  One system call reads a group.  If the thread is running, this call
 * interrupts the thread's CPU once.  If more hardware perf counters are open than the CPU has, they count in turns, and
 * their values are scaled up to the whole time.
 *
 * The codes are those of base/counters.h.  A 0 ends the list.
 */
struct vg_counters {
	int fds[VG_COUNTERS_MAX];    /* owned; in the order of the codes */
	uint64_t reported[VG_COUNTERS_MAX]; /* each perf counter's value at the latest vg_counters_read() */
	uint64_t enabled_ns;         /* how long the first perf counter had been enabled at the latest read */
	uint32_t stops;              /* how often we have stopped the thread since the latest read */
};

/* Sets `values` to the growth of each perf counter since the latest call, or since the perf counters were opened.  The
 * perf counters of an exited thread can still be read once; later calls return -ESRCH.  Returns 0 or a negative
 * errno. */
int vg_counters_read(struct vg_counters *counters, const uint16_t codes[VG_COUNTERS_MAX],
		     uint64_t values[VG_COUNTERS_MAX]);

void vg_counters_close(struct vg_counters *counters);

/* Returns kernel.perf_event_paranoid; INT32_MIN if it is not readable. */
int vg_counters_paranoid_level(void);

/*
 * The perf counters of one recording, for all its threads.  After each sample of a thread, the thread's perf counters
 * are read, and their growth since the previous reading is written to the profile.  After a repeat of the latest
 * sample, the perf counters are not read, because the thread has not run since that sample.  A recording without perf
 * counters costs nothing.
 *
 *     vg_counter_set_open(&set, codes);
 *     vg_counter_set_begin(&set, tasks, others_open);
 *     vg_counter_set_thread_open(set, task, account);           for each thread
 *     vg_counter_set_thread_write(set, writer, task, account, stops, now_ns);   after its samples
 *     vg_counter_set_end(set, writer, tasks, index, now_ns);
 */
struct vg_counter_set {
	uint16_t codes[VG_COUNTERS_MAX];
	uint32_t count;              /* number of codes */
	char names[VG_COUNTERS_MAX * VG_COUNTER_NAME_BYTES]; /* separated by commas */
	size_t open, open_max;       /* open descriptors, and the most that may be open */
	uint64_t threads_without;    /* threads whose perf counters could not be opened */
	int refused;                 /* negative errno for the first of these threads; 0: there is none */
	uint32_t refused_at;         /* index of the code that was refused for that thread */
	bool running;                /* between vg_counter_set_begin() and vg_counter_set_end() */
};

/* Sets the codes.  Opens nothing. */
void vg_counter_set_open(struct vg_counter_set *counter_set, const uint16_t codes[VG_COUNTERS_MAX]);

/* Allows vg_counter_set_thread_open().  others_open: open descriptors of the other recordings' perf counters. */
void vg_counter_set_begin(struct vg_counter_set *counter_set, struct vg_tasks *tasks, size_t others_open);

/* Checks whether all threads have their perf counters.  Returns 0, or a negative errno with a message. */
int vg_counter_set_check(const struct vg_counter_set *counter_set, const struct vg_tasks *tasks, struct vg_err *err);

/* Opens the perf counters of one thread.  `account`: the thread's, in this recording. */
void vg_counter_set_thread_open(struct vg_counter_set *counter_set, const struct vg_task *task,
				struct vg_account *account);

/* If the thread has had a sample since the latest reading, reads its perf counters and writes their growth.  `stops`:
 * our stops of the thread since the latest call of this function.  now_ns: the recording's time. */
void vg_counter_set_thread_write(struct vg_counter_set *counter_set, struct vg_writer *writer,
				 const struct vg_task *task, struct vg_account *account, uint64_t stops,
				 uint64_t now_ns);

/* Writes an exited thread's perf counters for the last time, and closes them. */
void vg_counter_set_thread_end(struct vg_counter_set *counter_set, struct vg_writer *writer,
			       const struct vg_task *task, struct vg_account *account, uint64_t end_ns);

/* Writes the perf counters of all threads for the last time, and closes them.  `index`: the recording's. */
void vg_counter_set_end(struct vg_counter_set *counter_set, struct vg_writer *writer, struct vg_tasks *tasks,
			uint32_t index, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_COUNTER_SET_H
#define VG_VIGNETTED_COUNTER_SET_H

#include "vignetted/capture/counters.h"
#include "profile/writer.h"
#include "vignetted/target/tasks.h"

/*
 * The perf counters of one recording (capture/counters.h), for all its threads.  After each sample of a thread, the
 * thread's perf counters are read, and their growth since the previous reading is written to the profile.  After a
 * repeat of the latest sample, the perf counters are not read, because the thread has not run since that sample.  A
 * recording without perf counters costs nothing.
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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_WEIGHTS_H
#define VG_VIGNETTED_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How much CPU time and wall time each sample of a thread stands for, in one recording.
 *
 * In: observations of the thread's clocks.  Out: the weight of each sample.  An observation splits the time since the one
 * before into three balances: on a CPU, in the queue for a CPU, waiting.  A sample that saw the thread run takes the first
 * two.  A sample that saw the thread wait takes the third.
 *
 * A sample stands for the time around it.  The time between two samples that saw the same is shared, half for each.  Time
 * that only one of the two can take is that one's.  Time that neither can take is carried to a later sample.  If all time
 * went to the later sample, threads that live for a few samples would have too little of what they do first.
 *
 * Three laws follow:
 *
 *  - The wall weights of a thread add up to the time that was observed, once vg_weights_end() has given the rest.
 *  - Its CPU weights add up to the CPU time that was observed, less the balance that is left (vg_weights.cpu_left_ns).
 *  - CPU time goes to samples that saw the thread run and to no others.  The CPU time between two samples of waiting
 *    is carried to the next sample that saw the thread run.
 *
 * Balances are signed.  The scheduler updates a running thread's CPU time at its ticks only, so an observation can take
 * up to one tick of CPU time for waiting; the next observation takes that back.
 *
 * Timer samples (capture/timers.h) come between observations and measure CPU time themselves: one period each.  What
 * timers miss, because a period was cut short or a sample was dropped, is added to later timer samples in parts.  They see
 * nothing of the queue: a thread that calls sched_yield() queues in that call.  Stops do, which find a thread in the queue as
 * often as it is there.  So a thread with timers is stopped now and then for its time in the queue alone.
 *
 * Pure: no clock, no I/O.  Times are session times in ns.
 */
struct vg_weights {
	bool observed;               /* cpu_ns and queued_ns are set */
	uint64_t time_ns;            /* of the latest observation, */
	uint64_t cpu_ns, queued_ns;  /* and the thread's totals then */
	int64_t cpu_left_ns;         /* the balances: observed, and not in a sample yet */
	int64_t queued_left_ns;
	int64_t waited_left_ns;
	int64_t behind_ns;           /* CPU time that timer samples have missed; part of cpu_left_ns */
	uint64_t timer_ns;           /* CPU time that timers measured since the latest sample */
	uint8_t latest;              /* enum vg_weights_latest */
	bool runs;                   /* the thread ran when it was last observed */
};

/* What the latest sample saw, if it can be given more weight. */
enum vg_weights_latest { VG_LATEST_NONE, VG_LATEST_RAN, VG_LATEST_TIMER, VG_LATEST_WAITED };

/* One thread's clocks at one moment. */
struct vg_clocks {
	uint64_t time_ns;
	uint64_t cpu_ns, queued_ns;  /* the thread's totals: on a CPU, and in the queue for one */
};

/* What one sample stands for. */
struct vg_weight {
	uint64_t wall_ns, cpu_ns;
};

/* The weight of a sample, and what the sample before it is given besides. */
struct vg_weight_pair {
	struct vg_weight before, own;
};

/* Begins at time_ns.  A thread that is born then has used nothing.  Of another one the first observation says what it
 * had used before. */
void vg_weights_begin(struct vg_weights *weights, uint64_t time_ns, bool is_born);

/* A thread that is not the first and executes a program takes the first one's number: the totals are another thread's then, and
 * what they differ by is nobody's.  That is so if they are lower than before, or higher by more than the time between. */
void vg_weights_observe(struct vg_weights *weights, const struct vg_clocks *clocks);

/* What a sample saw: the thread waits; or it is on a CPU or in the queue for one, and the sample stands for both or, where
 * timers sample it, for the queue alone. */
enum vg_weights_seen { VG_SEEN_WAITING, VG_SEEN_RUNNING, VG_SEEN_QUEUED };

/* Observes, and gives the weight of a sample of that moment. */
struct vg_weight_pair vg_weights_take(struct vg_weights *weights, const struct vg_clocks *clocks, enum vg_weights_seen seen);

/* The thread ran at the latest observation, and timers sample it. */
void vg_weights_ran(struct vg_weights *weights);

/* The latest sample is written: it can be given no more. */
void vg_weights_written(struct vg_weights *weights);

/* Counts a timer of that period that expired.  Whether a sample is due, for a recording with samples so far apart: then
 * vg_weights_timer() gives the weight of a sample of that time.  Its wall weight is no more than the time that is left. */
bool vg_weights_timer_count(struct vg_weights *weights, uint64_t period_ns, uint64_t sample_period_ns);
struct vg_weight_pair vg_weights_timer(struct vg_weights *weights, uint64_t time_ns);

/* The thread or the recording ended then: what the latest sample is given besides, or another one of the same stack.  That is the
 * rest of the wall time.  A thread that ran when it was last observed is taken to have run until then.  Of another one, the CPU
 * time that is left belongs to no sample. */
struct vg_weight vg_weights_end(struct vg_weights *weights, uint64_t time_ns);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_WEIGHTS_H
#define VG_VIGNETTED_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How much CPU time and wall time each sample of a thread stands for, in one recording.
 *
 * In: observations of the thread's clocks.  Out: the weight of each sample.  An observation splits the time since the
 * previous observation into three balances: on a CPU, in the run queue, waiting.  A sample takes the balance of the
 * state in which it found the thread.
 *
 * A sample stands for the time around it.  Between two samples, the thread has spent some time in each state.  The time
 * in one state is shared like this: if both samples found the thread in the state, each takes half of the time.  If
 * only one of them did, that sample takes all of the time.  If neither did, the time is carried to a later sample.  The
 * time is shared for the sake of threads that live for a few samples: if all time went to the later sample, they would
 * have too little time in what they do first.
 *
 * Three laws follow:
 *
 *  - The wall weights of a thread, together with the rest that vg_weights_end() returns, add up to the observed time.
 *  - Its CPU weights add up to the CPU time that was observed, minus the balance that is left (cpu_balance_ns).
 *  - CPU time goes only to samples that found the thread running.  The CPU time between two waiting samples is carried
 *    to the next running sample.
 *
 * Balances are signed.  The scheduler updates a running thread's CPU time only at its ticks, so an observation may
 * count up to one tick of CPU time as waiting.  The next observation corrects this.
 *
 * Timer samples (capture/timers.h) come between observations and measure CPU time themselves: one period each.  Timers
 * miss CPU time when a period is cut short or a sample is lost.  That time is added to later timer samples in parts.
 *
 * Timers do not expire while the thread is in the run queue, so timer samples take no queue time.  Their stacks would
 * also be wrong for queue time: a woken thread queues in the system call in which it waited, and a yielding thread in
 * sched_yield(2).  So if a thread with timers has much queue time in no sample (vg_weights_queue_due()), it is stopped
 * again and again, until a stop finds it in the run queue.  In a thread's first 100 ms, its running samples take the
 * queue time.
 *
 *     vg_weights_begin(&weights, begin_ns, found_ns, &unsampled_ns);
 *     pair = vg_weights_sample(&weights, &clocks, VG_THREAD_RUNNING);    add pair.before to the sample before
 *     rest = vg_weights_end(&weights, now_ns, &unsampled_ns);            add rest to the latest sample
 *
 * Pure: no clock, no I/O.  Times are session times in ns.
 */

/* The state in which a sample found the thread. */
enum vg_thread_state { VG_THREAD_WAITING, VG_THREAD_RUNNING, VG_THREAD_QUEUED, VG_THREAD_STATES };

/* Other values of vg_weights.latest.  TIMER: a timer took the latest sample.  NONE: there is no sample to which weight
 * can be added. */
enum { VG_LATEST_TIMER = VG_THREAD_STATES, VG_LATEST_NONE };

struct vg_weights {
	bool observed;               /* cpu_ns and queued_ns are set */
	bool has_run;                /* a sample has found the thread running */
	bool was_running;            /* the thread was on a CPU or in the run queue at the latest observation */
	uint8_t latest;              /* enum vg_thread_state, VG_LATEST_TIMER or VG_LATEST_NONE */
	uint64_t begin_ns, found_ns; /* as in vg_weights_begin(); found_ns is 0 after the first sample */
	uint64_t first_extra_max_ns; /* the most CPU time that the first sample may have in addition to what the thread
					has used */
	uint64_t time_ns;            /* of the latest observation */
	uint64_t cpu_ns, queued_ns;  /* the thread's totals at the latest observation */
	int64_t balance_ns[VG_THREAD_STATES]; /* observed time that is in no sample's wall weight yet */
	int64_t cpu_balance_ns;      /* observed CPU time that is in no sample's CPU weight yet */
	int64_t timer_missed_ns;     /* the part of cpu_balance_ns that timer samples have missed */
	uint64_t timer_ns;           /* CPU time that timers measured since the latest sample */
};

/* One thread's clocks at one moment. */
struct vg_clocks {
	uint64_t time_ns;
	uint64_t cpu_ns, queued_ns;  /* the thread's totals: on a CPU, and in the run queue */
};

/* What one sample stands for. */
struct vg_weight {
	uint64_t wall_ns, cpu_ns;
};

/* `own`: the weight of a sample.  `before`: what the caller must add to the weight of the sample before it. */
struct vg_weight_pair {
	struct vg_weight before, own;
};

/*
 * Begins the weights of a thread that was created at begin_ns and found by a scan at found_ns.  If its creation time is
 * not known, begin_ns is the middle between that scan and the scan before.  found_ns is 0 for a thread that is older
 * than the recording: its first observation only sets the totals, because the CPU time in them was used before the
 * recording.
 *
 * The first sample may stand for more CPU time than the thread has used.  The surplus is a part of *unsampled_ns, the
 * process's CPU time that is in no sample and in no balance.  This function subtracts the largest possible surplus
 * (first_extra_max_ns) from *unsampled_ns.
 */
void vg_weights_begin(struct vg_weights *weights, uint64_t begin_ns, uint64_t found_ns, uint64_t *unsampled_ns);

/*
 * Adds the time since the latest observation to the balances.  If a thread other than the first calls execve(2), it
 * takes the first thread's id.  The clocks are then another thread's, and the difference of the totals is ignored.
 * This case is assumed if a total decreased, or if CPU time grew by over 1 s more than the elapsed time.
 */
void vg_weights_observe(struct vg_weights *weights, const struct vg_clocks *clocks);

/* Calls vg_weights_observe(), and returns the weight of a sample that found the thread in `state` at that moment. */
struct vg_weight_pair vg_weights_sample(struct vg_weights *weights, const struct vg_clocks *clocks,
					enum vg_thread_state state);

/*
 * Returns how much CPU time the caller must add to the sample that vg_weights_sample() has just weighed, whose CPU
 * weight is cpu_ns.  The result is 0 unless this sample is the first one that found the thread running.  It raises the
 * weight to period_ns, but is at most unsampled_ns, the process's CPU time that is in no sample.  The reason: of
 * thousands of threads that use less than a period each, few are found, and each of these also stands for others.  The
 * time that is added is subtracted from the thread's later samples.
 */
uint64_t vg_weights_first_running(struct vg_weights *weights, uint64_t cpu_ns, uint64_t period_ns,
				  uint64_t unsampled_ns);

/* Notes that the thread was running at the latest observation.  Call it after vg_weights_observe(), for a running
 * thread that timers sample. */
void vg_weights_running(struct vg_weights *weights);

/* Call it when the latest sample was written to the file: from then on, no weight can be added to that sample. */
void vg_weights_latest_written(struct vg_weights *weights);

/*
 * Whether the queue time that is in no sample exceeds 1/16 of the thread's age.  This limit is one sampling period at
 * least and 100 ms at most.  A thread with timers is then stopped again and again, until a stop finds it in the run
 * queue.  This takes about 10 stops a second on average, and up to 40 stops in the thread's first second.
 */
bool vg_weights_queue_due(const struct vg_weights *weights, uint64_t period_ns);

/* Adds period_ns, which an expired timer measured.  Returns whether a recording whose sampling period is
 * sample_period_ns needs a sample now.  If so, call vg_weights_timer_sample(), which returns the sample's weight. */
bool vg_weights_timer_expired(struct vg_weights *weights, uint64_t period_ns, uint64_t sample_period_ns);
struct vg_weight_pair vg_weights_timer_sample(struct vg_weights *weights, uint64_t time_ns, bool user_only);

/*
 * Timers that may sample user code only (user_only) miss the time in the kernel.  So their samples get none of the CPU
 * time that they have missed.  Stops take the missed time: while it exceeds this limit, the thread is stopped at each
 * tick.  The limit is 1/64 of the thread's age, but at least two sampling periods plus 4 ms, and at most 100 ms.
 */
uint64_t vg_weights_kernel_limit_ns(const struct vg_weights *weights, uint64_t period_ns);

/*
 * Whether a stop that found such a thread running takes a sample.  A stop in a system call does.  A stop in user code
 * does only if the missed time exceeds four times the limit: the kernel then runs for the thread without a system call,
 * for example in page faults.
 */
bool vg_weights_kernel_takes(const struct vg_weights *weights, uint64_t period_ns, bool in_call);

/*
 * Ends the weights at time_ns.  The caller adds the result to the latest sample, or to a repeat of its stack if that
 * sample is in the file.  The result has the rest of the wall time.  If the latest sample found the thread running, the
 * result also has the rest of the CPU time; if not, the rest of the CPU time is in no sample.  A thread that ran at the
 * latest observation is assumed to have run from then until time_ns.  The CPU time of that assumption is subtracted
 * from *unsampled_ns (vg_weights_begin()).
 */
struct vg_weight vg_weights_end(struct vg_weights *weights, uint64_t time_ns, uint64_t *unsampled_ns);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TASKS_H
#define VG_VIGNETTED_TASKS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "vignetted/policy/policy.h"
#include "vignetted/policy/weights.h"

enum { VG_TASK_NAME_BYTES = 64 };

/* Files of /proc/PID/task/TID that are read often. */
enum vg_task_file { VG_TASK_SCHEDSTAT, VG_TASK_SYSCALL, VG_TASK_FILES };

/* What a recording keeps about a thread between its samples.  session/account.c writes all members.  round.c and
 * timer_samples.c also write weights, and capture/counters.c counters and counters_due. */
struct vg_account {
	uint32_t id;                 /* in the profile */
	pid_t tid;                   /* in the profile */
	uint64_t begin_ns;           /* in the profile: the recording's time */
	uint64_t stack_number;       /* number (vg_task.latest) of the latest stack that it took; 0: it took none */
	uint32_t stack;              /* that sample's stack: its id in the profile */
	bool stack_complete;         /* `stack` reaches the thread's root */
	uint32_t stacks_generation;  /* vg_recorder.stacks_generation when `stack` was set */
	uint64_t interval;           /* token of that sample's interval if the profile has the interval, else 0 */
	uint64_t last_ns;            /* session time of its latest sample or repeat; before the first of them: when the
					account began */
	struct vg_weights weights;
	struct {                     /* the latest sample and its repeats, not written yet */
		uint32_t stack, count; /* count 0: there is none */
		uint64_t time_ns, interval;
		struct vg_weight weight;
	} pending;
	uint32_t name_number;        /* vg_task.name_number of the latest name that is in the profile */
	bool counters_due;           /* the thread had a sample since its perf counters were read */
	struct vg_counters *counters; /* owned; its open perf counters; NULL: none */
};

/* A thread's activity, from /proc/PID/task/TID/schedstat.  Reading it does not disturb the thread. */
struct vg_task_activity {
	uint64_t cpu_ns;             /* CPU time as of the latest scheduler tick */
	uint64_t queued_ns;          /* time in the run queue */
	uint64_t timeslices;         /* number of timeslices; if unchanged, the thread has not run */
};

/* A thread of the process.  Each part belongs to the component that its comment names. */
struct vg_task {
	/* Which thread it is: target/tasks.c. */
	pid_t tid;
	int files[VG_TASK_FILES];    /* kept open; -1: opened for each read */
	bool seen;                   /* the scan in progress has found it */
	bool exited;                 /* it has exited; another thread may have its tid now */
	struct vg_task_activity activity; /* the latest read; timeslices is 0 before the first */

	/* Its events: target/events.c. */
	uint32_t lane;               /* index of its lane in the event ring + 1; 0: none */
	uint32_t host_name;          /* number of the label that is the name which the host has given to the thread; 0:
					none */

	/* Whether it sleeps: capture/activity.c. */
	struct {
		uint64_t since_ns;   /* session time when the current activity.timeslices was first read */
		bool is_sleeping;    /* it had not run for 1 s when the round began */
	} sleep;

	/* How its stack is copied: capture/walker.c and stack.c. */
	struct {
		size_t bytes;        /* size of the next copy */
		size_t needed_bytes; /* the most stack that a walk used since the size was last adapted */
		uint32_t walks;      /* number of walks; the size is adapted every 32 walks */
		uint64_t sp, thread_block; /* at its latest stop, see vg_snapshot; 0: it was never stopped */
		uint64_t other_sp;   /* see vg_walk.other_sp */
	} copy;

	/* What the session knows about it: session/threads.c. */
	bool untraceable;            /* it cannot be sampled */
	bool exiting;                /* it is exiting: it runs no more code of the program.  Never set for the leader,
					because a thread that calls execve(2) takes the leader's id */
	bool ran;                    /* it has run since its name was last read */
	uint64_t found_running_ns;   /* CLOCK_MONOTONIC when it was found running; 0: it was not running */
	uint32_t name_number;        /* how many names it has had */
	char name[VG_TASK_NAME_BYTES];

	/* Its timers: session/timer_samples.c. */
	struct {
		bool open;
		bool queue_due;      /* a stop to sample it in the run queue is due */
		bool kernel_due;     /* a stop to sample it in the kernel is due */
		uint32_t kernel_stops; /* such stops without a sample, since its latest timer sample */
		bool silent;         /* at a tick, too much of its CPU time was in no sample (BEHIND_PERIODS in
					timer_samples.c), and no timer sample has come since: perhaps its timer
					takes none */
		bool needs_stop;     /* timer samples copy too little of its stack: see sample_walk() */
		struct vg_policy policy;
		struct {             /* its activity at the policy's latest step, or when first read */
			uint64_t at_ns, cpu_ns, queued_ns, timeslices;
		} step;
		uint64_t ended_ns;   /* session time of its exit, recorded by the kernel; 0: not recorded */
		uint32_t skipped;    /* timer samples skipped because a stop is needed */
	} timers;

	/* The latest stack that a read or a stop has copied, for any recording: session/round.c.  Timer samples
	 * have numbers, too.  They need no entry here: after a timer sample the thread is not where it was before. */
	struct {
		uint64_t count;      /* numbers given so far */
		uint64_t number;     /* 0: there is none */
		uint64_t timeslices; /* the thread's count of timeslices before the stack was copied, plus those that
					our stops of the waiting thread have added: while the count is the same, the
					thread has run no code since */
		uint64_t passed_timeslices; /* the count when the thread was last found waiting */
		uint64_t time_ns;    /* session time */
		uint64_t interval;   /* token of the interval then, or at a later timer sample; or 0 */
	} latest;

	/* By recording: session/account.c, and the files that struct vg_account names. */
	vg_recording_set in_profiles; /* recordings whose profiles have it */
	struct vg_account accounts[VG_RECORDINGS_MAX];
};

struct vg_task_status {
	char state;                  /* as in proc(5): R S D T t Z X I */
	bool is_kernel_worker;       /* a kernel worker (io_uring, vhost): nobody can trace it */
	bool exiting;                /* it is in the kernel's exit path, or a zombie, or was killed */
	char name[VG_TASK_NAME_BYTES];
	uint64_t start_ticks;        /* time of its creation since boot, in units of 1 / sysconf(_SC_CLK_TCK) s */
};

struct vg_tasks {
	DIR *directory;              /* of /proc/PID/task */
	struct { struct vg_task *items; size_t count, capacity; } live;
	size_t open_files, open_files_max; /* threads' files that are kept open, and the most that may be */
	uint64_t link_count;         /* link count of the directory when a scan last read it */
	bool stale;                  /* the next scan must read the directory: a thread has exited, the latest scan was
					incomplete, or other threads were chosen */
	bool directory_read;         /* the latest scan has read the directory, or the chosen threads' status */
	pid_t only[VG_RECORDINGS_MAX]; /* scans look for the threads with these tids, and do not list the others */
	size_t only_count;           /* 0: scans list all threads */
	size_t max;                  /* set by the caller: the most threads to sample; 0: no limit */
	size_t excess, excess_max;   /* threads beyond `max`: now, and the most so far */
	uint64_t found;              /* threads found so far */
};

/* A loop over the threads.  It must not scan, because a scan may move them. */
#define VG_EACH_TASK(task, tasks) \
	for (struct vg_task *task = (tasks)->live.items; \
	     task != NULL && task < (tasks)->live.items + (tasks)->live.count; task++)

/* Returns 0, -ESRCH if there is no such process, or another negative errno. */
int vg_tasks_open(struct vg_tasks *tasks, pid_t pid);
void vg_tasks_close(struct vg_tasks *tasks);

/* Sets the threads that scans look for.  count: at most VG_RECORDINGS_MAX; 0: all threads.  If they have changed, sets
 * `stale`. */
void vg_tasks_choose(struct vg_tasks *tasks, const pid_t *tids, size_t count);

/*
 * Finds new and exited threads.  New threads are appended with tid, `seen` true and `files` -1; the rest is zero.
 * Exited threads have `seen` false until vg_tasks_remove_exited() removes them.  Threads beyond `max` are counted in
 * `excess`; such a thread is appended when an exited thread has made room.
 *
 * The directory is read only if its link count has changed (the kernel counts threads there), or if `stale` is set.
 * With chosen threads, it is never read.  Then the status of each chosen thread is read if `stale` is set, and a zombie
 * counts as exited.  The cost does not depend on the number of other threads.
 *
 * If a new thread has the tid of an exited one, it is appended only by the first scan after the exited thread's
 * removal.
 *
 * Returns 0, -ESRCH if the process has exited, or -ENOMEM.
 */
int vg_tasks_scan(struct vg_tasks *tasks);

/* Whether a scan would read the directory or, with chosen threads, their status.  At most one fstat(2). */
bool vg_tasks_changed(const struct vg_tasks *tasks);

/* Removes the threads that the latest scan did not find. */
void vg_tasks_remove_exited(struct vg_tasks *tasks);

/* The thread with that tid, or NULL.  *hint is the index where the search begins; it is set for the next search. */
struct vg_task *vg_tasks_find(struct vg_tasks *tasks, pid_t tid, size_t *hint);

/* The descriptor of /proc/PID/task. */
int vg_tasks_directory(const struct vg_tasks *tasks);

/* Reads a file of the thread into `text` and adds a NUL.  Returns the length, -ESRCH if the thread has exited, or
 * another negative errno. */
ssize_t vg_task_read(struct vg_tasks *tasks, struct vg_task *task, enum vg_task_file file,
		     char *text, size_t size_bytes);

/* Read the thread's activity, and its status.  Return 0, -ESRCH if the thread has exited, or another negative errno. */
int vg_task_activity_read(struct vg_tasks *tasks, struct vg_task *task, struct vg_task_activity *activity);
int vg_task_status(const struct vg_tasks *tasks, pid_t tid, struct vg_task_status *status);

/* Whether the thread exists and has not exited. */
bool vg_task_is_alive(const struct vg_tasks *tasks, pid_t tid);

/* Whether the process has a thread that is neither exiting nor a kernel worker. */
bool vg_tasks_any_alive(const struct vg_tasks *tasks);

/* Reads the time in the run queue from an open schedstat file.  0: it cannot be read. */
uint64_t vg_schedstat_queued_ns(int fd);

/* The CPU that a thread of any process was last on (field 39 in proc(5)).  -1: the thread has exited. */
int vg_task_cpu(pid_t tid);

/* The thread's tid in its innermost pid namespace; `tid` itself if that is not known. */
pid_t vg_task_namespace_tid(const struct vg_tasks *tasks, pid_t tid);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TASKS_H
#define VG_VIGNETTED_TASKS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "vignetted/policy/methods.h"
#include "vignetted/policy/policy.h"
#include "vignetted/policy/weights.h"

enum { VG_TASK_NAME_BYTES = 64 };

/* Files of /proc/PID/task/TID that are read all the time. */
enum vg_task_file { VG_TASK_SCHEDSTAT, VG_TASK_SYSCALL, VG_TASK_FILES };

/* Its stack was taken while it ran: it has run since, or still does. */
#define VG_SLICES_UNKNOWN UINT64_MAX

/* What a recording keeps of a thread from one of its ticks to the next: session/account.h's. */
struct vg_account {
	uint32_t id;                 /* in the profile */
	bool has_stack;              /* `stack` is set */
	bool stack_complete;         /* `stack` reaches the thread's root */
	uint32_t stack;              /* its latest, as a stack id of the profile */
	uint32_t stacks_generation;  /* of the recorder when `stack` was set */
	uint64_t slices;             /* the count that says it has not run since `stack` */
	uint64_t last_ns;            /* session time of its latest sample */
	struct vg_weights weights;
	uint64_t interval;           /* that it was in then: a token, or 0 */
	uint64_t told;               /* the same if the profile knows it, else 0 */
	struct {                     /* the latest sample and its repeats, not written yet: the next one may give it weight */
		uint32_t stack, count; /* 0: there is none */
		uint64_t time_ns, interval;
		struct vg_weight weight;
	} pending;
	uint32_t name_number;        /* of the task's name that the profile has */
	bool uncounted;              /* it has had a sample since its counters were read */
	struct vg_counters *counters; /* owned; NULL: none are open */
};

/* What /proc says of a thread's scheduling, without disturbing it. */
struct vg_task_look {
	uint64_t cpu_ns;             /* time on a CPU, as of the last scheduler tick */
	uint64_t queued_ns;          /* time that it could have run and had no CPU */
	uint64_t slices;             /* times it was put on a CPU: unchanged, it has not run */
};

/* A thread of the process.  Each part belongs to the component that is named there, and to no other. */
struct vg_task {
	/* Which thread it is: target/tasks.c. */
	pid_t tid;
	int files[VG_TASK_FILES];    /* kept open; -1: opened at each reading */
	bool seen;                   /* by the scan in progress */
	bool gone;                   /* it has ended; its number may be another thread's by now */
	struct vg_task_look look;    /* the latest; slices is 0 before the first */

	/* Its events: target/events.c. */
	uint32_t lane;               /* from 1 on; 0: none */
	bool named;                  /* it has told its name itself */

	/* Whether it sleeps: capture/activity.c. */
	struct {
		uint64_t since_ns;   /* session time of the reading that first said so many slices */
		bool is_asleep;      /* it had not run for long when the round began */
	} sleep;

	/* How its stack is copied: capture/walker.c and stack.c. */
	struct {
		size_t bytes;        /* so much of it */
		size_t needed_bytes; /* the most that one of its latest walks went through */
		uint32_t walks;      /* since `needed_bytes` was last used */
		uint64_t sp, thread_block; /* at its latest stop; 0: it was never stopped */
	} copy;

	/* What the session knows of it: session/threads.c. */
	bool untraceable;            /* not ours to sample */
	bool exiting;                /* or gone, and no leader: it runs no more code */
	bool ran;                    /* since its name was last read */
	uint8_t young;               /* samples for which its name is read each time */
	uint64_t found_ready_ns;     /* CLOCK_MONOTONIC when it was found, if it ran then; else 0 */
	uint32_t name_number;        /* how many names it has had */
	char name[VG_TASK_NAME_BYTES];

	/* Its timers: session/timer_samples.c. */
	struct {
		bool open;
		bool queues;         /* it is to be stopped for the time that it was in the queue for a CPU */
		bool silent;         /* they were behind, and no sample has come since */
		bool stack_truncated; /* what a timer sample copies of its stack does not suffice */
		struct vg_policy policy;
		struct {             /* at the policy's latest step, or when the thread was first read */
			uint64_t at_ns, cpu_ns, queued_ns, slices;
		} step;
		uint64_t ended_ns;   /* session time of its end, as the kernel recorded it; 0: it did not */
		uint32_t passed;     /* samples of truncated stacks that were passed over */
	} timers;

	/* By recording: session/account.c. */
	vg_recording_set begun;      /* whose profiles have been told of it */
	struct vg_account accounts[VG_RECORDINGS];
};

struct vg_task_status {
	char state;                  /* R S D T t Z X I, as proc(5) has them */
	bool of_kernel;              /* made by the kernel, which lets nobody trace it: io_uring's
	                                workers and pollers, vhost's */
	bool exiting;                /* it is on its way out of the kernel's exit(2), or a zombie */
	char name[VG_TASK_NAME_BYTES];
	uint64_t start_ticks;        /* since boot, in sysconf(_SC_CLK_TCK) */
};

struct vg_tasks {
	DIR *directory;              /* of /proc/PID/task */
	struct { struct vg_task *items; size_t count, capacity; } live;
	size_t kept_open, kept_open_max; /* descriptors of threads' files */
	uint64_t links;              /* of the directory at the latest whole scan */
	bool stale;                  /* a thread was found gone since */
	bool names_read;             /* by the latest scan */
	size_t max;                  /* threads to look at, to be set; 0: all */
	size_t over, over_most;      /* more than that, now and at most */
	uint64_t found;              /* threads, so far */
};

/* 0, or a negative errno: -ESRCH when there is no such process. */
int vg_tasks_open(struct vg_tasks *tasks, pid_t pid);
void vg_tasks_close(struct vg_tasks *tasks);

/*
 * Looks who is there.  The kernel counts the threads in the directory's links: where that number
 * is as it was, and no thread has failed to answer, nobody is read by name.  New threads are
 * appended, with tid set and the rest zero; those that are gone have `seen` false until
 * vg_tasks_sweep() removes them.  A new thread with the number of one that is gone is appended by the scan after
 * that.  Those that are more than `max` are counted in `over`; one of them takes the place of one that ends.
 * -ESRCH: the process is gone.
 */
int vg_tasks_scan(struct vg_tasks *tasks);
void vg_tasks_sweep(struct vg_tasks *tasks);

/* The thread with that number; NULL: not listed.  `hint` is where to look first, and is set for the
 * next time. */
struct vg_task *vg_tasks_find(struct vg_tasks *tasks, pid_t tid, size_t *hint);

/* A descriptor of /proc/PID/task. */
int vg_tasks_directory(const struct vg_tasks *tasks);

/* A file's text, which ends with a NUL, and its length; -ESRCH: the thread is gone; or another
 * negative errno. */
ssize_t vg_task_read(struct vg_tasks *tasks, struct vg_task *task, enum vg_task_file file,
		     char *text, size_t size_bytes);

/* 0; -ESRCH: the thread is gone; or another negative errno. */
int vg_task_look(struct vg_tasks *tasks, struct vg_task *task, struct vg_task_look *look);
int vg_task_status(const struct vg_tasks *tasks, pid_t tid, struct vg_task_status *status);

/* Whether there is such a thread, and it has not ended. */
bool vg_task_is_alive(const struct vg_tasks *tasks, pid_t tid);

/* Whether one of the process's own threads, not the kernel's, does not exit. */
bool vg_tasks_any_runs(const struct vg_tasks *tasks);

/* /proc/TID/stat of any thread, or as much as there is room for, and a NUL; "" if it is gone. */
void vg_task_stat_read(pid_t tid, char *text, size_t size_bytes);

/* The CPU that a thread, any one, was on last, by proc(5)'s field 39; -1: it is gone. */
int vg_task_cpu(pid_t tid);

/* The number that the thread has in the innermost pid namespace it is in; tid if that is not told. */
pid_t vg_task_own_tid(const struct vg_tasks *tasks, pid_t tid);

#endif

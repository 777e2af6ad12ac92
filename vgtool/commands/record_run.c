/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/record_run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "vgtool/run/child.h"

/* A descendant is recorded when it has used MIN_CPU_NS of CPU time, or has lived for MIN_AGE_NS.  To start and end a
 * vignetted takes 5 to 8 ms of CPU time.  Most processes of a build use less than that, or only wait for others. */
enum { MIN_CPU_NS = 20 * 1000 * 1000, MIN_AGE_NS = 1000 * 1000 * 1000 };

/* States of a descendant (struct vg_descendant). */
enum { NEW, BOUNDED, FOLLOWED };

struct vg_record_helper {
	struct vg_vignetted vignetted;
	struct vg_record_run *run;
	pid_t process;               /* 0: the command, which is not known yet */
	uint64_t start_ticks;        /* of a descendant; see struct vg_descendant */
	bool is_root;
};

/* ---- one process ---- */

static void status_add(struct vg_vignetted_status *sum, const struct vg_vignetted_status *status)
{
	sum->samples += status->samples;
	sum->cpu_ms += status->cpu_ms;
	sum->threads += status->threads;
	sum->lost += status->lost;
	sum->skipped += status->skipped;
	if (status->elapsed_ms > sum->elapsed_ms)
		sum->elapsed_ms = status->elapsed_ms;
	sum->ended = sum->ended || status->ended;
}

void vg_record_run_sum(struct vg_record_run *run)
{
	run->sum = run->ended;
	for (size_t i = 0; i < run->live.count; i++)
		status_add(&run->sum, &run->live.items[i]->vignetted.status);
}

static int root_add(struct vg_record_run *run, pid_t pid)
{
	size_t count = run->descendants.items.count;
	int rc = vg_descendants_add(&run->descendants, pid);

	if (rc == 0 && run->descendants.items.count > count)
		run->descendants.items.items[count].state = FOLLOWED;
	return rc;
}

static void on_status(void *context, const struct vg_vignetted_status *status)
{
	struct vg_record_helper *helper = context;
	struct vg_record_run *run = helper->run;

	if (helper->process == 0 && status->pid > 0) {
		helper->process = status->pid;
		root_add(run, status->pid);
	}
	run->on_status(run->context, status);
}

/* Returns the arguments of vignetted; the caller frees the array.  NULL: no memory. */
static char **arguments_build(const struct vg_record_helper *helper, char pid[32])
{
	enum { OWN = 8 };
	const struct vg_record_run *run = helper->run;
	const struct vg_record_options *options = run->options;
	size_t count = 0, command = 0;
	char **arguments;

	while (options->command[command] != NULL)
		command++;
	arguments = malloc((OWN + options->forwarded.count + command) * sizeof *arguments);
	if (arguments == NULL)
		return NULL;
	arguments[count++] = (char *)run->program;
	arguments[count++] = "--status-fd";
	arguments[count++] = "";
	arguments[count++] = "-o";
	arguments[count++] = (char *)run->out;
	if (!options->no_perf_map && vg_vignetted_perf_map_wanted(helper->process))
		arguments[count++] = "--perf-map";
	for (size_t i = 0; i < options->forwarded.count; i++)
		arguments[count++] = options->forwarded.items[i];
	snprintf(pid, 32, "--pid=%d", (int)helper->process);
	arguments[count++] = helper->process != 0 ? pid : "--";
	for (size_t i = 0; helper->process == 0 && i < command; i++)
		arguments[count++] = options->command[i];
	arguments[count] = NULL;
	return arguments;
}

/* process: 0: the command.  descendant: NULL: a root. */
static int helper_start(struct vg_record_run *run, pid_t process, const struct vg_descendant *descendant,
			struct vg_err *err)
{
	struct vg_record_helper *helper = calloc(1, sizeof *helper);
	char **arguments = NULL, pid[32];
	bool is_root = descendant == NULL;
	int rc = helper == NULL ? -ENOMEM : 0;

	if (rc == 0) {
		*helper = (struct vg_record_helper){
			.vignetted = { .on_status = on_status, .context = helper, .is_quiet = !is_root },
			.run = run, .process = process, .start_ticks = is_root ? 0 : descendant->start_ticks,
			.is_root = is_root,
		};
		arguments = arguments_build(helper, pid);
		rc = arguments == NULL ? -ENOMEM : vg_array_push(&run->live, &helper);
	}
	if (rc != 0)
		vg_err_sys(err, rc, "cannot start vignetted");
	if (rc == 0) {
		rc = vg_vignetted_start(&helper->vignetted, arguments, err);
		run->live.count -= rc != 0;
	}
	free(arguments);
	if (rc != 0) {
		free(helper);
		return rc;
	}
	run->started++;
	run->roots += is_root;
	/* A signal of the terminal that came before fork(2) has not reached this vignetted. */
	if (vg_child_signal() != 0)
		kill(helper->vignetted.pid, SIGTERM);
	return 0;
}

static void failure_note(struct vg_record_run *run, pid_t process, const char *text)
{
	run->failed++;
	if (run->failure[0] == '\0')
		snprintf(run->failure, sizeof run->failure, "process %d: %.200s", (int)process,
			 *text != '\0' ? text : "vignetted failed");
}

/* If the vignetted of a root fails, it prints the reason itself. */
static void helper_end(struct vg_record_run *run, size_t index, struct vg_err *err)
{
	struct vg_record_helper *helper = run->live.items[index];
	struct vg_vignetted *vignetted = &helper->vignetted;
	struct vg_err why = { "" };
	int rc = vg_vignetted_wait(vignetted, run->program, &why);

	run->live.items[index] = run->live.items[--run->live.count];
	status_add(&run->ended, &vignetted->status);
	if (vignetted->status.ended)
		run->processes++;
	/* SIGTERM at the end of all recordings may come before vignetted handles it. */
	else if (!helper->is_root && (run->is_ending || vg_process_exited(helper->process, helper->start_ticks)))
		run->early++;
	else if (!helper->is_root)
		failure_note(run, helper->process, rc != 0 ? why.text : vignetted->status.message);
	else if (rc != 0) {
		*err = why;
		failure_note(run, helper->process, why.text);
	}
	if (helper->is_root && run->exit_status == 0)
		run->exit_status = vignetted->exit_status;
	if (helper->is_root && vignetted->status.ended)
		memcpy(run->ended.reason, vignetted->status.reason, sizeof run->ended.reason);
	run->roots -= helper->is_root;
	free(helper);
}

/* ---- descendants ---- */

/* A descendant that was not recorded. */
static void unrecorded_count(struct vg_record_run *run, const struct vg_descendant *process)
{
	if (process->state == NEW)
		run->early++;
	else if (process->state == BOUNDED)
		run->bounded++;
}

static void descendant_start(struct vg_record_run *run, struct vg_descendant *process)
{
	struct vg_err err;

	/* A process that waits for a place is recorded as soon as another one has ended. */
	process->state = BOUNDED;
	if (run->live.count >= VG_RECORD_AT_ONCE_MAX || run->started >= VG_RECORD_TOTAL_MAX)
		return;
	process->state = FOLLOWED;
	if (vg_process_exited(process->pid, process->start_ticks))
		run->early++;
	else if (helper_start(run, process->pid, process, &err) != 0)
		failure_note(run, process->pid, err.text);
}

/* The CPU time of a process.  0: it does not exist. */
static uint64_t cpu_ns(pid_t pid)
{
	struct timespec used = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static void descendants_follow(struct vg_record_run *run)
{
	struct vg_descendants *known = &run->descendants;
	uint64_t now_ns = vg_now_ns();

	if (vg_descendants_scan(known, now_ns)) {
		for (size_t i = 0; i < known->items.count; i++) {
			if (known->items.items[i].exited)
				unrecorded_count(run, &known->items.items[i]);
		}
	}
	for (size_t i = 0; i < known->items.count; i++) {
		struct vg_descendant *process = &known->items.items[i];

		if (!process->exited && process->state != FOLLOWED &&
		    (now_ns >= process->seen_ns + MIN_AGE_NS || cpu_ns(process->pid) >= MIN_CPU_NS))
			descendant_start(run, process);
	}
}

/* ---- all processes ---- */

static void lines_read(struct vg_record_run *run, int timeout_ms, struct vg_err *err)
{
	struct pollfd ready[VG_RECORD_AT_ONCE_MAX + VG_RECORD_PIDS_MAX];
	size_t count = run->live.count;

	for (size_t i = 0; i < count; i++)
		ready[i] = (struct pollfd){ .fd = run->live.items[i]->vignetted.status_fd, .events = POLLIN };
	if (poll(ready, count, timeout_ms) <= 0)
		return;
	/* Backwards, because helper_end() moves the last one to the place of the one that has ended. */
	for (size_t i = count; i-- > 0;) {
		if (ready[i].revents != 0 && !vg_vignetted_read(&run->live.items[i]->vignetted))
			helper_end(run, i, err);
	}
}

/* Starts no more recordings. */
static void end_begin(struct vg_record_run *run)
{
	run->is_ending = true;
	for (size_t i = 0; i < run->descendants.items.count; i++) {
		if (!run->descendants.items.items[i].exited)
			unrecorded_count(run, &run->descendants.items.items[i]);
	}
}

/* Ends the recordings of the descendants, which keep their profiles. */
static void live_end(struct vg_record_run *run)
{
	for (size_t i = 0; i < run->live.count; i++)
		kill(run->live.items[i]->vignetted.pid, SIGTERM);
}

static int roots_start(struct vg_record_run *run, struct vg_err *err)
{
	const struct vg_record_options *options = run->options;
	size_t count = options->pids.count;
	int rc = count == 0 ? helper_start(run, 0, NULL, err) : 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = root_add(run, options->pids.items[i]);
		if (rc == 0)
			rc = helper_start(run, options->pids.items[i], NULL, err);
	}
	return rc;
}

int vg_record_run(struct vg_record_run *run, struct vg_err *err)
{
	struct vg_err failure = { "" };
	int rc = run->options->children ? vg_descendants_check(err) : 0;

	if (rc == 0)
		rc = roots_start(run, err);
	run->is_ending = rc != 0;
	if (rc != 0)
		live_end(run);
	while (run->live.count > 0) {
		bool follows = run->options->children && !run->is_ending;

		lines_read(run, follows ? VG_DESCENDANTS_PERIOD_MS : -1, &failure);
		/* A signal comes to the helpers, too (run/child.h). */
		if (follows && (run->roots == 0 || vg_child_signal() != 0)) {
			end_begin(run);
			if (vg_child_signal() == 0)
				live_end(run);
		} else if (follows) {
			descendants_follow(run);
		}
	}
	run->incomplete = run->descendants.full;
	vg_record_run_sum(run);
	vg_descendants_free(&run->descendants);
	vg_array_free(&run->live);
	if (rc != 0 || run->processes > 0 || failure.text[0] == '\0')
		return rc;
	*err = failure;
	return -ECHILD;
}

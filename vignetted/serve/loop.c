/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/loop.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "vignetted/session/dumps.h"

enum { SIGNALS, PROCESS, SOCKETS, POLLED_MAX = SOCKETS + VG_LOOP_SOCKETS };
enum { RELEASE_PERIOD_NS = 1000 * 1000 };

/* The signals that are blocked while the loop waits; NULL: as at other times. */
static const sigset_t *blocked_in_wait;

int vg_loop_signals(void)
{
	static sigset_t in_wait;
	sigset_t wanted, blocked;
	int fd;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGINT);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGHUP);
	blocked = wanted;
	/* The kernel reports a tracee's stop with SIGCHLD.  Block the signal, so that we can wait for it with a
	 * deadline.  Do not ignore it, as our parent may have done: an ignored signal is not sent at all. */
	signal(SIGCHLD, SIG_DFL);
	/* A failed write must return an error instead of killing us. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigaddset(&blocked, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &blocked, NULL) != 0)
		return -errno;
	/* A helper that stops while it holds a thread leaves the thread stopped, too, until somebody continues the
	 * helper.  So the stop signals of a terminal (Ctrl-Z) are blocked, and are received only in ppoll(2), when no
	 * thread is held. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTSTP);
	sigaddset(&blocked, SIGTTIN);
	sigaddset(&blocked, SIGTTOU);
	if (sigprocmask(SIG_BLOCK, &blocked, &in_wait) != 0)
		return -errno;
	blocked_in_wait = &in_wait;
	fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 ? fd : -errno;
}

static int signal_read(int signals)
{
	struct signalfd_siginfo info;

	return read(signals, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

/* Calls ppoll(2) without the unused entries: ppoll() fails for more entries than RLIMIT_NOFILE, even if their fds are
 * -1.  Returns whether a descriptor is ready. */
static bool ready_poll(struct pollfd *ready, size_t count, const struct timespec *timeout, const sigset_t *blocked)
{
	struct pollfd asked[POLLED_MAX];
	size_t used = 0, at = 0;
	int got;

	for (size_t i = 0; i < count; i++) {
		if (ready[i].fd >= 0)
			asked[used++] = ready[i];
	}
	got = ppoll(asked, used, timeout, blocked);
	for (size_t i = 0; i < count; i++) {
		ready[i].revents = 0;
		if (ready[i].fd < 0)
			continue;
		ready[i].revents = got > 0 ? asked[at].revents : 0;
		at++;
	}
	return got > 0;
}

void vg_loop_wait(struct vg_session *session, struct pollfd *ready, size_t count)
{
	bool late = session->tracer.pending != 0, asked;
	uint64_t now_ns = vg_now_ns(), due_ns = UINT64_MAX, left_ns, cpu_ns;
	struct timespec left;

	if (session->live != 0 && session->ticks.period_ns != 0)
		due_ns = session->ticks.due_ns;
	if (session->live != 0 && session->events.shared != NULL &&
	    session->events.begin_ns + session->events.due_ns < due_ns)
		due_ns = session->events.begin_ns + session->events.due_ns;
	/* A pending thread may stop late, and must then be released soon. */
	if (late && now_ns + RELEASE_PERIOD_NS < due_ns)
		due_ns = now_ns + RELEASE_PERIOD_NS;
	if (vg_dumps_busy(session))
		due_ns = now_ns;
	left_ns = due_ns > now_ns ? due_ns - now_ns : 0;
	left = (struct timespec){ (time_t)(left_ns / 1000000000), (long)(left_ns % 1000000000) };
	if (late)
		vg_priority_raise(&session->tracer.priority);
	cpu_ns = vg_thread_cpu_ns();
	asked = ready_poll(ready, count, due_ns != UINT64_MAX ? &left : NULL, late ? NULL : blocked_in_wait);
	session->tracer.got_cpu_ns = vg_got_cpu_ns(cpu_ns);
	vg_priority_woken(&session->tracer.priority);
	vg_tracer_pending_release(&session->tracer);
	/* Lower the priority at once, because requests may take long. */
	if (asked)
		vg_priority_lower_now(&session->tracer.priority);
	else if (late)
		vg_priority_lower(&session->tracer.priority);
}

/* `ready` is NULL if no socket is ready.  Returns whether to continue. */
static bool sockets_turn(struct vg_loop_sockets *sockets, const struct pollfd *ready)
{
	for (size_t i = 0; i < sockets->count; i++)
		sockets->polled[i].revents = ready != NULL ? ready[i].revents : 0;
	return sockets->on_turn(sockets->context);
}

int vg_loop_run(struct vg_session *session, int signals, struct vg_loop_sockets *sockets)
{
	struct pollfd ready[POLLED_MAX] = {
		[SIGNALS] = { .fd = signals, .events = POLLIN },
		[PROCESS] = { .fd = session->target.pidfd, .events = POLLIN },
	};
	vg_recording_set live;
	int ended_by = 0;

	while (ended_by == 0 && (session->live != 0 || !sockets->until_recordings_end)) {
		memcpy(ready + SOCKETS, sockets->polled, sockets->count * sizeof *ready);
		vg_loop_wait(session, ready, SOCKETS + sockets->count);
		if (!sockets_turn(sockets, ready + SOCKETS))
			break;
		if (ready[SIGNALS].revents != 0)
			ended_by = signal_read(signals);
		live = session->live;
		if (ready[PROCESS].revents != 0) {
			session->exited = true;
			vg_session_end_all(session, "the process ended");
			break;
		}
		if (session->live != 0 && vg_ticks_due(&session->ticks, vg_now_ns()))
			vg_session_tick(session);
		if (session->live != 0 && vg_events_due(&session->events, vg_now_ns()))
			vg_session_scan(session);
		vg_dumps_turn(session);
		vg_session_end_stopped(session);
		/* A limit has ended a recording.  Report it now: without recordings, the next wait may take forever. */
		if (session->live != live && !sockets_turn(sockets, NULL))
			break;
	}
	return ended_by;
}

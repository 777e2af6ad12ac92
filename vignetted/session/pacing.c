/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/pacing.h"

#include "base/clock.h"
#include "vignetted/session/looks.h"

/* Threads that no interrupt has told of yet are looked at when samples are fetched, so not too seldom;
 * where few threads run, and all the time, there are none of these. */
static const uint64_t FETCH_NS = UINT64_C(25) * 1000 * 1000;
static const uint64_t FETCH_BUSY_NS = UINT64_C(125) * 1000 * 1000;

/* From one tick to the next it may be a quarter more than a period, and we may get a CPU late. */
enum { ROOM_SHARE = 2 };

/* Of a window: less than a hundredth is nothing, and this much is all the time; more to become busy
 * than to stay it. */
enum { SLIGHT = 100, BUSY_PERCENT = 90, STILL_BUSY_PERCENT = 80 };

/* Waits that last a twentieth of a sampling period and less are no more to be told apart by looking at each. */
enum { SHORT = 20 };

void vg_pacing_begin(struct vg_session *session)
{
	session->fetch_periods = 1;
	session->busy = session->crowd_only = false;
	vg_priority_patient(&session->tracer.priority, false);
}

static bool has_what_only_looks_tell(const struct vg_session *session)
{
	return session->interrupts.user_only || session->counting != 0 || session->stops_seen ||
	       vg_events_come(&session->events, session->round_ns);
}

/* Adds the thread, if it ran at all since it was weighed.  One that is ready and has no CPU does not
 * wait for anything that a look could tell, nor, on the whole, does one that waits often and shortly. */
static void task_weigh(struct vg_task *task, uint64_t short_ns, uint64_t *ready_ns, uint64_t *ran_ns)
{
	uint64_t since_ns = task->looked_ns - task->weighed_ns, before_ns = task->weighed_ready_ns, own_ns;
	uint64_t waits = task->look.slices - task->weighed_slices;

	task->weighed_ready_ns = task->look.cpu_ns + task->look.queued_ns;
	task->weighed_slices = task->look.slices;
	own_ns = task->weighed_ready_ns - before_ns;
	if (task->weighed_ns == 0)
		own_ns = 0;              /* nobody knows: it is not busy yet */
	else if (own_ns < since_ns / SLIGHT)
		since_ns = 0;
	else if (own_ns < since_ns && since_ns - own_ns < waits * short_ns)
		own_ns = since_ns;
	task->weighed_ns = task->looked_ns;
	*ready_ns += own_ns < since_ns ? own_ns : since_ns;
	*ran_ns += since_ns;
}

void vg_pacing_weigh(struct vg_session *session)
{
	uint64_t percent = session->busy ? STILL_BUSY_PERCENT : BUSY_PERCENT, ready_ns = 0, ran_ns = 0;
	struct vg_tasks *tasks = &session->tasks;

	for (size_t i = 0; i < tasks->live.count; i++)
		task_weigh(&tasks->live.items[i], session->timers_ns / SHORT, &ready_ns, &ran_ns);
	session->busy = ran_ns > 0 && ready_ns * 100 >= ran_ns * percent &&
			session->tasks.found == session->weighed_found &&
			!has_what_only_looks_tell(session);
	session->crowd_only = session->interrupts.narrow && !has_what_only_looks_tell(session);
	session->stops_seen = false;
}

/* Whether all that is due at a tick comes from interrupts, or can wait. */
static bool is_fetched_only(const struct vg_session *session)
{
	const struct vg_interrupts *interrupts = &session->interrupts;
	bool only = interrupts->enabled && !session->meagre_seen;
	bool can_wait = session->busy || (session->crowd_only && vg_looks_crowded(session));

	VG_EACH_RECORDING(i, session->live) {
		const struct vg_session_options *options = &session->recordings[i].options;

		only = only && (can_wait || (options->cpu_mode && !interrupts->narrow)) &&
		       options->period_ns >= session->timers_ns;
	}
	return only;
}

/* Until the first recording that has a limit reaches it: ticks look whether one did. */
static uint64_t left_ns(const struct vg_session *session)
{
	uint64_t now_ns = vg_now_ns(), least_ns = UINT64_MAX;

	VG_EACH_RECORDING(i, session->live) {
		const struct vg_recording *recording = &session->recordings[i];
		uint64_t end_ns = recording->begin_ns + recording->options.max_duration_ns;
		uint64_t own_ns = end_ns > now_ns ? end_ns - now_ns : 0;

		if (recording->options.max_duration_ns != 0 && own_ns < least_ns)
			least_ns = own_ns;
	}
	return least_ns;
}

/* As many periods as the rings have room for. */
static uint32_t periods_most(const struct vg_session *session, uint64_t period_ns)
{
	uint64_t fetch_ns = session->busy ? FETCH_BUSY_NS :
			    session->interrupts.narrow ? VG_SCAN_CROWD_NS : FETCH_NS;
	uint64_t room_ns = vg_interrupts_room(&session->interrupts) / ROOM_SHARE *
			   session->interrupts.period_ns;
	uint64_t end_ns = left_ns(session) / ROOM_SHARE, periods;

	if (fetch_ns > room_ns)
		fetch_ns = room_ns;
	periods = (fetch_ns < end_ns ? fetch_ns : end_ns) / period_ns;
	return periods > 0 ? (uint32_t)periods : 1;
}

uint64_t vg_pacing_period_ns(const struct vg_session *session)
{
	return session->ticks.period_ns / session->fetch_periods;
}

void vg_pacing_adapt(struct vg_session *session)
{
	uint64_t period_ns = vg_pacing_period_ns(session);
	uint32_t periods = is_fetched_only(session) ? periods_most(session, period_ns) : 1;

	/* The samples are in the rings: what fetches them need not come before whom they are of.  Where
	 * stops or looks have to tell something, it must: it would always come when the others wait. */
	vg_priority_patient(&session->tracer.priority, periods > 1 && session->busy);
	if (periods == session->fetch_periods)
		return;
	session->fetch_periods = periods;
	/* Anew from now: periods of the former length would seem to be skipped. */
	vg_ticks_restart(&session->ticks, periods * period_ns, vg_now_ns());
}

bool vg_pacing_is_wide(const struct vg_session *session, const struct vg_recording *recording)
{
	return session->fetch_periods > 1 && !recording->options.cpu_mode;
}

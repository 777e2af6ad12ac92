/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/schedule.h"

static struct vg_timers_world timers_world(struct vg_session *session)
{
	return (struct vg_timers_world){
		.tasks = &session->tasks, .activity = &session->activity, .priority = &session->tracer.priority,
		.pid = session->target.pid, .max_memory_bytes = session->max_memory_bytes,
		.ticks_period_ns = session->ticks.period_ns, .stops = session->pauses.stops,
		.random = session->ticks.random,
	};
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

static struct vg_pacing_needs pacing_needs(const struct vg_session *session)
{
	const struct vg_interrupts *interrupts = &session->timers.interrupts;
	struct vg_pacing_needs needs = {
		.timers_run = interrupts->enabled,
		.timers_few = interrupts->narrow,
		.kernel_unseen = interrupts->user_only,
		.counters = session->counting != 0,
		.events = vg_events_come(&session->events, session->activity.round_ns),
		.cpu_only = true, .rates_covered = true,
		.crowd = vg_crowd_is(&session->crowd) && session->counting == 0,
		.period_ns = vg_session_period_ns(session),
		.room_ns = interrupts->ring_count == 0 ? 0 : vg_interrupts_room(interrupts) * interrupts->period_ns,
		.left_ns = left_ns(session),
	};

	VG_EACH_RECORDING(i, session->live) {
		const struct vg_session_options *options = &session->recordings[i].options;

		needs.cpu_only = needs.cpu_only && options->cpu_mode;
		needs.rates_covered = needs.rates_covered && options->period_ns >= session->timers.period_ns;
	}
	return needs;
}

void vg_schedule_adapt(struct vg_session *session)
{
	struct vg_pacing_needs needs = pacing_needs(session);
	uint32_t periods = vg_pacing_periods(&session->pacing, &needs);

	/* The samples are in the rings: what fetches them need not come before whom they are of.  Where
	 * threads must be stopped or read at each period, it must: it would always come when the others wait. */
	vg_priority_patient(&session->tracer.priority, periods > 1 && session->pacing.busy);
	if (periods == session->fetch_periods)
		return;
	session->fetch_periods = periods;
	/* Anew from now: periods of the former length would seem to be skipped. */
	vg_ticks_restart(&session->ticks, periods * needs.period_ns, vg_now_ns());
}

void vg_schedule_timers(struct vg_session *session)
{
	struct vg_timers_world world;
	struct vg_pacing_needs needs;

	session->activity.counts_covered_only = session->timers.policy.mode == VG_TIMERS_FEW;
	if (!vg_timers_due(&session->timers))
		return;
	world = timers_world(session);
	needs = pacing_needs(session);
	vg_pacing_weigh(&session->pacing, &session->tasks, &needs, session->timers.period_ns);
	vg_timers_step(&session->timers, &world);
}

void vg_schedule_rates(struct vg_session *session)
{
	VG_EACH_RECORDING(i, session->live)
		vg_recording_rate(&session->recordings[i], vg_session_period_ns(session));
}

void vg_schedule_follow(struct vg_session *session)
{
	struct vg_timers_world world;
	uint64_t period_ns = 0, now_ns = vg_now_ns();
	uint32_t ppm = 0;
	bool limited = true;

	session->changed = false;
	session->walker.max_frames = 0;
	VG_EACH_RECORDING(i, session->live) {
		const struct vg_session_options *options = &session->recordings[i].options;

		if (options->max_frames > session->walker.max_frames)
			session->walker.max_frames = options->max_frames;
		if (options->period_ns == 0)
			continue;
		if (period_ns == 0 || options->period_ns < period_ns)
			period_ns = options->period_ns;
		limited = limited && options->budget_ppm != 0;
		if (options->budget_ppm > ppm)
			ppm = options->budget_ppm;
	}
	session->fetch_periods = 1;
	vg_pacing_begin(&session->pacing);
	vg_priority_patient(&session->tracer.priority, false);
	vg_ticks_restart(&session->ticks, period_ns, now_ns);
	world = timers_world(session);
	if (!session->stop_always) {
		vg_timers_follow(&session->timers, &world, period_ns);
		vg_schedule_adapt(session);
	}
	vg_budget_change(&session->budget, limited ? ppm : 0, &session->pauses, now_ns);
	vg_schedule_rates(session);
}

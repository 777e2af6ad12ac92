/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/schedule.h"

#include <sys/resource.h>

#include "vignetted/policy/pace.h"

/* The rings of timers get 1/8 of the helper's memory; the rest is for stacks. */
enum { RINGS_SHARE = 8 };

/* Returns the time until the first recording reaches its duration limit, which is checked at ticks.  UINT64_MAX: no
 * recording has such a limit. */
static uint64_t time_left_ns(const struct vg_session *session)
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

static struct vg_pace_load pace_load(const struct vg_session *session, uint64_t now_ns)
{
	struct vg_pace_load load = session->pace.load;

	load.elapsed_ns = now_ns - session->pace.at_ns;
	load.stops = session->pauses.stops - session->pace.stops;
	load.stops -= load.stops < load.queue_stops ? load.stops : load.queue_stops;
	load.found = session->tasks.found - session->pace.found;
	load.unloads = session->modules.ranges.past_total - session->pace.unloads;
	load.cpu_only = true;
	load.counters = session->with_counters != 0;
	load.events = vg_events_are_frequent(&session->events, session->activity.round_ns);
	load.period_ns = vg_session_period_ns(session);
	load.ring_capacity_ns = vg_timers_capacity_ns(&session->timers);
	load.time_left_ns = time_left_ns(session);
	VG_EACH_RECORDING(i, session->live)
		load.cpu_only = load.cpu_only && session->recordings[i].options.cpu_mode;
	return load;
}

static void pace_begin(struct vg_session *session, uint64_t now_ns)
{
	session->pace.at_ns = now_ns;
	session->pace.stops = session->pauses.stops;
	session->pace.found = session->tasks.found;
	session->pace.unloads = session->modules.ranges.past_total;
	session->pace.load = (struct vg_pace_load){ .period_ns = session->timers.mean_period_ns };
}

void vg_schedule_pace(struct vg_session *session)
{
	uint64_t now_ns = vg_now_ns();
	struct vg_pace_load load = pace_load(session, now_ns);
	uint32_t periods;

	if (!vg_pace_due(&load, session->periods_per_tick))
		return;
	periods = vg_pace_periods(&load, session->periods_per_tick);
	pace_begin(session, now_ns);
	if (periods == session->periods_per_tick)
		return;
	session->periods_per_tick = periods;
	/* Restart the ticks: otherwise periods of the former length would count as skipped. */
	vg_ticks_restart(&session->ticks, periods * load.period_ns, now_ns);
}

void vg_schedule_rates_write(struct vg_session *session)
{
	VG_EACH_RECORDING(i, session->live)
		vg_recording_rate_write(&session->recordings[i], vg_session_period_ns(session));
}

static void timers_update(struct vg_session *session, uint64_t period_ns)
{
	uint64_t max_bytes = session->max_memory_bytes;
	struct vg_tasks *tasks = &session->tasks;
	struct rlimit memory;

	if (session->stop_always || (period_ns == session->timers.mean_period_ns &&
				     (period_ns == 0 || session->timers.rings != NULL)))
		return;
	if (getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur < max_bytes)
		max_bytes = memory.rlim_cur;
	for (size_t i = 0; i < tasks->live.count; i++) {
		tasks->live.items[i].timers.open = false;
		tasks->live.items[i].timers.policy = (struct vg_policy){ 0 };
	}
	/* If this fails, running threads are stopped instead. */
	vg_timers_open(&session->timers, session->target.pid, tasks->live.items, tasks->live.count, period_ns,
		       max_bytes / RINGS_SHARE);
}

void vg_schedule_update(struct vg_session *session)
{
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
	session->periods_per_tick = 1;
	vg_ticks_restart(&session->ticks, period_ns, now_ns);
	timers_update(session, period_ns);
	pace_begin(session, now_ns);
	vg_budget_change(&session->budget, limited ? ppm : 0, &session->pauses, now_ns);
	vg_schedule_rates_write(session);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/rates.h"

#include "base/clock.h"
#include "vignetted/session/pacing.h"
#include "vignetted/session/timers.h"

void vg_rates_tell(struct vg_session *session)
{
	VG_EACH_RECORDING(i, session->live)
		vg_recording_rate(session, &session->recordings[i]);
}

void vg_rates_follow(struct vg_session *session)
{
	uint64_t period_ns = 0, now_ns = vg_now_ns();
	uint32_t ppm = 0;
	bool limited = true;

	session->changed = false;
	session->max_frames = 0;
	VG_EACH_RECORDING(i, session->live) {
		const struct vg_session_options *options = &session->recordings[i].options;

		if (options->max_frames > session->max_frames)
			session->max_frames = options->max_frames;
		if (options->period_ns == 0)
			continue;
		if (period_ns == 0 || options->period_ns < period_ns)
			period_ns = options->period_ns;
		limited = limited && options->budget_ppm != 0;
		if (options->budget_ppm > ppm)
			ppm = options->budget_ppm;
	}
	vg_pacing_begin(session);
	vg_ticks_restart(&session->ticks, period_ns, now_ns);
	vg_timers_follow(session, period_ns);
	vg_budget_change(&session->budget, limited ? ppm : 0, &session->pauses, now_ns);
	vg_rates_tell(session);
}

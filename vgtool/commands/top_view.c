/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/top_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "vgtool/output/text.h"

static const uint64_t SECOND_NS = UINT64_C(1000000000);

/* CPU time of the process, or 0.  The name of the program is in parentheses and can have any characters. */
static uint64_t process_cpu_ns(pid_t pid)
{
	char path[64], text[1024], *at;
	uint64_t user, system;
	FILE *file;
	size_t got;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	got = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[got] = '\0';
	at = strrchr(text, ')');
	if (at == NULL || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &user,
				 &system) != 2)
		return 0;
	return (user + system) * (SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
}

void vg_top_view_begin(struct vg_top_view *view, const struct vg_vignetted_status *status)
{
	view->earlier_samples = view->samples;
	if (view->begin_ns == 0)
		view->begin_ns = vg_now_ns();
	view->now = (struct vg_top_usage){ 0 };
	vg_top_view_count(view, status);
}

void vg_top_view_count(struct vg_top_view *view, const struct vg_vignetted_status *status)
{
	view->before = view->now;
	view->now = (struct vg_top_usage){ status->elapsed_ms, status->samples, status->cpu_ms, vg_now_ns(),
					   process_cpu_ns(view->pid) };
	view->samples = view->earlier_samples + status->samples;
}

static uint64_t growth(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

static void header_draw(const struct vg_top_view *view, struct vg_screen *screen)
{
	const struct vg_top_usage *now = &view->now, *before = &view->before;
	uint64_t samples = growth(before->samples, now->samples), ms = growth(before->elapsed_ms, now->elapsed_ms);
	struct vg_text elapsed, all, share, helper;
	char line[256];

	snprintf(line, sizeof line, "%s: process %d, %s, %s samples, %" PRIu64 " per second", view->command,
		 (int)view->pid, vg_text_ns(&elapsed, (vg_now_ns() - view->begin_ns) / SECOND_NS * SECOND_NS),
		 vg_text_number(&all, view->samples), ms > 0 ? samples * 1000 / ms : 0);
	vg_screen_line(screen, true, line);
	snprintf(line, sizeof line, "process %s of one CPU, vignetted %s; q ends, a shows %s",
		 vg_text_percent(&share, growth(before->process_cpu_ns, now->process_cpu_ns),
				 before->now_ns > 0 ? growth(before->now_ns, now->now_ns) : 0),
		 vg_text_percent(&helper, growth(before->helper_cpu_ms, now->helper_cpu_ms), ms),
		 view->is_everything ? "the latest seconds" : "everything");
	vg_screen_line(screen, false, line);
	vg_screen_line(screen, false, "");
}

void vg_top_view_draw(const struct vg_top_view *view, struct vg_screen *screen)
{
	char *at = view->table, *end;

	if (!vg_screen_begin(screen))
		return;
	header_draw(view, screen);
	if (at == NULL || *at == '\0')
		vg_screen_line(screen, false, "waiting for the first samples");
	for (bool is_first = true; at != NULL && *at != '\0'; at = end, is_first = false) {
		end = strchrnul(at, '\n');
		if (*end == '\0') {
			vg_screen_line(screen, is_first, at);
			break;
		}
		*end = '\0';
		vg_screen_line(screen, is_first, at);
		*end++ = '\n';
	}
	vg_screen_end(screen);
}

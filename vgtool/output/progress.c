/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/output/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/print.h"

static const uint64_t FIRST_SHOWN_AFTER_NS = 1000000000;
static const uint64_t UPDATE_PERIOD_NS = 200000000;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void vg_progress_begin(struct vg_progress *progress, const char *title, uint64_t total)
{
	*progress = (struct vg_progress){ .title = title, .total = total,
					  .on_terminal = isatty(STDERR_FILENO) == 1 };
	if (progress->on_terminal)
		progress->next_ns = now_ns() + FIRST_SHOWN_AFTER_NS;
}

void vg_progress_step(struct vg_progress *progress, uint64_t done)
{
	uint64_t now;

	if (!progress->on_terminal || progress->total == 0)
		return;
	now = now_ns();
	if (now < progress->next_ns)
		return;
	progress->next_ns = now + UPDATE_PERIOD_NS;
	progress->shown = true;
	fputs("\r", stderr);
	vg_print(stderr, "%s: %u%%", progress->title,
		 (unsigned)(100.0 * (double)done / (double)progress->total));
	fputs("\033[K", stderr);
	fflush(stderr);
}

void vg_progress_end(struct vg_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/top_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/print.h"
#include "base/sum.h"
#include "profile/stream.h"
#include "vgtool/analysis/instruction_frames.h"
#include "vgtool/output/text.h"
#include "vgtool/resolve/live_symbols.h"
#include "vgtool/views/report_functions.h"

/* A sample is in the profile after this time at the latest.  The window of a process without samples ends this long
 * ago. */
static const uint64_t LATE_NS = UINT64_C(3000000000);

/* The table is made again after 150 times the CPU time that it took: so it costs at most 0.7 % of one CPU. */
enum { PAUSE_FACTOR = 150 };

/* Lines that are no rows of functions: heading, empty line, names of the columns, number of further rows. */
enum { OTHER_LINES = 4 };

struct live {
	const struct vg_top_reader *reader;
	struct vg_profile profile;
	struct vg_stream stream;
	struct vg_live_symbols symbols;
	struct vg_top_request request;
	bool is_requested;           /* the request has no reply yet */
	uint64_t due_ns;             /* CLOCK_MONOTONIC; a request that is not urgent has no reply earlier */
	int profile_fd;              /* -1: the profile has ended */
	VG_ARRAY(uint32_t) shown;    /* samples of the table */
};

/* ---- the table ---- */

/* Selects the samples of the table, and adds up older ones. */
static int samples_select(struct live *live)
{
	const struct vg_profile *profile = &live->profile;
	uint64_t now_ns = vg_stream_now_ns(&live->stream), from_ns;
	size_t first;
	int rc;

	if (live->request.now_ns > LATE_NS && now_ns < live->request.now_ns - LATE_NS)
		now_ns = live->request.now_ns - LATE_NS;
	from_ns = now_ns > live->reader->window_ns ? now_ns - live->reader->window_ns : 0;
	rc = vg_stream_merge(&live->stream, from_ns);
	live->shown.count = 0;
	first = live->request.is_everything ? 0 : live->stream.merged;
	if (rc == 0 && profile->samples.count >= VG_NONE)
		rc = -ENOMEM;
	if (rc == 0)
		rc = vg_array_reserve(&live->shown, profile->samples.count);
	for (size_t i = first; rc == 0 && i < profile->samples.count; i++) {
		if (live->request.is_everything || profile->samples.items[i].time_ns >= from_ns)
			live->shown.items[live->shown.count++] = (uint32_t)i;
	}
	return rc;
}

static void heading_print(const struct live *live, enum vg_weight weight)
{
	const struct vg_profile *profile = &live->profile;
	const char *program = vg_profile_text(profile, profile->header.program);
	uint64_t samples = 0, sum_ns = 0;
	struct vg_text sum, window;

	for (size_t i = 0; i < live->shown.count; i++) {
		const struct vg_sample *sample = &profile->samples.items[live->shown.items[i]];

		samples = vg_sum(samples, sample->count);
		sum_ns = vg_sum(sum_ns, vg_weight_of(sample, weight));
	}
	vg_print(stdout, "%s: %" PRIu64 " sample%s, %s of %s time %s%s\n",
		 *program != '\0' ? program : "unknown program", samples, vg_text_plural(samples),
		 vg_text_ns(&sum, sum_ns), weight == VG_WEIGHT_CPU ? "CPU" : "wall",
		 live->request.is_everything ? "since the recording began" : "in the last ",
		 live->request.is_everything ? "" : vg_text_ns(&window, live->reader->window_ns));
	vg_print(stdout, "\n");
}

static int table_print(struct live *live)
{
	struct vg_report report = { .profile = &live->profile, .is_unresolved = live->reader->symbolize->unresolved };
	uint32_t rows = live->request.rows;
	int rc = samples_select(live);

	if (rc != 0 || live->profile.header.version == 0)
		return rc;
	report.weight = vg_weight_default(&live->profile);
	report.terminal.columns = live->request.columns;
	heading_print(live, report.weight);
	if (live->shown.count > 0)
		return vg_report_samples(&report, live->shown.items, live->shown.count,
					 rows > OTHER_LINES ? rows - OTHER_LINES : 1);
	vg_print(stdout, "no samples%s\n", report.weight == VG_WEIGHT_CPU ? ": the process used no CPU time" : "");
	return 0;
}

static int reply(struct live *live)
{
	uint64_t cpu_ns;
	int rc = live->reader->symbolize->unresolved ? 0 : vg_live_symbols_add(&live->symbols, &live->profile);

	if (live->reader->symbolize->no_instruction_frames)
		vg_instruction_frames_remove(&live->profile);
	/* The symbols of a module are read once, so this time does not delay the next reply. */
	cpu_ns = vg_own_cpu_ns();
	if (rc == 0)
		rc = table_print(live);
	putchar('\0');
	if (rc == 0 && fflush(stdout) != 0)
		rc = -EIO;
	live->is_requested = false;
	live->due_ns = vg_now_ns() + PAUSE_FACTOR * (vg_own_cpu_ns() - cpu_ns);
	return rc;
}

/* ---- the loop ---- */

static int profile_read(struct live *live)
{
	static unsigned char bytes[64 * 1024];
	ssize_t got = read(live->profile_fd, bytes, sizeof bytes);

	if (got < 0)
		return errno == EINTR ? 0 : -errno;
	if (got == 0)
		live->profile_fd = -1;
	return vg_stream_add(&live->stream, bytes, (size_t)got);
}

/* Returns 1 if there is a request, 0 if there are no more, or a negative errno. */
static int request_read(struct live *live)
{
	ssize_t got;

	do {
		got = read(STDIN_FILENO, &live->request, sizeof live->request);
	} while (got < 0 && errno == EINTR);
	live->is_requested = got == (ssize_t)sizeof live->request;
	/* A pipe splits no message of this length. */
	return live->is_requested ? 1 : got == 0 ? 0 : got < 0 ? -errno : -EBADMSG;
}

/* Milliseconds until the reply is due; 0: it is due; -1: there is no request. */
static int reply_wait_ms(const struct live *live)
{
	uint64_t now_ns = vg_now_ns(), wait_ms;

	if (!live->is_requested)
		return -1;
	if (live->request.is_urgent || now_ns >= live->due_ns)
		return 0;
	wait_ms = (live->due_ns - now_ns) / 1000000 + 1;
	return wait_ms < INT_MAX ? (int)wait_ms : INT_MAX;
}

static int requests_serve(struct live *live)
{
	int rc = 0;

	for (;;) {
		struct pollfd files[] = { { STDIN_FILENO, POLLIN, 0 }, { live->profile_fd, POLLIN, 0 } };

		if (poll(files, 2, reply_wait_ms(live)) < 0 && errno != EINTR)
			return -errno;
		if (files[1].revents != 0)
			rc = profile_read(live);
		if (rc == 0 && files[0].revents != 0) {
			rc = request_read(live);
			if (rc <= 0)
				return rc;
		}
		if (rc >= 0 && reply_wait_ms(live) == 0)
			rc = reply(live);
		if (rc < 0)
			return rc;
		rc = 0;
	}
}

int vg_top_reader_run(const struct vg_top_reader *reader)
{
	struct live live = { .reader = reader, .profile_fd = reader->profile };
	int status = vg_symbolize_confine(reader->symbolize, reader->command, (struct vg_confinement){ 0 }), rc;
	struct vg_err err;

	if (status != VG_EXIT_DONE)
		return status;
	live.symbols.finder = &reader->symbolize->finder;
	rc = vg_stream_open(&live.stream, &live.profile);
	if (rc == 0)
		rc = requests_serve(&live);
	if (rc != 0) {
		vg_err_sys(&err, rc, "cannot read the profile");
		status = vg_command_fail(reader->command, &err);
	}
	vg_live_symbols_free(&live.symbols);
	vg_stream_close(&live.stream);
	vg_profile_free(&live.profile);
	vg_array_free(&live.shown);
	return status;
}

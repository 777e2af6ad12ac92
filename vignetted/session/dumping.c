/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/dumping.h"

#include <unistd.h>

#include "base/clock.h"
#include "libvgctl/ring.h"
#include "vignetted/output/flight_sink.h"
#include "vignetted/session/recording.h"

void vg_dumping_open(struct vg_recording *recording, struct vg_lanes *events)
{
	const struct vg_session_options *options = &recording->options;
	struct vg_dumping *dumping = &recording->dumping;
	struct vg_recorder *recorder = &recording->recorder;

	if (options->flight_ns == 0)
		return;
	vg_flight_open(&dumping->flight, options->flight_ns, options->flight_memory_bytes,
		       &recorder->stacks_generation);
	dumping->shared = events;
	dumping->flight.name_max_bytes = recorder->writer.name_max_bytes;
	recorder->writer.sink = vg_flight_sink(&dumping->flight);
	vg_recorder_memory_limit(recorder, options->flight_memory_bytes);
}

bool vg_dumping_is_open(const struct vg_recording *recording)
{
	return recording->open && recording->recorder.writer.sink != NULL;
}

/* Of code that the dump's samples were in and that is no module's, as the process calls it now. */
static void names_write(struct vg_recording *recording)
{
	struct vg_dumping *dumping = &recording->dumping;
	const struct vg_flight *flight = &dumping->flight;
	VG_ARRAY(uint64_t) addresses = { 0 };

	if (recording->perf_map.directory < 0)
		return;
	/* All stacks are in it then. */
	vg_dump_run(&dumping->dump, SIZE_MAX);
	for (size_t i = 0; i < flight->tables.count; i++) {
		const struct vg_flight_table *table = &flight->tables.items[i];

		for (size_t at = 0; at < table->nodes.count; at++) {
			const struct vg_flight_node *node = &table->nodes.items[at];

			if (node->dumped != 0 && vg_perfmap_concerns(node->module, node->found) &&
			    vg_array_push(&addresses, &node->address) != 0)
				break;
		}
	}
	vg_perfmap_write(&recording->perf_map, addresses.items, addresses.count, &dumping->dump.writer);
	vg_flight_stat(&dumping->flight, VG_PERFMAP_STAT, recording->perf_map.unread_bytes);
	vg_array_free(&addresses);
}

int vg_dumping_start(struct vg_recording *recording, enum vg_dumping_for who, int fd, uint64_t now_ns)
{
	struct vg_dumping *dumping = &recording->dumping;

	dumping->who = who;
	dumping->fd = fd;
	return vg_dump_begin(&dumping->dump, &dumping->flight, fd, now_ns, who == VG_DUMPING_STALL);
}

int vg_dumping_finish(struct vg_recording *recording, const char *reason)
{
	struct vg_dumping *dumping = &recording->dumping;
	enum vg_dumping_for who = dumping->who;
	int rc;

	names_write(recording);
	rc = vg_dump_end(&dumping->dump, reason);
	dumping->who = VG_DUMPING_NOBODY;
	switch (who) {
	case VG_DUMPING_ASKED:
		close(dumping->fd);
		if (dumping->asker >= 0)
			dumping->done(dumping->asker, &dumping->dump, rc);
		break;
	case VG_DUMPING_STALL:
		/* The program may give the file its name. */
		atomic_fetch_add(&dumping->shared->dumps, 1);
		break;
	case VG_DUMPING_NOBODY:
	case VG_DUMPING_LAST:
		break;
	}
	return rc;
}

int vg_dumping_last(struct vg_recording *recording)
{
	struct vg_dumping *dumping = &recording->dumping;
	int rc;

	if (dumping->who != VG_DUMPING_NOBODY) {
		vg_dump_stop(&dumping->dump, recording->ended_ns);
		vg_dumping_finish(recording, recording->ended);
	}
	vg_dumping_start(recording, VG_DUMPING_LAST, recording->recorder.writer.fd, recording->ended_ns);
	rc = vg_dumping_finish(recording, recording->ended);
	dumping->samples = dumping->dump.samples;
	dumping->events = dumping->dump.events;
	dumping->threads = dumping->dump.threads;
	dumping->file_bytes = dumping->dump.writer.file_bytes;
	return rc;
}

void vg_dumping_close(struct vg_recording *recording)
{
	struct vg_dumping *dumping = &recording->dumping;

	if (dumping->who != VG_DUMPING_NOBODY) {
		vg_dump_stop(&dumping->dump, vg_recording_now_ns(recording));
		vg_dump_end(&dumping->dump, "the recording ended");
	}
	if (vg_dumping_is_open(recording))
		vg_flight_close(&dumping->flight);
	vg_watchdog_close(&dumping->watchdog);
	recording->recorder.writer.sink = NULL;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/flight_recorder.h"

#include <unistd.h>

#include "libvgctl/ring.h"
#include "vignetted/output/flight_sink.h"

void vg_flight_recorder_open(struct vg_flight_recorder *flight_recorder, struct vg_recorder *recorder,
			     uint64_t window_ns, uint64_t memory_bytes, struct vg_lanes *events)
{
	vg_flight_open(&flight_recorder->flight, window_ns, memory_bytes, &recorder->stacks_generation);
	flight_recorder->shared = events;
	flight_recorder->flight.name_max_bytes = recorder->writer.name_max_bytes;
	recorder->writer.sink = vg_flight_sink(&flight_recorder->flight);
	vg_recorder_memory_limit(recorder, memory_bytes);
}

/* Writes the names that the process's perf map has now for JIT code in the dump's samples. */
static void perf_map_write(struct vg_flight_recorder *flight_recorder, struct vg_perf_map *perf_map)
{
	const struct vg_flight *flight = &flight_recorder->flight;
	VG_ARRAY(uint64_t) addresses = { 0 };

	if (perf_map->directory < 0)
		return;
	/* Write all samples first, so that all their stacks are marked as dumped. */
	vg_dump_run(&flight_recorder->dump, SIZE_MAX);
	for (size_t i = 0; i < flight->tables.count; i++) {
		const struct vg_flight_table *table = &flight->tables.items[i];

		for (size_t at = 0; at < table->nodes.count; at++) {
			const struct vg_flight_node *node = &table->nodes.items[at];

			if (node->dumped != 0 && vg_perf_map_may_name(node->module, node->found) &&
			    vg_array_push(&addresses, &node->address) != 0)
				break;
		}
	}
	vg_perf_map_write(perf_map, addresses.items, addresses.count, &flight_recorder->dump.writer);
	vg_flight_stat(&flight_recorder->flight, VG_PERF_MAP_STATISTIC, perf_map->unread_bytes);
	vg_array_free(&addresses);
}

int vg_flight_recorder_dump_begin(struct vg_flight_recorder *flight_recorder, enum vg_dump_purpose purpose, int fd,
				  uint64_t now_ns)
{
	flight_recorder->purpose = purpose;
	flight_recorder->fd = fd;
	return vg_dump_begin(&flight_recorder->dump, &flight_recorder->flight, fd, now_ns, purpose == VG_DUMP_STALL);
}

int vg_flight_recorder_dump_end(struct vg_flight_recorder *flight_recorder, struct vg_perf_map *perf_map,
				const char *reason)
{
	enum vg_dump_purpose purpose = flight_recorder->purpose;
	int rc;

	perf_map_write(flight_recorder, perf_map);
	rc = vg_dump_end(&flight_recorder->dump, reason);
	flight_recorder->purpose = VG_DUMP_NONE;
	switch (purpose) {
	case VG_DUMP_REQUESTED:
		close(flight_recorder->fd);
		if (flight_recorder->peer >= 0)
			flight_recorder->done(flight_recorder->peer, &flight_recorder->dump, rc);
		break;
	case VG_DUMP_STALL:
		/* The program reads this count.  When the count rises, the program may rename the stall's file. */
		atomic_fetch_add(&flight_recorder->shared->stalls_written, 1);
		break;
	case VG_DUMP_NONE:
	case VG_DUMP_FINAL:
		break;
	}
	return rc;
}

int vg_flight_recorder_dump_final(struct vg_flight_recorder *flight_recorder, struct vg_perf_map *perf_map, int fd,
				  const char *reason, uint64_t ended_ns)
{
	int rc;

	if (flight_recorder->purpose != VG_DUMP_NONE) {
		vg_dump_stop(&flight_recorder->dump, ended_ns);
		vg_flight_recorder_dump_end(flight_recorder, perf_map, reason);
	}
	vg_flight_recorder_dump_begin(flight_recorder, VG_DUMP_FINAL, fd, ended_ns);
	rc = vg_flight_recorder_dump_end(flight_recorder, perf_map, reason);
	flight_recorder->samples = flight_recorder->dump.samples;
	flight_recorder->events = flight_recorder->dump.events;
	flight_recorder->threads = flight_recorder->dump.threads;
	flight_recorder->file_bytes = flight_recorder->dump.writer.file_bytes;
	return rc;
}

void vg_flight_recorder_close(struct vg_flight_recorder *flight_recorder, uint64_t now_ns)
{
	if (flight_recorder->purpose != VG_DUMP_NONE) {
		vg_dump_stop(&flight_recorder->dump, now_ns);
		vg_dump_end(&flight_recorder->dump, "the recording ended");
	}
	vg_flight_close(&flight_recorder->flight);
	vg_watchdog_close(&flight_recorder->watchdog);
}

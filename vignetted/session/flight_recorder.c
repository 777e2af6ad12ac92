/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/flight_recorder.h"

#include <unistd.h>

#include "libvgctl/ring.h"

void vg_flight_recorder_open(struct vg_flight_recorder *flight_recorder, struct vg_recorder *recorder,
			     const struct vg_writer_header *header, uint64_t window_ns, uint64_t memory_bytes,
			     struct vg_lanes *events)
{
	vg_flight_open(&flight_recorder->flight, recorder, window_ns, memory_bytes);
	flight_recorder->header = header;
	flight_recorder->shared = events;
	vg_recorder_memory_limit(recorder, memory_bytes);
}

/* Writes the names that the process's perf map has now for JIT code in the dump's samples. */
static void perf_map_write(struct vg_flight *flight, struct vg_perf_map *perf_map)
{
	const struct vg_intern *found = &flight->dump.jit_addresses;
	VG_ARRAY(uint64_t) addresses = { 0 };

	if (perf_map->directory < 0)
		return;
	vg_flight_dump_run(flight, SIZE_MAX);
	for (uint32_t i = 0; i < found->count; i++) {
		uint64_t address;

		memcpy(&address, vg_intern_bytes(found, i, NULL), sizeof address);
		if (vg_array_push(&addresses, &address) != 0)
			break;
	}
	vg_perf_map_write(perf_map, addresses.items, addresses.count, &flight->dump.writer);
	vg_array_free(&addresses);
	vg_flight_stat(flight, VG_PERF_MAP_STATISTIC, perf_map->unread_bytes);
}

int vg_flight_recorder_dump_begin(struct vg_flight_recorder *flight_recorder, enum vg_dump_purpose purpose, int fd,
				  uint64_t now_ns)
{
	flight_recorder->purpose = purpose;
	flight_recorder->fd = fd;
	return vg_flight_dump_begin(&flight_recorder->flight, fd, flight_recorder->header, now_ns,
				    purpose == VG_DUMP_STALL, flight_recorder->has_perf_map);
}

int vg_flight_recorder_dump_end(struct vg_flight_recorder *flight_recorder, struct vg_perf_map *perf_map,
				const char *reason)
{
	enum vg_dump_purpose purpose = flight_recorder->purpose;
	int rc;

	perf_map_write(&flight_recorder->flight, perf_map);
	rc = vg_flight_dump_end(&flight_recorder->flight, reason);
	flight_recorder->purpose = VG_DUMP_NONE;
	switch (purpose) {
	case VG_DUMP_REQUESTED:
		close(flight_recorder->fd);
		if (flight_recorder->peer >= 0)
			flight_recorder->done(flight_recorder->peer, &flight_recorder->flight.dump, rc);
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
	const struct vg_dump *dump = &flight_recorder->flight.dump;
	int rc;

	if (flight_recorder->purpose != VG_DUMP_NONE) {
		vg_flight_dump_stop(&flight_recorder->flight, ended_ns);
		vg_flight_recorder_dump_end(flight_recorder, perf_map, reason);
	}
	vg_flight_recorder_dump_begin(flight_recorder, VG_DUMP_FINAL, fd, ended_ns);
	rc = vg_flight_recorder_dump_end(flight_recorder, perf_map, reason);
	flight_recorder->samples = dump->samples;
	flight_recorder->events = dump->events;
	flight_recorder->threads = dump->threads;
	flight_recorder->file_bytes = dump->writer.file_bytes;
	return rc;
}

void vg_flight_recorder_close(struct vg_flight_recorder *flight_recorder, uint64_t now_ns)
{
	if (flight_recorder->purpose != VG_DUMP_NONE) {
		vg_flight_dump_stop(&flight_recorder->flight, now_ns);
		vg_flight_dump_end(&flight_recorder->flight, "the recording ended");
	}
	vg_flight_close(&flight_recorder->flight);
	vg_watchdog_close(&flight_recorder->watchdog);
}

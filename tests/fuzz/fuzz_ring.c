/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The helper's side of the event ring. The input is a list of steps of 12 bytes. A step puts a number somewhere into
 * the ring, or the helper fetches the events. Whatever the input is, the profile must be readable, and have as many
 * events as the helper counted. */
#include "tests/fuzz/input.h"

#include <fcntl.h>
#include <string.h>

#include "profile/reader.h"
#include "vignetted/target/events.h"

enum { TASKS = 3, FIRST_TID = 10, LANES_USED = 4 };

static struct vg_lanes *shared;
static int ring_fd = -1, out_fd = -1;

static void ring_make(void)
{
	ring_fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	out_fd = memfd_create("out", MFD_CLOEXEC);
	if (ring_fd < 0 || out_fd < 0 || ftruncate(ring_fd, sizeof *shared) != 0 ||
	    fcntl(ring_fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
		abort();
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0);
	if (shared == MAP_FAILED)
		abort();
}

static void ring_reset(void)
{
	memset(shared, 0, offsetof(struct vg_lanes, labels));
	madvise(shared->labels, sizeof *shared - offsetof(struct vg_lanes, labels), MADV_REMOVE);
	shared->magic = VG_LANES_MAGIC;
	shared->version = VG_LANES_VERSION;
}

/* A step has its kind, an offset and a number of 64 bits. */
static void step_put(const uint8_t *step)
{
	uint32_t lane_at = step[1] % LANES_USED, at = step[2] | (uint32_t)step[3] << 8;
	struct vg_lane *lane = &shared->lanes[lane_at];
	struct vg_lane_record *record = &shared->records[lane_at][at % VG_LANE_RECORDS];
	uint64_t value;

	memcpy(&value, step + 4, sizeof value);
	switch (step[0] % 16) {
	case 0: lane->head = value; break;
	case 1: lane->head += at % 64; break;
	case 2: lane->taken = (uint32_t)value; break;
	case 3: lane->claims += at; break;
	case 4: lane->owner = (int32_t)value; break;
	case 5: lane->name = (uint32_t)value; break;
	case 6: lane->dropped = value; break;
	case 7: shared->used = (uint32_t)value; break;
	case 8: shared->labels_bytes = value; break;
	case 9: shared->labels_bytes += at % 32; break;
	case 10: memcpy(shared->labels + at, &value, sizeof value); break;
	case 11: record->time_ns = value; break;
	case 12: record->type_and_labels = value; break;
	case 13: record->value = value; break;
	case 14: record->parent = value; break;
	case 15: lane->tail = value; break;
	}
}

static void profile_check(uint64_t recorded)
{
	struct vg_profile profile = { 0 };
	struct vg_infile file = { .path = "out" };
	struct vg_err err;

	file.length = (uint64_t)lseek(out_fd, 0, SEEK_END);
	file.bytes = mmap(NULL, file.length, PROT_READ, MAP_SHARED, out_fd, 0);
	if (file.bytes == MAP_FAILED || vg_profile_read(&profile, &file, &err) != 0 ||
	    profile.damage.count > 0 || profile.events.count != recorded)
		abort();
	vg_profile_free(&profile);
	munmap((void *)file.bytes, file.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct vg_writer_header header = { .mode = "wall", .writer = "", .arch = "",
							.program = "" };
	struct vg_task items[TASKS] = { 0 };
	struct vg_tasks tasks = { .live = { items, TASKS, TASKS } };
	struct vg_events events;
	struct vg_writer writer;
	uint32_t threads = 0;
	struct vg_drain_context sink = { &tasks, 0, false };

	if (shared == NULL)
		ring_make();
	ring_reset();
	if (ftruncate(out_fd, 0) != 0 || lseek(out_fd, 0, SEEK_SET) != 0)
		abort();
	vg_writer_open(&writer, out_fd, 0);
	vg_writer_header(&writer, &header);
	for (; threads < TASKS; threads++) {
		struct vg_thread thread = { .id = threads, .tid = FIRST_TID + (int32_t)threads };

		items[threads].tid = thread.tid;
		items[threads].accounts[0].id = threads;
		items[threads].in_profiles = 1;
		vg_writer_thread(&writer, &thread, "");
	}
	if (vg_events_open(&events, ring_fd, size > 0 && data[0] % 2 != 0) != 0)
		abort();
	vg_events_begin(&events, 0);
	vg_events_recording_begin(&events, 0, &writer, &threads, 0);
	for (; size >= 12; data += 12, size -= 12) {
		sink.now_ns += 1 << 20;
		if (data[0] >= 0xf0)
			vg_events_drain(&events, &sink);
		else
			step_put(data);
	}
	sink.last = true;
	vg_events_drain(&events, &sink);
	for (size_t i = 0; i < TASKS; i++)
		vg_events_interval_at(&events, &items[i], sink.now_ns / 2);
	vg_events_finish(&events, UINT64_MAX);
	vg_writer_end(&writer, "end", sink.now_ns, NULL, 0);
	profile_check(events.profiles[0].recorded);
	vg_events_close(&events);
	vg_writer_close(&writer);
	return 0;
}

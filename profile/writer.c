/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "profile/chunk.h"
#include "profile/packing.h"

/* A chunk is written out when it holds this much: large enough that headers cost nothing,
 * small enough that a kill loses little. */
enum { CHUNK_FULL_BYTES = 64 * 1024 };

static uint64_t time_us(uint64_t time_ns)
{
	return time_ns / 1000;
}

/* Sends a record elsewhere, where the writer is told so. */
#define TO_SINK(writer, method, ...) \
	if ((writer)->sink != NULL) \
		return (writer)->sink->method((writer)->sink, __VA_ARGS__)

/* msgpack-c reports a failed allocation by a non-zero return of any packing call; those are
 * gathered in writer->failed by record_end() through this hook instead of at each call. */
static int buffer_append(void *data, const char *bytes, size_t length)
{
	struct vg_writer *writer = data;
	int rc = msgpack_sbuffer_write(&writer->buffer, bytes, length);

	if (rc != 0 && writer->failed == 0)
		writer->failed = -ENOMEM;
	return rc;
}

void vg_writer_open(struct vg_writer *writer, int fd, uint64_t limit_bytes)
{
	memset(writer, 0, sizeof *writer);
	writer->fd = fd;
	writer->limit_bytes = limit_bytes;
	writer->name_max_bytes = VG_NAME_MAX_BYTES;
	writer->appends = (fcntl(fd, F_GETFL) & O_APPEND) != 0;
	msgpack_sbuffer_init(&writer->buffer);
	msgpack_packer_init(&writer->packer, writer, buffer_append);
}

void vg_writer_close(struct vg_writer *writer)
{
	msgpack_sbuffer_destroy(&writer->buffer);
	vg_array_free(&writer->threads);
}

static void header_room(struct vg_writer *writer)
{
	static const char room[VG_CHUNK_HEADER_BYTES];

	buffer_append(writer, room, sizeof room);
}

static void chunk_begin(struct vg_writer *writer)
{
	header_room(writer);
	msgpack_pack_array(&writer->packer, 2);
	pack_uint(writer, VG_RECORD_TIME);
	pack_uint(writer, writer->last_us);
	writer->event_ns = writer->last_us * 1000;
}

static void record_begin(struct vg_writer *writer, enum vg_record kind, size_t fields)
{
	if (writer->buffer.size == 0)
		chunk_begin(writer);
	msgpack_pack_array(&writer->packer, fields + 1);
	pack_uint(writer, kind);
}

static int record_end(struct vg_writer *writer)
{
	if (writer->failed == 0 && writer->buffer.size >= CHUNK_FULL_BYTES)
		vg_writer_flush(writer);
	return writer->failed;
}

bool vg_writer_full(const struct vg_writer *writer)
{
	return writer->limit_bytes != 0 &&
	       writer->file_bytes + writer->buffer.size + VG_WRITER_RESERVE_BYTES >
	       writer->limit_bytes;
}

int vg_writer_flush(struct vg_writer *writer)
{
	size_t length = writer->buffer.size;
	off_t place;
	int rc;

	if (writer->failed != 0 || length == 0)
		return writer->failed;
	/* A file that was given to us may have begun before us.  Of a pipe this is -1. */
	place = lseek(writer->fd, 0, writer->appends ? SEEK_END : SEEK_CUR);
	vg_chunk_header((unsigned char *)writer->buffer.data, writer->sequence,
			writer->buffer.data + VG_CHUNK_HEADER_BYTES, length - VG_CHUNK_HEADER_BYTES);
	rc = vg_write_all(writer->fd, writer->buffer.data, length);
	if (rc != 0) {
		/* Cut off what part of the chunk was written: a clean end beats a damaged one.
		 * On a pipe the reader sees a truncated chunk instead. */
		if (place >= 0 && ftruncate(writer->fd, place) == 0)
			lseek(writer->fd, place, SEEK_SET);
		return writer->failed = rc;
	}
	writer->file_bytes += length;
	writer->sequence++;
	msgpack_sbuffer_clear(&writer->buffer);
	return 0;
}

int vg_writer_header(struct vg_writer *writer, const struct vg_writer_header *header)
{
	TO_SINK(writer, header, header);
	record_begin(writer, VG_RECORD_HEADER, 1);
	msgpack_pack_map(&writer->packer, (size_t)8 + (header->from_ns != 0) +
			 (header->counters != NULL));
	pack_text(writer, "version");
	pack_uint(writer, VG_FORMAT_VERSION);
	pack_text(writer, "mode");
	pack_text(writer, header->mode);
	pack_text(writer, "period_ns");
	pack_uint(writer, header->period_ns);
	pack_text(writer, "start_unix_s");
	pack_uint(writer, header->start_unix_s);
	pack_text(writer, "max_frames");
	pack_uint(writer, header->max_frames);
	pack_text(writer, "writer");
	pack_text(writer, header->writer);
	pack_text(writer, "arch");
	pack_text(writer, header->arch);
	pack_text(writer, "program");
	pack_text(writer, header->program);
	if (header->from_ns != 0) {
		pack_text(writer, "from_us");
		pack_uint(writer, time_us(header->from_ns));
	}
	if (header->counters != NULL) {
		pack_text(writer, "counters");
		pack_text(writer, header->counters);
	}
	return record_end(writer);
}

int vg_writer_module(struct vg_writer *writer, const struct vg_module *module, const char *name)
{
	TO_SINK(writer, module, module, name);
	record_begin(writer, VG_RECORD_MODULE, 6);
	pack_uint(writer, module->id);
	pack_uint(writer, time_us(module->load_ns));
	pack_name(writer, name);
	msgpack_pack_bin(&writer->packer, module->build_id_bytes);
	msgpack_pack_bin_body(&writer->packer, module->build_id, module->build_id_bytes);
	pack_uint(writer, module->base);
	pack_uint(writer, module->size_bytes);
	return record_end(writer);
}

int vg_writer_module_unload(struct vg_writer *writer, uint32_t module, uint64_t time_ns)
{
	TO_SINK(writer, module_unload, module, time_ns);
	record_begin(writer, VG_RECORD_MODULE_UNLOAD, 2);
	pack_uint(writer, module);
	pack_uint(writer, time_us(time_ns));
	return record_end(writer);
}

int vg_writer_thread(struct vg_writer *writer, const struct vg_thread *thread, const char *name)
{
	uint64_t begin_us = time_us(thread->begin_ns);
	struct vg_writer_thread fresh = { .last_us = begin_us };

	TO_SINK(writer, thread, thread, name);
	while (writer->failed == 0 && writer->threads.count <= thread->id)
		writer->failed = vg_array_push(&writer->threads, &fresh);
	record_begin(writer, VG_RECORD_THREAD, 4);
	pack_uint(writer, thread->id);
	pack_uint(writer, begin_us);
	pack_uint(writer, (uint32_t)thread->tid);
	pack_name(writer, name);
	return record_end(writer);
}

int vg_writer_thread_name(struct vg_writer *writer, uint32_t thread, uint64_t time_ns,
			  const char *name)
{
	TO_SINK(writer, thread_name, thread, name);
	record_begin(writer, VG_RECORD_THREAD_NAME, 3);
	pack_uint(writer, thread);
	pack_uint(writer, time_us(time_ns));
	pack_name(writer, name);
	return record_end(writer);
}

int vg_writer_thread_end(struct vg_writer *writer, uint32_t thread, uint64_t time_ns)
{
	TO_SINK(writer, thread_end, thread, time_ns);
	record_begin(writer, VG_RECORD_THREAD_END, 2);
	pack_uint(writer, thread);
	pack_uint(writer, time_us(time_ns));
	return record_end(writer);
}

int vg_writer_stack(struct vg_writer *writer, uint32_t id, uint32_t parent, uint32_t module,
		    uint64_t address, enum vg_found found)
{
	TO_SINK(writer, stack, id, parent, module, address, found);
	record_begin(writer, VG_RECORD_STACK, found == VG_FOUND_CFI ? 4 : 5);
	pack_uint(writer, id);
	pack_uint(writer, parent);
	pack_nil_or(writer, module);
	pack_uint(writer, address);
	if (found != VG_FOUND_CFI)
		pack_uint(writer, found);
	return record_end(writer);
}

int vg_writer_sample(struct vg_writer *writer, const struct vg_writer_sample *sample)
{
	uint64_t now_us = time_us(sample->time_ns), wall_us = time_us(sample->wall_ns);
	struct vg_writer_thread *thread;
	uint64_t cpu_ns;
	size_t fields;
	bool follows;

	TO_SINK(writer, sample, sample);
	if (writer->failed != 0)
		return writer->failed;
	thread = &writer->threads.items[sample->thread];
	cpu_ns = sample->cpu_ns + thread->cpu_rest_ns;
	thread->cpu_rest_ns = cpu_ns % VG_CPU_UNIT_NS;
	/* Most samples stand for all the time since the thread's last one: that goes unsaid.
	 * One microsecond of play, for the two times were cut off apart. */
	follows = wall_us + 1 >= now_us - thread->last_us && wall_us <= now_us - thread->last_us + 1;
	fields = sample->interval != 0 ? 7 : sample->count != 1 ? 6 : follows ? 4 : 5;
	record_begin(writer, VG_RECORD_SAMPLE, fields);
	pack_uint(writer, sample->thread);
	msgpack_pack_int64(&writer->packer, (int64_t)(now_us - writer->last_us));
	pack_uint(writer, sample->stack);
	pack_uint(writer, cpu_ns / VG_CPU_UNIT_NS);
	if (!follows)
		pack_uint(writer, wall_us);
	else if (fields > 5)
		msgpack_pack_nil(&writer->packer);
	if (fields > 5)
		pack_uint(writer, sample->count);
	if (fields > 6)
		pack_uint(writer, sample->interval);
	thread->last_us = writer->last_us = now_us;
	return record_end(writer);
}

int vg_writer_label(struct vg_writer *writer, uint32_t id, const char *text, size_t length)
{
	TO_SINK(writer, label, id, text, length);
	record_begin(writer, VG_RECORD_LABEL, 2);
	pack_uint(writer, id);
	pack_bytes(writer, text, length < VG_LABEL_MAX_BYTES ? length : VG_LABEL_MAX_BYTES);
	return record_end(writer);
}

int vg_writer_event(struct vg_writer *writer, const struct vg_writer_event *event)
{
	TO_SINK(writer, event, event);
	record_begin(writer, VG_RECORD_EVENT, event->parent != 0 ? 8 : event->token != 0 ? 7 : 6);
	pack_uint(writer, event->what);
	pack_uint(writer, event->thread);
	msgpack_pack_int64(&writer->packer, (int64_t)(event->time_ns - writer->event_ns));
	pack_nil_or(writer, event->kind);
	pack_nil_or(writer, event->label);
	if (event->what == VG_EVENT_COUNTER)
		msgpack_pack_int64(&writer->packer, (int64_t)event->value);
	else
		pack_uint(writer, event->value);
	if (event->token != 0 || event->parent != 0)
		pack_uint(writer, event->token);
	if (event->parent != 0)
		pack_uint(writer, event->parent);
	writer->event_ns = event->time_ns;
	return record_end(writer);
}

int vg_writer_count(struct vg_writer *writer, const struct vg_writer_count *count)
{
	uint64_t now_us = time_us(count->time_ns), last_us;

	TO_SINK(writer, count, count);
	if (writer->failed != 0)
		return writer->failed;
	last_us = writer->threads.items[count->thread].last_us;
	record_begin(writer, VG_RECORD_COUNT, 3);
	pack_uint(writer, count->thread);
	pack_uint(writer, now_us > last_us ? now_us - last_us : 0);
	msgpack_pack_array(&writer->packer, count->count);
	for (uint32_t i = 0; i < count->count; i++)
		pack_uint(writer, count->values[i]);
	return record_end(writer);
}

int vg_writer_rate(struct vg_writer *writer, uint64_t time_ns, uint64_t period_ns)
{
	TO_SINK(writer, rate, time_ns, period_ns);
	record_begin(writer, VG_RECORD_RATE, 2);
	pack_uint(writer, time_us(time_ns));
	pack_uint(writer, period_ns);
	return record_end(writer);
}

int vg_writer_pauses(struct vg_writer *writer, const uint64_t (*pairs)[2], size_t count)
{
	TO_SINK(writer, pauses, pairs, count);
	record_begin(writer, VG_RECORD_PAUSES, 1);
	msgpack_pack_array(&writer->packer, 2 * count);
	for (size_t i = 0; i < count; i++) {
		pack_uint(writer, pairs[i][0]);
		pack_uint(writer, pairs[i][1]);
	}
	return record_end(writer);
}

int vg_writer_lost(struct vg_writer *writer, const struct vg_named *counts, size_t count)
{
	TO_SINK(writer, lost, counts, count);
	record_begin(writer, VG_RECORD_LOST, 1);
	pack_counts(writer, counts, count);
	return record_end(writer);
}

int vg_writer_stats(struct vg_writer *writer, const struct vg_named *counts, size_t count)
{
	TO_SINK(writer, stats, counts, count);
	record_begin(writer, VG_RECORD_STATS, 1);
	pack_counts(writer, counts, count);
	return record_end(writer);
}

int vg_writer_end(struct vg_writer *writer, const char *reason, uint64_t time_ns,
		  const struct vg_named *totals, size_t count)
{
	int failed = writer->failed;

	if (writer->sink != NULL)
		return 0;
	/* The chunk that could not be written is lost; these few bytes may still find room where it
	 * did not. */
	if (failed != 0) {
		msgpack_sbuffer_clear(&writer->buffer);
		writer->sequence++;
		writer->failed = 0;
	}
	record_begin(writer, VG_RECORD_END, 3);
	pack_text(writer, reason);
	pack_uint(writer, time_us(time_ns));
	pack_counts(writer, totals, count);
	vg_writer_flush(writer);
	if (failed != 0)
		writer->failed = failed;
	return writer->failed;
}

int vg_writer_function(struct vg_writer *writer, uint32_t id, const char *name, const char *file,
		       uint32_t module)
{
	record_begin(writer, VG_RECORD_FUNCTION, 4);
	pack_uint(writer, id);
	pack_text(writer, name);
	if (file != NULL)
		pack_text(writer, file);
	else
		msgpack_pack_nil(&writer->packer);
	pack_nil_or(writer, module);
	return record_end(writer);
}

int vg_writer_symbol(struct vg_writer *writer, uint32_t module, uint64_t address,
		     const struct vg_symbol_line *lines, size_t count)
{
	record_begin(writer, VG_RECORD_SYMBOL, 3);
	pack_uint(writer, module);
	pack_uint(writer, address);
	msgpack_pack_array(&writer->packer, 2 * count);
	for (size_t i = 0; i < count; i++) {
		pack_uint(writer, lines[i].function);
		pack_uint(writer, lines[i].line);
	}
	return record_end(writer);
}

int vg_writer_code(struct vg_writer *writer, uint64_t address, uint64_t size_bytes,
		   const char *name)
{
	if (writer->sink != NULL)
		return 0;
	record_begin(writer, VG_RECORD_CODE, 3);
	pack_uint(writer, address);
	pack_uint(writer, size_bytes);
	pack_name(writer, name);
	return record_end(writer);
}

int vg_writer_unresolved(struct vg_writer *writer, uint32_t module)
{
	record_begin(writer, VG_RECORD_UNRESOLVED, 1);
	pack_uint(writer, module);
	return record_end(writer);
}

int vg_writer_copy(struct vg_writer *writer, const void *record, size_t length)
{
	if (writer->buffer.size == 0)
		header_room(writer);
	buffer_append(writer, record, length);
	return writer->failed;
}

int vg_writer_gap(struct vg_writer *writer, uint64_t bytes)
{
	record_begin(writer, VG_RECORD_GAP, 1);
	pack_uint(writer, bytes);
	return record_end(writer);
}

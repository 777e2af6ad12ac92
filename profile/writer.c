/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/utf8.h"
#include "profile/chunk.h"

/* A chunk is written when it has this size.  If chunks were larger, a kill would lose more data; if chunks were
 * smaller, their headers would take more space. */
enum { CHUNK_FULL_BYTES = 64 * 1024 };

/* What records leave below the size limit: 2 KiB for the end record, which has a reason and some twenty counts, and
 * 6 KiB for the last counts: the histogram of pauses can have 5 KiB. */
enum { END_MAX_BYTES = 2 * 1024, LAST_COUNTS_BYTES = 6 * 1024 };

/* ---- fields ---- */

static void pack_uint(struct vg_writer *writer, uint64_t value)
{
	msgpack_pack_uint64(&writer->packer, value);
}

static void pack_bytes(struct vg_writer *writer, const char *text, size_t length)
{
	msgpack_pack_str(&writer->packer, length);
	msgpack_pack_str_body(&writer->packer, text, length);
	if (writer->failed == 0)
		vg_utf8_make_valid(writer->buffer.data + writer->buffer.size - length, length);
}

static void pack_text(struct vg_writer *writer, const char *text)
{
	pack_bytes(writer, text, strnlen(text, VG_NAME_MAX_BYTES));
}

/* Packs a name that the process or its user chose.  Truncates it to writer->name_max_bytes. */
static void pack_name(struct vg_writer *writer, const char *name)
{
	size_t length = strnlen(name, writer->name_max_bytes + (size_t)1);

	if (length > writer->name_max_bytes) {
		/* Do not split a UTF-8 character. */
		for (length--; length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80;)
			length--;
		writer->names_truncated++;
	}
	pack_bytes(writer, name, length);
}

static void pack_nil_or(struct vg_writer *writer, uint32_t id)
{
	if (id == VG_NONE)
		msgpack_pack_nil(&writer->packer);
	else
		pack_uint(writer, id);
}

static void pack_pair_uint(struct vg_writer *writer, const char *name, uint64_t value)
{
	pack_text(writer, name);
	pack_uint(writer, value);
}

static void pack_pair_text(struct vg_writer *writer, const char *name, const char *text)
{
	pack_text(writer, name);
	pack_text(writer, text);
}

static void pack_counts(struct vg_writer *writer, const struct vg_named_value *counts, size_t count)
{
	msgpack_pack_map(&writer->packer, count);
	for (size_t i = 0; i < count; i++)
		pack_pair_uint(writer, counts[i].name, counts[i].value);
}

/* ---- records and chunks ---- */

static uint64_t time_us(uint64_t time_ns)
{
	return time_ns / 1000;
}

/* msgpack-c's packing functions return non-zero if an allocation failed.  This hook sets writer->failed, and
 * record_end() returns that failure.  So callers need not check each packing call. */
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
	vg_array_free(&writer->ended);
}

static void header_reserve(struct vg_writer *writer)
{
	static const char room[VG_CHUNK_HEADER_BYTES];

	buffer_append(writer, room, sizeof room);
}

static void chunk_begin(struct vg_writer *writer)
{
	header_reserve(writer);
	msgpack_pack_array(&writer->packer, 2);
	pack_uint(writer, VG_RECORD_TIME);
	pack_uint(writer, writer->last_us);
	writer->event_ns = writer->last_us * 1000;
}

static void record_begin(struct vg_writer *writer, enum vg_record kind, size_t fields)
{
	if (writer->buffer.size == 0)
		chunk_begin(writer);
	writer->record_at = writer->buffer.size;
	msgpack_pack_array(&writer->packer, fields + 1);
	pack_uint(writer, kind);
}

/* Whether the file would have fewer than left_bytes below its limit. */
static bool is_near(const struct vg_writer *writer, uint64_t left_bytes)
{
	return writer->limit_bytes != 0 &&
	       writer->file_bytes + writer->buffer.size + left_bytes > writer->limit_bytes;
}

static int record_finish(struct vg_writer *writer, bool is_left_out)
{
	if (is_left_out) {
		writer->buffer.size = writer->record_at;
		writer->records_left_out++;
	}
	if (writer->failed == 0 && writer->buffer.size >= CHUNK_FULL_BYTES)
		vg_writer_flush(writer);
	return writer->failed;
}

/* Keeps the record, unless the file would become larger than its limit.  After a record that was left out, all others
 * are, too, because they may refer to it. */
static int record_end(struct vg_writer *writer)
{
	writer->is_over |= is_near(writer, END_MAX_BYTES + LAST_COUNTS_BYTES);
	return record_finish(writer, writer->is_over);
}

/* For counts, which refer to nothing. */
static int counts_end(struct vg_writer *writer)
{
	return record_finish(writer, is_near(writer, END_MAX_BYTES));
}

bool vg_writer_full(const struct vg_writer *writer)
{
	return is_near(writer, VG_WRITER_RESERVE_BYTES + writer->names_bytes);
}

int vg_writer_flush(struct vg_writer *writer)
{
	size_t length = writer->buffer.size;
	off_t place;
	int rc;

	if (writer->failed != 0 || length == 0)
		return writer->failed;
	if (writer->take != NULL) {
		writer->take(writer->taker, writer->buffer.data + VG_CHUNK_HEADER_BYTES,
			     length - VG_CHUNK_HEADER_BYTES);
		writer->sequence++;
		msgpack_sbuffer_clear(&writer->buffer);
		return 0;
	}
	/* `place` is the offset of the chunk, or -1 for a pipe.  It can differ from file_bytes, because the file may
	 * have had contents before we opened it. */
	place = lseek(writer->fd, 0, writer->appends ? SEEK_END : SEEK_CUR);
	vg_chunk_header((unsigned char *)writer->buffer.data, writer->sequence,
			writer->buffer.data + VG_CHUNK_HEADER_BYTES, length - VG_CHUNK_HEADER_BYTES);
	rc = vg_write_all(writer->fd, writer->buffer.data, length);
	if (rc != 0) {
		/* Remove the part of the chunk that was written, so that the file ends with a complete chunk.  This is
		 * impossible for a pipe: its reader gets a truncated chunk. */
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
	record_begin(writer, VG_RECORD_HEADER, 1);
	msgpack_pack_map(&writer->packer, (size_t)8 + (header->start_us != 0) + (header->window_begin_ns != 0) +
			 (header->counters != NULL));
	pack_pair_uint(writer, "version", VG_FORMAT_VERSION);
	pack_pair_text(writer, "mode", header->mode);
	pack_pair_uint(writer, "period_ns", header->period_ns);
	pack_pair_uint(writer, "start_unix_s", header->start_unix_s);
	pack_pair_uint(writer, "max_frames", header->max_frames);
	pack_pair_text(writer, "writer", header->writer);
	pack_pair_text(writer, "arch", header->arch);
	pack_pair_text(writer, "program", header->program);
	if (header->start_us != 0)
		pack_pair_uint(writer, "start_us", header->start_us);
	if (header->window_begin_ns != 0)
		pack_pair_uint(writer, "window_begin_us", time_us(header->window_begin_ns));
	if (header->counters != NULL)
		pack_pair_text(writer, "counters", header->counters);
	return record_end(writer);
}

int vg_writer_module(struct vg_writer *writer, const struct vg_module *module, const char *name)
{
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
	record_begin(writer, VG_RECORD_MODULE_UNLOAD, 2);
	pack_uint(writer, module);
	pack_uint(writer, time_us(time_ns));
	return record_end(writer);
}

uint32_t vg_writer_thread_id(struct vg_writer *writer)
{
	if (writer->ended_first == writer->ended.count ||
	    writer->ended.items[writer->ended_first].sequence >= writer->reuse_before)
		return writer->thread_ids++;
	return writer->ended.items[writer->ended_first++].id;
}

/* If there is no memory, the id is not used again. */
static void ended_add(struct vg_writer *writer, uint32_t id)
{
	const struct vg_writer_ended ended = { id, writer->sequence };

	if (writer->ended_first > writer->ended.count / 2) {
		writer->ended.count -= writer->ended_first;
		memmove(writer->ended.items, writer->ended.items + writer->ended_first,
			writer->ended.count * sizeof *writer->ended.items);
		writer->ended_first = 0;
	}
	(void)vg_array_push(&writer->ended, &ended);
}

int vg_writer_thread(struct vg_writer *writer, const struct vg_thread *thread, const char *name)
{
	uint64_t begin_us = time_us(thread->begin_ns);
	struct vg_writer_thread fresh = { .last_us = begin_us };

	if (thread->id < writer->threads.count && !writer->threads.items[thread->id].has_ended)
		fresh.cpu_carry_ns = writer->threads.items[thread->id].cpu_carry_ns;
	while (writer->failed == 0 && writer->threads.count <= thread->id)
		writer->failed = vg_array_push(&writer->threads, &fresh);
	if (writer->failed != 0)
		return writer->failed;
	writer->threads.items[thread->id] = fresh;
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
	record_begin(writer, VG_RECORD_THREAD_NAME, 3);
	pack_uint(writer, thread);
	pack_uint(writer, time_us(time_ns));
	pack_name(writer, name);
	return record_end(writer);
}

int vg_writer_thread_end(struct vg_writer *writer, uint32_t thread, uint64_t time_ns)
{
	if (writer->take != NULL && thread < writer->threads.count && !writer->threads.items[thread].has_ended) {
		writer->threads.items[thread].has_ended = true;
		ended_add(writer, thread);
	}
	record_begin(writer, VG_RECORD_THREAD_END, 2);
	pack_uint(writer, thread);
	pack_uint(writer, time_us(time_ns));
	return record_end(writer);
}

int vg_writer_stack(struct vg_writer *writer, uint32_t id, uint32_t parent, uint32_t module,
		    uint64_t address, enum vg_found_by found_by)
{
	record_begin(writer, VG_RECORD_STACK, found_by == VG_FOUND_BY_CFI ? 4 : 5);
	pack_uint(writer, id);
	pack_uint(writer, parent);
	pack_nil_or(writer, module);
	pack_uint(writer, address);
	if (found_by != VG_FOUND_BY_CFI)
		pack_uint(writer, found_by);
	return record_end(writer);
}

int vg_writer_sample(struct vg_writer *writer, const struct vg_writer_sample *sample)
{
	uint64_t now_us = time_us(sample->time_ns), wall_us = time_us(sample->wall_ns);
	struct vg_writer_thread *thread;
	uint64_t cpu_ns;
	size_t fields;
	bool wall_is_implied;

	if (writer->failed != 0)
		return writer->failed;
	thread = &writer->threads.items[sample->thread];
	cpu_ns = sample->cpu_ns + thread->cpu_carry_ns;
	thread->cpu_carry_ns = cpu_ns % VG_CPU_UNIT_NS;
	/* wall_us is not written if it equals the time since the thread's previous sample, as for most samples.  Allow
	 * a difference of one microsecond, because both times were rounded down separately. */
	wall_is_implied = wall_us + 1 >= now_us - thread->last_us && wall_us <= now_us - thread->last_us + 1;
	fields = sample->interval != 0 ? 7 : sample->count != 1 ? 6 : wall_is_implied ? 4 : 5;
	record_begin(writer, VG_RECORD_SAMPLE, fields);
	pack_uint(writer, sample->thread);
	msgpack_pack_int64(&writer->packer, (int64_t)(now_us - writer->last_us));
	pack_uint(writer, sample->stack);
	pack_uint(writer, cpu_ns / VG_CPU_UNIT_NS);
	if (!wall_is_implied)
		pack_uint(writer, wall_us);
	else if (fields > 5)
		msgpack_pack_nil(&writer->packer);
	if (fields > 5)
		pack_uint(writer, sample->count);
	if (fields > 6)
		pack_uint(writer, sample->interval);
	thread->last_us = writer->last_us = now_us;
	writer->samples += sample->count;
	return record_end(writer);
}

int vg_writer_label(struct vg_writer *writer, uint32_t id, const char *text, size_t length)
{
	record_begin(writer, VG_RECORD_LABEL, 2);
	pack_uint(writer, id);
	pack_bytes(writer, text, length < VG_LABEL_MAX_BYTES ? length : VG_LABEL_MAX_BYTES);
	return record_end(writer);
}

int vg_writer_event(struct vg_writer *writer, const struct vg_writer_event *event)
{
	record_begin(writer, VG_RECORD_EVENT, event->parent != 0 ? 8 : event->token != 0 ? 7 : 6);
	pack_uint(writer, event->type);
	pack_uint(writer, event->thread);
	msgpack_pack_int64(&writer->packer, (int64_t)(event->time_ns - writer->event_ns));
	pack_nil_or(writer, event->kind);
	pack_nil_or(writer, event->label);
	if (event->type == VG_EVENT_COUNTER)
		msgpack_pack_int64(&writer->packer, (int64_t)event->value);
	else
		pack_uint(writer, event->value);
	if (event->token != 0 || event->parent != 0)
		pack_uint(writer, event->token);
	if (event->parent != 0)
		pack_uint(writer, event->parent);
	writer->event_ns = event->time_ns;
	writer->events++;
	return record_end(writer);
}

int vg_writer_perf_counters(struct vg_writer *writer, const struct vg_writer_perf_counters *reading)
{
	uint64_t now_us = time_us(reading->time_ns), last_us;

	if (writer->failed != 0)
		return writer->failed;
	last_us = writer->threads.items[reading->thread].last_us;
	record_begin(writer, VG_RECORD_PERF_COUNTERS, 3);
	pack_uint(writer, reading->thread);
	pack_uint(writer, now_us > last_us ? now_us - last_us : 0);
	msgpack_pack_array(&writer->packer, reading->count);
	for (uint32_t i = 0; i < reading->count; i++)
		pack_uint(writer, reading->values[i]);
	return record_end(writer);
}

int vg_writer_rate(struct vg_writer *writer, uint64_t time_ns, uint64_t period_ns)
{
	record_begin(writer, VG_RECORD_RATE, 2);
	pack_uint(writer, time_us(time_ns));
	pack_uint(writer, period_ns);
	return record_end(writer);
}

int vg_writer_pauses(struct vg_writer *writer, const struct vg_pauses *pauses)
{
	size_t used = 0;

	for (uint32_t i = 0; i < VG_PAUSES_BUCKETS; i++)
		used += pauses->buckets[i] != 0;
	if (used == 0)
		return writer->failed;
	record_begin(writer, VG_RECORD_PAUSES, 1);
	msgpack_pack_array(&writer->packer, 2 * used);
	for (uint32_t i = 0; i < VG_PAUSES_BUCKETS; i++) {
		if (pauses->buckets[i] == 0)
			continue;
		pack_uint(writer, vg_pauses_upper_ns(i));
		pack_uint(writer, pauses->buckets[i]);
	}
	return counts_end(writer);
}

int vg_writer_counts(struct vg_writer *writer, enum vg_record kind, const struct vg_named_value *counts, size_t count)
{
	record_begin(writer, kind, 1);
	pack_counts(writer, counts, count);
	return counts_end(writer);
}

int vg_writer_end(struct vg_writer *writer, const char *reason, uint64_t time_ns,
		  const struct vg_named_value *totals, size_t count)
{
	int failed = writer->failed;

	/* Discard the chunk that could not be written.  The end record has few bytes, which may still fit on a full
	 * disk. */
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

int vg_writer_jit_code(struct vg_writer *writer, uint64_t address, uint64_t size_bytes,
		   const char *name)
{
	/* The process chooses these names.  They leave the reserve to the last records. */
	if (is_near(writer, VG_WRITER_RESERVE_BYTES)) {
		writer->records_left_out++;
		return writer->failed;
	}
	record_begin(writer, VG_RECORD_JIT_CODE, 3);
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

int vg_writer_kernel_symbol(struct vg_writer *writer, uint32_t module, uint32_t number, const char *name)
{
	record_begin(writer, VG_RECORD_KERNEL_SYMBOL, 3);
	pack_uint(writer, module);
	pack_uint(writer, number);
	pack_name(writer, name);
	return record_end(writer);
}

int vg_writer_copy(struct vg_writer *writer, const void *record, size_t length)
{
	if (writer->buffer.size == 0)
		header_reserve(writer);
	buffer_append(writer, record, length);
	return writer->failed;
}

int vg_writer_gap(struct vg_writer *writer, uint64_t bytes)
{
	record_begin(writer, VG_RECORD_GAP, 1);
	pack_uint(writer, bytes);
	return record_end(writer);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/cut.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgtool/analysis/state_at.h"

/* The most lines of one address and the most counts that are written: limits for hostile files, because a record
 * must fit into a chunk. */
enum { LINES_MAX = 4096, COUNTS_MAX = 256 };

struct cut {
	const struct vg_part *part;
	const struct vg_profile *profile;
	struct vg_state_at state;    /* at the end of the range */
	struct vg_writer *writer;
	/* By index in the model: the id in the new profile. */
	uint32_t *threads, *modules, *stacks, *functions;
	uint32_t *labels;            /* by string; VG_NONE: not written yet */
	uint32_t label_count, function_count; /* the next ids */
	size_t next_event, next_reading; /* to be written */
	uint64_t samples, samples_complete;
};

/* Gives ids to the selected items, or VG_NONE to all if `selected` is NULL.  The caller frees the array. */
static uint32_t *ids_make(const unsigned char *selected, size_t count, uint32_t first)
{
	uint32_t *ids = malloc((count + 1) * sizeof *ids);

	for (size_t i = 0; ids != NULL && i < count; i++)
		ids[i] = selected != NULL && selected[i] ? first++ : VG_NONE;
	return ids;
}

static uint32_t module_of(const struct cut *cut, uint32_t module)
{
	return module != VG_NONE ? cut->modules[module] : VG_NONE;
}

static uint64_t end_of(const struct cut *cut)
{
	return cut->part->end_ns < cut->profile->duration_ns ? cut->part->end_ns : cut->profile->duration_ns;
}

static void header_write(struct cut *cut)
{
	char room[VG_NAME_MAX_BYTES + 1], counters[VG_PERF_COUNTERS_MAX * (VG_LABEL_MAX_BYTES + 1)] = "";
	const struct vg_header *from = &cut->profile->header;
	const struct vg_state_text *program = &cut->state.program;
	struct vg_writer_header header = {
		.period_ns = from->period_ns, .start_unix_s = from->start_unix_s, .start_us = from->start_us,
		.window_begin_ns = from->window_begin_ns, .max_frames = from->max_frames,
		.mode = vg_profile_text(cut->profile, from->mode_name),
		.writer = vg_profile_text(cut->profile, from->writer),
		.arch = vg_profile_text(cut->profile, from->arch), .program = room,
		.counters = from->counter_count > 0 ? counters : NULL,
	};
	size_t length = 0;

	/* The header was lost. */
	if (from->version == 0)
		return;
	if (header.window_begin_ns < cut->part->begin_ns)
		header.window_begin_ns = cut->part->begin_ns;
	snprintf(room, sizeof room, "%.*s", (int)(program->length < sizeof room ? program->length : sizeof room - 1),
		 program->bytes != NULL ? program->bytes : "");
	for (uint32_t i = 0; i < from->counter_count; i++) {
		snprintf(counters + length, sizeof counters - length, "%s%s", i > 0 ? "," : "",
			 vg_profile_text(cut->profile, from->counters[i]));
		length = strlen(counters);
	}
	vg_writer_header(cut->writer, &header);
}

/* Writes the periods of the range.  The first begins before it. */
static void rates_write(struct cut *cut)
{
	uint64_t begin_us = cut->part->begin_ns / 1000;

	for (size_t i = 0; i < cut->state.rates.count; i++) {
		const struct vg_state_rate *rate = &cut->state.rates.items[i];

		if (i + 1 == cut->state.rates.count || rate[1].time_us > begin_us)
			vg_writer_rate(cut->writer, 1000 * (rate->time_us > begin_us ? rate->time_us : begin_us),
				       rate->period_ns);
	}
}

static void threads_write(struct cut *cut)
{
	static const struct vg_state_text nameless = { "", 0 };
	const struct vg_profile *profile = cut->profile;

	for (size_t t = 0; t < profile->threads.count; t++) {
		struct vg_thread thread = profile->threads.items[t];
		const struct vg_state_text *name = &cut->state.thread_names[t];
		char room[VG_NAME_MAX_BYTES + 1];

		if (!cut->part->threads[t])
			continue;
		/* The name of a main thread that has nothing in the range would be left over from the rest. */
		if (cut->part->threads[t] == VG_PART_MAIN_THREAD)
			name = &nameless;
		snprintf(room, sizeof room, "%.*s",
			 (int)(name->bytes == NULL ? 1 : name->length < sizeof room ? name->length : sizeof room - 1),
			 name->bytes != NULL ? name->bytes : "?");
		thread.id = cut->threads[t];
		vg_writer_thread(cut->writer, &thread, room);
	}
}

/* Writes the ends of the threads and of the modules before the end of the range. */
static void ends_write(struct cut *cut)
{
	const struct vg_profile *profile = cut->profile;

	for (size_t t = 0; t < profile->threads.count; t++) {
		if (cut->part->threads[t] && profile->threads.items[t].end_ns < cut->part->end_ns)
			vg_writer_thread_end(cut->writer, cut->threads[t], profile->threads.items[t].end_ns);
	}
	for (size_t m = 0; m < profile->modules.count; m++) {
		if (cut->part->modules[m] && profile->modules.items[m].unload_ns < cut->part->end_ns)
			vg_writer_module_unload(cut->writer, cut->modules[m], profile->modules.items[m].unload_ns);
	}
}

static void modules_write(struct cut *cut)
{
	for (size_t m = 0; m < cut->profile->modules.count; m++) {
		struct vg_module module = cut->profile->modules.items[m];

		if (!cut->part->modules[m])
			continue;
		module.id = cut->modules[m];
		vg_writer_module(cut->writer, &module, vg_profile_text(cut->profile, module.name));
	}
}

static void stacks_write(struct cut *cut)
{
	for (size_t i = 0; i < cut->profile->stacks.count; i++) {
		const struct vg_stack *stack = &cut->profile->stacks.items[i];

		if (cut->part->stacks[i])
			vg_writer_stack(cut->writer, cut->stacks[i],
					stack->parent != VG_NONE ? cut->stacks[stack->parent] : stack->end,
					module_of(cut, stack->module), stack->address, stack->found_by);
	}
}

/* An address belongs to the nearest code below it.  If the next code is left out, its addresses must not seem to belong
 * to this one. */
static void jit_code_write(struct cut *cut)
{
	const struct vg_profile *profile = cut->profile;

	for (size_t i = 0; i < profile->jit_code.count; i++) {
		const struct vg_jit_code *code = &profile->jit_code.items[i];
		uint64_t bytes = code->size_bytes;

		if (!cut->part->jit_code[i])
			continue;
		if (i + 1 < profile->jit_code.count && code[1].address - code->address < bytes)
			bytes = code[1].address - code->address;
		vg_writer_jit_code(cut->writer, code->address, bytes, vg_profile_text(profile, code->name));
	}
}

/* The key of a symbol: its module and address. */
static const struct vg_symbol_key *key_of(const struct cut *cut, size_t symbol)
{
	return vg_intern_bytes(&cut->profile->symbol_keys, (uint32_t)symbol, NULL);
}

static void kernel_symbols_write(struct cut *cut)
{
	const struct vg_profile *profile = cut->profile;

	for (size_t i = 0; i < profile->symbols.count; i++) {
		const struct vg_symbol *symbol = &profile->symbols.items[i];
		struct vg_symbol_key key;

		if (cut->part->symbols[i] != VG_PART_KERNEL || symbol->count == 0)
			continue;
		memcpy(&key, key_of(cut, i), sizeof key);
		if (key.address < VG_NONE)
			vg_writer_kernel_symbol(cut->writer, cut->modules[key.module], (uint32_t)key.address,
				vg_profile_text(profile, profile->functions.items[
					profile->symbol_lines.items[symbol->first].function].name));
	}
}

static void functions_write(struct cut *cut, const struct vg_symbol_line *lines, size_t count)
{
	const struct vg_profile *profile = cut->profile;

	for (size_t i = 0; i < count; i++) {
		const struct vg_function *function = &profile->functions.items[lines[i].function];
		uint32_t *id = &cut->functions[lines[i].function];

		if (*id != VG_NONE)
			continue;
		*id = cut->function_count++;
		vg_writer_function(cut->writer, *id, vg_profile_text(profile, function->name),
				   vg_profile_text(profile, function->file), module_of(cut, function->module));
	}
}

/* Writes the symbols of vgtool resolve. */
static void symbols_write(struct cut *cut)
{
	const struct vg_profile *profile = cut->profile;
	struct vg_symbol_line lines[LINES_MAX];

	for (size_t i = 0; i < profile->symbols.count; i++) {
		const struct vg_symbol *symbol = &profile->symbols.items[i];
		uint32_t count = symbol->count < LINES_MAX ? symbol->count : LINES_MAX;
		struct vg_symbol_key key;

		if (cut->part->symbols[i] != 1 || count == 0)
			continue;
		memcpy(&key, key_of(cut, i), sizeof key);
		memcpy(lines, profile->symbol_lines.items + symbol->first, count * sizeof *lines);
		functions_write(cut, lines, count);
		for (uint32_t line = 0; line < count; line++)
			lines[line].function = cut->functions[lines[line].function];
		vg_writer_symbol(cut->writer, cut->modules[key.module], key.address, lines, count);
	}
	for (size_t m = 0; m < profile->modules.count; m++) {
		if (cut->part->modules[m] && profile->modules.items[m].unresolved)
			vg_writer_unresolved(cut->writer, cut->modules[m]);
	}
}

static uint32_t label_of(struct cut *cut, uint32_t string)
{
	const char *text = vg_profile_text(cut->profile, string);

	if (text == NULL)
		return VG_NONE;
	if (cut->labels[string] == VG_NONE) {
		cut->labels[string] = cut->label_count++;
		vg_writer_label(cut->writer, cut->labels[string], text, strlen(text));
	}
	return cut->labels[string];
}

/* Writes the selected events up to a time. */
static void events_write(struct cut *cut, uint64_t time_ns)
{
	for (; cut->next_event < cut->profile->events.count; cut->next_event++) {
		const struct vg_event *event = &cut->profile->events.items[cut->next_event];
		struct vg_writer_event written = {
			.type = event->type, .time_ns = event->time_ns, .value = event->value, .token = event->token,
			.parent = event->parent,
		};

		if (!cut->part->events[cut->next_event])
			continue;
		if (event->time_ns > time_ns)
			return;
		written.thread = cut->threads[event->thread];
		written.kind = label_of(cut, event->kind);
		written.label = label_of(cut, event->label);
		vg_writer_event(cut->writer, &written);
	}
}

/* Writes the selected readings of perf counters that cover only samples before the sample with this index. */
static void counter_readings_write(struct cut *cut, size_t sample)
{
	for (; cut->next_reading < cut->profile->counter_readings.count; cut->next_reading++) {
		const struct vg_counter_reading *reading = &cut->profile->counter_readings.items[cut->next_reading];
		struct vg_writer_perf_counters written = {
			.count = cut->profile->header.counter_count, .time_ns = reading->time_ns,
		};

		if (reading->sample != VG_NONE && reading->sample >= sample)
			return;
		if (!cut->part->counter_readings[cut->next_reading])
			continue;
		written.thread = cut->threads[reading->thread];
		memcpy(written.values, reading->values, sizeof written.values);
		vg_writer_perf_counters(cut->writer, &written);
	}
}

static void sample_write(struct cut *cut, const struct vg_sample *sample)
{
	vg_writer_sample(cut->writer, &(struct vg_writer_sample){
		.thread = cut->threads[sample->thread],
		.stack = sample->stack != VG_NONE ? cut->stacks[sample->stack] : sample->end,
		.count = sample->count, .time_ns = sample->time_ns, .wall_ns = sample->wall_ns,
		.cpu_ns = sample->cpu_ns, .interval = sample->interval,
	});
	cut->samples += sample->count;
	if (sample->end == VG_WALK_ROOT)
		cut->samples_complete += sample->count;
}

/* Writes the samples in the order of the file, and the other records with a time between them. */
static void records_write(struct cut *cut)
{
	const struct vg_profile *profile = cut->profile;

	for (size_t i = 0; i < profile->samples.count; i++) {
		counter_readings_write(cut, i);
		if (!cut->part->samples[i])
			continue;
		events_write(cut, profile->samples.items[i].time_ns);
		sample_write(cut, &profile->samples.items[i]);
	}
	counter_readings_write(cut, SIZE_MAX);
	events_write(cut, UINT64_MAX);
}

static void counts_write(struct cut *cut, enum vg_record kind, const struct vg_counts *counts)
{
	struct vg_named_value values[COUNTS_MAX];
	size_t count = counts->count < COUNTS_MAX ? counts->count : COUNTS_MAX;

	for (size_t i = 0; i < count; i++)
		values[i] = (struct vg_named_value){ vg_profile_text(cut->profile, counts->items[i].name),
						     counts->items[i].value };
	if (count > 0)
		vg_writer_counts(cut->writer, kind, values, count);
}

static int end_write(struct cut *cut)
{
	const struct vg_profile *profile = cut->profile;
	struct vg_named_value totals[] = {
		{ "samples", cut->samples }, { "threads", cut->writer->threads.count },
		{ "stacks_complete", cut->samples_complete },
	};
	const char *reason = vg_profile_text(profile, profile->end_reason);

	if (end_of(cut) < profile->duration_ns)
		reason = "vgtool cut left out what came later";
	else if (reason == NULL)
		reason = "vgtool cut: the end record was missing";
	/* No sample comes after this record: a gap changes the weight of the next sample. */
	if (profile->damage.count > 0)
		vg_writer_gap(cut->writer, profile->damaged_bytes);
	return vg_writer_end(cut->writer, reason, end_of(cut), totals, sizeof totals / sizeof *totals);
}

static int profile_write(struct cut *cut)
{
	struct vg_writer *writer = cut->writer;

	writer->last_us = cut->part->begin_ns / 1000;
	header_write(cut);
	rates_write(cut);
	threads_write(cut);
	modules_write(cut);
	jit_code_write(cut);
	kernel_symbols_write(cut);
	stacks_write(cut);
	records_write(cut);
	ends_write(cut);
	counts_write(cut, VG_RECORD_LOST, &cut->profile->lost);
	counts_write(cut, VG_RECORD_STATS, &cut->profile->stats);
	symbols_write(cut);
	return end_write(cut);
}

int vg_cut_write(const struct vg_part *part, const struct vg_infile *file, struct vg_writer *writer)
{
	const struct vg_profile *profile = part->profile;
	struct cut cut = {
		.part = part, .profile = profile, .writer = writer,
		.threads = ids_make(part->threads, profile->threads.count, 0),
		.modules = ids_make(part->modules, profile->modules.count, 0),
		.stacks = ids_make(part->stacks, profile->stacks.count, VG_STACK_ROOTS),
		.functions = ids_make(NULL, profile->functions.count, 0),
		.labels = ids_make(NULL, profile->strings.count, 0),
	};
	int rc = vg_state_at_read(&cut.state, profile, file, part->end_ns);

	if (cut.threads == NULL || cut.modules == NULL || cut.stacks == NULL || cut.functions == NULL ||
	    cut.labels == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = profile_write(&cut);
	free(cut.threads);
	free(cut.modules);
	free(cut.stacks);
	free(cut.functions);
	free(cut.labels);
	vg_state_at_free(&cut.state);
	return rc;
}

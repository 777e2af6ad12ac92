/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "profile/damage.h"
#include "profile/merging.h"
#include "profile/reading_fields.h"

/* ---- header ---- */

static int text_check(const struct vg_merging *part, uint32_t from, uint32_t to, const char **first_path,
		      const char *path, const char *what, struct vg_err *err)
{
	const char *text = vg_profile_text(part->from, from), *first = vg_profile_text(part->to, to);

	if (*text == '\0')
		return 0;
	if (*first_path == NULL)
		*first_path = path;
	else if (strcmp(text, first) != 0)
		return vg_err_set(err, -EINVAL, "%s: its %s is %.32s, but that of %s is %.32s; these cannot be shown "
				  "together", path, what, text, *first_path, first);
	return 0;
}

static void text_take(const struct vg_merging *part, uint32_t from, uint32_t *to)
{
	if (*vg_profile_text(part->to, *to) == '\0')
		*to = vg_merging_map(part->strings, from);
}

/* Whether the merged profile has room for the names of the perf counters. */
static int counters_check(const struct vg_merging *part, const char *path, struct vg_err *err)
{
	const struct vg_header *from = &part->from->header, *to = &part->to->header;
	uint32_t count = to->counter_count;

	for (uint32_t i = 0; i < from->counter_count; i++) {
		const char *name = vg_profile_text(part->from, from->counters[i]);
		uint32_t at = 0;

		while (at < to->counter_count && strcmp(vg_profile_text(part->to, to->counters[at]), name) != 0)
			at++;
		count += at == to->counter_count;
	}
	return count <= VG_PERF_COUNTERS_MAX ? 0 :
	       vg_err_set(err, -EINVAL, "%s: the profiles have more than %d perf counters together", path,
			  (int)VG_PERF_COUNTERS_MAX);
}

static int header_check(const struct vg_merging *part, const char *path, struct vg_err *err)
{
	const struct vg_header *from = &part->from->header, *to = &part->to->header;
	int rc = text_check(part, from->mode_name, to->mode_name, &part->merge->mode_path, path, "mode", err);

	if (rc == 0)
		rc = text_check(part, from->arch, to->arch, &part->merge->arch_path, path, "machine", err);
	return rc != 0 ? rc : counters_check(part, path, err);
}

static void counters_add(struct vg_merging *part)
{
	const struct vg_header *from = &part->from->header;
	struct vg_header *to = &part->to->header;

	for (uint32_t i = 0; i < from->counter_count; i++) {
		uint32_t name = vg_merging_map(part->strings, from->counters[i]), at = 0;

		while (at < to->counter_count && to->counters[at] != name)
			at++;
		part->counters[i] = at < VG_PERF_COUNTERS_MAX ? at : VG_NONE;
		if (at == to->counter_count && at < VG_PERF_COUNTERS_MAX)
			to->counters[to->counter_count++] = name;
	}
}

static void header_add(struct vg_merging *part)
{
	const struct vg_header *from = &part->from->header;
	struct vg_header *to = &part->to->header;

	if (from->version > to->version)
		to->version = from->version;
	if (from->max_frames > to->max_frames)
		to->max_frames = from->max_frames;
	if (to->period_ns == 0)
		to->period_ns = from->period_ns;
	text_take(part, from->mode_name, &to->mode_name);
	text_take(part, from->arch, &to->arch);
	text_take(part, from->writer, &to->writer);
	counters_add(part);
}

/* The merged profile is truncated if one of its files is. */
static int end_add(const struct vg_merging *part)
{
	uint32_t end = vg_merging_map(part->strings, part->from->end_reason);
	struct vg_profile *to = part->to;

	if (part->process == 0 || end == VG_NONE)
		to->end_reason = end;
	else if (to->end_reason != VG_NONE && to->end_reason != end)
		return vg_field_intern(to, "several reasons", strlen("several reasons"), &to->end_reason);
	return 0;
}

/* ---- counts ---- */

/* Statistics that are no sums: percentiles and the longest of the pauses, and the current period. */
static bool is_maximum(const char *name)
{
	static const char *const names[] = { "pause_p50_ns", "pause_p90_ns", "pause_p99_ns", "pause_max_ns",
					     "period_now_ns" };
	bool found = false;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		found = found || strcmp(name, names[i]) == 0;
	return found;
}

/* names: string -> index in `to`. */
static int counts_add(const struct vg_merging *part, const struct vg_counts *from, struct vg_intern *names,
		      struct vg_counts *to)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < from->count; i++) {
		struct vg_count count = { vg_merging_map(part->strings, from->items[i].name), from->items[i].value };
		uint32_t at = 0;

		rc = vg_intern(names, &count.name, sizeof count.name, &at);
		if (rc > 0)
			rc = vg_array_push(to, &count);
		else if (rc == 0 && !is_maximum(vg_profile_text(part->to, count.name)))
			to->items[at].value = vg_sum(to->items[at].value, count.value);
		else if (rc == 0 && count.value > to->items[at].value)
			to->items[at].value = count.value;
	}
	return rc < 0 ? rc : 0;
}

/* Offsets of damage are those in its own file. */
static int damage_add(const struct vg_merging *part)
{
	const struct vg_profile *from = part->from;
	struct vg_profile *to = part->to;
	uint64_t bytes = vg_sum(to->damaged_bytes, from->damaged_bytes);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < from->damage.count; i++)
		rc = vg_damage_add(to, &from->damage.items[i]);
	to->damaged_bytes = bytes;   /* includes damage that is not listed */
	return rc;
}

static void sums_add(const struct vg_merging *part)
{
	const struct vg_profile *from = part->from;
	struct vg_profile *to = part->to;

	/* A file without stacks has nothing to resolve. */
	to->partly_resolved = to->partly_resolved ||
			      (from->stacks.count > 0 && from->symbols.count <= from->kernel_symbols);
	to->kernel_symbols = vg_sum(to->kernel_symbols, from->kernel_symbols);
	to->resolved = to->resolved || from->resolved;
	to->file_bytes = vg_sum(to->file_bytes, from->file_bytes);
	to->unknown_records = vg_sum(to->unknown_records, from->unknown_records);
	to->unknown_fields = vg_sum(to->unknown_fields, from->unknown_fields);
	to->samples_total = vg_sum(to->samples_total, from->samples_total);
	to->samples_without_stack = vg_sum(to->samples_without_stack, from->samples_without_stack);
}

/* ---- profiles ---- */

/* Indices and VG_NONE are 32-bit numbers. */
static bool fits(const struct vg_profile *a, const struct vg_profile *b)
{
	return a->threads.count + b->threads.count < VG_NONE && a->stacks.count + b->stacks.count < VG_NONE &&
	       a->samples.count + b->samples.count < VG_NONE && a->modules.count + b->modules.count < VG_NONE &&
	       a->functions.count + b->functions.count < VG_NONE &&
	       a->symbol_lines.count + b->symbol_lines.count < VG_NONE;
}

static int texts_begin(struct vg_profile *to)
{
	struct vg_header *header = &to->header;
	int rc = to->strings.count == 0 ? vg_field_intern(to, "", 0, &header->writer) : 0;

	if (to->processes.count == 0)
		header->mode_name = header->arch = header->program = header->writer;
	return rc;
}

static int process_add(const struct vg_merging *part)
{
	struct vg_process process = part->from->processes.items[0];

	process.name = vg_merging_map(part->strings, process.name);
	process.program = vg_merging_map(part->strings, process.program);
	process.first_stack = part->first_stack;
	process.first_jit_code = part->to->jit_code.count;
	return vg_array_push(&part->to->processes, &process);
}

static int part_add(struct vg_merging *part)
{
	struct vg_merge *merge = part->merge;
	const struct vg_profile *from = part->from;
	struct vg_profile *to = part->to;
	int rc = vg_merging_strings(part);

	if (rc == 0)
		rc = vg_merging_modules(part);
	if (rc == 0)
		rc = vg_merging_functions(part);
	if (rc != 0)
		return rc;
	header_add(part);
	sums_add(part);
	rc = end_add(part);
	if (rc == 0)
		rc = process_add(part);
	if (rc == 0)
		rc = vg_merging_symbols(part);
	if (rc == 0)
		rc = vg_merging_threads(part);
	if (rc == 0)
		rc = vg_merging_stacks(part);
	if (rc == 0)
		rc = vg_merging_jit_code(part);
	if (rc == 0)
		rc = vg_merging_samples(part);
	if (rc == 0)
		rc = vg_merging_events(part);
	if (rc == 0)
		rc = vg_merging_counter_readings(part);
	if (rc == 0)
		rc = counts_add(part, &from->lost, &merge->lost, &to->lost);
	if (rc == 0)
		rc = counts_add(part, &from->stats, &merge->stats, &to->stats);
	return rc == 0 ? damage_add(part) : rc;
}

int vg_merge_add(struct vg_merge *merge, const struct vg_profile *from, const char *path, struct vg_err *err)
{
	struct vg_profile *to = merge->profile;
	struct vg_merging part = { .merge = merge, .from = from, .to = to };
	int rc = texts_begin(to);

	if (rc == 0 && !fits(to, from))
		return vg_err_set(err, -EFBIG, "%s: too large together with the profiles before it", path);
	part.process = (uint32_t)to->processes.count;
	part.first_thread = (uint32_t)to->threads.count;
	part.first_stack = (uint32_t)to->stacks.count;
	part.first_sample = (uint32_t)to->samples.count;
	if (rc == 0) {
		rc = header_check(&part, path, err);
		if (rc != 0)
			return rc;
		rc = part_add(&part);
	}
	free(part.strings);
	free(part.modules);
	free(part.functions);
	return rc == 0 ? 0 : vg_err_sys(err, rc, "%s: cannot add the profile to those before it", path);
}

int vg_merge_rename(struct vg_profile *part, const char *name)
{
	uint32_t string;
	int rc = vg_field_intern(part, name, strlen(name), &string);

	if (rc == 0)
		part->processes.items[0].name = part->header.program = string;
	return rc;
}

/* ---- times ---- */

static uint64_t later(const struct vg_profile *profile, uint32_t thread, uint64_t time_ns)
{
	return vg_sum(time_ns, profile->processes.items[profile->threads.items[thread].process].begin_ns);
}

static void times_shift(struct vg_profile *profile)
{
	for (size_t i = 0; i < profile->samples.count; i++) {
		struct vg_sample *sample = &profile->samples.items[i];

		sample->time_ns = later(profile, sample->thread, sample->time_ns);
	}
	for (size_t i = 0; i < profile->events.count; i++) {
		struct vg_event *event = &profile->events.items[i];

		event->time_ns = later(profile, event->thread, event->time_ns);
	}
	for (size_t i = 0; i < profile->counter_readings.count; i++) {
		struct vg_counter_reading *reading = &profile->counter_readings.items[i];

		reading->time_ns = later(profile, reading->thread, reading->time_ns);
	}
	for (uint32_t t = 0; t < profile->threads.count; t++) {
		struct vg_thread *thread = &profile->threads.items[t];

		thread->begin_ns = later(profile, t, thread->begin_ns);
		thread->last_ns = later(profile, t, thread->last_ns);
		thread->end_ns = later(profile, t, thread->end_ns);   /* UINT64_MAX stays */
	}
}

/* Sets the begin of each process, and returns the process that began first.  If a start is unknown, the process is
 * shown as if it had begun first. */
static const struct vg_process *begins_set(struct vg_profile *profile)
{
	struct vg_process *processes = profile->processes.items;
	const struct vg_process *first = processes;
	uint64_t start_ns = UINT64_MAX;

	for (size_t i = 0; i < profile->processes.count; i++) {
		if (processes[i].start_ns != 0 && processes[i].start_ns < start_ns)
			start_ns = processes[i].start_ns;
	}
	for (size_t i = 0; i < profile->processes.count; i++) {
		struct vg_process *process = &processes[i];
		uint64_t end_ns;

		process->begin_ns = process->start_ns != 0 ? process->start_ns - start_ns : 0;
		end_ns = vg_sum(process->begin_ns, process->duration_ns);
		if (end_ns > profile->duration_ns)
			profile->duration_ns = end_ns;
		if (process->begin_ns < first->begin_ns)
			first = process;
	}
	if (start_ns != UINT64_MAX) {
		profile->header.start_unix_s = start_ns / 1000000000;
		profile->header.start_us = start_ns / 1000 % 1000000;
	}
	return first;
}

int vg_merge_finish(struct vg_merge *merge)
{
	struct vg_profile *profile = merge->profile;
	char name[VG_NAME_MAX_BYTES];
	uint32_t program;

	if (profile->processes.count == 0)
		return 0;
	program = begins_set(profile)->name;
	times_shift(profile);
	profile->header.program = program;
	for (size_t i = 0; i < profile->processes.count; i++) {
		if (profile->processes.items[i].name == program)
			continue;
		snprintf(name, sizeof name, "%s and others", vg_profile_text(profile, program));
		return vg_field_intern(profile, name, strlen(name), &profile->header.program);
	}
	return 0;
}

void vg_merge_free(struct vg_merge *merge)
{
	vg_intern_free(&merge->modules);
	vg_intern_free(&merge->functions);
	vg_intern_free(&merge->tokens);
	vg_intern_free(&merge->lost);
	vg_intern_free(&merge->stats);
}

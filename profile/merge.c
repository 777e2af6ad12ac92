/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"

/* The profile that is being added.  The arrays map its indices to those of the merged profile. */
struct part {
	struct vg_merge *merge;
	const struct vg_profile *from;
	struct vg_profile *to;
	uint32_t *strings, *modules, *functions;
	uint32_t process, first_thread, first_stack, first_sample; /* its first indices in the merged profile */
	uint32_t counters[VG_PERF_COUNTERS_MAX];
};

/* Both return the merged profile's index for an index of the part.  map_index() reads it from a map.
 * shift_index() adds the index that the part's first item got. */
static uint32_t map_index(const uint32_t *map, uint32_t index)
{
	return index == VG_NONE ? VG_NONE : map[index];
}

static uint32_t shift_index(uint32_t index, uint32_t first)
{
	return index == VG_NONE ? VG_NONE : first + index;
}

/* ---- tables ---- */

static int strings_merge(struct part *part)
{
	int rc = 0;

	for (uint32_t i = 0; rc >= 0 && i < part->from->strings.count; i++)
		rc = vg_intern_string(&part->to->strings, vg_intern_text(&part->from->strings, i), &part->strings[i]);
	return rc < 0 ? rc : 0;
}

/* Without a build id, two modules of one name can be different files.  So such a module gets a key that is unique: the
 * number of the process and its own number. */
struct module_key {
	uint32_t name, bytes;        /* name: string, or the process */
	uint32_t index;              /* of a module without build id in its own profile; else 0 */
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
};

static int module_add(struct part *part, uint32_t index)
{
	struct vg_module module = part->from->modules.items[index], *known;
	struct module_key key;
	uint32_t id;
	int rc;

	memset(&key, 0, sizeof key);
	module.name = map_index(part->strings, module.name);
	key.bytes = module.build_id_bytes;
	key.name = key.bytes > 0 ? module.name : part->process;
	key.index = key.bytes > 0 ? 0 : index;
	memcpy(key.build_id, module.build_id, module.build_id_bytes);
	rc = vg_intern(&part->merge->modules, &key, sizeof key, &part->modules[index]);
	if (rc < 0)
		return rc;
	if (rc > 0) {
		module.id = part->modules[index];
		rc = vg_intern(&part->to->module_ids, &module.id, sizeof module.id, &id);
		return rc < 0 ? rc : vg_array_push(&part->to->modules, &module);
	}
	known = &part->to->modules.items[part->modules[index]];
	known->unresolved = known->unresolved && module.unresolved;
	if (module.unload_ns == UINT64_MAX)
		known->unload_ns = UINT64_MAX;
	return 0;
}

static int modules_merge(struct part *part)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < part->from->modules.count; i++)
		rc = module_add(part, i);
	return rc;
}

static int functions_merge(struct part *part)
{
	struct vg_profile *to = part->to;
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < part->from->functions.count; i++) {
		struct vg_function function = part->from->functions.items[i];
		uint32_t key[] = { map_index(part->strings, function.name),
				   map_index(part->strings, function.file),
				   map_index(part->modules, function.module) };

		rc = vg_intern(&part->merge->functions, key, sizeof key, &part->functions[i]);
		function = (struct vg_function){ part->functions[i], key[0], key[1], key[2] };
		if (rc > 0)
			rc = vg_array_push(&to->functions, &function);
	}
	return rc < 0 ? rc : 0;
}

/* An address without a module means something else in each process, so its symbols are left out.  No writer of ours
 * writes such a symbol. */
static int symbols_merge(struct part *part)
{
	const struct vg_profile *from = part->from;
	VG_ARRAY(struct vg_symbol_line) lines = { 0 };
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < from->symbols.count; i++) {
		const struct vg_symbol *symbol = &from->symbols.items[i];
		struct vg_symbol_key key;

		memcpy(&key, vg_intern_bytes(&from->symbol_keys, i, NULL), sizeof key);
		if (key.module == VG_NONE)
			continue;
		lines.count = 0;
		rc = vg_array_reserve(&lines, symbol->count);
		for (uint32_t line = 0; rc == 0 && line < symbol->count; line++) {
			const struct vg_symbol_line *of = &from->symbol_lines.items[symbol->first + line];

			lines.items[lines.count++] = (struct vg_symbol_line){ part->functions[of->function], of->line };
		}
		if (rc == 0)
			rc = vg_profile_add_symbol(part->to, part->modules[key.module], key.address, lines.items,
						   lines.count);
	}
	vg_array_free(&lines);
	return rc;
}

static int threads_merge(struct part *part)
{
	const struct vg_profile *from = part->from;
	int rc = vg_array_reserve(&part->to->threads, from->threads.count);

	for (size_t i = 0; rc == 0 && i < from->threads.count; i++) {
		struct vg_thread thread = from->threads.items[i];

		thread.id = (uint32_t)part->to->threads.count;
		thread.name = map_index(part->strings, thread.name);
		thread.process = part->process;
		part->to->threads.items[part->to->threads.count++] = thread;
	}
	return rc;
}

static int stacks_merge(struct part *part)
{
	const struct vg_profile *from = part->from;
	int rc = vg_array_reserve(&part->to->stacks, from->stacks.count);

	for (size_t i = 0; rc == 0 && i < from->stacks.count; i++) {
		struct vg_stack stack = from->stacks.items[i];

		stack.parent = shift_index(stack.parent, part->first_stack);
		stack.module = map_index(part->modules, stack.module);
		part->to->stacks.items[part->to->stacks.count++] = stack;
	}
	return rc;
}

static int jit_code_merge(struct part *part)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < part->from->jit_code.count; i++) {
		struct vg_jit_code code = part->from->jit_code.items[i];

		code.name = map_index(part->strings, code.name);
		rc = vg_array_push(&part->to->jit_code, &code);
	}
	return rc;
}

/* ---- samples and events ---- */

static int token_map(struct part *part, uint64_t *token)
{
	const uint64_t key[] = { *token, part->process };
	uint32_t id = 0;
	int rc = 0;

	if (*token != 0)
		rc = vg_intern(&part->merge->tokens, key, sizeof key, &id);
	*token = *token != 0 ? (uint64_t)id + 1 : 0;
	return rc < 0 ? rc : 0;
}

static int samples_merge(struct part *part)
{
	const struct vg_profile *from = part->from;
	int rc = vg_array_reserve(&part->to->samples, from->samples.count);

	for (size_t i = 0; rc == 0 && i < from->samples.count; i++) {
		struct vg_sample sample = from->samples.items[i];

		sample.thread += part->first_thread;
		sample.stack = shift_index(sample.stack, part->first_stack);
		rc = token_map(part, &sample.interval);
		part->to->samples.items[part->to->samples.count++] = sample;
	}
	return rc;
}

static int events_merge(struct part *part)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < part->from->events.count; i++) {
		struct vg_event event = part->from->events.items[i];

		event.thread += part->first_thread;
		event.kind = map_index(part->strings, event.kind);
		event.label = map_index(part->strings, event.label);
		rc = token_map(part, &event.token);
		if (rc == 0)
			rc = token_map(part, &event.parent);
		if (rc == 0)
			rc = vg_array_push(&part->to->events, &event);
	}
	return rc;
}

static int counter_readings_merge(struct part *part)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < part->from->counter_readings.count; i++) {
		const struct vg_counter_reading *of = &part->from->counter_readings.items[i];
		struct vg_counter_reading reading = { .time_ns = of->time_ns, .thread = part->first_thread + of->thread,
						      .sample = shift_index(of->sample, part->first_sample) };

		for (uint32_t counter = 0; counter < part->from->header.counter_count; counter++)
			reading.values[part->counters[counter]] = of->values[counter];
		rc = vg_array_push(&part->to->counter_readings, &reading);
	}
	return rc;
}

/* ---- header ---- */

static int text_check(const struct part *part, uint32_t from, uint32_t to, const char **first_path, const char *path,
		      const char *what, struct vg_err *err)
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

static void text_take(const struct part *part, uint32_t from, uint32_t *to)
{
	if (*vg_profile_text(part->to, *to) == '\0')
		*to = map_index(part->strings, from);
}

/* Whether the merged profile has room for the names of the perf counters. */
static int counters_check(const struct part *part, const char *path, struct vg_err *err)
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

static int header_check(const struct part *part, const char *path, struct vg_err *err)
{
	const struct vg_header *from = &part->from->header, *to = &part->to->header;
	int rc = text_check(part, from->mode_name, to->mode_name, &part->merge->mode_path, path, "mode", err);

	if (rc == 0)
		rc = text_check(part, from->arch, to->arch, &part->merge->arch_path, path, "machine", err);
	return rc != 0 ? rc : counters_check(part, path, err);
}

/* There is room: see counters_check(). */
static void counters_add(struct part *part)
{
	const struct vg_header *from = &part->from->header;
	struct vg_header *to = &part->to->header;

	for (uint32_t i = 0; i < from->counter_count; i++) {
		uint32_t name = map_index(part->strings, from->counters[i]), at = 0;

		while (at < to->counter_count && to->counters[at] != name)
			at++;
		part->counters[i] = at;
		if (at == to->counter_count)
			to->counters[to->counter_count++] = name;
	}
}

static int header_merge(struct part *part)
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
	return 0;
}

/* The merged profile is truncated if one of its files is. */
static int end_merge(struct part *part)
{
	uint32_t end = map_index(part->strings, part->from->end_reason);
	struct vg_profile *to = part->to;

	if (part->process == 0 || end == VG_NONE)
		to->end_reason = end;
	else if (to->end_reason != VG_NONE && to->end_reason != end)
		return vg_profile_add_string(to, "several reasons", strlen("several reasons"), &to->end_reason);
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
static int counts_add(const struct part *part, const struct vg_counts *from, struct vg_intern *names,
		      struct vg_counts *to)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < from->count; i++) {
		struct vg_count count = { map_index(part->strings, from->items[i].name), from->items[i].value };
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

static int counts_merge(struct part *part)
{
	int rc = counts_add(part, &part->from->lost, &part->merge->lost, &part->to->lost);

	return rc != 0 ? rc : counts_add(part, &part->from->stats, &part->merge->stats, &part->to->stats);
}

/* Offsets of damage are those in its own file. */
static int damage_merge(struct part *part)
{
	const struct vg_profile *from = part->from;
	struct vg_profile *to = part->to;
	uint64_t bytes = vg_sum(to->damaged_bytes, from->damaged_bytes);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < from->damage.count; i++)
		rc = vg_profile_add_damage(to, &from->damage.items[i]);
	to->damaged_bytes = bytes;   /* includes damage that is not listed */
	return rc;
}

static int sums_merge(struct part *part)
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
	return 0;
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

static int process_merge(struct part *part)
{
	struct vg_process process = part->from->processes.items[0];

	process.name = map_index(part->strings, process.name);
	process.program = map_index(part->strings, process.program);
	process.first_stack = part->first_stack;
	process.first_jit_code = part->to->jit_code.count;
	return vg_array_push(&part->to->processes, &process);
}

int vg_merge_add(struct vg_merge *merge, const struct vg_profile *from, const char *path, struct vg_err *err)
{
	/* The first three set the maps that the others use. */
	static int (*const steps[])(struct part *) = {
		strings_merge, modules_merge, functions_merge, header_merge, end_merge, process_merge, symbols_merge,
		threads_merge, stacks_merge, jit_code_merge, samples_merge, events_merge, counter_readings_merge,
		counts_merge, sums_merge, damage_merge,
	};
	struct vg_profile *to = merge->profile;
	struct part part = { .merge = merge, .from = from, .to = to };
	int rc = to->strings.count == 0 ? vg_profile_begin(to) : 0;

	if (rc == 0 && !fits(to, from))
		return vg_err_set(err, -EFBIG, "%s: too large together with the profiles before it", path);
	if (rc == 0) {
		rc = header_check(&part, path, err);
		if (rc != 0)
			return rc;
	}
	part.process = (uint32_t)to->processes.count;
	part.first_thread = (uint32_t)to->threads.count;
	part.first_stack = (uint32_t)to->stacks.count;
	part.first_sample = (uint32_t)to->samples.count;
	part.strings = calloc(from->strings.count + (size_t)1, sizeof *part.strings);
	part.modules = calloc(from->modules.count + 1, sizeof *part.modules);
	part.functions = calloc(from->functions.count + 1, sizeof *part.functions);
	if (part.strings == NULL || part.modules == NULL || part.functions == NULL)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < sizeof steps / sizeof *steps; i++)
		rc = steps[i](&part);
	free(part.strings);
	free(part.modules);
	free(part.functions);
	return rc == 0 ? 0 : vg_err_sys(err, rc, "%s: cannot add the profile to those before it", path);
}

int vg_merge_rename(struct vg_profile *part, const char *name)
{
	uint32_t string;
	int rc = vg_profile_add_string(part, name, strlen(name), &string);

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
		return vg_profile_add_string(profile, name, strlen(name), &profile->header.program);
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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/build_id.h"
#include "base/print.h"
#include "vgtool/analysis/instruction_frames.h"
#include "vgtool/commands/command.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/commands/profiles.h"
#include "vgtool/output/json.h"
#include "vgtool/output/text.h"

static const char usage[] = "usage: vgtool info [--json] PROFILE...\n";

/* Numbers of samples, by the reason why the walk ended.  The last number is for unknown reasons. */
struct ends {
	uint64_t samples[VG_WALK_END_COUNT + 1];
};

static struct ends ends_count(const struct vg_profile *profile)
{
	struct ends ends = { 0 };

	for (size_t i = 0; i < profile->samples.count; i++) {
		uint8_t end = profile->samples.items[i].end;

		ends.samples[end < VG_WALK_END_COUNT ? end : VG_WALK_END_COUNT] +=
			profile->samples.items[i].count;
	}
	return ends;
}

static void ends_json(struct vg_json *json, const struct ends *ends)
{
	vg_json_key(json, "stack_ends");
	vg_json_object_begin(json);
	for (unsigned end = 0; end <= VG_WALK_END_COUNT; end++) {
		if (ends->samples[end] > 0)
			vg_json_key_uint(json, vg_walk_end_name(end), ends->samples[end]);
	}
	vg_json_object_end(json);
}

/* True if no earlier count has the name of count i.  The keys of a JSON object must differ. */
static bool count_first(const struct vg_counts *counts, size_t i)
{
	for (size_t before = 0; before < i; before++) {
		if (counts->items[before].name == counts->items[i].name)
			return false;
	}
	return true;
}

/* Keys that info_json() writes itself, in the same object as the statistics. */
static const char *const fixed_keys[] = {
	"program", "processes", "mode", "period_ns", "writer", "arch", "start_unix_s", "duration_ns", "samples",
	"threads", "modules", "stacks", "stacks_complete", "stacks_by_instructions", "stack_ends",
	"samples_without_stack", "file_bytes", "truncated", "end_reason", "damaged_bytes", "unknown_records",
	"unknown_fields", "resolved", "lost", "counters",
};

static bool key_is_fixed(const char *key)
{
	for (size_t i = 0; i < sizeof fixed_keys / sizeof *fixed_keys; i++) {
		if (strcmp(fixed_keys[i], key) == 0)
			return true;
	}
	return false;
}

/* The most counts that are printed; a limit for hostile files.  Recorders write some dozens of counts. */
enum { COUNTS_MAX = 1000 };

/* beside_fixed: the object also has the keys in fixed_keys, so a count whose name is one of these keys is left out. */
static void counts_json(const struct vg_profile *profile, struct vg_json *json,
			const struct vg_counts *counts, bool beside_fixed)
{
	for (size_t i = 0; i < counts->count && i < COUNTS_MAX; i++) {
		const char *name = vg_profile_text(profile, counts->items[i].name);

		if (count_first(counts, i) && !(beside_fixed && key_is_fixed(name)))
			vg_json_key_uint(json, name, counts->items[i].value);
	}
}

static void counters_json(struct vg_json *json, const struct vg_profile *profile)
{
	vg_json_key(json, "counters");
	vg_json_array_begin(json);
	for (uint32_t i = 0; i < profile->header.counter_count; i++)
		vg_json_string(json, vg_profile_text(profile, profile->header.counters[i]));
	vg_json_array_end(json);
}

static void info_json(const struct vg_profile *profile, uint64_t by_instructions)
{
	const struct vg_header *header = &profile->header;
	struct ends ends = ends_count(profile);
	struct vg_json json;

	vg_json_open(&json, stdout);
	vg_json_object_begin(&json);
	vg_json_key_string(&json, "program", vg_profile_text(profile, header->program));
	vg_json_key_uint(&json, "processes", profile->processes.count);
	vg_json_key_string(&json, "mode", vg_profile_text(profile, header->mode_name));
	vg_json_key_uint(&json, "period_ns", header->period_ns);
	vg_json_key_string(&json, "writer", vg_profile_text(profile, header->writer));
	vg_json_key_string(&json, "arch", vg_profile_text(profile, header->arch));
	vg_json_key_uint(&json, "start_unix_s", header->start_unix_s);
	vg_json_key_uint(&json, "duration_ns", profile->duration_ns);
	vg_json_key_uint(&json, "samples", profile->samples_total);
	vg_json_key_uint(&json, "threads", profile->threads.count);
	vg_json_key_uint(&json, "modules", profile->modules.count);
	vg_json_key_uint(&json, "stacks", profile->samples_total);
	vg_json_key_uint(&json, "stacks_complete", ends.samples[VG_WALK_ROOT]);
	vg_json_key_uint(&json, "stacks_by_instructions", by_instructions);
	ends_json(&json, &ends);
	vg_json_key_uint(&json, "samples_without_stack", profile->samples_without_stack);
	vg_json_key_uint(&json, "file_bytes", profile->file_bytes);
	vg_json_key(&json, "truncated");
	vg_json_bool(&json, profile->end_reason == VG_NONE);
	vg_json_key_string(&json, "end_reason", vg_profile_text(profile, profile->end_reason));
	vg_json_key_uint(&json, "damaged_bytes", profile->damaged_bytes);
	vg_json_key_uint(&json, "unknown_records", profile->unknown_records);
	vg_json_key_uint(&json, "unknown_fields", profile->unknown_fields);
	vg_json_key(&json, "resolved");
	vg_json_bool(&json, profile->resolved && !profile->partly_resolved);
	counters_json(&json, profile);
	vg_json_key(&json, "lost");
	vg_json_object_begin(&json);
	counts_json(profile, &json, &profile->lost, false);
	vg_json_object_end(&json);
	counts_json(profile, &json, &profile->stats, true);
	vg_json_object_end(&json);
	vg_json_line(&json);
}

static bool ends_with(const char *text, const char *tail)
{
	size_t length = strlen(text), tail_length = strlen(tail);

	return length >= tail_length && strcmp(text + length - tail_length, tail) == 0;
}

/* Formats each value by the unit at the end of its name. */
static void counts_text(const struct vg_profile *profile, const struct vg_counts *counts)
{
	for (size_t i = 0; i < counts->count && i < COUNTS_MAX; i++) {
		const char *name = vg_profile_text(profile, counts->items[i].name);
		uint64_t value = counts->items[i].value;
		struct vg_text text;

		if (ends_with(name, "_ns"))
			vg_text_ns(&text, value);
		else if (ends_with(name, "_bytes"))
			vg_text_bytes(&text, value);
		else
			snprintf(text.text, sizeof text.text, "%" PRIu64, value);
		vg_print(stdout, "  %-28s %s\n", name, text.text);
	}
}

static void recorded_text(const struct vg_profile *profile)
{
	const struct vg_header *header = &profile->header;
	time_t start = (time_t)header->start_unix_s;
	struct vg_text period, duration;
	char when[64] = "unknown";
	struct tm utc;

	/* The header is lost if the first chunk is damaged. */
	if (header->version == 0) {
		vg_print(stdout, "%-14s lost: the mode and the rate are not known\n", "header");
		vg_print(stdout, "%-14s for %s\n", "recorded", vg_text_ns(&duration, profile->duration_ns));
		return;
	}
	if (header->start_unix_s <= INT64_MAX && gmtime_r(&start, &utc) != NULL)
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &utc);
	vg_print(stdout, "%-14s %s (%s)\n", "program", vg_profile_text(profile, header->program),
		 vg_profile_text(profile, header->arch));
	if (profile->processes.count > 1)
		vg_print(stdout, "%-14s %zu\n", "processes", profile->processes.count);
	vg_print(stdout, "%-14s %s\n", "written by", vg_profile_text(profile, header->writer));
	vg_print(stdout, "%-14s %s, for %s\n", "recorded", when, vg_text_ns(&duration, profile->duration_ns));
	if (header->window_begin_ns != 0 && header->window_begin_ns <= profile->duration_ns)
		vg_print(stdout, "%-14s %.3f s to %.3f s of the recording\n", "part",
			 (double)header->window_begin_ns / 1e9, (double)profile->duration_ns / 1e9);
	vg_print(stdout, "%-14s %s", "mode", vg_profile_text(profile, header->mode_name));
	if (header->period_ns > 0)
		vg_print(stdout, ", a sample every %s\n", vg_text_ns(&period, header->period_ns));
	else
		vg_print(stdout, ", samples on demand\n");
	for (uint32_t i = 0; i < header->counter_count; i++)
		vg_print(stdout, "%s%s", i == 0 ? "counters       " : ", ",
			 vg_profile_text(profile, header->counters[i]));
	if (header->counter_count > 0)
		putchar('\n');
}

static void samples_text(const struct vg_profile *profile, uint64_t by_instructions)
{
	struct ends ends = ends_count(profile);
	struct vg_text share;

	vg_print(stdout, "%-14s %" PRIu64 " of %zu thread%s\n", "samples", profile->samples_total,
		 profile->threads.count, vg_text_plural(profile->threads.count));
	for (unsigned end = 0; end <= VG_WALK_END_COUNT; end++) {
		if (ends.samples[end] > 0)
			vg_print(stdout, "  %-28s %" PRIu64 " (%s)\n", end == VG_WALK_ROOT ? "stacks complete" :
				 vg_walk_end_name(end), ends.samples[end],
				 vg_text_percent(&share, ends.samples[end], profile->samples_total));
	}
	if (by_instructions > 0)
		vg_print(stdout, "  %-28s %" PRIu64 " (%s)\n", "stacks by instructions", by_instructions,
			 vg_text_percent(&share, by_instructions, profile->samples_total));
	if (profile->samples_without_stack > 0)
		vg_print(stdout, "  %-28s %" PRIu64 "\n", "stacks lost to damage",
			 profile->samples_without_stack);
}

static void file_text(const struct vg_profile *profile)
{
	struct vg_text bytes;

	vg_print(stdout, "%-14s %s, %s", profile->processes.count > 1 ? "files" : "file",
		 vg_text_bytes(&bytes, profile->file_bytes),
		 !profile->resolved ? "not resolved" : profile->partly_resolved ? "partly resolved" : "resolved");
	if (profile->end_reason == VG_NONE)
		vg_print(stdout, ", TRUNCATED: it has no end record\n");
	else
		vg_print(stdout, ", ended: %s\n", vg_profile_text(profile, profile->end_reason));
	if (profile->unknown_records > 0 || profile->unknown_fields > 0)
		vg_print(stdout, "  %-28s %" PRIu64 " record%s, %" PRIu64 " field%s\n", "not known to this vgtool",
			 profile->unknown_records, vg_text_plural(profile->unknown_records),
			 profile->unknown_fields, vg_text_plural(profile->unknown_fields));
	if (profile->damage.count > 0)
		vg_print(stdout, "  %-28s %s\n", "damaged", vg_text_bytes(&bytes, profile->damaged_bytes));
	for (size_t i = 0; i < profile->damage.count && i < 20; i++)
		vg_print(stdout, "  at offset %-18" PRIu64 " %" PRIu64 " byte%s: %s\n",
			 profile->damage.items[i].offset, profile->damage.items[i].bytes,
			 vg_text_plural(profile->damage.items[i].bytes), profile->damage.items[i].problem);
	if (profile->damage.count > 20)
		vg_print(stdout, "  ... and %zu more places\n", profile->damage.count - 20);
}

static void modules_text(const struct vg_profile *profile)
{
	vg_print(stdout, "%-14s %zu\n", "modules", profile->modules.count);
	for (size_t i = 0; i < profile->modules.count; i++) {
		const struct vg_module *module = &profile->modules.items[i];
		char build_id[2 * VG_BUILD_ID_MAX_BYTES + 1], base[32] = "";
		struct vg_text size;

		/* Each process has the module at another address. */
		if (profile->processes.count <= 1)
			snprintf(base, sizeof base, "0x%012" PRIx64, module->base);

		vg_build_id_hex(build_id, sizeof build_id, module->build_id, module->build_id_bytes);
		vg_print(stdout, "  %-28s %-40s %14s %10s%s%s\n",
			 vg_profile_text(profile, module->name),
			 module->build_id_bytes > 0 ? build_id : "(no build id)", base,
			 vg_text_bytes(&size, module->size_bytes),
			 module->unload_ns != UINT64_MAX ? " unloaded" : "",
			 module->unresolved ? " no symbols" : "");
	}
}

static bool any_count(const struct vg_counts *counts)
{
	for (size_t i = 0; i < counts->count; i++) {
		if (counts->items[i].value > 0)
			return true;
	}
	return false;
}

static void info_text(const struct vg_profile *profile, uint64_t by_instructions)
{
	recorded_text(profile);
	samples_text(profile, by_instructions);
	file_text(profile);
	vg_print(stdout, "%-14s%s\n", "cost", profile->stats.count == 0 ? " not recorded" : "");
	counts_text(profile, &profile->stats);
	vg_print(stdout, "%-14s%s\n", "lost", any_count(&profile->lost) ? "" : " nothing");
	if (any_count(&profile->lost))
		counts_text(profile, &profile->lost);
	modules_text(profile);
}

static int info_print(void *context, struct vg_profile *profile, struct vg_err *err)
{
	const bool *json = context;
	uint64_t by_instructions;
	int rc = vg_instruction_frames_count(profile, &by_instructions);

	(void)err;
	if (rc == 0)
		(*json ? info_json : info_text)(profile, by_instructions);
	return rc;
}

static int info_run(const char *command, struct vg_profiles *profiles, bool *json)
{
	if (vg_command_confine(command, &(struct vg_confinement){
		.paths = profiles->paths.items, .path_count = profiles->paths.count }) != VG_EXIT_DONE)
		return VG_EXIT_FAILED;
	return vg_profiles_use(command, profiles, info_print, json);
}

int cmd_info(int argc, char **argv)
{
	struct vg_profiles profiles = { 0 };
	struct vg_err err;
	bool json = false;
	int status = vg_command_line_json(usage, argc, argv, &json);

	if (status != VG_COMMAND_LINE_READ)
		return status;
	if (argc == optind)
		return vg_command_usage_error(argv[0], usage, "expected a PROFILE");
	if (vg_profiles_list(&profiles, (const char *const *)argv + optind, (size_t)(argc - optind), &err) == 0)
		status = info_run(argv[0], &profiles, &json);
	else
		status = vg_command_fail(argv[0], &err);
	vg_profiles_free(&profiles);
	return status;
}

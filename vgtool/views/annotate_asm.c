/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/annotate_asm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/print.h"
#include "base/sum.h"
#include "vgtool/analysis/function_table.h"
#include "vgtool/output/json.h"
#include "vgtool/output/text.h"
#include "vgtool/views/source_text.h"

/* SHARE_COLUMNS: the columns before the address.  HOT_PERCENT: of the function's own time. */
enum { SHARE_COLUMNS = 26, HOT_PERCENT = 10 };

/* The rows are the instructions of all functions, one after the other.  Each function has one more row, for addresses
 * at which objdump printed no instruction.  The last row is for all other code. */
struct times {
	struct vg_function_row *rows;
	size_t *first;               /* by function: its first row */
	size_t count;
	uint64_t weight_ns;          /* of all samples */
};

static const struct vg_asm_function *function_find(const struct vg_annotate_asm *annotate, uint32_t module,
						   uint64_t address)
{
	size_t low = 0, high = annotate->function_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct vg_asm_function *function = &annotate->functions[middle];

		if (function->module_number < module || (function->module_number == module && function->end <= address))
			low = middle + 1;
		else
			high = middle;
	}
	return low < annotate->function_count && annotate->functions[low].module_number == module &&
	       annotate->functions[low].begin <= address ? &annotate->functions[low] : NULL;
}

static size_t row_find(const struct times *times, const struct vg_annotate_asm *annotate, const struct vg_stack *stack)
{
	const struct vg_asm_function *function = NULL;
	uint32_t at;

	if (stack->module != VG_NONE && stack->found_by != VG_FOUND_BY_SYSTEM_CALL &&
	    stack->found_by != VG_FOUND_IN_KERNEL)
		function = function_find(annotate, annotate->module_numbers[stack->module], stack->address);
	if (function == NULL)
		return times->count - 1;
	at = vg_disassembly_find(&function->code, function->load_base + stack->address);
	return times->first[function - annotate->functions] +
	       (at != UINT32_MAX ? at : function->code.instructions.count);
}

/* Adds up the time of each row. */
static int rows_build(struct times *times, const struct vg_profile *profile, const uint32_t *number_of,
		      enum vg_weight weight)
{
	struct vg_thread_samples threads = { 0 };
	struct vg_function_table table = { 0 };
	struct vg_table_maker maker = { 0 };
	struct vg_frames frames;
	int rc = vg_frames_build_numbered(&frames, profile, number_of, (uint32_t)times->count);

	if (rc == 0)
		rc = vg_thread_samples_build(&threads, profile, -1);
	if (rc == 0)
		rc = vg_table_maker_open(&maker, &frames, weight);
	if (rc == 0)
		rc = vg_function_table_build(&table, &maker, threads.order, threads.first[profile->threads.count]);
	for (size_t i = 0; rc == 0 && i < table.rows.count; i++)
		times->rows[table.rows.items[i].function] = table.rows.items[i];
	times->weight_ns = table.weight_ns;
	vg_function_table_free(&table);
	vg_table_maker_close(&maker);
	vg_thread_samples_free(&threads);
	vg_frames_free(&frames);
	return rc;
}

static int times_build(struct times *times, const struct vg_profile *profile, const struct vg_annotate_asm *annotate)
{
	uint32_t *number_of = calloc(profile->stacks.count + 1, sizeof *number_of);
	int rc = -ENOMEM;

	times->first = calloc(annotate->function_count + 1, sizeof *times->first);
	for (size_t i = 0; times->first != NULL && i < annotate->function_count; i++) {
		times->first[i] = times->count;
		times->count += annotate->functions[i].code.instructions.count + 1;
	}
	times->count++;
	times->rows = calloc(times->count, sizeof *times->rows);
	if (number_of != NULL && times->first != NULL && times->rows != NULL) {
		for (size_t i = 0; i < profile->stacks.count; i++)
			number_of[i] = (uint32_t)row_find(times, annotate, &profile->stacks.items[i]);
		rc = rows_build(times, profile, number_of, annotate->weight);
	}
	free(number_of);
	return rc;
}

static void times_free(struct times *times)
{
	free(times->rows);
	free(times->first);
}

/* The sum of the rows of function number `at`. */
static struct vg_function_row function_sum(const struct times *times, const struct vg_annotate_asm *annotate, size_t at)
{
	const struct vg_function_row *rows = times->rows + times->first[at];
	struct vg_function_row sum = { 0 };

	for (size_t i = 0; i <= annotate->functions[at].code.instructions.count; i++) {
		sum.self_ns = vg_sum(sum.self_ns, rows[i].self_ns);
		sum.self_samples += rows[i].self_samples;
	}
	return sum;
}

/* ---- text ---- */

static bool same_line(const struct vg_asm_line *a, const struct vg_asm_line *b)
{
	return a->line == b->line && a->file != NULL && b->file != NULL && strcmp(a->file, b->file) == 0 &&
	       (a->inlined == NULL) == (b->inlined == NULL) &&
	       (a->inlined == NULL || strcmp(a->inlined, b->inlined) == 0);
}

static void source_print(const struct vg_annotate_asm *annotate, const struct vg_source_texts *texts,
			 const struct vg_asm_line *line)
{
	const char *name = strrchr(line->file, '/'), *text;
	char *shown;

	text = vg_source_texts_find(texts, line->file, line->line);
	if (asprintf(&shown, "%s:%" PRIu32 "%s%s%s%s%s", name != NULL ? name + 1 : line->file, line->line,
		     line->inlined != NULL ? " (inlined: " : "", line->inlined != NULL ? line->inlined : "",
		     line->inlined != NULL ? ")" : "", text != NULL ? "  " : "", text != NULL ? text : "") < 0)
		return;
	vg_terminal_color(annotate->terminal, VG_COLOR_FAINT);
	vg_print(stdout, "%*s", SHARE_COLUMNS, "");
	vg_terminal_cut(stdout, shown, vg_terminal_room(annotate->terminal, SHARE_COLUMNS));
	putchar('\n');
	vg_terminal_color(annotate->terminal, VG_COLOR_PLAIN);
	free(shown);
}

static void instruction_print(const struct times *times, const struct vg_annotate_asm *annotate,
			      const struct vg_asm_function *function, uint32_t at, int address_digits, uint64_t hot_ns)
{
	const struct vg_function_row *row = &times->rows[times->first[function - annotate->functions] + at];
	bool is_hot = row->self_ns > 0 && row->self_ns >= hot_ns, is_sampled = row->total_samples > 0;
	struct vg_text self, total, samples;

	if (is_hot)
		vg_terminal_color(annotate->terminal, VG_COLOR_RED);
	vg_print(stdout, "%7s %7s %8s  %*" PRIx64 "  ",
		 is_sampled ? vg_text_percent(&self, row->self_ns, times->weight_ns) : "",
		 is_sampled ? vg_text_percent(&total, row->total_ns, times->weight_ns) : "",
		 is_sampled ? vg_text_number(&samples, row->self_samples) : "",
		 address_digits, function->code.instructions.items[at].address);
	vg_terminal_cut(stdout, vg_disassembly_text(&function->code, at),
			vg_terminal_room(annotate->terminal, SHARE_COLUMNS + (size_t)address_digits + 2));
	putchar('\n');
	if (is_hot)
		vg_terminal_color(annotate->terminal, VG_COLOR_PLAIN);
}

static void function_print(const struct times *times, const struct vg_annotate_asm *annotate,
			   const struct vg_source_texts *texts, size_t number)
{
	const struct vg_asm_function *function = &annotate->functions[number];
	size_t count = function->code.instructions.count;
	const struct vg_function_row sum = function_sum(times, annotate, number);
	const struct vg_function_row *others = &times->rows[times->first[number] + count];
	const struct vg_asm_line *shown = NULL;
	struct vg_text share;
	char address[20];
	int digits = snprintf(address, sizeof address, "%" PRIx64, function->load_base + function->end);

	vg_terminal_color(annotate->terminal, VG_COLOR_BOLD);
	vg_terminal_line(annotate->terminal, "%s [%s]: %s of the %s time is in its own code, inlined functions "
			 "included", function->name, function->module,
			 vg_text_percent(&share, sum.self_ns, times->weight_ns), vg_weight_name(annotate->weight));
	vg_terminal_color(annotate->terminal, VG_COLOR_PLAIN);
	if (others->self_samples > 0)
		vg_terminal_line(annotate->terminal, "%s is at addresses at which objdump printed no instruction",
				 vg_text_percent(&share, others->self_ns, times->weight_ns));
	putchar('\n');
	vg_print(stdout, "%7s %7s %8s  address\n", "self", "total", "samples");
	for (uint32_t i = 0; i < count; i++) {
		const struct vg_asm_line *line = &function->lines[i];

		if (line->file != NULL && line->line > 0 && (shown == NULL || !same_line(line, shown))) {
			source_print(annotate, texts, line);
			shown = line;
		}
		instruction_print(times, annotate, function, i, digits, sum.self_ns / (100 / HOT_PERCENT));
	}
}

static int text_print(const struct times *times, const struct vg_annotate_asm *annotate)
{
	struct vg_source_texts texts = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < annotate->function_count; i++) {
		const struct vg_asm_function *function = &annotate->functions[i];

		for (size_t at = 0; rc == 0 && at < function->code.instructions.count; at++) {
			if (function->lines[at].file != NULL && function->lines[at].line > 0)
				rc = vg_source_texts_add(&texts, function->lines[at].file, function->lines[at].line);
		}
	}
	if (rc == 0)
		rc = vg_source_texts_read(&texts, annotate->directories, annotate->directory_count);
	for (size_t i = 0; rc == 0 && i < annotate->function_count; i++) {
		if (i > 0)
			putchar('\n');
		function_print(times, annotate, &texts, i);
	}
	vg_source_texts_free(&texts);
	return rc;
}

/* ---- JSON ---- */

static void row_write(struct vg_json *json, const struct vg_function_row *row)
{
	vg_json_key_uint(json, "self_ns", row->self_ns);
	vg_json_key_uint(json, "total_ns", row->total_ns);
	vg_json_key_uint(json, "self_samples", row->self_samples);
	vg_json_key_uint(json, "total_samples", row->total_samples);
}

static void instruction_write(struct vg_json *json, const struct vg_asm_function *function, uint32_t at,
			      const struct vg_function_row *row)
{
	const struct vg_asm_line *line = &function->lines[at];

	vg_json_object_begin(json);
	vg_json_key_uint(json, "address", function->code.instructions.items[at].address);
	vg_json_key_string(json, "text", vg_disassembly_text(&function->code, at));
	row_write(json, row);
	vg_json_key_string(json, "file", line->file);
	vg_json_key_uint(json, "line", line->line);
	vg_json_key_string(json, "inlined", line->inlined);
	vg_json_object_end(json);
	vg_json_line(json);
}

static void json_print(const struct times *times, const struct vg_annotate_asm *annotate)
{
	struct vg_json json;

	vg_json_open(&json, stdout);
	vg_json_object_begin(&json);
	vg_json_key_string(&json, "weight", vg_weight_name(annotate->weight));
	vg_json_key_uint(&json, "weight_ns", times->weight_ns);
	vg_json_key(&json, "functions");
	vg_json_array_begin(&json);
	for (size_t i = 0; i < annotate->function_count; i++) {
		const struct vg_asm_function *function = &annotate->functions[i];
		const struct vg_function_row sum = function_sum(times, annotate, i);

		vg_json_object_begin(&json);
		vg_json_key_string(&json, "name", function->name);
		vg_json_key_string(&json, "module", function->module);
		vg_json_key_uint(&json, "self_ns", sum.self_ns);
		vg_json_key_uint(&json, "self_samples", sum.self_samples);
		vg_json_key(&json, "instructions");
		vg_json_array_begin(&json);
		vg_json_line(&json);
		for (uint32_t at = 0; at < function->code.instructions.count; at++)
			instruction_write(&json, function, at, &times->rows[times->first[i] + at]);
		vg_json_array_end(&json);
		vg_json_object_end(&json);
	}
	vg_json_array_end(&json);
	vg_json_object_end(&json);
	vg_json_line(&json);
}

int vg_annotate_asm(const struct vg_profile *profile, const struct vg_annotate_asm *annotate)
{
	struct times times = { 0 };
	int rc = times_build(&times, profile, annotate);

	if (rc == 0 && annotate->is_json)
		json_print(&times, annotate);
	else if (rc == 0)
		rc = text_print(&times, annotate);
	times_free(&times);
	return rc;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/function_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vgtool/analysis/function_match.h"

/* No compiler makes a function of that size.  A hostile symbol file may claim any size. */
enum { CODE_BYTES_MAX = 1 << 20 };

/* objdump reads the symbols and the whole section of a binary: a few seconds for 1 GiB. */
enum { TIMEOUT_MS = 60000 };

enum { FRAMES_MAX = 64 };

/* An address of the profile whose function matches. */
struct place {
	uint32_t module;             /* index in the profile */
	uint32_t number;             /* of the module */
	uint64_t address;
	uint32_t function;           /* number in `frames` */
};

struct places {
	VG_ARRAY(struct place) items; /* sorted by number, then by address */
	uint32_t unreadable;         /* a function that matches and has no binary, or VG_NONE */
	uint32_t outer;              /* a function into which one that matches is inlined, or VG_NONE */
};

static int modules_number(struct vg_function_code *code, const struct vg_profile *profile)
{
	int rc = 0;

	code->module_numbers = calloc(profile->modules.count + 1, sizeof *code->module_numbers);
	if (code->module_numbers == NULL)
		return -ENOMEM;
	for (size_t i = 0; rc >= 0 && i < profile->modules.count; i++) {
		const struct vg_module *module = &profile->modules.items[i];

		code->module_numbers[i] = VG_NONE;
		if (module->build_id_bytes > 0)
			rc = vg_intern(&code->build_ids, module->build_id, module->build_id_bytes,
				       &code->module_numbers[i]);
	}
	return rc < 0 ? rc : 0;
}

static int place_compare(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->number != right->number)
		return left->number < right->number ? -1 : 1;
	return left->address < right->address ? -1 : left->address > right->address;
}

/* Adds the address of a node if its function matches. */
static int node_add(struct places *places, const struct vg_function_code *code, const unsigned char *marked,
		    uint32_t node)
{
	const struct vg_stack *stack = &code->frames.profile->stacks.items[node];
	size_t count = vg_frames_count(&code->frames, node);
	uint32_t outermost = vg_frames_at(&code->frames, node, count - 1).function;
	struct place place = { stack->module, VG_NONE, stack->address, outermost };

	for (size_t i = 0; places->outer == VG_NONE && i + 1 < count; i++) {
		if (marked[vg_frames_at(&code->frames, node, i).function])
			places->outer = outermost;
	}
	if (!marked[outermost])
		return 0;
	if (stack->module != VG_NONE && stack->found_by != VG_FOUND_BY_SYSTEM_CALL &&
	    stack->found_by != VG_FOUND_IN_KERNEL)
		place.number = code->module_numbers[stack->module];
	if (place.number != VG_NONE)
		return vg_array_push(&places->items, &place);
	places->unreadable = outermost;
	return 0;
}

static int places_find(struct places *places, const struct vg_function_code *code, const char *function,
		       struct vg_err *err)
{
	struct vg_function_match match = { 0 };
	int rc = vg_function_match_name(&match, &code->frames, function);

	for (uint32_t i = 0; rc == 0 && i < code->frames.profile->stacks.count; i++)
		rc = node_add(places, code, match.marked, i);
	vg_function_match_free(&match);
	if (rc != 0 || places->items.count > 0) {
		if (places->items.count > 0)
			qsort(places->items.items, places->items.count, sizeof *places->items.items, place_compare);
		return rc;
	}
	if (places->unreadable != VG_NONE)
		return vg_err_set(err, -ENOENT, "%.100s: there is no binary with its instructions: it is JIT code, "
				  "kernel code, a system call, or in a module without a build id",
				  vg_frames_function(&code->frames, places->unreadable).name);
	if (places->outer != VG_NONE)
		return vg_err_set(err, -ENOENT, "%.100s: it is inlined everywhere; its instructions are in %.100s",
				  function, vg_frames_function(&code->frames, places->outer).name);
	return vg_err_set(err, -ENOENT, "%s: no function with samples matches", function);
}

/* ---- the code of one module ---- */

/* Reads the symbols of the module, and keeps them. */
static int symbols_read(struct vg_function_code *code, const struct vg_module *module, const char *name,
			struct vg_symbols **symbols, struct vg_err *err)
{
	struct vg_symbol_finder *finder = &code->symbolize->finder;
	struct vg_symbol_source source = { 0 };
	int rc;

	*symbols = calloc(1, sizeof **symbols);
	if (*symbols == NULL || vg_array_push(&code->symbols, symbols) != 0) {
		free(*symbols);
		return -ENOMEM;
	}
	vg_err_set(err, 0, "%s: its symbols were not found", name);
	rc = vg_symbol_finder_find(finder, name, module->build_id, module->build_id_bytes, &source, err);
	if (rc == 0)
		rc = vg_symbol_source_read(finder, &source, module->build_id, module->build_id_bytes, *symbols, err);
	vg_symbol_source_free(&source);
	return rc;
}

/* Sets the source line of each instruction. */
static int lines_find(struct vg_asm_function *function, const struct vg_symbols *symbols)
{
	struct vg_symbol_frame frames[FRAMES_MAX];
	size_t count = function->code.instructions.count;

	function->lines = calloc(count + 1, sizeof *function->lines);
	for (size_t i = 0; function->lines != NULL && i < count; i++) {
		uint64_t address = function->code.instructions.items[i].address - function->load_base;

		if (vg_symbols_lookup(symbols, address, frames, FRAMES_MAX) == 0)
			continue;
		function->lines[i] = (struct vg_asm_line){ frames[0].file,
			frames[0].is_inline ? frames[0].function : NULL, frames[0].line };
	}
	return function->lines != NULL ? 0 : -ENOMEM;
}

/* Reads the code of one function, whose name, module and range are set.  Adds the function. */
static int function_read(struct vg_function_code *code, const struct vg_module *module,
			 const struct vg_symbols *symbols, struct vg_asm_function *function, struct vg_err *err)
{
	struct vg_code range = { .range = { function->begin, function->end - function->begin } };
	struct vg_symbol_source binary = { 0 };
	int output, rc;

	if (range.range.size_bytes > CODE_BYTES_MAX)
		return vg_err_set(err, -EFBIG, "%.100s: the function has more than %d bytes", function->name,
				  CODE_BYTES_MAX);
	rc = vg_symbol_finder_find_code(&code->symbolize->finder, function->module, module->build_id,
					module->build_id_bytes, &range, &binary, err);
	if (rc != 0)
		return rc;
	function->load_base = range.load_base;
	output = vg_symbolize_disassemble(code->symbolize, binary.fd, range.load_base + function->begin,
					  range.load_base + function->end);
	if (output < 0)
		rc = vg_err_sys(err, output, "cannot run objdump");
	else
		rc = vg_disassembly_read(&function->code, output, range.load_base + function->begin,
					 range.load_base + function->end, TIMEOUT_MS, err);
	if (output >= 0)
		close(output);
	vg_symbol_source_free(&binary);
	if (rc == 0)
		rc = lines_find(function, symbols);
	if (rc == 0)
		rc = vg_array_push(&code->functions, function);
	if (rc != 0) {
		vg_disassembly_free(&function->code);
		free(function->lines);
	}
	return rc;
}

/* Reads the code at places of one module. */
static int module_read(struct vg_function_code *code, const struct vg_profile *profile, const struct place *places,
		       size_t count, struct vg_err *err)
{
	const struct vg_module *module = &profile->modules.items[places->module];
	const char *name = vg_profile_text(profile, module->name);
	struct vg_symbol_range range = { 0 };
	struct vg_symbols *symbols;
	int rc = symbols_read(code, module, name, &symbols, err);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct vg_asm_function function = { .module = name, .module_number = places->number };

		if (places[i].address - range.address < range.size_bytes)
			continue;
		function.name = vg_frames_function(&code->frames, places[i].function).name;
		if (code->functions.count == VG_FUNCTION_CODE_MAX)
			return vg_err_set(err, -E2BIG, "more than %d functions match; name one of them",
					  VG_FUNCTION_CODE_MAX);
		/* A range that overlaps the previous one is cut: the functions of a hostile symbol file may overlap. */
		function.begin = range.address + range.size_bytes;
		if (!vg_symbols_range(symbols, places[i].address, &range) ||
		    __builtin_add_overflow(range.address, range.size_bytes, &function.end))
			return vg_err_set(err, -ENOENT, "%.100s: its symbols have no range of addresses",
					  function.name);
		if (function.begin < range.address)
			function.begin = range.address;
		rc = function_read(code, module, symbols, &function, err);
	}
	return rc;
}

int vg_function_code_read(struct vg_function_code *code, const struct vg_profile *profile, const char *function,
			  struct vg_err *err)
{
	struct places places = { .unreadable = VG_NONE, .outer = VG_NONE };
	const struct place *items;
	struct vg_err problem;
	int rc = vg_frames_build(&code->frames, profile);

	if (rc == 0)
		rc = modules_number(code, profile);
	if (rc == 0)
		rc = places_find(&places, code, function, err);
	items = places.items.items;
	for (size_t first = 0, end; rc == 0 && first < places.items.count; first = end) {
		int module_rc;

		for (end = first + 1; end < places.items.count && items[end].number == items[first].number;)
			end++;
		module_rc = module_read(code, profile, items + first, end - first, &problem);
		/* If it is the only module, the message is an error. */
		if (module_rc == -ENOMEM || module_rc == -E2BIG ||
		    (module_rc != 0 && code->functions.count == 0 && end == places.items.count))
			rc = module_rc == -ENOMEM ? module_rc : vg_err_set(err, module_rc, "%s", problem.text);
		else if (module_rc != 0)
			vg_command_warn(code->command, "%s", problem.text);
	}
	vg_array_free(&places.items);
	return rc;
}

void vg_function_code_free(struct vg_function_code *code)
{
	for (size_t i = 0; i < code->functions.count; i++) {
		vg_disassembly_free(&code->functions.items[i].code);
		free(code->functions.items[i].lines);
	}
	for (size_t i = 0; i < code->symbols.count; i++) {
		vg_symbols_free(code->symbols.items[i]);
		free(code->symbols.items[i]);
	}
	vg_array_free(&code->functions);
	vg_array_free(&code->symbols);
	vg_intern_free(&code->build_ids);
	vg_frames_free(&code->frames);
	free(code->module_numbers);
}

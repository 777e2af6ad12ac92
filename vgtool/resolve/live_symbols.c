/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/resolve/live_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* 1 s of CPU time for a module whose symbols are not kept allows the next reading after 200 s. */
enum { READ_AGAIN_FACTOR = 200 };

/* As many as vgtool resolve keeps. */
enum { FRAMES_MAX = VG_SYMBOLIZED_FRAMES_MAX };

enum module_state {
	MODULE_NEW,
	MODULE_KEPT,                 /* `symbols` is set */
	MODULE_TOO_LARGE,            /* the symbols are not kept */
	MODULE_MISSING,              /* no symbols were found */
};

struct vg_live_module {
	enum module_state state;
	struct vg_symbols symbols;
	uint64_t due_ns;             /* CLOCK_MONOTONIC; MODULE_TOO_LARGE: the symbols are not read earlier */
};

/* ---- a module's symbols ---- */

static int symbols_read(const struct vg_live_symbols *live, const struct vg_profile *profile, uint32_t index,
			struct vg_symbols *symbols)
{
	const struct vg_module *module = &profile->modules.items[index];
	const char *name = vg_profile_text(profile, module->name);
	struct vg_symbol_source source = { 0 };
	struct vg_err err;
	/* As vgtool resolve: without a build id a module of the same name could be another build. */
	int rc = module->build_id_bytes == 0 ? -ENOENT :
		 vg_symbol_finder_find(live->finder, name, module->build_id, module->build_id_bytes, &source, &err);

	if (rc == 0)
		rc = vg_symbol_source_read(live->finder, &source, module->build_id, module->build_id_bytes, symbols,
					   &err);
	vg_symbol_source_free(&source);
	return rc;
}

/* Sets *symbols to the module's symbols.  They are in `room` if they are not kept; the caller frees them.  *symbols is
 * NULL if there are none now. */
static int symbols_get(struct vg_live_symbols *live, const struct vg_profile *profile, uint32_t index,
		       struct vg_symbols *room, const struct vg_symbols **symbols)
{
	struct vg_live_module *module = &live->modules.items[index];
	uint64_t cpu_ns = vg_own_cpu_ns();
	size_t bytes;
	int rc;

	*symbols = module->state == MODULE_KEPT ? &module->symbols : NULL;
	if (module->state == MODULE_KEPT || module->state == MODULE_MISSING ||
	    (module->state == MODULE_TOO_LARGE && vg_now_ns() < module->due_ns))
		return 0;
	rc = symbols_read(live, profile, index, room);
	if (rc != 0) {
		module->state = MODULE_MISSING;
		return rc == -ENOMEM ? rc : 0;
	}
	bytes = vg_symbols_bytes(room);
	*symbols = room;
	if (bytes > ((size_t)VG_LIVE_SYMBOLS_MIB << 20) - live->kept_bytes) {
		module->state = MODULE_TOO_LARGE;
		module->due_ns = vg_now_ns() + READ_AGAIN_FACTOR * (vg_own_cpu_ns() - cpu_ns);
		return 0;
	}
	module->state = MODULE_KEPT;
	module->symbols = *room;
	live->kept_bytes += bytes;
	*room = (struct vg_symbols){ 0 };
	*symbols = &module->symbols;
	return 0;
}

/* ---- addresses ---- */

/* Appends the text and its NUL. */
static int key_add(struct vg_live_symbols *live, const char *text)
{
	size_t bytes = strlen(text) + 1;

	if (vg_array_reserve(&live->key, bytes) != 0)
		return -ENOMEM;
	memcpy(live->key.items + live->key.count, text, bytes);
	live->key.count += bytes;
	return 0;
}

/* Sets *function to the profile's function of that name, and adds it if it is new. */
static int function_get(struct vg_live_symbols *live, struct vg_profile *profile, uint32_t module,
			const struct vg_symbol_frame *frame, uint32_t *function)
{
	uint32_t id, index;
	int rc;

	live->key.count = 0;
	rc = vg_array_reserve(&live->key, sizeof module);
	if (rc != 0)
		return rc;
	memcpy(live->key.items, &module, sizeof module);
	live->key.count = sizeof module;
	rc = key_add(live, frame->function);
	if (rc == 0)
		rc = key_add(live, frame->file != NULL ? frame->file : "");
	if (rc == 0)
		rc = vg_intern(&live->functions, live->key.items, live->key.count, &id);
	if (rc > 0) {
		rc = vg_profile_add_function(profile, frame->function, frame->file, module, &index);
		if (rc == 0)
			rc = vg_array_push(&live->function_of, &index);
	}
	if (rc == 0)
		*function = live->function_of.items[id];
	return rc;
}

static int address_symbolize(struct vg_live_symbols *live, struct vg_profile *profile,
			     const struct vg_symbols *symbols, const struct vg_live_address *address)
{
	struct vg_symbol_frame frames[FRAMES_MAX];
	struct vg_symbol_line lines[FRAMES_MAX];
	size_t count = vg_symbols_lookup(symbols, address->address, frames, FRAMES_MAX);

	for (size_t i = 0; i < count; i++) {
		int rc = function_get(live, profile, address->module, &frames[i], &lines[i].function);

		if (rc != 0)
			return rc;
		lines[i].line = frames[i].line;
	}
	return count > 0 ? vg_profile_add_symbol(profile, address->module, address->address, lines, count) : 0;
}

static int address_compare(const void *a, const void *b)
{
	const struct vg_live_address *left = a, *right = b;

	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	return left->address < right->address ? -1 : left->address > right->address;
}

/* Looks up the addresses of one module, items `first` to `end` - 1 of `waiting`.  Those that must wait longer are moved
 * down to `kept`. */
static int module_symbolize(struct vg_live_symbols *live, struct vg_profile *profile, size_t first, size_t end,
			    size_t *kept)
{
	struct vg_live_address *addresses = live->waiting.items;
	uint32_t index = addresses[first].module;
	struct vg_symbols room = { 0 };
	const struct vg_symbols *symbols;
	int rc = symbols_get(live, profile, index, &room, &symbols);

	for (size_t i = first; rc == 0 && symbols != NULL && i < end; i++) {
		if (i == first || addresses[i].address != addresses[i - 1].address)
			rc = address_symbolize(live, profile, symbols, &addresses[i]);
	}
	for (size_t i = first; symbols == NULL && live->modules.items[index].state == MODULE_TOO_LARGE && i < end; i++)
		addresses[(*kept)++] = addresses[i];
	vg_symbols_free(&room);
	return rc;
}

static int addresses_add(struct vg_live_symbols *live, const struct vg_profile *profile)
{
	for (; live->nodes < profile->stacks.count; live->nodes++) {
		const struct vg_stack *stack = &profile->stacks.items[live->nodes];
		const struct vg_live_address address = { stack->module, stack->address };

		if (stack->module != VG_NONE && vg_array_push(&live->waiting, &address) != 0)
			return -ENOMEM;
	}
	return 0;
}

int vg_live_symbols_add(struct vg_live_symbols *live, struct vg_profile *profile)
{
	size_t kept = 0;
	int rc = vg_array_extend(&live->modules, profile->modules.count);

	if (rc == 0)
		rc = addresses_add(live, profile);
	if (rc != 0 || live->waiting.count == 0)
		return rc;
	qsort(live->waiting.items, live->waiting.count, sizeof *live->waiting.items, address_compare);
	for (size_t first = 0, end; rc == 0 && first < live->waiting.count; first = end) {
		for (end = first + 1; end < live->waiting.count; end++) {
			if (live->waiting.items[end].module != live->waiting.items[first].module)
				break;
		}
		rc = module_symbolize(live, profile, first, end, &kept);
	}
	live->waiting.count = kept;
	return rc;
}

void vg_live_symbols_free(struct vg_live_symbols *live)
{
	for (size_t i = 0; i < live->modules.count; i++)
		vg_symbols_free(&live->modules.items[i].symbols);
	vg_array_free(&live->modules);
	vg_array_free(&live->waiting);
	vg_array_free(&live->function_of);
	vg_array_free(&live->key);
	vg_intern_free(&live->functions);
	*live = (struct vg_live_symbols){ 0 };
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/model.h"
#include "vignetted/unwind/cfi.h"
#include "vignetted/unwind/code.h"
#include "vignetted/unwind/regs.h"

#ifndef VG_UNWIND_ROWS_LOG       /* the fuzzer sets a smaller value */
#define VG_UNWIND_ROWS_LOG 16
#endif
enum { ROWS = 1 << VG_UNWIND_ROWS_LOG };

static bool is_loaded(const struct vg_rows *rows, uint32_t module)
{
	return rows->modules->items.items[module].loaded;
}

/* Whether what was just read of the module may be kept at this place.  If so, vg_rows_walk_discard() drops it.  It may
 * not be kept if the list of new rows is full, or if reading stopped early. */
static bool may_keep(struct vg_rows *rows, uint32_t module, uint32_t place)
{
	vg_modules_require_check(rows->modules, module);
	if (rows->modules->memory->words_left == 0 || rows->new_count == VG_ROWS_NEW_MAX)
		return false;
	rows->new_places[rows->new_count++] = place;
	return true;
}

/* The place of a row that is still in the cache, or NULL. */
static struct vg_cached_row *cached_of(const struct vg_rows *rows, const struct vg_found_row *found)
{
	struct vg_cached_row *cached = found->place != VG_NONE ? &rows->cached[found->place] : NULL;

	return cached != NULL && cached->address == found->address && cached->module == found->module ? cached : NULL;
}

bool vg_rows_get(struct vg_rows *rows, uint64_t address, struct vg_found_row *found)
{
	const struct vg_code_range *range = vg_modules_find(rows->modules, address);
	const struct vg_cached_row *cached;
	uint64_t hash;

	if (range == NULL)
		return false;
	*found = (struct vg_found_row){
		.address = address, .module = range->module, .place = VG_NONE, .row = { .kind = VG_ROW_NONE },
	};
	if (range->module == VG_NONE)
		return true;
	hash = (address ^ (uint64_t)range->module << 48) * UINT64_C(0x9e3779b97f4a7c15);
	found->place = (uint32_t)(hash >> (64 - VG_UNWIND_ROWS_LOG));
	cached = address != 0 ? cached_of(rows, found) : NULL;
	if (cached != NULL) {
		found->row = cached->row;
		return true;
	}
	if (!is_loaded(rows, range->module)) {
		found->row.kind = VG_ROW_UNLOADED;
		return true;
	}
	rows->decoded++;
	vg_cfi_row(rows->modules->memory, &rows->modules->items.items[range->module].image, address, &found->row);
	if (address != 0 && may_keep(rows, range->module, found->place))
		rows->cached[found->place] = (struct vg_cached_row){
			.address = address, .module = range->module, .row = found->row,
		};
	return true;
}

/* Larger frames are not believed. */
enum { FRAME_ALIGN = 8, FRAME_MAX_BYTES = 1 << 20 };

void vg_frame_size_note(struct vg_frame_size *size, uint64_t sp, uint64_t fp)
{
	uint64_t bytes = fp - sp;

	if (bytes > FRAME_MAX_BYTES || bytes % FRAME_ALIGN != 0 ||
	    (size->seen != VG_FRAME_NONE && bytes != size->bytes))
		size->seen = VG_FRAME_VARIES;
	if (size->seen == VG_FRAME_VARIES)
		return;
	size->bytes = (uint32_t)bytes;
	if (size->seen < VG_FRAME_KNOWN)
		size->seen++;
}

struct vg_frame_size *vg_rows_frame_size(const struct vg_rows *rows, const struct vg_found_row *found)
{
	struct vg_cached_row *cached = cached_of(rows, found);

	return cached != NULL ? &cached->size : NULL;
}

void vg_rows_walk_begin(struct vg_rows *rows)
{
	if (rows->generation != rows->modules->generation)
		vg_code_row_cache_clear(rows->code_rows);
	rows->generation = rows->modules->generation;
	rows->new_count = 0;
}

void vg_rows_walk_discard(struct vg_rows *rows)
{
	for (size_t i = 0; i < rows->new_count; i++)
		rows->cached[rows->new_places[i]].address = 0;
	rows->new_count = 0;
	vg_code_row_cache_clear(rows->code_rows);
	vg_modules_checks_drop(rows->modules);
}

void vg_rows_clear(struct vg_rows *rows)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (rows->cached[i].address != 0)
			rows->cached[i].address = 0;
	}
	vg_code_row_cache_clear(rows->code_rows);
	rows->jit_frames = rows->jit_frames_with_fp = 0;
}

/* The range of JIT code that has the address.  NULL: the address is in code of a module, or no code is known there. */
static const struct vg_code_range *jit_range(const struct vg_rows *rows, uint64_t address)
{
	const struct vg_code_range *range = vg_modules_find(rows->modules, address);

	return range != NULL && range->module == VG_NONE ? range : NULL;
}

struct vg_code_row_set *vg_rows_from_code(struct vg_rows *rows, uint32_t module, uint64_t address,
					  enum vg_code_search how)
{
	const struct vg_code_range *jit = module == VG_NONE ? jit_range(rows, address) : NULL;

	if (module == VG_NONE ? jit == NULL : !is_loaded(rows, module))
		return NULL;
	if (module != VG_NONE)
		vg_modules_require_check(rows->modules, module);
	return vg_code_row_cache_get(rows->code_rows, rows->modules->memory, address, how, jit,
				     rows->modules->moment.time_ns);
}

bool vg_rows_replaces_stack(struct vg_rows *rows, uint64_t address)
{
	struct vg_code_reader reader = { .memory = rows->modules->memory, .jit = jit_range(rows, address) };

	return vg_code_rows_replaces_stack(&reader, address);
}

static enum vg_return_kind return_kind_read(struct vg_rows *rows, const struct vg_found_row *found)
{
	struct vg_memory *memory = rows->modules->memory;
	uint64_t pc = found->address + 1, first, bytes;

	if (vg_code_after_call(memory, pc, false) || (found->module == VG_NONE && vg_code_after_call(memory, pc, true)))
		return VG_RETURN_AFTER_CALL;
	if (found->row.kind == VG_ROW_NONE && vg_code_is_sigreturn(memory, pc))
		return VG_RETURN_SIGRETURN;
	if (found->module != VG_NONE &&
	    vg_cfi_function(memory, &rows->modules->items.items[found->module].image, pc, &first, &bytes) &&
	    first == pc)
		return VG_RETURN_FUNCTION_BEGIN;
	return vg_code_is_stack_bottom(memory, pc) ? VG_RETURN_STACK_BOTTOM : VG_RETURN_UNKNOWN;
}

enum vg_return_kind vg_rows_return_kind(struct vg_rows *rows, const struct vg_found_row *found)
{
	struct vg_cached_row *cached = cached_of(rows, found);
	enum vg_return_kind kind;

	if (cached != NULL && cached->return_kind != VG_RETURN_UNREAD)
		return (enum vg_return_kind)cached->return_kind;
	if (found->module != VG_NONE && !is_loaded(rows, found->module))
		return VG_RETURN_UNKNOWN;
	kind = return_kind_read(rows, found);
	/* JIT code may be replaced later: its rows are not cached. */
	if (cached != NULL && may_keep(rows, found->module, found->place))
		cached->return_kind = (uint8_t)kind;
	return kind;
}

bool vg_rows_is_after_call(struct vg_rows *rows, uint64_t pc)
{
	const struct vg_code_range *range = vg_modules_find(rows->modules, pc - 1);

	return range != NULL && vg_code_after_call(rows->modules->memory, pc, false);
}

int vg_rows_open(struct vg_rows *rows, struct vg_modules *modules)
{
	*rows = (struct vg_rows){
		.modules = modules,
		.cached = calloc(ROWS, sizeof *rows->cached), .code_rows = calloc(1, sizeof *rows->code_rows),
		.sigreturn = {
			.kind = VG_ROW_PLAIN, .cfa_base = VG_FROM_SP, .fp_base = VG_FROM_SP, .ra_base = VG_FROM_SP,
			.cfa_offset = vg_regs_signal_frame.sp, .fp_offset = vg_regs_signal_frame.fp,
			.ra_offset = vg_regs_signal_frame.pc, .cfa_deref = true, .signal = true,
		},
	};
	return rows->cached != NULL && rows->code_rows != NULL ? 0 : -ENOMEM;
}

void vg_rows_free(struct vg_rows *rows)
{
	free(rows->code_rows);
	free(rows->cached);
}

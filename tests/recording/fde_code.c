/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "tests/recording/fde_code.h"

#include <stdlib.h>
#include <string.h>

#include "vignetted/target/bytes.h"
#include "vignetted/unwind/instruction.h"
#include "vignetted/unwind/regs.h"

enum { FDE_MAX_BYTES = 1 << 24, PARENTS_MAX = 4, PLT_ENTRY_BYTES = 16, OMITTED = 0xff };

/* ---- the list of FDEs ---- */

static void *grown(void *array, size_t count, size_t *room, size_t bytes)
{
	if (count < *room)
		return array;
	*room = *room * 2 + 1024;
	array = realloc(array, *room * bytes);
	if (array == NULL)
		exit(2);
	return array;
}

static void fde_add(void *context, const struct file_fde *fde)
{
	struct fde_code *code = context;

	if (fde->start < code->first || fde->start >= fde->end || fde->end - code->first > code->bytes ||
	    fde->end - fde->start > FDE_MAX_BYTES)
		return;
	code->fdes = grown(code->fdes, code->count, &code->room, sizeof *code->fdes);
	code->fdes[code->count++] = (struct fde){ .start = fde->start, .end = fde->end, .lsda = fde->lsda };
}

static int fde_order(const void *left, const void *right)
{
	const struct fde *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static struct fde *fde_find(const struct fde_code *code, uint64_t address)
{
	size_t low = 0, high = code->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (code->fdes[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < code->count && code->fdes[low].start <= address ? &code->fdes[low] : NULL;
}

/* ---- instructions ---- */

bool fde_code_instruction(const struct fde_code *code, uint64_t at, uint64_t end, struct instruction *result)
{
	struct vg_instruction read;

	if (at < code->first || end - code->first > code->bytes ||
	    !vg_instruction_read(&read, (const unsigned char *)(code->file->bias + at), end - at))
		return false;
	*result = (struct instruction){
		.at = at, .next = at + read.length, .is_call = read.flow == VG_FLOW_CALL, .is_padding = read.is_padding,
		.is_end = read.flow == VG_FLOW_JUMP || read.flow == VG_FLOW_JUMP_REGISTER ||
			  read.flow == VG_FLOW_JUMP_MEMORY || read.flow == VG_FLOW_RETURN || read.flow == VG_FLOW_TRAP,
		.to = read.flow == VG_FLOW_JUMP || read.flow == VG_FLOW_BRANCH ?
		      at + read.length + (uint64_t)read.distance : 0,
	};
	/* A push stores below the stack pointer and moves it there. */
	if (read.flow == VG_FLOW_NEXT && read.effect_count == 2 && read.effects[0].kind == VG_EFFECT_STORE &&
	    read.effects[0].to == VG_REGISTER_SP && read.effects[1].kind == VG_EFFECT_SET &&
	    read.effects[1].to == VG_REGISTER_SP) {
		result->is_push = read.effects[0].from != VG_REGISTER_NONE;
		result->pushes_fp = read.effects[0].from == VG_REGISTER_FP;
	}
	return true;
}

/* ---- parts of functions ---- */

static bool begins_like_function(const struct fde_code *code, const struct fde *fde)
{
	struct outcome outcome;
	Dwarf_Frame *frame;
	bool signal;

	if (dwarf_cfi_addrframe(code->file->cfi, fde->start, &frame) != 0)
		return true;
	dwarf_frame_info(frame, NULL, NULL, &signal);
	outcome_of_libdw(&outcome, frame, code->file->bias + fde->start, signal);
	free(frame);
	return outcome.cfa == register_value(vg_dwarf_sp, 0) + 8;
}

/* A PLT's row depends on the address within an entry. */
static bool is_plt(const struct fde_code *code, const struct fde *fde)
{
	Dwarf_Op *ops;
	size_t count = 0;
	Dwarf_Frame *frame;
	bool result;

	if (fde->end - fde->start < 2 * PLT_ENTRY_BYTES ||
	    dwarf_cfi_addrframe(code->file->cfi, fde->start + PLT_ENTRY_BYTES, &frame) != 0)
		return false;
	result = dwarf_frame_cfa(frame, &ops, &count) == 0 && count > 3;
	free(frame);
	return result && fde->start % PLT_ENTRY_BYTES == 0;
}

/* A jump to another FDE makes that FDE a part of this function, unless its first row is that of a function: there it
 * is a tail call. */
static void parts_find(struct fde_code *code)
{
	for (size_t i = 0; i < code->count; i++) {
		struct fde *fde = &code->fdes[i];
		struct instruction instruction;

		fde->is_plt = is_plt(code, fde);
		for (uint64_t at = fde->start; at < fde->end; at = instruction.next) {
			struct fde *to;

			if (fde->is_plt || !fde_code_instruction(code, at, fde->end, &instruction))
				break;
			to = instruction.to != 0 ? fde_find(code, instruction.to) : NULL;
			if (to != NULL && to != fde && to->parent == 0 && !begins_like_function(code, to))
				to->parent = fde->start;
		}
	}
}

uint64_t fde_code_beginning(const struct fde_code *code, const struct fde *fde, uint64_t at)
{
	if (fde->is_plt)
		return at - at % PLT_ENTRY_BYTES;
	for (int i = 0; i < PARENTS_MAX && fde->parent != 0; i++)
		fde = fde_find(code, fde->parent);
	return fde->start;
}

/* ---- how a program comes to an instruction ---- */

static bool mark(struct fde_code *code, uint64_t at, enum reach reach)
{
	if (at < code->first || at - code->first >= code->bytes || code->reach[at - code->first] != REACH_NONE)
		return false;
	code->reach[at - code->first] = (unsigned char)reach;
	return true;
}

static void enqueue(struct fde_code *code, uint64_t at, enum reach reach)
{
	if (!mark(code, at, reach))
		return;
	code->queue = grown(code->queue, code->queued, &code->queue_room, sizeof *code->queue);
	code->queue[code->queued++] = at;
}

/* Marks all instructions that direct jumps reach from the addresses in the queue behind the first `kept`. */
static void follow(struct fde_code *code, size_t kept, enum reach reach)
{
	while (code->queued > kept) {
		uint64_t at = code->queue[--code->queued];
		const struct fde *fde = fde_find(code, at);
		struct instruction instruction;

		while (fde != NULL && at < fde->end && fde_code_instruction(code, at, fde->end, &instruction)) {
			if (instruction.to != 0)
				enqueue(code, instruction.to, reach);
			at = instruction.next;
			if (instruction.is_end || at >= fde->end || !mark(code, at, reach))
				break;
		}
	}
}

static void follow_from(struct fde_code *code, uint64_t start, enum reach reach)
{
	size_t kept = code->queued;

	enqueue(code, start, reach);
	follow(code, kept, reach);
}

/* Adds the landing pads in the table of call sites (Itanium C++ ABI: Exception Handling, "Language-Specific Data
 * Area"), which compilers write with LEB128 numbers.  They are marked before anything is followed, because a path may
 * come to one behind a call that does not return. */
static void landing_pads_enqueue(struct fde_code *code, const struct fde *fde)
{
	const unsigned char *end = code->file->mapped + code->bytes;
	struct vg_bytes bytes = { (const unsigned char *)(code->file->bias + fde->lsda), end };
	uint64_t number, table_bytes;

	if (fde->lsda < code->first || fde->lsda - code->first >= code->bytes ||
	    !vg_bytes_fixed(&bytes, 1, &number) || number != OMITTED || !vg_bytes_fixed(&bytes, 1, &number) ||
	    (number != OMITTED && !vg_bytes_uleb(&bytes, &number)) || !vg_bytes_fixed(&bytes, 1, &number) ||
	    number != 1 || !vg_bytes_uleb(&bytes, &table_bytes) || table_bytes > (uint64_t)(end - bytes.at))
		return;
	bytes.end = bytes.at + table_bytes;
	while (bytes.at < bytes.end) {
		uint64_t pad;

		if (!vg_bytes_uleb(&bytes, &number) || !vg_bytes_uleb(&bytes, &number) ||
		    !vg_bytes_uleb(&bytes, &pad) || !vg_bytes_uleb(&bytes, &number))
			return;
		if (pad != 0)
			enqueue(code, fde->start + pad, REACH_LANDING_PAD);
	}
}

/* What is left and is no padding is behind indirect jumps. */
static void rest_follow(struct fde_code *code, const struct fde *fde)
{
	struct instruction instruction;

	for (uint64_t at = fde->start; at < fde->end; at = instruction.next) {
		if (!fde_code_instruction(code, at, fde->end, &instruction))
			return;
		if (fde->is_plt)
			mark(code, at, REACH_DIRECT);
		else if (!instruction.is_padding && fde_code_reach(code, at) == REACH_NONE)
			follow_from(code, at, REACH_INDIRECT);
	}
}

enum reach fde_code_reach(const struct fde_code *code, uint64_t at)
{
	return at >= code->first && at - code->first < code->bytes ? code->reach[at - code->first] : REACH_NONE;
}

bool fde_code_read(struct fde_code *code, struct file *file)
{
	*code = (struct fde_code){
		.file = file, .first = (uint64_t)file->mapped - file->bias, .bytes = file->mapped_bytes,
		.reach = calloc(file->mapped_bytes, 1),
	};
	if (code->reach == NULL || !file_fdes_visit(file, fde_add, code) || code->count == 0)
		return false;
	qsort(code->fdes, code->count, sizeof *code->fdes, fde_order);
	parts_find(code);
	for (size_t i = 0; i < code->count; i++) {
		if (code->fdes[i].lsda != 0)
			landing_pads_enqueue(code, &code->fdes[i]);
	}
	for (size_t i = 0; i < code->count; i++) {
		if (!code->fdes[i].is_plt && begins_like_function(code, &code->fdes[i]))
			follow_from(code, code->fdes[i].start, REACH_DIRECT);
	}
	follow(code, 0, REACH_LANDING_PAD);
	for (size_t i = 0; i < code->count; i++)
		rest_follow(code, &code->fdes[i]);
	return true;
}

void fde_code_free(struct fde_code *code)
{
	free(code->fdes);
	free(code->reach);
	free(code->queue);
}

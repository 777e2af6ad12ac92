/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/code_rows.h"

#include <string.h>

#include "vignetted/unwind/code_path_x86_64.h"

enum { WORD_BYTES = 8 };

/* Bounds of one search.  busybox (Debian 12) has 16,225 return addresses without unwind information.  2,887 of them get
 * no row with 128 steps, 602 with 512 steps, and 444 with 4,096.  Some get no row with any number of steps, because
 * their function ends with a call that does not return. */
enum { STEPS_MAX = 512, PATHS_MAX = 32, SEEN = 1024 };

struct search {
	struct vg_memory *memory;
	struct vg_code_path paths[PATHS_MAX]; /* not followed yet */
	size_t path_count;
	unsigned int steps;          /* instructions followed */
	bool incomplete;             /* some paths were not followed to their ends */
	bool from_beginning;         /* paths lead from a function's beginning to the address */
	uint64_t round;              /* number of the beginning that is tried; entries of other rounds in `seen`
					do not count */
	/* Hash table of visited instructions.  A second path to one of them is not followed: it leads to the same
	 * return. */
	uint64_t seen[SEEN];
	struct vg_row *rows;
	size_t row_count;
	struct vg_row unlikely[VG_CODE_ROWS_MAX]; /* less likely rows, for example at an indirect jump: it may
					belong to a switch statement and be no tail call.  rows_join() adds
					them behind `rows`. */
	size_t unlikely_count;
};

/* ---- results ---- */

static enum vg_row_base row_base(enum vg_path_base base)
{
	return base == VG_PATH_FROM_FP ? VG_FROM_FP : VG_FROM_SP;
}

/* Adds a row if it is not there yet: different paths to the same return give the same row. */
static void row_push(const struct vg_row *row, struct vg_row *rows, size_t *count)
{
	for (size_t i = 0; i < *count; i++) {
		if (rows[i].cfa_base == row->cfa_base && rows[i].cfa_offset == row->cfa_offset)
			return;
	}
	if (*count < VG_CODE_ROWS_MAX)
		rows[(*count)++] = *row;
}

static size_t rows_join(struct search *search)
{
	for (size_t i = 0; i < search->unlikely_count && search->row_count < VG_CODE_ROWS_MAX; i++)
		search->rows[search->row_count++] = search->unlikely[i];
	return search->row_count;
}

/* Adds the row of a path from the address to a return, where the return address is on top of the stack. */
static void row_add(const struct vg_code_path *path, struct vg_row *rows, size_t *count)
{
	struct vg_row row = {
		.kind = VG_ROW_PLAIN, .ra_base = VG_FROM_CFA, .ra_offset = -WORD_BYTES,
		.cfa_base = row_base(path->sp_base), .cfa_offset = (int32_t)path->sp_offset + WORD_BYTES,
	};

	if (path->fp_saved) {
		row.fp_base = row_base(path->fp_base);
		row.fp_offset = (int32_t)path->fp_saved_offset;
	}
	if (path->sp_base != VG_PATH_UNKNOWN)
		row_push(&row, rows, count);
}

/* Adds the row of a path from a function's beginning to the address.  At the beginning the return address is on top of
 * the stack. */
static void row_add_back(const struct vg_code_path *path, struct vg_row *rows, size_t *count)
{
	struct vg_row row = {
		.kind = VG_ROW_PLAIN, .ra_base = VG_FROM_CFA, .ra_offset = -WORD_BYTES,
		.cfa_base = VG_FROM_SP, .cfa_offset = (int32_t)(WORD_BYTES - path->sp_offset),
	};

	if (path->sp_base != VG_PATH_FROM_SP) {
		if (!path->fp_set)
			return;
		row.cfa_base = VG_FROM_FP;
		row.cfa_offset = (int32_t)(WORD_BYTES - path->fp_offset);
	}
	if (path->fp_set && !path->fp_pushed)
		row.fp_base = VG_FROM_UNDEFINED;
	if (path->fp_pushed) {
		row.fp_base = VG_FROM_CFA;
		row.fp_offset = (int32_t)path->fp_pushed_offset - WORD_BYTES;
	}
	row_push(&row, rows, count);
}

/* ---- paths ---- */

/* False: the instruction was visited before. */
static bool first_visit(struct search *search, uint64_t at)
{
	uint64_t *seen = &search->seen[(at * UINT64_C(0x9e3779b97f4a7c15)) >> 54], entry = at ^ search->round << 48;

	if (*seen == entry)
		return false;
	*seen = entry;
	return true;
}

static void path_push(struct search *search, const struct vg_code_path *path, uint64_t to)
{
	search->incomplete |= search->path_count == PATHS_MAX;
	if (search->path_count == PATHS_MAX)
		return;
	search->paths[search->path_count] = *path;
	search->paths[search->path_count++].at = to;
}

/* Reads code at the address.  Returns the number of bytes: fewer than requested at the end of a mapping, 0 if none can
 * be read. */
static size_t code_read(struct vg_memory *memory, uint64_t at, unsigned char code[VG_INSTRUCTION_MAX_BYTES])
{
	size_t whole = VG_INSTRUCTION_MAX_BYTES, page = 4096 - at % 4096;

	if (vg_memory_read_cached(memory, at, code, whole) == 0)
		return whole;
	return page < whole && vg_memory_read_cached(memory, at, code, page) == 0 ? page : 0;
}

/* Whether the code is an endbr64, which begins a function.  A path comes to it only if it went on behind a call that
 * does not return. */
static bool is_beginning(const unsigned char *code, size_t bytes)
{
	static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return bytes >= sizeof endbr64 && memcmp(code, endbr64, sizeof endbr64) == 0;
}

/* Whether the instruction pops the return address into a register.  V8's functions return like this, because the number
 * of arguments that they drop is known only at run time. */
static bool pops_return(const struct vg_code_path *path, const struct vg_instruction *instruction)
{
	return instruction->opcode >= 0x58 && instruction->opcode <= 0x5f && path->sp_base == VG_PATH_FROM_FP &&
	       path->sp_offset == WORD_BYTES && path->fp_saved && path->fp_base == VG_PATH_FROM_FP &&
	       path->fp_saved_offset == 0;
}

/* Follows one instruction.  False: the path ends. */
static bool path_step(struct search *search, struct vg_code_path *path, bool is_first)
{
	unsigned char code[VG_INSTRUCTION_MAX_BYTES];
	size_t bytes = code_read(search->memory, path->at, code);
	struct vg_instruction instruction;
	uint64_t next, to;

	if (!vg_instruction_read(&instruction, code, bytes)) {
		search->incomplete = true;
		return false;
	}
	if (!is_first && is_beginning(code, bytes))
		return false;
	next = path->at + instruction.length;
	to = next + (uint64_t)instruction.immediate;
	if (instruction.opcode == 0xc3 || instruction.opcode == 0xc2 || pops_return(path, &instruction)) {
		if (!search->from_beginning)
			row_add(path, search->rows, &search->row_count);
		return false;
	}
	if (instruction.opcode == 0xff && ((instruction.reg & 7) == 4 || (instruction.reg & 7) == 5)) {
		search->incomplete = true;
		if (!search->from_beginning)
			row_add(path, search->unlikely, &search->unlikely_count);
		return false;
	}
	if (!vg_code_path_apply(path, &instruction))
		return false;
	path->at = next;
	if (instruction.opcode == 0xe9 || instruction.opcode == 0xeb)
		path->at = to;
	else if ((instruction.opcode & 0xfff0) == 0x70 || (instruction.opcode & 0xfff0) == 0x0f80 ||
		 (instruction.opcode >= 0xe0 && instruction.opcode <= 0xe3))
		path_push(search, path, to);
	return true;
}

size_t vg_code_rows(struct vg_memory *memory, uint64_t address, struct vg_row rows[VG_CODE_ROWS_MAX])
{
	struct search search = { .memory = memory, .rows = rows, .path_count = 1, .paths = { { .at = address } } };

	while (search.path_count > 0 && search.steps < STEPS_MAX && search.row_count < VG_CODE_ROWS_MAX) {
		struct vg_code_path path = search.paths[--search.path_count];

		while (search.steps++ < STEPS_MAX && first_visit(&search, path.at) &&
		       path_step(&search, &path, search.steps == 1))
			;
	}
	return rows_join(&search);
}

/* ---- from the beginning of the function ---- */

/* vg_code_rows_backward() tries every address where a function may begin, the nearest first.  One call takes 160 us
 * in busybox, and 2 ms at most. */
enum { BACK_BYTES = 8 * 1024, BACK_STEPS_MAX = 8 * 1024, BEFORE_BYTES = 5 };

/* Whether a function may begin at `code`.  The bytes before it must be a return, a jump, a call that may not return, or
 * padding.  A wrong guess does harm only if a path from it leads to the address for which rows are searched. */
static bool function_may_begin(const unsigned char *code, uint64_t address)
{
	return code[-1] == 0xc3 || code[-1] == 0xcc || code[-1] == 0x90 || code[-1] == 0xf4 ||
	       code[-2] == 0xeb || (code[-2] == 0x0f && code[-1] == 0x0b) ||
	       (code[-2] == 0xff && (code[-1] & 0xf8) == 0xe0) || code[-5] == 0xe9 || code[-5] == 0xe8 ||
	       (address % 16 == 0 && code[-1] == 0);
}

/* Whether a function certainly begins at `code`: it is aligned, and a return or padding is before it. */
static bool function_begins(const unsigned char *code, uint64_t address)
{
	return address % 16 == 0 && (code[-1] == 0xc3 || code[-1] == 0xcc || code[-1] == 0x90 || code[-1] == 0);
}

/* Whether a path leads from the beginning to the address.  If so, *there is the state of the path at the address. */
static bool path_from_beginning(struct search *search, uint64_t beginning, uint64_t address, struct vg_code_path *there)
{
	unsigned int steps_max = search->steps + STEPS_MAX;
	bool is_first = true;

	search->round++;
	search->paths[0] = (struct vg_code_path){ .at = beginning };
	search->path_count = 1;
	search->incomplete = false;
	while (search->path_count > 0 && search->steps < steps_max) {
		*there = search->paths[--search->path_count];
		while (search->steps++ < steps_max && there->at != address && first_visit(search, there->at) &&
		       path_step(search, there, is_first))
			is_first = false;
		if (there->at == address)
			return true;
	}
	search->incomplete |= search->steps >= steps_max;
	return false;
}

/* Adds a row to search->rows; or to search->unlikely, if vg_code_rows_is_aligned() is false for the return address's
 * place.  The place is checked only if the CFA comes from the stack pointer. */
static void beginning_add(struct search *search, const struct vg_code_path *there)
{
	if (there->sp_base != VG_PATH_FROM_SP || vg_code_rows_is_aligned((uint64_t)-there->sp_offset))
		row_add_back(there, search->rows, &search->row_count);
	else
		row_add_back(there, search->unlikely, &search->unlikely_count);
}

size_t vg_code_rows_backward(struct vg_memory *memory, uint64_t address, struct vg_row rows[VG_CODE_ROWS_MAX],
			     bool *stack_replaced)
{
	struct search search = { .memory = memory, .rows = rows, .from_beginning = true };
	unsigned char code[BACK_BYTES];
	size_t bytes = sizeof code;
	struct vg_code_path there;
	bool begins = false;

	*stack_replaced = false;
	while (bytes > BEFORE_BYTES &&
	       vg_memory_read_cached(memory, address - bytes, code + sizeof code - bytes, bytes) != 0)
		bytes /= 2;
	for (size_t back = 1; back + BEFORE_BYTES < bytes && search.row_count < VG_CODE_ROWS_MAX &&
	     search.steps < BACK_STEPS_MAX; back++) {
		if (!function_may_begin(code + sizeof code - back, address - back) ||
		    !path_from_beginning(&search, address - back, address, &there))
			continue;
		beginning_add(&search, &there);
		if (!begins && function_begins(code + sizeof code - back, address - back)) {
			begins = true;
			*stack_replaced = there.stack_replaced;
		}
	}
	return rows_join(&search);
}

enum vg_code_verdict vg_code_rows_verify(struct vg_memory *memory, uint64_t beginning, uint64_t address,
					 const struct vg_row *row)
{
	struct search search = { .memory = memory, .from_beginning = true };
	struct vg_row found;
	struct vg_code_path there;
	size_t count = 0;

	if (!path_from_beginning(&search, beginning, address, &there))
		return search.incomplete ? VG_CODE_UNDECIDED : VG_CODE_WRONG;
	row_add_back(&there, &found, &count);
	return count == 1 && found.cfa_base == row->cfa_base && found.cfa_offset == row->cfa_offset ?
	       VG_CODE_RIGHT : count == 1 && found.cfa_base != row->cfa_base ? VG_CODE_UNDECIDED : VG_CODE_WRONG;
}

/* System V ABI, AMD64 supplement, 3.2.2: the stack pointer is a multiple of 16 where a function is called. */
bool vg_code_rows_is_aligned(uint64_t return_address_at)
{
	return return_address_at % 16 == 8;
}

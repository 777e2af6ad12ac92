/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/code_rows.h"

#include <string.h>

/* Bounds of one search.  In libx264 (Debian 12) 9 % of the addresses get no row with 512 steps and 32 paths, and
 * less than 1 % with these.  A step takes about 0.15 us, as long as reading STEP_WORDS words of memory: the bound of
 * words for one sample bounds the steps, too. */
enum { STEPS_MAX = 8192, PATHS_MAX = 256, STEP_WORDS = 8 };

/* Sizes of the table of visited instructions, as logarithms.  It is cleared for each search, SEEN_PER_WORD entries
 * in the time in which a word of memory is read.  The small one is for searches that mostly need few steps.  A full
 * table costs repeated steps, which are bounded. */
enum { SEEN_LOG_SMALL = 9, SEEN_LOG = 13, SEEN_PER_WORD = 8 };

struct search {
	struct vg_code_reader *reader;
	struct vg_code_path *paths;  /* PATHS_MAX; the first path_count are not followed yet */
	size_t path_count;
	unsigned int steps;          /* instructions followed */
	bool incomplete;             /* some paths were not followed to their ends */
	bool from_beginning;         /* paths lead from a function's beginning to the address */
	const struct vg_row *wanted; /* NULL, or: paths from the beginning count only if this row is right for them */
	uint64_t beginning;          /* the latest one that was tried */
	struct vg_code_path at_jump; /* the state of the first path from the beginning that ended in an indirect jump */
	bool jumped;                 /* at_jump is set */
	uint64_t round;              /* the number of beginnings that were tried; entries of other rounds in `seen`
					do not count */
	/* Hash table of visited instructions.  A second path to one of them is not followed: from there it leads to the
	 * same return, or to the address with the same stack pointer. */
	uint64_t *seen;              /* 1 << seen_log */
	unsigned int seen_log;
	struct vg_code_rows *found;
	struct vg_row doubtful[VG_CODE_ROWS_MAX]; /* for example from an indirect jump: it may belong to a switch
					statement and be no tail call.  rows_join() adds them after the others. */
	size_t doubtful_count;
};

/* ---- results ---- */

static bool is_same_cfa(const struct vg_row *a, const struct vg_row *b)
{
	return a->cfa_base == b->cfa_base && a->cfa_offset == b->cfa_offset && a->cfa_deref == b->cfa_deref &&
	       a->cfa_addend == b->cfa_addend;
}

/* Adds a row if it is not there yet: different paths to the same return give the same row. */
static void row_push(const struct vg_row *row, struct vg_row *rows, size_t *count)
{
	for (size_t i = 0; i < *count; i++) {
		if (is_same_cfa(&rows[i], row))
			return;
	}
	if (*count < VG_CODE_ROWS_MAX)
		rows[(*count)++] = *row;
}

static void row_add(struct search *search, const struct vg_row *row, bool doubtful)
{
	if (doubtful)
		row_push(row, search->doubtful, &search->doubtful_count);
	else
		row_push(row, search->found->rows, &search->found->count);
}

static void rows_join(struct search *search)
{
	struct vg_code_rows *found = search->found;

	found->sure_count = found->count;
	for (size_t i = 0; i < search->doubtful_count; i++)
		row_push(&search->doubtful[i], found->rows, &found->count);
}

/* Adds the row of a path that ends at an instruction after which the function's caller may run. */
static void row_add_at_return(struct search *search, const struct vg_code_path *path, bool doubtful)
{
	struct vg_row row;
	bool path_doubtful;

	if (!search->from_beginning && vg_code_path_row_at_begin(path, &row, &path_doubtful))
		row_add(search, &row, doubtful || path_doubtful);
}

/* ---- paths ---- */

static void seen_clear(struct search *search)
{
	memset(search->seen, 0, sizeof *search->seen << search->seen_log);
	vg_memory_words_use(search->reader->memory, (UINT64_C(1) << search->seen_log) / SEEN_PER_WORD);
}

/* False: the instruction was visited before.  If one row is wanted, paths with other stack pointers are followed, too.
 * Addresses of code have 47 bits. */
static bool first_visit(struct search *search, const struct vg_code_path *path)
{
	uint64_t entry = path->at ^ search->round << 48, *seen;

	if (search->wanted != NULL)
		entry ^= (uint64_t)path->values[VG_REGISTER_SP].offset << 40;
	seen = &search->seen[(entry * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - search->seen_log)];
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

static void jump_out_note(struct search *search, uint64_t to)
{
	const struct vg_code_range *jit = search->reader->jit;

	if (jit != NULL && search->found != NULL && search->found->jump_out == 0 && (to < jit->start || to >= jit->end))
		search->found->jump_out = to;
}

/* The path has come to the first instruction of a function.  Returns whether it goes on.
 *
 * After a jump: it is a tail call.  A path from the beginning goes on, because the address may be there.  Another path
 * ends, with the return address on top of the stack.
 * Without a jump: the path went on after a call that does not return.  It ends. */
static bool path_enters_function(struct search *search, const struct vg_code_path *path)
{
	if (path->after_jump && search->from_beginning)
		return true;
	if (path->after_jump)
		row_add_at_return(search, path, false);
	search->incomplete = true;
	return false;
}

/* Returns of setjmp() and computed gotos also lead to such instructions, whose addresses are rarely multiples of 16. */
enum { FUNCTION_ALIGN = 16 };

/* Follows one instruction.  False: the path ends. */
static bool path_step(struct search *search, struct vg_code_path *path, bool is_first)
{
	const unsigned char *code;
	size_t bytes = vg_code_reader_get(search->reader, path->at, VG_INSTRUCTION_MAX_BYTES, &code);
	struct vg_instruction instruction;

	if (!vg_memory_words_use(search->reader->memory, STEP_WORDS) ||
	    !vg_instruction_read(&instruction, code, bytes)) {
		search->incomplete = true;
		return false;
	}
	if (!is_first && path->at % FUNCTION_ALIGN == 0 && vg_instruction_begins_function(code, bytes) &&
	    !path_enters_function(search, path))
		return false;
	if (vg_code_path_pops_return(path, &instruction)) {
		row_add_at_return(search, path, false);
		return false;
	}
	if (!vg_code_path_apply(path, &instruction)) {
		bool is_jump = instruction.flow == VG_FLOW_JUMP_MEMORY || instruction.flow == VG_FLOW_JUMP_REGISTER;

		if (is_jump && search->from_beginning && !search->jumped && vg_code_path_has_frame(path)) {
			search->at_jump = *path;
			search->jumped = true;
		}
		/* A return with words on the stack jumps to an address that the path has pushed. */
		search->incomplete |= is_jump || (instruction.flow == VG_FLOW_RETURN && vg_code_path_has_frame(path));
		if (is_jump || instruction.flow == VG_FLOW_RETURN)
			row_add_at_return(search, path, is_jump);
		return false;
	}
	if (instruction.flow == VG_FLOW_BRANCH)
		path_push(search, path, path->at + (uint64_t)instruction.distance);
	if (instruction.flow == VG_FLOW_JUMP || instruction.flow == VG_FLOW_JUMP_REGISTER)
		jump_out_note(search, path->at);
	return true;
}

static void rows_from_returns(struct search *search, uint64_t address, size_t most)
{
	struct vg_code_path path;

	vg_code_path_begin(&search->paths[0], address);
	search->path_count = 1;
	while (search->path_count > 0 && search->steps < STEPS_MAX && search->found->count < most) {
		path = search->paths[--search->path_count];
		while (search->steps++ < STEPS_MAX && first_visit(search, &path) &&
		       path_step(search, &path, search->steps == 1))
			;
	}
	rows_join(search);
}

/* ---- from the beginning of the function ---- */

/* Follows a path until it comes to the address.  False: it ends before. */
static bool path_follow(struct search *search, uint64_t address, unsigned int steps_max, struct vg_code_path *path)
{
	uint64_t beginning = search->beginning;

	while (path->at != address) {
		if (search->steps++ >= steps_max || !first_visit(search, path) ||
		    !path_step(search, path, path->at == beginning))
			return false;
	}
	return search->wanted == NULL || vg_code_path_verify(path, search->wanted) == VG_CODE_RIGHT;
}

/* Whether a path leads from the beginning to the address, within `most` steps.  If so, *there is the state of the
 * path at the address. */
static bool path_from_beginning(struct search *search, uint64_t beginning, uint64_t address, unsigned int most,
				struct vg_code_path *there)
{
	unsigned int steps_max = search->steps + most;

	search->round++;
	search->beginning = beginning;
	vg_code_path_begin(&search->paths[0], beginning);
	search->path_count = 1;
	search->incomplete = false;
	while (search->path_count > 0 && search->steps < steps_max) {
		*there = search->paths[--search->path_count];
		if (path_follow(search, address, steps_max, there))
			return true;
	}
	search->incomplete |= search->steps >= steps_max;
	return false;
}

/* In a function that makes a call, the distance from the stack pointer to the CFA is aligned.  In a leaf function
 * this is no evidence, so the row is only put last. */
static void row_add_from_beginning(struct search *search, const struct vg_code_path *there)
{
	struct vg_row row;

	if (vg_code_path_row_at_end(there, &row) && (row.cfa_base != VG_FROM_SP || row.cfa_deref || row.cfa_offset > 0))
		row_add(search, &row, row.cfa_base == VG_FROM_SP && !row.cfa_deref &&
			!vg_code_rows_is_aligned((uint64_t)row.cfa_offset));
}

/* BACK_BYTES are searched for beginnings, with BACK_STEPS_EACH steps from each.  After a row that is not doubtful, from
 * a likely beginning, BACK_STEPS_MORE more are made.  (busybox's ash_main() and awk_main() need 1,024.) */
enum { BACK_BYTES = 16 * 1024, BACK_STEPS_MAX = 16 * 1024, BACK_STEPS_EACH = 1024, BACK_STEPS_MORE = 2048 };

/* Tries every address where a function may begin, the nearest first. */
static void rows_from_beginnings(struct search *search, uint64_t address)
{
	struct vg_code_rows *found = search->found;
	unsigned char code[BACK_BYTES];
	struct vg_code_path there;
	size_t bytes = sizeof code;
	unsigned int steps_max = BACK_STEPS_MAX;
	struct vg_row row;
	bool likely_seen = false;    /* a likely beginning led to the address */

	search->from_beginning = true;
	while (bytes > VG_BEFORE_BYTES &&
	       vg_code_reader_read(search->reader, address - bytes, code + sizeof code - bytes, bytes) != 0)
		bytes /= 2;
	for (size_t back = 1; back + VG_BEFORE_BYTES < bytes && found->count < VG_CODE_ROWS_MAX &&
	     search->steps < steps_max; back++) {
		const unsigned char *at = code + sizeof code - back;
		bool is_likely = vg_instruction_is_likely_beginning(at, address - back);

		if (!is_likely && (search->reader->jit != NULL ||
				   !vg_instruction_is_possible_beginning(at, address - back)))
			continue;
		search->jumped = false;
		if (!path_from_beginning(search, address - back, address, BACK_STEPS_EACH, &there)) {
			/* All targets of an indirect jump have the frame that the jump has. */
			if (is_likely && search->jumped && search->reader->jit == NULL &&
			    vg_code_path_row_at_end(&search->at_jump, &row))
				row_add(search, &row, true);
			continue;
		}
		row_add_from_beginning(search, &there);
		if (is_likely && !likely_seen)
			found->stack_replaced = there.stack_replaced;
		likely_seen |= is_likely;
		if (is_likely && found->count > 0 && steps_max > search->steps + BACK_STEPS_MORE)
			steps_max = search->steps + BACK_STEPS_MORE;
	}
	rows_join(search);
}

void vg_code_rows_find(struct vg_code_reader *reader, uint64_t address, enum vg_code_search how,
		       struct vg_code_rows *found)
{
	struct vg_code_path paths[PATHS_MAX];
	uint64_t seen[1 << SEEN_LOG];
	struct search search = {
		.reader = reader, .paths = paths, .found = found, .seen = seen,
		.seen_log = how == VG_CODE_FIRST_RETURN ? SEEN_LOG_SMALL : SEEN_LOG,
	};

	*found = (struct vg_code_rows){ 0 };
	seen_clear(&search);
	if (how == VG_CODE_FROM_BEGINNING)
		rows_from_beginnings(&search, address);
	else
		rows_from_returns(&search, address, how == VG_CODE_FIRST_RETURN ? 1 : VG_CODE_ROWS_MAX);
}

enum vg_code_verdict vg_code_rows_verify(struct vg_code_reader *reader, uint64_t beginning, uint64_t address,
					 const struct vg_row *row)
{
	struct vg_code_path paths[PATHS_MAX], there;
	uint64_t seen[1 << SEEN_LOG_SMALL];
	struct search search = {
		.reader = reader, .paths = paths, .from_beginning = true, .seen = seen, .seen_log = SEEN_LOG_SMALL,
	};
	enum vg_code_verdict verdict;

	seen_clear(&search);
	if (!path_from_beginning(&search, beginning, address, STEPS_MAX, &there))
		return search.incomplete ? VG_CODE_UNDECIDED : VG_CODE_WRONG;
	verdict = vg_code_path_verify(&there, row);
	if (verdict != VG_CODE_WRONG)
		return verdict;
	/* That path may have gone on after a call that does not return.  If the second search is incomplete, the row
	 * counts as wrong: a path that contradicts it is known.  (As undecided, 0.2 % of libc's rows are wrong.) */
	search.wanted = row;
	return path_from_beginning(&search, beginning, address, STEPS_MAX, &there) ? VG_CODE_RIGHT : VG_CODE_WRONG;
}

/* The code that switches stacks in BEAM has 12 instructions. */
enum { STRAIGHT_STEPS_MAX = 16 };

bool vg_code_rows_replaces_stack(struct vg_code_reader *reader, uint64_t address)
{
	struct vg_code_path path;
	const unsigned char *code;
	struct vg_instruction instruction;

	vg_code_path_begin(&path, address);
	for (unsigned int i = 0; i < STRAIGHT_STEPS_MAX && !path.stack_replaced && !path.after_call; i++) {
		size_t bytes = vg_code_reader_get(reader, path.at, VG_INSTRUCTION_MAX_BYTES, &code);

		if (!vg_instruction_read(&instruction, code, bytes) || !vg_code_path_apply(&path, &instruction) ||
		    instruction.flow == VG_FLOW_BRANCH)
			break;
	}
	return path.stack_replaced;
}

/* System V ABI, AMD64 supplement, 3.2.2: the stack pointer is a multiple of 16 where a function is called. */
bool vg_code_rows_is_aligned(uint64_t cfa)
{
	return cfa % 16 == 0;
}

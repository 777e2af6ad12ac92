/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/code_rows.h"

#include <string.h>

#include "vignetted/unwind/code.h"

/* Bounds of one search.  In libx264 (Debian 12) 9 % of the addresses get no row with 512 steps and 32 paths, and
 * less than 1 % with these and VG_CODE_PATHS_MAX.  A step takes about 0.15 us, as long as reading STEP_WORDS words of
 * memory: the bound of words for one sample bounds the steps, too. */
enum { STEPS_MAX = 8192, STEP_WORDS = 8 };

/* The table of visited instructions is cleared for each search, SEEN_PER_WORD entries in the time in which a word of
 * memory is read.  The smaller size, a logarithm, is for searches that mostly need few steps.  A full table costs
 * repeated steps, which are bounded. */
enum { SEEN_LOG_SMALL = 9, SEEN_PER_WORD = 8 };

/* ---- reading code ---- */

enum { PAGE_BYTES = 4096, PIECE_ALIGN = 128 };

/* The piece begins at a multiple of PIECE_ALIGN, so that short jumps backwards stay in it.  The next page may not be
 * mapped: then the piece ends with the page. */
static void piece_read(struct vg_code_reader *reader, uint64_t address)
{
	uint64_t at = address / PIECE_ALIGN * PIECE_ALIGN;
	size_t whole = sizeof reader->piece, page = PAGE_BYTES - at % PAGE_BYTES;
	bool is_jit = reader->jit != NULL;

	reader->piece_at = at;
	reader->piece_bytes = 0;
	if (vg_code_read(reader->memory, at, is_jit, reader->piece, whole) == 0)
		reader->piece_bytes = whole;
	else if (page < whole && vg_code_read(reader->memory, at, is_jit, reader->piece, page) == 0)
		reader->piece_bytes = page;
}

/* The code at the address: up to VG_INSTRUCTION_MAX_BYTES, valid until the next call.  Fewer at the end of a mapping,
 * and 0 if nothing can be read or too few words are left. */
static size_t code_get(struct vg_code_reader *reader, uint64_t address, const unsigned char **bytes)
{
	uint64_t offset = address - reader->piece_at, left;

	if (offset >= reader->piece_bytes || reader->piece_bytes - offset < VG_INSTRUCTION_MAX_BYTES) {
		piece_read(reader, address);
		offset = address - reader->piece_at;
		if (offset > reader->piece_bytes)
			offset = reader->piece_bytes;
	}
	*bytes = reader->piece + offset;
	left = reader->piece_bytes - offset;
	return left < VG_INSTRUCTION_MAX_BYTES ? left : VG_INSTRUCTION_MAX_BYTES;
}

/* ---- paths ---- */

/* The paths of one search. */
struct paths {
	struct vg_code_reader *reader;
	struct vg_code_path *left;   /* not followed yet; VG_CODE_PATHS_MAX at most */
	size_t count;
	unsigned int steps;          /* instructions followed */
	bool incomplete;             /* some paths were not followed to their ends */
	bool tail_calls;             /* paths go on where they jump to a function */
	uint64_t jump_out;           /* JIT code: the first jump target outside its range, or 0 */
	/* Hash table of visited instructions.  A second path to one of them is not followed: from there it leads to the
	 * same return, or to the address with the same stack pointer. */
	uint64_t *seen;              /* 1 << seen_log */
	unsigned int seen_log;
	uint64_t round;              /* entries of other rounds do not count */
	bool by_stack;               /* paths with different stack pointers count as different */
};

/* How a path ends.  DEAD: at an instruction that is not known or was visited, at a trap, after a call that does not
 * return, or at a bound.  RETURN: where the function's caller runs next, or a function that was called in its place.
 * JUMP: at a jump to an address that is not known. */
enum path_end { PATH_GOES_ON, PATH_ARRIVED, PATH_DEAD, PATH_RETURN, PATH_JUMP };

static struct paths paths_make(struct vg_code_space *space, struct vg_code_reader *reader, unsigned int seen_log)
{
	memset(space->seen, 0, sizeof *space->seen << seen_log);
	vg_memory_words_use(reader->memory, (UINT64_C(1) << seen_log) / SEEN_PER_WORD);
	return (struct paths){ .reader = reader, .left = space->paths, .seen = space->seen, .seen_log = seen_log };
}

static void paths_begin(struct paths *paths, uint64_t address)
{
	vg_code_path_begin(&paths->left[0], address);
	paths->count = 1;
}

/* False: the instruction was visited before.  Addresses of code have 47 bits. */
static bool first_visit(struct paths *paths, const struct vg_code_path *path)
{
	uint64_t entry = path->at ^ paths->round << 48, *seen;

	if (paths->by_stack)
		entry ^= (uint64_t)path->values[VG_REGISTER_SP].offset << 40;
	seen = &paths->seen[(entry * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - paths->seen_log)];
	if (*seen == entry)
		return false;
	*seen = entry;
	return true;
}

static void path_push(struct paths *paths, const struct vg_code_path *path, uint64_t to)
{
	paths->incomplete |= paths->count == VG_CODE_PATHS_MAX;
	if (paths->count == VG_CODE_PATHS_MAX)
		return;
	paths->left[paths->count] = *path;
	paths->left[paths->count++].at = to;
}

static void jump_out_note(struct paths *paths, uint64_t to)
{
	const struct vg_code_range *jit = paths->reader->jit;

	if (jit != NULL && paths->jump_out == 0 && (to < jit->start || to >= jit->end))
		paths->jump_out = to;
}

/* Returns of setjmp() and computed gotos also lead to such instructions, whose addresses are rarely multiples of 16. */
enum { FUNCTION_ALIGN = 16 };

/* Follows one instruction. */
static enum path_end path_step(struct paths *paths, struct vg_code_path *path, bool is_first)
{
	const unsigned char *code;
	size_t bytes = code_get(paths->reader, path->at, &code);
	struct vg_instruction instruction;

	if (!vg_memory_words_use(paths->reader->memory, STEP_WORDS) ||
	    !vg_instruction_read(&instruction, code, bytes)) {
		paths->incomplete = true;
		return PATH_DEAD;
	}
	/* The first instruction of another function.  After a jump this is a tail call, with the return address on top
	 * of the stack.  Without a jump, the path went on after a call that does not return. */
	if (!is_first && path->at % FUNCTION_ALIGN == 0 && vg_instruction_begins_function(code, bytes) &&
	    !(path->after_jump && paths->tail_calls)) {
		paths->incomplete = true;
		return path->after_jump ? PATH_RETURN : PATH_DEAD;
	}
	if (vg_code_path_pops_return(path, &instruction))
		return PATH_RETURN;
	if (!vg_code_path_apply(path, &instruction)) {
		bool is_jump = instruction.flow == VG_FLOW_JUMP_MEMORY || instruction.flow == VG_FLOW_JUMP_REGISTER;

		/* A return with words on the stack jumps to an address that the path has pushed. */
		paths->incomplete |= is_jump || (instruction.flow == VG_FLOW_RETURN && vg_code_path_has_frame(path));
		return is_jump ? PATH_JUMP : instruction.flow == VG_FLOW_RETURN ? PATH_RETURN : PATH_DEAD;
	}
	if (instruction.flow == VG_FLOW_BRANCH)
		path_push(paths, path, path->at + (uint64_t)instruction.distance);
	if (instruction.flow == VG_FLOW_JUMP || instruction.flow == VG_FLOW_JUMP_REGISTER)
		jump_out_note(paths, path->at);
	return PATH_GOES_ON;
}

/* Follows a path that began at `beginning` until it ends, or arrives at the address. */
static enum path_end path_follow(struct paths *paths, struct vg_code_path *path, uint64_t beginning, uint64_t address,
				 unsigned int steps_max)
{
	enum path_end end = PATH_GOES_ON;

	while (end == PATH_GOES_ON) {
		if (path->at == address)
			return PATH_ARRIVED;
		if (paths->steps++ >= steps_max || !first_visit(paths, path))
			return PATH_DEAD;
		end = path_step(paths, path, path->at == beginning);
	}
	return end;
}

/* ---- rows ---- */

/* The rows of one search.  Doubtful rows come last: one from an indirect jump may belong to a switch statement and be
 * no tail call. */
struct row_list {
	struct vg_code_rows *found;  /* gets the others at once */
	struct vg_row doubtful[VG_CODE_ROWS_MAX];
	size_t doubtful_count;
};

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

static void row_add(struct row_list *list, const struct vg_row *row, bool doubtful)
{
	if (doubtful)
		row_push(row, list->doubtful, &list->doubtful_count);
	else
		row_push(row, list->found->rows, &list->found->count);
}

static void rows_join(struct row_list *list)
{
	list->found->sure_count = list->found->count;
	for (size_t i = 0; i < list->doubtful_count; i++)
		row_push(&list->doubtful[i], list->found->rows, &list->found->count);
}

/* ---- from the address to a return ---- */

/* No path arrives here. */
static const uint64_t NOWHERE = UINT64_MAX;

static void rows_from_returns(struct paths *paths, uint64_t address, size_t most, struct vg_code_rows *found)
{
	struct row_list list = { .found = found };

	paths_begin(paths, address);
	while (paths->count > 0 && paths->steps < STEPS_MAX && found->count < most) {
		struct vg_code_path path = paths->left[--paths->count];
		enum path_end end = path_follow(paths, &path, address, NOWHERE, STEPS_MAX);
		bool doubtful;
		struct vg_row row;

		if ((end == PATH_RETURN || end == PATH_JUMP) && vg_code_path_row_at_begin(&path, &row, &doubtful))
			row_add(&list, &row, doubtful || end == PATH_JUMP);
	}
	rows_join(&list);
}

/* ---- from the beginning of the function to the address ---- */

/* What a search from one beginning found. */
struct arrival {
	bool arrived;
	struct vg_code_path path;    /* at the address, if a path arrived */
	bool jumped;
	struct vg_code_path at_jump; /* the first path that ended in an indirect jump, with a frame */
};

/* Whether a path leads from the beginning to the address, within `most` steps.  If `wanted` is not NULL, only a path
 * for which this row is right counts. */
static void path_from_beginning(struct paths *paths, uint64_t beginning, uint64_t address, unsigned int most,
				const struct vg_row *wanted, struct arrival *arrival)
{
	unsigned int steps_max = paths->steps + most;

	arrival->arrived = arrival->jumped = false;
	paths->round++;
	paths->by_stack = wanted != NULL;
	paths->incomplete = false;
	paths_begin(paths, beginning);
	while (!arrival->arrived && paths->count > 0 && paths->steps < steps_max) {
		struct vg_code_path *path = &arrival->path;
		enum path_end end;

		*path = paths->left[--paths->count];
		end = path_follow(paths, path, beginning, address, steps_max);
		arrival->arrived = end == PATH_ARRIVED &&
				   (wanted == NULL || vg_code_path_verify(path, wanted) == VG_CODE_RIGHT);
		if (end == PATH_JUMP && !arrival->jumped && vg_code_path_has_frame(path)) {
			arrival->at_jump = *path;
			arrival->jumped = true;
		}
	}
	paths->incomplete |= !arrival->arrived && paths->steps >= steps_max;
}

/* In a function that makes a call, the distance from the stack pointer to the CFA is aligned.  In a leaf function
 * this is no evidence, so the row is only put last. */
static void row_add_from_beginning(struct row_list *list, const struct vg_code_path *there)
{
	struct vg_row row;

	if (vg_code_path_row_at_end(there, &row) && (row.cfa_base != VG_FROM_SP || row.cfa_deref || row.cfa_offset > 0))
		row_add(list, &row, row.cfa_base == VG_FROM_SP && !row.cfa_deref &&
			!vg_code_rows_is_aligned((uint64_t)row.cfa_offset));
}

/* BACK_BYTES are searched for beginnings, with BACK_STEPS_EACH steps from each.  After a row that is not doubtful, from
 * a likely beginning, BACK_STEPS_MORE more are made.  (busybox's ash_main() and awk_main() need 1,024.) */
enum { BACK_BYTES = 16 * 1024, BACK_STEPS_MAX = 16 * 1024, BACK_STEPS_EACH = 1024, BACK_STEPS_MORE = 2048 };

/* Tries every address where a function may begin, the nearest first. */
static void rows_from_beginnings(struct paths *paths, uint64_t address, struct vg_code_rows *found)
{
	struct row_list list = { .found = found };
	unsigned char code[BACK_BYTES];
	size_t bytes = sizeof code;
	unsigned int steps_max = BACK_STEPS_MAX;
	bool likely_seen = false;    /* a likely beginning led to the address */
	bool is_jit = paths->reader->jit != NULL;
	struct arrival arrival;
	struct vg_row row;

	paths->tail_calls = true;
	while (bytes > VG_BEFORE_BYTES &&
	       vg_code_read(paths->reader->memory, address - bytes, is_jit, code + sizeof code - bytes, bytes) != 0)
		bytes /= 2;
	for (size_t back = 1; back + VG_BEFORE_BYTES < bytes && found->count < VG_CODE_ROWS_MAX &&
	     paths->steps < steps_max; back++) {
		const unsigned char *at = code + sizeof code - back;
		bool is_likely = vg_instruction_is_likely_beginning(at, address - back);

		if (!is_likely && (is_jit || !vg_instruction_is_possible_beginning(at, address - back)))
			continue;
		path_from_beginning(paths, address - back, address, BACK_STEPS_EACH, NULL, &arrival);
		if (!arrival.arrived) {
			/* All targets of an indirect jump have the frame that the jump has. */
			if (is_likely && arrival.jumped && !is_jit && vg_code_path_row_at_end(&arrival.at_jump, &row))
				row_add(&list, &row, true);
			continue;
		}
		row_add_from_beginning(&list, &arrival.path);
		if (is_likely && !likely_seen)
			found->stack_replaced = arrival.path.stack_replaced;
		likely_seen |= is_likely;
		if (is_likely && found->count > 0 && steps_max > paths->steps + BACK_STEPS_MORE)
			steps_max = paths->steps + BACK_STEPS_MORE;
	}
	rows_join(&list);
}

void vg_code_rows_find(struct vg_code_space *space, struct vg_code_reader *reader, uint64_t address,
		       enum vg_code_search how, struct vg_code_rows *found)
{
	struct paths paths = paths_make(space, reader,
					how == VG_CODE_FIRST_RETURN ? SEEN_LOG_SMALL : VG_CODE_SEEN_LOG);

	*found = (struct vg_code_rows){ 0 };
	if (how == VG_CODE_FROM_BEGINNING)
		rows_from_beginnings(&paths, address, found);
	else
		rows_from_returns(&paths, address, how == VG_CODE_FIRST_RETURN ? 1 : VG_CODE_ROWS_MAX, found);
	found->jump_out = paths.jump_out;
}

enum vg_code_verdict vg_code_rows_verify(struct vg_code_space *space, struct vg_code_reader *reader,
					 uint64_t beginning, uint64_t address, const struct vg_row *row)
{
	struct paths paths = paths_make(space, reader, SEEN_LOG_SMALL);
	enum vg_code_verdict verdict;
	struct arrival arrival;

	paths.tail_calls = true;
	path_from_beginning(&paths, beginning, address, STEPS_MAX, NULL, &arrival);
	if (!arrival.arrived)
		return paths.incomplete ? VG_CODE_UNDECIDED : VG_CODE_WRONG;
	verdict = vg_code_path_verify(&arrival.path, row);
	if (verdict != VG_CODE_WRONG)
		return verdict;
	/* That path may have gone on after a call that does not return.  If the second search is incomplete, the row
	 * counts as wrong: a path that contradicts it is known.  (As undecided, 0.2 % of libc's rows are wrong.) */
	path_from_beginning(&paths, beginning, address, STEPS_MAX, row, &arrival);
	return arrival.arrived ? VG_CODE_RIGHT : VG_CODE_WRONG;
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
		size_t bytes = code_get(reader, path.at, &code);

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

/* ---- the cache ---- */

/* Whether the JIT code around the set's address is still the code for which the rows were computed. */
static bool is_unchanged(struct vg_code_row_set *set, struct vg_memory *memory, uint64_t period)
{
	unsigned char around[VG_CODE_AROUND_BYTES];

	if (vg_code_read(memory, set->address - sizeof around / 2, true, around, sizeof around) != 0 ||
	    memcmp(around, set->around, sizeof around) != 0)
		return false;
	set->period = period;
	return true;
}

struct vg_code_row_set *vg_code_row_cache_get(struct vg_code_row_cache *cache, struct vg_memory *memory,
					      uint64_t address, enum vg_code_search how,
					      const struct vg_code_range *jit, uint64_t time_ns)
{
	uint64_t hash = (address + how) * UINT64_C(0x9e3779b97f4a7c15), period = time_ns / VG_CODE_PERIOD_NS;
	struct vg_code_row_set *set = &cache->sets[hash >> (64 - VG_CODE_SETS_LOG) << 1];

	for (int place = 0; place < 2; place++) {
		if (set[place].address == address && set[place].how == how && address != 0 &&
		    (jit == NULL || set[place].period == period || is_unchanged(&set[place], memory, period)))
			return &set[place];
	}
	set[1] = set[0];
	*set = (struct vg_code_row_set){ .address = address, .how = how, .period = period };
	/* The rows of JIT code without bytes around it are used once. */
	if (jit != NULL &&
	    vg_code_read(memory, address - sizeof set->around / 2, true, set->around, sizeof set->around) != 0)
		set->address = 0;
	vg_code_rows_find(&cache->space, &(struct vg_code_reader){ .memory = memory, .jit = jit }, address, how,
			  &set->found);
	/* Reading may have stopped early, with the result that rows are missing.  Do not keep this result. */
	if (memory->words_left == 0)
		set->address = 0;
	return set;
}

enum vg_code_verdict vg_code_row_set_verify(struct vg_code_row_cache *cache, struct vg_code_row_set *set,
					    struct vg_memory *memory, size_t row, uint64_t pc, bool pc_is_jit)
{
	uint64_t beginning;

	if (set->verified[row].pc == pc)
		return set->verified[row].verdict;
	/* The verdict depends on the beginning only.  Another return address of the same function keeps it. */
	beginning = vg_code_call_target(memory, pc, pc_is_jit);
	if (beginning == 0)
		set->verified[row].verdict = VG_CODE_UNDECIDED;
	else if (set->verified[row].beginning != beginning)
		set->verified[row].verdict =
			vg_code_rows_verify(&cache->space, &(struct vg_code_reader){ .memory = memory }, beginning,
					    set->address, &set->found.rows[row]);
	/* Reading may have stopped early.  Do not keep this verdict. */
	set->verified[row].pc = memory->words_left > 0 ? pc : 0;
	set->verified[row].beginning = memory->words_left > 0 ? beginning : 0;
	return set->verified[row].verdict;
}

void vg_code_row_cache_clear(struct vg_code_row_cache *cache)
{
	/* Do not write to empty sets: a write would allocate a page.  Most programs have unwind information everywhere
	 * and never use this cache. */
	for (size_t i = 0; i < sizeof cache->sets / sizeof *cache->sets; i++) {
		if (cache->sets[i].address != 0)
			cache->sets[i].address = 0;
	}
}

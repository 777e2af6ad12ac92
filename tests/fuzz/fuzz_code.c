/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Rows from untrusted instructions (code_rows.h).  The sampled process has some pages of code, and no
 * others.  The input has:
 *
 *     8 words of 16 bits      0: where the code begins in its first page.  The pages after the input are not mapped.
 *                             1: low two bits: where in the address space the pages are.  The third bit: whether
 *                                the code is JIT code.  The other bits: the words that the first search through the
 *                                cache may read, or 0 for WORDS_MAX.
 *                             2: the address for which rows are searched
 *                             3: the address where the function begins, for vg_code_rows_verify()
 *                             4: a return address, to which the rows lead
 *                             5: the offset of a byte that changes between reads, or 0
 *                             6: low half: which bits of that byte change; high half: after which of every eight reads
 *                             7: the stack pointer of the caller
 *     the rest                the code
 *
 * Addresses are offsets from the code's beginning.  tests/project/fuzz.sh makes the first inputs.
 */
#include "tests/fuzz/input.h"

#include <string.h>
#include <sys/uio.h>

#include "profile/model.h"
#include "vignetted/unwind/code_rows.h"

enum { PAGE_BYTES = 4096, AREA_BYTES = 18 * PAGE_BYTES, HEAD_WORDS = 8 };
enum { START, SPACE, ADDRESS, BEGINNING, RETURN, CHANGES_AT, CHANGES, SP };

/* The words that are left when a search begins: the limit of the helper for one sample (SAMPLE_WORDS_MAX). */
enum { WORDS_MAX = 1 << 20 };

/* The words that one search may read.  Pages that are read into the cache do not count here: this build has a cache of
 * two pages (VG_MEMORY_PAGES), so it reads them more often.  The longest search follows 8 * 1024 + 512 instructions. */
enum { SEARCH_WORDS_MAX = WORDS_MAX };

/* The byte around the code: an opcode that is not valid.  A zero would begin an instruction, and would make most
 * searches long. */
enum { INVALID = 0x06 };

/* Pages at the beginning, in the middle, and at the end of the address space; and where a jump of 2 GiB leaves it. */
static const uint64_t spaces[] = { 0, UINT64_C(0x7f0000000000), -(uint64_t)AREA_BYTES, UINT64_C(0x7fff0000) };

static unsigned char area[AREA_BYTES];
static uint64_t area_at;
static size_t area_bytes, changes_at;
static uint8_t changes_by, changes_after;
static unsigned int reads;

/* Replaces the system call.  Changes one byte between two reads, as another thread could. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals, const struct iovec *remote,
			 unsigned long remotes, unsigned long flags)
{
	uint64_t at = (uint64_t)remote->iov_base - area_at;

	if (pid != getpid() || locals != 1 || remotes != 1 || flags != 0 || local->iov_len < remote->iov_len)
		abort();
	reads++;
	if (at >= area_bytes || remote->iov_len > area_bytes - at)
		return -1;
	memcpy(local->iov_base, area + at, remote->iov_len);
	if (changes_at != 0 && (changes_after >> reads % 8 & 1) != 0)
		area[changes_at] ^= changes_by;
	return (ssize_t)remote->iov_len;
}

/* ---- the functions that are fuzzed ---- */

/* The range of the code, if it is JIT code, which is read without the cache of pages.  NULL: code of a module. */
static const struct vg_code_range *jit;

static struct vg_code_space space;

static void rows_search(struct vg_memory *memory, uint64_t address, int how, struct vg_code_rows *found)
{
	struct vg_code_reader reader = { .memory = memory, .jit = jit };

	vg_code_rows_find(&space, &reader, address, (enum vg_code_search)how, found);
}

static enum vg_code_verdict row_verify(struct vg_memory *memory, const uint64_t at[HEAD_WORDS],
				       const struct vg_row *row)
{
	struct vg_code_reader reader = { .memory = memory, .jit = jit };

	return vg_code_rows_verify(&space, &reader, at[BEGINNING], at[ADDRESS], row);
}

static struct vg_code_row_set *set_get(struct vg_code_row_cache *cache, struct vg_memory *memory, uint64_t address,
				       int how)
{
	return vg_code_row_cache_get(cache, memory, address, (enum vg_code_search)how, jit, 0);
}

static enum vg_code_verdict set_verify(struct vg_code_row_cache *cache, struct vg_code_row_set *set,
				       struct vg_memory *memory, size_t row, const uint64_t at[HEAD_WORDS])
{
	return vg_code_row_set_verify(cache, set, memory, row, at[RETURN], jit != NULL);
}

/* ---- checks ---- */

static void rows_check(const struct vg_code_rows *found)
{
	if (found->count > VG_CODE_ROWS_MAX || found->sure_count > found->count)
		abort();
	for (size_t i = 0; i < found->count; i++) {
		if (found->rows[i].kind != VG_ROW_PLAIN ||
		    (found->rows[i].cfa_base != VG_FROM_SP && found->rows[i].cfa_base != VG_FROM_FP))
			abort();
	}
}

static bool rows_equal(const struct vg_code_rows *one, const struct vg_code_rows *other)
{
	for (size_t i = 0; i < one->count && one->count == other->count; i++) {
		const struct vg_row *a = &one->rows[i], *b = &other->rows[i];

		if (a->cfa_base != b->cfa_base || a->cfa_offset != b->cfa_offset || a->cfa_deref != b->cfa_deref ||
		    a->fp_base != b->fp_base || a->fp_offset != b->fp_offset || a->ra_base != b->ra_base ||
		    a->ra_offset != b->ra_offset)
			return false;
	}
	return one->count == other->count && one->sure_count == other->sure_count && one->jump_out == other->jump_out &&
	       one->stack_replaced == other->stack_replaced;
}

static struct {
	uint64_t words_left;
	unsigned int reads;
} before; /* when the latest search began */

static void search_begin(struct vg_memory *memory, uint64_t words)
{
	memory->words_left = before.words_left = words;
	before.reads = reads;
}

static void search_end(const struct vg_memory *memory)
{
	uint64_t words = before.words_left - memory->words_left;

	if (memory->words_left > before.words_left ||
	    words > SEARCH_WORDS_MAX + (uint64_t)(reads - before.reads) * (PAGE_BYTES / sizeof(uint64_t)))
		abort();
}

static struct vg_code_row_set *set_check(struct vg_code_row_cache *cache, struct vg_memory *memory, uint64_t address,
					 int how, uint64_t words)
{
	struct vg_code_row_set *set;

	search_begin(memory, words);
	set = set_get(cache, memory, address, how);
	search_end(memory);
	rows_check(&set->found);
	return set;
}

static void verify_check(struct vg_memory *memory, const uint64_t at[HEAD_WORDS], const struct vg_row *row)
{
	search_begin(memory, WORDS_MAX);
	if (row_verify(memory, at, row) > VG_CODE_WRONG)
		abort();
	search_end(memory);
}

static void set_verify_check(struct vg_code_row_cache *cache, struct vg_code_row_set *set, struct vg_memory *memory,
			     size_t row, const uint64_t at[HEAD_WORDS])
{
	enum vg_code_verdict verdict;

	search_begin(memory, WORDS_MAX);
	verdict = set_verify(cache, set, memory, row, at);
	search_end(memory);
	/* The verdict is cached. */
	if (changes_at == 0 && memory->words_left > 0 && verdict != set_verify(cache, set, memory, row, at))
		abort();
}

/* Searches directly and through the cache, which must have the same results.  `words` is what the first search through
 * the cache may read.  If this search stops early, the cache must not keep its result. */
static void search_check(struct vg_code_row_cache *cache, struct vg_memory *memory, const uint64_t at[HEAD_WORDS],
			 int how, uint64_t words)
{
	struct vg_code_reader reader = { .memory = memory, .jit = jit };
	struct vg_code_row_set *set;
	struct vg_code_rows found;
	bool whole;

	search_begin(memory, WORDS_MAX);
	rows_search(memory, at[ADDRESS], how, &found);
	search_end(memory);
	whole = memory->words_left > 0 && changes_at == 0;
	rows_check(&found);
	for (size_t i = 0; i < found.count; i++)
		verify_check(memory, at, &found.rows[i]);
	search_begin(memory, WORDS_MAX);
	vg_code_rows_replaces_stack(&reader, at[ADDRESS]);
	search_end(memory);
	vg_memory_cache_drop(memory);
	set_check(cache, memory, at[ADDRESS], how, words);
	set = set_check(cache, memory, at[ADDRESS], how, WORDS_MAX);
	if (whole && memory->words_left > 0 && !rows_equal(&set->found, &found))
		abort();
	for (size_t i = 0; i < set->found.count; i++)
		set_verify_check(cache, set, memory, i, at);
	if (at[ADDRESS] == 0 || set->address == 0)
		return;
	/* A cached result costs nothing. */
	set_check(cache, memory, at[ADDRESS], how, WORDS_MAX);
	if (memory->words_left != WORDS_MAX)
		abort();
}

/* Puts the code into the area, and sets the addresses of the input's words. */
static void area_fill(const uint16_t head[HEAD_WORDS], const uint8_t *code, size_t size, uint64_t at[HEAD_WORDS])
{
	size_t start = head[START] % PAGE_BYTES;

	memset(area, INVALID, sizeof area);
	memcpy(area + start, code, size);
	area_at = spaces[head[SPACE] % 4];
	area_bytes = (start + size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	changes_at = head[CHANGES_AT] == 0 ? 0 : (start + head[CHANGES_AT]) % AREA_BYTES;
	changes_by = (uint8_t)head[CHANGES];
	changes_after = head[CHANGES] >> 8;
	reads = 0;
	for (size_t i = 0; i < HEAD_WORDS; i++)
		at[i] = area_at + start + head[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct vg_memory memory;
	static struct vg_code_row_cache *cache;
	struct vg_code_range range;
	uint16_t head[HEAD_WORDS];
	uint64_t at[HEAD_WORDS], words;

	if (cache == NULL)
		cache = calloc(1, sizeof *cache);
	if (cache == NULL || (memory.pages == NULL && vg_memory_open(&memory, getpid()) != 0))
		abort();
	if (size < sizeof head || size > AREA_BYTES - PAGE_BYTES)
		return 0;
	memcpy(head, data, sizeof head);
	area_fill(head, data + sizeof head, size - sizeof head, at);
	vg_memory_cache_drop(&memory);
	vg_code_row_cache_clear(cache);
	range = (struct vg_code_range){ .start = area_at, .end = area_at + area_bytes, .module = VG_NONE };
	jit = (head[SPACE] & 4) != 0 ? &range : NULL;
	words = head[SPACE] / 8 == 0 ? WORDS_MAX : head[SPACE] / 8;
	for (int how = 0; how < VG_CODE_SEARCHES; how++)
		search_check(cache, &memory, at, how, words);
	return 0;
}

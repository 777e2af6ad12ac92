/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows that are computed from instructions, for assembly functions whose frames are known. */
#include "tests/unit/suites.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vignetted/unwind/code_rows.h"

#ifdef __x86_64__
static struct vg_memory memory;
static struct vg_code_reader reader;
static struct vg_code_space space;

enum { WORDS = 1 << 20 };

static void setup(void)
{
	ck_assert_int_eq(vg_memory_open(&memory, getpid()), 0);
	memory.words_left = WORDS;
	reader = (struct vg_code_reader){ .memory = &memory };
}

static void teardown(void)
{
	vg_memory_free(&memory);
}

/* Each label is an address whose row is looked up. `asm_returns` has two paths; the first one does not return.
 * `asm_dies` never returns: the code after it is another function. `asm_framed` changes the stack pointer by an unknown
 * number. `asm_go` saves the frame pointer as Go does. `asm_switches` continues on another stack. `asm_saves_sp` and
 * `asm_aligns` align the stack and keep the first stack pointer, as OpenSSL and gcc do. `asm_probes` touches each page
 * of a large frame. */
__asm__(".text\n"
	"asm_returns: push %rbp\n push %rbx\n sub $24, %rsp\n"
	"asm_returns_here: test %edi, %edi\n jz 1f\n call asm_dies\n"
	"1: add $24, %rsp\n pop %rbx\n"
	"asm_returns_late: pop %rbp\n ret\n"
	"asm_dies: push %rbp\n sub $16, %rsp\n call asm_dies\n"
	"asm_dies_here:\n"
	"asm_other: push %rbx\n xor %eax, %eax\n pop %rbx\n ret\n"
	"asm_framed: push %rbp\n mov %rsp, %rbp\n push %rbx\n push %rbx\n sub %rdi, %rsp\n"
	"asm_framed_here: call asm_other\n lea -16(%rbp), %rsp\n pop %rbx\n pop %rbx\n pop %rbp\n ret\n"
	"asm_leaves: push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n"
	"asm_leaves_here: leave\n ret\n"
	"asm_go: sub $40, %rsp\n mov %rbp, 32(%rsp)\n lea 32(%rsp), %rbp\n call asm_other\n"
	"asm_go_here: mov 32(%rsp), %rbp\n add $40, %rsp\n ret\n"
	"asm_tail: push %rbx\n"
	"asm_tail_here: pop %rbx\n jmp asm_other\n"
	".balign 16, 0xcc\n asm_switches: mov (%rdi), %rsp\n call asm_dies\n"
	"asm_switches_here: int3\n"
	".balign 16, 0xcc\n asm_saves_sp: mov %rsp, %rax\n push %rbp\n sub $64, %rsp\n and $-64, %rsp\n"
	"mov %rax, 24(%rsp)\n call asm_other\n"
	"asm_saves_sp_here: mov 24(%rsp), %rsi\n mov -8(%rsi), %rbp\n lea (%rsi), %rsp\n ret\n"
	"asm_aligns: lea 8(%rsp), %r10\n and $-32, %rsp\n push -8(%r10)\n push %rbp\n mov %rsp, %rbp\n push %r10\n"
	"sub $40, %rsp\n call asm_other\n"
	"asm_aligns_here: mov -8(%rbp), %r10\n leave\n lea -8(%r10), %rsp\n ret\n"
	".balign 16, 0xcc\n asm_probes: push %rbx\n lea -40960(%rsp), %r11\n"
	"1: sub $4096, %rsp\n orq $0, (%rsp)\n cmp %r11, %rsp\n jne 1b\n sub $16, %rsp\n call asm_dies\n"
	"asm_probes_here: int3\n");
extern const char asm_returns[], asm_returns_here[], asm_returns_late[], asm_dies[], asm_dies_here[], asm_framed_here[],
	asm_leaves_here[], asm_go[], asm_go_here[], asm_tail_here[], asm_switches[], asm_switches_here[],
	asm_other[], asm_saves_sp[],
	asm_saves_sp_here[], asm_aligns_here[], asm_probes[], asm_probes_here[];

static bool is_row(const struct vg_row *row, enum vg_row_base cfa_base, int32_t cfa_offset, enum vg_row_base fp_base,
		   int32_t fp_offset)
{
	/* The saved frame pointer's offset may be relative to the CFA or to the stack pointer. */
	int32_t fp_saved_at = row->fp_base == VG_FROM_CFA ? row->fp_offset + row->cfa_offset : row->fp_offset;

	return row->kind == VG_ROW_PLAIN && row->cfa_base == cfa_base && row->cfa_offset == cfa_offset &&
	       row->ra_base == VG_FROM_CFA && row->ra_offset == -8 &&
	       (fp_base == VG_FROM_SAME ? row->fp_base == VG_FROM_SAME :
		row->fp_base != VG_FROM_SAME && fp_saved_at == fp_offset);
}

static const struct {
	const char *at;
	enum vg_row_base cfa_base;
	int32_t cfa_offset;
	enum vg_row_base fp_base;    /* VG_FROM_SAME, or the frame pointer is saved at fp_offset from cfa_base */
	int32_t fp_offset;
} return_cases[] = {
	{ asm_returns, VG_FROM_SP, 8, VG_FROM_SAME, 0 },
	{ asm_returns_here, VG_FROM_SP, 48, VG_FROM_SP, 32 },
	{ asm_returns_late, VG_FROM_SP, 16, VG_FROM_SP, 0 },
	{ asm_framed_here, VG_FROM_FP, 16, VG_FROM_FP, 0 },
	{ asm_leaves_here, VG_FROM_FP, 16, VG_FROM_FP, 0 },
	{ asm_go_here, VG_FROM_SP, 48, VG_FROM_SP, 32 },
	{ asm_tail_here, VG_FROM_SP, 16, VG_FROM_SAME, 0 },
};

START_TEST(rows_from_returns)
{
	struct vg_code_rows rows;
	bool found = false;

	vg_code_rows_find(&space, &reader, (uint64_t)return_cases[_i].at, VG_CODE_ALL_RETURNS, &rows);
	for (size_t i = 0; i < rows.count; i++)
		found |= is_row(&rows.rows[i], return_cases[_i].cfa_base, return_cases[_i].cfa_offset,
				return_cases[_i].fp_base, return_cases[_i].fp_offset);
	ck_assert_msg(found, "case %d", _i);
}
END_TEST

/* The CFA is a word on the stack + cfa_addend. */
static const struct {
	const char *at;
	enum vg_row_base cfa_base;
	int32_t cfa_offset;
	uint8_t cfa_addend;
	enum vg_row_base fp_base;
	int32_t fp_offset;
} saved_cases[] = {
	{ asm_saves_sp_here, VG_FROM_SP, 24, 8, VG_FROM_CFA, -16 },
	{ asm_aligns_here, VG_FROM_FP, -8, 0, VG_FROM_FP, 0 },
};

START_TEST(rows_by_a_saved_stack_pointer)
{
	struct vg_code_rows rows;

	vg_code_rows_find(&space, &reader, (uint64_t)saved_cases[_i].at, VG_CODE_FIRST_RETURN, &rows);
	ck_assert_uint_eq(rows.sure_count, 1);
	ck_assert(rows.rows[0].cfa_deref);
	ck_assert_uint_eq(rows.rows[0].cfa_base, saved_cases[_i].cfa_base);
	ck_assert_int_eq(rows.rows[0].cfa_offset, saved_cases[_i].cfa_offset);
	ck_assert_uint_eq(rows.rows[0].cfa_addend, saved_cases[_i].cfa_addend);
	ck_assert_uint_eq(rows.rows[0].fp_base, saved_cases[_i].fp_base);
	ck_assert_int_eq(rows.rows[0].fp_offset, saved_cases[_i].fp_offset);
}
END_TEST

START_TEST(rows_from_function_starts)
{
	struct vg_code_rows rows;

	vg_code_rows_find(&space, &reader, (uint64_t)asm_dies_here, VG_CODE_FROM_BEGINNING, &rows);
	ck_assert_uint_ge(rows.count, 1);
	ck_assert(is_row(&rows.rows[0], VG_FROM_SP, 32, VG_FROM_SP, 16));
	ck_assert(!rows.stack_replaced);
	vg_code_rows_find(&space, &reader, (uint64_t)asm_switches_here, VG_CODE_FROM_BEGINNING, &rows);
	ck_assert(rows.stack_replaced);
	vg_code_rows_find(&space, &reader, (uint64_t)asm_saves_sp_here, VG_CODE_FROM_BEGINNING, &rows);
	ck_assert_uint_ge(rows.count, 1);
	ck_assert(rows.rows[0].cfa_deref);
	ck_assert_int_eq(rows.rows[0].cfa_offset, 24);
	ck_assert_uint_eq(rows.rows[0].cfa_addend, 8);
	vg_code_rows_find(&space, &reader, (uint64_t)asm_probes_here, VG_CODE_FROM_BEGINNING, &rows);
	ck_assert_uint_ge(rows.count, 1);
	ck_assert(is_row(&rows.rows[0], VG_FROM_SP, 16 + 40960 + 16, VG_FROM_SAME, 0));
}
END_TEST

START_TEST(rows_are_verified)
{
	struct vg_row row = { .kind = VG_ROW_PLAIN, .cfa_base = VG_FROM_SP, .cfa_offset = 48, .ra_base = VG_FROM_CFA,
			      .ra_offset = -8 };

	ck_assert_int_eq(vg_code_rows_verify(&space, &reader, (uint64_t)asm_returns, (uint64_t)asm_returns_here, &row),
			 VG_CODE_RIGHT);
	ck_assert_int_eq(vg_code_rows_verify(&space, &reader, (uint64_t)asm_go, (uint64_t)asm_go_here, &row), VG_CODE_RIGHT);
	/* asm_other does not lead to asm_returns_here. */
	ck_assert_int_eq(vg_code_rows_verify(&space, &reader, (uint64_t)asm_other, (uint64_t)asm_returns_here, &row),
			 VG_CODE_WRONG);
	row.cfa_offset = 32;
	ck_assert_int_eq(vg_code_rows_verify(&space, &reader, (uint64_t)asm_returns, (uint64_t)asm_returns_here, &row),
			 VG_CODE_WRONG);
}
END_TEST

/* movabs to, %r11; jmp *%r11; at `to`: pop %rbx; ret */
START_TEST(jump_to_a_constant)
{
	unsigned char code[32] = { 0x49, 0xbb, [10] = 0x41, 0xff, 0xe3, [20] = 0x5b, 0xc3 };
	uint64_t to = (uint64_t)code + 20;
	struct vg_code_rows rows;

	memcpy(code + 2, &to, sizeof to);
	vg_code_rows_find(&space, &reader, (uint64_t)code, VG_CODE_FIRST_RETURN, &rows);
	ck_assert_uint_eq(rows.sure_count, 1);
	ck_assert(is_row(&rows.rows[0], VG_FROM_SP, 16, VG_FROM_SAME, 0));
}
END_TEST

/* JIT code is read again when it may have changed: first its frame has 8 bytes, then 16. */
START_TEST(jit_code_changes)
{
	unsigned char code[64] = { [32] = 0x48, 0x83, 0xc4, 8, 0xc3 };    /* add $8, %rsp; ret */
	uint64_t at = (uint64_t)code + 32;
	struct vg_code_range range = { .start = (uint64_t)code, .end = (uint64_t)code + sizeof code };
	struct vg_code_row_cache *cache = calloc(1, sizeof *cache);
	const struct vg_code_row_set *set;

	set = vg_code_row_cache_get(cache, &memory, at, VG_CODE_FIRST_RETURN, &range, 0);
	ck_assert_int_eq(set->found.rows[0].cfa_offset, 16);
	code[35] = 16;
	set = vg_code_row_cache_get(cache, &memory, at, VG_CODE_FIRST_RETURN, &range, VG_CODE_PERIOD_NS - 1);
	ck_assert_int_eq(set->found.rows[0].cfa_offset, 16);
	set = vg_code_row_cache_get(cache, &memory, at, VG_CODE_FIRST_RETURN, &range, VG_CODE_PERIOD_NS);
	ck_assert_int_eq(set->found.rows[0].cfa_offset, 24);
	free(cache);
}
END_TEST

/* asm_switches switches stacks with its first instruction, asm_go_here never. */
START_TEST(stack_is_replaced)
{
	ck_assert(vg_code_rows_replaces_stack(&reader, (uint64_t)asm_switches));
	ck_assert(!vg_code_rows_replaces_stack(&reader, (uint64_t)asm_go_here));
	ck_assert(!vg_code_rows_replaces_stack(&reader, (uint64_t)asm_framed_here));
}
END_TEST

START_TEST(words_are_bounded)
{
	struct vg_code_rows rows;

	memory.words_left = 0;
	for (enum vg_code_search how = 0; how < VG_CODE_SEARCHES; how++) {
		vg_code_rows_find(&space, &reader, (uint64_t)asm_returns, how, &rows);
		ck_assert_uint_eq(rows.count, 0);
	}
}
END_TEST

/* Code that makes searches long: every path is long or leads nowhere, and a function may begin at every instruction. */
static const struct {
	const char *bytes;
	size_t length;
} costly_cases[] = {
	{ "\x90", 1 },                                                             /* nop */
	{ "\xcc", 1 },                                                             /* int3 */
	{ "\xc3", 1 },                                                             /* ret */
	{ "\x75\x00\x90", 3 },                                                     /* jne to the next instruction */
	{ "\x74\x7f\xeb\x02\xeb\x82", 6 },                                         /* jumps in both directions */
	{ "\xe8\x00\x00\x00\x00\xe9\xf6\xff\xff\xff", 10 },                         /* call; jmp to the call before */
	{ "\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", 15 },     /* the longest nop */
};

enum { COSTLY_BYTES = 1 << 16, LONG_PATH = 256 };

static char *costly_map(const char *bytes, size_t length)
{
	char *code = mmap(NULL, COSTLY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(code, MAP_FAILED);
	for (size_t i = 0; i < COSTLY_BYTES; i++)
		code[i] = bytes[i % length];
	return code;
}

/* A search uses at most half of a sample's words.  (It may not if the code jumps between pages that are not in the
 * cache: reading a page uses 512 words.) */
START_TEST(searches_are_bounded)
{
	const size_t length = costly_cases[_i].length;
	char *code = costly_map(costly_cases[_i].bytes, length);
	uint64_t here = (uint64_t)code + COSTLY_BYTES / 2 / length * length;
	const struct vg_row row = { .kind = VG_ROW_PLAIN };
	struct vg_code_rows rows;

	for (enum vg_code_search how = 0; how < VG_CODE_SEARCHES; how++) {
		memory.words_left = WORDS;
		vg_code_rows_find(&space, &reader, here, how, &rows);
		ck_assert_uint_le(rows.count, VG_CODE_ROWS_MAX);
		ck_assert_uint_gt(memory.words_left, WORDS / 2);
	}
	memory.words_left = WORDS;
	vg_code_rows_verify(&space, &reader, (uint64_t)code, here, &row);
	ck_assert_uint_gt(memory.words_left, WORDS / 2);
	munmap(code, COSTLY_BYTES);
}
END_TEST

/* Words bound the time of a sample.  So a search must use words for each instruction, also if it has read the
 * instruction's bytes before. */
START_TEST(instructions_use_words)
{
	char *code = costly_map("\x90", 1);
	struct vg_code_rows rows;

	code[LONG_PATH] = (char)0xc3;        /* ret */
	vg_code_rows_find(&space, &reader, (uint64_t)code, VG_CODE_FIRST_RETURN, &rows);
	ck_assert_uint_eq(rows.count, 1);
	memory.words_left = LONG_PATH;       /* the page is in the cache */
	vg_code_rows_find(&space, &reader, (uint64_t)code, VG_CODE_FIRST_RETURN, &rows);
	ck_assert_uint_eq(rows.count, 0);
	ck_assert_uint_eq(memory.words_left, 0);
	munmap(code, COSTLY_BYTES);
}
END_TEST
#endif

Suite *code_rows_suite(void)
{
	Suite *suite = suite_create("code_rows");
#ifdef __x86_64__
	TCase *tests = tcase_create("code_rows");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, rows_from_returns, 0, sizeof return_cases / sizeof *return_cases);
	tcase_add_loop_test(tests, rows_by_a_saved_stack_pointer, 0, sizeof saved_cases / sizeof *saved_cases);
	tcase_add_test(tests, rows_from_function_starts);
	tcase_add_test(tests, jump_to_a_constant);
	tcase_add_test(tests, jit_code_changes);
	tcase_add_test(tests, stack_is_replaced);
	tcase_add_test(tests, rows_are_verified);
	tcase_add_test(tests, words_are_bounded);
	tcase_add_loop_test(tests, searches_are_bounded, 0, sizeof costly_cases / sizeof *costly_cases);
	tcase_add_test(tests, instructions_use_words);
	suite_add_tcase(suite, tests);
#endif
	return suite;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Walks of copied stacks that are made here, through code with and without unwind information. */
#include "tests/unit/suites.h"

#include <unistd.h>

#include "vignetted/unwind/unwind.h"

#ifdef __x86_64__
enum { CODE_BYTES = 4096, STACK_AT = 0x10000, FRAMES_MAX = 100 };

static unsigned char code[CODE_BYTES];
static struct vg_memory memory;
static struct vg_modules modules;
static struct vg_unwinder *unwinder;
static struct vg_snapshot snapshot;
static struct vg_walk walk;

static void setup(void)
{
	struct vg_code_range range = { (uint64_t)code, (uint64_t)code + CODE_BYTES, VG_NONE };

	ck_assert_int_eq(vg_memory_open(&memory, getpid()), 0);
	memory.words_left = 1 << 20;
	modules = (struct vg_modules){ .memory = &memory, .generation = 1 };
	ck_assert_int_eq(vg_array_push(&modules.ranges, &range), 0);
	ck_assert_int_eq(vg_unwinder_open(&unwinder, &modules), 0);
	snapshot = (struct vg_snapshot){ .whole = true, .stack_address = STACK_AT };
	ck_assert_int_eq(vg_snapshot_reserve(&snapshot, VG_SNAPSHOT_MAX_BYTES), 0);
	memset(snapshot.stack, 0, VG_SNAPSHOT_MAX_BYTES);
}

static void teardown(void)
{
	vg_walk_free(&walk);
	vg_snapshot_free(&snapshot);
	vg_unwinder_free(unwinder);
	vg_modules_free(&modules);
	vg_memory_free(&memory);
}

/* A thread in `code` whose frame pointer is at the start of the copy.  The caller's is at `caller_fp`. */
static enum vg_walk_end walk_end(uint64_t pc, size_t stack_bytes, uint64_t caller_fp)
{
	const uint64_t frame[] = { caller_fp, (uint64_t)code + 100 };

	snapshot.stack_bytes = stack_bytes;
	memcpy(snapshot.stack, frame, sizeof frame);
	vg_regs_set(&snapshot.regs, pc, STACK_AT, NULL);
	snapshot.regs.raw.rbp = STACK_AT;
	ck_assert_int_eq(vg_unwind(unwinder, &snapshot, FRAMES_MAX, &walk), 0);
	return walk.end;
}

static const size_t copied_bytes[] = { 4096, VG_SNAPSHOT_MAX_BYTES };

/* The next frame is the first one that was not copied, or has one half in the copy. */
START_TEST(copy_ended)
{
	size_t bytes = copied_bytes[_i];

	ck_assert_uint_eq(walk_end((uint64_t)code, bytes, STACK_AT + bytes), VG_WALK_SNAPSHOT);
	ck_assert_uint_eq(walk.count, 2);
	ck_assert_uint_eq(walk_end((uint64_t)code, bytes, STACK_AT + bytes - 8), VG_WALK_SNAPSHOT);
	ck_assert_uint_eq(walk_end((uint64_t)code, bytes, STACK_AT + bytes + 4096), VG_WALK_SNAPSHOT);
}
END_TEST

START_TEST(frame_pointer_led_elsewhere)
{
	size_t bytes = copied_bytes[_i];

	ck_assert_uint_eq(walk_end((uint64_t)code, bytes, STACK_AT + bytes + VG_SNAPSHOT_MAX_BYTES), VG_WALK_NO_INFO);
	ck_assert_uint_eq(walk_end((uint64_t)code, bytes, 8), VG_WALK_NO_INFO);
}
END_TEST

/* A thread that called a null pointer is at no code.  The cache of rows is all zero when it is empty. */
START_TEST(address_0_is_no_code)
{
	ck_assert_uint_eq(walk_end(0, 4096, 0), VG_WALK_NO_INFO);
	ck_assert_uint_eq(walk.count, 1);
	ck_assert_uint_eq(walk.frames[0].address, 0);
	ck_assert_uint_eq(walk.frames[0].module, VG_NONE);
}
END_TEST

/* `asm_calls` ends with a call that does not
 * return: the return address is the first of `asm_next`, whose frame is larger. */
__asm__(".text\n"
	"asm_root: .cfi_startproc\n .cfi_undefined rip\n nop\n nop\n .cfi_endproc\n"
	"asm_calls: .cfi_startproc\n .cfi_def_cfa_offset 24\n call asm_root\n .cfi_endproc\n"
	"asm_next: .cfi_startproc\n .cfi_def_cfa_offset 64\n nop\n .cfi_endproc\n"
	"asm_leaf: .cfi_startproc\n nop\n .cfi_endproc\n"
	"asm_signal: .cfi_startproc\n .cfi_signal_frame\n .cfi_def_cfa_offset 16\n nop\n .cfi_endproc\n");
extern const char asm_root[], asm_calls[], asm_next[], asm_leaf[], asm_signal[];

static void own_modules(void)
{
	ck_assert_int_eq(vg_modules_refresh(&modules), 0);
}

/* A thread at the pc with that stack.  All its walks have three frames, the last one in asm_root. */
static void walk_to_root(const char *pc, const uint64_t *stack, size_t words)
{
	memcpy(snapshot.stack, stack, words * sizeof *stack);
	snapshot.stack_bytes = words * sizeof *stack;
	vg_regs_set(&snapshot.regs, (uint64_t)pc, STACK_AT, NULL);
	ck_assert_int_eq(vg_unwind(unwinder, &snapshot, FRAMES_MAX, &walk), 0);
	ck_assert_uint_eq(walk.end, VG_WALK_ROOT);
	ck_assert_uint_eq(walk.count, 3);
	ck_assert_uint_eq(walk.frames[2].address, (uint64_t)asm_root);
}

START_TEST(return_address_is_after_the_call)
{
	const uint64_t stack[] = { (uint64_t)asm_next, 0, 0, (uint64_t)asm_root + 1 };

	walk_to_root(asm_leaf, stack, sizeof stack / sizeof *stack);
	ck_assert_uint_eq(walk.frames[1].address, (uint64_t)asm_next - 1);
}
END_TEST

START_TEST(interrupted_address_is_exact)
{
	const uint64_t stack[10] = { [1] = (uint64_t)asm_next, [9] = (uint64_t)asm_root + 1 };

	walk_to_root(asm_signal, stack, sizeof stack / sizeof *stack);
	ck_assert_uint_eq(walk.frames[1].address, (uint64_t)asm_next);
}
END_TEST
#endif

Suite *unwind_suite(void)
{
	Suite *suite = suite_create("unwind");
#ifdef __x86_64__
	TCase *tests = tcase_create("unwind");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, copy_ended, 0, sizeof copied_bytes / sizeof *copied_bytes);
	tcase_add_loop_test(tests, frame_pointer_led_elsewhere, 0, sizeof copied_bytes / sizeof *copied_bytes);
	tcase_add_test(tests, address_0_is_no_code);
	suite_add_tcase(suite, tests);
	tests = tcase_create("frame_information");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_checked_fixture(tests, own_modules, NULL);
	tcase_add_test(tests, return_address_is_after_the_call);
	tcase_add_test(tests, interrupted_address_is_exact);
	suite_add_tcase(suite, tests);
#endif
	return suite;
}

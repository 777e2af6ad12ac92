/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Unwinding of stacks that the tests make. Some of the unwound code has unwind information, and some has none. */
#include "tests/unit/suites.h"

#include <unistd.h>

#include "vignetted/unwind/step.h"
#include "vignetted/unwind/unwind.h"

#ifdef __x86_64__
enum { CODE_BYTES = 4096, STACK_AT = 0x10000, FRAMES_MAX = 100 };

/* offsets in `code` */
enum { AFTER_CALL = 100, FUNCTION = 200, SIGRETURN = 300, GOEXIT = 401 };

static unsigned char code[CODE_BYTES];
static struct vg_memory memory;
static struct vg_modules modules;
static struct vg_unwinder *unwinder;
static struct vg_snapshot snapshot;
static struct vg_walk walk;

static void setup(void)
{
	struct vg_code_range range = { .start = (uint64_t)code, .end = (uint64_t)code + CODE_BYTES, .module = VG_NONE };

	ck_assert_int_eq(vg_memory_open(&memory, getpid()), 0);
	memory.words_left = 1 << 20;
	modules = (struct vg_modules){ .memory = &memory, .generation = 1 };
	ck_assert_int_eq(vg_array_push(&modules.ranges.now, &range), 0);
	ck_assert_int_eq(vg_unwinder_open(&unwinder, &modules), 0);
	snapshot = (struct vg_snapshot){ .regs_complete = true, .stack_address = STACK_AT };
	ck_assert_int_eq(vg_snapshot_reserve(&snapshot, VG_SNAPSHOT_MAX_BYTES), 0);
	memset(snapshot.stack, 0, VG_SNAPSHOT_MAX_BYTES);
	code[AFTER_CALL - 5] = 0xe8;
	memcpy(code + SIGRETURN, "\xb8\x0f\0\0\0\x0f\x05", 7);
	memcpy(code + GOEXIT - 1, "\x90\xe8", 2);
}

static void teardown(void)
{
	vg_walk_free(&walk);
	vg_snapshot_free(&snapshot);
	vg_unwinder_free(unwinder);
	vg_modules_free(&modules);
	vg_memory_free(&memory);
}

/* Unwinds a thread at pc. The copy has stack_bytes bytes. The stack pointer and frame pointer are at its start. */
static enum vg_walk_end unwind_with_fp(uint64_t pc, const uint64_t *stack, size_t words, size_t stack_bytes)
{
	snapshot.stack_bytes = stack_bytes;
	memcpy(snapshot.stack, stack, words * sizeof *stack);
	vg_regs_set(&snapshot.regs, pc, STACK_AT, NULL);
	snapshot.regs.raw.rbp = STACK_AT;
	memory.words_left = 1 << 20;
	ck_assert_int_eq(vg_unwind(unwinder, &snapshot, FRAMES_MAX, &walk), 0);
	return walk.end;
}

/* Like unwind_with_fp(), with a stack of one frame, in which the caller's frame pointer is caller_fp. */
static enum vg_walk_end unwind_one_frame(uint64_t pc, size_t stack_bytes, uint64_t caller_fp)
{
	const uint64_t frame[] = { caller_fp, (uint64_t)code + AFTER_CALL };

	return unwind_with_fp(pc, frame, 2, stack_bytes);
}

static const size_t copied_bytes[] = { 4096, VG_SNAPSHOT_MAX_BYTES };

/* The caller's frame is not copied, or only one half of it. */
START_TEST(frame_is_not_copied)
{
	size_t bytes = copied_bytes[_i];

	ck_assert_uint_eq(unwind_one_frame((uint64_t)code, bytes, STACK_AT + bytes), VG_WALK_TRUNCATED);
	ck_assert_uint_eq(walk.count, 2);
	ck_assert_uint_eq(unwind_one_frame((uint64_t)code, bytes, STACK_AT + bytes - 8), VG_WALK_TRUNCATED);
	ck_assert_uint_eq(unwind_one_frame((uint64_t)code, bytes, STACK_AT + bytes + 4096), VG_WALK_TRUNCATED);
}
END_TEST

START_TEST(frame_pointer_out_of_the_stack)
{
	size_t bytes = copied_bytes[_i];

	ck_assert_uint_eq(unwind_one_frame((uint64_t)code, bytes, STACK_AT + bytes + VG_SNAPSHOT_MAX_BYTES),
			  VG_WALK_NO_INFO);
	ck_assert_uint_eq(unwind_one_frame((uint64_t)code, bytes, 8), VG_WALK_NO_INFO);
}
END_TEST

/* A frame pointer may point to any words of the stack. A return address follows a call instruction. */
START_TEST(function_pointer_is_not_a_return_address)
{
	const uint64_t frame[] = { STACK_AT + 64, (uint64_t)code + FUNCTION };

	ck_assert_uint_eq(unwind_with_fp((uint64_t)code, frame, 2, 4096), VG_WALK_NO_INFO);
	ck_assert_uint_eq(walk.count, 1);
}
END_TEST

/* A compiler in the process writes a call instruction that the row cache has not seen. */
START_TEST(code_written_later)
{
	code[AFTER_CALL - 5] = 0;
	ck_assert_uint_eq(unwind_one_frame((uint64_t)code, 4096, 8), VG_WALK_NO_INFO);
	ck_assert_uint_eq(walk.count, 1);
	code[AFTER_CALL - 5] = 0xe8;
	ck_assert_uint_eq(unwind_one_frame((uint64_t)code, 4096, 8), VG_WALK_NO_INFO);
	ck_assert_uint_eq(walk.count, 2);
}
END_TEST

/* JIT code of an interpreter jumps to the functions that it calls, so its return addresses follow no call. They are
 * accepted if the frame pointer leads to another frame. */
START_TEST(return_addresses_of_an_interpreter)
{
	const uint64_t frames[] = { STACK_AT + 32, (uint64_t)code + FUNCTION, 0, 0, 0, (uint64_t)code + AFTER_CALL };

	ck_assert_uint_eq(unwind_with_fp((uint64_t)code, frames, 6, 4096), VG_WALK_ROOT);
	ck_assert_uint_eq(walk.count, 3);
	/* The next frame is above the copy. */
	ck_assert_uint_eq(unwind_with_fp((uint64_t)code, frames, 6, 32), VG_WALK_TRUNCATED);
}
END_TEST

/* Go's goexit() is the root frame of each Go stack. No call instruction precedes its return address. */
START_TEST(root_frame_of_go)
{
	const uint64_t frames[][2] = { { 0, (uint64_t)code + GOEXIT }, { STACK_AT + 64, (uint64_t)code + GOEXIT } };
	const enum vg_walk_end ends[] = { VG_WALK_ROOT, VG_WALK_NO_INFO };

	ck_assert_uint_eq(unwind_with_fp((uint64_t)code, frames[_i], 2, 4096), ends[_i]);
	ck_assert_uint_eq(walk.count, _i == 0 ? 2 : 1);
}
END_TEST

/* A thread that called a null pointer is not in code. Address 0 must not be found in the row cache, whose empty slots
 * are 0. */
START_TEST(address_0)
{
	ck_assert_uint_eq(unwind_one_frame(0, 4096, 0), VG_WALK_NO_INFO);
	ck_assert_uint_eq(walk.count, 1);
	ck_assert_uint_eq(walk.frames[0].address, 0);
	ck_assert_uint_eq(walk.frames[0].module, VG_NONE);
}
END_TEST

/* `asm_calls` ends with a call that does not return. The return address is the start of `asm_next`, whose frame is
 * larger. */
__asm__(".text\n"
	"asm_root: .cfi_startproc\n .cfi_undefined rip\n nop\n nop\n .cfi_endproc\n"
	"asm_calls: .cfi_startproc\n .cfi_def_cfa_offset 24\n call asm_root\n .cfi_endproc\n"
	"asm_next: .cfi_startproc\n .cfi_def_cfa_offset 64\n nop\n .cfi_endproc\n"
	"asm_leaf: .cfi_startproc\n nop\n .cfi_endproc\n"
	"asm_signal: .cfi_startproc\n .cfi_signal_frame\n .cfi_def_cfa_offset 16\n nop\n .cfi_endproc\n"
	/* The kernel saves the interrupted pc in its signal frame. The interrupted stack is above that frame. */
	"asm_kernel: .cfi_startproc\n .cfi_signal_frame\n .cfi_def_cfa_offset 256\n .cfi_offset rip, -88\n nop\n"
	" .cfi_endproc\n"
	"asm_bare: nop\n ud2\n"      /* no unwind information */
	"asm_placed: .cfi_startproc\n nop\n nop\n ret\n .cfi_endproc\n"
	"asm_switches: .cfi_startproc\n mov %rbx, %rsp\n nop\n .cfi_endproc\n"
	/* The CFA is rsp + 8 + 0: breg7 8; lit0; plus. Rows hold no sum, so libunwind goes to the caller. */
	"asm_complex: .cfi_startproc\n .cfi_escape 0x0f,4,0x77,8,0x30,0x22\n nop\n .cfi_endproc\n");
extern const char asm_root[], asm_calls[], asm_next[], asm_leaf[], asm_signal[], asm_kernel[], asm_placed[],
	asm_bare[], asm_switches[], asm_complex[];

static void modules_find(void)
{
	ck_assert_int_eq(vg_modules_refresh(&modules), 0);
	snapshot.moment.time_ns = UINT64_MAX;
}

/* Unwinds a thread at pc with that stack. The walk must have three frames, the last of them in asm_root. */
static void unwind_to_root(const char *pc, const uint64_t *stack, size_t words)
{
	memcpy(snapshot.stack, stack, words * sizeof *stack);
	snapshot.stack_bytes = words * sizeof *stack;
	vg_regs_set(&snapshot.regs, (uint64_t)pc, STACK_AT, NULL);
	ck_assert_int_eq(vg_unwind(unwinder, &snapshot, FRAMES_MAX, &walk), 0);
	ck_assert_uint_eq(walk.end, VG_WALK_ROOT);
	ck_assert_uint_eq(walk.count, 3);
	ck_assert_uint_eq(walk.frames[2].address, (uint64_t)asm_root);
}

START_TEST(return_address_follows_the_call)
{
	const uint64_t stack[] = { (uint64_t)asm_next, 0, 0, (uint64_t)asm_root + 1 };

	unwind_to_root(asm_leaf, stack, sizeof stack / sizeof *stack);
	ck_assert_uint_eq(walk.frames[1].address, (uint64_t)asm_next - 1);
}
END_TEST

/* libunwind stops at asm_root, and rows end the walk. For both, a return address belongs to the call before it. */
START_TEST(return_address_behind_libunwind)
{
	const uint64_t stack[] = { (uint64_t)asm_next, 0, 0, (uint64_t)asm_root + 1 };

	unwind_to_root(asm_complex, stack, sizeof stack / sizeof *stack);
	ck_assert_uint_eq(vg_unwinder_counts(unwinder)->fallbacks, 1);
	ck_assert_uint_eq(walk.frames[0].address, (uint64_t)asm_complex);
	ck_assert_uint_eq(walk.frames[1].address, (uint64_t)asm_next - 1);
}
END_TEST

START_TEST(address_in_a_signal_frame_is_exact)
{
	const uint64_t stack[10] = { [1] = (uint64_t)asm_next, [9] = (uint64_t)asm_root + 1 };

	unwind_to_root(asm_signal, stack, sizeof stack / sizeof *stack);
	ck_assert_uint_eq(walk.frames[1].address, (uint64_t)asm_next);
}
END_TEST

/* Unwinds a thread at pc with that stack. `ended` says that the stack has no more words than these. */
static enum vg_walk_end unwind_without_fp(const char *pc, const uint64_t *stack, size_t words, bool ended)
{
	memcpy(snapshot.stack, stack, words * sizeof *stack);
	snapshot.stack_bytes = words * sizeof *stack;
	snapshot.stack_end_copied = ended;
	vg_regs_set(&snapshot.regs, (uint64_t)pc, STACK_AT, NULL);
	memory.words_left = 1 << 20;
	ck_assert_int_eq(vg_unwind(unwinder, &snapshot, FRAMES_MAX, &walk), 0);
	return walk.end;
}

/* A signal interrupted a thread that had called address 0. The frame at address 0 has no module. The next frame is the
 * caller's. */
START_TEST(call_of_0)
{
	const uint64_t stack[13] = { [1] = 0, [2] = (uint64_t)asm_next, [5] = (uint64_t)asm_root + 1 };

	ck_assert_uint_eq(unwind_without_fp(asm_signal, stack, 13, true), VG_WALK_ROOT);
	ck_assert_uint_eq(walk.count, 4);
	ck_assert_uint_eq(walk.frames[1].address, 0);
	ck_assert_uint_eq(walk.frames[1].module, VG_NONE);
	ck_assert_uint_eq(walk.frames[2].address, (uint64_t)asm_next - 1);
	ck_assert(!walk.range_unknown);
	/* The same call of address 0, without a signal. */
	ck_assert_uint_eq(unwind_without_fp(NULL, stack + 2, 11, true), VG_WALK_ROOT);
	ck_assert_uint_eq(walk.count, 3);
	ck_assert_uint_eq(walk.frames[0].address, 0);
	ck_assert_uint_eq(walk.frames[0].module, VG_NONE);
}
END_TEST

/* The top word of the stack is not a return address, because the thread jumped to address 0. */
START_TEST(jump_to_0)
{
	const uint64_t stack[] = { 0, 0, (uint64_t)asm_leaf, 0, 0 };

	ck_assert_uint_eq(unwind_without_fp(asm_signal, stack, sizeof stack / sizeof *stack, true), VG_WALK_NO_INFO);
	ck_assert_uint_eq(walk.count, 2);
	ck_assert_uint_eq(unwind_without_fp(asm_signal, stack, 2, false), VG_WALK_TRUNCATED);
}
END_TEST

/* A thread called no_code_address. According to the kernel's signal frame, the thread could not fetch an instruction at
 * no_code_address. So there is no code at this address. */
START_TEST(call_out_of_code)
{
	uint64_t stack[40] = { 0 };
	uint64_t no_code_address = STACK_AT + 8;

	ck_assert_uint_eq(vg_regs_signal_frame.pc, 256 - 88);
	stack[vg_regs_signal_frame.pc / 8] = no_code_address;
	stack[vg_regs_signal_frame.trap / 8] = (uint64_t)vg_regs_signal_frame.page_fault;
	stack[vg_regs_signal_frame.fault_address / 8] = no_code_address;
	stack[32] = (uint64_t)asm_next;
	stack[35] = (uint64_t)asm_root + 1;
	ck_assert_uint_eq(unwind_without_fp(asm_kernel, stack, 40, true), VG_WALK_ROOT);
	ck_assert_uint_eq(walk.count, 4);
	ck_assert_uint_eq(walk.frames[1].address, no_code_address);
	ck_assert_uint_eq(walk.frames[1].module, VG_NONE);
	ck_assert_uint_eq(walk.frames[2].address, (uint64_t)asm_next - 1);

	/* The fault was at another address. So no_code_address may be in code that the maps did not show yet. */
	stack[vg_regs_signal_frame.fault_address / 8]++;
	ck_assert_uint_eq(unwind_without_fp(asm_kernel, stack, 40, true), VG_WALK_NO_INFO);
	ck_assert_uint_eq(walk.count, 1);
	ck_assert(walk.range_unknown);
}
END_TEST

/* A return address of 0 marks the root only if no other return address follows. */
START_TEST(return_address_of_0)
{
	const uint64_t stack[1000] = { 0, 0, 0, (uint64_t)asm_leaf };
	const uint64_t with_caller[] = { 0, 0, 0, (uint64_t)asm_next, 0 };

	ck_assert_uint_eq(unwind_without_fp(asm_leaf, stack, 5, true), VG_WALK_ROOT);
	ck_assert_uint_eq(unwind_without_fp(asm_leaf, stack, 5, false), VG_WALK_TRUNCATED);
	ck_assert_uint_eq(unwind_without_fp(asm_leaf, stack, 1000, false), VG_WALK_ROOT);
	ck_assert_uint_eq(unwind_without_fp(asm_leaf, with_caller, 5, true), VG_WALK_NO_INFO);
	ck_assert_uint_eq(walk.count, 1);
}
END_TEST

/* Adds a range of code that has no module and no unwind information to this process's own ranges. */
static void code_insert(void)
{
	const struct vg_code_range range = {
		.start = (uint64_t)code, .end = (uint64_t)code + CODE_BYTES, .module = VG_NONE,
	};
	size_t i = 0;

	while (i < modules.ranges.now.count && modules.ranges.now.items[i].start < range.start)
		i++;
	ck_assert_int_eq(vg_array_push(&modules.ranges.now, &range), 0);
	memmove(&modules.ranges.now.items[i + 1], &modules.ranges.now.items[i],
		(modules.ranges.now.count - 1 - i) * sizeof range);
	modules.ranges.now.items[i] = range;
}

/* A stack also holds pointers to functions of modules. The words around such a pointer may look like a frame. */
START_TEST(function_of_a_module_is_not_a_return_address)
{
	const uint64_t frames[] = { STACK_AT + 32, (uint64_t)asm_placed, 0, 0, 0, (uint64_t)code + AFTER_CALL };

	code_insert();
	ck_assert_uint_eq(unwind_with_fp((uint64_t)code, frames, 6, sizeof frames), VG_WALK_NO_INFO);
	ck_assert_uint_eq(walk.count, 1);
}
END_TEST

/* A frame pointer of 0 marks the root only if no return address follows, because a function may use the register for
 * other values. */
START_TEST(frame_pointer_of_0)
{
	const uint64_t stack[] = { (uint64_t)asm_bare + 1, 0, 0 };
	const uint64_t with_caller[] = { (uint64_t)asm_bare + 1, 0, (uint64_t)asm_next };
	const uint64_t jit[] = { (uint64_t)code + AFTER_CALL, 0, 0 };

	code_insert();
	ck_assert_uint_eq(unwind_without_fp(asm_leaf, stack, 3, true), VG_WALK_ROOT);
	ck_assert_uint_eq(walk.count, 2);
	ck_assert_uint_eq(unwind_without_fp(asm_leaf, with_caller, 3, true), VG_WALK_NO_INFO);
	ck_assert_uint_eq(walk.count, 2);
	/* In JIT code the register is often 0. */
	ck_assert_uint_eq(unwind_without_fp(asm_leaf, jit, 3, true), VG_WALK_NO_INFO);
	ck_assert_uint_eq(walk.count, 2);
}
END_TEST

/* The program prepared the stack so that asm_leaf returns to the start of another function. No call instruction
 * precedes that function. */
START_TEST(return_to_the_start_of_a_function)
{
	const uint64_t stack[] = { (uint64_t)asm_placed, 0, 0 };
	const uint64_t with_caller[] = { (uint64_t)asm_placed, (uint64_t)asm_next, 0 };
	const uint64_t switches[] = { (uint64_t)asm_switches, (uint64_t)asm_next, 0 };

	ck_assert_uint_eq(unwind_without_fp(asm_leaf, stack, 3, true), VG_WALK_ROOT);
	ck_assert_uint_eq(walk.count, 2);
	ck_assert_uint_eq(walk.frames[1].address, (uint64_t)asm_placed);
	ck_assert_uint_eq(unwind_without_fp(asm_leaf, stack, 2, false), VG_WALK_TRUNCATED);
	ck_assert_uint_eq(unwind_without_fp(asm_leaf, switches, 3, true), VG_WALK_ROOT);
	ck_assert_uint_eq(walk.count, 2);
	ck_assert_uint_eq(walk.frames[1].address, (uint64_t)asm_switches);
	/* The function's unwind information leads to a caller. */
	ck_assert_uint_eq(unwind_without_fp(asm_leaf, with_caller, 3, true), VG_WALK_TRUNCATED);
	ck_assert_uint_eq(walk.count, 3);
	ck_assert_uint_eq(walk.frames[2].address, (uint64_t)asm_next - 1);
}
END_TEST

/* In musl and Go, the code that returns from a signal handler has no unwind information. */
START_TEST(signal_frame_without_information)
{
	uint64_t stack[40] = { (uint64_t)code + SIGRETURN };

	stack[1 + vg_regs_signal_frame.sp / 8] = STACK_AT + 30 * 8;
	stack[1 + vg_regs_signal_frame.pc / 8] = (uint64_t)code + 1;
	stack[1 + vg_regs_signal_frame.fp / 8] = STACK_AT + 32 * 8;
	stack[32] = 0;
	stack[33] = (uint64_t)code + AFTER_CALL;
	snapshot.stack_end_copied = true;
	snapshot.stack_bytes = sizeof stack;
	memcpy(snapshot.stack, stack, sizeof stack);
	vg_regs_set(&snapshot.regs, (uint64_t)code + SIGRETURN + 7, STACK_AT + 8, NULL);
	ck_assert_int_eq(vg_unwind(unwinder, &snapshot, FRAMES_MAX, &walk), 0);
	ck_assert_uint_eq(walk.end, VG_WALK_ROOT);
	ck_assert_uint_eq(walk.count, 3);
	ck_assert_uint_eq(walk.frames[0].address, (uint64_t)code + SIGRETURN + 7);
	ck_assert_uint_eq(walk.frames[1].address, (uint64_t)code + 1);
	ck_assert_uint_eq(walk.frames[2].address, (uint64_t)code + AFTER_CALL - 1);
}
END_TEST

/* The handler runs on a stack of its own. The walk says where the interrupted stack is, so that it can be copied,
 * too. */
START_TEST(handler_on_another_stack)
{
	enum { OTHER_AT = 0x9000000 };
	uint64_t stack[40] = { 0 };
	uint64_t other[] = { OTHER_AT + 24, 0, 0, 0, (uint64_t)code + AFTER_CALL };

	stack[vg_regs_signal_frame.sp / 8] = OTHER_AT;
	stack[vg_regs_signal_frame.pc / 8] = (uint64_t)code + 1;
	stack[vg_regs_signal_frame.fp / 8] = OTHER_AT + 24;
	snapshot.stack_bytes = sizeof stack;
	memcpy(snapshot.stack, stack, sizeof stack);
	vg_regs_set(&snapshot.regs, (uint64_t)code + SIGRETURN, STACK_AT, NULL);
	for (int copied = 0; copied < 2; copied++) {
		snapshot.other.address = OTHER_AT;
		snapshot.other.bytes = copied != 0 ? sizeof other : 0;
		snapshot.other.stack = (unsigned char *)other;
		ck_assert_int_eq(vg_unwind(unwinder, &snapshot, FRAMES_MAX, &walk), 0);
		ck_assert_uint_eq(walk.end, copied != 0 ? VG_WALK_ROOT : VG_WALK_NO_INFO);
		ck_assert_uint_eq(walk.count, copied != 0 ? 3 : 2);
		ck_assert_uint_eq(walk.other_sp, OTHER_AT);
	}
	/* The walk needs only a part of each copy. */
	ck_assert_uint_eq(walk.stack_bytes, sizeof other);
	/* The next frame is above the copy. */
	other[3] = OTHER_AT + sizeof other;
	ck_assert_int_eq(vg_unwind(unwinder, &snapshot, FRAMES_MAX, &walk), 0);
	ck_assert_uint_eq(walk.end, VG_WALK_TRUNCATED);
	snapshot.other = (struct vg_snapshot_other){ 0 };

	/* A stack that was not copied cannot be unwound. */
	memset(snapshot.stack + vg_regs_signal_frame.fp, 0, 8);
	snapshot.stack_end_copied = true;
	ck_assert_int_eq(vg_unwind(unwinder, &snapshot, FRAMES_MAX, &walk), 0);
	ck_assert_uint_eq(walk.end, VG_WALK_NO_INFO);
	ck_assert_uint_eq(walk.count, 2);
}
END_TEST

/* One walk can cache VG_ROWS_NEW_MAX rows. Further rows are as good, but are not cached. */
START_TEST(more_new_rows_than_are_cached)
{
	const uint64_t address = (uint64_t)asm_next - 1;
	struct vg_found_row found;
	struct vg_rows rows;

	memory.words_left = UINT64_MAX;
	modules.moment = snapshot.moment;
	ck_assert_int_eq(vg_rows_open(&rows, &modules), 0);
	for (int full = 1; full >= 0; full--) {
		rows.new_count = full != 0 ? VG_ROWS_NEW_MAX : 0;
		rows.decoded = 0;
		for (int again = 0; again < 2; again++) {
			ck_assert(vg_rows_get(&rows, address, &found));
			ck_assert_uint_eq(found.address, address);
			ck_assert_uint_eq(found.row.kind, VG_ROW_PLAIN);
			ck_assert_int_eq(vg_rows_return_kind(&rows, &found), VG_RETURN_AFTER_CALL);
		}
		ck_assert_uint_eq(rows.decoded, full != 0 ? 2 : 1);
	}
	/* A discarded walk leaves nothing in the cache. */
	vg_rows_walk_discard(&rows);
	ck_assert(vg_rows_get(&rows, address, &found));
	ck_assert_uint_eq(rows.decoded, 2);
	vg_rows_free(&rows);
}
END_TEST
#endif

Suite *unwind_suite(void)
{
	Suite *suite = suite_create("unwind");
#ifdef __x86_64__
	TCase *tests = tcase_create("unwind");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, frame_is_not_copied, 0, sizeof copied_bytes / sizeof *copied_bytes);
	tcase_add_loop_test(tests, frame_pointer_out_of_the_stack, 0, sizeof copied_bytes / sizeof *copied_bytes);
	tcase_add_test(tests, function_pointer_is_not_a_return_address);
	tcase_add_test(tests, code_written_later);
	tcase_add_test(tests, return_addresses_of_an_interpreter);
	tcase_add_loop_test(tests, root_frame_of_go, 0, 2);
	tcase_add_test(tests, address_0);
	tcase_add_test(tests, signal_frame_without_information);
	tcase_add_test(tests, handler_on_another_stack);
	suite_add_tcase(suite, tests);
	tests = tcase_create("frame_information");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_checked_fixture(tests, modules_find, NULL);
	tcase_add_test(tests, return_address_follows_the_call);
	tcase_add_test(tests, return_address_behind_libunwind);
	tcase_add_test(tests, address_in_a_signal_frame_is_exact);
	tcase_add_test(tests, call_of_0);
	tcase_add_test(tests, jump_to_0);
	tcase_add_test(tests, call_out_of_code);
	tcase_add_test(tests, return_address_of_0);
	tcase_add_test(tests, frame_pointer_of_0);
	tcase_add_test(tests, function_of_a_module_is_not_a_return_address);
	tcase_add_test(tests, return_to_the_start_of_a_function);
	tcase_add_test(tests, more_new_rows_than_are_cached);
	suite_add_tcase(suite, tests);
#endif
	return suite;
}

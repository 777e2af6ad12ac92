/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Walks of stacks that the tests make, in a process whose modules change. The process is this one. */
#include "tests/unit/suites.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "vignetted/capture/walker.h"

#ifdef __x86_64__
enum { CODE_BYTES = 4096, STACK_AT = 0x10000, NOPS = 200 };

static struct vg_memory memory;
static struct vg_modules modules;
static struct vg_tasks tasks;
static struct vg_priority priority;
static struct vg_walker walker;

static void setup(void)
{
	ck_assert_int_eq(vg_memory_open(&memory, getpid()), 0);
	ck_assert_int_eq(vg_tasks_open(&tasks, getpid()), 0);
	modules = (struct vg_modules){ .memory = &memory };
	ck_assert_int_eq(vg_modules_refresh(&modules), 0);
	walker = (struct vg_walker){
		.modules = &modules, .memory = &memory, .tasks = &tasks, .priority = &priority, .max_frames = 100,
	};
	ck_assert_int_eq(vg_walker_open(&walker), 0);
	ck_assert_int_eq(vg_snapshot_reserve(&walker.snapshot, VG_SNAPSHOT_MAX_BYTES), 0);
}

static void teardown(void)
{
	vg_walker_close(&walker);
	vg_modules_free(&modules);
	vg_tasks_close(&tasks);
	vg_memory_free(&memory);
}

/* `asm_return` is the return address of a call in a function with a frame of 24 bytes. */
__asm__(".text\n"
	"asm_bottom: .cfi_startproc\n .cfi_undefined rip\n nop\n nop\n .cfi_endproc\n"
	"asm_calling: .cfi_startproc\n .cfi_def_cfa_offset 24\n call asm_bottom\nasm_return: nop\n .cfi_endproc\n");
extern const char asm_bottom[], asm_return[];

/* `asm_signal` has rows as the code that a signal handler returns to: the two words at the stack pointer are the
 * caller's stack pointer and its address. */
__asm__("asm_signal: .cfi_startproc\n .cfi_signal_frame\n"
	".cfi_escape 0x0f, 3, 0x77, 0, 0x06\n" /* CFA: the word at rsp */
	".cfi_escape 0x10, 16, 2, 0x77, 8\n" /* rip: saved at rsp + 8 */
	"nop\n nop\n .cfi_endproc\n");
extern const char asm_signal[];

static const uint64_t stack[] = { (uint64_t)asm_return, 0, 0, (uint64_t)asm_bottom + 1 };

/* Begins a sample of a thread at pc with that stack. */
static void sample_begin(uint64_t pc)
{
	struct vg_snapshot *snapshot = &walker.snapshot;

	vg_walker_round(&walker);
	vg_walker_begin(&walker);
	snapshot->moment = (struct vg_moment){ vg_now_ns(), VG_EVIDENCE_MARKS };
	snapshot->regs_complete = true;
	snapshot->stack_address = STACK_AT;
	snapshot->stack_bytes = sizeof stack;
	memcpy(snapshot->stack, stack, sizeof stack);
	vg_regs_set(&snapshot->regs, pc, STACK_AT, NULL);
}

/* The first walk ends at code that was mapped since the maps were read. The second walk, which knows that code, may
 * read as much as the first one. */
START_TEST(walk_after_the_maps_were_read_again)
{
	unsigned char *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
	struct vg_task task = { .tid = getpid(), .copy.bytes = CODE_BYTES };

	ck_assert_ptr_ne(code, MAP_FAILED);
	memset(code, 0x90, NOPS);
	code[NOPS] = 0xc3;           /* ret */
	sample_begin((uint64_t)code);
	memory.words_left = NOPS;    /* as if the first walk had read most of what it may read */
	ck_assert_int_eq(vg_walker_walk(&walker, &task), 0);
	ck_assert_uint_eq(walker.maps_reads, 1);
	ck_assert_str_eq(vg_walk_end_name(walker.walk.end), "complete");
	ck_assert_uint_eq(walker.walk.count, 3);
	munmap(code, CODE_BYTES);
}
END_TEST

/* Copies end where a file is mapped. The file was unmapped since the maps were read, and the stack has its addresses. */
START_TEST(stack_where_a_file_was_mapped)
{
	int file = memfd_create("file", MFD_CLOEXEC);
	unsigned char *low = mmap(NULL, (size_t)2 * CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				  0);
	const uint64_t root = (uint64_t)asm_bottom + 1;
	struct vg_task task = { .tid = getpid(), .copy.bytes = CODE_BYTES };

	ck_assert_int_eq(ftruncate(file, CODE_BYTES), 0);
	ck_assert_ptr_ne(mmap(low + CODE_BYTES, CODE_BYTES, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0), MAP_FAILED);
	ck_assert_int_eq(vg_modules_refresh(&modules), 0);
	ck_assert_ptr_ne(mmap(low + CODE_BYTES, CODE_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), MAP_FAILED);
	memcpy(low + CODE_BYTES, &root, sizeof root);
	sample_begin((uint64_t)asm_return);
	vg_regs_set(&walker.snapshot.regs, (uint64_t)asm_return, (uint64_t)low + CODE_BYTES - 16, NULL);
	for (int rc = -EAGAIN; rc == -EAGAIN; rc = vg_walker_walk(&walker, &task))
		ck_assert_int_eq(vg_snapshot_read_stack(&walker.snapshot, getpid(), CODE_BYTES), 0);
	ck_assert_uint_eq(walker.maps_reads, 1);
	ck_assert_str_eq(vg_walk_end_name(walker.walk.end), "complete");
	ck_assert_uint_eq(walker.walk.count, 2);
	munmap(low, (size_t)2 * CODE_BYTES);
	close(file);
}
END_TEST

/* The kernel maps a page of the main stack when the page is first used.  A function that has not used the lower end of
 * its frame has a stack pointer at an address that is not mapped. */
START_TEST(frame_that_is_not_used_yet)
{
	static const struct {
		size_t unused_bytes; bool main_stack, copied;
	} cases[] = {
		{ 0, false, true }, /* only the red zone is not mapped */
		{ 0, true, true },
		{ 16, true, true },
		{ CODE_BYTES, true, true },
		{ 3 * CODE_BYTES + 48, true, true },
		{ 64 * 1024, true, true },
		{ 16, false, false },
		{ 64 * 1024 + 16, true, false },
		{ VG_SNAPSHOT_MAX_BYTES, true, false },
	};
	const size_t bytes = VG_SNAPSHOT_MAX_BYTES + 3 * CODE_BYTES;
	unsigned char *low = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *used = low + bytes - (size_t)2 * CODE_BYTES;
	struct vg_snapshot *snapshot = &walker.snapshot;

	ck_assert_ptr_ne(low, MAP_FAILED);
	ck_assert_uint_gt(modules.stack_end, (uint64_t)&low);
	ck_assert_int_eq(mprotect(used, CODE_BYTES, PROT_READ | PROT_WRITE), 0);
	memcpy(used, stack, sizeof stack);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t sp = (uint64_t)used - cases[i].unused_bytes, word = 1;

		modules.stack_end = cases[i].main_stack ? (uint64_t)used + CODE_BYTES : 0;
		vg_regs_set(&snapshot->regs, (uint64_t)asm_return, sp, NULL);
		memset(snapshot->stack, 0xff, VG_SNAPSHOT_MAX_BYTES);
		snapshot->other.sp = sp;
		ck_assert_int_eq(vg_snapshot_read_stack(snapshot, getpid(), 128 * 1024), 0);
		vg_snapshot_read_other_stack(snapshot, getpid(), 128 * 1024);
		ck_assert_uint_eq(snapshot->stack_bytes, cases[i].copied ? cases[i].unused_bytes + CODE_BYTES : 0);
		ck_assert_uint_eq(snapshot->other.bytes, snapshot->stack_bytes);
		ck_assert_int_eq(snapshot->stack_end_copied, cases[i].copied);
		ck_assert_int_eq(vg_snapshot_word(snapshot, (uint64_t)used + 24, &word), cases[i].copied ? 0 : -1);
		ck_assert_uint_eq(word, cases[i].copied ? stack[3] : 1);
		if (cases[i].unused_bytes == 0 || !cases[i].copied)
			continue;
		ck_assert_int_eq(vg_snapshot_word(snapshot, sp, &word), 0);
		ck_assert_uint_eq(word, 0);
		ck_assert_int_eq(vg_snapshot_word(snapshot, (uint64_t)used - 8, &word), 0);
		ck_assert_uint_eq(word, 0);
	}
	snapshot->other.sp = 0;
	munmap(low, bytes);
}
END_TEST

/* A signal handler runs on a stack of its own.  Each sample is copied again, once, to get the stack that the signal
 * interrupted. */
START_TEST(second_stack_of_a_handler)
{
	const uint64_t handler_stack[] = { 4 * STACK_AT, (uint64_t)asm_bottom };
	struct vg_task task = { .tid = getpid(), .copy.bytes = CODE_BYTES };

	for (int i = 0; i < 3; i++) {
		sample_begin((uint64_t)asm_signal + 1);
		memcpy(walker.snapshot.stack, handler_stack, sizeof handler_stack);
		walker.snapshot.stack_bytes = sizeof handler_stack;
		walker.snapshot.stack_end_copied = true;
		ck_assert_int_eq(vg_walker_walk(&walker, &task), -EAGAIN);
		ck_assert_uint_eq(task.copy.other_sp, 4 * STACK_AT);
		ck_assert_int_eq(vg_walker_walk(&walker, &task), 0);
		ck_assert_str_eq(vg_walk_end_name(walker.walk.end), "complete");
		ck_assert_uint_eq(walker.walk.count, 2);
	}
}
END_TEST

/* A process chooses how much there is to read. The walk says that it stopped for that reason. */
START_TEST(walk_that_reads_too_much)
{
	struct vg_task task = { .tid = getpid(), .copy.bytes = CODE_BYTES };

	sample_begin((uint64_t)asm_return);
	memory.words_left = 1;
	ck_assert_int_eq(vg_walker_walk(&walker, &task), 0);
	ck_assert_str_eq(vg_walk_end_name(walker.walk.end), "work limit");
}
END_TEST
#endif

Suite *walker_suite(void)
{
	Suite *suite = suite_create("walker");
#ifdef __x86_64__
	TCase *tests = tcase_create("walker");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, walk_after_the_maps_were_read_again);
	tcase_add_test(tests, stack_where_a_file_was_mapped);
	tcase_add_test(tests, frame_that_is_not_used_yet);
	tcase_add_test(tests, second_stack_of_a_handler);
	tcase_add_test(tests, walk_that_reads_too_much);
	suite_add_tcase(suite, tests);
#endif
	return suite;
}

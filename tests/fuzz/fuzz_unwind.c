/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Unwinding with untrusted unwind information, by the helper's rows and by libunwind.  The sampled process is this one.
 * It has one module, in a memory area.  The fuzzer writes the module's .eh_frame_hdr, with a sorted table of two
 * functions.  Without this table, the helper makes an index of .eh_frame.  One byte of the area changes between reads.
 * The input has:
 *
 *     8 words of 16 bits      pc, sp, fp, rbx; the values of the table's two entries; the key of the second
 *                             entry (an odd number: there is no table); the offset of the byte that changes,
 *                             or 0.  If sp is not a multiple of 8, there is another stack, at rbx.
 *     64 words of 16 bits     the stack.  The last word also describes the changes of the byte: its low half says
 *                             which bits change; its high half says after which of every eight reads, one bit each.
 *     the rest                the module, from FRAMES_AT on
 *
 * A word is an offset in the area, so that most words are meaningful addresses.
 */
#include "tests/fuzz/input.h"

#include <string.h>
#include <sys/uio.h>

#include "vignetted/unwind/fallback.h"
#include "vignetted/unwind/unwind.h"

enum { AREA_BYTES = 1 << 16, FRAMES_AT = 64, HEAD_WORDS = 8, STACK_WORDS = 64, OTHER_WORDS = 16, FRAMES_MAX = 1000 };
enum { PC, SP, FP, RBX, FIRST_AT, SECOND_AT, SECOND_CODE, CHANGES_AT };

/* The words that one walk may read (struct vg_memory). The limit is lower than the helper's, so that an input with an
 * endless loop ends soon. The memory cache has only two pages in this build (VG_MEMORY_PAGES), so that memory is read
 * again after the byte has changed. */
enum { WORDS_MAX = 1 << 16 };

/* where the module's code begins, and where code outside all modules begins */
enum { CODE_AT = 0x8000, NO_MODULE_AT = 0xe000 };

static unsigned char *area;
static uint16_t changes_at;
static uint8_t changes_by, changes_after;
static unsigned int reads;

/* Replaces the system call. Changes one byte between two reads, as another thread could. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals, const struct iovec *remote,
			 unsigned long remotes, unsigned long flags)
{
	size_t at = (uintptr_t)remote->iov_base - (uintptr_t)area;

	if (pid != getpid() || locals != 1 || remotes != 1 || flags != 0 || at >= AREA_BYTES ||
	    remote->iov_len > AREA_BYTES - at || local->iov_len < remote->iov_len)
		return -1;
	memcpy(local->iov_base, area + at, remote->iov_len);
	if (changes_at != 0 && (changes_after >> reads++ % 8 & 1) != 0)
		area[changes_at] ^= changes_by;
	return (ssize_t)remote->iov_len;
}

static uint64_t area_address(uint16_t word)
{
	return word == 0 ? 0 : (uint64_t)area + word;
}

static void area_fill(const uint16_t head[HEAD_WORDS], const uint8_t *data, size_t size)
{
	struct {
		uint8_t version, encodings[3];
		int32_t frame;
		uint32_t count;
		int32_t table[2][2];
	} header = {
		1, { 0x1b, 0x03, 0x3b }, FRAMES_AT, 2,
		{ { CODE_AT, head[FIRST_AT] }, { CODE_AT + head[SECOND_CODE], head[SECOND_AT] } },
	};

	if (area == NULL)
		area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		abort();
	if (size > AREA_BYTES - FRAMES_AT)
		size = AREA_BYTES - FRAMES_AT;
	memset(area, 0, AREA_BYTES);
	memcpy(area, &header, sizeof header);
	memcpy(area + FRAMES_AT, data, size);
}

static void modules_make(struct vg_modules *modules, bool has_table)
{
	static struct vg_memory memory;
	struct vg_process_module module = { .name = "module", .loaded = true, .image = {
		.base = (uint64_t)area, .end = (uint64_t)area + AREA_BYTES, .eh_frame_hdr = (uint64_t)area,
		.eh_frame_hdr_bytes = FRAMES_AT,
	} };
	struct vg_code_range code = { .start = (uint64_t)area + CODE_AT, .end = (uint64_t)area + NO_MODULE_AT };
	struct vg_code_range no_module = {
		.start = (uint64_t)area + NO_MODULE_AT, .end = (uint64_t)area + AREA_BYTES, .module = VG_NONE,
	};

	if (memory.pages == NULL && vg_memory_open(&memory, getpid()) != 0)
		abort();
	vg_memory_cache_drop(&memory);
	if (!has_table) {
		module.image.eh_frame_hdr = 0;
		module.image.eh_frame = (uint64_t)area + FRAMES_AT;
		module.image.eh_frame_bytes = AREA_BYTES - FRAMES_AT;
	}
	*modules = (struct vg_modules){ .memory = &memory, .generation = 1 };
	if (vg_array_push(&modules->items, &module) != 0 ||
	    vg_array_push(&modules->ranges.now, &code) != 0 || vg_array_push(&modules->ranges.now, &no_module) != 0)
		abort();
}

static void walk_check(const struct vg_walk *walk)
{
	if (walk->count == 0 || walk->count > FRAMES_MAX || walk->end >= VG_WALK_END_COUNT)
		abort();
	for (uint32_t i = 0; i < walk->count; i++) {
		if (walk->frames[i].module != 0 && walk->frames[i].module != VG_NONE)
			abort();
	}
}

static void unwind_check(struct vg_modules *modules, struct vg_snapshot *snapshot)
{
	struct vg_unwinder *unwinder;
	struct vg_fallback *fallback;
	struct vg_frame_state state;
	bool goes_on;
	struct vg_walk walk = { 0 };

	if (vg_unwinder_open(&unwinder, modules) != 0 || vg_fallback_open(&fallback, modules) != 0)
		abort();
	modules->memory->words_left = WORDS_MAX;
	if (vg_fallback_unwind(fallback, snapshot, FRAMES_MAX, &walk, &state, &goes_on) != 0)
		abort();
	if (walk.count > 0)
		walk_check(&walk);
	modules->memory->words_left = WORDS_MAX;
	if (vg_unwind(unwinder, snapshot, FRAMES_MAX, &walk) != 0)
		abort();
	if (walk.count > 0)
		walk_check(&walk);
	/* like a waiting thread: some of its registers are unknown */
	modules->memory->words_left = WORDS_MAX;
	snapshot->regs_complete = false;
	if (vg_unwind(unwinder, snapshot, FRAMES_MAX, &walk) != 0)
		abort();
	if (walk.end == VG_WALK_NO_REGISTER &&
	    vg_unwind_guess(unwinder, snapshot, true, FRAMES_MAX, &walk) != 0)
		abort();
	vg_walk_free(&walk);
	vg_fallback_free(fallback);
	vg_unwinder_free(unwinder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t head[HEAD_WORDS], words[STACK_WORDS];
	uint64_t stack[STACK_WORDS];
	struct vg_snapshot snapshot = {
		.regs_complete = true, .stack = (unsigned char *)stack, .stack_bytes = sizeof stack,
	};
	struct vg_modules modules;

	if (size < sizeof head + sizeof words)
		return 0;
	memcpy(head, data, sizeof head);
	memcpy(words, data + sizeof head, sizeof words);
	area_fill(head, data + sizeof head + sizeof words, size - sizeof head - sizeof words);
	changes_at = head[CHANGES_AT];
	changes_by = (uint8_t)words[STACK_WORDS - 1];
	changes_after = words[STACK_WORDS - 1] >> 8;
	reads = 0;
	/* The snapshot has its own stack words. The bytes at the stack's address in the area differ. */
	snapshot.stack_address = (uint64_t)area + head[SP] / 8 * 8;
	for (size_t i = 0; i < STACK_WORDS; i++)
		stack[i] = area_address(words[i]);
	/* The last words are the copy of another stack, which a signal interrupted. */
	if (head[SP] % 8 != 0) {
		snapshot.stack_bytes -= OTHER_WORDS * sizeof *stack;
		snapshot.stack_end_copied = head[SP] % 2 != 0;
		snapshot.other.address = (uint64_t)area + head[RBX] / 8 * 8;
		snapshot.other.bytes = OTHER_WORDS * sizeof *stack;
		snapshot.other.ended = head[SP] % 4 > 1;
		snapshot.other.stack = (unsigned char *)(stack + STACK_WORDS - OTHER_WORDS);
	}
	vg_regs_set(&snapshot.regs, area_address(head[PC]), snapshot.stack_address, NULL);
	snapshot.regs.raw.rbp = area_address(head[FP]);
	snapshot.regs.raw.rbx = area_address(head[RBX]);
	modules_make(&modules, head[SECOND_CODE] % 2 == 0);
	unwind_check(&modules, &snapshot);
	vg_modules_free(&modules);
	return 0;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Walks by unwind information that is the input, our own and libunwind's.  The process that is sampled is this one: a
 * module lies in an area of its own, whose sorted table is made here from what the input says of it.  A byte of it
 * changes from read to read.
 *
 *     8 words of 16 bits      pc, sp, fp, rbx; where the table's two entries lead; what the second begins at; which byte
 *                             changes, or 0
 *     64 words of 16 bits     the stack; the last is also which bits of that byte change, and behind which of eight reads
 *     the rest                the module, from FRAMES_AT on
 *
 * A word of 16 bits is a place in the area, so that most are good for something.
 */
#include "tests/fuzz/input.h"

#include <string.h>
#include <sys/uio.h>

#include "vignetted/unwind/fallback.h"
#include "vignetted/unwind/guess.h"
#include "vignetted/unwind/unwind.h"

enum { AREA_BYTES = 1 << 16, FRAMES_AT = 64, HEAD_WORDS = 8, STACK_WORDS = 64, FRAMES_MAX = 1000 };
enum { PC, SP, FP, RBX, FIRST_AT, SECOND_AT, SECOND_CODE, CHANGES_AT };

/* Few, for each is a read that is tried; a loop needs more.  The cache has two pages here: most reads take one in. */
enum { WORDS_MAX = 1 << 16 };

/* Where code begins, and where it is no module's. */
enum { CODE_AT = 0x8000, ELSEWHERE_AT = 0xe000 };

static unsigned char *area;
static uint16_t changes_at;
static uint8_t changes_by, changes_behind;
static unsigned int reads;

/* In the place of the kernel's: what another thread might do goes on between two reads. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals, const struct iovec *remote,
			 unsigned long remotes, unsigned long flags)
{
	size_t at = (uintptr_t)remote->iov_base - (uintptr_t)area;

	if (pid != getpid() || locals != 1 || remotes != 1 || flags != 0 || at >= AREA_BYTES ||
	    remote->iov_len > AREA_BYTES - at || local->iov_len < remote->iov_len)
		return -1;
	memcpy(local->iov_base, area + at, remote->iov_len);
	if (changes_at != 0 && (changes_behind >> reads++ % 8 & 1) != 0)
		area[changes_at] ^= changes_by;
	return (ssize_t)remote->iov_len;
}

static uint64_t place(uint16_t word)
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

static void modules_make(struct vg_modules *modules)
{
	static struct vg_memory memory;
	struct vg_mapped module = { .name = "module", .loaded = true, .image = {
		.base = (uint64_t)area, .end = (uint64_t)area + AREA_BYTES, .eh_frame_hdr = (uint64_t)area,
		.eh_frame_hdr_bytes = FRAMES_AT,
	} };
	struct vg_code_range code = { (uint64_t)area + CODE_AT, (uint64_t)area + ELSEWHERE_AT, 0 };
	struct vg_code_range elsewhere = { (uint64_t)area + ELSEWHERE_AT, (uint64_t)area + AREA_BYTES, VG_NONE };

	if (memory.pages == NULL && vg_memory_open(&memory, getpid()) != 0)
		abort();
	vg_memory_forget(&memory);
	*modules = (struct vg_modules){ .memory = &memory, .generation = 1 };
	if (vg_array_push(&modules->items, &module) != 0 ||
	    vg_array_push(&modules->ranges, &code) != 0 || vg_array_push(&modules->ranges, &elsewhere) != 0)
		abort();
}

static void walk_check(const struct vg_walk *walk)
{
	if (walk->count == 0 || walk->count > FRAMES_MAX || walk->end >= VG_WALK_ENDS)
		abort();
	for (uint32_t i = 0; i < walk->count; i++) {
		if (walk->frames[i].module != 0 && walk->frames[i].module != VG_NONE)
			abort();
	}
}

static void walks(struct vg_modules *modules, struct vg_snapshot *snapshot)
{
	struct vg_unwinder *unwinder;
	struct vg_fallback *fallback;
	struct vg_walk walk = { 0 };

	if (vg_unwinder_open(&unwinder, modules) != 0 || vg_fallback_open(&fallback, modules) != 0)
		abort();
	modules->memory->words_left = WORDS_MAX;
	if (vg_fallback_unwind(fallback, snapshot, FRAMES_MAX, &walk) != 0)
		abort();
	if (walk.count > 0)
		walk_check(&walk);
	modules->memory->words_left = WORDS_MAX;
	if (vg_unwind(unwinder, snapshot, FRAMES_MAX, &walk) != 0)
		abort();
	if (walk.count > 0)
		walk_check(&walk);
	/* As of a thread that waits. */
	modules->memory->words_left = WORDS_MAX;
	snapshot->whole = false;
	if (vg_unwind(unwinder, snapshot, FRAMES_MAX, &walk) != 0)
		abort();
	if (walk.end == VG_WALK_REGISTER &&
	    vg_guess_walk(unwinder, modules, snapshot, true, FRAMES_MAX, &walk) != 0)
		abort();
	vg_walk_free(&walk);
	vg_fallback_free(fallback);
	vg_unwinder_free(unwinder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t head[HEAD_WORDS], words[STACK_WORDS];
	uint64_t stack[STACK_WORDS];
	struct vg_snapshot snapshot = { .whole = true, .stack = (unsigned char *)stack, .stack_bytes = sizeof stack };
	struct vg_modules modules;

	if (size < sizeof head + sizeof words)
		return 0;
	memcpy(head, data, sizeof head);
	memcpy(words, data + sizeof head, sizeof words);
	area_fill(head, data + sizeof head + sizeof words, size - sizeof head - sizeof words);
	changes_at = head[CHANGES_AT];
	changes_by = (uint8_t)words[STACK_WORDS - 1];
	changes_behind = words[STACK_WORDS - 1] >> 8;
	reads = 0;
	/* The stack lies in the area, too, and is copied from elsewhere. */
	snapshot.stack_address = (uint64_t)area + head[SP] / 8 * 8;
	for (size_t i = 0; i < STACK_WORDS; i++)
		stack[i] = place(words[i]);
	vg_regs_set(&snapshot.regs, place(head[PC]), snapshot.stack_address, NULL);
	snapshot.regs.raw.rbp = place(head[FP]);
	snapshot.regs.raw.rbx = place(head[RBX]);
	modules_make(&modules);
	walks(&modules, &snapshot);
	vg_modules_free(&modules);
	return 0;
}

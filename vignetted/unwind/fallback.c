/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/fallback.h"

#include <errno.h>
#include <libunwind.h>
#include <stdlib.h>

#include "vignetted/unwind/cfi.h"

/*
 * libunwind's search of a binary-search table in another address space.  Exported by the
 * library, named in no header; libunwind-ptrace and the kernel's perf are built on it.
 */
#define dwarf_search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table,
				     unw_proc_info_t *info, int need_info, void *argument);

/* Where nothing says what the CFA is, libunwind 1.6.2 looks for an expression at address 0.  A program has memory there
 * only if vm.mmap_min_addr is 0. */
enum { LOWEST_ADDRESS = 4096 };

struct vg_fallback {
	unw_addr_space_t space;
	struct vg_modules *modules;
	const struct vg_snapshot *snapshot; /* of the walk in progress */
	struct vg_cfi_copy copy;     /* of the unwind information that the step goes by */
	bool copied;                 /* copy is set */
	bool searching;              /* libunwind looks for that information */
	bool outran;                 /* the walk asked for stack that was not copied */
	bool unsound;                /* it came to unwind information that libunwind is not to read */
	const struct vg_mapped *module; /* of the frame that it is at, or NULL */
};

/* ---- what libunwind asks for ---- */

/* One entry of the table that .eh_frame_hdr holds, for libunwind to find. */
static void table_describe(const struct vg_image *image, uint64_t entry, unw_dyn_info_t *table)
{
	*table = (unw_dyn_info_t){
		.start_ip = image->base, .end_ip = image->end,
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.u.rti = {
			.segbase = image->eh_frame_hdr, .table_data = entry,
			.table_len = VG_CFI_TABLE_ENTRY_BYTES / sizeof(unw_word_t),
		},
	};
}

static int on_find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
			     int need_info, void *argument)
{
	struct vg_fallback *fallback = argument;
	const struct vg_code_range *range = vg_modules_find(fallback->modules, ip);
	const struct vg_image *image;
	unw_dyn_info_t table;
	uint64_t entry;
	int rc;

	fallback->copied = false;
	if (range == NULL || range->module == UINT32_MAX)
		return -UNW_ENOINFO;
	image = &fallback->modules->items.items[range->module].image;
	entry = vg_cfi_entry(fallback->modules->memory, image, ip);
	if (entry == 0)
		return -UNW_ENOINFO;
	fallback->copied = vg_cfi_copy_sound(fallback->modules->memory, image, entry, &fallback->copy);
	if (!fallback->copied) {
		fallback->unsound = true;
		return -UNW_EINVAL;
	}
	table_describe(image, entry, &table);
	fallback->searching = true;
	rc = dwarf_search_unwind_table(space, ip, &table, info, need_info, argument);
	fallback->searching = false;
	return rc;
}

static void on_put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *argument)
{
	(void)space;
	(void)info;
	(void)argument;
}

static int on_dyn_info_list(unw_addr_space_t space, unw_word_t *address, void *argument)
{
	(void)space;
	(void)address;
	(void)argument;
	return -UNW_ENOINFO;
}

/* Memory that the module covers is the same now as when the thread was stopped, unless it is the
 * module's data: .data and .bss may have changed since, but no walk needs them.  A step reads nothing of
 * other modules than the frame's. */
static bool in_module(const struct vg_fallback *fallback, uint64_t address)
{
	const struct vg_mapped *module = fallback->module;

	return module != NULL && address - module->image.base < module->image.end - module->image.base;
}

/* What the process has there, now or when it was stopped. */
static bool word_read(const struct vg_fallback *fallback, uint64_t address, uint64_t *word)
{
	if (vg_snapshot_word(fallback->snapshot, address, word) == 0)
		return true;
	return in_module(fallback, address) &&
	       vg_memory_read_cached(fallback->modules->memory, address, word, sizeof *word) == 0;
}

/*
 * Unwind information is what was copied and checked, and never read from the process again, which may have changed it.
 * Where libunwind finds it depends on nothing else: what more it reads on the way (a personality routine, where a
 * function's exceptions are described) is nothing that a walk needs, and is 0.
 */
static int on_access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
			 void *argument)
{
	struct vg_fallback *fallback = argument;
	uint64_t word = 0;
	bool known;

	(void)space;
	if (write || address < LOWEST_ADDRESS || !vg_memory_spend(fallback->modules->memory, 1))
		return -UNW_EINVAL;
	known = fallback->searching || word_read(fallback, address, &word);
	if (fallback->copied && vg_cfi_copy_word(&fallback->copy, address, &word))
		known = true;
	if (known) {
		*value = word;
		return 0;
	}
	if (address >= fallback->snapshot->stack_address)
		fallback->outran = true;
	return -UNW_EINVAL;
}

static int on_access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
			 void *argument)
{
	struct vg_fallback *fallback = argument;
	uint64_t word;

	(void)space;
	if (write || vg_regs_unwind(&fallback->snapshot->regs, number, &word) != 0)
		return -UNW_EBADREG;
	*value = word;
	return 0;
}

static int on_access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value,
			   int write, void *argument)
{
	(void)space;
	(void)number;
	(void)value;
	(void)write;
	(void)argument;
	return -UNW_EBADREG;
}

static int on_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *argument)
{
	(void)space;
	(void)cursor;
	(void)argument;
	return -UNW_EINVAL;
}

static int on_get_proc_name(unw_addr_space_t space, unw_word_t address, char *name, size_t length,
			    unw_word_t *offset, void *argument)
{
	(void)space;
	(void)address;
	(void)name;
	(void)length;
	(void)offset;
	(void)argument;
	return -UNW_ENOINFO;
}

static unw_accessors_t accessors = {
	.find_proc_info = on_find_proc_info,
	.put_unwind_info = on_put_unwind_info,
	.get_dyn_info_list_addr = on_dyn_info_list,
	.access_mem = on_access_mem,
	.access_reg = on_access_reg,
	.access_fpreg = on_access_fpreg,
	.resume = on_resume,
	.get_proc_name = on_get_proc_name,
};

/* ---- the walk ---- */

/*
 * Why libunwind went no further.  It returns 0 both where the unwind information says that a
 * frame has no caller (a thread's first function) and where a guess of its own ended, so ask
 * whether there is such information.
 */
static enum vg_walk_end end_reason(struct vg_fallback *fallback, unw_cursor_t *cursor, int step)
{
	unw_proc_info_t info;

	if (fallback->unsound || fallback->modules->memory->words_left == 0)
		return VG_WALK_BAD_CFA;
	if (fallback->outran)
		return VG_WALK_SNAPSHOT;
	if (unw_get_proc_info(cursor, &info) != 0)
		return VG_WALK_NO_INFO;
	return step == 0 ? VG_WALK_ROOT : VG_WALK_BAD_CFA;
}

static int frames_walk(struct vg_fallback *fallback, uint32_t max_frames, struct vg_walk *walk)
{
	struct vg_frame frame = { .found = VG_FOUND_CFI };
	unw_word_t sp, last_sp = 0;
	unw_cursor_t cursor;
	bool exact = true;           /* the address is an instruction, not a return address */
	int rc, step;

	if (unw_init_remote(&cursor, fallback->space, fallback) != 0)
		return -ENOMEM;
	for (;;) {
		const struct vg_code_range *range;
		unw_word_t ip;

		if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || ip == 0)
			break;
		frame.address = ip - (exact ? 0 : 1);
		range = vg_modules_find(fallback->modules, frame.address);
		frame.module = range != NULL ? range->module : VG_NONE;
		fallback->module = frame.module != VG_NONE ?
				   &fallback->modules->items.items[frame.module] : NULL;
		/* Without unwind information libunwind guesses.  What is no code ends the walk,
		 * unless the thread itself is there. */
		walk->left_the_map = range == NULL;
		if (range == NULL) {
			walk->end = VG_WALK_NO_INFO;
			return walk->count == 0 ? vg_walk_push(walk, &frame) : 0;
		}
		rc = vg_walk_push(walk, &frame);
		if (rc != 0)
			return rc;
		frame.found = range->module == VG_NONE ? VG_FOUND_FRAME_POINTER : VG_FOUND_CFI;
		exact = unw_is_signal_frame(&cursor) > 0;
		step = unw_step(&cursor);
		if (step <= 0) {
			walk->end = end_reason(fallback, &cursor, step);
			return 0;
		}
		/* A caller's frame lies above its callee's, except where a signal moved to another
		 * stack. */
		if (unw_get_reg(&cursor, UNW_REG_SP, &sp) != 0 || (sp <= last_sp && !exact)) {
			walk->end = VG_WALK_BAD_CFA;
			return 0;
		}
		last_sp = sp;
		if (walk->count >= max_frames) {
			walk->end = VG_WALK_DEPTH;
			return 0;
		}
	}
	walk->end = walk->count > 0 ? VG_WALK_BAD_CFA : VG_WALK_UNREAD;
	return 0;
}

int vg_fallback_unwind(struct vg_fallback *fallback, const struct vg_snapshot *snapshot,
	      uint32_t max_frames, struct vg_walk *walk)
{
	fallback->snapshot = snapshot;
	fallback->module = NULL;
	fallback->copied = fallback->outran = fallback->unsound = false;
	walk->count = 0;
	walk->end = VG_WALK_UNREAD;
	walk->left_the_map = false;
	return frames_walk(fallback, max_frames, walk);
}

int vg_fallback_open(struct vg_fallback **fallback_out, struct vg_modules *modules)
{
	struct vg_fallback *fallback = calloc(1, sizeof *fallback);

	if (fallback == NULL)
		return -ENOMEM;
	fallback->modules = modules;
	fallback->space = unw_create_addr_space(&accessors, 0);
	if (fallback->space == NULL) {
		free(fallback);
		return -ENOMEM;
	}
	/* Rows that libunwind keeps name expressions by their addresses, where other bytes may be by then. */
	unw_set_caching_policy(fallback->space, UNW_CACHE_NONE);
	*fallback_out = fallback;
	return 0;
}

void vg_fallback_free(struct vg_fallback *fallback)
{
	if (fallback == NULL)
		return;
	unw_destroy_addr_space(fallback->space);
	free(fallback);
}

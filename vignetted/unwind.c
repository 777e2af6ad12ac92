/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind.h"

#include <errno.h>
#include <libunwind.h>
#include <stdlib.h>

/*
 * libunwind's search of a binary-search table in another address space.  Exported by the
 * library, named in no header; libunwind-ptrace and the kernel's perf are built on it.
 */
#define dwarf_search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table,
				     unw_proc_info_t *info, int need_info, void *argument);

struct vg_unwinder {
	unw_addr_space_t space;
	struct vg_modules *modules;
	uint64_t generation;         /* of the modules when libunwind's cache was filled */
	const struct vg_snapshot *snapshot; /* of the walk in progress */
	bool outran;                 /* the walk asked for stack that was not copied */
	uint32_t recent;             /* the module that memory was read from last */
};

/* ---- what libunwind asks for ---- */

enum { EH_PE_OMIT = 0xff, EH_PE_UDATA4 = 0x03, EH_PE_DATAREL_SDATA4 = 0x3b,
       EH_FRAME_PTR_PCREL_SDATA4 = 0x1b };

/*
 * The header of .eh_frame_hdr: version, three encodings, a pointer to .eh_frame, the number of
 * table entries, then the table: pairs of 32-bit offsets from the header, sorted by address.
 * (Linux Standard Base Core, chapter "Exception Frame Header".)  Linkers write no other
 * encodings than these.
 */
static int table_describe(struct vg_memory *memory, const struct vg_image *image,
			  unw_dyn_info_t *table)
{
	struct { uint8_t version, frame_encoding, count_encoding, table_encoding; } head;
	uint64_t at = image->eh_frame_hdr + sizeof head + 4;
	uint32_t entries;

	if (vg_memory_read_cached(memory, image->eh_frame_hdr, &head, sizeof head) != 0 ||
	    head.version != 1 || head.count_encoding != EH_PE_UDATA4 ||
	    head.table_encoding != EH_PE_DATAREL_SDATA4 ||
	    head.frame_encoding != EH_FRAME_PTR_PCREL_SDATA4)
		return -UNW_ENOINFO;
	if (vg_memory_read_cached(memory, at, &entries, sizeof entries) != 0)
		return -UNW_ENOINFO;
	at += sizeof entries;
	if (entries > (image->eh_frame_hdr_bytes - (at - image->eh_frame_hdr)) / 8)
		return -UNW_ENOINFO;
	*table = (unw_dyn_info_t){
		.start_ip = image->base, .end_ip = image->end,
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.u.rti = {
			.segbase = image->eh_frame_hdr,
			.table_data = at,
			.table_len = entries * 8 / sizeof(unw_word_t),
		},
	};
	return 0;
}

static int on_find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
			     int need_info, void *argument)
{
	struct vg_unwinder *unwinder = argument;
	const struct vg_code_range *range = vg_modules_find(unwinder->modules, ip);
	const struct vg_image *image;
	unw_dyn_info_t table;
	int rc;

	if (range == NULL || range->module == UINT32_MAX)
		return -UNW_ENOINFO;
	image = &unwinder->modules->items.items[range->module].image;
	if (image->eh_frame_hdr == 0)
		return -UNW_ENOINFO;
	rc = table_describe(unwinder->modules->memory, image, &table);
	if (rc != 0)
		return rc;
	return dwarf_search_unwind_table(space, ip, &table, info, need_info, argument);
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

static bool module_covers(const struct vg_modules *modules, uint32_t index, uint64_t address)
{
	const struct vg_mapped *module;

	if (index >= modules->items.count)
		return false;
	module = &modules->items.items[index];
	return module->loaded &&
	       address - module->image.base < module->image.end - module->image.base;
}

/* Memory that a loaded module covers is the same now as when the thread was stopped, unless it
 * is the module's data: .data and .bss may have changed since, but no walk needs them. */
static bool in_module(struct vg_unwinder *unwinder, uint64_t address)
{
	if (module_covers(unwinder->modules, unwinder->recent, address))
		return true;
	for (uint32_t i = 0; i < unwinder->modules->items.count; i++) {
		if (module_covers(unwinder->modules, i, address)) {
			unwinder->recent = i;
			return true;
		}
	}
	return false;
}

static int on_access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
			 void *argument)
{
	struct vg_unwinder *unwinder = argument;
	uint64_t word;

	(void)space;
	if (write)
		return -UNW_EINVAL;
	if (vg_snapshot_word(unwinder->snapshot, address, &word) == 0) {
		*value = word;
		return 0;
	}
	if (in_module(unwinder, address) &&
	    vg_memory_read_cached(unwinder->modules->memory, address, &word, sizeof word) == 0) {
		*value = word;
		return 0;
	}
	if (address >= unwinder->snapshot->stack_address)
		unwinder->outran = true;
	return -UNW_EINVAL;
}

static int on_access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
			 void *argument)
{
	struct vg_unwinder *unwinder = argument;
	uint64_t word;

	(void)space;
	if (write || vg_regs_unwind(&unwinder->snapshot->regs, number, &word) != 0)
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

static int walk_push(struct vg_walk *walk, struct vg_frame frame)
{
	if (walk->count == walk->capacity) {
		uint32_t capacity = walk->capacity != 0 ? 2 * walk->capacity : 256;
		struct vg_frame *grown = reallocarray(walk->frames, capacity, sizeof *grown);

		if (grown == NULL)
			return -ENOMEM;
		walk->frames = grown;
		walk->capacity = capacity;
	}
	walk->frames[walk->count++] = frame;
	return 0;
}

/*
 * Why libunwind went no further.  It returns 0 both where the unwind information says that a
 * frame has no caller (a thread's first function) and where a guess of its own ended, so ask
 * whether there is such information.
 */
static enum vg_walk_end end_reason(struct vg_unwinder *unwinder, unw_cursor_t *cursor, int step)
{
	unw_proc_info_t info;

	if (unwinder->outran)
		return VG_WALK_SNAPSHOT;
	if (unw_get_proc_info(cursor, &info) != 0)
		return VG_WALK_NO_INFO;
	return step == 0 ? VG_WALK_ROOT : VG_WALK_BAD_CFA;
}

static int frames_walk(struct vg_unwinder *unwinder, uint32_t max_frames, struct vg_walk *walk)
{
	struct vg_frame frame = { .found = VG_FOUND_CFI };
	unw_word_t sp, last_sp = 0;
	unw_cursor_t cursor;
	bool exact = true;           /* the address is an instruction, not a return address */
	int rc, step;

	if (unw_init_remote(&cursor, unwinder->space, unwinder) != 0)
		return -ENOMEM;
	for (;;) {
		const struct vg_code_range *range;
		unw_word_t ip;

		if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || ip == 0)
			break;
		frame.address = ip - (exact ? 0 : 1);
		range = vg_modules_find(unwinder->modules, frame.address);
		frame.module = range != NULL ? range->module : VG_NONE;
		/* Without unwind information libunwind guesses.  What is no code ends the walk,
		 * unless the thread itself is there. */
		walk->left_the_map = range == NULL;
		if (range == NULL) {
			walk->end = VG_WALK_NO_INFO;
			return walk->count == 0 ? walk_push(walk, frame) : 0;
		}
		rc = walk_push(walk, frame);
		if (rc != 0)
			return rc;
		if (walk->count == 1 && vg_regs_newborn(&unwinder->snapshot->regs)) {
			walk->end = VG_WALK_ROOT;
			return 0;
		}
		frame.found = range->module == VG_NONE ? VG_FOUND_FRAME_POINTER : VG_FOUND_CFI;
		exact = unw_is_signal_frame(&cursor) > 0;
		step = unw_step(&cursor);
		if (step <= 0) {
			walk->end = end_reason(unwinder, &cursor, step);
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

int vg_unwind(struct vg_unwinder *unwinder, const struct vg_snapshot *snapshot,
	      uint32_t max_frames, struct vg_walk *walk)
{
	if (unwinder->generation != unwinder->modules->generation) {
		unw_flush_cache(unwinder->space, 0, 0);
		unwinder->generation = unwinder->modules->generation;
	}
	unwinder->snapshot = snapshot;
	unwinder->outran = false;
	walk->count = 0;
	walk->end = VG_WALK_UNREAD;
	walk->left_the_map = false;
	return frames_walk(unwinder, max_frames, walk);
}

int vg_unwinder_open(struct vg_unwinder **unwinder_out, struct vg_modules *modules)
{
	struct vg_unwinder *unwinder = calloc(1, sizeof *unwinder);

	if (unwinder == NULL)
		return -ENOMEM;
	unwinder->modules = modules;
	unwinder->space = unw_create_addr_space(&accessors, 0);
	if (unwinder->space == NULL) {
		free(unwinder);
		return -ENOMEM;
	}
	unw_set_caching_policy(unwinder->space, UNW_CACHE_GLOBAL);
	*unwinder_out = unwinder;
	return 0;
}

void vg_unwinder_free(struct vg_unwinder *unwinder)
{
	if (unwinder == NULL)
		return;
	unw_destroy_addr_space(unwinder->space);
	free(unwinder);
}

void vg_walk_free(struct vg_walk *walk)
{
	free(walk->frames);
	*walk = (struct vg_walk){ 0 };
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/fallback.h"

#include <errno.h>
#include <libunwind.h>
#include <stdlib.h>

#include "vignetted/unwind/cfi.h"

/* A function of libunwind that searches a sorted table of FDEs in another address space.  The library exports it, but
 * no header declares it.  libunwind-ptrace and the kernel's perf use it too. */
#define dwarf_search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table,
				     unw_proc_info_t *info, int need_info, void *argument);

/* Reads below this address fail.  If nothing defines the CFA, libunwind 1.6.2 looks for an expression at address 0.  A
 * program can have memory at such addresses only if vm.mmap_min_addr is 0. */
enum { LOWEST_ADDRESS = 4096 };

/* We give libunwind a table with one entry, at an address where no program has memory.  The entry has two 32-bit
 * offsets from segbase, which we set to the FDE's address.  The first offset is the beginning of the code: -2 GiB, the
 * lowest possible.  The second offset is the FDE's: 0. */
#define TABLE_ADDRESS UINT64_C(0xfffffffffffff000)
#define TABLE_ENTRY UINT64_C(0x0000000080000000)

struct vg_fallback {
	unw_addr_space_t space;
	struct vg_modules *modules;
	const struct vg_snapshot *snapshot; /* of the current walk */
	struct vg_cfi_copy copy;     /* the unwind information for the current step */
	bool copied;                 /* `copy` is set */
	bool searching;              /* libunwind is searching for the frame's unwind information */
	bool beyond_copy;            /* the walk needed stack that was not copied */
	bool no_unwind_info;         /* no unwind information covers the frame; libunwind then guesses the caller */
	bool unsafe;                 /* the frame's unwind information is unsafe for libunwind */
	const struct vg_process_module *module; /* the current frame's, or NULL */
};

/* ---- libunwind's callbacks ---- */

static int on_find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
			     int need_info, void *argument)
{
	struct vg_fallback *fallback = argument;
	const struct vg_code_range *range = vg_modules_find(fallback->modules, ip);
	struct vg_image *image;
	unw_dyn_info_t table;
	uint64_t fde;
	int rc;

	fallback->copied = false;
	fallback->no_unwind_info = true;
	if (range == NULL || range->module == VG_NONE)
		return -UNW_ENOINFO;
	image = &fallback->modules->items.items[range->module].image;
	fde = vg_cfi_fde(fallback->modules->memory, image, ip);
	if (fde == 0)
		return -UNW_ENOINFO;
	fallback->no_unwind_info = false;
	fallback->copied = vg_cfi_copy_safe(fallback->modules->memory, fde, &fallback->copy);
	if (!fallback->copied) {
		fallback->unsafe = true;
		return -UNW_EINVAL;
	}
	/* The table's entry says that the FDE at segbase covers all code within 2 GiB of segbase. */
	table = (unw_dyn_info_t){
		.start_ip = image->base, .end_ip = image->end, .format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.u.rti = { .segbase = fde, .table_data = TABLE_ADDRESS, .table_len = 1 },
	};
	fallback->searching = true;
	rc = dwarf_search_unwind_table(space, ip, &table, info, need_info, argument);
	fallback->searching = false;
	fallback->no_unwind_info = rc == -UNW_ENOINFO;
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

/* Reads the word at the address from the snapshot or the current frame's module.  A step reads no other module.  The
 * module's memory has not changed since the snapshot, except .data and .bss, which no walk needs. */
static bool word_read(const struct vg_fallback *fallback, uint64_t address, uint64_t *word)
{
	const struct vg_process_module *module = fallback->module;

	return vg_snapshot_word(fallback->snapshot, address, word) == 0 ||
	       (module != NULL && address - module->image.base < module->image.end - module->image.base &&
		vg_memory_read_cached(fallback->modules->memory, address, word, sizeof *word) == 0);
}

/* libunwind gets unwind information from the checked copy only, because the process may change the original.  During
 * its search libunwind also reads a personality routine and exception tables.  A walk does not need these, so libunwind
 * gets 0 for them. */
static int on_access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
			 void *argument)
{
	struct vg_fallback *fallback = argument;
	uint64_t word = 0;
	bool known;

	(void)space;
	if (write || address < LOWEST_ADDRESS || !vg_memory_words_use(fallback->modules->memory, 1))
		return -UNW_EINVAL;
	if (fallback->searching && address == TABLE_ADDRESS) {
		*value = TABLE_ENTRY;
		return 0;
	}
	known = fallback->searching || word_read(fallback, address, &word);
	if (fallback->copied && vg_cfi_copy_word(&fallback->copy, address, &word))
		known = true;
	if (known) {
		*value = word;
		return 0;
	}
	if (address >= fallback->snapshot->stack_address)
		fallback->beyond_copy = true;
	return -UNW_EINVAL;
}

static int on_access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
			 void *argument)
{
	struct vg_fallback *fallback = argument;
	uint64_t word;

	(void)space;
	if (write || vg_regs_by_dwarf_number(&fallback->snapshot->regs, number, &word) != 0)
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

/* A program that never calls unw_resume() need not define `resume` (unw_create_addr_space(3)). */
static unw_accessors_t accessors = {
	.find_proc_info = on_find_proc_info,
	.put_unwind_info = on_put_unwind_info,
	.get_dyn_info_list_addr = on_dyn_info_list,
	.access_mem = on_access_mem,
	.access_reg = on_access_reg,
	.access_fpreg = on_access_fpreg,
	.get_proc_name = on_get_proc_name,
};

/* ---- the walk ---- */

/* Why libunwind stopped at a frame with unwind information. */
static enum vg_walk_end end_reason(const struct vg_fallback *fallback)
{
	if (fallback->modules->memory->words_left == 0)
		return VG_WALK_WORK_LIMIT;
	return !fallback->unsafe && fallback->beyond_copy ? VG_WALK_TRUNCATED : VG_WALK_BAD_INFO;
}

static bool registers_get(unw_cursor_t *cursor, struct vg_frame_state *state)
{
	state->fp_known = unw_get_reg(cursor, (unw_regnum_t)vg_dwarf_fp, &state->fp) == 0;
	return unw_get_reg(cursor, UNW_REG_IP, &state->pc) == 0 && unw_get_reg(cursor, UNW_REG_SP, &state->sp) == 0;
}

int vg_fallback_unwind(struct vg_fallback *fallback, const struct vg_snapshot *snapshot, uint32_t max_frames,
		       struct vg_walk *walk, struct vg_frame_state *state, bool *goes_on)
{
	uint64_t last_sp;
	unw_cursor_t cursor;
	bool is_signal;
	int rc, step;

	fallback->snapshot = snapshot;
	fallback->module = NULL;
	fallback->copied = fallback->beyond_copy = fallback->unsafe = false;
	walk->count = 0;
	walk->end = VG_WALK_UNREADABLE;
	walk->range_unknown = false;
	*state = (struct vg_frame_state){ .found = VG_FOUND_BY_CFI };
	*goes_on = false;
	if (unw_init_remote(&cursor, fallback->space, fallback) != 0)
		return -ENOMEM;
	if (!registers_get(&cursor, state))
		return 0;
	for (;;) {
		const struct vg_code_range *range;
		struct vg_frame frame = { .found = state->found };

		state->is_exact = walk->count == 0 || state->signal_sp != 0;
		frame.address = state->pc - (state->is_exact ? 0 : 1);
		range = vg_modules_find(fallback->modules, frame.address);
		frame.module = range != NULL ? range->module : VG_NONE;
		fallback->module = frame.module != VG_NONE ?
				   &fallback->modules->items.items[frame.module] : NULL;
		rc = vg_walk_push(walk, &frame);
		if (rc != 0)
			return rc;
		is_signal = unw_is_signal_frame(&cursor) > 0;
		fallback->no_unwind_info = false;
		/* An unloaded module cannot be read; at most its cached rows are left. */
		step = range != NULL && (fallback->module == NULL || fallback->module->loaded) ? unw_step(&cursor) : 0;
		*goes_on = fallback->no_unwind_info || step == 0;
		if (*goes_on)
			return 0;
		last_sp = state->sp;
		state->signal_sp = is_signal ? last_sp : 0;
		/* A caller's frame is above its callee's, except where a signal handler has its own stack. */
		if (step < 0 || !registers_get(&cursor, state) || (state->sp <= last_sp && !is_signal)) {
			walk->end = step < 0 ? end_reason(fallback) : VG_WALK_BAD_INFO;
			return 0;
		}
		if (walk->count >= max_frames) {
			walk->end = VG_WALK_FRAME_LIMIT;
			return 0;
		}
	}
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
	/* libunwind's cache identifies expressions by address only.  At the next walk, other bytes may be at that
	 * address. */
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

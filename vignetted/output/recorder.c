/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/output/recorder.h"

#include <errno.h>

/* A stack takes 56 bytes, and up to twice as much just after the table has doubled.  With one stack per BYTES_PER_STACK
 * of the helper's memory, the table takes at most a quarter of that memory. */
enum { STACKS_MAX = 1 << 20, BYTES_PER_STACK = 512 };

static const char *const loss_names[VG_LOSSES] = {
	[VG_LOSS_TICK_SKIPPED] = "ticks_skipped",
	[VG_LOSS_NOT_STOPPED] = "not_stopped",
	[VG_LOSS_FORBIDDEN] = "forbidden",
	[VG_LOSS_UNREADABLE] = "unreadable",
	[VG_LOSS_NO_MEMORY] = "no_memory",
	[VG_LOSS_RING_FULL] = "ring_full",
	[VG_LOSS_ROUND_TIMEOUT] = "round_timeout",
	[VG_LOSS_UNMATCHED] = "unmatched",
	[VG_LOSS_THREAD_LIMIT] = "thread_limit",
};

int vg_losses_write(struct vg_writer *writer, const struct vg_losses *losses, const struct vg_losses *before)
{
	static const struct vg_losses none;
	const struct vg_losses *from = before != NULL ? before : &none;
	struct vg_named_value lost[VG_LOSSES + 1];
	size_t kinds = 0;

	for (int i = 0; i < VG_LOSSES; i++) {
		if (losses->samples[i] != from->samples[i])
			lost[kinds++] = (struct vg_named_value){ loss_names[i], losses->samples[i] - from->samples[i] };
	}
	if (losses->events != from->events)
		lost[kinds++] = (struct vg_named_value){ "events_dropped", losses->events - from->events };
	return vg_writer_counts(writer, VG_RECORD_LOST, lost, kinds);
}

void vg_recorder_open(struct vg_recorder *recorder, int fd, uint64_t limit_bytes, uint64_t memory_bytes,
		      struct vg_modules *modules)
{
	uint64_t stacks = memory_bytes / BYTES_PER_STACK;

	memset(recorder, 0, sizeof *recorder);
	vg_writer_open(&recorder->writer, fd, limit_bytes);
	recorder->modules = modules;
	recorder->stacks_max = stacks < STACKS_MAX ? (uint32_t)stacks : STACKS_MAX;
	recorder->first_stack = VG_STACK_ROOTS;
}

void vg_recorder_free(struct vg_recorder *recorder)
{
	vg_writer_close(&recorder->writer);
	vg_intern_free(&recorder->stacks);
	vg_intern_free(&recorder->stacks_before);
	vg_array_free(&recorder->reported_modules);
	vg_array_free(&recorder->reported_kernel_modules);
	vg_array_free(&recorder->reported_kernel_symbols);
}

/* Notes that this number is reported.  Returns 1 if it was not reported before, 0 if it was, or -ENOMEM. */
static int reported_add(struct vg_reported *reported, uint32_t number)
{
	if (vg_array_extend(reported, number + (size_t)1) != 0)
		return -ENOMEM;
	if (reported->items[number])
		return 0;
	reported->items[number] = true;
	return 1;
}

/* The id of a module in the profile is its index in vg_modules. */
static int module_write(struct vg_recorder *recorder, uint32_t index, struct vg_reported_module *reported)
{
	struct vg_process_module *mapped = &recorder->modules->items.items[index];
	struct vg_module module = {
		.id = index, .load_ns = reported->load_ns, .base = mapped->image.base,
		.size_bytes = mapped->image.end - mapped->image.base,
		.build_id_bytes = mapped->image.build_id_bytes,
	};

	reported->restarts = recorder->restarts;
	memcpy(module.build_id, mapped->image.build_id, module.build_id_bytes);
	return vg_writer_module(&recorder->writer, &module, mapped->name);
}

/* Writes a module that a stack names, if it is new, was loaded again, or was written before the latest restart. */
static int module_report(struct vg_recorder *recorder, uint32_t index, uint64_t time_ns)
{
	struct vg_reported_module *reported;
	int rc;

	if (vg_array_extend(&recorder->reported_modules, index + (size_t)1) != 0)
		return -ENOMEM;
	reported = &recorder->reported_modules.items[index];
	if (!reported->is_reported || (reported->is_unloaded && recorder->modules->items.items[index].loaded))
		*reported = (struct vg_reported_module){ .is_reported = true, .load_ns = time_ns };
	else if (reported->restarts == recorder->restarts)
		return 0;
	rc = module_write(recorder, index, reported);
	return rc != 0 || !reported->is_unloaded ? rc :
	       vg_writer_module_unload(&recorder->writer, index, reported->unload_ns);
}

/* Sets the module of a kernel frame, whose address is the number of a kernel symbol.  If module or symbol are new,
 * writes them.  The module's id is higher than those of the process's modules. */
static int kernel_report(struct vg_recorder *recorder, struct vg_stack_key *key, uint64_t time_ns)
{
	uint32_t number = (uint32_t)key->address;
	struct vg_kernel_function function = vg_kernel_symbols_function(recorder->kernel, number);
	struct vg_module module = { .id = recorder->modules->max + function.module, .load_ns = time_ns };
	int rc = reported_add(&recorder->reported_kernel_modules, function.module);

	key->module = module.id;
	if (rc > 0)
		rc = vg_writer_module(&recorder->writer, &module, function.module_name);
	if (rc >= 0)
		rc = reported_add(&recorder->reported_kernel_symbols, number);
	return rc <= 0 ? rc : vg_writer_kernel_symbol(&recorder->writer, module.id, number, function.name);
}

/* The ids of a flight recorder's stacks begin again.  The window does not reach back so far. */
static void stacks_restart(struct vg_recorder *recorder)
{
	vg_intern_free(&recorder->stacks_before);
	recorder->stacks_before = recorder->stacks;
	recorder->first_before = recorder->first_stack;
	recorder->stacks = (struct vg_intern){ 0 };
	recorder->first_stack += recorder->stacks_before.count;
	if (recorder->writer.take != NULL && recorder->first_stack > UINT32_MAX / 2)
		recorder->first_stack = VG_STACK_ROOTS;
	recorder->stacks_generation++;
}

void vg_recorder_restart(struct vg_recorder *recorder)
{
	stacks_restart(recorder);
	recorder->restarts++;
	recorder->reported_kernel_modules.count = recorder->reported_kernel_symbols.count = 0;
}

void vg_recorder_restart_end(struct vg_recorder *recorder)
{
	vg_intern_free(&recorder->stacks_before);
}

static int node_get(struct vg_recorder *recorder, const struct vg_stack_key *key, uint32_t *id)
{
	uint32_t index;
	int rc = vg_intern(&recorder->stacks, key, sizeof *key, &index);

	/* Stacks that are already written stay valid.  If they occur again, they are written with new ids. */
	if (rc == -ENOMEM && recorder->stacks.count > 0) {
		stacks_restart(recorder);
		vg_recorder_restart_end(recorder);
		rc = vg_intern(&recorder->stacks, key, sizeof *key, &index);
	}
	if (rc < 0)
		return rc;
	*id = recorder->first_stack + index;
	if (rc == 0)
		return 0;
	return vg_writer_stack(&recorder->writer, *id, key->parent, key->module, key->address,
			       key->found);
}

/* Writes a frame, if it is new, after what it names.  Sets *id to the stack that it ends. */
static int frame_write(struct vg_recorder *recorder, struct vg_stack_key *key, uint64_t time_ns, uint32_t *id)
{
	int rc = 0;

	if (key->found == VG_FOUND_IN_KERNEL)
		rc = kernel_report(recorder, key, time_ns);
	else if (key->module != VG_NONE)
		rc = module_report(recorder, key->module, time_ns);
	return rc != 0 ? rc : node_get(recorder, key, id);
}

int vg_recorder_stack(struct vg_recorder *recorder, const struct vg_walk *walk, int64_t call,
		      uint64_t time_ns, uint32_t *stack)
{
	uint32_t parent = walk->end;

	if (recorder->stacks.count >= recorder->stacks_max) {
		stacks_restart(recorder);
		vg_recorder_restart_end(recorder);
	}
	for (uint32_t i = walk->count; i-- > 0;) {
		const struct vg_frame *frame = &walk->frames[i];
		struct vg_stack_key key = { .address = frame->address, .parent = parent,
					 .module = frame->module, .found = frame->found };
		int rc;

		if (key.found != VG_FOUND_IN_KERNEL && key.module != VG_NONE)
			key.address -= recorder->modules->items.items[key.module].image.base;
		rc = frame_write(recorder, &key, time_ns, &parent);
		if (rc != 0)
			return rc;
	}
	*stack = parent;
	if (call >= 0) {
		struct vg_stack_key key = { .address = (uint64_t)call, .parent = parent,
					 .module = VG_NONE, .found = VG_FOUND_BY_SYSTEM_CALL };

		return node_get(recorder, &key, stack);
	}
	return 0;
}

int vg_recorder_stack_again(struct vg_recorder *recorder, uint64_t time_ns, uint32_t *stack)
{
	VG_ARRAY(struct vg_stack_key) frames = { 0 };
	uint32_t parent = *stack;
	int rc = 0;

	while (rc == 0 && parent >= VG_STACK_ROOTS) {
		uint32_t index = parent - recorder->first_before;
		struct vg_stack_key key;

		if (index >= recorder->stacks_before.count) {
			rc = -ENOENT;
			break;
		}
		memcpy(&key, vg_intern_bytes(&recorder->stacks_before, index, NULL), sizeof key);
		rc = vg_array_push(&frames, &key);
		parent = key.parent;
	}
	while (rc == 0 && frames.count > 0) {
		struct vg_stack_key key = frames.items[--frames.count];

		key.parent = parent;
		rc = frame_write(recorder, &key, time_ns, &parent);
	}
	vg_array_free(&frames);
	if (rc == 0)
		*stack = parent;
	return rc;
}

int vg_recorder_unloads_write(struct vg_recorder *recorder, uint64_t time_ns)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < recorder->reported_modules.count; i++) {
		struct vg_reported_module *reported = &recorder->reported_modules.items[i];

		if (recorder->modules->items.items[i].loaded || !reported->is_reported || reported->is_unloaded)
			continue;
		/* If the module is loaded again, it is written again with the same id. */
		reported->is_unloaded = true;
		reported->unload_ns = time_ns;
		if (reported->restarts != recorder->restarts)
			rc = module_write(recorder, i, reported);
		if (rc == 0)
			rc = vg_writer_module_unload(&recorder->writer, i, time_ns);
	}
	return rc;
}

int vg_recorder_finish(struct vg_recorder *recorder, const char *reason, uint64_t time_ns)
{
	const struct vg_named_value totals[] = {
		{ "samples", recorder->samples },
		{ "threads", recorder->threads },
		{ "stacks_complete", recorder->stacks_complete },
	};

	return vg_writer_end(&recorder->writer, reason, time_ns, totals,
			     sizeof totals / sizeof *totals);
}

uint64_t vg_recorder_lost(const struct vg_recorder *recorder)
{
	uint64_t sum = 0;

	for (int i = 0; i < VG_LOSSES; i++)
		sum += recorder->losses.samples[i];
	return sum;
}

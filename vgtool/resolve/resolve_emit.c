/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* vg_resolve_emit(): passes the symbols of one profile to a sink. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "vgtool/resolve/resolve_emit.h"

/* State while the symbols of one module are emitted. */
struct module_output {
	const struct vg_resolve_sink *sink;
	const struct vg_resolve_module *module;
	uint32_t module_id;
	uint32_t *ids;               /* by index of a function in the symbolization: the
	                                function's id in the output; VG_NONE: not emitted yet */
	uint32_t *next_function;     /* the next function id, shared by all modules */
};

static int function_emit(struct module_output *module_output, uint32_t index, uint32_t *id)
{
	const struct vg_symbolization *symbolization = &module_output->module->symbolization;
	const struct vg_symbolized_function *function = &symbolization->functions.items[index];

	*id = module_output->ids[index];
	if (*id != VG_NONE)
		return 0;
	*id = module_output->ids[index] = (*module_output->next_function)++;
	return module_output->sink->function(module_output->sink->context, *id,
					     vg_intern_text(&symbolization->strings, function->name),
					     function->file != VG_SYMBOLIZED_NONE ?
					     vg_intern_text(&symbolization->strings, function->file) : NULL,
					     module_output->module_id);
}

static int address_emit(struct module_output *module_output, uint64_t address, size_t at)
{
	struct vg_symbolized_frame frames[VG_SYMBOLIZED_FRAMES_MAX];
	struct vg_symbol_line lines[VG_SYMBOLIZED_FRAMES_MAX];
	size_t count = vg_symbolization_frames(&module_output->module->symbolization, at, frames);

	for (size_t i = 0; i < count; i++) {
		int rc = function_emit(module_output, frames[i].function, &lines[i].function);

		if (rc != 0)
			return rc;
		lines[i].line = frames[i].line;
	}
	return count > 0 ? module_output->sink->symbol(module_output->sink->context, module_output->module_id, address,
						       lines, count) : 0;
}

/* Returns the index of the first known address that is `address` or higher.  The search begins at index `at`. */
static size_t address_from(const uint64_t *known, size_t at, size_t count, uint64_t address)
{
	if (at < count && known[at] >= address)
		return at;
	return at + vg_sorted_count_below(known + at, count - at, sizeof *known, 0, address);
}

/* Emits the symbols of the addresses.  Both `addresses` and the module's known addresses are sorted.  Every
 * address is known, unless another process changed the profile between its two readings. */
static int addresses_emit(struct module_output *module_output, const uint64_t *addresses, size_t count)
{
	const struct vg_resolve_module *module = module_output->module;
	const uint64_t *known = module->addresses.items;
	size_t at = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		at = address_from(known, at, module->addresses.count, addresses[i]);
		if (at == module->addresses.count || known[at] != addresses[i])
			continue;
		rc = address_emit(module_output, addresses[i], at++);
	}
	return rc;
}

static int module_emit(const struct vg_resolve *resolve, const struct vg_address_list *list,
			const struct vg_address_list_module *from, const struct vg_resolve_sink *sink,
			uint32_t *next_function)
{
	struct module_output module_output = { .sink = sink, .module_id = from->id,
				 .next_function = next_function };
	size_t count;
	uint32_t index;
	int rc;

	if (!vg_resolve_module_find(resolve, from, &index) ||
	    resolve->modules.items[index].missing)
		return sink->unresolved(sink->context, from->id);
	module_output.module = &resolve->modules.items[index];
	count = module_output.module->symbolization.functions.count;
	module_output.ids = malloc((count + 1) * sizeof *module_output.ids);
	if (module_output.ids == NULL)
		return -ENOMEM;
	memset(module_output.ids, 0xff, count * sizeof *module_output.ids);
	rc = addresses_emit(&module_output, list->addresses.items + from->first, from->count);
	free(module_output.ids);
	return rc;
}

int vg_resolve_emit(const struct vg_resolve *resolve, const struct vg_address_list *list,
		    const struct vg_resolve_sink *sink)
{
	uint32_t next_function = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < list->modules.count; i++)
		rc = module_emit(resolve, list, &list->modules.items[i], sink, &next_function);
	return rc;
}

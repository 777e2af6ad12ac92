/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The writing of a profile with its names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "vgtool/resolve/recopy.h"
#include "vgtool/resolve/resolve.h"

/* A module of one profile. */
struct naming {
	struct vg_writer *writer;
	const struct vg_resolve_module *module;
	uint32_t module_id;
	uint32_t *ids;               /* by function of the answers: in the profile, or VG_NONE */
	uint32_t *next_function;
};

static int function_write(struct naming *naming, uint32_t index, uint32_t *id)
{
	const struct vg_answers *answers = &naming->module->answers;
	const struct vg_answer_function *function = &answers->functions.items[index];

	*id = naming->ids[index];
	if (*id != VG_NONE)
		return 0;
	*id = naming->ids[index] = (*naming->next_function)++;
	return vg_writer_function(naming->writer, *id,
				  vg_intern_text(&answers->strings, function->name),
				  function->file != VG_ANSWER_NONE ?
				  vg_intern_text(&answers->strings, function->file) : NULL,
				  naming->module_id);
}

static int address_write(struct naming *naming, uint64_t address, size_t at)
{
	struct vg_answer_frame frames[VG_ANSWER_FRAMES_MAX];
	struct vg_symbol_line lines[VG_ANSWER_FRAMES_MAX];
	size_t count = vg_answers_at(&naming->module->answers, at, frames);

	for (size_t i = 0; i < count; i++) {
		int rc = function_write(naming, frames[i].function, &lines[i].function);

		if (rc != 0)
			return rc;
		lines[i].line = frames[i].line;
	}
	return count > 0 ? vg_writer_symbol(naming->writer, naming->module_id, address, lines, count) :
	       0;
}

/* The first of the addresses from `at` on that is not below. */
static size_t address_from(const uint64_t *known, size_t at, size_t count, uint64_t address)
{
	if (at < count && known[at] >= address)
		return at;
	return at + vg_sorted_count_below(known + at, count - at, sizeof *known, 0, address);
}

/* Both lists are sorted.  All of the profile's are in the module's, unless the file changed after
 * it was first read. */
static int addresses_write(struct naming *naming, const uint64_t *addresses, size_t count)
{
	const struct vg_resolve_module *module = naming->module;
	const uint64_t *known = module->addresses.items;
	size_t at = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		at = address_from(known, at, module->addresses.count, addresses[i]);
		if (at == module->addresses.count || known[at] != addresses[i])
			continue;
		rc = address_write(naming, addresses[i], at++);
	}
	return rc;
}

static int module_write(const struct vg_resolve *resolve, const struct vg_wanted *wanted,
			const struct vg_wanted_module *from, struct vg_writer *writer,
			uint32_t *next_function)
{
	struct naming naming = { .writer = writer, .module_id = from->id,
				 .next_function = next_function };
	size_t count;
	uint32_t index;
	int rc;

	if (!vg_resolve_module_find(resolve, from, &index) ||
	    resolve->modules.items[index].missing)
		return vg_writer_unresolved(writer, from->id);
	naming.module = &resolve->modules.items[index];
	count = naming.module->answers.functions.count;
	naming.ids = malloc((count + 1) * sizeof *naming.ids);
	if (naming.ids == NULL)
		return -ENOMEM;
	memset(naming.ids, 0xff, count * sizeof *naming.ids);
	rc = addresses_write(&naming, wanted->addresses.items + from->first, from->count);
	free(naming.ids);
	return rc;
}

int vg_resolve_write(const struct vg_resolve *resolve, const struct vg_infile *file,
		     const struct vg_wanted *wanted, struct vg_writer *writer)
{
	struct vg_recopy recopy = { 0 };
	uint32_t next_function = 0;
	int rc = vg_recopy_chunks(&recopy, file, writer);

	/* Of a truncated profile, the time of the last record is all that tells its length. */
	writer->last_us = wanted->duration_ns / 1000;
	for (size_t i = 0; rc == 0 && i < wanted->modules.count; i++)
		rc = module_write(resolve, wanted, &wanted->modules.items[i], writer, &next_function);
	return rc == 0 ? vg_recopy_end(&recopy, writer) : rc;
}

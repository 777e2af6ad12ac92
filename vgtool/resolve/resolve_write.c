/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* vg_resolve_write(): writes a resolved profile. */
#include "vgtool/resolve/profile_copy.h"
#include "vgtool/resolve/resolve_emit.h"

static int function_write(void *context, uint32_t id, const char *name, const char *file, uint32_t module)
{
	return vg_writer_function(context, id, name, file, module);
}

static int symbol_write(void *context, uint32_t module, uint64_t address, const struct vg_symbol_line *lines,
		        size_t count)
{
	return vg_writer_symbol(context, module, address, lines, count);
}

static int unresolved_write(void *context, uint32_t module)
{
	return vg_writer_unresolved(context, module);
}

int vg_resolve_write(const struct vg_resolve *resolve, const struct vg_infile *file,
		     const struct vg_address_list *list, struct vg_writer *writer)
{
	const struct vg_resolve_sink sink = { function_write, symbol_write, unresolved_write, writer };
	struct vg_profile_copy copy = { 0 };
	int rc = vg_profile_copy_chunks(&copy, file, writer);

	/* The new records get the time at which the profile ends.  If the profile is truncated, the copy has no
	 * END record.  The copy's duration is then the time of the copy's last record, and must be the original's. */
	writer->last_us = list->duration_ns / 1000;
	if (rc == 0)
		rc = vg_resolve_emit(resolve, list, &sink);
	return rc == 0 ? vg_profile_copy_end(&copy, writer) : rc;
}

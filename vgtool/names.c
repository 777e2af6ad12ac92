/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/names.h"

#include <errno.h>
#include <stdlib.h>

#include "symbols/breakpad.h"
#include "symbols/store.h"
#include "symbols/table.h"

struct vg_names {
	struct vg_symbols symbols;
	char *path;
};

int vg_names_open(struct vg_names **names, const struct vg_names_query *query,
		  struct vg_err *err)
{
	struct vg_names *opened = calloc(1, sizeof *opened);
	int rc;

	*names = NULL;
	if (opened == NULL)
		return vg_err_sys(err, -ENOMEM, "%s", query->module);
	rc = vg_store_find(query->stores, query->store_count, query->module, query->build_id,
			   query->build_id_bytes, &opened->path);
	if (rc == -ENOENT)
		vg_err_set(err, rc, "%s: no store has its symbols", query->module);
	else if (rc != 0)
		vg_err_sys(err, rc, "%s: cannot look into the stores", query->module);
	else
		rc = vg_breakpad_read(&opened->symbols, opened->path, query->addresses,
				      query->address_count, err);
	if (rc != 0) {
		vg_names_close(opened);
		return rc;
	}
	*names = opened;
	return 0;
}

size_t vg_names_at(const struct vg_names *names, uint64_t address,
		   struct vg_name found[VG_NAMES_MAX])
{
	struct vg_symbol_frame frames[VG_NAMES_MAX];
	size_t count = vg_symbols_lookup(&names->symbols, address, frames, VG_NAMES_MAX);

	for (size_t i = 0; i < count; i++)
		found[i] = (struct vg_name){ frames[i].function, frames[i].file, frames[i].line };
	return count;
}

uint64_t vg_names_bad_records(const struct vg_names *names, uint64_t *first_line)
{
	*first_line = names->symbols.first_bad_line;
	return names->symbols.bad_records;
}

const char *vg_names_path(const struct vg_names *names)
{
	return names->path;
}

void vg_names_close(struct vg_names *names)
{
	if (names == NULL)
		return;
	vg_symbols_free(&names->symbols);
	free(names->path);
	free(names);
}

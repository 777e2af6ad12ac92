/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/profile_symbols.h"

#include <string.h>

#include "profile/reading_fields.h"

int vg_profile_add_function(struct vg_profile *profile, const char *name, const char *file, uint32_t module,
			    uint32_t *function)
{
	struct vg_function added = { .id = (uint32_t)profile->functions.count, .file = VG_NONE, .module = module };
	int rc = vg_field_intern(profile, name, strlen(name), &added.name);

	if (rc == 0 && file != NULL)
		rc = vg_field_intern(profile, file, strlen(file), &added.file);
	*function = added.id;
	return rc != 0 ? rc : vg_array_push(&profile->functions, &added);
}

int vg_profile_add_symbol(struct vg_profile *profile, uint32_t module, uint64_t address,
			  const struct vg_symbol_line *lines, size_t count)
{
	struct vg_symbol_key key = { address, module, 0 };
	struct vg_symbol symbol = { (uint32_t)profile->symbol_lines.count, (uint32_t)count };
	uint32_t index;
	int rc = vg_array_reserve(&profile->symbol_lines, count);

	if (rc == 0)
		rc = vg_array_reserve(&profile->symbols, 1);
	if (rc == 0)
		rc = vg_intern(&profile->symbol_keys, &key, sizeof key, &index);
	if (rc <= 0)
		return rc;
	/* memcpy(3) may not get a null pointer, not even with a count of 0. */
	if (count > 0)
		memcpy(profile->symbol_lines.items + profile->symbol_lines.count, lines, count * sizeof *lines);
	profile->symbol_lines.count += count;
	profile->symbols.items[profile->symbols.count++] = symbol;
	return 0;
}

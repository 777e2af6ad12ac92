/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad_name.h"

int vg_sym_name_intern(struct vg_sym_reader *reader, struct vg_intern *strings,
		       const struct vg_sym_name *name, uint32_t *id)
{
	static const char omitted[] = "<name omitted>";
	size_t length = name->text != NULL ? strnlen(name->text, name->length) : 0;
	int rc;

	if (length == 0) {
		rc = vg_intern(strings, omitted, sizeof omitted, id);
		return rc < 0 ? rc : 0;
	}
	reader->scratch.count = 0;
	if (vg_array_reserve(&reader->scratch, length + 1) != 0)
		return -ENOMEM;
	memcpy(reader->scratch.items, name->text, length);
	reader->scratch.items[length] = '\0';
	rc = vg_intern(strings, reader->scratch.items, length + 1, id);
	return rc < 0 ? rc : 0;
}

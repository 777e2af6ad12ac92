/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/absent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_CHARS = 4096 };

int vg_absent_set(struct vg_absent *absent, const char *path, const void *id, size_t id_bytes)
{
	absent->path = strndup(path, PATH_MAX_CHARS);
	if (absent->path == NULL)
		return -ENOMEM;
	absent->id_bytes = id_bytes < sizeof absent->id ? id_bytes : sizeof absent->id;
	memcpy(absent->id, id, absent->id_bytes);
	return 0;
}

int vg_absent_copy(struct vg_absent *to, const struct vg_absent *from)
{
	return from->path != NULL ? vg_absent_set(to, from->path, from->id, from->id_bytes) : 0;
}

void vg_absent_free(struct vg_absent *absent)
{
	if (absent == NULL)
		return;
	free(absent->path);
	*absent = (struct vg_absent){ 0 };
}

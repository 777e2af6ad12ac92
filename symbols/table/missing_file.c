/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/missing_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_CHARS = 4096 };

int vg_missing_file_set(struct vg_missing_file *missing_file, const char *path, const void *id, size_t id_bytes)
{
	missing_file->path = strndup(path, PATH_MAX_CHARS);
	if (missing_file->path == NULL)
		return -ENOMEM;
	missing_file->id_bytes = id_bytes < sizeof missing_file->id ? id_bytes : sizeof missing_file->id;
	memcpy(missing_file->id, id, missing_file->id_bytes);
	return 0;
}

int vg_missing_file_copy(struct vg_missing_file *to, const struct vg_missing_file *from)
{
	to->exported_only = from->exported_only;
	return from->path != NULL ? vg_missing_file_set(to, from->path, from->id, from->id_bytes) : 0;
}

void vg_missing_file_free(struct vg_missing_file *missing_file)
{
	if (missing_file == NULL)
		return;
	free(missing_file->path);
	*missing_file = (struct vg_missing_file){ 0 };
}

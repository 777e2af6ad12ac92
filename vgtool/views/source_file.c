/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/source_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A name has fewer directories.  Bounds the number of tries for a hostile name. */
enum { NAME_PARTS_MAX = 64 };

static bool has_parent_part(const char *name)
{
	for (const char *part = name; part != NULL; part = strchr(part, '/')) {
		part += strspn(part, "/");
		if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
			return true;
	}
	return false;
}

/* Whether the file is below the directory, also if both are followed through links, and no part of its name there
 * begins with a dot.  The profile must not choose .git/config, or the target of a link. */
static bool is_source_of(const char *path, const char *directory)
{
	char *file = realpath(path, NULL), *top = realpath(directory, NULL);
	size_t bytes = top != NULL && strcmp(top, "/") != 0 ? strlen(top) : 0;
	bool below = file != NULL && top != NULL && strncmp(file, top, bytes) == 0 && file[bytes] == '/' &&
		     strstr(file + bytes, "/.") == NULL;

	free(file);
	free(top);
	return below;
}

/* Returns 0, -ENOMEM, or -ENOENT if there is no such regular file that can be read. */
static int path_open(struct vg_source *source, const char *directory, const char *name)
{
	struct vg_err err;

	if (asprintf(&source->path, "%s/%s", directory, name) < 0) {
		source->path = NULL;
		return -ENOMEM;
	}
	if (is_source_of(source->path, directory) && vg_infile_open(&source->file, source->path, &err) == 0)
		return 0;
	free(source->path);
	source->path = NULL;
	return -ENOENT;
}

int vg_source_open(struct vg_source *source, const char *name, const char *const *directories, size_t count)
{
	int rc = -ENOENT;

	*source = (struct vg_source){ .line = 1 };
	if (has_parent_part(name))
		return -ENOENT;
	for (size_t i = 0; rc == -ENOENT && i < count; i++) {
		const char *part = name;

		for (int parts = 0; rc == -ENOENT && part != NULL && parts < NAME_PARTS_MAX; parts++) {
			part += strspn(part, "/");
			rc = path_open(source, directories[i], part);
			part = strchr(part, '/');
		}
	}
	return rc;
}

void vg_source_close(struct vg_source *source)
{
	if (source->path == NULL)
		return;
	vg_infile_close(&source->file);
	free(source->path);
	source->path = NULL;
}

const char *vg_source_line(struct vg_source *source, uint32_t line, size_t *bytes)
{
	const char *text = (const char *)source->file.bytes, *newline;
	uint64_t length = source->file.length;

	if (line < source->line) {
		source->line = 1;
		source->offset = 0;
	}
	for (; source->offset < length; source->line++) {
		newline = memchr(text + source->offset, '\n', length - source->offset);
		*bytes = newline != NULL ? (size_t)(newline - text) - source->offset : length - source->offset;
		if (source->line == line)
			return text + source->offset;
		source->offset += *bytes + (newline != NULL);
	}
	return NULL;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/view_sources.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vgtool/views/source_file.h"

/* Lines before and after a sampled line, and the bytes of a line that a page has room for. */
enum { AROUND = 4, LINE_BYTES_MAX = 400 };

struct line {
	const char *file;
	uint32_t line;
};

static int line_compare(const void *a, const void *b)
{
	const struct line *left = a, *right = b;
	int order = left->file == right->file ? 0 : strcmp(left->file, right->file);

	return order != 0 ? order : (left->line > right->line) - (left->line < right->line);
}

static struct line *lines_list(const struct vg_view_nodes *nodes, size_t *count)
{
	struct line *lines = calloc((size_t)nodes->list.count + 1, sizeof *lines);

	*count = 0;
	for (uint32_t i = 0; lines != NULL && i < nodes->list.count; i++) {
		struct vg_incomplete_name room;
		struct vg_view_frame frame;
		struct line line;

		memcpy(&frame, vg_intern_bytes(&nodes->list, i, NULL), sizeof frame);
		line = (struct line){ vg_view_function(nodes, frame.function, &room).file, frame.line };
		if (line.file != NULL && line.line > 0)
			lines[(*count)++] = line;
	}
	if (*count > 1)
		qsort(lines, *count, sizeof *lines, line_compare);
	return lines;
}

static void file_write(struct vg_source *source, const struct line *lines, size_t count, struct vg_json *json)
{
	uint32_t next = 1;           /* the first line that is not written */

	for (size_t i = 0; i < count; i++) {
		uint64_t last = (uint64_t)lines[i].line + AROUND;

		if (lines[i].line > AROUND && next < lines[i].line - AROUND)
			next = lines[i].line - AROUND;
		for (; next <= last && next != UINT32_MAX; next++) {
			size_t bytes;
			const char *text = vg_source_line(source, next, &bytes);
			char key[16];

			if (text == NULL)
				return;
			snprintf(key, sizeof key, "%" PRIu32, next);
			vg_json_key(json, key);
			vg_json_string_bytes(json, text, bytes < LINE_BYTES_MAX ? bytes : LINE_BYTES_MAX);
		}
	}
}

int vg_view_sources_write(const struct vg_view_nodes *nodes, const char *const *directories, size_t count,
			  uint32_t (*file)(void *context, const char *name), void *context, struct vg_json *json)
{
	size_t line_count;
	struct line *lines = lines_list(nodes, &line_count);
	int rc = lines != NULL ? 0 : -ENOMEM, found = 0;

	vg_json_array_begin(json);
	for (size_t first = 0, end; rc == 0 && first < line_count && !ferror(json->file); first = end) {
		struct vg_source source;

		for (end = first + 1; end < line_count && strcmp(lines[end].file, lines[first].file) == 0;)
			end++;
		rc = vg_source_open(&source, lines[first].file, directories, count);
		if (rc == 0) {
			found++;
			vg_json_line(json);
			vg_json_object_begin(json);
			vg_json_key_uint(json, "file", file(context, lines[first].file));
			vg_json_key(json, "lines");
			vg_json_object_begin(json);
			file_write(&source, lines + first, end - first, json);
			vg_json_object_end(json);
			vg_json_object_end(json);
		}
		vg_source_close(&source);
		rc = rc == -ENOMEM ? rc : 0;
	}
	vg_json_array_end(json);
	free(lines);
	return rc == 0 ? found : rc;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/source_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vgtool/views/source_file.h"

/* A longer line is cut: it has no room beside an instruction. */
enum { TEXT_BYTES_MAX = 200 };

int vg_source_texts_add(struct vg_source_texts *texts, const char *file, uint32_t line)
{
	const struct vg_source_text *last = texts->lines.items + texts->lines.count;
	const struct vg_source_text added = { file, line, 0 };

	if (texts->lines.count > 0 && last[-1].file == file && last[-1].line == line)
		return 0;
	return vg_array_push(&texts->lines, &added);
}

static int line_compare(const void *a, const void *b)
{
	const struct vg_source_text *left = a, *right = b;
	int order = strcmp(left->file, right->file);

	return order != 0 ? order : (left->line > right->line) - (left->line < right->line);
}

static int text_add(struct vg_source_texts *texts, struct vg_source_text *line, const char *text, size_t bytes)
{
	while (bytes > 0 && (*text == ' ' || *text == '\t')) {
		text++;
		bytes--;
	}
	if (bytes > TEXT_BYTES_MAX)
		bytes = TEXT_BYTES_MAX;
	if (vg_array_reserve(&texts->bytes, bytes + 1) != 0)
		return -ENOMEM;
	line->text = texts->bytes.count + 1;
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '\t')
			texts->bytes.items[texts->bytes.count++] = ' ';
		else
			texts->bytes.items[texts->bytes.count++] = text[i];
	}
	texts->bytes.items[texts->bytes.count++] = '\0';
	return 0;
}

/* Reads lines of one file. */
static int file_read(struct vg_source_texts *texts, struct vg_source_text *lines, size_t count,
		     const char *const *directories, size_t directory_count)
{
	struct vg_source source;
	int rc = vg_source_open(&source, lines->file, directories, directory_count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		size_t bytes;
		const char *text = vg_source_line(&source, lines[i].line, &bytes);

		rc = text != NULL ? text_add(texts, &lines[i], text, bytes) : -ENOENT;
	}
	vg_source_close(&source);
	return rc == -ENOMEM ? rc : 0;
}

int vg_source_texts_read(struct vg_source_texts *texts, const char *const *directories, size_t count)
{
	struct vg_source_text *lines = texts->lines.items;
	size_t kept = 0;
	int rc = 0;

	if (texts->lines.count == 0)
		return 0;
	qsort(lines, texts->lines.count, sizeof *lines, line_compare);
	for (size_t i = 1; i < texts->lines.count; i++) {
		if (line_compare(&lines[i], &lines[kept]) != 0)
			lines[++kept] = lines[i];
	}
	texts->lines.count = kept + 1;
	for (size_t first = 0, end; rc == 0 && first < texts->lines.count; first = end) {
		for (end = first + 1; end < texts->lines.count && strcmp(lines[end].file, lines[first].file) == 0;)
			end++;
		rc = file_read(texts, lines + first, end - first, directories, count);
	}
	return rc;
}

const char *vg_source_texts_find(const struct vg_source_texts *texts, const char *file, uint32_t line)
{
	const struct vg_source_text key = { file, line, 0 };
	const struct vg_source_text *found = texts->lines.count == 0 ? NULL :
		bsearch(&key, texts->lines.items, texts->lines.count, sizeof key, line_compare);

	return found != NULL && found->text > 0 ? texts->bytes.items + found->text - 1 : NULL;
}

void vg_source_texts_free(struct vg_source_texts *texts)
{
	vg_array_free(&texts->lines);
	vg_array_free(&texts->bytes);
}

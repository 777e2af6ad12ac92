/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/pprof_file.h"

#include <errno.h>
#include <stdlib.h>

int64_t vg_pprof_text(struct vg_pprof_file *file, const char *text)
{
	uint32_t id = 0;

	/* The first text of the table is the empty one. */
	if ((file->texts.count == 0 && vg_intern_string(&file->texts, "", &id) < 0) ||
	    (text != NULL && vg_intern_string(&file->texts, text, &id) < 0))
		file->failed = -ENOMEM;
	return id;
}

static int room_make(struct vg_pprof_file *file, size_t bytes)
{
	unsigned char *grown;

	if (bytes <= file->room_bytes)
		return 0;
	grown = realloc(file->room, 2 * bytes);
	if (grown == NULL)
		return -ENOMEM;
	file->room = grown;
	file->room_bytes = 2 * bytes;
	return 0;
}

void vg_pprof_put(struct vg_pprof_file *file, const Perftools__Profiles__Profile *piece)
{
	size_t bytes = perftools__profiles__profile__get_packed_size(piece);

	if (file->failed == 0)
		file->failed = room_make(file, bytes);
	if (!vg_pprof_works(file))
		return;
	perftools__profiles__profile__pack(piece, file->room);
	fwrite_unlocked(file->room, 1, bytes, file->to);
}

int vg_pprof_finish(struct vg_pprof_file *file)
{
	Perftools__Profiles__Profile piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	char *text;

	vg_pprof_text(file, NULL);
	piece.string_table = &text;
	piece.n_string_table = 1;
	for (uint32_t i = 0; vg_pprof_works(file) && i < file->texts.count; i++) {
		text = (char *)vg_intern_text(&file->texts, i);
		vg_pprof_put(file, &piece);
	}
	vg_intern_free(&file->texts);
	free(file->room);
	file->room = NULL;
	return file->failed;
}

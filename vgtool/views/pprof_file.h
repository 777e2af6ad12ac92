/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PPROF_FILE_H
#define VG_VGTOOL_PPROF_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/intern.h"
#include "vgtool/views/pprof.pb-c.h"

/*
 * Writes the one message of a pprof file in pieces.  A message of protobuf is the concatenation of its fields, so each
 * piece is a message Profile with a few fields or one element of an array, and the whole profile is never in memory.
 *
 *	struct vg_pprof_file file = { .to = stdout };
 *	profile.period = 1;
 *	profile.default_sample_type = vg_pprof_text(&file, "cpu");
 *	vg_pprof_put(&file, &profile);
 *	rc = vg_pprof_finish(&file);
 *
 * The first error is kept, and vg_pprof_finish() returns it.
 */
struct vg_pprof_file {
	FILE *to;                    /* the caller's */
	struct vg_intern texts;      /* the string table */
	unsigned char *room;         /* for one packed piece */
	size_t room_bytes;
	int failed;                  /* negative errno */
};

/* False after an error, or after a write error of the stream: then further pieces are not written. */
static inline bool vg_pprof_works(const struct vg_pprof_file *file)
{
	return file->failed == 0 && !ferror(file->to);
}

/* The index of the text in the string table.  NULL is the empty text. */
int64_t vg_pprof_text(struct vg_pprof_file *file, const char *text);

void vg_pprof_put(struct vg_pprof_file *file, const Perftools__Profiles__Profile *piece);

/* Writes the string table and frees what the struct owns.  Returns 0 or -ENOMEM.  For write errors, check the
 * stream. */
int vg_pprof_finish(struct vg_pprof_file *file);

#endif

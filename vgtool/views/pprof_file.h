/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PPROF_FILE_H
#define VG_VGTOOL_PPROF_FILE_H

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
	uint64_t bytes;              /* that were written */
	int failed;                  /* negative errno */
};

/* The format repeats the locations of a stack in each of its samples.  So a small hostile profile could ask for a huge
 * file, which would compress well: the limit is of bytes before the compression. */
enum { VG_PPROF_GIB_MAX = 4 };

/* The index of the text in the string table.  NULL is the empty text. */
int64_t vg_pprof_text(struct vg_pprof_file *file, const char *text);

void vg_pprof_put(struct vg_pprof_file *file, const Perftools__Profiles__Profile *piece);

/* Writes the string table and frees what the struct owns.  Returns 0, -ENOMEM, or -EFBIG if there would be more than
 * VG_PPROF_GIB_MAX.  For write errors, check the stream. */
int vg_pprof_finish(struct vg_pprof_file *file);

#endif

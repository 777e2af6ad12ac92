/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_PERFMAP_H
#define VG_VIGNETTED_PERFMAP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "profile/writer.h"

/*
 * Names of code that a process made at run time, as it tells them itself in /tmp/perf-PID.map:
 * a line "START SIZE NAME" for each piece, numbers in hexadecimal (the kernel's tools/perf,
 * jit-interface.txt).  Nothing of the file is trusted, nor that it is the process's own.
 */
struct vg_perfmap {
	int directory;               /* the process's /tmp, open since before it could end; -1 */
	uid_t owner;                 /* of the files that it made then */
	uint64_t unread_bytes;       /* of the file, when it was last read: too long, or not the process's */
	char name[64];               /* of the file: by the number that the process has for itself */
};

/* What the profile counts unread bytes as. */
#define VG_PERFMAP_STAT "perf_map_unread_bytes"

/* Remembers where the file will be.  Never fails: what is not there is not read. */
void vg_perfmap_open(struct vg_perfmap *map, pid_t pid);
void vg_perfmap_close(struct vg_perfmap *map);

/* Whether a frame may be of such code: of no module, and not a wait in the kernel or the like, whose
 * address is none. */
bool vg_perfmap_concerns(uint32_t module, enum vg_found found);

/* Reads the file and writes the names of those pieces that one of the addresses is in, which it sorts.
 * 0, also when there is no such file, or what the writer returns. */
int vg_perfmap_write(struct vg_perfmap *map, uint64_t *addresses, size_t count, struct vg_writer *writer);

#endif

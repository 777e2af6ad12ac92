/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_PERF_MAP_H
#define VG_VIGNETTED_PERF_MAP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "profile/writer.h"

/* Names of JIT code, which the process writes to /tmp/perf-PID.map.  Each line is "START SIZE NAME" with hexadecimal
 * numbers (tools/perf/Documentation/jit-interface.txt of the kernel).  The file is untrusted: another process may have
 * written it. */
struct vg_perf_map {
	int directory;               /* the process's /tmp, opened while the process ran; or -1 */
	uid_t owner;                 /* user id of files that the process makes */
	uint64_t unread_bytes;       /* bytes of the file that the latest vg_perf_map_write() did not read, because the
					file was too long or not the process's */
	char name[64];               /* the file's name; PID in it is the pid in the process's own pid namespace */
};

/* The profile has a statistic of this name.  Its value is unread_bytes. */
#define VG_PERF_MAP_STATISTIC "perf_map_unread_bytes"

/* Finds out where the file will be.  Never fails: if /tmp cannot be opened, no file is read. */
void vg_perf_map_open(struct vg_perf_map *map, pid_t pid);
void vg_perf_map_close(struct vg_perf_map *map);

/* Whether a frame may be JIT code: it has no module, and it is not the frame of a system call, which has the call's
 * number as its address. */
bool vg_perf_map_may_name(uint32_t module, enum vg_found_by found);

/* Sorts the addresses, reads the file, and writes the names of all code that contains one of the addresses: at most one
 * name for each address, from the latest line that contains it.  Returns 0, -ENOMEM or the writer's error.  If there is
 * no file, returns 0, too. */
int vg_perf_map_write(struct vg_perf_map *map, uint64_t *addresses, size_t count, struct vg_writer *writer);

#endif

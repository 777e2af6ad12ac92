/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_MAPPED_FILES_H
#define VG_VGTOOL_MAPPED_FILES_H

#include <stddef.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/intern.h"
#include "vgtool/run/program_open.h"

/* A file that a process executes.  It can often be opened even if it was removed or replaced, or if the process has
 * another root directory. */
struct vg_mapped_file {
	pid_t pid;
	unsigned long start, end;    /* of an executable mapping */
	struct vg_file_identity identity;
	char *path;                  /* owned; the process chooses it; without " (deleted)" */
};

/* A set of files.  Each is in it once.  A new set is all zero. */
struct vg_mapped_files {
	VG_ARRAY(struct vg_mapped_file) items;
	/* Private: */
	struct vg_intern known;      /* device and inode */
};

/* Adds the files of a process.  Stops at count_max files in all.  What cannot be read is left out. */
void vg_mapped_files_read(struct vg_mapped_files *files, pid_t pid, size_t count_max);

/* As vg_mapped_files_read(), for each process that has this id in its own namespace.  Processes of different containers
 * can have the same id. */
void vg_mapped_files_read_namespaces(struct vg_mapped_files *files, pid_t pid, size_t count_max);

/* Opens the file, if it is a program or library, and safe (base/process_file.h).  A file that is opened by its path
 * must have the device and inode of the mapping.  Returns a descriptor, or -1. */
int vg_mapped_file_open(const struct vg_mapped_file *mapped);

void vg_mapped_files_free(struct vg_mapped_files *files);

#endif

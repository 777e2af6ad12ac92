/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_MODULE_FILE_H
#define VG_VIGNETTED_MODULE_FILE_H

#include "vignetted/target/memory.h"

/* A module's file, as in /proc/PID/maps. */
struct vg_module_file {
	uint64_t address;            /* address of its first byte in the process */
	uint64_t device, inode;
	const char *path;
};

/*
 * Opens the module's file for reading.  Returns a descriptor, which the caller closes, or -1 if no trustworthy file was
 * found.
 *
 * The process chooses the path, and the file that is there.  So the file must be safe (base/process_file.h), must be a
 * regular file that is not reached through a symbolic link, and must begin with the same ELF headers as the memory.
 * Unless it is the process's executable, it must also have the device and inode of the mapping.
 */
int vg_module_file_open(const struct vg_module_file *file, const struct vg_memory *memory);

#endif

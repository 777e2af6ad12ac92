/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PROGRAM_OPEN_H
#define VG_VGTOOL_PROGRAM_OPEN_H

#include <sys/types.h>

/* The file that a mapping must have. */
struct vg_file_identity {
	dev_t device;
	ino_t inode;
};

/*
 * Opens a program, library or debug file: a regular ELF file of type ET_EXEC or ET_DYN.  The path may be an attacker's
 * choice.  So nothing is opened before its type is known: open(2) of a device could have effects, and open(2) of a FIFO
 * wakes its writer.  A core file is refused, because it has the memory of a process.  If `identity` is not NULL, the
 * file must have this device and inode; on overlayfs and btrfs, this inode.  Returns a descriptor above the standard
 * ones, or -1.
 */
int vg_program_open(const char *path, const struct vg_file_identity *identity);

/* As vg_program_open(), but also opens a relocatable file (ET_REL), such as a file of dwz(1). */
int vg_debug_file_open(const char *path);

#endif

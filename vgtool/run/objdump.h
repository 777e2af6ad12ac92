/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_OBJDUMP_H
#define VG_VGTOOL_OBJDUMP_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Runs objdump(1) of GNU binutils or LLVM, which disassembles a binary.  The binary is untrusted, and it may take
 * control of objdump.  So objdump is confined (confine.h): it can read its own files and the binary, write to its
 * output, and use memory and a limited CPU time.  It has no environment and no terminal.  Its output is untrusted, too.
 *
 *	struct vg_objdump objdump = { 0 };
 *	rc = vg_objdump_find(&objdump, &err);
 *	output = vg_objdump_start(&objdump, file, 0x1130, 0x1180);
 *	... read(2) until the end, then close(2) ...
 *	vg_objdump_end(&objdump);
 *	vg_objdump_free(&objdump);
 */
struct vg_objdump {
	char *path;                  /* owned; of the program */
	pid_t pid;                   /* 0: it does not run */
};

/* Finds objdump in $PATH.  Returns 0; -ENOPKG or -ENOMEM, with a message in err. */
int vg_objdump_find(struct vg_objdump *objdump, struct vg_err *err);

/* Ends the objdump that runs, and starts a new one, which disassembles the instructions at the virtual addresses
 * `begin` to `end` - 1 of a file.  The file must be a regular file, open for reading only, and stays the caller's.
 * Returns the descriptor of its output, which the caller closes; or a negative errno. */
int vg_objdump_start(struct vg_objdump *objdump, int file, uint64_t begin, uint64_t end);

/* Kills the objdump that runs, if there is one. */
void vg_objdump_end(struct vg_objdump *objdump);
void vg_objdump_free(struct vg_objdump *objdump);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CONFINE_H
#define VG_VIGNETTED_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Restricts this process permanently to what sampling needs:
 *
 *  - It cannot gain privileges, and keeps at most five of root's capabilities.
 *  - It writes no core dump, and other processes of its user cannot trace it.
 *  - Its address space is limited.
 *  - A seccomp filter forbids all system calls except those in the tables of confine.c.
 *
 * vignetted(8), Confinement, lists what an attacker can still do; tests/recording/confined.c tests each line of that
 * list.
 *
 *     listens          true: the process may also accept connections on a socket that listens already
 *     memory_bytes     the limit of address space; a lower RLIMIT_AS stays in force
 *
 * A forbidden call fails with EPERM, so that a C library that tries a new call can continue without it.
 *
 * Call vg_confine() before the first byte of the target's memory, files or event ring is read, and after everything
 * that the filter forbids: pidfd_open(2), listening, starting a finisher or a command.
 *
 * Returns 0, or a negative errno with a message, for example if the kernel has no seccomp or a policy forbids it.
 * After an error the limits are in force, but the other restrictions may be missing.  The caller decides whether to
 * continue, and reports that the helper is not confined.
 */
int vg_confine(bool listens, uint64_t memory_bytes, struct vg_err *err);

/* Whether CAP_DAC_READ_SEARCH is effective, if the process has it, for example by setcap(8).  It is for other users'
 * files in /proc.  What a user names, a command or an output, is found without it. */
void vg_search_capability_set(bool effective);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CONFINE_H
#define VG_VIGNETTED_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Takes from this process, for good, what sampling does not need: gaining privileges, core dumps, being
 * traced by its own user's processes, more address space than memory_bytes, and, by a seccomp
 * allow-list, all system calls but those in the tables of confine.c; and of root's capabilities all but five.
 * vignetted(8), Confinement, lists what an attacker can still do with the rest; tests/recording/confined.c tries each
 * line.
 *
 *     listens          the helper also accepts connections, on a socket that listens already
 *     memory_bytes     a lower RLIMIT_AS that was set before holds
 *
 * A forbidden call fails with EPERM: a C library that tries something new goes on without it.
 *
 * Call it before the first byte of the target, of its files or of its ring of events is read, and after
 * everything that the list leaves out: pidfd_open(2), listening, starting a finisher or a command.
 *
 * 0; or a negative errno with a sentence, where the kernel has no seccomp or a policy forbids it: the limits hold
 * then, and the filter is missing.  The caller decides whether to go on, and says so.
 */
int vg_confine(bool listens, uint64_t memory_bytes, struct vg_err *err);

#endif

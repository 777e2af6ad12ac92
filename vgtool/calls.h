/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CALLS_H
#define VG_VGTOOL_CALLS_H

#include <stdint.h>

/* The name of a system call on the machine that a profile comes from ("x86_64"), which need not
 * be this one.  NULL if the machine or the number is not known. */
const char *vg_call_name(const char *arch, uint64_t number);

#endif

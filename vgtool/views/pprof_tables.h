/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PPROF_TABLES_H
#define VG_VGTOOL_PPROF_TABLES_H

#include "vgtool/views/pprof_stacks.h"

/* Writes all mappings, locations and functions of a pprof file, after the last vg_pprof_stack_locations(). */
void vg_pprof_tables_write(const struct vg_pprof_stacks *stacks, struct vg_pprof_file *file);

#endif

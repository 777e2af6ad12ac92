/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FLIGHT_INSIDE_H
#define VG_VIGNETTED_FLIGHT_INSIDE_H

#include "vignetted/output/flight.h"

/* Between what keeps (flight.c) and what is told (flight_told.c); for these alone. */
extern const struct vg_writer_sink vg_flight_sink;

/* Room on the tape for an entry, whose rest is zero; NULL: there is none, which is counted. */
struct vg_tape_entry *vg_flight_push(struct vg_flight *flight, uint64_t time_ns,
				     enum vg_tape_kind kind, uint32_t thread);

/* The table that has that stack; NULL: none has, any more. */
struct vg_flight_table *vg_flight_table_of(struct vg_flight *flight, uint32_t id);

/* Lets threads go that ended before the window or, if they are too many, all that have ended. */
void vg_flight_threads_sweep(struct vg_flight *flight);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FLIGHT_SINK_H
#define VG_VIGNETTED_FLIGHT_SINK_H

#include "vignetted/output/flight.h"

/* Returns the sink with which a writer passes its data to the flight recorder.  The sink is a part of *flight, which
 * must be open.  The sink is valid until vg_flight_close(). */
struct vg_writer_sink *vg_flight_sink(struct vg_flight *flight);

#endif

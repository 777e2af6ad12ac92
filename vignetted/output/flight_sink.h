/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FLIGHT_SINK_H
#define VG_VIGNETTED_FLIGHT_SINK_H

#include "vignetted/output/flight.h"

/* The sink for a writer whose data the flight recorder keeps.  It is part of the flight recorder, which must be open,
 * and is valid until vg_flight_close(). */
struct vg_writer_sink *vg_flight_sink(struct vg_flight *flight);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_DUMP_H
#define VG_VIGNETTED_DUMP_H

#include <stdbool.h>

#include "vignetted/output/flight.h"

/*
 * Writes the contents of a flight recorder as an ordinary profile, piece by piece, while the flight recorder continues.
 * Entries that the dump still has to write are not dropped.  All zero: no dump is in progress.
 *
 *     rc = vg_dump_begin(&dump, &flight, fd, now_ns, false);
 *     while (vg_dump_run(&dump, 1000)) ...
 *     rc = vg_dump_end(&dump, "reason");
 */
struct vg_dump {
	struct vg_flight_reader reader; /* must be the first member */
	struct vg_flight *flight;    /* NULL: no dump is in progress */
	struct vg_writer writer;
	struct vg_event_queue_cursor cursor;
	uint64_t stop_number;        /* number of the first entry after the last entry of the dump; UINT64_MAX: not
					stopped yet */
	uint64_t window_begin_ns;    /* nothing earlier is written */
	uint64_t end_ns;             /* nothing later is written; UINT64_MAX: not stopped yet */
	struct vg_named_value lost[VG_FLIGHT_LOSSES]; /* losses when the dump was stopped */
	size_t lost_count;
	uint32_t threads, stacks, labels; /* next ids in the dump */
	uint64_t samples, samples_complete, events;
	VG_ARRAY(uint32_t) chain;    /* ids of one stack's nodes that are still to be written, leaf frame first */
};

/* Begins a dump of the window that ends at now_ns.  With `continues`, the dump also has the entries that arrive later,
 * until vg_dump_stop().  No other dump may be in progress.  fd stays the caller's.  Returns 0 or a negative errno; call
 * vg_dump_end() in both cases. */
int vg_dump_begin(struct vg_dump *dump, struct vg_flight *flight, int fd, uint64_t now_ns,
		  bool continues);

/* Stops a dump that continues: its window ends at now_ns.  The flight recorder must have all entries up to that time.
 * Does nothing if the dump was already stopped. */
void vg_dump_stop(struct vg_dump *dump, uint64_t now_ns);

/* Writes up to `count` entries.  Returns vg_dump_behind(). */
bool vg_dump_run(struct vg_dump *dump, size_t count);

/* Whether there are entries that can be written now. */
bool vg_dump_behind(const struct vg_dump *dump);

/* Adds an instant of the kind "watchdog" with the label `what` to the dump, at time_ns.  Its thread is `tid`, or
 * another live thread if `tid` does not live.  Does nothing without a dump or without a live thread. */
void vg_dump_note(struct vg_dump *dump, pid_t tid, const char *what, uint64_t time_ns,
		  uint64_t value);

/* Writes the rest and the end of the dump, which must have been stopped.  `reason` is static text.  Returns 0, or the
 * negative errno with which the dump failed. */
int vg_dump_end(struct vg_dump *dump, const char *reason);

#endif

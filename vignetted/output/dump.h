/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_DUMP_H
#define VG_VIGNETTED_DUMP_H

#include <stdbool.h>

#include "vignetted/output/flight.h"

/*
 * Writes what a flight recorder keeps as an ordinary profile, in slices, while that goes on
 * recording.  Nothing that has yet to be written is let go meanwhile.  All zero is none in progress.
 */
struct vg_dump {
	struct vg_flight_reader reader; /* first */
	struct vg_flight *flight;    /* NULL: none is in progress */
	struct vg_writer writer;
	struct vg_tape_cursor cursor;
	uint64_t until;              /* number of the entry to stop at; UINT64_MAX: goes on */
	uint64_t from_ns;            /* the window begins */
	uint64_t end_ns;             /* and ends: nothing later is in it; UINT64_MAX: goes on */
	struct vg_named lost[VG_FLIGHT_LOSSES]; /* so far, when it ended */
	size_t lost_count;
	uint32_t threads, stacks, labels; /* ids given so far */
	uint64_t samples, samples_complete, events;
	VG_ARRAY(uint32_t) chain;
};

/* Begins one of the window that ends now, or which goes on with what comes if it `follows`; there
 * must be none in progress.  fd stays the caller's.  0 or a negative errno; vg_dump_end() is due
 * after that too. */
int vg_dump_begin(struct vg_dump *dump, struct vg_flight *flight, int fd, uint64_t now_ns,
		  bool follows);

/* One that follows ends at that time, up to which the recorder has been told of everything.  Does nothing to one
 * that has ended. */
void vg_dump_stop(struct vg_dump *dump, uint64_t now_ns);

/* Writes what is there of so many entries.  Whether there is more. */
bool vg_dump_run(struct vg_dump *dump, size_t count);

/* Whether there is something to write. */
bool vg_dump_behind(const struct vg_dump *dump);

/* Tells the dump's readers something: an instant at that time. */
void vg_dump_note(struct vg_dump *dump, pid_t tid, const char *what, uint64_t time_ns,
		  uint64_t value);

/* Writes all that is left, and the end; it must have been stopped.  `reason` is static text.  0 or the negative
 * errno with which it failed. */
int vg_dump_end(struct vg_dump *dump, const char *reason);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_DUMPING_H
#define VG_VIGNETTED_DUMPING_H

#include "vignetted/output/dump.h"
#include "vignetted/output/flight.h"
#include "vignetted/output/watchdog.h"

struct vg_recording;
struct vg_lanes;

/* For whom a dump is. */
enum vg_dumping_for {
	VG_DUMPING_NOBODY,           /* none is in progress */
	VG_DUMPING_ASKED,            /* the program asked for it, or somebody from outside */
	VG_DUMPING_STALL,            /* the watchdog's; goes on for as long as the stall */
	VG_DUMPING_LAST,             /* what is left when the recording ends */
};

/* Tells who asked how it went: `rc`, 0 or a negative errno, and what was written. */
typedef void vg_dumping_done(int asker, const struct vg_dump *dump, int rc);

/*
 * A recording's flight recorder, and the dumps of it: one at a time, a slice between two ticks.
 */
struct vg_dumping {
	struct vg_flight flight;
	struct vg_dump dump;         /* the one in progress */
	struct vg_watchdog watchdog;
	enum vg_dumping_for who;
	struct vg_lanes *shared;     /* the ring of the program's events, where the end of a file is counted; or NULL */
	int fd;                      /* of the dump in progress; those asked for are owned */
	uint32_t table_seen;         /* the recorder's stacks_generation that the next two are of */
	uint64_t table_ns;           /* when that began */
	uint32_t table_enough;       /* stacks that a window takes; 0: not known yet */
	uint64_t stall_ns;           /* the recording's time when the stall was found */
	uint64_t late_ns;            /* of the heartbeat then, if that is not written yet */
	uint64_t flush_ns;           /* when what the watchdog's has is to be in the file */
	vg_dumping_done *done;       /* is told of the end of one that was asked for */
	int asker;                   /* who asked, for that; -1: is gone */
	const char *reason;          /* of its end, in the profile */
	uint64_t samples, events;    /* in the last dump of all */
	uint64_t file_bytes;
	uint32_t threads;
};

/* Makes the recording keep its last seconds in memory, if its options say so. */
void vg_dumping_open(struct vg_recording *recording, struct vg_lanes *events);
void vg_dumping_close(struct vg_recording *recording);

/* Whether it has a flight recorder. */
bool vg_dumping_is_open(const struct vg_recording *recording);

/* Begins a dump of what came before that time of the recording.  0 or a negative errno: vg_dumping_finish() is due
 * either way. */
int vg_dumping_start(struct vg_recording *recording, enum vg_dumping_for who, int fd, uint64_t now_ns);

/* Writes what is left of the dump, and reports its end to who asked.  0 or a negative errno. */
int vg_dumping_finish(struct vg_recording *recording, const char *reason);

/* The recording has ended: ends the dump in progress, and writes the last one into its file.  0 or
 * what that failed with. */
int vg_dumping_last(struct vg_recording *recording);

#endif

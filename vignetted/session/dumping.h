/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_DUMPING_H
#define VG_VIGNETTED_DUMPING_H

#include "vignetted/output/dump.h"
#include "vignetted/output/flight.h"
#include "vignetted/output/watchdog.h"

struct vg_recording;
struct vg_session;

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
void vg_dumping_open(struct vg_recording *recording);
void vg_dumping_close(struct vg_recording *recording);

/* Begins a dump into fd, which is then owned; `done` is called when it is written.  `reason` is static
 * text.  One of a stall that is in progress ends there.  0; -ENOTSUP: there is no flight recorder;
 * -EBUSY: another that was asked for is in progress. */
int vg_dumping_ask(struct vg_session *session, struct vg_recording *recording, int fd,
		   const char *reason, vg_dumping_done *done, int asker);

/* Who asked is gone: a dump of theirs goes on, and nobody is told. */
void vg_dumping_forget(struct vg_session *session, int asker);

/* Whether a dump that was asked for so is in progress. */
bool vg_dumping_awaited(const struct vg_session *session, int asker);

/* One turn of the loop: writes a slice, and looks after the heartbeat. */
void vg_dumping_turn(struct vg_session *session);

/* Whether there is something to write at once. */
bool vg_dumping_busy(const struct vg_session *session);

/* The recording has ended: ends the dump in progress, and writes the last one into its file.  0 or
 * what that failed with. */
int vg_dumping_last(struct vg_session *session, struct vg_recording *recording);

#endif

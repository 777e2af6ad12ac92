/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_DUMPING_H
#define VG_VIGNETTED_DUMPING_H

#include "vignetted/dump.h"
#include "vignetted/flight.h"
#include "vignetted/watchdog.h"

struct vg_recording;
struct vg_session;

/* For whom a dump is. */
enum vg_dumping_for {
	VG_DUMPING_NOBODY,           /* none is in progress */
	VG_DUMPING_HOST,             /* the program asked for it */
	VG_DUMPING_STALL,            /* the watchdog's; goes on for as long as the stall */
	VG_DUMPING_LAST,             /* what is left when the recording ends */
};

/*
 * A recording's flight recorder, and the dumps of it: one at a time, a slice between two ticks.
 */
struct vg_dumping {
	struct vg_flight flight;
	struct vg_dump dump;         /* the one in progress */
	struct vg_watchdog watchdog;
	enum vg_dumping_for who;
	int fd;                      /* of the dump in progress; the host's ones are owned */
	uint64_t stall_ns;           /* the recording's time when the stall was found */
	uint64_t late_ns;            /* of the heartbeat then, if that is not written yet */
	uint64_t flush_ns;           /* when what the watchdog's has is to be in the file */
	void (*done)(void *context, int rc); /* is told of the end of the host's */
	void *context;
	uint64_t samples, events;    /* in the last dump of all */
	uint64_t file_bytes;
	uint32_t threads;
};

/* Makes the recording keep its last seconds in memory, if its options say so. */
void vg_dumping_open(struct vg_recording *recording);
void vg_dumping_close(struct vg_recording *recording);

/* Begins a dump for the host into fd, which is then owned; `done` is called when it is written.  One
 * of a stall that is in progress ends there.  0; -ENOTSUP: there is no flight recorder; -EBUSY. */
int vg_dumping_ask(struct vg_session *session, struct vg_recording *recording, int fd,
		   void (*done)(void *context, int rc), void *context);

/* One turn of the loop: writes a slice, and looks after the heartbeat. */
void vg_dumping_turn(struct vg_session *session);

/* Whether there is something to write at once. */
bool vg_dumping_busy(const struct vg_session *session);

/* The recording has ended: ends the dump in progress, and writes the last one into its file.  0 or
 * what that failed with. */
int vg_dumping_last(struct vg_session *session, struct vg_recording *recording);

#endif

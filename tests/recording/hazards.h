/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_TESTS_HAZARDS_H
#define VG_TESTS_HAZARDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libvgctl/vgctl.h"

/* One hazard: run in a process of its own, in an empty directory that everyone may write to.  It
 * returns if all is as it should be, or ends by ensure(). */
struct hazard {
	const char *name;
	void (*run)(void);
};

extern const struct hazard process_hazards[], identity_hazards[], policy_hazards[];

enum { NOBODY = 65534 };
/* A sanitizer's start takes longer, and it cannot live without memory. */
#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#define PROFILE "hazard.vgp"

/* Rounds of a loop: the first number in check, the second with SOAK. */
int rounds(int few, int many);

/* Unless good, says what is wrong and ends the process. */
void ensure(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));

void spin_ms(int ms);

/* Its wait status. */
int await(pid_t child);

/* Begins at that rate, and is sure of it. */
struct vgctl_session *begin(unsigned int rate_hz);

/* Fails to begin with that error, and with these words in its sentence; leaves nothing behind. */
void begin_refused(int error, const char *words);

/* The helper of the hazard's process, or 0. */
pid_t helper_of(pid_t host);

/* Waits until that is gone, and is sure of it. */
void helper_gone(pid_t host);

/* How the next recordings from outside are taken: "stop", initially, or "auto". */
extern const char *record_capture;

/* vignetted --pid on that process as user `uid`, for `ms` or until the process ends; its exit
 * status. */
int record_outside(pid_t pid, uid_t uid, const char *rate, int ms);
pid_t record_start(pid_t pid, uid_t uid, const char *rate);
int record_stop(pid_t helper, int ms);

/* Waits until that has begun: it has written something. */
void record_await(void);

/* What a profile says. */
struct found {
	uint64_t samples, forbidden, stops;
	uint64_t lost;               /* but for ticks that were skipped */
	uint64_t latest_ns;          /* of any sample */
	uint64_t latest_of_second_ns; /* of the second thread's */
	uint64_t duration_ns;
	char reason[64];             /* "" if it has no end */
	int threads;
	int tids[64];
	uint64_t samples_of[64];
};
void profile_look(const char *path, struct found *found);

/* The state of a thread as proc(5) has it. */
char state_of(pid_t pid, pid_t tid);
int descriptors_open(void);

#endif

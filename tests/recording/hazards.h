/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_TESTS_HAZARDS_H
#define VG_TESTS_HAZARDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libvgctl/vgctl.h"

/* run() runs in a process of its own, as root, in an empty directory that everyone may write to.  It returns if all is
 * right; otherwise ensure() ends the process. */
struct hazard {
	const char *name;
	void (*run)(void);
};

extern const struct hazard process_hazards[], identity_hazards[], policy_hazards[];

enum { NOBODY = 65534 };
/* A sanitized program starts later, and needs mmap(2) all the time. */
#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#define PROFILE "hazard.vgp"

/* The number of rounds of a loop: `few`, or `many` with SOAK. */
int rounds(int few, int many);

/* What a hazard waits for must happen within this time.  It is a guard against hanging, and not an expectation. */
enum { WAIT_MAX_MS = 120 * 1000 };

/* If `good` is false, prints the message and ends the process. */
void ensure(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));

void spin_ms(int ms);

/* Waits for the child; returns its wait status. */
int await(pid_t child);

/* Begins a session at that rate; vgctl_begin() must succeed. */
struct vgctl_session *begin(unsigned int rate_hz);

/* Lets the session sample this thread while it runs, and five times in vgctl_sample(), which must succeed.  On a busy
 * machine some samples are lost, because the thread does not stop in time. */
void session_use(struct vgctl_session *session);

/* The same.  Then ends the session, which must have samples. */
void session_works(struct vgctl_session *session);

/* vgctl_begin() must fail with that error and with this text in its message, and leave nothing behind. */
void begin_refused(int error, const char *text);

/* The helper of the hazard's process, or 0. */
pid_t helper_of(pid_t host);

/* Waits until the helper has ended. */
void helper_wait(pid_t host);

/* The option --capture of the next recordings: "stop" (initially) or "auto". */
extern const char *record_capture;

/* record_start() starts `vignetted --pid` on that process as user `uid`.  record_stop() waits until vignetted has ended
 * by itself; `ms` after the begin of the recording, it sends SIGINT.  Returns the exit status, or -1 if a signal has
 * killed vignetted. */
pid_t record_start(pid_t pid, uid_t uid, const char *rate);
int record_stop(pid_t helper, int ms);

/* Waits until vignetted has written the first bytes of the profile.  By then it handles signals. */
void record_await(void);

/* The figures of a profile that the hazards check. */
struct found {
	uint64_t samples, stops;
	uint64_t lost;               /* samples, skipped ticks excluded */
	uint64_t forbidden;          /* samples that were lost because the thread could not be traced */
	uint64_t latest_ns;          /* time of the latest sample */
	uint64_t latest_of_second_ns[3]; /* times of the second thread's latest samples, the last one first */
	uint64_t duration_ns;
	char reason[64];             /* why the recording ended, or "" if the profile has no end */
	int threads;
	int tids[64];
	uint64_t samples_of[64];
};
void found_read(const char *path, struct found *found);

/* Records the process, for longer and longer, until each of the profile's first `threads` threads has that many
 * samples.  On a busy machine a short recording may have none. */
void record_until(pid_t pid, const char *rate, int threads, uint64_t samples, struct found *found);

/* The state of a thread, as in proc(5). */
char state_of(pid_t pid, pid_t tid);

/* Whether the process sleeps in clock_nanosleep(2), or has ended. */
bool is_pausing(pid_t pid);

/* How often the process has waited, or a large number. */
unsigned long waits_of(pid_t pid);

/* The number of entries of a directory, without . and .. */
int entries(const char *path);

#endif

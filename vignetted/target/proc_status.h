/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_PROC_STATUS_H
#define VG_VIGNETTED_PROC_STATUS_H

#include <stdbool.h>
#include <sys/types.h>

/* These functions read /proc/PID/status.  PID 0: our own status.  `key` includes the colon: "Uid:". */

enum { VG_PROC_STATUS_BYTES = 256 };

/* The text behind the key, or "". */
void vg_proc_status_text(pid_t pid, const char *key, char text[VG_PROC_STATUS_BYTES]);

/* The number behind the key, or -1. */
long vg_proc_status_number(pid_t pid, const char *key);

/* Whether we have this capability in our effective set. */
bool vg_proc_status_capable(int capability);

#endif

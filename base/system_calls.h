/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_SYSTEM_CALLS_H
#define VG_BASE_SYSTEM_CALLS_H

#include <sys/syscall.h>

/* System calls that the kernel's headers of Debian 11 do not have.  They have these numbers on every machine. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_SYSTEM_CALLS_H
#define VG_BASE_SYSTEM_CALLS_H

#include <stdint.h>
#include <sys/syscall.h>

/* System calls that the headers of Debian 11 do not have, with their numbers on x86-64, AArch64 and RISC-V.  Some other
 * machines have other numbers, and need the headers of glibc 2.35 or later. */
#if (defined __x86_64__ && defined __LP64__) || defined __aarch64__ || defined __riscv
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
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

/* struct sched_attr of sched_setattr(2), which some C libraries do not declare.  The name differs from sched_attr,
 * because other C libraries do declare that struct. */
struct vg_sched_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

#endif

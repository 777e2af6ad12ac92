/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_PERMISSION_H
#define VG_VIGNETTED_PERMISSION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether a process can be recorded, and if not, which setting or permission forbids it.  The functions are pure.
 * target/access.h reads the facts, and has the error messages.
 */
enum vg_permission {
	VG_PERMITTED,
	VG_FORBIDDEN_TRACED,         /* another process traces it all the time */
	VG_FORBIDDEN_OTHER_USER,
	VG_FORBIDDEN_NOT_DUMPABLE,
	VG_FORBIDDEN_YAMA_ANCESTORS, /* ptrace_scope 1 */
	VG_FORBIDDEN_YAMA_CAPABILITY, /* ptrace_scope 2 */
	VG_FORBIDDEN_YAMA_NEVER,     /* ptrace_scope 3 */
	VG_FORBIDDEN_POLICY,         /* capabilities of the process, or a security module */
	VG_FORBIDDEN_FILTER,         /* our own seccomp filter forbids a system call that we need */
	VG_FORBIDDEN_32_BIT,
	VG_FORBIDDEN_MACHINE,        /* a program for another machine */
};

struct vg_permission_facts {
	bool traced;
	bool readable;               /* /proc/PID/syscall can be read, which needs the permission to trace */
	bool root;                   /* our user is root */
	bool process_of_root, same_user;
	bool dumpable;               /* as far as the owner of /proc/PID/fd shows it */
	int yama_scope;              /* kernel.yama.ptrace_scope; -1: no Yama */
	bool filtered;               /* our own seccomp filter forbids a system call that we need */
	bool is_32_bit, other_machine; /* of the executable; false: no, or not known */
};

/* Whether we may trace the process.  Every method of sampling needs this permission. */
enum vg_permission vg_permission_trace(const struct vg_permission_facts *facts);

/* Whether the executable's machine is ours. */
enum vg_permission vg_permission_machine(const struct vg_permission_facts *facts);

/* The first reason why a recording is not possible: no permission, a filter, or the machine. */
enum vg_permission vg_permission_record(const struct vg_permission_facts *facts);

/* Whether a command that vignetted starts may be traced.  It is our child and of our user. */
enum vg_permission vg_permission_command(int yama_scope, bool has_sys_ptrace);

/* Whether the samples that attempts have lost mean that the kernel refuses to attach: `forbidden` could not attach, and
 * `not_stopped` could, but no thread stopped in time.  Another tracer that holds a thread for a moment makes one
 * attempt forbidden, and a thread that gets no CPU the next one not stopped. */
bool vg_permission_is_refused(uint64_t forbidden, uint64_t not_stopped);

/* Whether timers can be opened. */
enum vg_timer_permission {
	VG_TIMERS_PERMITTED,
	VG_TIMERS_OF_USER_CODE,      /* only in user code: perf_event_paranoid is 2 */
	VG_TIMERS_PARANOID,          /* perf_event_paranoid is 3 or more */
	VG_TIMERS_POLICY,            /* a seccomp filter or another policy */
	VG_TIMERS_UNAVAILABLE,       /* another error of perf_event_open(2) */
};

/* `rc`: the result of opening a timer, 0 or a negative errno.  `user_only`: only a timer of user code could be
 * opened. */
enum vg_timer_permission vg_permission_timers(int rc, bool user_only, int paranoid_level, bool has_perfmon);

#endif

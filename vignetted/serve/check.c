/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/check.h"

#include <errno.h>
#include <linux/capability.h>
#include <unistd.h>

#include "base/print.h"
#include "vignetted/capture/counters.h"
#include "vignetted/capture/timers.h"
#include "vignetted/target/access.h"
#include "vignetted/target/kernel_symbols.h"
#include "vignetted/target/target.h"

/* Prints an answer.  `why` says why it is no; NULL: it is yes. */
static void answer_print(const char *question, const struct vg_err *why)
{
	vg_print(stdout, "%s: %s%s\n", question, why == NULL ? "yes" : "no: ", why == NULL ? "" : why->text);
}

/* Returns whether the answer is yes.  If it is no, no recording is possible. */
static bool permission_print(const char *question, const struct vg_access *access, enum vg_permission permission)
{
	struct vg_err why;
	bool good = vg_access_error(access, permission, &why) == 0;

	answer_print(question, good ? NULL : &why);
	return good;
}

/* Tries to open a timer of the process.  Sets err to what is not permitted. */
static enum vg_timer_permission timers_try(pid_t pid, struct vg_err *err)
{
	bool user_only = false;
	int level = vg_counters_paranoid_level(), rc = vg_timers_try(pid, &user_only);
	enum vg_timer_permission permission = vg_permission_timers(rc, user_only, level,
								   vg_proc_status_capable(CAP_PERFMON));
	char own[VG_ACCESS_PATH_BYTES];

	vg_access_own_path(own);
	switch (permission) {
	case VG_TIMERS_PERMITTED:
		break;
	case VG_TIMERS_OF_USER_CODE:
		vg_err_set(err, rc, "kernel.perf_event_paranoid is %d, so the kernel samples only user code; let root "
			   "run: sysctl kernel.perf_event_paranoid=1, or setcap cap_perfmon,cap_sys_ptrace+ep %s",
			   level, own);
		break;
	case VG_TIMERS_PARANOID:
		vg_err_set(err, rc, "kernel.perf_event_paranoid is %d, so threads are stopped instead; let root run: "
			   "sysctl kernel.perf_event_paranoid=1, or setcap cap_perfmon,cap_sys_ptrace+ep %s",
			   level, own);
		break;
	case VG_TIMERS_POLICY:
		vg_err_set(err, rc, "perf_event_open(2) is forbidden by a container's seccomp filter or another "
			   "policy, so threads are stopped instead");
		break;
	case VG_TIMERS_UNAVAILABLE:
		vg_err_sys(err, rc, "perf_event_open(2) fails, so threads are stopped instead");
		break;
	}
	return permission;
}

static int kernel_names_check(struct vg_err *err)
{
	struct vg_kernel_symbols symbols;
	int rc = vg_kernel_symbols_open(&symbols, err);

	vg_kernel_symbols_close(&symbols);
	return rc;
}

/* Tries to open a timer of the process, or of ourselves if no process was given. */
static void timers_print(pid_t pid)
{
	struct vg_err why;
	enum vg_timer_permission permission = timers_try(pid != 0 ? pid : getpid(), &why);
	bool all = permission == VG_TIMERS_PERMITTED, any = all || permission == VG_TIMERS_OF_USER_CODE;

	answer_print("sample running threads by timers", any ? NULL : &why);
	if (any)
		answer_print("sample kernel code by timers", all ? NULL : &why);
	if (all)
		answer_print("record the functions of the kernel (--kernel)",
			     kernel_names_check(&why) == 0 ? NULL : &why);
}

int vg_check_kernel(struct vg_err *err)
{
	struct vg_err why;
	enum vg_timer_permission permission = timers_try(getpid(), &why);
	int rc = permission == VG_TIMERS_PERMITTED ? kernel_names_check(&why) : -EPERM;

	return rc == 0 ? 0 : vg_err_set(err, rc, "--kernel: %s", why.text);
}

int vg_check_print(pid_t pid, bool *possible, struct vg_err *err)
{
	struct vg_target target;
	struct vg_access access;
	int rc = vg_target_open(&target, pid != 0 ? pid : getpid(), err);

	if (rc != 0)
		return rc;
	vg_target_close(&target);
	if (pid == 0) {
		vg_access_read_own(&access);
		*possible = permission_print("trace a command that vignetted starts", &access,
					     vg_permission_command(access.facts.yama_scope,
								   vg_proc_status_capable(CAP_SYS_PTRACE)));
	} else {
		vg_access_read(&access, pid);
		*possible = permission_print("trace the process", &access, vg_permission_trace(&access.facts));
	}
	if (*possible || access.facts.filtered)
		*possible &= permission_print("sample threads by stops", &access,
					      access.facts.filtered ? VG_FORBIDDEN_FILTER : VG_PERMITTED);
	/* 0: the executable cannot be read. */
	if (access.machine != 0)
		*possible &= permission_print("unwind the program, which is for this machine", &access,
					      vg_permission_machine(&access.facts));
	if (*possible)
		timers_print(pid);
	return 0;
}

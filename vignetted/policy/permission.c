/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/policy/permission.h"

#include <errno.h>

/* The greatest kernel.perf_event_paranoid with which a user may open timers of user code. */
enum { PARANOID_USER = 2 };

static enum vg_permission yama_decide(int scope)
{
	switch (scope) {
	case 1: return VG_FORBIDDEN_YAMA_ANCESTORS;
	case 2: return VG_FORBIDDEN_YAMA_CAPABILITY;
	case 3: return VG_FORBIDDEN_YAMA_NEVER;
	}
	return VG_FORBIDDEN_POLICY;
}

enum vg_permission vg_permission_trace(const struct vg_permission_facts *facts)
{
	if (facts->traced)
		return VG_FORBIDDEN_TRACED;
	if (facts->readable)
		return VG_PERMITTED;
	if (!facts->root && !facts->same_user)
		return VG_FORBIDDEN_OTHER_USER;
	if (!facts->root && !facts->process_of_root && !facts->dumpable)
		return VG_FORBIDDEN_NOT_DUMPABLE;
	return yama_decide(facts->yama_scope);
}

enum vg_permission vg_permission_machine(const struct vg_permission_facts *facts)
{
	if (facts->is_32_bit)
		return VG_FORBIDDEN_32_BIT;
	return facts->other_machine ? VG_FORBIDDEN_MACHINE : VG_PERMITTED;
}

enum vg_permission vg_permission_record(const struct vg_permission_facts *facts)
{
	enum vg_permission permission = vg_permission_trace(facts);

	if (permission == VG_PERMITTED && facts->filtered)
		permission = VG_FORBIDDEN_FILTER;
	return permission != VG_PERMITTED ? permission : vg_permission_machine(facts);
}

enum vg_permission vg_permission_command(int yama_scope, bool has_sys_ptrace)
{
	if (yama_scope == 3 || (yama_scope == 2 && !has_sys_ptrace))
		return yama_decide(yama_scope);
	return VG_PERMITTED;
}

bool vg_permission_is_refused(uint64_t forbidden, uint64_t not_stopped)
{
	return forbidden > 0 && not_stopped == 0;
}

enum vg_timer_permission vg_permission_timers(int rc, bool user_only, int paranoid_level, bool has_perfmon)
{
	if (rc == 0)
		return user_only ? VG_TIMERS_OF_USER_CODE : VG_TIMERS_PERMITTED;
	if (rc != -EACCES && rc != -EPERM && rc != -ENOSYS)
		return VG_TIMERS_UNAVAILABLE;
	return paranoid_level > PARANOID_USER && !has_perfmon ? VG_TIMERS_PARANOID : VG_TIMERS_POLICY;
}

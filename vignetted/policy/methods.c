/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/policy/methods.h"

enum vg_method vg_method_choose(bool running, bool has_timers, bool cpu_only)
{
	if (running)
		return has_timers ? VG_METHOD_TIMER : VG_METHOD_STOP;
	return cpu_only ? VG_METHOD_PASS : VG_METHOD_READ;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/policy/methods.h"

struct vg_methods vg_methods_choose(const struct vg_methods_due *due)
{
	struct vg_methods methods = { .repeat = due->set & due->same_slice & ~due->stack_changed };
	vg_recording_set left = due->set & ~methods.repeat;

	if (due->running) {
		methods.timer = left & due->timers;
		methods.stop = left & ~due->timers;
	} else {
		methods.pass = left & due->cpu_only;
		methods.read = left & ~due->cpu_only;
	}
	return methods;
}

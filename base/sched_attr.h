/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_SCHED_ATTR_H
#define VG_BASE_SCHED_ATTR_H

#include <stdint.h>

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

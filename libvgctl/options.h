/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_OPTIONS_H
#define VG_LIBVGCTL_OPTIONS_H

#include "libvgctl/vgctl.h"
#include "libvgctl/wire.h"

/* Copies the given options, or the defaults if `given` is NULL, to *options.  Replaces VGCTL_RATE_AUTO and
 * VGCTL_BUDGET_AUTO by the numbers that they stand for.  Returns 0, -EINVAL, or -E2BIG if an option is set that this
 * version does not know.  After a failure, vgctl_strerror() returns a sentence about it. */
int vg_options_check(const struct vgctl_options *given, struct vgctl_options *options);

/* Converts options that vg_options_check() has checked to a message for the helper. */
void vg_options_begin(const struct vgctl_options *options, struct vg_wire_begin *begin);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_OPTIONS_H
#define VG_LIBVGCTL_OPTIONS_H

#include "libvgctl/vgctl.h"
#include "libvgctl/wire.h"

/* Copies the given options, which may be NULL, and fills in the defaults.  0, or -EINVAL with the sentence for
 * vgctl_strerror(). */
int vg_options_check(const struct vgctl_options *given, struct vgctl_options *options);

/* Translates options that vg_options_check() returned into the message to the helper. */
void vg_options_begin(const struct vgctl_options *options, struct vg_wire_begin *begin);

#endif

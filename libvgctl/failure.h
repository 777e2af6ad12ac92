/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_FAILURE_H
#define VG_LIBVGCTL_FAILURE_H

/* Sets the sentence that vgctl_strerror() returns for this code in the calling thread.  A NULL format
 * selects the general sentence for the code.  Returns code:
 *
 *     return vg_failure(-EINVAL, "rate_hz: %u is not 0 to 10000", rate_hz);
 */
int vg_failure(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

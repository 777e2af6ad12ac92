/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_FAILURE_H
#define VG_LIBVGCTL_FAILURE_H

/* Keeps the sentence for this thread's vgctl_strerror(), and returns code.  A NULL format
 * keeps the code's general sentence. */
int vg_failure(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

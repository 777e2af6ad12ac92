/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CONTROL_H
#define VG_VIGNETTED_CONTROL_H

/*
 * The helper's life when libvgctl has started it: greets the host on `socket`, samples it as it and,
 * if it wants that, others ask, and returns when the files are complete because the host asked for
 * that or is gone.  The exit status of the helper.
 */
int vg_control_serve(int socket, int signals);

#endif

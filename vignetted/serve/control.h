/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CONTROL_H
#define VG_VIGNETTED_CONTROL_H

/*
 * main() calls this function in a helper that libvgctl has started.  Greets the host on `socket`, and serves its
 * requests.  Also serves other processes if the host asks for that.  Ends when the host closes its connections or
 * exits, or at a signal; all files are then complete.  `signals` is from vg_loop_signals().  Returns the exit status of
 * the helper.
 */
int vg_control_serve(int socket, int signals);

#endif

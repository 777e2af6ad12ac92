/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_BROWSER_H
#define VG_VGTOOL_BROWSER_H

#include <stdbool.h>

/* True if this process can open a browser that its user sees: standard error is a terminal, $DISPLAY or
 * $WAYLAND_DISPLAY is set, and neither ssh nor sudo started the session.  A browser over ssh would run on the wrong
 * machine, and one under sudo as the wrong user. */
bool vg_browser_can_open(void);

/* Starts the program $BROWSER, or else xdg-open, with the absolute path of the file as its argument, and does not wait
 * for it.  The program is in a session of its own, and its input and output are /dev/null.  The calling process must
 * not be confined.  Returns 0 or a negative errno. */
int vg_browser_open(const char *path);

#endif

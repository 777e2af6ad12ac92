/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_BROWSER_H
#define VG_VGTOOL_BROWSER_H

#include <stdbool.h>

/* True if this process can open a browser that its user sees: standard error is a terminal, $DISPLAY or
 * $WAYLAND_DISPLAY is set, neither ssh nor sudo nor doas started the session, and this user is not root.  A browser
 * over ssh would run on the wrong machine, and one under sudo as the wrong user.  su(1) leaves no variable, so root
 * never starts one. */
bool vg_browser_can_open(void);

/* Starts the program $BROWSER, or else xdg-open, with the absolute path of the file as its argument, and does not wait
 * for it.  The program is in a session of its own, and its input and output are /dev/null.  The calling process must
 * not be confined.  Returns the name of the program, which may fail later, or NULL if no program was started. */
const char *vg_browser_open(const char *path);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SCREEN_H
#define VG_VGTOOL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <termios.h>

#include "base/err.h"

/*
 * A terminal that is drawn again and again: its alternate screen, without echo, and with keys that are read at once.
 *
 *	vg_screen_open(&screen, &err);
 *	vg_screen_enter(&screen);
 *	if (vg_screen_begin(&screen)) {
 *		vg_screen_line(&screen, true, "heading");
 *		vg_screen_end(&screen);
 *	}
 *	vg_screen_leave(&screen);                (before the process ends or stops)
 */

/* Further rows and columns of a larger terminal stay empty. */
enum { VG_SCREEN_ROWS_MAX = 500, VG_SCREEN_COLUMNS_MAX = 500 };

struct vg_screen {
	size_t rows, columns;        /* after vg_screen_begin(); 1 or more */
	int output;                  /* descriptor of the terminal */
	bool is_entered;             /* the terminal is ours: it can be drawn, and keys can be read */

	/* Private: */
	struct termios before;       /* settings of the terminal to restore */
	bool has_styles;
	FILE *frame;                 /* what is drawn, in memory */
	char *text;
	size_t bytes, row;
};

/* Checks that standard input and output are a terminal that can be drawn again.  Returns 0, or a negative errno with
 * a message in err. */
int vg_screen_open(struct vg_screen *screen, struct vg_err *err);

/* Changes the terminal.  Does nothing in the background.  Call it again after the process was stopped, because another
 * program has then used the terminal. */
void vg_screen_enter(struct vg_screen *screen);

/* Restores the terminal.  Does nothing if the terminal is restored already. */
void vg_screen_leave(struct vg_screen *screen);

/* Reads the size of the terminal and begins a frame.  Returns false if nothing can be drawn now: the process is in the
 * background, or the other end of the terminal does not read. */
bool vg_screen_begin(struct vg_screen *screen);

/* Adds a line, cut to the width of the terminal.  Control characters in the text are shown as vg_print() does.  A line
 * below the last row is ignored. */
void vg_screen_line(struct vg_screen *screen, bool is_bold, const char *text);

/* Draws the frame.  If the other end of the terminal does not read for a second, a part of the frame is lost. */
void vg_screen_end(struct vg_screen *screen);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_TERMINAL_H
#define VG_VGTOOL_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * The width and colours of standard output.
 *
 *	vg_terminal_read(&terminal);              (before the process is confined)
 *	vg_terminal_line(&terminal, "%s: %zu samples", program, count);
 *	vg_terminal_fit(stdout, name, vg_terminal_room(&terminal, 20));
 */
struct vg_terminal {
	bool is_terminal;            /* standard output is a terminal */
	bool colors;
	size_t columns;              /* 0: unlimited */
};

enum vg_color {
	VG_COLOR_PLAIN,
	VG_COLOR_BOLD,
	VG_COLOR_FAINT,
	VG_COLOR_RED,
};

/* The width is COLUMNS if set, else that of the terminal.  Without a terminal and COLUMNS it is unlimited.  A terminal
 * has colours unless NO_COLOR is set and not empty, or TERM is "dumb".  Other outputs have no colours. */
void vg_terminal_read(struct vg_terminal *terminal);

/* The columns that are left after `used` columns, at least 8; SIZE_MAX if the width is unlimited. */
size_t vg_terminal_room(const struct vg_terminal *terminal, size_t used);

/* Begins a colour on standard output, or ends it (VG_COLOR_PLAIN).  Does nothing without colours. */
void vg_terminal_color(const struct vg_terminal *terminal, enum vg_color color);

/* Prints a line on standard output, like vg_print() with a newline.  Breaks it at blanks if it is too wide. */
void vg_terminal_line(const struct vg_terminal *terminal, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The columns that vg_print() needs for the text.  Wide characters of East Asia have two columns. */
size_t vg_terminal_width(const char *text);

/* Prints the text like vg_print().  If the text needs more than `columns` columns, "..." replaces its
 * middle. */
void vg_terminal_fit(FILE *file, const char *text, size_t columns);

/* Prints as much of the beginning of the text as fits into `columns` columns, like vg_print(). */
void vg_terminal_cut(FILE *file, const char *text, size_t columns);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* vgtool/output/screen.h, on a terminal of its own. */
#include <check.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/suites.h"
#include "vgtool/output/screen.h"

#define ENTER "\033[?1049h\033[?25l\033[H\033[2J"
#define LEAVE "\033[?25h\033[?1049l"
#define LINE "\033[2K"

/* Runs in the child: the terminal is its standard input and output, and it is in the foreground. */
static int lines_draw(void)
{
	struct vg_screen screen;
	struct vg_err err;

	if (vg_screen_open(&screen, &err) != 0)
		return 1;
	if (vg_screen_begin(&screen))
		return 2;            /* before vg_screen_enter() */
	vg_screen_enter(&screen);
	if (!vg_screen_begin(&screen) || screen.rows != 5 || screen.columns != 20)
		return 3;
	vg_screen_line(&screen, true, "bold");
	vg_screen_line(&screen, false, "\033[31m\233\302\233\r\n\a");
	vg_screen_line(&screen, false, "a line that is longer than the terminal");
	vg_screen_end(&screen);
	if (!vg_screen_begin(&screen))
		return 4;
	for (int i = 0; i < 9; i++)
		vg_screen_line(&screen, false, "row");
	vg_screen_end(&screen);
	vg_screen_leave(&screen);
	vg_screen_leave(&screen);
	return 0;
}

/* Returns what the child has written to the terminal, without the carriage returns.  The caller frees it. */
static char *drawn(int (*draw)(void), int *status)
{
	struct winsize size = { .ws_row = 5, .ws_col = 20 };
	size_t length = 0, kept = 0;
	char *text = calloc(1, 65536);
	int terminal;
	pid_t child = forkpty(&terminal, NULL, NULL, &size);
	ssize_t got;

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		setenv("TERM", "xterm", 1);
		unsetenv("NO_COLOR");
		_exit(draw());
	}
	while (length < 65535 && (got = read(terminal, text + length, 65535 - length)) > 0)
		length += (size_t)got;
	ck_assert_int_eq(waitpid(child, status, 0), child);
	close(terminal);
	for (size_t i = 0; i < length; i++) {
		if (text[i] != '\r')
			text[kept++] = text[i];
	}
	text[kept] = '\0';
	return text;
}

START_TEST(lines_and_nothing_else)
{
	int status;
	char *text = drawn(lines_draw, &status);

	ck_assert_int_eq(status, 0);
	ck_assert_str_eq(text, ENTER
			 "\033[H" LINE "\033[1mbold\033[0m\n" LINE "\\x1b[31m\\x9b\\u009b\n"
			 LINE "a line that is longe\n"
			 LINE "\n" LINE
			 "\033[H" LINE "row\n" LINE "row\n" LINE "row\n" LINE "row\n" LINE "row" LEAVE);
	free(text);
}
END_TEST

static int dumb_open(void)
{
	struct vg_screen screen;
	struct vg_err err;

	setenv("TERM", "dumb", 1);
	return vg_screen_open(&screen, &err) < 0 && strstr(err.text, "use vgtool record") != NULL ? 0 : 1;
}

START_TEST(dumb_terminal)
{
	int status;
	char *text = drawn(dumb_open, &status);

	ck_assert_int_eq(status, 0);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

Suite *screen_suite(void)
{
	Suite *suite = suite_create("screen");
	TCase *cases = tcase_create("screen");

	tcase_add_test(cases, lines_and_nothing_else);
	tcase_add_test(cases, dumb_terminal);
	suite_add_tcase(suite, cases);
	return suite;
}

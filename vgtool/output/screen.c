/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/output/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "vgtool/output/terminal.h"

/* Control sequences of xterm, which all terminals of today know: the alternate screen, and the cursor. */
static const char enter[] = "\033[?1049h\033[?25l\033[H\033[2J", leave[] = "\033[?25h\033[?1049l";

enum { ROWS_DEFAULT = 24, COLUMNS_DEFAULT = 80, WRITE_WAIT_MS = 1000 };

/* A descriptor of our own can be nonblocking: the other processes that use the terminal do not expect that of standard
 * output. */
static int output_open(void)
{
	struct stat in, out;
	int fd = -1;

	if (fstat(STDIN_FILENO, &in) == 0 && fstat(STDOUT_FILENO, &out) == 0 && in.st_rdev == out.st_rdev)
		fd = vg_descriptor_raise(open("/dev/tty", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	return fd >= 0 ? fd : vg_descriptor_raise(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
}

int vg_screen_open(struct vg_screen *screen, struct vg_err *err)
{
	const char *type = getenv("TERM");
	struct vg_terminal terminal;

	*screen = (struct vg_screen){ 0 };
	if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
		return vg_err_set(err, -ENOTTY, "standard input and output must be a terminal; use vgtool record");
	if (type == NULL || *type == '\0' || strcmp(type, "dumb") == 0)
		return vg_err_set(err, -ENOTTY, "$TERM: the terminal cannot be drawn again; use vgtool record");
	if (tcgetattr(STDIN_FILENO, &screen->before) != 0)
		return vg_err_sys(err, -errno, "cannot read the settings of the terminal");
	screen->output = output_open();
	if (screen->output < 0)
		return vg_err_sys(err, screen->output, "cannot open the terminal");
	vg_terminal_read(&terminal);
	screen->has_styles = terminal.colors;
	return 0;
}

/* In the background, changing the terminal would stop the process (SIGTTOU). */
static bool in_foreground(void)
{
	return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* Gives up if the other end of the terminal does not read, because keys and signals must still end the program.  Also
 * ignores that the terminal is closed: a signal or the end of its input ends the program. */
static void output_write(const struct vg_screen *screen, const char *bytes, size_t count)
{
	while (count > 0 && vg_descriptor_accepts(screen->output, WRITE_WAIT_MS)) {
		ssize_t wrote = write(screen->output, bytes, count);

		if (wrote <= 0)
			return;
		bytes += wrote;
		count -= (size_t)wrote;
	}
}

void vg_screen_enter(struct vg_screen *screen)
{
	struct termios settings = screen->before;

	screen->is_entered = in_foreground();
	if (!screen->is_entered)
		return;
	settings.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	/* Ctrl-S would stop the output, and with it the end of the program. */
	settings.c_iflag &= ~(tcflag_t)IXON;
	settings.c_cc[VMIN] = 1;
	settings.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &settings);
	output_write(screen, enter, sizeof enter - 1);
}

void vg_screen_leave(struct vg_screen *screen)
{
	if (!screen->is_entered || !in_foreground())
		return;
	screen->is_entered = false;
	output_write(screen, leave, sizeof leave - 1);
	/* Keys that were not read are dropped: they were not meant for the shell. */
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen->before);
}

static void size_read(struct vg_screen *screen)
{
	struct winsize size = { 0 };

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	screen->rows = size.ws_row > 0 ? size.ws_row : ROWS_DEFAULT;
	screen->columns = size.ws_col > 0 ? size.ws_col : COLUMNS_DEFAULT;
	if (screen->rows > VG_SCREEN_ROWS_MAX)
		screen->rows = VG_SCREEN_ROWS_MAX;
	if (screen->columns > VG_SCREEN_COLUMNS_MAX)
		screen->columns = VG_SCREEN_COLUMNS_MAX;
}

bool vg_screen_begin(struct vg_screen *screen)
{
	size_read(screen);
	if (!screen->is_entered || !in_foreground() || !vg_descriptor_accepts(screen->output, 0))
		return false;
	screen->row = 0;
	screen->frame = open_memstream(&screen->text, &screen->bytes);
	if (screen->frame == NULL)
		return false;
	fputs("\033[H", screen->frame);
	return true;
}

void vg_screen_line(struct vg_screen *screen, bool is_bold, const char *text)
{
	is_bold = is_bold && screen->has_styles;
	if (screen->row == screen->rows)
		return;
	/* A newline after the last row would scroll the screen. */
	if (screen->row++ > 0)
		fputs("\r\n", screen->frame);
	/* The line is erased first: behind a text that fills the line, the sequence would erase the last character. */
	fputs("\033[2K", screen->frame);
	if (is_bold)
		fputs("\033[1m", screen->frame);
	vg_terminal_cut(screen->frame, text, screen->columns);
	if (is_bold)
		fputs("\033[0m", screen->frame);
}

void vg_screen_end(struct vg_screen *screen)
{
	while (screen->row < screen->rows)
		vg_screen_line(screen, false, "");
	if (fclose(screen->frame) == 0)
		output_write(screen, screen->text, screen->bytes);
	screen->frame = NULL;
	free(screen->text);
	screen->text = NULL;
}

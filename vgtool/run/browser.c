/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0';
}

bool vg_browser_can_open(void)
{
	return isatty(STDERR_FILENO) == 1 && geteuid() != 0 && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")) &&
	       !is_set("SSH_CONNECTION") && !is_set("SUDO_UID") && !is_set("DOAS_USER");
}

/* Both C libraries return the errno of the failed execve(2). */
static bool program_start(const char *program, const char *file)
{
	char *arguments[] = { (char *)program, (char *)file, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	pid_t pid;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc != 0)
		return false;
	rc = posix_spawnattr_init(&attributes);
	if (rc == 0) {
		for (int fd = STDIN_FILENO; rc == 0 && fd <= STDERR_FILENO; fd++)
			rc = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
		if (rc == 0)
			rc = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
		if (rc == 0)
			rc = posix_spawnp(&pid, program, &actions, &attributes, arguments, environ);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return rc == 0;
}

const char *vg_browser_open(const char *path)
{
	char *file = realpath(path, NULL);
	const char *program = NULL;

	/* $BROWSER may also be a list of commands.  Then there is no such program, and xdg-open reads the list. */
	if (file != NULL && is_set("BROWSER") && program_start(getenv("BROWSER"), file))
		program = getenv("BROWSER");
	else if (file != NULL && program_start("xdg-open", file))
		program = "xdg-open";
	free(file);
	return program;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/launch.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

int vg_launch(char *const *command, pid_t *pid, struct vg_err *err)
{
	posix_spawnattr_t attributes;
	sigset_t none, ours;
	int rc;

	sigemptyset(&none);
	sigemptyset(&ours);              /* the signals that vg_loop_signals() ignores */
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &ours);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawnp(pid, command[0], NULL, &attributes, command, environ);
	posix_spawnattr_destroy(&attributes);
	return rc == 0 ? 0 : vg_err_sys(err, -rc, "%s: cannot run this command", command[0]);
}

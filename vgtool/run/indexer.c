/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/indexer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/hash.h"
#include "base/output_path.h"
#include "base/system_calls.h"
#include "vgtool/run/confine.h"
#include "vgtool/run/server_path.h"

/* Writes the path of the store's index to `path`, and makes the directories above it.  Does not follow links in the
 * store's path: a link such as /proc/PID/root leads to a path in another mount namespace. */
static bool path_make(const char *store, char path[PATH_MAX])
{
	static const struct vg_hash_key key = { { 0, 0 } };  /* the same in each run */
	char *cache, *working = *store == '/' ? strdup("") : getcwd(NULL, 0), *absolute = NULL;
	int length = -1;

	if (working != NULL && asprintf(&absolute, "%s/%s", working, store) < 0)
		absolute = NULL;
	free(working);
	if (absolute != NULL && vg_cache_directory(&cache) == 0 && cache != NULL) {
		length = snprintf(path, PATH_MAX, "%s/indexes/%016" PRIx64 "/index", cache,
				  vg_hash(&key, absolute, strlen(absolute)));
		free(cache);
	}
	free(absolute);
	return length > 0 && length < PATH_MAX && vg_output_path_make_directories(path, 0700, NULL) == 0;
}

static void __attribute__((noreturn)) process_run(const struct vg_indexer *indexer, const char *store,
						  const char *path, pid_t parent)
{
	struct vg_err err;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (null < 0 || dup2(null, fd) < 0)
			_exit(EXIT_FAILURE);
	}
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	/* What the caller of vgtool has left open.  A kernel before 5.9 does not have this call. */
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
	rc = vg_reader_confine(&(struct vg_confinement){ .paths = &store, .path_count = 1, .writes = path }, &err);
	if (rc == 0)
		rc = indexer->update(store, path, &err);
	_exit(rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static bool index_update(const struct vg_indexer *indexer, const char *store, const char *path)
{
	pid_t parent = getpid(), child = fork();
	int status;

	if (child == 0)
		process_run(indexer, store, path, parent);
	while (child > 0 && waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return false;
	}
	return child > 0 && status == 0;
}

int vg_indexer_open(struct vg_indexer *indexer, size_t number)
{
	const char *store = number < indexer->count ? indexer->stores[number] : "";
	char path[PATH_MAX];
	struct stat status;
	int fd;

	if (stat(store, &status) != 0 || !S_ISDIR(status.st_mode) || !path_make(store, path))
		return -ENOENT;
	/* A link would be followed, and the confined process could read its target. */
	if (lstat(path, &status) == 0 && !S_ISREG(status.st_mode))
		unlink(path);
	if (number >= indexer->next) {
		/* The reader needs the indexes in this order. */
		indexer->next = number + 1;
		if (!index_update(indexer, store, path)) {
			/* An index that is not current must not be found by the next call. */
			unlink(path);
			return -ENOENT;
		}
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	return fd >= 0 ? vg_descriptor_raise(fd) : -ENOENT;
}

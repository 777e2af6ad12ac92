/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/store/store.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/outfile.h"
#include "symbols/breakpad/breakpad.h"
#include "symbols/store/store_path.h"

/* Ten seconds, for what another process writes in one at most. */
enum { WAITS_MAX = 500 };

/* Makes every directory on the way to the last component. */
static int directories_make(char *path, struct vg_err *err)
{
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		int rc = 0;

		*slash = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST)
			rc = vg_err_sys(err, -errno, "cannot make directory %s", path);
		*slash = '/';
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* 0, or 1 if what is there has more. */
static int symbols_write(const struct vg_symbols *symbols, const char *path, struct vg_err *err)
{
	struct vg_outfile file;
	FILE *stream = NULL;
	int rc = vg_outfile_open(&file, path, err);
	int fd;

	if (rc != 0)
		return rc;
	/* Who had the lock before us has put its own in place by now. */
	if (vg_store_worth(path) > vg_store_worth_of(symbols)) {
		vg_outfile_abandon(&file);
		return 1;
	}
	/* The stream closes its own descriptor, the outfile keeps its lock with the other. */
	fd = dup(file.fd);
	if (fd >= 0)
		stream = fdopen(fd, "w");
	if (stream == NULL) {
		rc = vg_err_sys(err, -errno, "cannot write %s", path);
		if (fd >= 0)
			close(fd);
	} else {
		rc = vg_breakpad_write(symbols, stream, err);
		if (fclose(stream) != 0 && rc == 0)
			rc = vg_err_sys(err, -errno, "cannot write %s", path);
	}
	if (rc == 0)
		rc = vg_outfile_commit(&file, err);
	if (rc != 0)
		vg_outfile_abandon(&file);
	return rc;
}

/* 0, or 1 if what is there has more.  Parallel builds add the same library at the same time: who
 * comes later waits, and may by then have less. */
static int symbols_add(const struct vg_symbols *symbols, char *path, struct vg_err *err)
{
	static const struct timespec pause = { .tv_nsec = 20L * 1000 * 1000 };
	int rc = -EBUSY;

	for (int waits = 0; rc == -EBUSY && waits < WAITS_MAX; waits++) {
		if (waits > 0)
			nanosleep(&pause, NULL);
		if (vg_store_worth(path) > vg_store_worth_of(symbols))
			return 1;
		rc = directories_make(path, err);
		if (rc == 0)
			rc = symbols_write(symbols, path, err);
	}
	return rc;
}

int vg_store_add(const char *root, const struct vg_symbols *symbols, char **path_out,
		 struct vg_err *err)
{
	char name[VG_STORE_NAME_MAX + 1], id[VG_STORE_NAME_MAX + 1];
	char *path = NULL;
	int rc;

	if (path_out != NULL)
		*path_out = NULL;
	if (symbols->debug_id[0] == '\0' || symbols->module_name == NULL)
		return vg_err_set(err, -EINVAL, "a module without a debug id cannot be stored");
	vg_store_name(symbols->module_name, name);
	vg_store_name(symbols->debug_id, id);
	if (asprintf(&path, "%s/%s/%s/%s.sym", root, name, id, name) < 0)
		return vg_err_sys(err, -ENOMEM, "%s", root);
	rc = symbols_add(symbols, path, err);
	if (rc >= 0 && path_out != NULL)
		*path_out = path;
	else
		free(path);
	return rc;
}

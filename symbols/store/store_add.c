/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/store/store.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/outfile.h"
#include "base/output_path.h"
#include "symbols/breakpad/breakpad.h"
#include "symbols/store/store_path.h"

/* Another process may be adding the same module (symbols_add()).  It needs at most 1 s to write its file.  Tries every
 * 20 ms for 10 s. */
enum { TRIES_MAX = 500 };

/* vg_store_prune() may remove the new directory while it is empty.  It visits each directory once, so the second try
 * succeeds, unless several processes prune. */
enum { DIRECTORY_TRIES_MAX = 10 };

/* Sets the file's mtime, so that vg_store_prune() does not take symbols for old that a build saves every day.
 * ftruncate(2) does this although the size stays the same.  utimensat(2) would do it too, but a confined process may not
 * make that call (vgtool/run/confine.h).  If this user may not write the file, its mtime stays as it is. */
static void mtime_set(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	bool is_set;

	if (fd < 0)
		return;
	is_set = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && ftruncate(fd, status.st_size) == 0;
	(void)is_set;
	close(fd);
}

/* Returns 0; 1: the existing file has more symbols; or a negative errno. */
static int symbols_write(const struct vg_symbols *symbols, const char *path, struct vg_err *err)
{
	struct vg_outfile file;
	FILE *stream = NULL;
	int rc = vg_outfile_open(&file, path, err);
	int fd;

	if (rc != 0)
		return rc;
	/* The process that had the lock before may have written the file by now. */
	if (vg_store_rank(path) > vg_store_table_rank(symbols)) {
		mtime_set(path);
		vg_outfile_abandon(&file);
		return 1;
	}
	/* fclose() closes the copy of the descriptor.  file.fd keeps the lock of the file. */
	fd = dup(file.fd);
	if (fd >= 0)
		stream = fdopen(fd, "w");
	if (stream == NULL) {
		rc = vg_err_sys(err, -errno, "%s: cannot write", path);
		if (fd >= 0)
			close(fd);
	} else {
		rc = vg_breakpad_write(symbols, stream, err);
		if (fclose(stream) != 0 && rc == 0)
			rc = vg_err_sys(err, -errno, "%s: cannot write", path);
	}
	if (rc == 0)
		rc = vg_outfile_commit(&file, err);
	if (rc != 0)
		vg_outfile_abandon(&file);
	return rc;
}

/* Returns 0; 1: the existing file has more symbols; or a negative errno.  Parallel builds may add the
 * same library at the same time: waits until the other process has written the file, and then
 * compares the ranks again.  An existing file with more symbols is sufficient although nothing can be written. */
static int symbols_add(const struct vg_symbols *symbols, char *path, struct vg_err *err)
{
	static const struct timespec retry_delay = { .tv_nsec = 20L * 1000 * 1000 }; /* 20 ms */
	bool has_more = false;
	int rc = -EBUSY;

	for (int tries = 0; (rc == -EBUSY && tries < TRIES_MAX) || (rc == -ENOENT && tries < DIRECTORY_TRIES_MAX);
	     tries++) {
		if (tries > 0)
			nanosleep(&retry_delay, NULL);
		has_more = vg_store_rank(path) > vg_store_table_rank(symbols);
		rc = vg_output_path_make_directories(path, 0777, err);
		if (rc == 0)
			rc = symbols_write(symbols, path, err);
	}
	return rc < 0 && has_more ? 1 : rc;
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
		return vg_err_set(err, -EINVAL, "%s: not stored: the module has no debug id",
				  symbols->module_name != NULL ? symbols->module_name : "unnamed module");
	vg_store_safe_name(symbols->module_name, name);
	vg_store_safe_name(symbols->debug_id, id);
	if (asprintf(&path, "%s/%s/%s/%s.sym", root, name, id, name) < 0)
		return vg_err_sys(err, -ENOMEM, "%s", root);
	rc = symbols_add(symbols, path, err);
	if (rc >= 0 && path_out != NULL)
		*path_out = path;
	else
		free(path);
	return rc;
}

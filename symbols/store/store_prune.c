/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/store/store_prune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/outfile.h"
#include "symbols/store/store_list.h"

struct file {
	char *path;                  /* owned */
	uint64_t bytes;
	int64_t mtime_ns;            /* since 1970 */
	size_t number;               /* in the order of the walk */
};

struct files {
	VG_ARRAY(struct file) list;
	uint64_t bytes;              /* sum of sizes */
};

static int64_t nanoseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static int file_add(void *context, const char *path, const char *id, const struct stat *status)
{
	struct files *files = context;
	struct file file = { strdup(path), (uint64_t)status->st_size, nanoseconds(&status->st_mtim),
			     files->list.count };

	(void)id;
	if (file.path == NULL || vg_array_push(&files->list, &file) != 0) {
		free(file.path);
		return -ENOMEM;
	}
	files->bytes += file.bytes;
	return 0;
}

static int file_compare(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->mtime_ns != y->mtime_ns)
		return x->mtime_ns < y->mtime_ns ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Removes <name>/<id>/ and <name>/ if they are empty.  A process that is adding a file makes them again
 * (vg_store_add()). */
static void directories_remove(char *path)
{
	for (int level = 0; level < 2; level++) {
		*strrchr(path, '/') = '\0';
		if (unlinkat(AT_FDCWD, path, AT_REMOVEDIR) != 0)
			return;
	}
}

/* While this process has PATH.part, no other process writes PATH (base/outfile.h).  So the file cannot be replaced
 * between the check of its mtime and its removal.  Returns 1 if the file was removed, 0 if it was kept, or a negative
 * errno with a message in err. */
static int file_remove(const struct file *file, struct vg_err *err)
{
	struct vg_outfile lock;
	struct stat status;
	int rc = vg_outfile_open(&lock, file->path, err);

	/* EBUSY: another process is writing it.  ENOENT: another process has removed the directory. */
	if (rc != 0)
		return rc == -EBUSY || rc == -ENOENT ? 0 : rc;
	if (lstat(file->path, &status) == 0 && nanoseconds(&status.st_mtim) == file->mtime_ns) {
		rc = unlinkat(AT_FDCWD, file->path, 0) == 0 ? 1 :
		     vg_err_sys(err, -errno, "%s: cannot remove", file->path);
	}
	vg_outfile_abandon(&lock);
	return rc;
}

/* Removes a PATH.part that no process has locked, and keeps another. */
static int part_remove(void *context, const char *path, const char *id, const struct stat *status)
{
	struct vg_outfile lock;
	char *whole;

	(void)context;
	(void)status;
	if (id == NULL)
		return 0;
	whole = strndup(path, strlen(path) - strlen(".part"));
	if (whole == NULL)
		return -ENOMEM;
	if (vg_outfile_open(&lock, whole, NULL) == 0) {
		vg_outfile_abandon(&lock);
		directories_remove(whole);
	}
	free(whole);
	return 0;
}

static int files_remove(struct vg_store_prune *prune, struct files *files, struct vg_err *err)
{
	struct vg_err problem;
	struct timespec time;
	int64_t now;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &time);
	now = nanoseconds(&time);
	for (size_t i = 0; i < files->list.count; i++) {
		struct file *file = &files->list.items[i];
		uint64_t age_ns = file->mtime_ns < now ? (uint64_t)(now - file->mtime_ns) : 0;
		int removed = 1;

		/* The next files are not older. */
		if (age_ns <= prune->older_than_ns && prune->bytes - prune->removed_bytes <= prune->max_bytes)
			break;
		if (!prune->dry_run)
			removed = file_remove(file, &problem);
		if (removed < 0)
			rc = vg_err_set(err, removed, "%s", problem.text);
		if (removed <= 0)
			continue;
		prune->removed_files++;
		prune->removed_bytes += file->bytes;
		prune->removed(prune->context, file->path, file->bytes, age_ns);
		if (!prune->dry_run)
			directories_remove(file->path);
	}
	return rc;
}

int vg_store_prune(const char *root, struct vg_store_prune *prune, struct vg_err *err)
{
	struct files files = { .bytes = 0 };
	struct stat status;
	int rc = 0, walk_rc;

	/* vg_store_walk() would visit a root that is a file, for example a profile. */
	if (stat(root, &status) == 0 && !S_ISDIR(status.st_mode))
		return vg_err_sys(err, -ENOTDIR, "%s: cannot prune", root);
	walk_rc = vg_store_walk(root, ".sym", file_add, &files, err);
	prune->files = files.list.count;
	prune->bytes = files.bytes;
	if (walk_rc != -ENOMEM) {
		if (files.list.count > 0)
			qsort(files.list.items, files.list.count, sizeof *files.list.items, file_compare);
		rc = files_remove(prune, &files, err);
		if (rc == 0 && !prune->dry_run)
			rc = vg_store_walk(root, ".sym.part", part_remove, NULL, err);
	}
	for (size_t i = 0; i < files.list.count; i++)
		free(files.list.items[i].path);
	vg_array_free(&files.list);
	return rc != 0 ? rc : walk_rc;
}

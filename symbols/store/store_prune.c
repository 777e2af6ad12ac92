/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/store/store_prune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/outfile.h"
#include "symbols/store/store_list.h"

/* Ages are clamped to this, so that nanoseconds fit in 64 bits: 584 years. */
#define AGE_SECONDS_MAX (int64_t)(UINT64_MAX / 1000000000 - 1)

enum { LOCK_TRIES = 600 };         /* every 0.1 s */

struct file {
	char *path;                  /* owned */
	uint64_t bytes;
	struct timespec mtime;
	size_t number;               /* in the order of the walk */
};

struct files {
	VG_ARRAY(struct file) list;
	uint64_t bytes;              /* sum of sizes */
};

static int time_compare(const struct timespec *a, const struct timespec *b)
{
	if (a->tv_sec != b->tv_sec)
		return a->tv_sec < b->tv_sec ? -1 : 1;
	return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

static uint64_t age_ns(const struct timespec *now, const struct timespec *mtime)
{
	int64_t seconds;

	if (time_compare(mtime, now) >= 0)
		return 0;
	if (__builtin_sub_overflow(now->tv_sec, mtime->tv_sec, &seconds) || seconds > AGE_SECONDS_MAX)
		seconds = AGE_SECONDS_MAX;
	return (uint64_t)seconds * 1000000000 + (uint64_t)now->tv_nsec - (uint64_t)mtime->tv_nsec;
}

static int file_add(void *context, const char *path, const char *id, const struct stat *status)
{
	struct files *files = context;
	struct file file = { strdup(path), (uint64_t)status->st_size, status->st_mtim, files->list.count };

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
	int order = time_compare(&x->mtime, &y->mtime);

	if (order != 0)
		return order;
	return x->number < y->number ? -1 : 1;
}

/* The directories of a file <root>/<name>/<id>/<file>.  Descriptors are used, because another process may replace
 * <name> or <id> by a symbolic link, which would lead out of the store. */
struct place {
	char *text;                  /* owned; the three components */
	const char *name, *id, *file;
	int root;                    /* borrowed */
	int name_fd, id_fd;          /* owned; O_PATH descriptors of <name>/ and <id>/; -1: closed */
};

static int directory_open(int parent, const char *name)
{
	int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 ? fd : -errno;
}

static void place_close(struct place *place)
{
	if (place->id_fd >= 0)
		close(place->id_fd);
	if (place->name_fd >= 0)
		close(place->name_fd);
	free(place->text);
}

/* Opens the place of a path of vg_store_walk().  Returns 0, -ENOENT, -ENOTDIR or another negative errno. */
static int place_open(struct place *place, int root, const char *path)
{
	const char *at = path + strlen(path);
	int rc;

	for (int slashes = 0; at > path && (slashes += at[-1] == '/') < 3; at--)
		;
	*place = (struct place){ .text = strdup(at), .root = root, .name_fd = -1, .id_fd = -1 };
	if (place->text == NULL)
		return -ENOMEM;
	place->name = place->text;
	place->file = strrchr(place->text, '/') + 1;
	place->text[place->file - place->text - 1] = '\0';
	place->id = strrchr(place->text, '/') + 1;
	place->text[place->id - place->text - 1] = '\0';
	rc = place->name_fd = directory_open(root, place->name);
	if (rc >= 0)
		rc = place->id_fd = directory_open(place->name_fd, place->id);
	if (rc < 0)
		place_close(place);
	return rc < 0 ? rc : 0;
}

/* Removes <name>/<id>/ and <name>/ if they are empty.  A process that is adding a file makes them again
 * (vg_store_add()). */
static void directories_remove(const struct place *place)
{
	if (unlinkat(place->name_fd, place->id, AT_REMOVEDIR) == 0)
		unlinkat(place->root, place->name, AT_REMOVEDIR);
}

enum outcome { KEPT, ABSENT, REMOVED };

/* While this process has PATH.part, no other process writes PATH (base/outfile.h).  So the file cannot be replaced
 * between the check of its mtime and its removal.  If the disk is too full for PATH.part, the file is removed without
 * it: removing files is what helps then.  Returns an outcome, or a negative errno with a message in err. */
static int file_remove(const struct place *place, const struct file *file, struct vg_err *err)
{
	struct vg_outfile lock;
	struct stat status;
	int rc = vg_outfile_open_in(&lock, place->id_fd, file->path, err);

	/* Another process is writing it. */
	if (rc == -EBUSY)
		return KEPT;
	/* Another process has removed the directory. */
	if (rc == -ENOENT)
		return ABSENT;
	if (rc != 0 && rc != -ENOSPC && rc != -EDQUOT)
		return rc;
	if (fstatat(place->id_fd, place->file, &status, AT_SYMLINK_NOFOLLOW) != 0)
		rc = errno == ENOENT ? ABSENT : vg_err_sys(err, -errno, "%s: cannot remove", file->path);
	else if (time_compare(&status.st_mtim, &file->mtime) != 0)
		rc = KEPT;
	else if (unlinkat(place->id_fd, place->file, 0) == 0)
		rc = REMOVED;
	else
		rc = errno == ENOENT ? ABSENT : vg_err_sys(err, -errno, "%s: cannot remove", file->path);
	vg_outfile_abandon(&lock);
	return rc;
}

/* Removes a file and the directories that become empty by that.  Returns what file_remove() returns. */
static int file_prune(int root, const struct file *file, struct vg_err *err)
{
	struct place place;
	int rc = place_open(&place, root, file->path);

	/* ENOTDIR: a symbolic link or a file has replaced a directory.  The file is not in the store any more. */
	if (rc == -ENOENT || rc == -ENOTDIR)
		return ABSENT;
	if (rc != 0)
		return vg_err_sys(err, rc, "%s: cannot remove", file->path);
	rc = file_remove(&place, file, err);
	if (rc == REMOVED)
		directories_remove(&place);
	place_close(&place);
	return rc;
}

/* Removes a PATH.part that no process has locked, and keeps another. */
static int part_remove(void *context, const char *path, const char *id, const struct stat *status)
{
	const int *root = context;
	struct vg_outfile lock;
	struct place place;
	char *whole;

	(void)status;
	if (id == NULL || place_open(&place, *root, path) != 0)
		return 0;
	whole = strndup(path, strlen(path) - strlen(".part"));
	if (whole != NULL && vg_outfile_open_in(&lock, place.id_fd, whole, NULL) == 0) {
		vg_outfile_abandon(&lock);
		directories_remove(&place);
	}
	place_close(&place);
	free(whole);
	return whole != NULL ? 0 : -ENOMEM;
}

static int files_remove(int root, struct vg_store_prune *prune, struct files *files, struct vg_err *err)
{
	struct vg_err problem;
	struct timespec now;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	for (size_t i = 0; i < files->list.count; i++) {
		struct file *file = &files->list.items[i];
		uint64_t age = age_ns(&now, &file->mtime);
		int outcome = REMOVED;

		/* The next files are not older. */
		if (age <= prune->older_than_ns && files->bytes <= prune->max_bytes)
			break;
		if (!prune->dry_run)
			outcome = file_prune(root, file, &problem);
		if (outcome < 0)
			rc = vg_err_set(err, outcome, "%s", problem.text);
		if (outcome == ABSENT || outcome == REMOVED)
			files->bytes -= file->bytes;
		if (outcome != REMOVED)
			continue;
		prune->removed_files++;
		prune->removed_bytes += file->bytes;
		prune->removed(prune->context, file->path, file->bytes, age);
	}
	return rc;
}

/* A prune that overlaps with another waits, because together they would remove more than either was asked to. Everybody
 * who can read the directory can hold this lock, so it does not wait for ever.  If the file system has no such locks,
 * it does not wait at all. */
static int lock(int root_fd, const char *root, struct vg_err *err)
{
	static const struct timespec retry_delay = { .tv_nsec = 100L * 1000 * 1000 };

	for (int tries = 0; flock(root_fd, LOCK_EX | LOCK_NB) != 0; tries++) {
		if (errno != EWOULDBLOCK)
			return 0;
		if (tries == LOCK_TRIES)
			return vg_err_set(err, -EBUSY, "%s: not pruned: for a minute, another process has held the lock "
					  "of this directory", root);
		nanosleep(&retry_delay, NULL);
	}
	return 0;
}

int vg_store_prune(const char *root, struct vg_store_prune *prune, struct vg_err *err)
{
	struct files files = { .bytes = 0 };
	/* O_DIRECTORY: vg_store_walk() would visit a root that is a file, for example a profile. */
	int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	int rc = 0, walk_rc;

	if (root_fd < 0)
		return vg_err_sys(err, -errno, "%s: cannot prune", root);
	if (!prune->dry_run)
		rc = lock(root_fd, root, err);
	if (rc != 0) {
		close(root_fd);
		return rc;
	}
	walk_rc = vg_store_walk(root, ".sym", file_add, &files, err);
	prune->files = files.list.count;
	prune->bytes = files.bytes;
	if (walk_rc != -ENOMEM) {
		if (files.list.count > 0)
			qsort(files.list.items, files.list.count, sizeof *files.list.items, file_compare);
		rc = files_remove(root_fd, prune, &files, err);
		if (rc == 0 && !prune->dry_run)
			rc = vg_store_walk(root, ".sym.part", part_remove, &root_fd, err);
	}
	for (size_t i = 0; i < files.list.count; i++)
		free(files.list.items[i].path);
	vg_array_free(&files.list);
	close(root_fd);
	return rc != 0 ? rc : walk_rc;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/descriptor.h"

/* The kernel's own limit. */
enum { LINKS_MAX = 40 };

/* One step on the way along links. */
struct place {
	char *path;           /* owned */
	const char *name;     /* in it, or "." */
	int directory;        /* owned; what the name is in */
	bool linked;          /* a link led here */
	bool given;           /* by /proc, to a descriptor of a process: it is no name that anyone could have made */
	struct stat status;
};

const char *vg_place_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

int vg_place_directory(const char *path)
{
	char *name = strndup(path, (size_t)(vg_place_name(path) - path));
	int fd;

	if (name == NULL)
		return -ENOMEM;
	fd = open(*name != '\0' ? name : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	free(name);
	return vg_descriptor_raise(fd);
}

/* Root's links are those in /dev.  Root has another number in a user namespace that does not know it, as the owner of
 * /proc/sys shows.  Other users that it does not know have the same number, and their links count too. */
static bool link_is_trusted(uid_t owner)
{
	struct stat root;

	return owner == geteuid() || owner == 0 || (stat("/proc/sys", &root) == 0 && root.st_uid == owner);
}

/* Where the link leads, if its owner is trusted; the caller's to free. */
static int link_read(const struct place *place, char **target, struct vg_err *err)
{
	/* The link itself: its owner and its text are of the same one, whatever has its name by then. */
	int fd = openat(place->directory, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = 0;
	int prefix = (int)(vg_place_name(place->path) - place->path);
	struct stat status;
	ssize_t length;
	char *text;

	if (fd < 0)
		return vg_err_sys(err, -errno, "cannot open %s", place->path);
	/* Not in an array: a program's thread that begins a session may have a stack of PTHREAD_STACK_MIN. */
	text = malloc(PATH_MAX);
	length = text != NULL ? readlinkat(fd, "", text, PATH_MAX) : -1;
	if (text == NULL)
		rc = vg_err_sys(err, -ENOMEM, "%s", place->path);
	else if (length < 0 || fstat(fd, &status) != 0)
		rc = vg_err_sys(err, -errno, "cannot read the link %s", place->path);
	else if (!link_is_trusted(status.st_uid))
		rc = vg_err_set(err, -EACCES, "%s is a symbolic link of another user (uid %u)", place->path,
				status.st_uid);
	else if (asprintf(target, "%.*s%.*s", text[0] != '/' ? prefix : 0, place->path, (int)length, text) < 0)
		rc = vg_err_sys(err, -ENOMEM, "%s", place->path);
	free(text);
	close(fd);
	return rc;
}

/* Whether the directory is one of /proc, where a link to a descriptor leads to what that has open.  Its text does not. */
static bool is_of_proc(int directory)
{
	struct statfs system;

	return fstatfs(directory, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

static void place_leave(struct place *place)
{
	if (place->directory >= 0)
		close(place->directory);
	free(place->path);
	place->directory = -1;
	place->path = NULL;
}

/* Takes ownership of path.  Whether there is something. */
static bool place_enter(struct place *place, char *path)
{
	place->path = path;
	place->name = *vg_place_name(path) != '\0' ? vg_place_name(path) : ".";
	place->directory = vg_place_directory(path);
	if (place->directory < 0 ||
	    fstatat(place->directory, place->name, &place->status, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	if (!S_ISLNK(place->status.st_mode) || !is_of_proc(place->directory))
		return true;
	place->linked = place->given = true;
	return fstatat(place->directory, place->name, &place->status, 0) == 0;
}

/* Goes to what the path leads to.  1, or 0 if nothing is there; or why it is not gone there. */
static int place_find(struct place *place, const char *path, struct vg_err *err)
{
	char *next = strdup(path);
	int rc = next != NULL ? 0 : vg_err_sys(err, -ENOMEM, "%s", path);

	for (int links = 0; rc == 0 && links <= LINKS_MAX; links++) {
		place_leave(place);
		if (!place_enter(place, next))
			return 0;
		if (!S_ISLNK(place->status.st_mode))
			return 1;
		place->linked = true;
		rc = link_read(place, &next, err);
	}
	if (rc == 0)
		free(next);
	return rc;
}

/* The standard descriptor that a link leads to (/dev/stdout), or -1.  Even if that is a regular file, it is written in
 * place: renaming over the link would replace it for the whole machine. */
static int standard_of(const struct place *place)
{
	struct stat standard;

	for (int fd = STDOUT_FILENO; place->linked && fd <= STDERR_FILENO; fd++) {
		if (fstat(fd, &standard) == 0 && standard.st_dev == place->status.st_dev &&
		    standard.st_ino == place->status.st_ino)
			return fd;
	}
	return -1;
}

/* 0 if a profile may be written into what has that status. */
static int place_check(const struct place *place, const struct stat *status, struct vg_err *err)
{
	if (S_ISDIR(status->st_mode))
		return vg_err_sys(err, -EISDIR, "cannot create %s", place->path);
	if (S_ISFIFO(status->st_mode) && !place->given && status->st_uid != geteuid() && status->st_uid != 0)
		return vg_err_set(err, -EACCES, "%s is a pipe of another user (uid %u)", place->path,
				  status->st_uid);
	if (S_ISFIFO(status->st_mode) || S_ISCHR(status->st_mode))
		return 0;
	return vg_err_set(err, -EINVAL, "%s is no file, pipe or character device", place->path);
}

/* A pipe that nobody reads is ENXIO, rather than a wait for a reader. */
static int special_open(const struct place *place, struct vg_err *err)
{
	int rc = place_check(place, &place->status, err), fd;
	struct stat status;

	if (rc != 0)
		return rc;
	fd = openat(place->directory, place->name, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
		    (place->given ? 0 : O_NOFOLLOW));
	if (fd < 0)
		fd = -errno;
	fd = vg_descriptor_raise(fd);
	if (fd < 0)
		return vg_err_sys(err, fd, "cannot create %s", place->path);
	/* It may be another one by now. */
	if (fstat(fd, &status) != 0)
		rc = vg_err_sys(err, -errno, "cannot create %s", place->path);
	else if (S_ISREG(status.st_mode))
		rc = vg_err_set(err, -EACCES, "%s was replaced while it was opened", place->path);
	else
		rc = place_check(place, &status, err);
	if (rc != 0) {
		close(fd);
		return rc;
	}
	/* Not by F_SETFL, which a confined reader may not have: it would take O_APPEND off any descriptor. */
	ioctl(fd, FIONBIO, &(int){ 0 });
	return fd;
}

static int found_open(const struct place *place, int *fd, struct vg_err *err)
{
	int standard = standard_of(place);

	if (standard >= 0) {
		*fd = fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		return *fd >= 0 ? 0 : vg_err_sys(err, -errno, "cannot create %s", place->path);
	}
	if (S_ISREG(place->status.st_mode))
		return 0;
	*fd = special_open(place, err);
	return *fd >= 0 ? 0 : *fd;
}

bool vg_place_is_special(const char *path)
{
	struct place place = { .directory = -1 };
	bool special = place_find(&place, path, NULL) > 0 &&
		       (!S_ISREG(place.status.st_mode) || standard_of(&place) >= 0);

	place_leave(&place);
	return special;
}

int vg_place_open(const char *path, int *fd, struct vg_err *err)
{
	struct place place = { .directory = -1 };
	struct vg_err why;
	int rc = place_find(&place, path, &why);

	*fd = -1;
	if (rc > 0)
		rc = found_open(&place, fd, &why);
	place_leave(&place);
	if (rc != 0)
		vg_err_set(err, rc, "%s%s%s", place.linked ? path : "", place.linked ? ": " : "", why.text);
	return rc;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/output_path.h"

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

/* The kernel's limit for symbolic links in a path (MAXSYMLINKS). */
enum { LINKS_MAX = 40 };

/* A path and the file at this path.  If the file is a symbolic link, place_find() continues with the link's target. */
struct place {
	char *path;                  /* owned */
	const char *name;            /* last part of `path`, or "." */
	int directory;               /* owned; contains `name` */
	bool linked;                 /* the path was reached through a link, or is_proc_link */
	bool is_proc_link;           /* `name` is a link in /proc, to an open file */
	struct stat status;          /* of `name`; of the open file if is_proc_link */
};

const char *vg_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Root owns /proc/sys. */
bool vg_output_path_owner_is_trusted(uid_t owner)
{
	struct stat root;

	return owner == geteuid() || owner == 0 || (stat("/proc/sys", &root) == 0 && root.st_uid == owner);
}

bool vg_output_path_file_is_trusted(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && vg_output_path_owner_is_trusted(status.st_uid);
}

void vg_output_path_make_name(const char *text, char name[VG_OUTPUT_NAME_BYTES])
{
	/* isalnum(3) depends on the locale. */
	static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-.";

	snprintf(name, VG_OUTPUT_NAME_BYTES, "%s", text);
	for (char *at = name; *at != '\0'; at++) {
		if (strchr(kept, *at) == NULL || (at == name && (*at == '-' || *at == '.')))
			*at = '_';
	}
}

int vg_output_path_directory(const char *path)
{
	char *name = strndup(path, (size_t)(vg_path_name(path) - path));
	int fd;

	if (name == NULL)
		return -ENOMEM;
	fd = open(*name != '\0' ? name : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	free(name);
	return vg_descriptor_raise(fd);
}

int vg_output_path_make_directories(char *path, mode_t mode, struct vg_err *err)
{
	int rc = 0;

	for (char *slash = strchr(path + 1, '/'); rc == 0 && slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, mode) != 0 && errno != EEXIST)
			rc = vg_err_sys(err, -errno, "%.200s: cannot create the directory", path);
		*slash = '/';
	}
	return rc;
}

/* Reads the link if its owner is trusted.  The caller frees *target. */
static int link_read(const struct place *place, char **target, struct vg_err *err)
{
	/* Open the link itself and read its text and its owner through the descriptor.  Otherwise the link could be
	 * replaced in between, and the owner would be that of another link. */
	int fd = openat(place->directory, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = 0;
	int prefix = (int)(vg_path_name(place->path) - place->path);
	struct stat status;
	ssize_t length;
	char *text;

	if (fd < 0)
		return vg_err_sys(err, -errno, "%s: cannot open", place->path);
	/* This buffer is on the heap, because the host's thread may have a stack of only PTHREAD_STACK_MIN bytes. */
	text = malloc(PATH_MAX);
	length = text != NULL ? readlinkat(fd, "", text, PATH_MAX) : -1;
	if (text == NULL)
		rc = vg_err_sys(err, -ENOMEM, "%s", place->path);
	else if (length < 0 || fstat(fd, &status) != 0)
		rc = vg_err_sys(err, -errno, "%s: cannot read this symbolic link", place->path);
	else if (!vg_output_path_owner_is_trusted(status.st_uid))
		rc = vg_err_set(err, -EACCES, "%s: a symbolic link of another user (uid %u) is not followed; use a "
				"path without it", place->path, status.st_uid);
	else if (asprintf(target, "%.*s%.*s", text[0] != '/' ? prefix : 0, place->path, (int)length, text) < 0)
		rc = vg_err_sys(err, -ENOMEM, "%s", place->path);
	free(text);
	close(fd);
	return rc;
}

/* True if the directory is in /proc.  Links in /proc lead to open files, and their text is not always a path. */
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

/* Takes ownership of `path`.  Returns false if nothing exists at the path. */
static bool place_enter(struct place *place, char *path)
{
	place->path = path;
	place->name = *vg_path_name(path) != '\0' ? vg_path_name(path) : ".";
	place->directory = vg_output_path_directory(path);
	if (place->directory < 0 ||
	    fstatat(place->directory, place->name, &place->status, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	if (!S_ISLNK(place->status.st_mode) || !is_of_proc(place->directory))
		return true;
	place->linked = place->is_proc_link = true;
	return fstatat(place->directory, place->name, &place->status, 0) == 0;
}

/* Follows the links.  Returns 1 if the path exists, 0 if not, or a negative errno. */
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

/* Returns 1 or 2 if a link such as /dev/stdout leads to standard output or error, otherwise -1.  A regular file that is
 * reached through such a link is written in place, because a rename would replace /dev/stdout for the whole machine. */
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

/* Returns 0 if a file with this `status` may be written in place, otherwise a negative errno. */
static int place_check(const struct place *place, const struct stat *status, struct vg_err *err)
{
	if (S_ISDIR(status->st_mode))
		return vg_err_sys(err, -EISDIR, "%s: cannot create", place->path);
	if (S_ISFIFO(status->st_mode) && !place->is_proc_link && status->st_uid != geteuid() && status->st_uid != 0)
		return vg_err_set(err, -EACCES, "%s: a pipe of another user (uid %u) is not written to; use a file "
				  "or pipe of your own", place->path, status->st_uid);
	if (S_ISFIFO(status->st_mode) || S_ISCHR(status->st_mode))
		return 0;
	return vg_err_set(err, -EINVAL, "%s is not a file, pipe or character device", place->path);
}

/* With O_NONBLOCK, open() of a pipe without a reader fails with ENXIO instead of waiting. */
static int special_open(const struct place *place, struct vg_err *err)
{
	int rc = place_check(place, &place->status, err), fd;
	struct stat status;

	if (rc != 0)
		return rc;
	fd = openat(place->directory, place->name, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
		    (place->is_proc_link ? 0 : O_NOFOLLOW));
	if (fd < 0)
		fd = -errno;
	fd = vg_descriptor_raise(fd);
	if (fd < 0)
		return vg_err_sys(err, fd, "%s: cannot create", place->path);
	/* Check the opened file: after place_find(), another process may have replaced the file. */
	if (fstat(fd, &status) != 0)
		rc = vg_err_sys(err, -errno, "%s: cannot create", place->path);
	else if (S_ISREG(status.st_mode))
		rc = vg_err_set(err, -EACCES, "%s was replaced while it was opened", place->path);
	else
		rc = place_check(place, &status, err);
	if (rc != 0) {
		close(fd);
		return rc;
	}
	/* Make the descriptor blocking again.  Use FIONBIO, because seccomp forbids F_SETFL to the confined vgtool:
	 * F_SETFL could remove O_APPEND. */
	ioctl(fd, FIONBIO, &(int){ 0 });
	return fd;
}

static int found_open(const struct place *place, int *fd, struct vg_err *err)
{
	int standard = standard_of(place);

	if (standard >= 0) {
		*fd = fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		return *fd >= 0 ? 0 : vg_err_sys(err, -errno, "%s: cannot create", place->path);
	}
	if (S_ISREG(place->status.st_mode))
		return 0;
	*fd = special_open(place, err);
	return *fd >= 0 ? 0 : *fd;
}

bool vg_output_path_is_special(const char *path)
{
	struct place place = { .directory = -1 };
	bool special = place_find(&place, path, NULL) > 0 &&
		       (!S_ISREG(place.status.st_mode) || standard_of(&place) >= 0);

	place_leave(&place);
	return special;
}

int vg_output_path_check_directory(const char *path, struct vg_err *err)
{
	struct place place = { .directory = -1 };
	char *plain = strdup(path);
	size_t length = strlen(path);
	int rc;

	if (plain == NULL)
		return vg_err_sys(err, -ENOMEM, "%s", path);
	/* With a slash at its end, a link would be followed. */
	while (length > 1 && plain[length - 1] == '/')
		plain[--length] = '\0';
	rc = place_find(&place, plain, err);
	if (rc == 0)
		rc = vg_err_set(err, -ENOENT, "%s: no such directory", path);
	else if (rc > 0)
		rc = S_ISDIR(place.status.st_mode) ? 0 : vg_err_set(err, -ENOTDIR, "%s: not a directory", path);
	place_leave(&place);
	free(plain);
	return rc;
}

int vg_output_path_open_special(const char *path, int *fd, struct vg_err *err)
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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/named_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/infile.h"

/* The kernel's own limit for the links of a path. */
enum { LINKS_MAX = 40 };

/* Reads a link that is not in /proc.  Returns 0 with an empty text if the file is no link. */
static int link_read(int file, char text[PATH_MAX])
{
	struct statfs system;
	struct stat status;
	ssize_t length;

	*text = '\0';
	if (fstat(file, &status) != 0)
		return -errno;
	if (!S_ISLNK(status.st_mode))
		return 0;
	if (fstatfs(file, &system) != 0)
		return -errno;
	if (system.f_type == PROC_SUPER_MAGIC)
		return -ELOOP;
	length = readlinkat(file, "", text, PATH_MAX - 1);
	if (length <= 0)
		return length < 0 ? -errno : -ENOENT;
	text[length] = '\0';
	return 0;
}

/* Cuts the first name off a path.  Returns NULL if there is none. */
static char *name_take(char **rest)
{
	char *name = *rest + strspn(*rest, "/");

	*rest = name + strcspn(name, "/");
	if (**rest != '\0')
		*(*rest)++ = '\0';
	return *name != '\0' ? name : NULL;
}

/* Where a path begins. */
static int begin_open(const char *path)
{
	return open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Returns an O_PATH descriptor of the file itself, also if it is a link, or -1.  With O_DIRECTORY the kernel mounts what
 * is to be mounted there on first use (autofs); with O_PATH alone it does not. */
static int name_open(int directory, const char *name, bool is_last)
{
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	int file = is_last ? -1 : openat(directory, name, flags | O_DIRECTORY);

	return file >= 0 || (!is_last && errno != ENOTDIR) ? file : openat(directory, name, flags);
}

/* Follows the path name by name.  Returns an O_PATH descriptor or a negative errno. */
static int path_find(const char *path)
{
	char text[PATH_MAX], target[PATH_MAX], longer[2 * PATH_MAX], *rest = text, *name;
	int at, links = 0, rc = 0;

	if (snprintf(text, sizeof text, "%s", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	at = begin_open(path);
	while (at >= 0 && rc == 0 && (name = name_take(&rest)) != NULL) {
		int next = name_open(at, name, *rest == '\0');

		rc = next < 0 ? -errno : link_read(next, target);
		if (rc == 0 && *target != '\0') {
			rc = ++links > LINKS_MAX ? -ELOOP : 0;
			close(next);
			next = *target == '/' ? begin_open(target) : fcntl(at, F_DUPFD_CLOEXEC, 3);
			snprintf(longer, sizeof longer, "%s/%s", target, rest);
			if (snprintf(text, sizeof text, "%s", longer) >= PATH_MAX)
				rc = -ENAMETOOLONG;
			rest = text;
		}
		close(at);
		at = next;
	}
	if (rc == 0)
		return at >= 0 ? at : -errno;
	if (at >= 0)
		close(at);
	return rc;
}

int vg_named_file_open(const char *path)
{
	int file = path_find(path), fd;

	if (file < 0)
		return file;
	fd = vg_regular_handle_open(file, path);
	close(file);
	return fd;
}

char *vg_named_real_path(const char *path)
{
	char link[40], real[PATH_MAX];
	int file = path_find(path);
	ssize_t length;

	if (file < 0) {
		errno = -file;
		return NULL;
	}
	snprintf(link, sizeof link, "/proc/self/fd/%d", file);
	length = readlink(link, real, sizeof real - 1);
	close(file);
	if (length <= 0 || real[0] != '/') {
		errno = ENOENT;
		return NULL;
	}
	real[length] = '\0';
	return strdup(real);
}

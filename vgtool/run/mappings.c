/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/mappings.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A line of /proc/PID/maps. */
struct mapping {
	unsigned long start, end;
	struct vg_file_identity file;
	char *path;                  /* within the line; without " (deleted)" */
};

static void deleted_cut(char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path), suffix = sizeof deleted - 1;

	if (length >= suffix && strcmp(path + length - suffix, deleted) == 0)
		path[length - suffix] = '\0';
}

/* Only executable mappings of files count. */
static bool line_parse(char *line, struct mapping *mapping)
{
	unsigned major, minor;
	unsigned long inode;
	char executable;
	int at = 0;

	if (sscanf(line, "%lx-%lx %*c%*c%c%*c %*x %x:%x %lu %n", &mapping->start, &mapping->end, &executable, &major,
		   &minor, &inode, &at) != 6 || at == 0 || executable != 'x' || inode == 0)
		return false;
	mapping->file = (struct vg_file_identity){ makedev(major, minor), inode };
	mapping->path = line + at;
	mapping->path[strcspn(mapping->path, "\n")] = '\0';
	deleted_cut(mapping->path);
	return *mapping->path == '/';
}

/* /proc/PID/exe leads to the executable, even if its path does not. */
static int executable_open(const struct mapping *mapping, pid_t pid)
{
	char link[64], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	length = readlink(link, path, sizeof path - 1);
	if (length <= 0)
		return -1;
	path[length] = '\0';
	deleted_cut(path);
	return strcmp(path, mapping->path) == 0 ? vg_program_open(link, NULL) : -1;
}

/* The kernel writes the path as seen from our own root directory.  In a chroot, that is the path of the process's root
 * directory and the path below it. */
static int root_path_open(const struct mapping *mapping, pid_t pid)
{
	char link[64], root[PATH_MAX], path[PATH_MAX + 32];
	ssize_t length;

	snprintf(link, sizeof link, "/proc/%d/root", (int)pid);
	length = readlink(link, root, sizeof root - 1);
	if (length <= 1)
		length = 0;
	if (strncmp(mapping->path, root, (size_t)length) != 0 || mapping->path[length] != '/')
		return -1;
	snprintf(path, sizeof path, "%s%s", link, mapping->path + length);
	return vg_program_open(path, &mapping->file);
}

/* map_files has every mapping, but following its links needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.  The kernel makes
 * these links and the link of the executable, so they need no check.  The path itself is for a file that was mapped
 * before the process changed its root directory. */
static int mapping_open(const struct mapping *mapping, pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", (int)pid, mapping->start, mapping->end);
	fd = vg_program_open(path, NULL);
	if (fd < 0)
		fd = executable_open(mapping, pid);
	if (fd >= 0 || strlen(mapping->path) >= PATH_MAX)
		return fd;
	fd = root_path_open(mapping, pid);
	return fd >= 0 ? fd : vg_program_open(mapping->path, &mapping->file);
}

/* Returns true if the file was tried before, or cannot be noted. */
static bool is_known(struct vg_mappings *mappings, const struct vg_file_identity *file)
{
	for (size_t i = 0; i < mappings->files.count; i++) {
		if (mappings->files.items[i].device == file->device && mappings->files.items[i].inode == file->inode)
			return true;
	}
	return mappings->files.count >= VG_MAPPINGS_MAX || vg_array_push(&mappings->files, file) != 0;
}

void vg_mappings_read(struct vg_mappings *mappings, pid_t pid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps != NULL && getline(&line, &room, maps) > 0) {
		struct vg_broker_offer offer;
		struct mapping mapping;

		if (!line_parse(line, &mapping) || is_known(mappings, &mapping.file))
			continue;
		offer.fd = mapping_open(&mapping, pid);
		if (offer.fd < 0)
			continue;
		offer.path = strdup(mapping.path);
		if (offer.path == NULL || vg_array_push(&mappings->offers, &offer) != 0) {
			free(offer.path);
			close(offer.fd);
		}
	}
	free(line);
	if (maps != NULL)
		fclose(maps);
}

void vg_mappings_free(struct vg_mappings *mappings)
{
	for (size_t i = 0; i < mappings->offers.count; i++) {
		free(mappings->offers.items[i].path);
		close(mappings->offers.items[i].fd);
	}
	vg_array_free(&mappings->offers);
	vg_array_free(&mappings->files);
}

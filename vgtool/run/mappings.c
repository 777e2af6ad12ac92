/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/mappings.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/descriptor.h"

/* A line of /proc/PID/maps. */
struct mapping {
	unsigned long start, end;
	struct vg_mapping_file file;
	char *path;                  /* within the line; without " (deleted)" */
};

/* Only executable mappings of files count. */
static bool line_parse(char *line, struct mapping *mapping)
{
	static const char deleted[] = " (deleted)";
	unsigned major, minor;
	unsigned long inode;
	char executable;
	int at = 0;
	size_t length;

	if (sscanf(line, "%lx-%lx %*c%*c%c%*c %*x %x:%x %lu %n", &mapping->start, &mapping->end, &executable, &major,
		   &minor, &inode, &at) != 6 || at == 0 || executable != 'x' || inode == 0)
		return false;
	mapping->file = (struct vg_mapping_file){ makedev(major, minor), inode };
	mapping->path = line + at;
	length = strcspn(mapping->path, "\n");
	mapping->path[length] = '\0';
	if (length >= sizeof deleted - 1 && strcmp(mapping->path + length - (sizeof deleted - 1), deleted) == 0)
		mapping->path[length - (sizeof deleted - 1)] = '\0';
	return *mapping->path == '/';
}

/* Opens the file only after it was found to be the mapped one: opening a device could have effects. */
static int checked_open(const char *path, const struct vg_mapping_file *file)
{
	int handle = open(path, O_PATH | O_CLOEXEC), fd = -1;
	struct stat status;
	char link[64];

	if (handle < 0)
		return -1;
	if (fstat(handle, &status) == 0 && S_ISREG(status.st_mode) && status.st_dev == file->device &&
	    status.st_ino == file->inode) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
		fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	close(handle);
	return vg_descriptor_raise(fd);
}

/* map_files has every mapping, but only root may follow its links.  /proc/PID/exe has the executable. */
static int mapping_open(const struct mapping *mapping, pid_t pid)
{
	char path[PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", (int)pid, mapping->start, mapping->end);
	fd = checked_open(path, &mapping->file);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	fd = checked_open(path, &mapping->file);
	if (fd >= 0 || strlen(mapping->path) >= PATH_MAX)
		return fd;
	snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, mapping->path);
	return checked_open(path, &mapping->file);
}

/* Returns true if the file was tried before, or cannot be noted. */
static bool is_known(struct vg_mappings *mappings, const struct vg_mapping_file *file)
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

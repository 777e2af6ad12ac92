/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/mapped_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/process_file.h"

static void deleted_cut(char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path), suffix = sizeof deleted - 1;

	if (length >= suffix && strcmp(path + length - suffix, deleted) == 0)
		path[length - suffix] = '\0';
}

/* Only executable mappings of files count. */
static bool line_parse(char *line, struct vg_mapped_file *mapped)
{
	unsigned major, minor;
	unsigned long inode;
	char executable;
	int at = 0;

	if (sscanf(line, "%lx-%lx %*c%*c%c%*c %*x %x:%x %lu %n", &mapped->start, &mapped->end, &executable, &major,
		   &minor, &inode, &at) != 6 || at == 0 || executable != 'x' || inode == 0)
		return false;
	mapped->identity = (struct vg_file_identity){ makedev(major, minor), inode };
	mapped->path = line + at;
	mapped->path[strcspn(mapped->path, "\n")] = '\0';
	deleted_cut(mapped->path);
	return *mapped->path == '/';
}

/* Adds the file, unless another mapping of it is known.  Takes ownership of mapped->path. */
static void file_add(struct vg_mapped_files *files, const struct vg_mapped_file *mapped)
{
	const uint64_t key[2] = { mapped->identity.device, mapped->identity.inode };
	uint32_t index;

	if (mapped->path == NULL || vg_array_reserve(&files->items, 1) != 0 ||
	    vg_intern(&files->known, key, sizeof key, &index) != 1)
		free(mapped->path);
	else
		files->items.items[files->items.count++] = *mapped;
}

void vg_mapped_files_read(struct vg_mapped_files *files, pid_t pid, size_t count_max)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps != NULL && files->items.count < count_max && getline(&line, &room, maps) > 0) {
		struct vg_mapped_file mapped = { .pid = pid };

		if (!line_parse(line, &mapped))
			continue;
		mapped.path = strdup(mapped.path);
		file_add(files, &mapped);
	}
	free(line);
	if (maps != NULL)
		fclose(maps);
}

void vg_mapped_files_read_namespaces(struct vg_mapped_files *files, pid_t pid, size_t count_max)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	while (processes != NULL && (entry = readdir(processes)) != NULL) {
		pid_t outer = (pid_t)strtol(entry->d_name, NULL, 10);

		if (outer > 0 && vg_process_own_pid(outer) == pid)
			vg_mapped_files_read(files, outer, count_max);
	}
	if (processes != NULL)
		closedir(processes);
}

/* Opens the file of an O_PATH descriptor, which it closes.  -1 stays -1. */
static int file_open(const struct vg_mapped_file *mapped, int file, const struct vg_file_identity *identity)
{
	char link[64];
	int fd = -1;

	if (file < 0)
		return -1;
	snprintf(link, sizeof link, "/proc/self/fd/%d", file);
	if (vg_process_file_is_safe(file, mapped->pid))
		fd = vg_program_open(link, identity);
	close(file);
	return fd;
}

/* /proc/PID/exe leads to the executable, even if its path does not. */
static int executable_open(const struct vg_mapped_file *mapped)
{
	char link[64], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof link, "/proc/%d/exe", (int)mapped->pid);
	length = readlink(link, path, sizeof path - 1);
	if (length <= 0)
		return -1;
	path[length] = '\0';
	deleted_cut(path);
	return strcmp(path, mapped->path) == 0 ? file_open(mapped, open(link, O_PATH | O_CLOEXEC), NULL) : -1;
}

/* The kernel writes the path as seen from our own root directory.  In a chroot, that is the path of the process's root
 * directory and the path below it. */
static int root_path_open(const struct vg_mapped_file *mapped)
{
	char link[64], root[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof link, "/proc/%d/root", (int)mapped->pid);
	length = readlink(link, root, sizeof root - 1);
	if (length <= 1)
		length = 0;
	if (strncmp(mapped->path, root, (size_t)length) != 0 || mapped->path[length] != '/')
		return -1;
	return file_open(mapped, vg_process_path_find(mapped->pid, mapped->pid, mapped->path + length),
			 &mapped->identity);
}

/* map_files has every mapping, but following its links needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.  The kernel makes
 * these links and the link of the executable, so they need no check.  The path itself, below our own root directory, is
 * for a file that was mapped before the process changed its root directory. */
int vg_mapped_file_open(const struct vg_mapped_file *mapped)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", (int)mapped->pid, mapped->start, mapped->end);
	fd = file_open(mapped, open(path, O_PATH | O_CLOEXEC), NULL);
	if (fd < 0)
		fd = executable_open(mapped);
	if (fd >= 0 || strlen(mapped->path) >= PATH_MAX)
		return fd;
	fd = root_path_open(mapped);
	return fd >= 0 ? fd : file_open(mapped, vg_process_path_find(getpid(), mapped->pid, mapped->path),
					&mapped->identity);
}

void vg_mapped_files_free(struct vg_mapped_files *files)
{
	for (size_t i = 0; i < files->items.count; i++)
		free(files->items.items[i].path);
	vg_array_free(&files->items);
	vg_intern_free(&files->known);
}

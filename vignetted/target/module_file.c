/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/module_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/infile.h"
#include "base/process_file.h"

/* The ELF header, and the program headers, which linkers write behind it. */
enum { HEADERS_MAX_BYTES = 4096 };

/* Whether the file begins with the module's headers.  These contain the sizes of all segments, which differ between
 * builds. */
static bool headers_match(int fd, uint64_t address, const struct vg_memory *memory)
{
	unsigned char ours[HEADERS_MAX_BYTES], theirs[HEADERS_MAX_BYTES];
	Elf64_Ehdr header;
	uint64_t bytes;

	if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
		return false;
	bytes = header.e_phoff + (uint64_t)header.e_phnum * sizeof(Elf64_Phdr);
	if (header.e_phoff >= sizeof ours || bytes > sizeof ours || bytes < sizeof header)
		bytes = sizeof header;
	return pread(fd, ours, bytes, 0) == (ssize_t)bytes && vg_memory_read(memory, address, theirs, bytes) == 0 &&
	       memcmp(ours, theirs, bytes) == 0;
}

/* Opens the executable by the link /proc/PID/exe, which works for deleted files and for other mount namespaces.  Device
 * and inode are not compared, because stat(2) and /proc/PID/maps give different ones on overlayfs and btrfs. */
static int executable_open(const struct vg_module_file *file, const struct vg_memory *memory)
{
	char link[64];
	int path_fd, fd = -1;

	snprintf(link, sizeof link, "/proc/%d/exe", memory->pid);
	path_fd = open(link, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return -1;
	if (vg_process_file_is_safe(path_fd, memory->pid))
		fd = vg_regular_handle_open(path_fd, link);
	close(path_fd);
	if (fd >= 0 && !headers_match(fd, file->address, memory)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int library_open(const struct vg_module_file *file, const struct vg_memory *memory)
{
	int path_fd = vg_process_path_find(memory->pid, memory->pid, file->path), fd;
	struct stat status;

	if (path_fd < 0)
		return -1;
	fd = fstat(path_fd, &status) == 0 && status.st_dev == file->device && status.st_ino == file->inode ?
	     vg_regular_handle_open(path_fd, file->path) : -1;
	close(path_fd);
	if (fd >= 0 && !headers_match(fd, file->address, memory)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int vg_module_file_open(const struct vg_module_file *file, const struct vg_memory *memory)
{
	int fd = executable_open(file, memory);

	return fd >= 0 ? fd : library_open(file, memory);
}

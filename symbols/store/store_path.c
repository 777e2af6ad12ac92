/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/store/store_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/infile.h"

void vg_store_safe_name(const char *from, char *to)
{
	size_t length = strnlen(from, VG_STORE_NAME_MAX);

	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)from[i];

		to[i] = from[i];
		if (c == '/' || c < ' ' || c == 0x7f || (i == 0 && c == '-'))
			to[i] = '_';
	}
	to[length] = '\0';
	if (length == 0 || strcmp(to, ".") == 0 || strcmp(to, "..") == 0)
		strcpy(to, "_");
}

static bool has_missing_file(const char *text, size_t length)
{
	static const char record[] = "\nINFO MISSING ";

	return memmem(text, length, record, sizeof record - 1) != NULL;
}

static uint64_t text_rank(const char *text, size_t length)
{
	static const char record[] = "\nPUBLIC ";
	const char *at = text, *end = text + length;
	uint64_t rank = 1;

	const char *function = memmem(text, length, "\nFUNC ", 6);

	if (function != NULL)
		return UINT64_MAX - has_missing_file(text, (size_t)(function - text));
	while ((at = memmem(at, (size_t)(end - at), record, sizeof record - 1)) != NULL) {
		at += sizeof record - 1;
		rank++;
	}
	return rank;
}

uint64_t vg_store_rank(const char *path)
{
	int fd = vg_regular_file_open(path);
	struct stat status;
	uint64_t rank = 0;
	void *text;

	if (fd < 0)
		return fd == -EACCES || fd == -EPERM || fd == -ELOOP || fd == -EIO;
	if (fstat(fd, &status) == 0 && status.st_size > 0) {
		text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (text != MAP_FAILED) {
			rank = text_rank(text, (size_t)status.st_size);
			munmap(text, (size_t)status.st_size);
		}
	}
	close(fd);
	return rank;
}

uint64_t vg_store_table_rank(const struct vg_symbols *symbols)
{
	return symbols->functions.count > 0 ? UINT64_MAX - (symbols->missing_file.path != NULL) :
	       1 + symbols->linker_symbols.count;
}

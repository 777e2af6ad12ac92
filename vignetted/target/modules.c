/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/modules.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "vignetted/target/frame.h"

/* Marks that are read by one call: no more than IOV_MAX. */
enum { MARKS_MAX = 256 };

/* One line of /proc/PID/maps. */
struct mapping {
	uint64_t start, end, offset, device, inode;
	bool executable;
	const char *path;
};

static bool mapping_parse(struct mapping *mapping, char *line)
{
	unsigned int major_number, minor_number;
	char permissions[5];
	int path_at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &mapping->start, &mapping->end, permissions, &mapping->offset, &major_number,
		   &minor_number, &mapping->inode, &path_at) != 7)
		return false;
	mapping->device = makedev(major_number, minor_number);
	mapping->executable = permissions[2] == 'x';
	mapping->path = line + path_at;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* The kernel appends the words to the path of an unlinked file; memfds always have them. */
static void name_set(struct vg_mapped *module, const char *path)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	size_t length = strlen(name), tail = sizeof deleted - 1;

	if (length >= tail && strcmp(name + length - tail, deleted) == 0)
		length -= tail;
	/* No file's name is longer than that. */
	if (length >= sizeof module->name)
		length = sizeof module->name - 1;
	memcpy(module->name, name, length);
	module->name[length] = '\0';
}

/* The module whose header is at that address: the one known since earlier, or a new one. */
static uint32_t module_at(struct vg_modules *modules, const struct mapping *head)
{
	struct vg_mapped module = { .loaded = true, .device = head->device, .inode = head->inode };

	if (vg_image_read(&module.image, modules->memory, head->start) != 0)
		return UINT32_MAX;
	name_set(&module, head->path);
	for (size_t i = 0; i < modules->items.count; i++) {
		struct vg_mapped *known = &modules->items.items[i];

		if (known->image.base == module.image.base &&
		    known->image.mark_bytes == module.image.mark_bytes &&
		    memcmp(known->image.mark, module.image.mark, module.image.mark_bytes) == 0 &&
		    strcmp(known->name, module.name) == 0) {
			known->loaded = true;
			return (uint32_t)i;
		}
	}
	if (modules->items.count >= (modules->max != 0 ? modules->max : VG_MODULES_MAX_DEFAULT)) {
		modules->over++;
		return UINT32_MAX;
	}
	return vg_array_push(&modules->items, &module) == 0 ?
	       (uint32_t)modules->items.count - 1 : UINT32_MAX;
}

/* The vsyscall page is not readable and holds nothing to unwind through. */
static bool is_code(const struct mapping *mapping)
{
	return mapping->executable && strcmp(mapping->path, "[vsyscall]") != 0;
}

/*
 * Goes through the lines once.  The file's first mapping, at offset 0, holds the ELF header, and
 * code of the same file behind it belongs to that image.  An image that is unpacked into
 * anonymous memory is found by its header in an executable mapping of its own (the vdso is one).
 */
static int maps_read(struct vg_modules *modules, FILE *maps)
{
	struct mapping mapping, head = { 0 };
	uint32_t head_module = UINT32_MAX;
	char *line = NULL;
	size_t line_bytes = 0;
	int rc = 0;

	while (rc == 0 && getline(&line, &line_bytes, maps) > 0) {
		struct vg_code_range range = { .module = UINT32_MAX };
		bool same_file;

		if (!mapping_parse(&mapping, line))
			continue;
		same_file = mapping.inode != 0 && mapping.inode == head.inode &&
			    mapping.device == head.device;
		if (mapping.offset == 0 && (mapping.inode != 0 || mapping.executable) &&
		    !(same_file && head_module != UINT32_MAX &&
		      mapping.start < modules->items.items[head_module].image.end)) {
			head = mapping;
			head_module = is_code(&mapping) || mapping.inode != 0 ?
				      module_at(modules, &mapping) : UINT32_MAX;
			same_file = true;
		}
		if (!is_code(&mapping))
			continue;
		range.start = mapping.start;
		range.end = mapping.end;
		if (same_file && head_module != UINT32_MAX &&
		    mapping.start < modules->items.items[head_module].image.end)
			range.module = head_module;
		rc = vg_array_push(&modules->ranges, &range);
	}
	free(line);
	return rc != 0 ? rc : ferror(maps) ? -ESRCH : 0;
}

int vg_modules_refresh(struct vg_modules *modules)
{
	char path[64];
	FILE *maps;
	int rc, first;

	snprintf(path, sizeof path, "/proc/%d/maps", modules->memory->pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	/* Of a process that has ended there is nothing, and what is known of it is still good for
	 * samples that were taken before. */
	first = getc(maps);
	if (first == EOF) {
		fclose(maps);
		return -ESRCH;
	}
	ungetc(first, maps);
	vg_memory_forget(modules->memory);
	for (size_t i = 0; i < modules->items.count; i++)
		modules->items.items[i].loaded = false;
	modules->ranges.count = modules->over = 0;
	modules->generation++;
	rc = maps_read(modules, maps);
	if (modules->over > modules->over_most)
		modules->over_most = modules->over;
	fclose(maps);
	return rc;
}

/* Modules whose marks are read together. */
struct marks {
	const struct vg_image *images[MARKS_MAX];
	size_t count;
};

/* Whether all are as they were. */
static bool marks_check(const struct vg_modules *modules, const struct marks *marks)
{
	struct iovec remote[MARKS_MAX], local;
	unsigned char bytes[MARKS_MAX * VG_MARK_BYTES];
	size_t length = 0;

	if (marks->count == 0)
		return true;
	for (size_t i = 0; i < marks->count; i++) {
		const struct vg_image *image = marks->images[i];

		remote[i] = (struct iovec){ (void *)image->mark_address, image->mark_bytes };
		length += image->mark_bytes;
	}
	local = (struct iovec){ bytes, length };
	if (process_vm_readv(modules->memory->pid, &local, 1, remote, marks->count, 0) !=
	    (ssize_t)length)
		return false;
	length = 0;
	for (size_t i = 0; i < marks->count; i++) {
		const struct vg_image *image = marks->images[i];

		if (memcmp(bytes + length, image->mark, image->mark_bytes) != 0)
			return false;
		length += image->mark_bytes;
	}
	return true;
}

/* Whether all that were gathered before are as they were, if there is no more room. */
static bool mark_gather(const struct vg_modules *modules, struct marks *marks,
			const struct vg_image *image)
{
	bool full = marks->count == MARKS_MAX, hold = !full || marks_check(modules, marks);

	if (full)
		marks->count = 0;
	marks->images[marks->count++] = image;
	return hold;
}

bool vg_modules_check(const struct vg_modules *modules)
{
	struct marks marks = { .count = 0 };

	for (size_t i = 0; i < modules->items.count; i++) {
		if (modules->items.items[i].loaded &&
		    !mark_gather(modules, &marks, &modules->items.items[i].image))
			return false;
	}
	return marks_check(modules, &marks);
}

bool vg_modules_hold(struct vg_modules *modules, const struct vg_frame *frames, size_t count)
{
	struct marks marks = { .count = 0 };

	for (size_t i = 0; i < count; i++) {
		struct vg_mapped *module;

		if (frames[i].module == VG_NONE)
			continue;
		module = &modules->items.items[frames[i].module];
		if (module->held == modules->doubts)
			continue;
		module->held = modules->doubts;
		if (!mark_gather(modules, &marks, &module->image))
			return false;
	}
	return marks_check(modules, &marks);
}

void vg_modules_doubt(struct vg_modules *modules)
{
	modules->doubts++;
}

const struct vg_code_range *vg_modules_find(const struct vg_modules *modules, uint64_t address)
{
	size_t low = 0, high = modules->ranges.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (modules->ranges.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == modules->ranges.count || modules->ranges.items[low].start > address)
		return NULL;
	return &modules->ranges.items[low];
}

void vg_modules_free(struct vg_modules *modules)
{
	vg_array_free(&modules->items);
	vg_array_free(&modules->ranges);
}

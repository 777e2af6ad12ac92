/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/modules.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/infile.h"
#include "base/process_file.h"
#include "base/sorted.h"
#include "vignetted/target/target.h"

/* When module files have taken this CPU time, a reading of the maps reads no more of them.  Most modules have the
 * needed headers in memory: of the 60 libraries of clang++, the file of one is read, in 0.1 ms.  But a process of
 * another user can have thousands of mounts, and the list of mounts is read for each of its files. */
enum { FILES_CPU_NS = 20 * 1000 * 1000 };

/* The most ranges whose links in /proc/PID/map_files one vg_modules_check() compares. */
enum { LINKS_MAX = 64 };

/* A module is young for this time after it was first seen: another module that was not seen may have had its addresses
 * in turn, as in a program that tries plugins.  So its mark is compared at each copy.  With more young modules than
 * YOUNG_MAX that would take too long: one mark takes 0.35 us, and 16 marks 6 us of a stop of 20 to 30 us. */
enum { YOUNG_NS = 1000 * 1000 * 1000, YOUNG_MAX = 16 };

/* Each batch of marks after the first reduces memory->words_left by this.  A batch takes as long as that many words. */
enum { BATCH_WORDS = 16384 };

static struct vg_process_module *module_of(const struct vg_modules *modules, uint32_t index)
{
	return index != VG_NONE ? &modules->items.items[index] : NULL;
}

/* One line of /proc/PID/maps. */
struct mapping {
	uint64_t start, end, offset, device, inode;
	bool executable;
	const char *path;
};

/* ---- a module's file ---- */

/* The ELF header, and the program headers, which linkers write behind it. */
enum { HEADERS_MAX_BYTES = 4096 };

/* Whether the file begins with the headers that the process has at the address.  These contain the sizes of all
 * segments, which differ between builds. */
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

static int library_open(const struct mapping *head, pid_t pid)
{
	int path_fd = vg_process_path_find(pid, pid, head->path), fd;
	struct stat status;

	if (path_fd < 0)
		return -1;
	fd = fstat(path_fd, &status) == 0 && status.st_dev == head->device && status.st_ino == head->inode ?
	     vg_regular_handle_open(path_fd, head->path) : -1;
	close(path_fd);
	return fd;
}

/*
 * Opens the module's file for reading; `head` maps its first bytes.  Returns a descriptor, which the caller closes, or
 * -1 if no trustworthy file was found.
 *
 * The process chooses the path, and the file that is there.  So the file must be safe (base/process_file.h), must be a
 * regular file that is not reached through a symbolic link, and must begin with the same ELF headers as the memory.
 * Unless it is the process's executable, it must also have the device and inode of the mapping.  Those of an executable
 * are not compared, because stat(2) and /proc/PID/maps give different ones on overlayfs and btrfs.
 */
static int module_file_open(const struct mapping *head, const struct vg_memory *memory)
{
	int fd = vg_target_executable_open(memory->pid);

	if (fd >= 0 && headers_match(fd, head->start, memory))
		return fd;
	if (fd >= 0)
		close(fd);
	fd = library_open(head, memory->pid);
	if (fd < 0 || headers_match(fd, head->start, memory))
		return fd;
	close(fd);
	return -1;
}

/* ---- the maps ---- */

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

/* The kernel appends " (deleted)" to the path of an unlinked file, and to the path of every memfd. */
static void name_set(struct vg_process_module *module, const char *path)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	size_t length = strlen(name), tail = sizeof deleted - 1;

	if (length >= tail && strcmp(name + length - tail, deleted) == 0)
		length -= tail;
	/* File names have at most 255 bytes (NAME_MAX). */
	snprintf(module->name, sizeof module->name, "%.*s", (int)length, name);
}

/* A constant hash key is safe here: no hash table uses this hash.  Returns 0 if the path has escaped characters (a
 * newline is \012 in the maps but not in a link). */
static uint64_t path_hash(const char *path, size_t length)
{
	return memchr(path, '\\', length) == NULL ? vg_hash(&(struct vg_hash_key){ { 0 } }, path, length) | 1 : 0;
}

/* Reads the module's file, once, if the module's memory lacks headers.  One reading of the maps takes a limited time
 * for this.  The next reading continues. */
static void module_file_read(struct vg_modules *modules, struct vg_process_module *module, const struct mapping *head)
{
	uint64_t cpu_ns;
	int fd;

	module->image.fde_index.total = &modules->fdes_total;
	module->file_done = head->inode == 0 || (module->image.eh_frame_hdr != 0 && module->image.build_id_bytes != 0);
	if (module->file_done || modules->files_cpu_ns >= FILES_CPU_NS)
		return;
	module->file_done = true;
	cpu_ns = vg_thread_cpu_ns();
	fd = module_file_open(head, modules->memory);
	if (fd >= 0) {
		vg_sections_read(&module->image, fd);
		close(fd);
	}
	modules->files_cpu_ns += vg_thread_cpu_ns() - cpu_ns;
}

/* Returns the index of the known or new module whose ELF header is at head->start.  VG_NONE: none. */
static uint32_t module_at(struct vg_modules *modules, const struct mapping *head)
{
	struct vg_process_module module = {
		.loaded = true, .device = head->device, .inode = head->inode,
		.path_hash = path_hash(head->path, strlen(head->path)),
	};

	if (vg_image_read(&module.image, modules->memory, head->start) != 0)
		return VG_NONE;
	name_set(&module, head->path);
	for (size_t i = 0; i < modules->items.count; i++) {
		struct vg_process_module *known = &modules->items.items[i];

		if (known->image.base == module.image.base && known->image.mark_bytes == module.image.mark_bytes &&
		    memcmp(known->image.mark, module.image.mark, module.image.mark_bytes) == 0 &&
		    (module.image.build_id_bytes != 0 ||
		     (known->device == module.device && known->inode == module.inode)) &&
		    strcmp(known->name, module.name) == 0) {
			known->loaded = true;
			known->device = module.device;
			known->inode = module.inode;
			known->path_hash = module.path_hash;
			if (!known->file_done)
				module_file_read(modules, known, head);
			return (uint32_t)i;
		}
	}
	if (modules->items.count >= (modules->max != 0 ? modules->max : VG_MODULES_MAX)) {
		modules->excess++;
		return VG_NONE;
	}
	module_file_read(modules, &module, head);
	return vg_array_push(&modules->items, &module) == 0 ? (uint32_t)modules->items.count - 1 : VG_NONE;
}

static int fence_add(struct vg_modules *modules, const struct mapping *below, const struct mapping *mapping)
{
	if (mapping->start != below->end || mapping->inode == 0 ||
	    (mapping->inode == below->inode && mapping->device == below->device))
		return 0;
	return vg_array_push(&modules->fences, &mapping->start);
}

uint64_t vg_modules_fence(const struct vg_modules *modules, uint64_t address)
{
	const uint64_t *fences = modules->fences.items;
	size_t above = vg_sorted_count_at_most(fences, modules->fences.count, sizeof *fences, 0, address);

	return above < modules->fences.count ? fences[above] : UINT64_MAX;
}

/* The mapping of a file's first bytes. */
struct head {
	struct mapping mapping;      /* its path is in `line` */
	char *line;                  /* owned */
	bool is_read;                /* `module` is set */
	uint32_t module;             /* VG_NONE: the bytes are no ELF header */
};

/* Whether the address is in the image whose header is at the head.  The header is read only now: reading it would
 * allocate a page of a sparse file, and most files that are mapped have no code. */
static bool is_in_image(struct vg_modules *modules, struct head *head, uint64_t address)
{
	if (!head->is_read)
		head->module = module_at(modules, &head->mapping);
	head->is_read = true;
	return head->module != VG_NONE && address < modules->items.items[head->module].image.end;
}

/* Reads the maps line by line.  A file's mapping at offset 0 holds its ELF header.  The file's code mappings
 * after it belong to the same image.  An image in anonymous memory (the vdso) is found if its header is executable. */
static int maps_read(struct vg_modules *modules, FILE *maps)
{
	struct mapping mapping, below = { 0 };
	struct head head = { .is_read = true, .module = VG_NONE };
	char *line = NULL;
	size_t line_bytes = 0;
	int rc = 0;

	while (rc == 0 && getline(&line, &line_bytes, maps) > 0) {
		uint32_t module = VG_NONE;
		bool same_file;

		if (!mapping_parse(&mapping, line))
			continue;
		rc = fence_add(modules, &below, &mapping);
		below = mapping;
		if (strcmp(mapping.path, "[stack]") == 0)
			modules->stack_end = mapping.end;
		same_file = mapping.inode != 0 && mapping.inode == head.mapping.inode &&
			    mapping.device == head.mapping.device;
		if (mapping.offset == 0 && (mapping.inode != 0 || mapping.executable) &&
		    !(same_file && is_in_image(modules, &head, mapping.start))) {
			free(head.line);
			head = (struct head){ .mapping = mapping, .line = line };
			line = NULL;         /* getline(3) allocates another one */
			same_file = true;
		}
		/* The vsyscall page cannot be read and has no unwind information. */
		if (rc != 0 || !mapping.executable || strcmp(mapping.path, "[vsyscall]") == 0)
			continue;
		if (same_file && is_in_image(modules, &head, mapping.start))
			module = head.module;
		rc = vg_ranges_add(&modules->ranges, mapping.start, mapping.end, module);
	}
	free(head.line);
	free(line);
	/* getline(3) fails without an error of the file if it gets no memory. */
	return rc != 0 ? rc : ferror(maps) ? -ESRCH : feof(maps) ? 0 : -ENOMEM;
}

int vg_modules_refresh(struct vg_modules *modules)
{
	/* The reading takes time.  A module that it finds was certainly there after begin_ns: that is its confirmed_ns.
	 * But a new range may have been mapped during the reading, so its since_ns is the end of the reading. */
	uint64_t begin_ns = vg_now_ns();
	bool is_first = modules->generation == 0;
	char path[64];
	FILE *maps;
	int rc, first;

	snprintf(path, sizeof path, "/proc/%d/maps", modules->memory->pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	/* The maps of an exited process are empty.  What is known stays valid for earlier samples. */
	first = getc(maps);
	modules->exited = first == EOF;
	if (first == EOF) {
		fclose(maps);
		return -ESRCH;
	}
	ungetc(first, maps);
	vg_memory_cache_drop(modules->memory);
	for (size_t i = 0; i < modules->items.count; i++)
		modules->items.items[i].loaded = false;
	modules->excess = 0;
	modules->generation++;
	modules->files_cpu_ns = 0;
	modules->fences.count = 0;
	modules->stack_end = 0;
	vg_ranges_begin(&modules->ranges);
	rc = maps_read(modules, maps);
	vg_ranges_end(&modules->ranges, is_first ? 0 : vg_now_ns());
	for (size_t i = 0; i < modules->items.count; i++) {
		if (modules->items.items[i].loaded)
			modules->items.items[i].confirmed_ns = begin_ns;
	}
	if (modules->excess > modules->excess_max)
		modules->excess_max = modules->excess;
	fclose(maps);
	return rc;
}

/* ---- marks ---- */

static bool is_young(const struct vg_code_range *range, uint64_t time_ns)
{
	return range->module != VG_NONE && time_ns - range->since_ns < YOUNG_NS;
}

bool vg_modules_may_be_replaced(const struct vg_modules *modules, uint64_t now_ns)
{
	return modules->ranges.past_total != 0 || now_ns - modules->ranges.latest_ns < YOUNG_NS;
}

/* Whether the process's memory still has the marks of these modules, at most VG_MARKS_MAX.  Takes one
 * process_vm_readv(2). */
static bool marks_check(pid_t pid, struct vg_process_module *const *checked, size_t count)
{
	struct iovec remote[VG_MARKS_MAX], local;
	unsigned char bytes[VG_MARKS_MAX * VG_MARK_BYTES];
	size_t length = 0;

	if (count == 0)
		return true;
	for (size_t i = 0; i < count; i++) {
		const struct vg_image *image = &checked[i]->image;

		remote[i] = (struct iovec){ (void *)image->mark_address, image->mark_bytes };
		length += image->mark_bytes;
	}
	local = (struct iovec){ bytes, length };
	if (process_vm_readv(pid, &local, 1, remote, count, 0) != (ssize_t)length)
		return false;
	length = 0;
	for (size_t i = 0; i < count; i++) {
		const struct vg_image *image = &checked[i]->image;

		if (memcmp(bytes + length, image->mark, image->mark_bytes) != 0)
			return false;
		length += image->mark_bytes;
	}
	return true;
}

/* Whether the range still belongs to the module's file.  Two libraries of the same size without build ids can have the
 * same mark, so the link in /proc/PID/map_files is compared. */
static bool file_link_check(const struct vg_modules *modules, const struct vg_process_module *module,
			    const struct vg_code_range *range)
{
	char link[96], path[PATH_MAX];
	ssize_t length;

	if (module->image.mark_weak && range == NULL)
		return false;
	if (!module->image.mark_weak || module->inode == 0 || module->path_hash == 0)
		return true;
	snprintf(link, sizeof link, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, modules->memory->pid, range->start,
		 range->end);
	length = readlink(link, path, sizeof path);
	if (length < 0)
		return errno != ENOENT; /* not readable, for example forbidden: assume no change */
	return path_hash(path, (size_t)length) == module->path_hash;
}

/* Calls file_link_check() for up to LINKS_MAX ranges.  The next call continues behind these ranges. */
static bool file_links_check(struct vg_modules *modules)
{
	size_t count = modules->ranges.now.count, checked = 0;

	for (size_t i = 0; i < count && checked < LINKS_MAX; i++) {
		const struct vg_code_range *range = &modules->ranges.now.items[modules->links_at++ % count];
		const struct vg_process_module *module = module_of(modules, range->module);

		if (module == NULL || !module->image.mark_weak)
			continue;
		checked++;
		if (!file_link_check(modules, module, range))
			return false;
	}
	return true;
}

bool vg_modules_check(struct vg_modules *modules)
{
	struct vg_process_module *batch[VG_MARKS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < modules->items.count; i++) {
		if (!modules->items.items[i].loaded)
			continue;
		batch[count++] = &modules->items.items[i];
		if (count == VG_MARKS_MAX && !marks_check(modules->memory->pid, batch, count))
			return false;
		count %= VG_MARKS_MAX;
	}
	return marks_check(modules->memory->pid, batch, count) && file_links_check(modules);
}

/* Modules that are checked together, and the range of each. */
struct checks {
	struct vg_process_module *modules[VG_MARKS_MAX];
	const struct vg_code_range *ranges[VG_MARKS_MAX];
	size_t count;
	bool hold[VG_MARKS_MAX];     /* the module is still in its range: set by checks_run() */
};

/* Takes only one process_vm_readv(2) if no mark has changed. */
static void checks_run(const struct vg_modules *modules, struct checks *checks)
{
	pid_t pid = modules->memory->pid;
	bool all_hold = marks_check(pid, checks->modules, checks->count);

	for (size_t i = 0; i < checks->count; i++)
		checks->hold[i] = (all_hold || marks_check(pid, &checks->modules[i], 1)) &&
				  file_link_check(modules, checks->modules[i], checks->ranges[i]);
}

/* Whether another module may have had the addresses at the latest copy. */
static bool is_in_doubt(const struct vg_modules *modules, const struct vg_code_range *range)
{
	return range->reused || (modules->young_are_checked && is_young(range, modules->copied_ns));
}

void vg_modules_copied(struct vg_modules *modules)
{
	const struct vg_ranges *ranges = &modules->ranges;
	struct checks checks;
	size_t young = 0;

	modules->copies++;
	modules->copied_ns = vg_now_ns();
	if (!vg_modules_may_be_replaced(modules, modules->copied_ns))
		return;
	for (size_t i = 0; i < ranges->now.count; i++)
		young += is_young(&ranges->now.items[i], modules->copied_ns);
	modules->young_are_checked = young <= YOUNG_MAX;
	checks.count = 0;
	for (size_t i = 0; i < ranges->now.count && checks.count < VG_MARKS_MAX; i++) {
		const struct vg_code_range *range = &ranges->now.items[i];

		if (range->module == VG_NONE || !is_in_doubt(modules, range))
			continue;
		checks.ranges[checks.count] = range;
		checks.modules[checks.count++] = module_of(modules, range->module);
	}
	checks_run(modules, &checks);
	for (size_t i = 0; i < checks.count; i++) {
		if (checks.hold[i])
			checks.modules[i]->seen_at_copy = modules->copies;
	}
}

/* Reads up to VG_MARKS_MAX marks that frames[at] and the frames after it need.  Returns `at` for the next call. */
static size_t batch_check(struct vg_modules *modules, const struct vg_frame *frames, size_t count, size_t at)
{
	uint64_t now_ns = vg_now_ns();
	struct checks checks;

	checks.count = 0;
	for (; at < count && checks.count < VG_MARKS_MAX; at++) {
		struct vg_process_module *module = module_of(modules, frames[at].module);

		if (module == NULL || module->checked_call == modules->confirm_calls || !module->loaded ||
		    (module->confirmed_ns > modules->moment.time_ns && !module->check_due))
			continue;
		module->checked_call = modules->confirm_calls;
		checks.ranges[checks.count] = vg_ranges_now(&modules->ranges, frames[at].address);
		checks.modules[checks.count++] = module;
	}
	checks_run(modules, &checks);
	for (size_t i = 0; i < checks.count; i++) {
		if (!checks.hold[i])
			continue;
		checks.modules[i]->confirmed_ns = now_ns;
		checks.modules[i]->check_due = false;
	}
	return at;
}

/* Whether comparisons of the mark prove that the module was loaded at modules->moment.  Where another module may have
 * been, the comparison after the copy does not suffice: within less than a millisecond the other module can be unloaded
 * and this one loaded. */
static bool mark_proves(const struct vg_modules *modules, const struct vg_process_module *module, uint64_t address)
{
	const struct vg_code_range *range = vg_ranges_now(&modules->ranges, address);

	return module->confirmed_ns > modules->moment.time_ns &&
	       (range == NULL || !is_in_doubt(modules, range) || module->seen_at_copy == modules->copies);
}

static bool frame_confirmed(const struct vg_modules *modules, const struct vg_frame *frame)
{
	const struct vg_process_module *module = module_of(modules, frame->module);

	if (module == NULL || module->check_due)
		return module == NULL;
	/* The marks of an exited process cannot be read. */
	return modules->moment.evidence == VG_EVIDENCE_RECORDS || mark_proves(modules, module, frame->address) ||
	       (modules->exited && module->loaded);
}

size_t vg_modules_confirm(struct vg_modules *modules, const struct vg_frame *frames, size_t count)
{
	size_t confirmed = 0, at = 0;

	modules->confirm_calls++;
	do
		at = batch_check(modules, frames, count, at);
	while (at < count && vg_memory_words_use(modules->memory, BATCH_WORDS));
	while (confirmed < count && frame_confirmed(modules, &frames[confirmed]))
		confirmed++;
	return confirmed;
}

void vg_modules_require_check(struct vg_modules *modules, uint32_t module)
{
	modules->items.items[module].check_due = true;
}

void vg_modules_checks_drop(struct vg_modules *modules)
{
	for (size_t i = 0; i < modules->items.count; i++)
		modules->items.items[i].check_due = false;
	/* The cache may have pages of a module that has replaced another one at the same addresses. */
	vg_memory_cache_drop(modules->memory);
}

/* ---- mappings ---- */

static bool is_mapping_of(const struct vg_process_module *module, const struct vg_mapping *mapping)
{
	return module->device == mapping->device && module->inode == mapping->inode &&
	       mapping->address < module->image.end && mapping->address + mapping->bytes > module->image.base;
}

/* Returns the index of the mapping's module, or VG_NONE.  Most records are about code that is already known. */
static uint32_t mapping_module(struct vg_modules *modules, const struct vg_mapping *mapping)
{
	const struct vg_code_range *range = vg_ranges_now(&modules->ranges, mapping->address);

	if (mapping->inode == 0)
		return VG_NONE;
	if (range != NULL && range->module != VG_NONE && is_mapping_of(&modules->items.items[range->module], mapping))
		return range->module;
	if (modules->searches_left == 0)
		return VG_NONE;
	modules->searches_left--;
	for (size_t i = modules->items.count; i-- > 0;) {
		if (is_mapping_of(&modules->items.items[i], mapping))
			return (uint32_t)i;
	}
	return VG_NONE;
}

static void loaded_update(struct vg_modules *modules)
{
	for (size_t i = 0; i < modules->items.count; i++)
		modules->items.items[i].loaded = false;
	for (size_t i = 0; i < modules->ranges.now.count; i++) {
		uint32_t module = modules->ranges.now.items[i].module;

		if (module != VG_NONE)
			modules->items.items[module].loaded = true;
	}
}

bool vg_modules_mapping_add(struct vg_modules *modules, const struct vg_mapping *mapping)
{
	uint32_t module = mapping_module(modules, mapping);

	if (vg_ranges_map(&modules->ranges, mapping->address, mapping->address + mapping->bytes, module,
			  mapping->time_ns)) {
		modules->generation++;
		loaded_update(modules);
		vg_memory_cache_drop(modules->memory);
	}
	return module != VG_NONE || mapping->inode == 0;
}

/* ---- addresses ---- */

const struct vg_code_range *vg_modules_find(const struct vg_modules *modules, uint64_t address)
{
	const struct vg_moment *moment = &modules->moment;
	const struct vg_code_range *now = vg_ranges_now(&modules->ranges, address), *past;

	/* The current range began before the moment, so the address was in it at the moment. */
	if (now != NULL && now->since_ns <= moment->time_ns)
		return moment->evidence == VG_EVIDENCE_MARKS_LATE &&
		       (now->reused || is_young(now, moment->time_ns)) ? NULL : now;
	if (moment->evidence == VG_EVIDENCE_RECORDS) {
		past = vg_ranges_past(&modules->ranges, address, moment->time_ns);
		if (past != NULL)
			return past;
	}
	/* A frame in JIT code names no module, so it does not matter since when the code has been there. */
	return now != NULL && now->module == VG_NONE && !vg_ranges_reused(&modules->ranges, address, address + 1) ?
	       now : NULL;
}

bool vg_modules_is_code(const struct vg_modules *modules, uint64_t address)
{
	return vg_ranges_now(&modules->ranges, address) != NULL;
}

bool vg_modules_was_code(const struct vg_modules *modules, uint64_t address)
{
	return vg_ranges_reused(&modules->ranges, address, address + 1);
}

size_t vg_modules_unindexed(const struct vg_modules *modules)
{
	size_t count = 0;

	for (size_t i = 0; i < modules->items.count; i++)
		count += modules->items.items[i].image.fde_index.overflowed;
	return count;
}

void vg_modules_free(struct vg_modules *modules)
{
	for (size_t i = 0; i < modules->items.count; i++)
		vg_fde_index_free(&modules->items.items[i].image.fde_index);
	vg_array_free(&modules->items);
	vg_array_free(&modules->fences);
	vg_ranges_free(&modules->ranges);
}

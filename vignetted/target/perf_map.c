/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/infile.h"
#include "base/process_file.h"
#include "base/sorted.h"

/* A line is two numbers and a name.  The writer truncates names that are too long for a profile, and counts them. */
enum { LINES_MAX = 4 * 1000 * 1000, LINE_MAX_BYTES = VG_NAME_MAX_BYTES + 64 };

/* Room for LINES_MAX lines of 64 bytes.  Reading the file takes at most 1.4 s, if all lines are kept.  The helper
 * handles no signals meanwhile.  For comparison: node writes 4 MB for 50,000 functions, and 0.4 MB for npm. */
enum { MAP_MAX_BYTES = 256 << 20 };

/* One line.  JIT compilers reuse addresses: of the lines for an address the latest one is valid. */
struct piece {
	uint64_t start, size;
	uint32_t name;
};

struct reading {
	const uint64_t *addresses;   /* sorted: addresses of samples in JIT code */
	size_t address_count;
	VG_ARRAY(struct piece) pieces;
	struct vg_intern names;
};

void vg_perf_map_open(struct vg_perf_map *map, pid_t pid)
{
	char text[VG_PROCESS_FIELD_BYTES];
	const char *last;

	map->directory = vg_process_path_find(pid, pid, "/tmp");
	snprintf(map->name, sizeof map->name, "perf-%d.map", vg_process_own_pid(pid) ?: pid);
	/* The last number of Uid is the user id of files that the process makes. */
	vg_process_status(pid, "Uid:", text);
	last = strrchr(text, '\t');
	map->owner = last != NULL ? (uid_t)strtoul(last, NULL, 10) : (uid_t)-1;
}

void vg_perf_map_close(struct vg_perf_map *map)
{
	if (map->directory >= 0)
		close(map->directory);
	map->directory = -1;
}

/* Whether the process can have made the file: it is a regular file of the process's user, in the same mount as /tmp.
 * In its own mount namespace, the process could mount or link a file there that only we may read, or one whose file
 * system does not answer.  Mount ids need Linux 5.8; without mount ids the file is not read. */
static bool is_own(const struct vg_perf_map *map, int file, uint64_t *bytes)
{
	const unsigned int wanted = STATX_TYPE | STATX_UID | STATX_SIZE;
	struct statx own, directory;

	if (statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE | STATX_MNT_ID, &own) != 0)
		return false;
	*bytes = own.stx_size;
	if (statx(map->directory, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &directory) != 0 ||
	    (own.stx_mask & directory.stx_mask & STATX_MNT_ID) == 0 || own.stx_mnt_id != directory.stx_mnt_id ||
	    statx(file, "", AT_EMPTY_PATH, wanted, &own) != 0)
		return false;
	*bytes = own.stx_size;
	return (own.stx_mask & wanted) == wanted && S_ISREG(own.stx_mode) && own.stx_uid == map->owner;
}

/* Opens the file for reading, and sets map->unread_bytes to its length.  NULL if there is none or it cannot be
 * trusted. */
static FILE *map_open(struct vg_perf_map *map)
{
	/* O_PATH: opening a device for reading can have effects. */
	int found = openat(map->directory, map->name, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1;
	FILE *file = NULL;

	if (found < 0)
		return NULL;
	if (is_own(map, found, &map->unread_bytes))
		fd = vg_regular_handle_open(found, map->name);
	close(found);
	/* Report a refused file even if its length is 0. */
	if (fd < 0 && map->unread_bytes == 0)
		map->unread_bytes = 1;
	if (fd >= 0)
		file = fdopen(fd, "r");
	if (file == NULL && fd >= 0)
		close(fd);
	return file;
}

/* The index of the first address from `start` on. */
static size_t address_at(const struct reading *reading, uint64_t start)
{
	return vg_sorted_count_below(reading->addresses, reading->address_count, sizeof *reading->addresses, 0, start);
}

static bool is_within(const struct reading *reading, size_t at, uint64_t start, uint64_t size)
{
	return at < reading->address_count && reading->addresses[at] - start < size;
}

bool vg_perf_map_may_name(uint32_t module, enum vg_found_by found)
{
	return module == VG_NONE && found != VG_FOUND_BY_SYSTEM_CALL;
}

static int line_keep(struct reading *reading, char *line)
{
	struct piece piece;
	char *at, *name;

	piece.start = strtoull(line, &at, 16);
	if (at == line || *at != ' ')
		return 0;
	piece.size = strtoull(at, &name, 16);
	if (name == at || *name != ' ' ||
	    !is_within(reading, address_at(reading, piece.start), piece.start, piece.size))
		return 0;
	if (vg_intern_string(&reading->names, name + 1, &piece.name) < 0)
		return -ENOMEM;
	return vg_array_push(&reading->pieces, &piece);
}

/* Returns the number of bytes read. */
static uint64_t lines_read(struct reading *reading, FILE *file)
{
	char line[LINE_MAX_BYTES];
	size_t length = 0;
	uint32_t number = 0;
	uint64_t bytes = 0;
	int byte = 0, rc = 0;

	while (rc == 0 && bytes < MAP_MAX_BYTES && number < LINES_MAX && byte != EOF) {
		byte = getc_unlocked(file);
		bytes += byte != EOF;
		if (byte != '\n' && byte != EOF) {
			/* The rest of a line that is too long is dropped. */
			if (length < sizeof line - 1)
				line[length++] = (char)byte;
			continue;
		}
		line[length] = '\0';
		length = 0;
		/* If memory is short, the names that were read up to then are written. */
		rc = line_keep(reading, line);
		number++;
	}
	return bytes;
}

/* Sets valid[] to the index of the latest piece that contains each address, or to VG_NONE.  From the last piece to the
 * first: next[] leads to the next address that has no piece yet, so that the work is nearly linear, however the pieces
 * overlap. */
static void pieces_choose(const struct reading *reading, uint32_t *valid, uint32_t *next)
{
	for (size_t i = 0; i <= reading->address_count; i++) {
		valid[i] = VG_NONE;
		next[i] = (uint32_t)i;
	}
	for (size_t i = reading->pieces.count; i-- > 0;) {
		const struct piece *piece = &reading->pieces.items[i];
		size_t at = address_at(reading, piece->start);

		for (;;) {
			while (next[at] != at) {
				next[at] = next[next[at]];
				at = next[at];
			}
			if (!is_within(reading, at, piece->start, piece->size))
				break;
			valid[at] = (uint32_t)i;
			next[at] = (uint32_t)at + 1;
		}
	}
}

/* Writes at most one name for each address.  Names do not overlap. */
static int names_write(const struct reading *reading, const uint32_t *valid, struct vg_writer *writer)
{
	uint64_t end = 0;                /* of the previous name */
	int rc = 0;

	for (size_t at = 0, after; rc == 0 && at < reading->address_count; at = after) {
		const struct piece *piece;
		uint64_t begin;

		for (after = at + 1; after < reading->address_count && valid[after] == valid[at];)
			after++;
		if (valid[at] == VG_NONE)
			continue;
		piece = &reading->pieces.items[valid[at]];
		begin = piece->start > end ? piece->start : end;
		end = piece->start + piece->size < piece->start ? UINT64_MAX : piece->start + piece->size;
		if (after < reading->address_count && reading->addresses[after] < end)
			end = reading->addresses[after];
		rc = vg_writer_jit_code(writer, begin, end - begin, vg_intern_text(&reading->names, piece->name));
	}
	return rc;
}

static int pieces_write(const struct reading *reading, struct vg_writer *writer)
{
	uint32_t *valid = malloc(2 * (reading->address_count + 1) * sizeof *valid);
	int rc;

	if (valid == NULL)
		return -ENOMEM;
	pieces_choose(reading, valid, valid + reading->address_count + 1);
	rc = names_write(reading, valid, writer);
	free(valid);
	return rc;
}

int vg_perf_map_write(struct vg_perf_map *map, uint64_t *addresses, size_t count, struct vg_writer *writer)
{
	struct reading reading = { .addresses = addresses, .address_count = count };
	uint64_t bytes;
	FILE *file;
	int rc;

	map->unread_bytes = 0;
	if (map->directory < 0 || count == 0)
		return 0;
	file = map_open(map);
	if (file == NULL)
		return 0;
	vg_sorted_sort(addresses, count, sizeof *addresses, 0);
	bytes = lines_read(&reading, file);
	fclose(file);
	map->unread_bytes -= bytes < map->unread_bytes ? bytes : map->unread_bytes;
	rc = pieces_write(&reading, writer);
	vg_array_free(&reading.pieces);
	vg_intern_free(&reading.names);
	return rc;
}

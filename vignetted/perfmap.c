/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Two numbers and the longest name that a profile holds: what is longer is cut by the writer, which
 * counts it. */
enum { LINES_MAX = 4 * 1000 * 1000, LINE_MAX_BYTES = VG_NAME_MAX_BYTES + 64 };

/* A piece of code, of which the latest line counts: engines use addresses again. */
struct piece {
	uint64_t start, size;
	uint32_t line, name;
};

struct reading {
	const uint64_t *addresses;   /* sorted: where samples were in code of no module */
	size_t address_count;
	VG_ARRAY(struct piece) pieces;
	struct vg_intern names;
};

/* The number that the process has in its own pid namespace: the last one of the line. */
static pid_t own_number(pid_t pid)
{
	char path[64], line[256];
	pid_t number = pid;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		char *last = strrchr(line, '\t');

		if (strncmp(line, "NSpid:", 6) == 0 && last != NULL)
			number = (pid_t)strtol(last, NULL, 10);
	}
	if (file != NULL)
		fclose(file);
	return number;
}

void vg_perfmap_open(struct vg_perfmap *map, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/root/tmp", pid);
	map->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(map->name, sizeof map->name, "perf-%d.map", own_number(pid));
}

void vg_perfmap_close(struct vg_perfmap *map)
{
	if (map->directory >= 0)
		close(map->directory);
	map->directory = -1;
}

static int by_address(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* Whether a sample was in that range. */
static bool is_wanted(const struct reading *reading, uint64_t start, uint64_t size)
{
	size_t low = 0, high = reading->address_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (reading->addresses[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < reading->address_count && reading->addresses[low] - start < size;
}

bool vg_perfmap_concerns(uint32_t module, enum vg_found found)
{
	return module == VG_NONE && found != VG_FOUND_CALL;
}

static int line_keep(struct reading *reading, char *line, uint32_t number)
{
	struct piece piece = { .line = number };
	char *at, *name;

	piece.start = strtoull(line, &at, 16);
	if (at == line || *at != ' ')
		return 0;
	piece.size = strtoull(at, &name, 16);
	if (name == at || *name != ' ' || !is_wanted(reading, piece.start, piece.size))
		return 0;
	name++;
	name[strcspn(name, "\n")] = '\0';
	if (vg_intern_string(&reading->names, name, &piece.name) < 0)
		return -ENOMEM;
	return vg_array_push(&reading->pieces, &piece);
}

/* What is too long for the buffer is no line of its own. */
static void line_finish(const char *line, FILE *file)
{
	int byte = 0;

	while (strchr(line, '\n') == NULL && byte != '\n' && byte != EOF)
		byte = getc(file);
}

static int lines_read(struct reading *reading, FILE *file)
{
	char line[LINE_MAX_BYTES];
	int rc = 0;

	for (uint32_t number = 0; rc == 0 && number < LINES_MAX; number++) {
		if (fgets(line, sizeof line, file) == NULL)
			break;
		line_finish(line, file);
		rc = line_keep(reading, line, number);
	}
	return rc;
}

static int by_start(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

/* Of pieces that share an address the latest is written, cut where the next begins. */
static int pieces_write(struct reading *reading, struct vg_writer *writer)
{
	size_t count = reading->pieces.count;
	int rc = 0;

	if (count > 0)
		qsort(reading->pieces.items, count, sizeof *reading->pieces.items, by_start);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct piece *piece = &reading->pieces.items[i];
		uint64_t size = piece->size;

		if (i + 1 < count && piece[1].start == piece->start)
			continue;
		if (i + 1 < count && piece[1].start - piece->start < size)
			size = piece[1].start - piece->start;
		rc = vg_writer_code(writer, piece->start, size,
				    vg_intern_text(&reading->names, piece->name));
	}
	return rc;
}

int vg_perfmap_write(const struct vg_perfmap *map, uint64_t *addresses, size_t count,
		     struct vg_writer *writer)
{
	struct reading reading = { .addresses = addresses, .address_count = count };
	struct stat status;
	FILE *file = NULL;
	int fd, rc;

	if (map->directory < 0 || count == 0)
		return 0;
	fd = openat(map->directory, map->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		file = fdopen(fd, "r");
	if (file == NULL) {
		close(fd);
		return 0;
	}
	qsort(addresses, count, sizeof *addresses, by_address);
	rc = lines_read(&reading, file);
	if (rc == 0)
		rc = pieces_write(&reading, writer);
	fclose(file);
	vg_array_free(&reading.pieces);
	vg_intern_free(&reading.names);
	return rc;
}

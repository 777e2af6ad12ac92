/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Makes a large symbol file from a small one: repeats its functions, each time at higher addresses and with other
 * names.
 *
 *     repeat SYM MIB >LARGER
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t copy_bytes;     /* distance between the addresses of one copy and the next */
static uint64_t written;        /* bytes */

static void address_print(const char **at, uint64_t shift)
{
	char *end;
	uint64_t address = strtoull(*at, &end, 16);

	written += (uint64_t)printf("%" PRIx64, address + shift);
	*at = end;
}

static void rest_print(const char *at, const char *suffix)
{
	size_t length = strcspn(at, "\n");

	written += (uint64_t)printf("%.*s%s\n", (int)length, at, suffix);
}

/* "INLINE depth line file origin [address size]+" */
static void inline_print(const char *line, uint64_t shift)
{
	const char *at = line;

	for (int spaces = 0; spaces < 5; at++)
		spaces += *at == ' ';
	written += fwrite(line, 1, (size_t)(at - line), stdout);
	while (*at != '\n' && *at != '\0') {
		size_t size;

		address_print(&at, shift);
		size = strcspn(at + 1, " \n") + 1;
		written += fwrite(at, 1, size, stdout);
		at += size;
		if (*at == ' ')
			written += fwrite(at++, 1, 1, stdout);
	}
	written += (uint64_t)printf("\n");
}

static void line_print(const char *line, unsigned copy)
{
	uint64_t shift = copy * copy_bytes;
	char suffix[32] = "";
	const char *at = line;

	if (strncmp(line, "INLINE ", 7) == 0) {
		inline_print(line, shift);
		return;
	}
	if (strncmp(line, "FUNC ", 5) == 0 || strncmp(line, "PUBLIC ", 7) == 0) {
		at = strchr(line, ' ') + 1;
		if (strncmp(at, "m ", 2) == 0)
			at += 2;
		if (copy > 0)
			snprintf(suffix, sizeof suffix, "#%u", copy);
		written += fwrite(line, 1, (size_t)(at - line), stdout);
	}
	address_print(&at, shift);
	rest_print(at, suffix);
}

static int is_code(const char *line)
{
	return strncmp(line, "FUNC ", 5) == 0 || strncmp(line, "PUBLIC ", 7) == 0 ||
	       strncmp(line, "INLINE ", 7) == 0 || (*line >= '0' && *line <= '9') ||
	       (*line >= 'a' && *line <= 'f');
}

int main(int argc, char **argv)
{
	uint64_t bytes_max = argc == 3 ? strtoull(argv[2], NULL, 10) << 20 : 0;
	FILE *file = argc == 3 ? fopen(argv[1], "r") : NULL;
	char *line = NULL;
	size_t room = 0;

	if (file == NULL || bytes_max == 0)
		return 2;
	for (unsigned copy = 0; copy == 0 || written < bytes_max; copy++) {
		uint64_t address, size;

		rewind(file);
		while (getline(&line, &room, file) > 0) {
			if (is_code(line))
				line_print(line, copy);
			else if (copy == 0)
				rest_print(line, "");
			if (copy == 0 && (sscanf(line, "FUNC %" SCNx64 " %" SCNx64, &address, &size) == 2 ||
			    sscanf(line, "FUNC m %" SCNx64 " %" SCNx64, &address, &size) == 2) &&
			    address + size > copy_bytes)
				copy_bytes = address + size;
		}
		if (copy == 0)
			copy_bytes = (copy_bytes + 0xfffff) & ~UINT64_C(0xfffff);
	}
	free(line);
	fclose(file);
	return fflush(stdout) != 0;
}

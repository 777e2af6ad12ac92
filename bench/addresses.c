/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Writes a profile with many addresses of one module.
 *
 *     addresses SYM COUNT >PROFILE
 *
 * The addresses are spread evenly over the code that the FUNC records of SYM cover.  No two are equal.  The profile has
 * them in stacks of 20 frames.  The module's build id is the CODE_ID of SYM.  The addresses are also written to
 * standard error, in hexadecimal, one per line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/record.h"
#include "profile/writer.h"

enum { DEPTH = 20 };

struct range {
	uint64_t address, size_bytes;
};

struct module {
	char name[256];
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;
	VG_ARRAY(struct range) functions;
	uint64_t code_bytes;
};

static void die(const char *what)
{
	fprintf(stderr, "addresses: %s\n", what);
	exit(1);
}

static void build_id_parse(struct module *module, const char *text)
{
	unsigned byte;

	for (; module->build_id_bytes < sizeof module->build_id && sscanf(text, "%2x", &byte) == 1;
	     text += 2)
		module->build_id[module->build_id_bytes++] = (unsigned char)byte;
}

/* Skips a function that is out of order or overlaps the one before it: its addresses would not be distinct. */
static void function_add(struct module *module, struct range range)
{
	uint64_t end = 0;

	if (module->functions.count > 0) {
		const struct range *last = &module->functions.items[module->functions.count - 1];

		end = last->address + last->size_bytes;
	}
	if (range.size_bytes == 0 || range.address < end)
		return;
	if (vg_array_push(&module->functions, &range) != 0)
		die("out of memory");
	module->code_bytes += range.size_bytes;
}

static void module_read(struct module *module, const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;

	if (file == NULL)
		die("cannot read the symbols");
	while (getline(&line, &room, file) > 0) {
		struct range range;
		int at;

		if (strncmp(line, "FUNC ", 5) == 0) {
			if (sscanf(line + (line[5] == 'm' ? 7 : 5), "%" SCNx64 " %" SCNx64,
				   &range.address, &range.size_bytes) == 2)
				function_add(module, range);
		} else if (sscanf(line, "MODULE %*s %*s %*s %n", &at) == 0 && at > 0 &&
			   strncmp(line, "MODULE ", 7) == 0) {
			snprintf(module->name, sizeof module->name, "%.*s",
				 (int)strcspn(line + at, "\n"), line + at);
		} else if (strncmp(line, "INFO CODE_ID ", 13) == 0) {
			build_id_parse(module, line + 13);
		}
	}
	free(line);
	fclose(file);
}

static void stack_write(struct vg_writer *writer, uint64_t number, uint64_t address)
{
	uint32_t id = VG_STACK_ROOTS + (uint32_t)number;
	struct vg_writer_sample sample = { .stack = id, .count = 1, .wall_ns = 1000000,
					   .cpu_ns = 1000000 };

	if (vg_writer_stack(writer, id, number % DEPTH == 0 ? VG_WALK_ROOT : id - 1, 0, address,
			    VG_FOUND_BY_CFI) != 0)
		die("cannot write");
	sample.time_ns = (number / DEPTH + 1) * 1000000;
	if (number % DEPTH == DEPTH - 1 && vg_writer_sample(writer, &sample) != 0)
		die("cannot write");
	fprintf(stderr, "0x%" PRIx64 "\n", address);
}

static void stacks_write(const struct module *module, struct vg_writer *writer, uint64_t count)
{
	uint64_t before = 0, number = 0;

	for (size_t i = 0; i < module->functions.count; i++) {
		const struct range *function = &module->functions.items[i];

		for (; number < count; number++) {
			uint64_t at = (uint64_t)((double)module->code_bytes / (double)count *
						 (double)number);

			if (at >= before + function->size_bytes)
				break;
			stack_write(writer, number, function->address + (at - before));
		}
		before += function->size_bytes;
	}
}

int main(int argc, char **argv)
{
	struct vg_writer_header header = { .period_ns = 1000000, .max_frames = 256, .mode = "wall",
					   .writer = "bench", .arch = "x86_64", .program = "bench" };
	struct vg_module model = { .base = 0x10000000 };
	struct vg_thread thread = { .tid = 1 };
	struct module module = { .name = "" };
	struct vg_writer writer;
	uint64_t count = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;

	if (count == 0)
		die("usage: addresses SYM COUNT");
	module_read(&module, argv[1]);
	if (module.code_bytes < count)
		die("the module has fewer addresses than COUNT");
	memcpy(model.build_id, module.build_id, module.build_id_bytes);
	model.build_id_bytes = (uint8_t)module.build_id_bytes;
	model.size_bytes = UINT32_MAX;
	vg_writer_open(&writer, STDOUT_FILENO, 0);
	if (vg_writer_header(&writer, &header) != 0 ||
	    vg_writer_module(&writer, &model, module.name) != 0 ||
	    vg_writer_thread(&writer, &thread, "main") != 0)
		die("cannot write");
	stacks_write(&module, &writer, count);
	if (vg_writer_end(&writer, "done", count / DEPTH * 1000000, NULL, 0) != 0)
		die("cannot write");
	vg_writer_close(&writer);
	return 0;
}

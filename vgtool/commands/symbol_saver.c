/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/symbol_saver.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/infile.h"
#include "vgtool/commands/command.h"
#include "vgtool/output/text.h"
#include "vgtool/run/workers.h"

/* Limit for one file.  Reading the debug file of the largest browser takes one or two minutes. */
enum { CPU_SECONDS_MAX = 1800 };

/* Also true for a file that cannot be opened or read: the reader will report the error. */
static bool may_be_elf(const char *path)
{
	int fd = vg_regular_file_open(path);
	char magic[SELFMAG];
	ssize_t got;

	if (fd < 0)
		return true;
	got = pread(fd, magic, sizeof magic, 0);
	close(fd);
	return got < 0 || (got == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0);
}

int vg_symbol_saver_add(struct vg_symbol_saver *saver, const char *path, off_t bytes, bool is_named)
{
	struct vg_symbol_saver_file file = { .bytes = bytes, .is_named = is_named };

	if (!is_named && !may_be_elf(path))
		return 0;
	file.path = strdup(path);
	if (file.path != NULL && vg_array_push(&saver->files, &file) == 0)
		/* cppcheck-suppress memleak ; it is in the array */
		return 0;
	free(file.path);
	return -ENOMEM;
}

static int file_run(void *context, size_t number)
{
	const struct vg_symbol_saver *saver = context;

	return saver->save(saver->context, saver->files.items[number].path,
			   saver->files.items[number].is_named);
}

static void file_done(void *context, size_t number, int status, const struct vg_err *err)
{
	struct vg_symbol_saver *saver = context;
	struct vg_symbol_saver_file *file = &saver->files.items[number];

	if (status < 0)
		vg_command_warn(saver->command, "%s: %s", file->path, err->text);
	file->failed = status != VG_EXIT_DONE;
	saver->failures += file->failed;
}

static int larger_first(const void *a, const void *b, void *context)
{
	const struct vg_symbol_saver_file *files = context;
	size_t left = *(const size_t *)a, right = *(const size_t *)b;

	if (files[left].bytes != files[right].bytes)
		return files[left].bytes < files[right].bytes ? 1 : -1;
	return left < right ? -1 : left > right;
}

static void failures_list(const struct vg_symbol_saver *saver)
{
	if (saver->failures == 0 || saver->files.count == 1)
		return;
	vg_command_warn(saver->command, "%zu of %zu files failed:", saver->failures,
			saver->files.count);
	for (size_t i = 0; i < saver->files.count; i++) {
		if (saver->files.items[i].failed)
			vg_command_warn(saver->command, "failed: %s", saver->files.items[i].path);
	}
}

int vg_symbol_saver_run(struct vg_symbol_saver *saver, struct vg_err *err)
{
	size_t *order = malloc((saver->files.count + 1) * sizeof *order);
	struct vg_workers workers = {
		.jobs_max = saver->jobs > 0 ? saver->jobs : vg_workers_cpus(),
		.cpu_seconds_max = CPU_SECONDS_MAX, .count = saver->files.count, .order = order,
		.run = file_run, .done = file_done, .context = saver,
	};
	int rc;

	if (order == NULL)
		return vg_err_sys(err, -ENOMEM, "cannot save the symbols");
	for (size_t i = 0; i < saver->files.count; i++)
		order[i] = i;
	if (saver->files.count > 1)
		qsort_r(order, saver->files.count, sizeof *order, larger_first, saver->files.items);
	rc = vg_workers_run(&workers, err);
	failures_list(saver);
	free(order);
	return rc;
}

void vg_symbol_saver_free(struct vg_symbol_saver *saver)
{
	for (size_t i = 0; i < saver->files.count; i++)
		free(saver->files.items[i].path);
	vg_array_free(&saver->files);
}

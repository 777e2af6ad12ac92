/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/saving.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vgtool/commands/command.h"
#include "vgtool/output/text.h"
#include "vgtool/run/workers.h"

/* The largest browser's debug file takes a minute or two. */
enum { CPU_SECONDS_MAX = 1800 };

/* What cannot be opened is left to the one who says why. */
static bool may_be_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char magic[SELFMAG];
	ssize_t got;

	if (fd < 0)
		return true;
	got = pread(fd, magic, sizeof magic, 0);
	close(fd);
	return got < 0 || (got == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0);
}

int vg_saving_add(struct vg_saving *saving, const char *path, off_t bytes, bool is_named)
{
	struct vg_saving_file file = { .bytes = bytes, .is_named = is_named };

	if (!is_named && !may_be_elf(path))
		return 0;
	file.path = strdup(path);
	if (file.path != NULL && vg_array_push(&saving->files, &file) == 0)
		/* cppcheck-suppress memleak ; it is in the array */
		return 0;
	free(file.path);
	return -ENOMEM;
}

static int file_run(void *context, size_t number)
{
	const struct vg_saving *saving = context;

	return saving->save(saving->context, saving->files.items[number].path,
			    saving->files.items[number].is_named);
}

static void file_done(void *context, size_t number, int status, const struct vg_err *err)
{
	struct vg_saving *saving = context;
	struct vg_saving_file *file = &saving->files.items[number];

	if (status < 0)
		vg_command_warn(saving->command, "%s: %s", file->path, err->text);
	file->failed = status != VG_EXIT_DONE;
	saving->failures += file->failed;
}

static int larger_first(const void *a, const void *b, void *context)
{
	const struct vg_saving_file *files = context;
	size_t left = *(const size_t *)a, right = *(const size_t *)b;

	if (files[left].bytes != files[right].bytes)
		return files[left].bytes < files[right].bytes ? 1 : -1;
	return left < right ? -1 : left > right;
}

static void failures_list(const struct vg_saving *saving)
{
	if (saving->failures == 0 || saving->files.count == 1)
		return;
	vg_command_warn(saving->command, "%zu of %zu files failed:", saving->failures,
			saving->files.count);
	for (size_t i = 0; i < saving->files.count; i++) {
		if (saving->files.items[i].failed)
			vg_command_warn(saving->command, "failed: %s", saving->files.items[i].path);
	}
}

int vg_saving_run(struct vg_saving *saving, struct vg_err *err)
{
	size_t *order = malloc((saving->files.count + 1) * sizeof *order);
	struct vg_workers workers = {
		.at_once = saving->jobs > 0 ? saving->jobs : vg_workers_cpus(),
		.cpu_seconds_max = CPU_SECONDS_MAX, .count = saving->files.count, .order = order,
		.run = file_run, .done = file_done, .context = saving,
	};
	int rc;

	if (order == NULL)
		return vg_err_sys(err, -ENOMEM, "cannot save symbols");
	for (size_t i = 0; i < saving->files.count; i++)
		order[i] = i;
	if (saving->files.count > 1)
		qsort_r(order, saving->files.count, sizeof *order, larger_first, saving->files.items);
	rc = vg_workers_run(&workers, err);
	failures_list(saving);
	free(order);
	return rc;
}

void vg_saving_free(struct vg_saving *saving)
{
	for (size_t i = 0; i < saving->files.count; i++)
		free(saving->files.items[i].path);
	vg_array_free(&saving->files);
}

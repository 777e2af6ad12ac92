/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/stalls.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libvgctl/lanes.h"
#include "libvgctl/process.h"

/* Another thread may call vgctl_heartbeat() while the session ends. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct vg_stalls *current; /* protected by the mutex */
static _Atomic uint32_t stalls_seen;

/* The signals that were blocked before fork(2).  Protected by the mutex. */
static sigset_t before_fork;

static void fork_before(void)
{
	sigset_t before;

	vg_process_lock(&mutex, &before);
	before_fork = before;
}

static void fork_after(void)
{
	sigset_t before = before_fork;

	vg_process_unlock(&mutex, &before);
}

/* Registers the fork handlers when the library is loaded, as in lanes.c.  Otherwise a child could inherit a mutex that
 * another thread of the parent had locked. */
__attribute__((constructor)) static void prepare(void)
{
	pthread_atfork(fork_before, fork_after, fork_after);
}

static bool is_taken(const char *path)
{
	struct stat status;
	char *part;
	bool taken = lstat(path, &status) == 0;

	if (taken || asprintf(&part, "%s.part", path) < 0)
		return taken;
	taken = lstat(part, &status) == 0 && status.st_size > 0;
	free(part);
	return taken;
}

static int file_open(struct vg_stalls *stalls, const char *path, unsigned int number,
		     struct vg_err *err)
{
	struct vg_stall_file *next = &stalls->files[stalls->count];
	char *name;
	int rc;

	if (asprintf(&name, "%s.%u", path, number) < 0)
		return vg_err_sys(err, -ENOMEM, "%s", path);
	if (is_taken(name)) {
		free(name);
		return 0;
	}
	rc = vg_outfile_open(&next->file, name, err);
	free(name);
	if (rc != 0)
		return rc == -EBUSY ? 0 : rc;
	next->ids = vg_outfile_ids_of(&next->file);
	stalls->count++;
	return 0;
}

int vg_stalls_open(struct vg_stalls *stalls, const char *path, unsigned int max, struct vg_err *err)
{
	sigset_t before;
	int rc = 0;

	memset(stalls, 0, sizeof *stalls);
	for (unsigned int i = 1; rc == 0 && i <= max && i <= VG_WIRE_WATCH_FILES; i++)
		rc = file_open(stalls, path, i, err);
	stalls->stalls_before = vg_lanes_stalls_written();
	vg_process_lock(&mutex, &before);
	atomic_store(&stalls_seen, stalls->stalls_before);
	current = stalls;
	vg_process_unlock(&mutex, &before);
	return rc;
}

static void file_finish(struct vg_stall_file *one)
{
	struct stat status;

	vg_outfile_ids_check(&one->file, &one->ids);
	/* If the program has closed a descriptor, the file stays PATH.part. */
	if (one->file.fd < 0 || one->file.directory < 0)
		vg_outfile_close_copy(&one->file);
	else if (fstat(one->file.fd, &status) == 0 && status.st_size > 0)
		vg_outfile_commit(&one->file, NULL);
	else
		vg_outfile_abandon(&one->file);
}

void vg_stalls_rename_written(void)
{
	uint32_t written = vg_lanes_stalls_written();
	sigset_t before;

	if (written == atomic_load_explicit(&stalls_seen, memory_order_relaxed) || !vg_process_trylock(&mutex, &before))
		return;
	atomic_store(&stalls_seen, written);
	while (current != NULL && current->finished < current->count &&
	       current->finished < written - current->stalls_before)
		file_finish(&current->files[current->finished++]);
	vg_process_unlock(&mutex, &before);
}

/* From now on vg_stalls_rename_written() ignores the files of `stalls`. */
static void retire(struct vg_stalls *stalls)
{
	sigset_t before;

	vg_process_lock(&mutex, &before);
	if (current == stalls)
		current = NULL;
	vg_process_unlock(&mutex, &before);
}

void vg_stalls_close(struct vg_stalls *stalls)
{
	retire(stalls);
	while (stalls->finished < stalls->count)
		file_finish(&stalls->files[stalls->finished++]);
	memset(stalls, 0, sizeof *stalls);
}

void vg_stalls_forget(struct vg_stalls *stalls)
{
	while (stalls->finished < stalls->count) {
		struct vg_stall_file *one = &stalls->files[stalls->finished++];

		vg_outfile_ids_check(&one->file, &one->ids);
		vg_outfile_close_copy(&one->file);
	}
	retire(stalls);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/stalls.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libvgctl/lanes.h"

/* Heartbeats may come from any thread while the session ends. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct vg_stalls *current; /* under the mutex */
static _Atomic uint32_t dumps_seen;

static void fork_before(void)
{
	pthread_mutex_lock(&mutex);
}

static void fork_after(void)
{
	pthread_mutex_unlock(&mutex);
}

/* A child must not find the mutex held by a thread that it does not have.  As the library is loaded: lanes.c. */
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
	next->marks = vg_file_marks_of(&next->file);
	stalls->count++;
	return 0;
}

int vg_stalls_open(struct vg_stalls *stalls, const char *path, unsigned int max, struct vg_err *err)
{
	int rc = 0;

	memset(stalls, 0, sizeof *stalls);
	for (unsigned int i = 1; rc == 0 && i <= max && i <= VG_WIRE_WATCH_FILES; i++)
		rc = file_open(stalls, path, i, err);
	stalls->dumps_before = vg_lanes_dumps();
	pthread_mutex_lock(&mutex);
	atomic_store(&dumps_seen, stalls->dumps_before);
	current = stalls;
	pthread_mutex_unlock(&mutex);
	return rc;
}

static void file_finish(struct vg_stall_file *one)
{
	struct stat status;

	vg_file_marks_check(&one->file, &one->marks);
	/* What the program has closed itself keeps the name that it has. */
	if (one->file.fd < 0 || one->file.directory < 0)
		vg_outfile_forget(&one->file);
	else if (fstat(one->file.fd, &status) == 0 && status.st_size > 0)
		vg_outfile_commit(&one->file, NULL);
	else
		vg_outfile_abandon(&one->file);
}

void vg_stalls_name(void)
{
	uint32_t dumps = vg_lanes_dumps();

	if (dumps == atomic_load_explicit(&dumps_seen, memory_order_relaxed) ||
	    pthread_mutex_trylock(&mutex) != 0)
		return;
	atomic_store(&dumps_seen, dumps);
	while (current != NULL && current->named < current->count &&
	       current->named < dumps - current->dumps_before)
		file_finish(&current->files[current->named++]);
	pthread_mutex_unlock(&mutex);
}

/* No heartbeat names its files any more. */
static void retire(struct vg_stalls *stalls)
{
	pthread_mutex_lock(&mutex);
	if (current == stalls)
		current = NULL;
	pthread_mutex_unlock(&mutex);
}

void vg_stalls_close(struct vg_stalls *stalls)
{
	retire(stalls);
	while (stalls->named < stalls->count)
		file_finish(&stalls->files[stalls->named++]);
	memset(stalls, 0, sizeof *stalls);
}

void vg_stalls_forget(struct vg_stalls *stalls)
{
	while (stalls->named < stalls->count) {
		struct vg_stall_file *one = &stalls->files[stalls->named++];

		vg_file_marks_check(&one->file, &one->marks);
		vg_outfile_forget(&one->file);
	}
	retire(stalls);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/tasks.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int vg_tasks_open(struct vg_tasks *tasks, pid_t pid)
{
	struct rlimit limit;
	char path[64];

	memset(tasks, 0, sizeof *tasks);
	snprintf(path, sizeof path, "/proc/%d/task", pid);
	tasks->directory = opendir(path);
	if (tasks->directory == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	/* A thread's file is read at every tick: opening it costs three times the reading. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		/* Timers open a quarter at most (capture/timers.c), later than this. */
		tasks->kept_open_max = limit.rlim_cur > 64 ? ((size_t)limit.rlim_cur - 64) / 4 * 3 : 0;
	}
	return 0;
}

static void task_close(struct vg_tasks *tasks, struct vg_task *task)
{
	for (int i = 0; i < VG_TASK_FILES; i++) {
		if (task->files[i] >= 0) {
			close(task->files[i]);
			tasks->kept_open--;
		}
		task->files[i] = -1;
	}
}

void vg_tasks_close(struct vg_tasks *tasks)
{
	for (size_t i = 0; i < tasks->live.count; i++)
		task_close(tasks, &tasks->live.items[i]);
	vg_array_free(&tasks->live);
	if (tasks->directory != NULL)
		closedir(tasks->directory);
	tasks->directory = NULL;
}

/* The kernel lists threads in the order of their creation, as the array has them: so the next
 * one is nearly always where the hint points. */
struct vg_task *vg_tasks_find(struct vg_tasks *tasks, pid_t tid, size_t *hint)
{
	size_t count = tasks->live.count;

	for (size_t i = 0; i < count; i++) {
		size_t at = (*hint + i) % count;

		if (tasks->live.items[at].tid == tid) {
			*hint = at + 1;
			return &tasks->live.items[at];
		}
	}
	return NULL;
}

/* How many threads there were when the directory was asked: "." and ".." have a link each, too. */
static size_t threads_count(uint64_t links)
{
	return links > 2 ? (size_t)links - 2 : SIZE_MAX;
}

int vg_tasks_scan(struct vg_tasks *tasks)
{
	struct dirent *entry;
	struct stat status;
	size_t hint = 0, found = 0, seen = 0, known_count = tasks->live.count;

	if (fstat(dirfd(tasks->directory), &status) != 0)
		return -ESRCH;
	tasks->names_read = tasks->stale || status.st_nlink != tasks->links;
	if (!tasks->names_read)
		return 0;
	tasks->links = status.st_nlink;
	tasks->stale = false;
	tasks->over = 0;
	for (size_t i = 0; i < tasks->live.count; i++)
		tasks->live.items[i].seen = false;
	rewinddir(tasks->directory);
	/* Those that are made meanwhile stand behind those that were there, and are left to the next time:
	 * else a program that makes threads as fast as we read is never read to its end. */
	while (found < threads_count(tasks->links) && (entry = readdir(tasks->directory)) != NULL) {
		struct vg_task fresh = { .files = { -1, -1 }, .seen = true };
		struct vg_task *known;
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		found++;
		/* When all that were known are found, every other is new. */
		known = seen < known_count ? vg_tasks_find(tasks, tid, &hint) : NULL;
		/* A new thread has the number of one that is gone.  The next scan appends it, when the other is swept.
		 * The inode of its directory would not tell: the kernel also changes that of a live thread, when it
		 * drops what it has cached. */
		if (known != NULL && known->gone) {
			tasks->stale = true;
			continue;
		}
		if (known != NULL) {
			seen += !known->seen;
			known->seen = true;
			continue;
		}
		if (tasks->max != 0 && tasks->live.count >= tasks->max) {
			tasks->over++;
			continue;
		}
		fresh.tid = tid;
		if (vg_array_push(&tasks->live, &fresh) != 0)
			return -ENOMEM;
		tasks->found++;
	}
	if (tasks->over > tasks->over_most)
		tasks->over_most = tasks->over;
	return found > 0 ? 0 : -ESRCH;
}

void vg_tasks_sweep(struct vg_tasks *tasks)
{
	size_t kept = 0;

	for (size_t i = 0; i < tasks->live.count; i++) {
		if (tasks->live.items[i].seen)
			tasks->live.items[kept++] = tasks->live.items[i];
		else
			task_close(tasks, &tasks->live.items[i]);
	}
	/* There is room for one that found none. */
	tasks->stale |= kept < tasks->live.count && tasks->over > 0;
	tasks->live.count = kept;
}

int vg_tasks_directory(const struct vg_tasks *tasks)
{
	return dirfd(tasks->directory);
}

static int task_file_open(const struct vg_tasks *tasks, pid_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof path, "%d/%s", tid, name);
	return openat(dirfd(tasks->directory), path, O_RDONLY | O_CLOEXEC);
}

ssize_t vg_task_read(struct vg_tasks *tasks, struct vg_task *task, enum vg_task_file file,
		     char *text, size_t size_bytes)
{
	static const char *const names[] = {
		[VG_TASK_SCHEDSTAT] = "schedstat", [VG_TASK_SYSCALL] = "syscall",
	};
	int fd = task->files[file];
	ssize_t got;

	if (fd < 0)
		fd = task_file_open(tasks, task->tid, names[file]);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	if (task->files[file] < 0 && tasks->kept_open < tasks->kept_open_max) {
		task->files[file] = fd;
		tasks->kept_open++;
	}
	/* Once the thread has died this fails, even if another has got its number. */
	got = pread(fd, text, size_bytes - 1, 0);
	if (got < 0)
		got = -errno;
	task->gone |= got == -ESRCH;
	if (fd != task->files[file])
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got;
}

/* Numbers with a space between them.  Of all parsing this is what is done most. */
static void numbers_read(const char *at, uint64_t *values, int count)
{
	for (int i = 0; i < count; i++, at += *at == ' ') {
		for (values[i] = 0; *at >= '0' && *at <= '9'; at++)
			values[i] = values[i] * 10 + (uint64_t)(*at - '0');
	}
}

int vg_task_look(struct vg_tasks *tasks, struct vg_task *task, struct vg_task_look *look)
{
	uint64_t values[3] = { 0 };
	char text[96];
	ssize_t got = vg_task_read(tasks, task, VG_TASK_SCHEDSTAT, text, sizeof text);

	if (got <= 0) {
		tasks->stale = true;
		return got < 0 ? (int)got : -ESRCH;
	}
	numbers_read(text, values, 3);
	look->cpu_ns = values[0];
	look->queued_ns = values[1];
	look->slices = values[2];
	return 0;
}

/* Flags of include/linux/sched.h.  The last had another meaning before Linux 6.4, hence the name. */
static const unsigned long long EXITING = 0x4, IO_WORKER = 0x10, USER_WORKER = 0x4000;

/* pid (name) state ppid ...; the name may hold anything, parentheses and newlines too, and the
 * numbers behind it do not. */
static int status_parse(struct vg_task_status *status, char *text)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')'), *at;
	unsigned long long flags;
	size_t length;

	if (open == NULL || close == NULL || close < open || close[1] != ' ')
		return -ESRCH;
	length = (size_t)(close - open - 1);
	if (length >= sizeof status->name)
		length = sizeof status->name - 1;
	memcpy(status->name, open + 1, length);
	status->name[length] = '\0';
	status->state = close[2];
	at = close + 3;
	for (int field = 4; field < 9; field++) {
		strtoll(at, &at, 10);
	}
	flags = strtoull(at, &at, 10);                   /* field 9 */
	status->exiting = (flags & EXITING) != 0;
	status->of_kernel = (flags & IO_WORKER) != 0 ||
			    ((flags & USER_WORKER) != 0 && strncmp(status->name, "vhost-", 6) == 0);
	for (int field = 10; field < 22; field++) {      /* to field 22, starttime */
		strtoll(at, &at, 10);
	}
	status->start_ticks = strtoull(at, NULL, 10);
	return 0;
}

int vg_task_status(const struct vg_tasks *tasks, pid_t tid, struct vg_task_status *status)
{
	char text[1024];
	ssize_t got;
	int fd = task_file_open(tasks, tid, "stat");

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	got = read(fd, text, sizeof text - 1);
	close(fd);
	if (got <= 0)
		return -ESRCH;
	text[got] = '\0';
	return status_parse(status, text);
}

bool vg_task_is_alive(const struct vg_tasks *tasks, pid_t tid)
{
	struct vg_task_status status;

	return vg_task_status(tasks, tid, &status) == 0 && status.state != 'Z' && status.state != 'X';
}

bool vg_tasks_any_runs(const struct vg_tasks *tasks)
{
	struct vg_task_status status;
	struct dirent *entry;

	rewinddir(tasks->directory);
	while ((entry = readdir(tasks->directory)) != NULL) {
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    vg_task_status(tasks, (pid_t)strtol(entry->d_name, NULL, 10), &status) == 0 &&
		    !status.exiting && !status.of_kernel)
			return true;
	}
	return false;
}

void vg_task_stat_read(pid_t tid, char *text, size_t size_bytes)
{
	char path[32];
	ssize_t got;
	int fd;

	text[0] = '\0';
	snprintf(path, sizeof path, "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	got = read(fd, text, size_bytes - 1);
	text[got > 0 ? got : 0] = '\0';
	close(fd);
}

int vg_task_cpu(pid_t tid)
{
	char text[1024], *at;

	vg_task_stat_read(tid, text, sizeof text);
	at = strrchr(text, ')');
	for (int field = 2; field < 39 && at != NULL; field++)
		at = strchr(at + 1, ' ');
	return at != NULL ? (int)strtol(at, NULL, 10) : -1;
}

pid_t vg_task_own_tid(const struct vg_tasks *tasks, pid_t tid)
{
	int fd = task_file_open(tasks, tid, "status");
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	char line[256];
	pid_t own = tid;

	if (file == NULL && fd >= 0)
		close(fd);
	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		char *last = strrchr(line, '\t');

		if (strncmp(line, "NSpid:", 6) == 0 && last != NULL) {
			own = (pid_t)strtol(last, NULL, 10);
			break;
		}
	}
	if (file != NULL)
		fclose(file);
	return own;
}

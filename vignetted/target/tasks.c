/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/tasks.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vignetted/target/target.h"

/* Descriptors for the process's maps, libraries, sockets and files that are open for a moment; and how many are closed
 * at once if none is left. */
enum { OTHER_FILES = 64, CLOSED_AT_ONCE = 16 };

int vg_tasks_open(struct vg_tasks *tasks, pid_t pid)
{
	struct rlimit limit;
	size_t others;
	char path[64];

	memset(tasks, 0, sizeof *tasks);
	snprintf(path, sizeof path, "/proc/%d/task", pid);
	tasks->directory = opendir(path);
	if (tasks->directory == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	/* Threads' files are kept open: they are read at every tick, and open(2) costs three times as much as read(2).
	 * The other descriptors are for timers (capture/timers.c), which use a quarter of the limit at most, for one
	 * ring on each CPU, and for OTHER_FILES. */
	others = OTHER_FILES + (size_t)sysconf(_SC_NPROCESSORS_CONF);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur - limit.rlim_cur / 4 > others)
		tasks->open_files_max = (size_t)(limit.rlim_cur - limit.rlim_cur / 4) - others;
	return 0;
}

static void task_close(struct vg_tasks *tasks, struct vg_task *task)
{
	for (int i = 0; i < VG_TASK_FILES; i++) {
		if (task->files[i] >= 0) {
			close(task->files[i]);
			tasks->open_files--;
		}
		task->files[i] = -1;
	}
}

void vg_tasks_close(struct vg_tasks *tasks)
{
	VG_EACH_TASK(task, tasks)
		task_close(tasks, task);
	vg_array_free(&tasks->live);
	if (tasks->directory != NULL)
		closedir(tasks->directory);
	tasks->directory = NULL;
}

/* The kernel lists threads in the order of their creation.  The array has the same order, so the next thread is nearly
 * always at *hint. */
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

/* The number of threads, from the directory's link count, which includes "." and "..".  SIZE_MAX: not known. */
static size_t threads_count(uint64_t link_count)
{
	return link_count > 2 ? (size_t)link_count - 2 : SIZE_MAX;
}

bool vg_tasks_changed(const struct vg_tasks *tasks)
{
	struct stat status;

	return tasks->stale || (tasks->only_count == 0 && (fstat(dirfd(tasks->directory), &status) != 0 ||
							   status.st_nlink != tasks->link_count));
}

void vg_tasks_choose(struct vg_tasks *tasks, const pid_t *tids, size_t count)
{
	if (count == tasks->only_count && memcmp(tids, tasks->only, count * sizeof *tids) == 0)
		return;
	memcpy(tasks->only, tids, count * sizeof *tids);
	tasks->only_count = count;
	tasks->stale = true;
}

static int task_add(struct vg_tasks *tasks, pid_t tid)
{
	struct vg_task fresh = { .tid = tid, .files = { -1, -1 }, .seen = true };

	if (vg_array_push(&tasks->live, &fresh) != 0)
		return -ENOMEM;
	tasks->found++;
	return 0;
}

/* Returns whether the scan must read the threads. */
static bool scan_begin(struct vg_tasks *tasks, bool is_due)
{
	tasks->directory_read = is_due;
	if (!is_due)
		return false;
	tasks->stale = false;
	tasks->excess = 0;
	VG_EACH_TASK(task, tasks)
		task->seen = false;
	return true;
}

static int chosen_scan(struct vg_tasks *tasks)
{
	size_t hint = 0;

	if (!scan_begin(tasks, tasks->stale))
		return 0;
	for (size_t i = 0; i < tasks->only_count; i++) {
		pid_t tid = tasks->only[i];
		struct vg_task *known = vg_tasks_find(tasks, tid, &hint);
		bool alive = vg_task_is_alive(tasks, tid);

		if (known != NULL)
			known->seen = alive && !known->exited;
		else if (alive && task_add(tasks, tid) != 0)
			return -ENOMEM;
	}
	return 0;
}

int vg_tasks_scan(struct vg_tasks *tasks)
{
	struct dirent *entry;
	struct stat status;
	size_t hint = 0, found = 0, seen = 0, known_count = tasks->live.count;

	if (tasks->only_count != 0)
		return chosen_scan(tasks);
	if (fstat(dirfd(tasks->directory), &status) != 0)
		return -ESRCH;
	if (!scan_begin(tasks, tasks->stale || status.st_nlink != tasks->link_count))
		return 0;
	tasks->link_count = status.st_nlink;
	rewinddir(tasks->directory);
	/* Read only as many threads as the link count says.  Newer threads are listed behind these, and wait for the
	 * next scan.  Without this limit, a scan of a program that creates threads as fast as we read would never
	 * end. */
	while (found < threads_count(tasks->link_count) && (entry = readdir(tasks->directory)) != NULL) {
		struct vg_task *known;
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		found++;
		/* When all known threads have been found, every other thread is new. */
		known = seen < known_count ? vg_tasks_find(tasks, tid, &hint) : NULL;
		/* If the known thread has exited, a new thread has its tid now.  The next scan appends the new
		 * thread.  (The inode of the thread's directory cannot show this: when the kernel drops caches, a live
		 * thread also gets a new inode.) */
		if (known != NULL && known->exited) {
			tasks->stale = true;
		} else if (known != NULL) {
			seen += !known->seen;
			known->seen = true;
		} else if (tasks->max != 0 && tasks->live.count >= tasks->max) {
			tasks->excess++;
		} else if (task_add(tasks, tid) != 0) {
			return -ENOMEM;
		}
	}
	/* If fewer threads were found than the link count said, a thread exited during the scan.  If another thread is
	 * created now, the link count is again the one that was read, and hides the new thread.  So the next scan must
	 * read the directory.  The kernel's list also ends at a thread that exits while readdir(3) is at it
	 * (next_tid() in fs/proc/base.c), before threads that live. */
	if (tasks->link_count > 2 && found < threads_count(tasks->link_count)) {
		tasks->stale = true;
		VG_EACH_TASK(task, tasks)
			task->seen = task->seen || (!task->exited && vg_task_is_alive(tasks, task->tid));
	}
	if (tasks->excess > tasks->excess_max)
		tasks->excess_max = tasks->excess;
	return found > 0 ? 0 : -ESRCH;
}

void vg_tasks_remove_exited(struct vg_tasks *tasks)
{
	size_t kept = 0;

	VG_EACH_TASK(task, tasks) {
		if (task->seen)
			tasks->live.items[kept++] = *task;
		else
			task_close(tasks, task);
	}
	/* A thread that was left out because of `max` has room now, so the next scan must read the directory. */
	tasks->stale |= kept < tasks->live.count && tasks->excess > 0;
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

/* The process has no descriptor left.  Closes some of the kept files, and keeps no more from now on: a file that is
 * opened again costs a microsecond, and one that cannot be opened costs a sample.  False if no file is kept. */
static bool kept_close(struct vg_tasks *tasks)
{
	size_t most = tasks->open_files > CLOSED_AT_ONCE ? tasks->open_files - CLOSED_AT_ONCE : 0;

	if (tasks->open_files == 0)
		return false;
	for (size_t i = tasks->live.count; i-- > 0 && tasks->open_files > most;)
		task_close(tasks, &tasks->live.items[i]);
	tasks->open_files_max = tasks->open_files;
	return true;
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
	if (fd < 0 && errno == EMFILE && kept_close(tasks))
		fd = task_file_open(tasks, task->tid, names[file]);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	if (task->files[file] < 0 && tasks->open_files < tasks->open_files_max) {
		task->files[file] = fd;
		tasks->open_files++;
	}
	/* A read of an exited thread's file fails, even if another thread has its tid. */
	got = pread(fd, text, size_bytes - 1, 0);
	if (got < 0)
		got = -errno;
	task->exited |= got == -ESRCH;
	if (fd != task->files[file])
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got;
}

/* Parses numbers with a space between them.  This is the parser that runs most often. */
static void numbers_read(const char *at, uint64_t *values, int count)
{
	for (int i = 0; i < count; i++, at += *at == ' ') {
		for (values[i] = 0; *at >= '0' && *at <= '9'; at++)
			values[i] = values[i] * 10 + (uint64_t)(*at - '0');
	}
}

int vg_task_activity_read(struct vg_tasks *tasks, struct vg_task *task, struct vg_task_activity *activity)
{
	uint64_t values[3] = { 0 };
	char text[96];
	ssize_t got = vg_task_read(tasks, task, VG_TASK_SCHEDSTAT, text, sizeof text);

	if (got <= 0) {
		tasks->stale = true;
		return got < 0 ? (int)got : -ESRCH;
	}
	numbers_read(text, values, 3);
	activity->cpu_ns = values[0];
	activity->queued_ns = values[1];
	activity->timeslices = values[2];
	return 0;
}

/* Flags of include/linux/sched.h.  USER_WORKER's bit had another meaning before Linux 6.4, so the thread's name is
 * checked too. */
static const unsigned long long EXITING = 0x4, IO_WORKER = 0x10, USER_WORKER = 0x4000;

/* The text is: pid (name) state ppid ...  The name may contain anything, including parentheses and newlines.  The
 * fields after the name contain no parenthesis. */
static int status_parse(struct vg_task_status *status, char *text)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')'), *at;
	unsigned long long flags, pending;
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
	for (int field = 4; field < 9; field++)
		strtoll(at, &at, 10);
	flags = strtoull(at, &at, 10); /* field 9 */
	status->exiting = (flags & EXITING) != 0;
	status->is_kernel_worker = (flags & IO_WORKER) != 0 ||
			    ((flags & USER_WORKER) != 0 && strncmp(status->name, "vhost-", 6) == 0);
	for (int field = 10; field < 22; field++)
		strtoll(at, &at, 10);
	status->start_ticks = strtoull(at, &at, 10); /* field 22 */
	for (int field = 23; field < 31; field++)
		strtoll(at, &at, 10);
	/* When the process is killed or calls exit_group(2), each thread has SIGKILL pending until it exits.  That may
	 * take long on a busy machine. */
	pending = strtoull(at, NULL, 10); /* field 31 */
	status->exiting = status->exiting || (pending & UINT64_C(1) << (SIGKILL - 1)) != 0;
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

bool vg_tasks_any_alive(const struct vg_tasks *tasks)
{
	struct vg_task_status status;
	struct dirent *entry;

	rewinddir(tasks->directory);
	while ((entry = readdir(tasks->directory)) != NULL) {
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    vg_task_status(tasks, (pid_t)strtol(entry->d_name, NULL, 10), &status) == 0 &&
		    !status.exiting && !status.is_kernel_worker)
			return true;
	}
	return false;
}

uint64_t vg_schedstat_queued_ns(int fd)
{
	uint64_t values[2] = { 0 };
	char text[64];
	ssize_t got = pread(fd, text, sizeof text - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	numbers_read(text, values, 2);
	return values[1];
}

int vg_task_cpu(pid_t tid)
{
	char text[1024], *at;

	vg_proc_read(text, sizeof text, "/proc/%d/stat", tid);
	at = strrchr(text, ')');
	for (int field = 2; field < 39 && at != NULL; field++)
		at = strchr(at + 1, ' ');
	return at != NULL ? (int)strtol(at, NULL, 10) : -1;
}

pid_t vg_task_namespace_tid(const struct vg_tasks *tasks, pid_t tid)
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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* After a scan that took a CPU time T, the next one is at least T * COST_FACTOR later: 1 % of one CPU.  A scan is due
 * after RESCAN_NS even if no process seems to be new: some sandboxes report no ids of processes. */
enum { COST_FACTOR = 100, RESCAN_NS = 200 * 1000 * 1000, PERIOD_NS = VG_DESCENDANTS_PERIOD_MS * 1000 * 1000 };

/* Reads the begin of a small file.  Returns its length; 0: it cannot be read. */
static size_t file_read(int directory, const char *path, char *text, size_t bytes)
{
	int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	text[0] = '\0';
	if (fd < 0)
		return 0;
	got = read(fd, text, bytes - 1);
	close(fd);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	return (size_t)got;
}

struct process {
	char state;                  /* 0: the process does not exist */
	int parent;
	uint64_t start_ticks;
};

/* From proc_pid_stat(5): state and ppid come after the name, which can have any character; starttime is field 22. */
static struct process process_read(pid_t pid)
{
	struct process process = { 0 };
	char path[64], text[1024], *end;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (file_read(AT_FDCWD, path, text, sizeof text) == 0)
		return process;
	end = strrchr(text, ')');
	if (end == NULL || sscanf(end, ") %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s "
				  "%*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
				  &process.state, &process.parent, &process.start_ticks) != 3)
		return (struct process){ 0 };
	return process;
}

static bool has_exited(const struct process *process)
{
	return process->state == 0 || process->state == 'Z' || process->state == 'X';
}

bool vg_process_exited(pid_t pid, uint64_t start_ticks)
{
	struct process process = process_read(pid);

	return has_exited(&process) || process.start_ticks != start_ticks;
}

int vg_descendants_check(struct vg_err *err)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	return access(path, R_OK) == 0 ? 0 :
	       vg_err_set(err, -ENOTSUP, "--children: this kernel has no %s (CONFIG_PROC_CHILDREN)", path);
}

/* A linear search suffices: most trees have fewer than a hundred processes.  parent: 0: not known. */
static int process_add(struct vg_descendants *descendants, pid_t pid, pid_t parent)
{
	struct vg_descendant added = { .pid = pid, .seen_ns = descendants->now_ns };
	struct process process;

	for (size_t i = 0; i < descendants->items.count; i++) {
		if (descendants->items.items[i].pid == pid)
			return 0;
	}
	/* With --pid, this process can be a descendant of the recorded one. */
	if (pid <= 0 || pid == getpid())
		return 0;
	process = process_read(pid);
	if (parent != 0 && (process.state == 0 || process.parent != parent))
		return 0;
	added.start_ticks = process.start_ticks;
	if (descendants->items.count < VG_DESCENDANTS_MAX)
		return vg_array_push(&descendants->items, &added);
	descendants->full = true;
	return 0;
}

int vg_descendants_add(struct vg_descendants *descendants, pid_t pid)
{
	return process_add(descendants, pid, 0);
}

/* The file has the ids of the thread's children, separated by spaces. */
static void children_add(struct vg_descendants *descendants, pid_t parent, int tasks, const char *thread)
{
	char path[300], text[4096];
	ssize_t got;
	long pid = 0;
	int fd;

	snprintf(path, sizeof path, "%s/children", thread);
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (got = read(fd, text, sizeof text)) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (text[i] >= '0' && text[i] <= '9' && pid < INT32_MAX / 10) {
				pid = 10 * pid + text[i] - '0';
			} else {
				process_add(descendants, (pid_t)pid, parent);
				pid = 0;
			}
		}
	}
	if (fd >= 0)
		close(fd);
}

/* Returns false if the process does not exist any more, also if another process has its id.  The directory stays that
 * of the process which had the id when it was opened. */
static bool process_scan(struct vg_descendants *descendants, struct vg_descendant process)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/task", (int)process.pid);
	tasks = opendir(path);
	if (tasks == NULL)
		return false;
	if (process_read(process.pid).start_ticks != process.start_ticks) {
		closedir(tasks);
		return false;
	}
	while ((entry = readdir(tasks)) != NULL) {
		if (entry->d_name[0] != '.')
			children_add(descendants, process.pid, dirfd(tasks), entry->d_name);
	}
	closedir(tasks);
	return true;
}

static void exited_remove(struct vg_descendants *descendants)
{
	size_t kept = 0;

	for (size_t i = 0; i < descendants->items.count; i++) {
		if (!descendants->items.items[i].exited)
			descendants->items.items[kept++] = descendants->items.items[i];
	}
	descendants->items.count = kept;
}

/* The latest id that was given to a process or thread: the last number in /proc/loadavg.  -1: unknown. */
static long latest_read(void)
{
	char text[128], *last;

	if (file_read(AT_FDCWD, "/proc/loadavg", text, sizeof text) == 0)
		return -1;
	last = strrchr(text, ' ');
	return last != NULL ? strtol(last, NULL, 10) : -1;
}

bool vg_descendants_scan(struct vg_descendants *descendants, uint64_t now_ns)
{
	uint64_t cpu_ns, cost_ns;
	long latest;

	if (now_ns < descendants->due_ns)
		return false;
	descendants->due_ns = now_ns + PERIOD_NS;
	latest = latest_read();
	if (latest == descendants->latest && now_ns < descendants->scanned_ns + RESCAN_NS)
		return false;
	descendants->latest = latest;
	descendants->now_ns = descendants->scanned_ns == 0 ? 0 : now_ns;
	descendants->scanned_ns = now_ns;
	cpu_ns = vg_own_cpu_ns();
	exited_remove(descendants);
	/* The scan appends to the array, and so comes to the grandchildren, too. */
	for (size_t i = 0; i < descendants->items.count; i++) {
		bool exists = process_scan(descendants, descendants->items.items[i]);

		descendants->items.items[i].exited = !exists;
	}
	cost_ns = (vg_own_cpu_ns() - cpu_ns) * COST_FACTOR;
	if (cost_ns > PERIOD_NS)
		descendants->due_ns = now_ns + cost_ns;
	return true;
}

void vg_descendants_free(struct vg_descendants *descendants)
{
	vg_array_free(&descendants->items);
}

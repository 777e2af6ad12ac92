/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/process_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A mount namespace has some dozens of mounts, a machine with containers some hundreds.  A hostile process can have
 * 100,000 (sysctl fs.mount-max). */
enum { MOUNTS_MAX = 4096 };

static void field_read(const char *path, const char *key, char text[VG_PROCESS_FIELD_BYTES])
{
	FILE *file = fopen(path, "re");

	text[0] = '\0';
	while (file != NULL && fgets(text, VG_PROCESS_FIELD_BYTES, file) != NULL) {
		if (strncmp(text, key, strlen(key)) == 0) {
			memmove(text, text + strlen(key), strlen(text + strlen(key)) + 1);
			break;
		}
		text[0] = '\0';
	}
	if (file != NULL)
		fclose(file);
}

void vg_process_status(pid_t pid, const char *key, char text[VG_PROCESS_FIELD_BYTES])
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	field_read(pid != VG_PROCESS_SELF ? path : "/proc/self/status", key, text);
}

pid_t vg_process_own_pid(pid_t pid)
{
	char text[VG_PROCESS_FIELD_BYTES];
	const char *last;

	vg_process_status(pid, "NSpid:", text);
	last = strrchr(text, '\t');
	return last != NULL ? (pid_t)strtol(last, NULL, 10) : 0;
}

long vg_process_user(pid_t pid)
{
	char text[VG_PROCESS_FIELD_BYTES];
	long real, effective, saved, file;

	if (pid <= 0)
		return -1;
	vg_process_status(pid, "Uid:", text);
	return sscanf(text, "%ld %ld %ld %ld", &real, &effective, &saved, &file) == 4 && effective == real &&
	       saved == real && file == real ? real : -1;
}

bool vg_process_is_own(pid_t pid)
{
	return vg_process_user(pid) == (long)geteuid();
}

/* A line of proc_pid_mountinfo(5): ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [FIELD...] - TYPE SOURCE OPTIONS. */
struct mount {
	uint64_t id;
	dev_t device;
	bool is_fuse, is_overlay;
	bool is_of_root;             /* FUSE: root's server, if the mount is one of our own namespace */
};

static bool mount_read(const char *line, struct mount *mount)
{
	const char *type = strstr(line, " - ");
	unsigned int id, major, minor;

	if (type == NULL || sscanf(line, "%u %*u %u:%u", &id, &major, &minor) != 3)
		return false;
	type += 3;
	*mount = (struct mount){
		id, makedev(major, minor), strncmp(type, "fuse", 4) == 0, strncmp(type, "overlay", 7) == 0,
		strstr(type, "user_id=0,") != NULL,
	};
	return true;
}

/* Finds the mount with the id or, if `device` is not NULL, one of that device.  process: a name in /proc. */
static bool mount_find(const char *process, uint64_t id, const dev_t *device, struct mount *found)
{
	char path[64], *line = NULL;
	struct mount mount;
	size_t room = 0;
	bool is_found = false;
	FILE *mounts;

	snprintf(path, sizeof path, "/proc/%s/mountinfo", process);
	mounts = fopen(path, "re");
	for (int i = 0; mounts != NULL && !is_found && i < MOUNTS_MAX && getline(&line, &room, mounts) > 0; i++) {
		is_found = mount_read(line, &mount) && (device != NULL ? mount.device == *device : mount.id == id);
		if (is_found)
			*found = mount;
	}
	free(line);
	if (mounts != NULL)
		fclose(mounts);
	return is_found;
}

/* From proc_pid_fdinfo(5), which has the line "mnt_id:" also for O_PATH descriptors. */
static bool mount_id_read(int file, uint64_t *id)
{
	char path[64], text[VG_PROCESS_FIELD_BYTES];

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", file);
	field_read(path, "mnt_id:", text);
	return sscanf(text, "%" SCNu64, id) == 1;
}

/* The mount can be one of our own namespace: if the process has left that namespace, its program is still there. */
static bool mount_is_safe(uint64_t id, pid_t pid)
{
	struct mount mount, ours;
	char process[32];

	snprintf(process, sizeof process, "%d", (int)pid);
	if (!mount_find("self", id, NULL, &mount) && !mount_find(process, id, NULL, &mount))
		return false;
	if (!mount.is_fuse && !mount.is_overlay)
		return true;
	return mount_find("self", 0, &mount.device, &ours) && (!ours.is_fuse || ours.is_of_root);
}

/* *checked: the id of a mount that is safe, or 0, which no mount has.  It becomes the id of this file's mount. */
static bool is_on_safe_mount(int file, pid_t pid, uint64_t *checked)
{
	uint64_t id;

	if (!mount_id_read(file, &id) || (id != *checked && !mount_is_safe(id, pid)))
		return false;
	*checked = id;
	return true;
}

bool vg_process_file_is_safe(int file, pid_t pid)
{
	uint64_t checked = 0;

	return vg_process_is_own(pid) || is_on_safe_mount(file, pid, &checked);
}

int vg_process_path_find(pid_t root, pid_t pid, const char *path)
{
	char rest[PATH_MAX], link[64], *saved = NULL;
	bool is_own = vg_process_is_own(pid);
	uint64_t checked = 0;
	int file;

	if (path[0] != '/' || strlen(path) >= sizeof rest)
		return -1;
	strcpy(rest, path);
	snprintf(link, sizeof link, "/proc/%d/root", (int)root);
	file = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (char *name = strtok_r(rest, "/", &saved); file >= 0; name = strtok_r(NULL, "/", &saved)) {
		bool is_safe = is_own || is_on_safe_mount(file, pid, &checked);
		int parent = file;

		if (is_safe && name == NULL)
			return file;
		file = is_safe && strcmp(name, "..") != 0 ? openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
		close(parent);
	}
	return -1;
}

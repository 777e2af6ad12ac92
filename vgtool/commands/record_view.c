/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/record_view.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/infile.h"
#include "base/outfile.h"
#include "base/output_path.h"
#include "vgtool/commands/view_page.h"
#include "vgtool/run/browser.h"

/* Reads the path of the process's executable, or "record" if it is unknown. */
static void executable_read(pid_t pid, char *room, size_t room_bytes)
{
	static const char deleted[] = " (deleted)";
	char path[64];
	ssize_t bytes;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	bytes = readlink(path, room, room_bytes - 1);
	if (bytes <= 0)
		bytes = snprintf(room, room_bytes, "record");
	room[bytes] = '\0';
	if ((size_t)bytes > sizeof deleted && strcmp(room + bytes - (sizeof deleted - 1), deleted) == 0)
		room[(size_t)bytes - (sizeof deleted - 1)] = '\0';
}

char *vg_record_view_path(const struct vg_record_options *options)
{
	char room[PATH_MAX], name[VG_OUTPUT_NAME_BYTES], *path;

	if (options->out != NULL)
		return vg_view_page_path(options->out);
	if (options->pids.count > 0)
		executable_read(options->pids.items[0], room, sizeof room);
	else
		snprintf(room, sizeof room, "%s", options->command[0]);
	vg_output_path_make_name(vg_path_name(room), name);
	return asprintf(&path, "./%s.html", name) >= 0 ? path : NULL;
}

/* True if page/page.html was the beginning of this file. */
static bool is_page(const char *path)
{
	static const char mark[] = "<meta name=\"generator\" content=\"vgtool view\">";
	char head[1024];
	int fd = vg_regular_file_open(path);
	ssize_t bytes = fd >= 0 ? read(fd, head, sizeof head) : 0;

	if (fd >= 0)
		close(fd);
	return bytes > 0 && memmem(head, (size_t)bytes, mark, sizeof mark - 1) != NULL;
}

int vg_record_view_check(const char *path, struct vg_err *err)
{
	struct vg_outfile file = VG_OUTFILE_CLOSED;
	int rc;

	if (vg_output_path_is_special(path))
		return vg_err_set(err, -EINVAL, "--view: %s: must be a regular file", path);
	/* This refuses a link of another user, which could lead to a file that is never read to its end. */
	rc = vg_outfile_open(&file, path, err);
	if (rc == 0 && access(path, F_OK) == 0 && !is_page(path))
		rc = vg_err_set(err, -EEXIST, "--view: %s: exists, and vgtool has not written it; use another -o OUT",
				path);
	vg_outfile_abandon(&file);
	return rc;
}

void vg_record_view_open(const char *command, const char *path)
{
	const char *program = vg_browser_can_open() ? vg_browser_open(path) : NULL;

	if (program != NULL)
		vg_command_warn(command, "%s: started %s to show it", path, program);
	else
		vg_command_warn(command, "%s: open it in a browser", path);
}

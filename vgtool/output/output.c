/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool is_standard_output(const char *path)
{
	return path == NULL || strcmp(path, "-") == 0;
}

int vg_output_check_terminal(const char *path, struct vg_err *err)
{
	if (is_standard_output(path) && isatty(STDOUT_FILENO))
		return vg_err_set(err, -EINVAL, "a profile is not written to a terminal; redirect standard output, or "
				  "use -o FILE");
	return 0;
}

int vg_output_open(struct vg_output *output, const char *path, struct vg_err *err)
{
	int rc, fd;

	*output = (struct vg_output)VG_OUTPUT_CLOSED;
	if (is_standard_output(path)) {
		output->file = stdout;
		output->name = "standard output";
		return 0;
	}
	output->name = path;
	rc = vg_outfile_open(&output->outfile, path, err);
	if (rc != 0)
		return rc;
	/* fclose(3) closes the stream's descriptor, and vg_outfile closes its own.  So the stream gets a copy. */
	fd = fcntl(output->outfile.fd, F_DUPFD_CLOEXEC, 3);
	output->file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (output->file == NULL) {
		rc = vg_err_sys(err, -errno, "%s: cannot write", path);
		if (fd >= 0)
			close(fd);
		vg_outfile_abandon(&output->outfile);
	}
	return rc;
}

int vg_output_commit(struct vg_output *output, struct vg_err *err)
{
	bool failed = ferror(output->file) != 0;
	int rc = 0;

	/* The errno of an earlier failure is lost.  The bytes may be lost, too, and fflush(3) then has nothing to write.
	 * Another byte usually fails for the same reason and sets errno; otherwise EIO is reported. */
	errno = EIO;
	if (failed)
		putc('\n', output->file);
	if (fflush(output->file) != 0 || failed)
		rc = vg_err_sys(err, -errno, "%s: cannot write", output->name);
	if (output->file == stdout) {
		clearerr(stdout);       /* otherwise main() would report the error again */
		*output = (struct vg_output)VG_OUTPUT_CLOSED;
		return rc;
	}
	if (fclose(output->file) != 0 && rc == 0)
		rc = vg_err_sys(err, -errno, "%s: cannot write", output->name);
	output->file = NULL;
	if (rc == 0)
		rc = vg_outfile_commit(&output->outfile, err);
	vg_outfile_abandon(&output->outfile);
	return rc;
}

void vg_output_abandon(struct vg_output *output)
{
	if (output->file != NULL && output->file != stdout)
		fclose(output->file);
	output->file = NULL;
	vg_outfile_abandon(&output->outfile);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad_missing_file.h"

#include "base/infile.h"
#include "symbols/breakpad/breakpad.h"
#include "symbols/table/debug_id.h"

int vg_sym_missing_file_read(struct vg_missing_file *missing_file, const char *text, const char *end)
{
	const char *space = memchr(text, ' ', (size_t)(end - text));
	unsigned char id[VG_BUILD_ID_MAX_BYTES];
	size_t id_bytes;
	char *path;
	int rc;

	if (missing_file->path != NULL || space == NULL || space + 1 == end ||
	    !vg_hex_parse(text, (size_t)(space - text), id, sizeof id, &id_bytes))
		return -EBADMSG;
	path = strndup(space + 1, (size_t)(end - space - 1));
	if (path == NULL)
		return -ENOMEM;
	rc = vg_missing_file_set(missing_file, path, id, id_bytes);
	free(path);
	return rc;
}

int vg_breakpad_find_missing_file(struct vg_missing_file *missing_file, const char *path, struct vg_err *err)
{
	static const char module[] = "MODULE ", info[] = "INFO ", record[] = "INFO MISSING ",
			  stripped[] = "INFO STRIPPED";
	struct vg_infile file;
	const char *line, *end, *next;
	int rc = vg_infile_open(&file, path, err);

	if (rc != 0)
		return rc;
	line = (const char *)file.bytes;
	end = line + file.length;
	for (; rc == 0 && missing_file->path == NULL && line < end; line = next < end ? next + 1 : end) {
		size_t left = (size_t)(end - line);

		next = memchr(line, '\n', left);
		if (next == NULL)
			next = end;
		if (left > sizeof record && memcmp(line, record, sizeof record - 1) == 0)
			rc = vg_sym_missing_file_read(missing_file, line + sizeof record - 1,
						      next[-1] == '\r' ? next - 1 : next);
		else if (left > sizeof stripped && memcmp(line, stripped, sizeof stripped - 1) == 0 &&
			 (line[sizeof stripped - 1] == '\n' || line[sizeof stripped - 1] == '\r'))
			missing_file->exported_only = true;
		else if (left < sizeof module || (memcmp(line, module, sizeof module - 1) != 0 &&
						  memcmp(line, info, sizeof info - 1) != 0))
			break;
	}
	vg_infile_close(&file);
	return rc == -ENOMEM ? vg_err_sys(err, rc, "%s", path) : 0;
}

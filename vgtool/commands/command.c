/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "vgtool/commands/command.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build_id.h"
#include "base/print.h"
#include "profile/reader.h"
#include "symbols/table/missing_file.h"
#include "vgtool/output/text.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unversioned"
#endif

const char *vg_command_version(void)
{
	return PACKAGE_VERSION;
}

const char *vg_command_exporter(void)
{
	return "vignette " PACKAGE_VERSION;
}

int vg_command_fail(const char *command, const struct vg_err *err)
{
	vg_print(stderr, "%s: %s\n", command, err->text);
	return VG_EXIT_FAILED;
}

static void line_print(const char *command, const char *format, va_list args)
{
	vg_print(stderr, "%s: ", command);
	vg_vprint(stderr, format, args);
	fputc('\n', stderr);
}

void vg_command_warn(const char *command, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line_print(command, format, args);
	va_end(args);
}

void vg_command_warn_missing_file(const char *command, const char *module, const struct vg_missing_file *missing_file)
{
	char id[2 * VG_BUILD_ID_MAX_BYTES + 1];

	vg_build_id_hex(id, sizeof id, missing_file->id, missing_file->id_bytes);
	vg_command_warn(command, "%s: some function names are in %s, build id %s, which was not found", module,
			missing_file->path, id);
}

int vg_command_usage(const char *usage, enum vg_exit status)
{
	fputs(usage, status == VG_EXIT_DONE ? stdout : stderr);
	return status;
}

int vg_command_usage_error(const char *command, const char *usage, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line_print(command, format, args);
	va_end(args);
	fputs(usage, stderr);
	return VG_EXIT_USAGE;
}

void vg_command_confine_warn(const char *command)
{
	if (!vg_confine_has_seccomp())
		vg_command_warn(command, "this kernel has no seccomp; system calls are not filtered");
}

enum vg_exit vg_command_confine(const char *command, const struct vg_confinement *confinement)
{
	struct vg_err err;

	vg_command_confine_warn(command);
	if (vg_reader_confine(confinement, &err) == 0)
		return VG_EXIT_DONE;
	vg_command_fail(command, &err);
	return VG_EXIT_FAILED;
}

enum vg_exit vg_command_confine_stores(const char *command, const struct vg_command_stores *stores,
				       struct vg_confinement confinement)
{
	const char **more = malloc((stores->count + confinement.more_path_count + 1) * sizeof *more);
	enum vg_exit status;
	size_t count = 0;

	if (more == NULL) {
		vg_command_warn(command, "out of memory");
		return VG_EXIT_FAILED;
	}
	for (size_t i = 0; i < confinement.more_path_count; i++)
		more[count++] = confinement.more[i];
	for (size_t i = 0; i < stores->count; i++)
		more[count++] = stores->items[i];
	more[count++] = "/usr/lib/debug";
	confinement.more = more;
	confinement.more_path_count = count;
	status = vg_command_confine(command, &confinement);
	free(more);
	return status;
}

enum vg_exit vg_command_confine_to(const char *command, const char *path, const char *writes)
{
	return vg_command_confine(command, &(struct vg_confinement){
		.paths = &path, .path_count = 1,
		.writes = writes != NULL && strcmp(writes, "-") != 0 ? writes : NULL,
	});
}

/* Prints one line, even if the profile is damaged in many places.  `vgtool info` lists the places. */
static void damage_warn(const char *command, const struct vg_command_profile *opened)
{
	const struct vg_profile *profile = &opened->profile;
	const char *path = opened->file.path;

	if (profile->damage.count > 0) {
		const struct vg_damage *first = &profile->damage.items[0];

		vg_command_warn(command, "%s: damaged at offset %" PRIu64 ": %s; %zu damaged place%s, %" PRIu64
				" bytes left out%s", path, first->offset, first->problem,
				profile->damage.count, profile->damage.count == 1 ? "" : "s",
				profile->damaged_bytes,
				profile->end_reason == VG_NONE ? "; the end record is missing" : "");
	} else if (profile->end_reason == VG_NONE) {
		vg_command_warn(command, "%s: truncated at offset %" PRIu64
				": the end record is missing; the part before this offset is used", path,
				profile->file_bytes);
	}
}

static void unknown_warn(const char *command, const struct vg_command_profile *opened)
{
	const struct vg_profile *profile = &opened->profile;

	if (profile->unknown_records > 0 || profile->unknown_fields > 0)
		vg_command_warn(command, "%s: a later version wrote it; %" PRIu64 " record%s and %" PRIu64 " field%s that "
				"this vgtool does not know were skipped", opened->file.path,
				profile->unknown_records, profile->unknown_records == 1 ? "" : "s",
				profile->unknown_fields, profile->unknown_fields == 1 ? "" : "s");
}

enum vg_exit vg_command_open(const char *command, const char *path, struct vg_command_profile *opened)
{
	struct vg_err err;

	*opened = (struct vg_command_profile){ 0 };
	if (vg_infile_open_argument(&opened->file, path, &err) != 0 ||
	    vg_profile_read(&opened->profile, &opened->file, &err) != 0) {
		vg_command_fail(command, &err);
		return VG_EXIT_FAILED;
	}
	damage_warn(command, opened);
	unknown_warn(command, opened);
	return VG_EXIT_DONE;
}

void vg_command_close(struct vg_command_profile *opened)
{
	vg_profile_free(&opened->profile);
	if (opened->file.bytes != NULL)
		vg_infile_close(&opened->file);
}

int vg_command_with_profile(const char *command, const char *path,
			    int (*use)(void *context, struct vg_profile *profile, struct vg_err *err),
			    void *context)
{
	struct vg_command_profile opened;
	struct vg_err err = { "" };
	int status = vg_command_open(command, path, &opened), rc;

	if (status == VG_EXIT_DONE) {
		rc = use(context, &opened.profile, &err);
		if (rc != 0 && err.text[0] == '\0')
			vg_err_sys(&err, rc, "%s: cannot process the profile", path);
		if (rc != 0)
			status = vg_command_fail(command, &err);
	}
	vg_command_close(&opened);
	return status;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/profiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/output_path.h"
#include "profile/merge.h"

static const char suffix[] = ".vgp";

/* Takes ownership of the path, also after a failure. */
static int path_add(struct vg_profiles *profiles, char *path, bool from_directory, uint32_t index,
		    const char *argument, struct vg_err *err)
{
	int rc = path != NULL ? 0 : -ENOMEM;

	if (profiles->paths.count >= VG_PROFILES_MAX)
		rc = -E2BIG;
	if (rc == 0)
		rc = vg_array_reserve(&profiles->from_directory, 1);
	if (rc == 0)
		rc = vg_array_reserve(&profiles->argument_of, 1);
	if (rc == 0)
		rc = vg_array_push(&profiles->paths, (const char **)&path);
	if (rc == 0) {
		profiles->from_directory.items[profiles->from_directory.count++] = from_directory;
		profiles->argument_of.items[profiles->argument_of.count++] = index;
		return 0;
	}
	free(path);
	return rc == -E2BIG ? vg_err_set(err, rc, "%s: more than %d profiles", argument, VG_PROFILES_MAX) :
	       vg_err_sys(err, rc, "%s: cannot list the profiles", argument);
}

static bool name_ends(const char *name)
{
	size_t length = strlen(name);

	return *name != '.' && length >= sizeof suffix && strcmp(name + length - (sizeof suffix - 1), suffix) == 0;
}

/* strverscmp(3) sorts a.9.vgp before a.10.vgp. */
static int by_version(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* Only regular files: to open a pipe would wait for its writer.  A link of another user can lead to a file system that
 * never answers. */
static bool is_profile(int directory, const char *name)
{
	struct stat status;

	if (!name_ends(name) || fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	if (S_ISLNK(status.st_mode) && (!vg_output_path_owner_is_trusted(status.st_uid) ||
					fstatat(directory, name, &status, 0) != 0))
		return false;
	return S_ISREG(status.st_mode);
}

static int entries_add(struct vg_profiles *profiles, DIR *directory, uint32_t index, const char *path,
		       struct vg_err *err)
{
	int rc = 0;

	for (;;) {
		const struct dirent *entry;
		char *file;

		errno = 0;
		entry = readdir(directory);
		if (entry == NULL)
			return errno == 0 ? 0 : vg_err_sys(err, -errno, "%s: cannot list the directory", path);
		if (!is_profile(dirfd(directory), entry->d_name))
			continue;
		if (asprintf(&file, "%s/%s", path, entry->d_name) < 0)
			file = NULL;
		rc = path_add(profiles, file, true, index, path, err);
		if (rc != 0)
			return rc;
	}
}

static int directory_add(struct vg_profiles *profiles, uint32_t index, const char *path, struct vg_err *err)
{
	DIR *directory = opendir(path);
	size_t first = profiles->paths.count;
	int rc;

	if (directory == NULL)
		return vg_err_sys(err, -errno, "%s: cannot list the directory", path);
	rc = entries_add(profiles, directory, index, path, err);
	closedir(directory);
	if (rc != 0)
		return rc;
	if (profiles->paths.count == first)
		return vg_err_set(err, -ENOENT, "%s: no profiles in this directory; their names end with %s", path,
				  suffix);
	qsort(profiles->paths.items + first, profiles->paths.count - first, sizeof *profiles->paths.items, by_version);
	return 0;
}

static int title_make(struct vg_profiles *profiles, const char *first, size_t count)
{
	if (count == 1)
		profiles->title = strdup(first);
	else if (asprintf(&profiles->title, "%s and %zu more", first, count - 1) < 0)
		profiles->title = NULL;
	return profiles->title != NULL ? 0 : -ENOMEM;
}

int vg_profiles_list(struct vg_profiles *profiles, const char *const *arguments, size_t count, struct vg_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		struct stat status;

		if (stat(arguments[i], &status) == 0 && S_ISDIR(status.st_mode))
			rc = directory_add(profiles, i, arguments[i], err);
		else
			rc = path_add(profiles, strdup(arguments[i]), false, i, arguments[i], err);
	}
	free(profiles->title);
	profiles->title = NULL;
	if (rc == 0 && title_make(profiles, arguments[0], count) != 0)
		rc = vg_err_sys(err, -ENOMEM, "cannot list the profiles");
	return rc;
}

static int profile_rename(const struct vg_profiles *profiles, size_t index, struct vg_profile *profile,
			  struct vg_err *err)
{
	uint32_t argument = profiles->argument_of.items[index];

	if (index < profiles->base_paths || argument >= profiles->name_count ||
	    vg_merge_rename(profile, profiles->names[argument]) == 0)
		return 0;
	return vg_err_sys(err, -ENOMEM, "%s: cannot name the process", profiles->paths.items[index]);
}

/* Adds a profile.  Returns VG_EXIT_DONE, or VG_EXIT_FAILED after a message. */
static int profile_add(const char *command, const struct vg_profiles *profiles, size_t index, struct vg_merge *merge)
{
	const char *path = profiles->paths.items[index];
	struct vg_command_profile opened;
	struct vg_err err;
	int status = vg_command_open(command, path, &opened);

	if (status != VG_EXIT_DONE && profiles->from_directory.items[index])
		status = VG_EXIT_DONE;
	else if (status == VG_EXIT_DONE && (profile_rename(profiles, index, &opened.profile, &err) != 0 ||
					    vg_merge_add(merge, &opened.profile, path, &err) != 0))
		status = vg_command_fail(command, &err);
	vg_command_close(&opened);
	return status;
}

static int merged_use(const char *command, const struct vg_profiles *profiles, struct vg_merge *merge,
		      int (*use)(void *context, struct vg_profile *profile, struct vg_err *err), void *context)
{
	struct vg_err err = { "" };
	int rc;

	/* The reason was printed for each of the files. */
	if (merge->profile->processes.count == 0)
		return VG_EXIT_FAILED;
	rc = vg_merge_finish(merge);
	if (rc == 0)
		rc = use(context, merge->profile, &err);
	if (rc != 0 && err.text[0] == '\0')
		vg_err_sys(&err, rc, "%s: cannot process the profiles", profiles->title);
	return rc == 0 ? VG_EXIT_DONE : vg_command_fail(command, &err);
}

/* How a single profile is used, which is not merged. */
struct single {
	const struct vg_profiles *profiles;
	int (*use)(void *context, struct vg_profile *profile, struct vg_err *err);
	void *context;
};

static int single_use(void *context, struct vg_profile *profile, struct vg_err *err)
{
	const struct single *single = context;
	int rc = profile_rename(single->profiles, 0, profile, err);

	return rc != 0 ? rc : single->use(single->context, profile, err);
}

int vg_profiles_use(const char *command, struct vg_profiles *profiles,
		    int (*use)(void *context, struct vg_profile *profile, struct vg_err *err), void *context)
{
	struct vg_profile merged = { 0 };
	struct vg_merge merge = { .profile = &merged };
	struct single single = { profiles, use, context };
	int status = VG_EXIT_DONE;

	if (profiles->paths.count == 1)
		return vg_command_with_profile(command, profiles->paths.items[0], single_use, &single);
	for (size_t i = 0; status == VG_EXIT_DONE && i < profiles->paths.count; i++) {
		status = profile_add(command, profiles, i, &merge);
		if (i < profiles->base_paths)
			profiles->base_processes = (uint32_t)merged.processes.count;
	}
	if (status == VG_EXIT_DONE)
		status = merged_use(command, profiles, &merge, use, context);
	vg_merge_free(&merge);
	vg_profile_free(&merged);
	return status;
}

void vg_profiles_free(struct vg_profiles *profiles)
{
	for (size_t i = 0; i < profiles->paths.count; i++)
		free((char *)profiles->paths.items[i]);
	vg_array_free(&profiles->paths);
	vg_array_free(&profiles->from_directory);
	vg_array_free(&profiles->argument_of);
	free(profiles->title);
	profiles->title = NULL;
}

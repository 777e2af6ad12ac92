/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PROFILES_H
#define VG_VGTOOL_PROFILES_H

#include "vgtool/commands/command.h"

/*
 * The profiles that a command reads as one: arguments, and the profiles of directories.
 *
 *	struct vg_profiles profiles = { 0 };
 *	vg_profiles_list(&profiles, (const char *const *)argv + optind, count, &err);
 *	... confine the process: profiles.paths.items and profiles.paths.count ...
 *	status = vg_profiles_use("vgtool report", &profiles, profile_report, &request);
 *	vg_profiles_free(&profiles);
 */
struct vg_profiles {
	VG_ARRAY(const char *) paths; /* owned strings */
	VG_ARRAY(bool) from_directory; /* by path */
	size_t base_paths;           /* the first paths, which are the base of a comparison; set by the caller */
	uint32_t base_processes;     /* set by vg_profiles_use(): the first processes of the profile, which come from
	                                these paths */
	VG_ARRAY(uint32_t) argument_of; /* by path: index of the argument that it is, or that has it */
	const char *const *names;    /* the caller's: names for the processes of the first `name_count` arguments after
	                                the base, in place of those in the profiles */
	size_t name_count;
	char *title;                 /* owned; for messages about all of them: "a.vgp", or "a.vgp and 2 more" */
};

enum { VG_PROFILES_MAX = 4096 };

/* Adds paths to the list.  The profiles of a directory are its regular files whose names end with ".vgp", sorted by
 * name; links of other users than this one and root are left out.  Their contents are not read.  Must be called before
 * the process is confined.  Returns 0, or a negative errno with a message in err, for example if a directory has no
 * profile.  Call vg_profiles_free() in either case. */
int vg_profiles_list(struct vg_profiles *profiles, const char *const *arguments, size_t count, struct vg_err *err);

/* Like vg_command_with_profile(), with all profiles as one (profile/merge.h).  If a file of a directory cannot
 * be read, it is left out, after a message.  If an argument cannot be read, this is a failure. */
int vg_profiles_use(const char *command, struct vg_profiles *profiles,
		    int (*use)(void *context, struct vg_profile *profile, struct vg_err *err), void *context);

void vg_profiles_free(struct vg_profiles *profiles);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_COMMAND_H
#define VG_VGTOOL_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/infile.h"
#include "profile/model.h"
#include "vgtool/run/confine.h"

/*
 * Functions that the commands share.  A command gets "vgtool NAME" as argv[0] and begins each message on
 * standard error with this name.  It returns the exit status of the process.
 */
enum vg_exit {
	VG_EXIT_DONE = 0,
	VG_EXIT_FAILED = 1,          /* a message on standard error gives the reason */
	VG_EXIT_USAGE = 2,           /* wrong options or arguments */

	/* Statuses 1 and 2 of vgtool diff are verdicts.  So its failures have these: */
	VG_EXIT_DIFF_FAILED = 3,
	VG_EXIT_DIFF_USAGE = 4,
};

int cmd_aggregate(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_chrome(int argc, char **argv);
int cmd_cut(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_firefox(int argc, char **argv);
int cmd_flamegraph(int argc, char **argv);
int cmd_folded(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_missing(int argc, char **argv);
int cmd_pprof(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_recover(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_resolve(int argc, char **argv);
int cmd_speedscope(int argc, char **argv);
int cmd_store(int argc, char **argv);
int cmd_summary(int argc, char **argv);
int cmd_symbols(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_view(int argc, char **argv);

/* Confines the process as for a view (symbolize.h).  Then symbolizes profiles, and replaces each file by the resolved
 * profile.  If no symbols are found, the files stay as they are.  out: the single profile, or the directory of all
 * profiles.  Returns the exit status. */
struct vg_symbolize;
int vg_resolve_in_place(const char *command, struct vg_symbolize *symbolize, char **paths, size_t path_count,
			const char *out);

const char *vg_command_version(void);

/* The name and version of this program, for files of other formats: "vignette 1.0". */
const char *vg_command_exporter(void);

/* Prints "COMMAND: message".  Returns VG_EXIT_FAILED. */
int vg_command_fail(const char *command, const struct vg_err *err);

/* Prints "COMMAND: warning". */
void vg_command_warn(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Warns that a file with some of the module's function names was not found. */
struct vg_missing_file;
void vg_command_warn_missing_file(const char *command, const char *module, const struct vg_missing_file *missing_file);

/* Prints the usage on standard output (VG_EXIT_DONE) or standard error (VG_EXIT_USAGE).  Returns the
 * status. */
int vg_command_usage(const char *usage, enum vg_exit status);

/* Prints a message and the usage.  Returns VG_EXIT_USAGE. */
int vg_command_usage_error(const char *command, const char *usage, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Confines the process (run/confine.h) before it reads an untrusted file.  Warns if the kernel has no
 * seccomp.  Returns VG_EXIT_DONE, or VG_EXIT_FAILED after a message. */
enum vg_exit vg_command_confine(const char *command, const struct vg_confinement *confinement);

/* The arguments of -s, in order.  The caller frees the array with vg_array_free().  The strings belong to
 * argv. */
struct vg_command_stores {
	const char **items;
	size_t count, capacity;
};

/* Like vg_command_confine(), but adds the stores and /usr/lib/debug to the field `more` of `confinement`.  The debug
 * file of a binary in a store may be in /usr/lib/debug. */
enum vg_exit vg_command_confine_stores(const char *command, const struct vg_command_stores *stores,
				       struct vg_confinement confinement);

/* Like vg_command_confine(), for a command that reads one file and writes to standard output or to the file
 * `writes` (NULL or "-": standard output only). */
enum vg_exit vg_command_confine_to(const char *command, const char *path, const char *writes);

/* Warns if the kernel has no seccomp.  Does not confine the process.  For a command that calls
 * vg_reader_confine() itself, perhaps in child processes. */
void vg_command_confine_warn(const char *command);

/* A profile in memory, and its file. */
struct vg_command_profile {
	struct vg_infile file;
	struct vg_profile profile;
};

/* Reads a profile; path "-" is standard input.  Warns of a damaged or truncated profile and reads its
 * intact part.  Returns VG_EXIT_DONE, or VG_EXIT_FAILED after a message.  The caller calls
 * vg_command_close() in either case. */
enum vg_exit vg_command_open(const char *command, const char *path, struct vg_command_profile *opened);
void vg_command_close(struct vg_command_profile *opened);

/*
 * Opens a profile, calls `use` with it, and closes it.  `use` returns 0, or a negative errno with a message
 * in err.  If err is empty, the printed message names the profile and the errno.  Returns the exit status.
 */
int vg_command_with_profile(const char *command, const char *path,
			    int (*use)(void *context, struct vg_profile *profile, struct vg_err *err),
			    void *context);

#endif

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
 * What the commands share.  A command gets "vgtool NAME" as argv[0], which starts each of its
 * sentences on standard error, and returns the process's exit status.
 */
enum vg_exit {
	VG_EXIT_DONE = 0,
	VG_EXIT_FAILED = 1,          /* one sentence on standard error says why */
	VG_EXIT_USAGE = 2,           /* it was called wrongly */
};

int cmd_aggregate(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_chrome(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_folded(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_missing(int argc, char **argv);
int cmd_recover(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_resolve(int argc, char **argv);
int cmd_speedscope(int argc, char **argv);
int cmd_store(int argc, char **argv);
int cmd_summary(int argc, char **argv);
int cmd_symbols(int argc, char **argv);

const char *vg_command_version(void);

/* Prints "COMMAND: sentence"; returns VG_EXIT_FAILED. */
int vg_command_fail(const char *command, const struct vg_err *err);

/* Prints a warning in the same form. */
void vg_command_warn(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A warning that names in the debug information of `of` are lost. */
struct vg_absent;
void vg_command_warn_absent(const char *command, const char *of, const struct vg_absent *absent);

/* Prints the usage to standard output (VG_EXIT_DONE) or to standard error (VG_EXIT_USAGE). */
int vg_command_usage(const char *usage, enum vg_exit status);

/* What getopt_long() returned, if it is no option with an effect: 'h' asks for the usage, '?' stands
 * for an option that getopt_long() has complained of. */
int vg_command_help(const char *usage, int option);

/* The same for a wrong call, after one sentence that says what is wrong with it. */
int vg_command_misused(const char *command, const char *usage, const char *sentence);

/* Gives up what the command does not need, before it looks into a stranger's file.  A kernel without
 * seccomp costs a line of warning.  VG_EXIT_DONE, or VG_EXIT_FAILED after a sentence. */
enum vg_exit vg_command_confine(const char *command, const struct vg_confinement *confinement);

/* What -s names, in order.  The names are the arguments'; vg_array_free() is due. */
struct vg_command_stores {
	const char **items;
	size_t count, capacity;
};

/* Takes the argument of -s.  NULL, or a sentence that says what is wrong with it. */
const char *vg_command_store_take(struct vg_command_stores *stores, const char *name);

/* The same with `more` filled in: the stores, and where the debug file of a binary in a store may be. */
enum vg_exit vg_command_confine_stores(const char *command, const struct vg_command_stores *stores,
				       struct vg_confinement confinement);

/* For a command that reads one file, and writes to standard output or to `writes` ("-" is NULL). */
enum vg_exit vg_command_confine_to(const char *command, const char *path, const char *writes);

/* The warning alone, where other processes are the ones that are confined. */
void vg_command_confine_warn(const char *command);

/* A profile that was read, and the file behind it. */
struct vg_opened {
	struct vg_infile file;
	struct vg_profile profile;
};

/* Reads the profile at path ("-" is standard input).  A damaged or truncated one costs a line of
 * warning, and what is good of it is used.  VG_EXIT_DONE, or VG_EXIT_FAILED after a sentence;
 * close it in either case. */
enum vg_exit vg_command_open(const char *command, const char *path, struct vg_opened *opened);
void vg_command_close(struct vg_opened *opened);

/*
 * Opens a profile, has it used, and closes it.  `use` returns 0 or a negative errno, with a sentence
 * in err or, where the errno says enough, none.  The exit status, VG_EXIT_FAILED after the sentence.
 */
int vg_command_use(const char *command, const char *path,
		   int (*use)(void *context, const struct vg_profile *profile, struct vg_err *err),
		   void *context);

#endif

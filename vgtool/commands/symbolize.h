/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SYMBOLIZE_H
#define VG_VGTOOL_SYMBOLIZE_H

#include "base/option_table.h"
#include "vgtool/commands/command.h"
#include "vgtool/resolve/symbol_finder.h"
#include "vgtool/run/broker.h"

/*
 * Every view symbolizes a profile that is not resolved, in memory, before it shows it.  The sources of symbols are, in
 * this order: the arguments of -s, the paths in $VGTOOL_SYMBOLS, this machine's own files (run/broker.h), and
 * debuginfod.  If -s or $VGTOOL_SYMBOLS has the URL of a symbol server, the server's directory in the cache is a store
 * (run/servers.h).
 *
 *	struct vg_symbolize symbolize = { 0 };
 *	... vg_symbolize_set() for each option ...
 *	vg_symbolize_confine(&symbolize, command, confinement);
 *	vg_symbolize_profile(&symbolize, command, &profile, &err);           (for each profile)
 *	vg_symbolize_free(&symbolize);
 */
struct vg_symbolize {
	struct vg_command_stores stores; /* arguments of -s; vg_symbolize_confine() adds $VGTOOL_SYMBOLS, and replaces
	                                    each URL by the server's directory in the cache */
	bool unresolved;             /* --unresolved: show addresses */
	bool debuginfod;             /* --debuginfod: ask the servers of $DEBUGINFOD_URLS */
	bool no_instruction_frames;  /* --no-instruction-frames: see analysis/instruction_frames.h */
	bool stores_only;            /* use only the arguments of -s and the servers */
	struct vg_broker broker;     /* what the broker offers besides this machine's files; the caller's */
	struct vg_symbol_finder finder; /* after vg_symbolize_confine(); for vgtool top, which looks symbols up itself */
	/* Private: */
	char *environment;           /* owned copy of $VGTOOL_SYMBOLS */
	struct vg_servers servers;
	struct vg_indexer indexer;
	int socket;                  /* to the broker */
	uint32_t pid;                /* of the process of the profile; 0: unknown */
};

/* For tables of options (base/option_table.h). */
#define VG_SYMBOLIZE_STORE \
	{ 's', "store", VG_OPTION_TEXT, "STORE", .unit = "the name of a symbol store", \
	  .help = "also use symbols of this store, directory or URL", .is_short = 1 }
#define VG_SYMBOLIZE_DEBUGINFOD \
	{ 'D', "debuginfod", VG_OPTION_FLAG, .help = "also ask the servers of $DEBUGINFOD_URLS" }
#define VG_SYMBOLIZE_NO_INSTRUCTION_FRAMES \
	{ 'F', "no-instruction-frames", VG_OPTION_FLAG, .help = "end stacks before frames found by instructions" }
#define VG_SYMBOLIZE_TABLE \
	VG_SYMBOLIZE_STORE, \
	VG_SYMBOLIZE_DEBUGINFOD, \
	{ 'U', "unresolved", VG_OPTION_FLAG, .help = "show addresses in place of names" }, \
	VG_SYMBOLIZE_NO_INSTRUCTION_FRAMES

enum { VG_SYMBOLIZE_TABLE_OPTIONS = 4 };

/* Handles an option of VG_SYMBOLIZE_TABLE, and ignores other options.  Returns 0, or a negative errno with a message in
 * err. */
int vg_symbolize_set(struct vg_symbolize *symbolize, const struct vg_option_value *value, struct vg_err *err);

/* Checks that the arguments of -s can be read or are URLs, and that $DEBUGINFOD_URLS is set if it is needed;
 * vg_symbolize_confine() does so, too.  Returns 0, or a negative errno with a message in err. */
int vg_symbolize_check(const struct vg_symbolize *symbolize, struct vg_err *err);

/* Confines the process, which may then also read the stores and /usr/lib/debug.  Without --unresolved the rest of the
 * command runs in a child process (vg_broker_start()), unless it needs only stores.  Returns VG_EXIT_DONE, or
 * VG_EXIT_FAILED after a message. */
enum vg_exit vg_symbolize_confine(struct vg_symbolize *symbolize, const char *command,
				  struct vg_confinement confinement);

/* Prepares the profile for a view: removes instruction frames if --no-instruction-frames was given.  Symbolizes the
 * profile, unless its files have symbols or --unresolved was given.  Warns of symbol files of the stores that could not
 * be used.  Returns 0, or a negative errno with a message in err. */
int vg_symbolize_profile(struct vg_symbolize *symbolize, const char *command, struct vg_profile *profile,
			 struct vg_err *err);

/* Has objdump disassemble a file: see vg_broker_ask_disassembly().  broker.objdump must be set. */
int vg_symbolize_disassemble(const struct vg_symbolize *symbolize, int file, uint64_t begin, uint64_t end);

void vg_symbolize_free(struct vg_symbolize *symbolize);

#endif

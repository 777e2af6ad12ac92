/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_OPTION_TABLE_H
#define VG_BASE_OPTION_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

/*
 * The options of a program, in one table.  The table checks the values, and makes the messages and --help.
 *
 *     struct vg_option_reader reader = { .options = options, .count = COUNT, .argc = argc, .argv = argv };
 *     while ((rc = vg_option_next(&reader, &value, &err)) > 0)
 *             switch (value.key) ...
 *     ...                                      getopt(3)'s optind is the index of the first argument
 */
enum vg_option_type {
	VG_OPTION_FLAG,              /* has no value */
	VG_OPTION_NUMBER,            /* a whole number */
	VG_OPTION_TIME,              /* vg_number_time(); in nanoseconds */
	VG_OPTION_SIZE,              /* vg_number_size(); in bytes */
	VG_OPTION_SHARE,             /* vg_number_ppm(); in ppm */
	VG_OPTION_WORD,              /* one of several words; the number is the word's index */
	VG_OPTION_TEXT,              /* any text but "" */
};

struct vg_option {
	int key;                     /* a letter, which is also the short option if is_short is set */
	const char *name;            /* without the dashes */
	enum vg_option_type type;
	const char *value;           /* the value's name in the help; VG_OPTION_WORD: the words, "wall|cpu" */
	uint64_t least, most;        /* the bounds of a number, a time or a size; if `most` is UINT64_MAX, there is no
					upper bound.  For a text, `most` is its greatest length in bytes; 0: no limit */
	const char *unit;            /* of VG_OPTION_NUMBER and VG_OPTION_TEXT: "samples per second", "a file name" */
	const char *by_default;      /* for the help; NULL: none */
	const char *help;            /* NULL: not in the help */
	_Bool is_short;
};

/* The options --help and --version, which are the same in vgctl and vignetted. */
#define VG_OPTION_HELP { 'h', "help", .is_short = 1, .help = "print this text" }
#define VG_OPTION_VERSION { 'V', "version", .help = "print the version" }

struct vg_option_reader {
	const struct vg_option *options;
	size_t count;
	int argc;
	char **argv;
	_Bool options_first;         /* stop at the first argument that is no option */
};

struct vg_option_value {
	int key;
	const char *text;            /* belongs to argv; NULL for a flag */
	uint64_t number;
};

enum { VG_OPTION_TEXT_BYTES = 128 };

/* Reads the next option.  Returns 1, 0 after the last option, or -EINVAL with err set: "--rate 0: must be 1 to 10000
 * samples per second".  getopt(3) keeps the state, so there can be one reader at a time. */
int vg_option_next(struct vg_option_reader *reader, struct vg_option_value *value, struct vg_err *err);

/* Checks a value against its option.  Returns 0 and sets value->number, or -EINVAL with err set. */
int vg_option_check(const struct vg_option *option, struct vg_option_value *value, struct vg_err *err);

/* Prints one line for each option that has a help: its name, what it does, its range and its default. */
void vg_option_help(const struct vg_option *options, size_t count, FILE *file);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/record_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* The keys of options of vignetted are FORWARDED or more. */
enum { NO_PERF_MAP = 512, CHILDREN, VIEW, FORWARDED };

static const struct vg_option own[] = {
	{ 'p', "pid", VG_OPTION_TEXT, "PID[,PID]...", .unit = "the id of a process",
	  .help = "record the processes with these ids", .is_short = 1 },
	{ 't', "thread", VG_OPTION_TEXT, "THREAD", .unit = "the id or name of a thread",
	  .help = "record only this id, or report only this name", .is_short = 1 },
	{ CHILDREN, "children", VG_OPTION_FLAG, .help = "also record the processes that they start" },
	{ 'o', "output", VG_OPTION_TEXT, "OUT", .unit = "the name of a file", .by_default = "none",
	  .help = "keep the profile in this file or directory", .is_short = 1 },
	{ VIEW, "view", VG_OPTION_FLAG, .help = "also write a page with flame graphs, and open it" },
	{ NO_PERF_MAP, "no-perf-map", VG_OPTION_FLAG, .help = "do not record the names of JIT code" },
	{ 'q', "quiet", VG_OPTION_FLAG, .help = "show no progress on the terminal", .is_short = 1 },
	VG_SYMBOLIZE_TABLE,
	VG_OPTION_HELP,
};

/* vignetted checks the values, because only vignetted knows their bounds. */
static const struct vg_option forwarded[] = {
	VG_RECORD_OPTION_RATE(FORWARDED),
	{ FORWARDED + 1, "duration", VG_OPTION_TEXT, "TIME", .unit = "a time in seconds", .by_default = "none",
	  .help = "stop after this time: 10, 500ms, 1m or 2h" },
	{ FORWARDED + 2, "mode", VG_OPTION_TEXT, "wall|cpu", .unit = "wall or cpu", .by_default = "wall",
	  .help = "record all time, or CPU time only" },
	VG_RECORD_OPTION_BUDGET(FORWARDED + 3),
	VG_RECORD_OPTION_CAPTURE(FORWARDED + 4),
	{ FORWARDED + 5, "counter", VG_OPTION_TEXT, "NAME", .unit = "the name of a perf counter",
	  .help = "also count this event (up to 4 such options)" },
	{ FORWARDED + 6, "thread-names", VG_OPTION_FLAG, .help = "record the names of threads" },
	{ FORWARDED + 7, "max-size", VG_OPTION_TEXT, "SIZE", .unit = "a number of bytes", .by_default = "256M",
	  .help = "stop at this file size" },
	{ FORWARDED + 8, "max-memory", VG_OPTION_TEXT, "SIZE", .unit = "a number of bytes", .by_default = "1G",
	  .help = "memory of vignetted" },
	{ FORWARDED + 9, "max-frames", VG_OPTION_TEXT, "N", .unit = "a number of frames", .by_default = "16384",
	  .help = "frames of a stack" },
	{ FORWARDED + 10, "max-threads", VG_OPTION_TEXT, "N", .unit = "a number of threads", .by_default = "16384",
	  .help = "threads" },
	{ FORWARDED + 11, "kernel", VG_OPTION_FLAG, .help = "also record the functions of the kernel" },
};

enum { OWN = sizeof own / sizeof *own, COUNT = sizeof forwarded / sizeof *forwarded };
enum { TABLE_MAX = OWN + COUNT + VG_REPORT_OPTIONS };

static size_t options_append(struct vg_option table[TABLE_MAX], size_t used, const struct vg_option *options,
			     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool known = false;

		for (size_t k = 0; k < used; k++)
			known = known || strcmp(table[k].name, options[i].name) == 0;
		if (!known)
			table[used++] = options[i];
	}
	return used;
}

/* --counter is an option of vignetted and of vgtool report; here it is that of vignetted. */
static size_t table_build(struct vg_option table[TABLE_MAX])
{
	size_t used = options_append(table, 0, own, OWN);

	used = options_append(table, used, forwarded, COUNT);
	return options_append(table, used, vg_report_option_table, VG_REPORT_OPTIONS);
}

/* text: NULL for a flag. */
static int forward(struct vg_record_options *options, const char *name, const char *text, struct vg_err *err)
{
	char *argument;

	if (asprintf(&argument, "--%s%s%s", name, text != NULL ? "=" : "", text != NULL ? text : "") < 0)
		return vg_err_sys(err, -ENOMEM, "--%s", name);
	if (vg_array_push(&options->forwarded, &argument) == 0)
		return 0;
	free(argument);
	return vg_err_sys(err, -ENOMEM, "--%s", name);
}

static int pids_set(struct vg_record_options *options, const char *text, struct vg_err *err)
{
	char number[16];
	uint64_t value;

	options->pids.count = 0;
	for (const char *at = text; at != NULL; at = strchr(at, ',') == NULL ? NULL : strchr(at, ',') + 1) {
		pid_t pid;

		snprintf(number, sizeof number, "%.*s", (int)strcspn(at, ","), at);
		if (!vg_number_parse(number, 1, INT32_MAX, &value))
			return vg_err_set(err, -EINVAL, "--pid %.100s: must be the id of a process, or several ids with "
					  "commas between them", text);
		if (options->pids.count == VG_RECORD_PIDS_MAX)
			return vg_err_set(err, -EINVAL, "--pid: more than %d processes", VG_RECORD_PIDS_MAX);
		pid = (pid_t)value;
		for (size_t i = 0; i < options->pids.count; i++) {
			if (options->pids.items[i] == pid)
				return vg_err_set(err, -EINVAL, "--pid %.100s: has the process %d twice", text, (int)pid);
		}
		if (vg_array_push(&options->pids, &pid) != 0)
			return vg_err_sys(err, -ENOMEM, "--pid");
	}
	return 0;
}

/* vignetted records one thread by its id.  A name is for the report, because vignetted does not know which thread will
 * have it. */
static int thread_set(struct vg_record_options *options, const struct vg_option_value *value, struct vg_err *err)
{
	const char *digits = value->text + strspn(value->text, "+-");
	uint64_t tid;

	if (!vg_number_parse(value->text, 1, INT32_MAX, &tid)) {
		int rc;

		if (*digits != '\0' && digits[strspn(digits, "0123456789")] == '\0')
			return vg_err_set(err, -EINVAL, "--thread %.100s: must be the id (1 to %d) or the name of a "
					  "thread", value->text, INT32_MAX);
		rc = forward(options, "thread-names", NULL, err);
		return rc != 0 ? rc : vg_report_option_set(&options->report, value, err);
	}
	options->thread = value->text;
	return forward(options, "thread", value->text, err);
}

static int option_set(struct vg_record_options *options, const struct vg_option_value *value, struct vg_err *err)
{
	int rc;

	if (value->key >= FORWARDED)
		return forward(options, forwarded[value->key - FORWARDED].name, value->text, err);
	switch (value->key) {
	case 'p': return pids_set(options, value->text, err);
	case 't': return thread_set(options, value, err);
	case CHILDREN: options->children = true; return 0;
	case 'o': options->out = value->text; return 0;
	case VIEW: options->view = true; return 0;
	case NO_PERF_MAP: options->no_perf_map = true; return 0;
	case 'q': options->quiet = true; return 0;
	case 'h': options->help = true; return 0;
	}
	rc = vg_report_option_set(&options->report, value, err);
	return rc != 0 ? rc : vg_symbolize_set(&options->symbolize, value, err);
}

int vg_record_options_parse(struct vg_record_options *options, int argc, char **argv, struct vg_err *err)
{
	struct vg_option table[TABLE_MAX];
	struct vg_option_reader reader = { .options = table, .argc = argc, .argv = argv, .options_first = true };
	struct vg_option_value value = { 0 };
	size_t out_bytes;
	int rc;

	reader.count = table_build(table);
	while ((rc = vg_option_next(&reader, &value, err)) > 0) {
		rc = option_set(options, &value, err);
		if (rc != 0 || options->help)
			return rc;
	}
	if (rc == 0)
		rc = vg_report_options_check(&options->report, err);
	if (rc != 0)
		return rc;
	if (options->thread != NULL && options->report.filter.thread != NULL)
		return vg_err_set(err, -EINVAL, "--thread: use it only once, with an id or with a name");
	out_bytes = options->out != NULL ? strlen(options->out) : 0;
	if (options->view && out_bytes > 5 && strcmp(options->out + out_bytes - 5, ".html") == 0)
		return vg_err_set(err, -EINVAL, "-o %.100s: must be the name of the profile; --view writes OUT.html, "
				  "too", options->out);
	options->command = argv + optind;
	if (options->pids.count == 0 && optind == argc)
		return vg_err_set(err, -EINVAL, "nothing to record; use --pid PID, or a command after --");
	if (options->pids.count > 0 && optind < argc)
		return vg_err_set(err, -EINVAL, "both --pid and a command; use one of them");
	if (options->thread != NULL && (options->pids.count != 1 || options->children))
		return vg_err_set(err, -EINVAL, "--thread %.20s: the id of a thread needs --pid with one process",
				  options->thread);
	return 0;
}

bool vg_record_options_several(const struct vg_record_options *options)
{
	return options->children || options->pids.count > 1;
}

void vg_record_help(FILE *file)
{
	struct vg_option table[TABLE_MAX];
	size_t count = table_build(table), first = OWN + COUNT;

	vg_option_help(table, OWN, file);
	fputs("\nRecording (vignetted(8) describes these options):\n", file);
	vg_option_help(table + OWN, COUNT, file);
	fputs("\nReport (see vgtool report):\n", file);
	vg_option_help(table + first, count - first, file);
}

void vg_record_options_free(struct vg_record_options *options)
{
	vg_report_options_free(&options->report);
	vg_symbolize_free(&options->symbolize);
	for (size_t i = 0; i < options->forwarded.count; i++)
		free(options->forwarded.items[i]);
	vg_array_free(&options->forwarded);
	vg_array_free(&options->pids);
}

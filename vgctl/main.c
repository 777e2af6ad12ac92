/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/counters.h"
#include "base/outfile.h"
#include "vgctl/helpers.h"

enum { EXIT_USAGE = 2 };

struct arguments {
	char directory[4096];
	const char *output;
	struct vg_wire_begin begin;
	bool budget_given, rate_given, limit_given;
	pid_t pid;
	uint32_t id;                 /* 0: none was given */
	const char *label;
};

static const char usage[] =
	"usage: vgctl [--directory DIR] list\n"
	"       vgctl [--directory DIR] status PID\n"
	"       vgctl [--directory DIR] begin PID -o FILE [--rate HZ] [--mode wall|cpu]\n"
	"             [--budget PERCENT] [--duration SECONDS] [--max-size BYTES]\n"
	"             [--max-frames N] [--thread-names] [--perf-map] [--counter NAME]...\n"
	"             [--flight SECONDS] [--flight-memory BYTES]\n"
	"       vgctl [--directory DIR] end PID [ID]\n"
	"       vgctl [--directory DIR] dump PID FILE [ID]\n"
	"       vgctl [--directory DIR] mark PID LABEL\n";

static int fail(const struct vg_err *err)
{
	fprintf(stderr, "vgctl: %s\n", err->text);
	return EXIT_FAILURE;
}

static int usage_print(void)
{
	fputs(usage, stderr);
	return EXIT_USAGE;
}

/* ---- commands ---- */

static void recording_print(const struct vg_wire_recording *recording)
{
	printf("  %" PRIu32 "  %-7s  %-4s  ", recording->id, recording->outside ? "outside" : "program",
	       recording->cpu_mode ? "cpu" : "wall");
	if (recording->period_us == 0)
		printf("on demand");
	else
		printf("%6.0f Hz", 1e6 / recording->period_us);
	printf("  %8.1f s  %10" PRIu64 " samples  %" PRIu64 " lost  ",
	       (double)recording->duration_ns / 1e9, recording->samples, recording->lost);
	if (recording->flight_s != 0)
		printf("keeps %" PRIu32 " s\n", recording->flight_s);
	else
		printf("%" PRIu64 " bytes\n", recording->file_bytes);
}

static void state_print(struct vg_wire_state *state)
{
	unsigned int live = 0;

	for (int i = 0; i < VG_WIRE_RECORDINGS; i++)
		live += state->recordings[i].id != 0;
	state->program[sizeof state->program - 1] = '\0';
	/* A program may call itself anything; the terminal is not its to command. */
	for (char *at = state->program; *at != '\0'; at++)
		*at = (char)(isprint((unsigned char)*at) ? *at : '?');
	printf("%d  %s  %u session%s\n", state->pid, state->program, live, live == 1 ? "" : "s");
}

static int state_get(const struct arguments *arguments, pid_t pid, struct vg_wire_message *message,
		     struct vg_err *err)
{
	int socket = vg_helpers_connect(arguments->directory, pid, err), rc;

	if (socket < 0)
		return socket;
	memset(message, 0, sizeof *message);
	rc = vg_helpers_ask(socket, message, VG_WIRE_STATUS, NULL, 0, VG_WIRE_STATE, err);
	close(socket);
	return rc;
}

static void process_list(pid_t pid, void *context)
{
	const struct arguments *arguments = context;
	struct vg_wire_message message;
	struct vg_err err;
	int rc = state_get(arguments, pid, &message, &err);

	if (rc == 0)
		state_print(&message.state);
	else if (rc != -ESRCH)           /* a socket that its helper did not live to remove */
		fprintf(stderr, "vgctl: %d: %s\n", pid, err.text);
}

static int cmd_list(struct arguments *arguments)
{
	struct vg_err err;

	return vg_helpers_each(arguments->directory, process_list, arguments, &err) != 0 ?
	       fail(&err) : EXIT_SUCCESS;
}

static int cmd_status(struct arguments *arguments)
{
	struct vg_wire_message message;
	struct vg_err err;

	if (state_get(arguments, arguments->pid, &message, &err) != 0)
		return fail(&err);
	state_print(&message.state);
	for (int i = 0; i < VG_WIRE_RECORDINGS; i++) {
		if (message.state.recordings[i].id != 0)
			recording_print(&message.state.recordings[i]);
	}
	return EXIT_SUCCESS;
}

/* The helper gives the file its name at the end: it outlives us. */
static int begin_send(const struct arguments *arguments, int socket, struct vg_outfile *file,
		      struct vg_err *err)
{
	struct vg_wire_message message = { .open = { .begin = arguments->begin } };
	const char *slash = strrchr(arguments->output, '/');
	const char *name = slash != NULL ? slash + 1 : arguments->output;
	int fds[] = { file->fd, file->directory }, rc;

	if (file->in_place)
		return vg_err_set(err, -EINVAL, "%s is no regular file", arguments->output);
	if (strlen(name) >= sizeof message.open.name)
		return vg_err_set(err, -ENAMETOOLONG, "%s: the name is longer than %zu", name,
				  sizeof message.open.name - 1);
	memcpy(message.open.name, name, strlen(name) + 1);
	rc = vg_helpers_ask(socket, &message, VG_WIRE_OPEN, fds, 2, VG_WIRE_OPENED, err);
	if (rc == 0)
		printf("%" PRIu32 "\n", message.which.id);
	return rc;
}

static int cmd_begin(struct arguments *arguments)
{
	struct vg_outfile file;
	struct vg_err err;
	int socket = vg_helpers_connect(arguments->directory, arguments->pid, &err), rc;

	if (socket < 0)
		return fail(&err);
	rc = vg_outfile_open(&file, arguments->output, &err);
	if (rc == 0) {
		rc = begin_send(arguments, socket, &file, &err);
		if (rc == 0)
			vg_outfile_forget(&file);
		else
			vg_outfile_abandon(&file);
	}
	close(socket);
	return rc != 0 ? fail(&err) : EXIT_SUCCESS;
}

static int question(const struct arguments *arguments, struct vg_wire_message *message,
		    enum vg_wire_kind kind, enum vg_wire_kind answer)
{
	struct vg_err err;
	int socket = vg_helpers_connect(arguments->directory, arguments->pid, &err), rc;

	if (socket < 0)
		return fail(&err);
	rc = vg_helpers_ask(socket, message, kind, NULL, 0, answer, &err);
	close(socket);
	return rc != 0 ? fail(&err) : EXIT_SUCCESS;
}

static int cmd_end(struct arguments *arguments)
{
	struct vg_wire_message message = { .which = { .id = arguments->id } };
	int status = question(arguments, &message, VG_WIRE_CLOSE, VG_WIRE_ENDED);

	if (status == EXIT_SUCCESS)
		printf("%" PRIu64 " samples of %" PRIu32 " thread%s, %" PRIu64 " bytes, %" PRIu64 " lost\n",
		       message.summary.samples, message.summary.threads,
		       message.summary.threads == 1 ? "" : "s", message.summary.file_bytes,
		       message.summary.lost);
	return status;
}

static int dump_take(const struct arguments *arguments, int socket, struct vg_outfile *file,
		     struct vg_err *err)
{
	struct vg_wire_message message = { .which = { .id = arguments->id } };
	int rc;

	if (file->in_place)
		return vg_err_set(err, -EINVAL, "%s is no regular file", arguments->output);
	rc = vg_helpers_ask(socket, &message, VG_WIRE_DUMP, &file->fd, 1, VG_WIRE_DUMPED, err);
	if (rc == 0)
		rc = vg_outfile_commit(file, err);
	if (rc == 0)
		printf("the last %.1f s: %" PRIu64 " samples of %" PRIu32 " thread%s, %" PRIu64 " bytes\n",
		       (double)message.summary.duration_ns / 1e9, message.summary.samples,
		       message.summary.threads, message.summary.threads == 1 ? "" : "s",
		       message.summary.file_bytes);
	return rc;
}

static int cmd_dump(struct arguments *arguments)
{
	struct vg_outfile file;
	struct vg_err err;
	int socket = vg_helpers_connect(arguments->directory, arguments->pid, &err), rc;

	if (socket < 0)
		return fail(&err);
	rc = vg_outfile_open(&file, arguments->output, &err);
	if (rc == 0) {
		rc = dump_take(arguments, socket, &file, &err);
		if (rc != 0)
			vg_outfile_abandon(&file);
	}
	close(socket);
	return rc != 0 ? fail(&err) : EXIT_SUCCESS;
}

static int cmd_mark(struct arguments *arguments)
{
	struct vg_wire_message message = { 0 };
	int status;

	snprintf(message.text, sizeof message.text, "%s", arguments->label);
	status = question(arguments, &message, VG_WIRE_MARK, VG_WIRE_MARKED);
	if (status == EXIT_SUCCESS && message.which.id == 0) {
		fprintf(stderr, "vgctl: process %d has no session to mark\n", arguments->pid);
		return EXIT_FAILURE;
	}
	return status;
}

/* ---- arguments ---- */

static bool number_parse(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && *end == '\0' && errno == 0 && *value >= least &&
	       *value <= most;
}

static bool option_parse(struct arguments *arguments, int option, const char *text)
{
	struct vg_wire_begin *begin = &arguments->begin;
	uint64_t value = 0;
	double percent;
	char *end;

	switch (option) {
	case 'D':
		return snprintf(arguments->directory, sizeof arguments->directory, "%s", text) <
		       (int)sizeof arguments->directory && *text != '\0';
	case 'o':
		arguments->output = text;
		return *text != '\0';
	case 'r':
		arguments->rate_given = number_parse(text, 1, 10000, &value);
		begin->period_ns = arguments->rate_given ? 1000000000 / value : 0;
		return arguments->rate_given;
	case 'm':
		begin->cpu_mode = strcmp(text, "cpu") == 0;
		return begin->cpu_mode != 0 || strcmp(text, "wall") == 0;
	case 'b':
		percent = strtod(text, &end);
		if (end == text || *end != '\0' || !(percent >= 0 && percent <= 100))
			return false;
		begin->budget_ppm = (uint32_t)(percent * 10000);
		return arguments->budget_given = true;
	case 'd':
		if (!number_parse(text, 1, 1u << 30, &value))
			return false;
		begin->max_duration_ns = value * 1000000000;
		return arguments->limit_given = true;
	case 's':
		arguments->limit_given = true;
		return number_parse(text, 65536, UINT64_MAX, &begin->max_file_bytes);
	case 'f':
		if (!number_parse(text, 1, 65536, &value))
			return false;
		begin->max_frames = (uint32_t)value;
		return true;
	case 'F':
		if (!number_parse(text, 1, VG_WIRE_FLIGHT_MAX_NS / 1000000000, &value))
			return false;
		begin->flight_ns = value * 1000000000;
		return true;
	case 'M':
		return number_parse(text, 1 << 20, UINT64_MAX, &begin->flight_memory_bytes);
	case 'T':
		begin->thread_names = 1;
		return true;
	case 'P':
		begin->perf_map = 1;
		return true;
	}
	return false;
}

static int counter_parse(struct arguments *arguments, const char *text)
{
	struct vg_err err;

	if (vg_counters_parse(text, arguments->begin.counters, &err) == 0)
		return EXIT_SUCCESS;
	fail(&err);
	return EXIT_USAGE;
}

/* EXIT_SUCCESS to go on, -1 to stop with success, or EXIT_USAGE with the reason printed. */
static int options_parse(struct arguments *arguments, int argc, char **argv)
{
	static const struct option options[] = {
		{ "directory", required_argument, NULL, 'D' },
		{ "output", required_argument, NULL, 'o' },
		{ "rate", required_argument, NULL, 'r' },
		{ "mode", required_argument, NULL, 'm' },
		{ "budget", required_argument, NULL, 'b' },
		{ "duration", required_argument, NULL, 'd' },
		{ "max-size", required_argument, NULL, 's' },
		{ "max-frames", required_argument, NULL, 'f' },
		{ "flight", required_argument, NULL, 'F' },
		{ "flight-memory", required_argument, NULL, 'M' },
		{ "thread-names", no_argument, NULL, 'T' },
		{ "perf-map", no_argument, NULL, 'P' },
		{ "counter", required_argument, NULL, 'C' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int option, index = 0;

	while ((option = getopt_long(argc, argv, "o:h", options, &index)) != -1) {
		if (option == 'h')
			return fputs(usage, stdout) < 0 ? EXIT_USAGE : -1;
		if (option == 'V')
			return puts("vgctl " PACKAGE_VERSION) < 0 ? EXIT_USAGE : -1;
		if (option == '?')
			return usage_print();
		if (option == 'C' && counter_parse(arguments, optarg) != EXIT_SUCCESS)
			return EXIT_USAGE;
		if (option != 'C' && !option_parse(arguments, option, optarg)) {
			fprintf(stderr, "vgctl: %s is out of range or not a value for that option\n%s",
				optarg, usage);
			return EXIT_USAGE;
		}
	}
	if (arguments->rate_given && !arguments->budget_given)
		arguments->begin.budget_ppm = 0;
	if (arguments->limit_given && arguments->begin.flight_ns != 0) {
		fprintf(stderr, "vgctl: what a flight recorder keeps is bounded by --flight and "
			"--flight-memory\n%s", usage);
		return EXIT_USAGE;
	}
	if (arguments->begin.flight_memory_bytes != 0 && arguments->begin.flight_ns == 0) {
		fprintf(stderr, "vgctl: --flight-memory bounds a flight recorder, and there is no --flight\n%s",
			usage);
		return EXIT_USAGE;
	}
	return EXIT_SUCCESS;
}

/* What `end` and `dump` take at their end. */
static bool id_parse(struct arguments *arguments, char **rest, int count)
{
	uint64_t value = 0;

	if (count > 1 || (count == 1 && !number_parse(rest[0], 1, UINT32_MAX, &value)))
		return false;
	arguments->id = (uint32_t)value;
	return true;
}

static int command_run(struct arguments *arguments, const char *command, char **rest, int count)
{
	uint64_t value = 0;

	if (strcmp(command, "list") == 0)
		return count == 0 ? cmd_list(arguments) : usage_print();
	if (count < 1 || !number_parse(rest[0], 1, INT32_MAX, &value))
		return usage_print();
	arguments->pid = (pid_t)value;
	if (strcmp(command, "status") == 0 && count == 1)
		return cmd_status(arguments);
	if (strcmp(command, "begin") == 0 && count == 1 && arguments->output != NULL)
		return cmd_begin(arguments);
	if (strcmp(command, "mark") == 0 && count == 2 && *rest[1] != '\0') {
		arguments->label = rest[1];
		return cmd_mark(arguments);
	}
	if (strcmp(command, "dump") == 0 && count >= 2 && *rest[1] != '\0' &&
	    arguments->output == NULL && id_parse(arguments, rest + 2, count - 2)) {
		arguments->output = rest[1];
		return cmd_dump(arguments);
	}
	return strcmp(command, "end") == 0 && id_parse(arguments, rest + 1, count - 1) ?
	       cmd_end(arguments) : usage_print();
}

int main(int argc, char **argv)
{
	static struct arguments arguments = { .begin = {
		.period_ns = 1000000000 / 99, .max_file_bytes = UINT64_C(256) << 20,
		.max_duration_ns = UINT64_C(86400) * 1000000000, .max_frames = 16384,
		.budget_ppm = 10000,
	} };
	struct vg_err err;
	int rc = options_parse(&arguments, argc, argv);

	if (rc != EXIT_SUCCESS)
		return rc < 0 ? EXIT_SUCCESS : rc;
	if (optind >= argc)
		return usage_print();
	if (arguments.directory[0] == '\0' &&
	    vg_helpers_directory(NULL, arguments.directory, sizeof arguments.directory, &err) != 0)
		return fail(&err);
	return command_run(&arguments, argv[optind], argv + optind + 1, argc - optind - 1);
}

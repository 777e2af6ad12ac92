/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "vgtool/commands/command_line.h"
#include "vgtool/commands/function_code.h"
#include "vgtool/commands/profiles.h"
#include "vgtool/commands/symbolize.h"
#include "vgtool/run/pager.h"
#include "vgtool/views/annotate.h"
#include "vgtool/views/annotate_asm.h"

static const char usage[] =
	"usage: vgtool annotate [--asm [--json]] [--source DIR]... [--weight wall|cpu]\n"
	"                       [--no-pager] [-s STORE]... [--debuginfod]\n"
	"                       [--no-instruction-frames] FUNCTION PROFILE...\n";

enum { SOURCE = 256, NO_PAGER, ASM, JSON };

static const struct vg_option options[] = {
	{ ASM, "asm", VG_OPTION_FLAG, .help = "show instructions, with source lines between them" },
	{ JSON, "json", VG_OPTION_FLAG, .help = "with --asm: print JSON" },
	{ SOURCE, "source", VG_OPTION_TEXT, "DIR", .unit = "a directory", .by_default = ".",
	  .help = "look for source files in this directory" },
	VG_OPTION_WEIGHT("cpu"),
	{ NO_PAGER, "no-pager", VG_OPTION_FLAG, .help = "do not start $PAGER" },
	VG_SYMBOLIZE_STORE,
	VG_SYMBOLIZE_DEBUGINFOD,
	VG_SYMBOLIZE_NO_INSTRUCTION_FRAMES,
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

struct command {
	const char *name;            /* "vgtool annotate" */
	struct vg_profiles profiles;
	VG_ARRAY(const char *) readable; /* the source directories, and then the profiles */
	struct vg_symbolize symbolize;
	struct vg_terminal terminal;
	struct vg_annotate annotate;
	struct vg_objdump objdump;
	bool no_pager, is_asm, is_json;
};

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct command *command = context;

	if (value->key == SOURCE && vg_array_push(&command->readable, &value->text) != 0)
		return vg_err_sys(err, -ENOMEM, "cannot add the source directory %s", value->text);
	if (value->key == 'w')
		command->annotate.weight = (enum vg_weight)value->number;
	if (value->key == NO_PAGER)
		command->no_pager = true;
	command->is_asm |= value->key == ASM;
	command->is_json |= value->key == JSON;
	return vg_symbolize_set(&command->symbolize, value, err);
}

static int asm_annotate(struct command *command, const struct vg_profile *profile, struct vg_err *err)
{
	const struct vg_annotate *annotate = &command->annotate;
	struct vg_function_code code = { .symbolize = &command->symbolize, .command = command->name };
	int rc = vg_function_code_read(&code, profile, annotate->function, err);

	if (rc == 0)
		rc = vg_annotate_asm(profile, &(struct vg_annotate_asm){
			.functions = code.functions.items, .function_count = code.functions.count,
			.module_numbers = code.module_numbers, .weight = annotate->weight,
			.directories = annotate->directories, .directory_count = annotate->directory_count,
			.terminal = annotate->terminal, .is_json = command->is_json });
	vg_function_code_free(&code);
	return rc;
}

static int profile_annotate(void *context, struct vg_profile *profile, struct vg_err *err)
{
	struct command *command = context;
	int rc = vg_symbolize_profile(&command->symbolize, command->name, profile, err);

	if (rc != 0)
		return rc;
	return command->is_asm ? asm_annotate(command, profile, err) : vg_annotate(profile, &command->annotate, err);
}

/* Runs in a child if there is a pager. */
static int annotate_print(void *context)
{
	struct command *command = context;
	int status = vg_symbolize_confine(&command->symbolize, command->name, (struct vg_confinement){
		.paths = command->readable.items, .path_count = command->readable.count });

	if (status != VG_EXIT_DONE)
		return status;
	return vg_profiles_use(command->name, &command->profiles, profile_annotate, command);
}

static int annotate_run(struct command *command, const char *function, char **paths, int path_count)
{
	static const char *const here = ".";
	const char *pager = NULL;
	struct vg_err err;
	int status;

	/* Before the process is confined. */
	if (command->is_asm && vg_objdump_find(&command->objdump, &err) != 0)
		return vg_command_fail(command->name, &err);
	command->symbolize.broker.objdump = command->is_asm ? &command->objdump : NULL;
	if (command->readable.count == 0 && vg_array_push(&command->readable, &here) != 0)
		return VG_EXIT_FAILED;
	command->annotate.directory_count = command->readable.count;
	if (vg_profiles_list(&command->profiles, (const char *const *)paths, (size_t)path_count, &err) != 0)
		return vg_command_fail(command->name, &err);
	for (size_t i = 0; i < command->profiles.paths.count; i++) {
		if (vg_array_push(&command->readable, &command->profiles.paths.items[i]) != 0)
			return VG_EXIT_FAILED;
	}
	vg_terminal_read(&command->terminal);
	command->annotate.function = function;
	command->annotate.directories = command->readable.items;
	command->annotate.terminal = &command->terminal;
	if (command->terminal.is_terminal && !command->no_pager && !command->is_json)
		pager = vg_pager_command();
	if (pager == NULL)
		return annotate_print(command);
	status = vg_pager_run(pager, annotate_print, command, &err);
	return status >= 0 ? status : vg_command_fail(command->name, &err);
}

int cmd_annotate(int argc, char **argv)
{
	struct command command = { .name = argv[0], .annotate.weight = VG_WEIGHT_CPU };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &command };
	int status = vg_command_line_read(&line, argc, argv);

	if (status == VG_COMMAND_LINE_READ && command.is_json && !command.is_asm)
		status = vg_command_usage_error(argv[0], usage, "--json: use it with --asm");
	if (status == VG_COMMAND_LINE_READ)
		status = argc - optind >= 2 ?
			 annotate_run(&command, argv[optind], argv + optind + 1, argc - optind - 1) :
			 vg_command_usage_error(argv[0], usage, "expected FUNCTION and PROFILE");
	vg_profiles_free(&command.profiles);
	vg_array_free(&command.readable);
	vg_symbolize_free(&command.symbolize);
	vg_objdump_free(&command.objdump);
	return status;
}

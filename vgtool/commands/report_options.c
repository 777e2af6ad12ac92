/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/report_options.h"

#include <errno.h>
#include <string.h>

#include "vgtool/commands/command_line.h"

enum { TREE = 256, INVERTED, CALLERS, CALLEES, MIN, MATCH, TIME, ON_CPU, OFF_CPU, NO_PAGER };

const struct vg_option vg_report_option_table[VG_REPORT_OPTIONS] = {
	{ TREE, "tree", VG_OPTION_FLAG, .help = "callees below each function, from the roots" },
	{ INVERTED, "inverted", VG_OPTION_FLAG, .help = "callers below each function, from the leaves" },
	{ CALLERS, "callers", VG_OPTION_TEXT, "NAME", .unit = "the name of a function",
	  .help = "the functions that call this function" },
	{ CALLEES, "callees", VG_OPTION_TEXT, "NAME", .unit = "the name of a function",
	  .help = "the functions that this function calls" },
	{ 'b', "by", VG_OPTION_TEXT, "KIND", .unit = "function, line, module, file, thread, interval or process",
	  .by_default = "function", .help = "one row for each KIND", .is_short = 1 },
	{ MATCH, "match", VG_OPTION_TEXT, "REGEX", .unit = "a regular expression",
	  .help = "only stacks with a function that matches" },
	{ 't', "thread", VG_OPTION_TEXT, "THREAD", .unit = "the name or id of a thread",
	  .help = "only this thread: its name or id", .is_short = 1 },
	{ TIME, "time", VG_OPTION_TEXT, "A..B", .unit = "a range of seconds: A..B, A.. or ..B",
	  .help = "only this time, in seconds from the begin" },
	{ ON_CPU, "on-cpu", VG_OPTION_FLAG, .help = "only samples with CPU time" },
	{ OFF_CPU, "off-cpu", VG_OPTION_FLAG, .help = "only samples without CPU time" },
	{ 'i', "interval", VG_OPTION_TEXT, "LABEL", .unit = "the label of an interval",
	  .help = "only intervals with this label", .is_short = 1 },
	VG_OPTION_WEIGHT("cpu if threads idle"),
	{ 'c', "counter", VG_OPTION_TEXT, "NAME", .unit = "the name of a perf counter",
	  .help = "add up this perf counter instead of time", .is_short = 1 },
	{ MIN, "min", VG_OPTION_SHARE, "PERCENT", .by_default = "0.5", .help = "least share of a row of a tree" },
	{ 'n', "limit", VG_OPTION_NUMBER, "N", 1, UINT64_MAX, "rows", NULL, "rows", 1 },
	VG_OPTION_JSON,
	{ NO_PAGER, "no-pager", VG_OPTION_FLAG, .help = "do not start $PAGER" },
};

static const char *const by_names[] = { "function", "line", "module", "file", "thread", "interval",
					"process" };

_Static_assert((int)VG_REPORT_BY_LINE == VG_FRAMES_LINE && (int)VG_REPORT_BY_MODULE == VG_FRAMES_MODULE &&
	       (int)VG_REPORT_BY_FILE == VG_FRAMES_FILE, "enum vg_report_by begins with enum vg_frames_kind");

static int by_parse(struct vg_report_options *options, const char *text, struct vg_err *err)
{
	for (options->by = 0; options->by < VG_REPORT_BY_COUNT; options->by++) {
		if (strcmp(text, by_names[options->by]) == 0)
			return 0;
	}
	return vg_err_set(err, -EINVAL, "--by %.100s: must be function, line, module, file, thread, interval or "
			  "process", text);
}

static int view_parse(struct vg_report_options *options, const char *view, bool to_callers, const char *name,
		      struct vg_err *err)
{
	if (options->view != NULL && (strcmp(options->view, view) != 0 || name != NULL))
		return vg_err_set(err, -EINVAL, "%s: cannot be combined with %s", view, options->view);
	options->view = view;
	options->tree.to_callers = to_callers;
	options->tree.name = name;
	return 0;
}

static int state_parse(struct vg_report_options *options, enum vg_sample_state state, struct vg_err *err)
{
	if (options->filter.state != VG_SAMPLE_ANY && options->filter.state != state)
		return vg_err_set(err, -EINVAL, "--on-cpu, --off-cpu: use only one of them");
	options->filter.state = state;
	return 0;
}

static int match_parse(struct vg_report_options *options, const char *text, struct vg_err *err)
{
	char problem[128];
	int rc;

	if (options->filter.function != NULL)
		return vg_err_set(err, -EINVAL, "--match: use it only once");
	rc = regcomp(&options->filter.regex, text, REG_EXTENDED | REG_NOSUB);
	if (rc != 0) {
		regerror(rc, &options->filter.regex, problem, sizeof problem);
		return vg_err_set(err, -EINVAL, "--match: %.100s is not a regular expression: %s", text, problem);
	}
	options->filter.function = text;
	return 0;
}

static int time_parse(struct vg_report_options *options, const char *text, struct vg_err *err)
{
	options->time = text;
	if (vg_time_range_parse(text, &options->filter.begin_ns, &options->filter.end_ns))
		return 0;
	return vg_err_set(err, -EINVAL, "--time %.100s: must be a range of seconds: A..B, A.. or ..B", text);
}

int vg_report_option_set(struct vg_report_options *options, const struct vg_option_value *value, struct vg_err *err)
{
	switch (value->key) {
	case TREE: return view_parse(options, "--tree", false, NULL, err);
	case INVERTED: return view_parse(options, "--inverted", true, NULL, err);
	case CALLERS: return view_parse(options, "--callers", true, value->text, err);
	case CALLEES: return view_parse(options, "--callees", false, value->text, err);
	case 'b': return by_parse(options, value->text, err);
	case MATCH: return match_parse(options, value->text, err);
	case 't': options->filter.thread = value->text; break;
	case TIME: return time_parse(options, value->text, err);
	case ON_CPU: return state_parse(options, VG_SAMPLE_ON_CPU, err);
	case OFF_CPU: return state_parse(options, VG_SAMPLE_OFF_CPU, err);
	case 'i': options->interval = value->text; break;
	case 'w':
		options->weight_given = true;
		options->weight = (enum vg_weight)value->number;
		break;
	case 'c': options->counter = value->text; break;
	case MIN: options->tree.least_ppm = (uint32_t)value->number; break;
	case 'n': options->limit = value->number; break;
	case 'j': options->is_json = true; break;
	case NO_PAGER: options->no_pager = true; break;
	}
	return 0;
}

int vg_report_options_check(struct vg_report_options *options, struct vg_err *err)
{
	if (options->view != NULL && options->by >= VG_REPORT_BY_THREAD)
		return vg_err_set(err, -EINVAL, "%s: --by %s has no tree", options->view, by_names[options->by]);
	options->tree.kind = (enum vg_frames_kind)options->by;
	return 0;
}

void vg_report_options_free(struct vg_report_options *options)
{
	if (options->filter.function != NULL)
		regfree(&options->filter.regex);
	options->filter.function = NULL;
}

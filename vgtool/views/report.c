/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/sum.h"
#include "vgtool/views/report.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vg_report_sums vg_report_sums(const struct vg_report *report)
{
	const struct vg_profile *profile = report->profile;
	const uint64_t *first = report->threads.first;
	struct vg_report_sums sums = { 0 };

	for (size_t t = 0; t < profile->threads.count; t++)
		sums.threads += first[t] != first[t + 1];
	for (uint64_t i = 0; i < first[profile->threads.count]; i++) {
		uint32_t index = report->threads.order[i];
		const struct vg_sample *sample = &profile->samples.items[index];

		sums.samples = vg_sum(sums.samples, sample->count);
		sums.wall_ns = vg_sum(sums.wall_ns, sample->wall_ns);
		sums.cpu_ns = vg_sum(sums.cpu_ns, sample->cpu_ns);
		sums.weight = vg_sum(sums.weight, report->counts != NULL ? report->counts->by_sample[index] :
				     vg_weight_of(sample, report->weight));
	}
	return sums;
}

bool vg_report_cpu_first(const struct vg_report_sums *sums)
{
	return sums->cpu_ns > 0 && sums->cpu_ns < sums->wall_ns / 2;
}

enum vg_weight vg_report_weight(const struct vg_profile *profile)
{
	struct vg_report_sums sums = { 0 };

	for (size_t i = 0; i < profile->samples.count; i++) {
		sums.wall_ns = vg_sum(sums.wall_ns, profile->samples.items[i].wall_ns);
		sums.cpu_ns = vg_sum(sums.cpu_ns, profile->samples.items[i].cpu_ns);
	}
	return vg_report_cpu_first(&sums) ? VG_WEIGHT_CPU : vg_weight_default(profile);
}

static const char *counter_name(const struct vg_report *report)
{
	return vg_perf_counts_name(report->counts);
}

const char *vg_report_amount(const struct vg_report *report, struct vg_text *room, uint64_t value)
{
	return vg_amount_text(counter_name(report), room, value);
}

const char *vg_report_key(const struct vg_report *report, const char *name_ns, const char *name)
{
	return report->counts != NULL ? name : name_ns;
}

bool vg_report_is_hot(uint64_t part, uint64_t whole)
{
	return part > 0 && part >= whole / 10;
}

static void filter_print(const struct vg_report *report, const struct vg_report_sums *sums)
{
	struct vg_text share, left, all;

	vg_terminal_line(&report->terminal, "filter: %s: %s of all (%s of %s)", report->filter,
			 vg_text_percent(&share, sums->weight, report->unfiltered),
			 vg_report_amount(report, &left, sums->weight),
			 vg_amount_text_full(counter_name(report), report->weight, &all, report->unfiltered));
}

const char *vg_report_hint(const struct vg_report *report)
{
	return report->is_temporary ? "with -o FILE, report " : "";
}

static void waiting_print(const struct vg_report *report, const struct vg_report_sums *sums)
{
	struct vg_text share, waits, all;

	vg_terminal_line(&report->terminal, "not on a CPU: %s of wall time (%s of %s); %s--off-cpu shows where",
			 vg_text_percent(&share, sums->wall_ns - sums->cpu_ns, sums->wall_ns),
			 vg_text_ns(&waits, sums->wall_ns - sums->cpu_ns), vg_text_ns(&all, sums->wall_ns),
			 vg_report_hint(report));
}

bool vg_report_heading(const struct vg_report *report, const struct vg_report_sums *sums)
{
	const struct vg_profile *profile = report->profile;
	const char *program = vg_profile_text(profile, profile->header.program);
	uint64_t threads = report->filter != NULL ? sums->threads : profile->threads.count;
	struct vg_text weight;
	char processes[48] = "";

	if (profile->processes.count > 1)
		snprintf(processes, sizeof processes, "%zu processes, ", profile->processes.count);
	vg_terminal_color(&report->terminal, VG_COLOR_BOLD);
	vg_terminal_line(&report->terminal, "%s: %s%" PRIu64 " sample%s, %s, %" PRIu64 " thread%s",
			 *program != '\0' ? program : "unknown program", processes, sums->samples,
			 vg_text_plural(sums->samples),
			 vg_amount_text_full(counter_name(report), report->weight, &weight, sums->weight), threads,
			 vg_text_plural(threads));
	vg_terminal_color(&report->terminal, VG_COLOR_PLAIN);
	if (report->filter != NULL)
		filter_print(report, sums);
	if (sums->samples == 0) {
		vg_terminal_line(&report->terminal, "no samples");
		return false;
	}
	if (report->is_cpu_first)
		waiting_print(report, sums);
	if (!profile->resolved && report->is_unresolved)
		vg_terminal_line(&report->terminal, "not resolved: --unresolved shows addresses");
	else if (!profile->resolved)
		vg_terminal_line(&report->terminal, "not resolved: no symbols of these builds were found; use "
				 "-s STORE");
	putchar('\n');
	return true;
}

void vg_report_json_heading(struct vg_report *report)
{
	const struct vg_profile *profile = report->profile;
	struct vg_json *json = &report->json;

	vg_json_key_string(json, "program", vg_profile_text(profile, profile->header.program));
	vg_json_key_string(json, "weight", report->counts != NULL ? report->counts->name :
			   vg_weight_name(report->weight));
	if (report->counts != NULL)
		vg_json_key_uint(json, "counter_total", report->counts->total);
	if (report->filter != NULL) {
		vg_json_key_string(json, "filter", report->filter);
		vg_json_key_uint(json, vg_report_key(report, "unfiltered_ns", "unfiltered"), report->unfiltered);
	}
}

void vg_report_json_sums(struct vg_report *report, uint64_t samples, uint64_t wall_ns, uint64_t cpu_ns)
{
	struct vg_json *json = &report->json;

	vg_json_key_uint(json, "samples", samples);
	vg_json_key_uint(json, "wall_ns", wall_ns);
	vg_json_key_uint(json, "cpu_ns", cpu_ns);
}

void vg_report_json_process(struct vg_report *report, uint32_t thread)
{
	const struct vg_profile *profile = report->profile;
	const struct vg_process *process = &profile->processes.items[profile->threads.items[thread].process];

	if (profile->processes.count <= 1)
		return;
	vg_json_key(&report->json, "pid");
	vg_json_int(&report->json, process->pid);
	vg_json_key_string(&report->json, "process", vg_profile_text(profile, process->name));
}

/* "FILE:LINE" without directories.  If the line is unknown, "[MODULE]", or NULL if the row's name is the module's.  The
 * kernel's modules have the brackets in their names: "[kernel]", "[vdso]".  The caller frees the text. */
static char *suffix_make(const struct vg_function_view *view)
{
	const char *file = view->file != NULL ? strrchr(view->file, '/') : NULL;
	char *text = NULL;
	int length = 0;

	if (view->line > 0 && view->file != NULL)
		length = asprintf(&text, "%s:%" PRIu32, file != NULL ? file + 1 : view->file, view->line);
	else if (view->module != NULL && !view->is_module)
		length = asprintf(&text, *view->module == '[' ? "%s" : "[%s]", view->module);
	return length >= 0 ? text : NULL;
}

void vg_report_name(const struct vg_report *report, const struct vg_function_view *view, size_t used, bool is_hot)
{
	enum { SUFFIX_MIN = 12 };
	size_t room = vg_terminal_room(&report->terminal, used);
	char *suffix = suffix_make(view);
	size_t suffix_room = suffix != NULL ? vg_terminal_width(suffix) + 2 : 0;

	/* Name and suffix share `room` columns.  The suffix may have the columns that the name leaves free, or a third of
	 * `room` if that is more. */
	if (room != SIZE_MAX && suffix_room > 0) {
		size_t name = vg_terminal_width(view->name), left = name < room ? room - name : 0;
		size_t most = left > room / 3 ? left : room / 3;

		if (suffix_room > most)
			suffix_room = most < SUFFIX_MIN ? 0 : most;
		room -= suffix_room;
	}
	if (is_hot)
		vg_terminal_color(&report->terminal, VG_COLOR_RED);
	vg_terminal_fit(stdout, view->name, room);
	if (is_hot)
		vg_terminal_color(&report->terminal, VG_COLOR_PLAIN);
	if (suffix_room > 0) {
		vg_terminal_color(&report->terminal, VG_COLOR_FAINT);
		fputs("  ", stdout);
		vg_terminal_fit(stdout, suffix, suffix_room - 2);
		vg_terminal_color(&report->terminal, VG_COLOR_PLAIN);
	}
	putchar('\n');
	free(suffix);
}

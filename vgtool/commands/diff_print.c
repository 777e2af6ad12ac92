/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/diff_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/print.h"
#include "vgtool/output/json.h"
#include "vgtool/output/text.h"

/* Default number of rows for text. */
enum { TEXT_LIMIT = 20 };

/* The output never advises the user to record more profiles than this on each side. */
enum { PROFILES_ADVISED_MAX = 1000 };

static const char *type_text(enum vg_measure_type type)
{
	switch (type) {
	case VG_MEASURE_WHOLE: return "all";
	case VG_MEASURE_INTERVAL: return "interval";
	case VG_MEASURE_DETACHED: return "detached";
	case VG_MEASURE_FUNCTION: return "function";
	case VG_MEASURE_OTHERS: return "others";
	}
	return "";
}

/* The times by which a row is judged: its total times if the option is --by total, otherwise its self times. */
struct judged_time {
	const struct vg_estimate *a, *b;
	const struct vg_estimate_change *by;
};

static struct judged_time judged_time(const struct vg_changes *changes, const struct vg_change *change)
{
	if (changes->by_total)
		return (struct judged_time){ &change->total_a, &change->total_b, &change->total };
	return (struct judged_time){ &change->self_a, &change->self_b, &change->self };
}

static void number_json(struct vg_json *json, const char *key, double value)
{
	vg_json_key(json, key);
	vg_json_real(json, value);
}

static void bool_json(struct vg_json *json, const char *key, bool value)
{
	vg_json_key(json, key);
	vg_json_bool(json, value);
}

static void side_json(struct vg_json *json, const char *key, const struct vg_estimate *a,
		      const struct vg_estimate *b, const struct vg_estimate_change *change)
{
	vg_json_key(json, key);
	vg_json_object_begin(json);
	number_json(json, "a", a->mean);
	number_json(json, "b", b->mean);
	number_json(json, "change", change->change);
	number_json(json, "percent", vg_change_percent(a, b));
	number_json(json, "margin", change->has_margin ? change->margin : NAN);
	vg_json_object_end(json);
}

static void name_json(struct vg_json *json, const struct vg_measure_row *row)
{
	vg_json_key_string(json, "type", type_text(row->type));
	vg_json_key_string(json, "name", row->name);
	vg_json_key_string(json, vg_measure_group(row) == VG_MEASURE_FUNCTIONS ? "module" : "kind", row->origin);
}

static void change_json(struct vg_json *json, const struct vg_change *change)
{
	vg_json_line(json);
	vg_json_object_begin(json);
	name_json(json, change->row);
	side_json(json, "self_ns", &change->self_a, &change->self_b, &change->self);
	/* A sample would count once for each of the functions. */
	if (change->row->type != VG_MEASURE_OTHERS) {
		side_json(json, "total_ns", &change->total_a, &change->total_b, &change->total);
		number_json(json, "count_a", change->count_a);
		number_json(json, "count_b", change->count_b);
	}
	bool_json(json, "judged", change->is_judged);
	bool_json(json, "slower", change->is_slower);
	bool_json(json, "unclear", change->is_unclear);
	number_json(json, "p", change->is_judged ? change->p : NAN);
	vg_json_object_end(json);
}

static const char *verdict_text(enum vg_verdict verdict)
{
	switch (verdict) {
	case VG_VERDICT_NO_CHANGE: return "no change";
	case VG_VERDICT_SLOWER: return "slower";
	case VG_VERDICT_UNCLEAR: return "cannot tell";
	}
	return "";
}

static void verdict_json(struct vg_json *json, const struct vg_changes *changes)
{
	vg_json_key(json, "verdict");
	if (changes->limit_percent < 0) {
		vg_json_null(json);
		return;
	}
	vg_json_object_begin(json);
	vg_json_key_string(json, "outcome", verdict_text(changes->verdict));
	number_json(json, "limit_percent", changes->limit_percent);
	vg_json_key_uint(json, "slower", changes->slower);
	number_json(json, "profiles_needed", changes->verdict == VG_VERDICT_UNCLEAR && changes->runs_needed > 0 ?
		    changes->runs_needed : NAN);
	number_json(json, "limit_needed", changes->limit_needed > 0 ? changes->limit_needed : NAN);
	vg_json_key(json, "decisive");
	if (changes->decisive != NULL) {
		vg_json_object_begin(json);
		name_json(json, changes->decisive->row);
		vg_json_object_end(json);
	} else {
		vg_json_null(json);
	}
	vg_json_object_end(json);
}

static bool change_is_shown(struct vg_measure_limit *limit, const struct vg_changes *changes,
			    const struct vg_change *change)
{
	return vg_measure_shown(limit, change->row) || change->is_slower || change == changes->decisive;
}

void vg_diff_json(const struct vg_changes *changes, const struct vg_measures *measures, uint64_t rows)
{
	struct vg_measure_limit limit = { .limit = rows };
	struct vg_json json;

	vg_json_open(&json, stdout);
	vg_json_object_begin(&json);
	vg_json_key_uint(&json, "profiles_a", changes->runs_a);
	vg_json_key_uint(&json, "profiles_b", changes->runs_b);
	vg_json_key_string(&json, "weight", vg_weight_name(measures->weight));
	bool_json(&json, "by_share", measures->by_share);
	verdict_json(&json, changes);
	vg_json_key(&json, "changes");
	vg_json_array_begin(&json);
	for (size_t i = 0; i < changes->items.count && !ferror(stdout); i++) {
		if (change_is_shown(&limit, changes, &changes->items.items[i]))
			change_json(&json, &changes->items.items[i]);
	}
	vg_json_array_end(&json);
	vg_json_object_end(&json);
	vg_json_line(&json);
}

/* "-1.00 s", "+1.00 s" or "0 s". */
static const char *signed_ns(struct vg_text *room, double ns)
{
	struct vg_text plain;
	double size = fabs(ns);

	snprintf(room->text, sizeof room->text, "%s%s", ns < 0 ? "-" : ns > 0 ? "+" : "",
		 vg_text_ns(&plain, size < 1e19 ? (uint64_t)size : UINT64_MAX));
	return room->text;
}

static const char *percent_text(struct vg_text *room, double percent)
{
	if (isnan(percent))
		snprintf(room->text, sizeof room->text, "new");
	else if (percent >= 1e6)
		snprintf(room->text, sizeof room->text, "> 1e6%%");
	else
		snprintf(room->text, sizeof room->text, "%+.1f%%", percent);
	return room->text;
}

static void name_text(const struct vg_change *change, const char *gap)
{
	vg_print(stdout, "%s", change->row->name);
	if (change->row->origin != NULL)
		vg_print(stdout, "%s[%s]", gap, change->row->origin);
	if (change->row->type == VG_MEASURE_DETACHED)
		vg_print(stdout, "%sdetached", gap);
}

/* `signed_ns(...) + (ns > 0)` leaves out the plus sign: only the column of the change has one. */
static void change_text(const struct vg_changes *changes, const struct vg_change *change)
{
	struct judged_time time = judged_time(changes, change);
	struct vg_text of_a, of_b, difference, margin, percent;

	vg_print(stdout, "%10s %10s %11s %10s %8s  ", signed_ns(&of_a, time.a->mean) + (time.a->mean > 0),
		 signed_ns(&of_b, time.b->mean) + (time.b->mean > 0), signed_ns(&difference, time.by->change),
		 time.by->has_margin ? signed_ns(&margin, time.by->margin) + (time.by->margin > 0) : "-",
		 percent_text(&percent, vg_change_percent(time.a, time.b)));
	name_text(change, "  ");
	if (change->is_slower)
		fputs("  <- slower", stdout);
	putchar('\n');
}

/* "NAME +12.3 % (95 % interval 8.0..16.6)", or with times if the row has no time in A. */
static void decisive_text(const struct vg_changes *changes)
{
	struct judged_time time = judged_time(changes, changes->decisive);
	double percent = vg_change_percent(time.a, time.b);
	double low = time.by->change - time.by->margin, high = time.by->change + time.by->margin;
	struct vg_text change, from, to;

	name_text(changes->decisive, " ");
	if (isnan(percent))
		vg_print(stdout, " is new, %s", signed_ns(&change, time.by->change));
	else
		vg_print(stdout, " %+.1f %%", percent);
	if (time.by->has_margin && isnan(percent))
		vg_print(stdout, " (95 %% interval %s..%s)", signed_ns(&from, low), signed_ns(&to, high));
	else if (time.by->has_margin)
		vg_print(stdout, " (95 %% interval %.1f..%.1f)", 100 * low / time.a->mean, 100 * high / time.a->mean);
}

static void advice_text(const struct vg_changes *changes)
{
	if (changes->runs_needed <= 0)
		vg_print(stdout, "a profile has fewer than %d samples; record longer, or two or more profiles on each "
			 "side", VG_BLOCKS_SAMPLES_MIN);
	else if (changes->runs_needed > PROFILES_ADVISED_MAX)
		fputs("record longer", stdout);
	else
		vg_print(stdout, "record about %.0f profiles on each side", changes->runs_needed);
	if (changes->limit_needed > 0)
		vg_print(stdout, ", or use a limit of %.0f %%", changes->limit_needed);
}

/* The last line of the output. */
static void verdict_line(const struct vg_changes *changes)
{
	switch (changes->verdict) {
	case VG_VERDICT_NO_CHANGE:
		vg_print(stdout, "verdict: no change above %g %%", changes->limit_percent);
		break;
	case VG_VERDICT_SLOWER:
		fputs("verdict: slower: ", stdout);
		decisive_text(changes);
		vg_print(stdout, ", limit %g %%", changes->limit_percent);
		if (changes->slower > 1)
			vg_print(stdout, "; %zu rows are slower", changes->slower);
		break;
	case VG_VERDICT_UNCLEAR:
		fputs("verdict: cannot tell: ", stdout);
		if (changes->decisive == NULL) {
			vg_print(stdout, "no row is judged, limit %g %%; use a lower --at-least",
				 changes->limit_percent);
			break;
		}
		decisive_text(changes);
		vg_print(stdout, ", limit %g %%; ", changes->limit_percent);
		advice_text(changes);
		break;
	}
	putchar('\n');
}

void vg_diff_text(const struct vg_changes *changes, const struct vg_measures *measures, uint64_t rows)
{
	struct vg_measure_limit limit = { .limit = rows > 0 ? rows : TEXT_LIMIT };
	uint64_t left_out = 0;

	vg_print(stdout, "%s time%s: A is the mean of %" PRIu32 " profile%s, B of %" PRIu32 "\n",
		 changes->by_total ? "total" : "self", measures->by_share ? ", scaled to equal sums" : "",
		 changes->runs_a, vg_text_plural(changes->runs_a), changes->runs_b);
	putchar('\n');
	vg_print(stdout, "%10s %10s %11s %10s %8s\n", "A", "B", "change", "+-95%", "");
	for (size_t i = 0; i < changes->items.count && !ferror(stdout); i++) {
		const struct vg_change *change = &changes->items.items[i];
		struct judged_time time = judged_time(changes, change);

		if (change->is_merged || (time.a->mean <= 0 && time.b->mean <= 0))
			continue;
		if (change_is_shown(&limit, changes, change))
			change_text(changes, change);
		else
			left_out++;
	}
	if (left_out > 0)
		vg_print(stdout, "%52s  ... and %" PRIu64 " more\n", "", left_out);
	if (changes->limit_percent >= 0)
		verdict_line(changes);
}

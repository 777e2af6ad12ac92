/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "vgtool/analysis/interval_counts.h"
#include "vgtool/analysis/thread_names.h"

/* State while one profile is added. */
struct adder {
	struct vg_summary *summary;
	const struct vg_profile *profile;
	struct vg_thread_names threads;
	struct vg_intern known;      /* struct row_key -> index in rows */
	VG_ARRAY(uint32_t) rows;     /* indices of rows of the summary */
};

/* Key of a row within one profile.  Its strings are ids, so that each text is hashed only once. */
struct row_key {
	uint32_t type, thread, kind, label;
};

/* Key of a row across profiles: a byte for the type, then three strings.  Before each string there is a byte 1.  A byte
 * 0 stands for a missing string. */
struct key_text {
	char bytes[sizeof(struct vg_thread_name) + 2 * ((size_t)VG_NAME_MAX_BYTES + 8)];
	size_t length;
};

static void key_put(struct key_text *key, const char *text)
{
	key->bytes[key->length++] = (char)(text != NULL);
	if (text != NULL) {
		size_t length = strlen(text) + 1;

		memcpy(key->bytes + key->length, text, length);
		key->length += length;
	}
}

static int row_get(struct adder *adder, const struct row_key *known, uint32_t *row)
{
	struct vg_summary_row fresh = { .type = (enum vg_summary_type)known->type, .min_ns = UINT64_MAX };
	struct vg_thread_name name;
	struct key_text key;
	uint32_t id;
	int rc = vg_intern(&adder->known, known, sizeof *known, &id);

	if (rc == 0)
		*row = adder->rows.items[id];
	if (rc <= 0)
		return rc;
	key.bytes[0] = (char)known->type;
	key.length = 1;
	key_put(&key, known->thread == VG_NONE ? NULL :
		vg_thread_name(&adder->threads, known->thread, &name));
	key_put(&key, known->kind == VG_NONE ? NULL : vg_profile_text(adder->profile, known->kind));
	key_put(&key, vg_interval_name(adder->profile, known->kind, known->label));
	rc = vg_intern(&adder->summary->keys, key.bytes, key.length, row);
	if (rc > 0)
		rc = vg_array_push(&adder->summary->rows, &fresh);
	return rc < 0 ? rc : vg_array_push(&adder->rows, row);
}

static void row_interval_add(struct vg_summary_row *row, const struct vg_interval *interval)
{
	uint64_t ns = vg_interval_ns(interval);

	row->count++;
	row->open += interval->state == VG_INTERVAL_OPEN;
	row->end_lost += interval->state == VG_INTERVAL_END_LOST;
	row->self_ns = vg_sum(row->self_ns, interval->self_ns);
	row->total_ns = vg_sum(row->total_ns, interval->total_ns);
	row->length_ns = vg_sum(row->length_ns, ns);
	if (ns < row->min_ns)
		row->min_ns = ns;
	if (ns > row->max_ns)
		row->max_ns = ns;
}

static uint32_t thread_of(const struct adder *adder, uint32_t thread)
{
	return adder->summary->by_thread ? thread : VG_NONE;
}

static int interval_add(struct adder *adder, const struct vg_interval *interval)
{
	struct vg_summary *summary = adder->summary;
	struct row_key key = { interval->detached ? VG_SUMMARY_DETACHED : VG_SUMMARY_INTERVAL,
				 thread_of(adder, interval->thread), interval->kind, interval->label };
	struct vg_summary_length length = { .ns = vg_interval_ns(interval) };
	int rc = row_get(adder, &key, &length.row);

	if (rc != 0)
		return rc;
	row_interval_add(&summary->rows.items[length.row], interval);
	summary->self_ns = vg_sum(summary->self_ns, interval->self_ns);
	return vg_array_push(&summary->lengths, &length);
}

static void counter_add(struct vg_summary_row *row, int64_t value)
{
	if (row->count == 0)
		row->min_value = row->max_value = value;
	if (value < row->min_value)
		row->min_value = value;
	if (value > row->max_value)
		row->max_value = value;
	row->last_value = value;
}

static int event_add(struct adder *adder, const struct vg_event *event)
{
	struct row_key key = { VG_SUMMARY_INSTANT, thread_of(adder, event->thread), event->kind,
				 event->label };
	uint32_t row;
	int rc;

	if (event->type != VG_EVENT_INSTANT && event->type != VG_EVENT_COUNTER)
		return 0;
	if (event->type == VG_EVENT_COUNTER)
		key.type = VG_SUMMARY_COUNTER;
	rc = row_get(adder, &key, &row);
	if (rc != 0)
		return rc;
	if (event->type == VG_EVENT_COUNTER)
		counter_add(&adder->summary->rows.items[row], (int64_t)event->value);
	adder->summary->rows.items[row].count++;
	return 0;
}

/* Sets *at to the index of the perf counter in the summary, or to VG_NONE if there are too many. */
static int counter_get(struct vg_summary *summary, const char *name, uint32_t *at)
{
	int rc = 0;

	if (!vg_intern_find(&summary->counter_names, name, strlen(name) + 1, at)) {
		*at = VG_NONE;
		if (summary->perf_counter_count == VG_PERF_COUNTERS_MAX)
			return 0;
		rc = vg_intern(&summary->counter_names, name, strlen(name) + 1, at);
		summary->perf_counter_count += rc >= 0;
	}
	return rc < 0 ? rc : 0;
}

static int counter_intervals_add(struct adder *adder, const struct vg_intervals *intervals, uint32_t counter)
{
	const struct vg_profile *profile = adder->profile;
	struct vg_interval_counts interval_counts = { 0 };
	struct vg_perf_counts counts;
	uint32_t at, row;
	int rc = counter_get(adder->summary, vg_profile_text(profile, profile->header.counters[counter]),
			     &at);

	if (rc != 0 || at == VG_NONE)
		return rc;
	rc = vg_perf_counts_build(&counts, profile, counter);
	if (rc == 0)
		rc = vg_interval_counts_build(&interval_counts, intervals, &counts);
	for (size_t i = 0; rc == 0 && i < intervals->items.count; i++) {
		const struct vg_interval *interval = &intervals->items.items[i];
		struct row_key key = { VG_SUMMARY_INTERVAL, thread_of(adder, interval->thread), interval->kind,
					 interval->label };
		struct vg_summary_count *count;

		if (interval->detached)
			continue;
		rc = row_get(adder, &key, &row);
		if (rc != 0)
			break;
		count = &adder->summary->rows.items[row].counts[at];
		count->self = vg_sum(count->self, interval_counts.self[i]);
		count->total = vg_sum(count->total, interval_counts.total[i]);
	}
	vg_interval_counts_free(&interval_counts);
	vg_perf_counts_free(&counts);
	return rc;
}

int vg_summary_add(struct vg_summary *summary, const struct vg_intervals *intervals)
{
	struct adder adder = { .summary = summary, .profile = intervals->profile };
	const struct vg_profile *profile = intervals->profile;
	int rc = vg_thread_names_build(&adder.threads, profile);

	for (size_t i = 0; rc == 0 && i < intervals->items.count; i++)
		rc = interval_add(&adder, &intervals->items.items[i]);
	for (size_t i = 0; rc == 0 && i < profile->events.count; i++)
		rc = event_add(&adder, &profile->events.items[i]);
	for (uint32_t i = 0; rc == 0 && i < profile->header.counter_count; i++)
		rc = counter_intervals_add(&adder, intervals, i);
	summary->ends_orphaned += intervals->ends_orphaned;
	summary->begins_repeated += intervals->begins_repeated;
	summary->times_out_of_order += intervals->times_out_of_order;
	summary->dropped = vg_sum(summary->dropped, intervals->dropped);
	vg_thread_names_free(&adder.threads);
	vg_intern_free(&adder.known);
	vg_array_free(&adder.rows);
	return rc;
}

static int length_compare(const void *a, const void *b)
{
	const struct vg_summary_length *left = a, *right = b;

	if (left->row != right->row)
		return left->row < right->row ? -1 : 1;
	return left->ns < right->ns ? -1 : left->ns > right->ns;
}

/* Percentile by nearest rank: the smallest length for which at least `percent` percent of the lengths are equal or
 * shorter. */
static uint64_t quantile(const struct vg_summary_length *lengths, size_t count, unsigned percent)
{
	size_t rank = count / 100 * percent + (count % 100 * percent + 99) / 100;

	return lengths[rank > 0 ? rank - 1 : 0].ns;
}

static void quantiles_find(struct vg_summary *summary)
{
	const struct vg_summary_length *lengths = summary->lengths.items;

	if (summary->lengths.count > 1)
		qsort(summary->lengths.items, summary->lengths.count, sizeof *lengths, length_compare);
	for (size_t at = 0; at < summary->lengths.count;) {
		struct vg_summary_row *row = &summary->rows.items[lengths[at].row];

		row->p50_ns = quantile(lengths + at, row->count, 50);
		row->p99_ns = quantile(lengths + at, row->count, 99);
		at += row->count;
	}
}

static void texts_find(struct vg_summary *summary)
{
	for (uint32_t i = 0; i < summary->rows.count; i++) {
		const char *at = (const char *)vg_intern_bytes(&summary->keys, i, NULL) + 1;
		const char *texts[3];

		for (size_t t = 0; t < 3; t++) {
			texts[t] = *at != 0 ? at + 1 : NULL;
			at += *at != 0 ? strlen(at + 1) + 2 : 1;
		}
		summary->rows.items[i].thread = texts[0];
		summary->rows.items[i].kind = texts[1];
		summary->rows.items[i].label = texts[2];
	}
}

static int row_compare(const void *a, const void *b)
{
	const struct vg_summary_row *left = a, *right = b;
	bool left_times = left->type <= VG_SUMMARY_DETACHED;
	bool right_times = right->type <= VG_SUMMARY_DETACHED;
	int order = left->thread != NULL && right->thread != NULL ?
		    strcmp(left->thread, right->thread) : 0;

	if (left_times != right_times)
		return left_times ? -1 : 1;
	if (!left_times && left->type != right->type)
		return left->type < right->type ? -1 : 1;
	if (order != 0)
		return order;
	if (left->self_ns != right->self_ns)
		return left->self_ns < right->self_ns ? 1 : -1;
	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	order = strcmp(left->label, right->label);
	if (order == 0)
		order = strcmp(left->kind != NULL ? left->kind : "", right->kind != NULL ? right->kind : "");
	return order != 0 ? order : (left->type > right->type) - (left->type < right->type);
}

void vg_summary_finish(struct vg_summary *summary)
{
	for (uint32_t i = 0; i < summary->perf_counter_count; i++)
		summary->perf_counters[i] = vg_intern_text(&summary->counter_names, i);
	quantiles_find(summary);
	texts_find(summary);
	if (summary->rows.count > 1)
		qsort(summary->rows.items, summary->rows.count, sizeof *summary->rows.items, row_compare);
}

void vg_summary_free(struct vg_summary *summary)
{
	vg_array_free(&summary->rows);
	vg_intern_free(&summary->keys);
	vg_intern_free(&summary->counter_names);
	vg_array_free(&summary->lengths);
}

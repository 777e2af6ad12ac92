/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vgtool/analysis/span_counts.h"
#include "vgtool/analysis/thread_names.h"

/* What is needed while one profile is added. */
struct adding {
	struct vg_summary *summary;
	const struct vg_profile *profile;
	struct vg_thread_names threads;
	struct vg_intern known;      /* struct known_key -> index in rows */
	VG_ARRAY(uint32_t) rows;     /* row of the summary */
};

/* A row within one profile: strings by their numbers, so that the text is looked at once. */
struct known_key {
	uint32_t what, thread, kind, label;
};

/* what, then three strings: the mark before each tells an empty one from none. */
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

static int row_get(struct adding *adding, const struct known_key *known, uint32_t *row)
{
	struct vg_summary_row fresh = { .what = (enum vg_summary_what)known->what, .min_ns = UINT64_MAX };
	struct vg_thread_name name;
	struct key_text key;
	uint32_t id;
	int rc = vg_intern(&adding->known, known, sizeof *known, &id);

	if (rc == 0)
		*row = adding->rows.items[id];
	if (rc <= 0)
		return rc;
	key.bytes[0] = (char)known->what;
	key.length = 1;
	key_put(&key, known->thread == VG_NONE ? NULL :
		vg_thread_name(&adding->threads, known->thread, &name));
	key_put(&key, known->kind == VG_NONE ? NULL : vg_profile_text(adding->profile, known->kind));
	key_put(&key, vg_span_name(adding->profile, known->kind, known->label));
	rc = vg_intern(&adding->summary->keys, key.bytes, key.length, row);
	if (rc > 0)
		rc = vg_array_push(&adding->summary->rows, &fresh);
	return rc < 0 ? rc : vg_array_push(&adding->rows, row);
}

static void row_span_add(struct vg_summary_row *row, const struct vg_span *span)
{
	uint64_t ns = vg_span_ns(span);

	row->count++;
	row->open += span->state == VG_SPAN_OPEN;
	row->lost += span->state == VG_SPAN_LOST;
	row->self_ns = vg_sum(row->self_ns, span->self_ns);
	row->total_ns = vg_sum(row->total_ns, span->once_ns);
	row->length_ns = vg_sum(row->length_ns, ns);
	if (ns < row->min_ns)
		row->min_ns = ns;
	if (ns > row->max_ns)
		row->max_ns = ns;
}

static uint32_t thread_of(const struct adding *adding, uint32_t thread)
{
	return adding->summary->by_thread ? thread : VG_NONE;
}

static int span_add(struct adding *adding, const struct vg_span *span)
{
	struct vg_summary *summary = adding->summary;
	struct known_key key = { span->detached ? VG_SUMMARY_DETACHED : VG_SUMMARY_INTERVAL,
				 thread_of(adding, span->thread), span->kind, span->label };
	struct vg_summary_length length = { .ns = vg_span_ns(span) };
	int rc = row_get(adding, &key, &length.row);

	if (rc != 0)
		return rc;
	row_span_add(&summary->rows.items[length.row], span);
	summary->self_ns = vg_sum(summary->self_ns, span->self_ns);
	return vg_array_push(&summary->lengths, &length);
}

static void counter_add(struct vg_summary_row *row, int64_t value)
{
	if (row->count == 0)
		row->least = row->most = value;
	if (value < row->least)
		row->least = value;
	if (value > row->most)
		row->most = value;
	row->last = value;
}

static int event_add(struct adding *adding, const struct vg_event *event)
{
	struct known_key key = { VG_SUMMARY_INSTANT, thread_of(adding, event->thread), event->kind,
				 event->label };
	uint32_t row;
	int rc;

	if (event->what != VG_EVENT_INSTANT && event->what != VG_EVENT_COUNTER)
		return 0;
	if (event->what == VG_EVENT_COUNTER)
		key.what = VG_SUMMARY_COUNTER;
	rc = row_get(adding, &key, &row);
	if (rc != 0)
		return rc;
	if (event->what == VG_EVENT_COUNTER)
		counter_add(&adding->summary->rows.items[row], (int64_t)event->value);
	adding->summary->rows.items[row].count++;
	return 0;
}

/* The place of a counter in the summary; VG_NONE: there are too many. */
static int counter_get(struct vg_summary *summary, const char *name, uint32_t *at)
{
	int rc = 0;

	if (!vg_intern_find(&summary->counter_names, name, strlen(name) + 1, at)) {
		*at = VG_NONE;
		if (summary->counter_count == VG_COUNTS_MAX)
			return 0;
		rc = vg_intern(&summary->counter_names, name, strlen(name) + 1, at);
		summary->counter_count += rc >= 0;
	}
	return rc < 0 ? rc : 0;
}

static int counter_spans_add(struct adding *adding, const struct vg_spans *spans, uint32_t counter)
{
	const struct vg_profile *profile = adding->profile;
	struct vg_span_counts own = { 0 };
	struct vg_counted counts;
	uint32_t at, row;
	int rc = counter_get(adding->summary, vg_profile_text(profile, profile->header.counters[counter]),
			     &at);

	if (rc != 0 || at == VG_NONE)
		return rc;
	rc = vg_counted_build(&counts, profile, counter);
	if (rc == 0)
		rc = vg_span_counts_build(&own, spans, &counts);
	for (size_t i = 0; rc == 0 && i < spans->items.count; i++) {
		const struct vg_span *span = &spans->items.items[i];
		struct known_key key = { VG_SUMMARY_INTERVAL, thread_of(adding, span->thread), span->kind,
					 span->label };
		struct vg_summary_count *count;

		if (span->detached)
			continue;
		rc = row_get(adding, &key, &row);
		if (rc != 0)
			break;
		count = &adding->summary->rows.items[row].counts[at];
		count->self = vg_sum(count->self, own.self[i]);
		count->total = vg_sum(count->total, own.once[i]);
	}
	vg_span_counts_free(&own);
	vg_counted_free(&counts);
	return rc;
}

int vg_summary_add(struct vg_summary *summary, const struct vg_spans *spans)
{
	struct adding adding = { .summary = summary, .profile = spans->profile };
	const struct vg_profile *profile = spans->profile;
	int rc = vg_thread_names_build(&adding.threads, profile);

	for (size_t i = 0; rc == 0 && i < spans->items.count; i++)
		rc = span_add(&adding, &spans->items.items[i]);
	for (size_t i = 0; rc == 0 && i < profile->events.count; i++)
		rc = event_add(&adding, &profile->events.items[i]);
	for (uint32_t i = 0; rc == 0 && i < profile->header.counter_count; i++)
		rc = counter_spans_add(&adding, spans, i);
	summary->ends_orphaned += spans->ends_orphaned;
	summary->begins_repeated += spans->begins_repeated;
	summary->times_back += spans->times_back;
	summary->dropped = vg_sum(summary->dropped, spans->dropped);
	vg_thread_names_free(&adding.threads);
	vg_intern_free(&adding.known);
	vg_array_free(&adding.rows);
	return rc;
}

static int length_compare(const void *a, const void *b)
{
	const struct vg_summary_length *left = a, *right = b;

	if (left->row != right->row)
		return left->row < right->row ? -1 : 1;
	return left->ns < right->ns ? -1 : left->ns > right->ns;
}

/* The smallest length that so many percent of them do not exceed. */
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
	bool left_times = left->what <= VG_SUMMARY_DETACHED;
	bool right_times = right->what <= VG_SUMMARY_DETACHED;
	int order = left->thread != NULL && right->thread != NULL ?
		    strcmp(left->thread, right->thread) : 0;

	if (left_times != right_times)
		return left_times ? -1 : 1;
	if (!left_times && left->what != right->what)
		return left->what < right->what ? -1 : 1;
	if (order != 0)
		return order;
	if (left->self_ns != right->self_ns)
		return left->self_ns < right->self_ns ? 1 : -1;
	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	order = strcmp(left->label, right->label);
	if (order == 0)
		order = strcmp(left->kind != NULL ? left->kind : "", right->kind != NULL ? right->kind : "");
	return order != 0 ? order : (left->what > right->what) - (left->what < right->what);
}

void vg_summary_finish(struct vg_summary *summary)
{
	for (uint32_t i = 0; i < summary->counter_count; i++)
		summary->counters[i] = vg_intern_text(&summary->counter_names, i);
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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/view_intervals.h"

#include <stdlib.h>

static const struct vg_interval *interval_at(const struct vg_view_intervals *view, uint32_t index)
{
	return &view->intervals.items.items[index];
}

/* The interval around it, as for vgtool report --interval. */
static uint32_t parent_of(const struct vg_interval *interval)
{
	return interval->detached ? VG_NONE : interval->parent;
}

static int path_find(struct vg_view_intervals *view, const struct vg_interval *interval, const uint32_t *path_of,
		     uint32_t *path)
{
	struct vg_view_path key = { .parent = VG_NONE };
	int rc = vg_intern_string(&view->labels,
				  vg_interval_name(view->intervals.profile, interval->kind, interval->label), &key.label);

	if (parent_of(interval) != VG_NONE)
		key.parent = path_of[parent_of(interval)];
	if (rc >= 0)
		rc = vg_intern(&view->paths, &key, sizeof key, path);
	return rc < 0 ? rc : 0;
}

/* Finds the paths of the intervals that samples are in, and of the intervals around these.  by_sample has an interval
 * for each sample.  An interval has a higher index than those around it. */
static int paths_find(struct vg_view_intervals *view, uint32_t *path_of)
{
	const struct vg_profile *profile = view->intervals.profile;
	uint32_t count = (uint32_t)view->intervals.items.count;
	int rc = 0;

	for (size_t i = 0; i < profile->samples.count; i++) {
		view->by_sample[i] = vg_sample_interval(&view->intervals, &profile->samples.items[i]);
		if (view->by_sample[i] != VG_NONE)
			path_of[view->by_sample[i]] = 1;
	}
	for (uint32_t i = count; i-- > 0;) {
		if (path_of[i] != 0 && parent_of(interval_at(view, i)) != VG_NONE)
			path_of[parent_of(interval_at(view, i))] = 1;
	}
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		if (path_of[i] != 0)
			rc = path_find(view, interval_at(view, i), path_of, &path_of[i]);
	}
	for (size_t i = 0; rc == 0 && i < profile->samples.count; i++) {
		if (view->by_sample[i] != VG_NONE)
			view->by_sample[i] = path_of[view->by_sample[i]];
	}
	return rc;
}

static int length_descending(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? 1 : left > right ? -1 : 0;
}

static int longest_find(struct vg_view_intervals *view)
{
	size_t count = view->intervals.items.count, known = 0;
	uint64_t *lengths = calloc(count + 1, sizeof *lengths), least = 0;
	int rc = 0;

	if (lengths == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		if (!interval_at(view, i)->detached)
			lengths[known++] = vg_interval_ns(interval_at(view, i));
	}
	if (known > VG_VIEW_INTERVALS_MAX) {
		qsort(lengths, known, sizeof *lengths, length_descending);
		least = lengths[VG_VIEW_INTERVALS_MAX - 1];
	}
	for (uint32_t i = 0; rc == 0 && i < count && view->longest.count < VG_VIEW_INTERVALS_MAX; i++) {
		if (!interval_at(view, i)->detached && vg_interval_ns(interval_at(view, i)) >= least)
			rc = vg_array_push(&view->longest, &i);
	}
	free(lengths);
	return rc;
}

int vg_view_intervals_build(struct vg_view_intervals *view, const struct vg_profile *profile)
{
	uint32_t *path_of;
	int rc;

	*view = (struct vg_view_intervals){ .by_sample = NULL };
	rc = vg_intervals_build(&view->intervals, profile);
	if (rc != 0 || view->intervals.items.count == 0)
		return rc;
	path_of = calloc(view->intervals.items.count, sizeof *path_of);
	view->by_sample = malloc((profile->samples.count + 1) * sizeof *view->by_sample);
	rc = path_of == NULL || view->by_sample == NULL ? -ENOMEM : paths_find(view, path_of);
	free(path_of);
	return rc != 0 ? rc : longest_find(view);
}

void vg_view_intervals_free(struct vg_view_intervals *view)
{
	vg_intervals_free(&view->intervals);
	vg_intern_free(&view->labels);
	vg_intern_free(&view->paths);
	free(view->by_sample);
	vg_array_free(&view->longest);
	*view = (struct vg_view_intervals){ .by_sample = NULL };
}

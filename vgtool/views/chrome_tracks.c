/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/chrome_tracks.h"

#include <errno.h>
#include <stdlib.h>

struct lifetime {
	uint64_t begin_ns, end_ns;
	uint32_t thread, process;
};

/* Threads in two orders, and the tracks that are free. */
struct collapse {
	struct lifetime *by_begin, *by_end;
	uint32_t *free_tracks;       /* a queue: the latest thread of each track; the one that ended first is next */
	size_t free_first, free_end;
};

static void lifetime_extend(struct lifetime *lifetime, uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns < lifetime->begin_ns)
		lifetime->begin_ns = begin_ns;
	if (end_ns > lifetime->end_ns)
		lifetime->end_ns = end_ns;
}

static void lifetimes_measure(const struct vg_chrome *chrome, struct lifetime *lifetimes)
{
	const struct vg_profile *profile = chrome->profile;

	for (uint32_t t = 0; t < profile->threads.count; t++) {
		const struct vg_thread *thread = &profile->threads.items[t];

		lifetimes[t] = (struct lifetime){ thread->begin_ns, thread->end_ns, t, thread->process };
		lifetime_extend(&lifetimes[t], thread->begin_ns, thread->begin_ns);   /* a wrong end is before it */
	}
	for (size_t i = 0; i < profile->samples.count; i++) {
		const struct vg_sample *sample = &profile->samples.items[i];

		lifetime_extend(&lifetimes[sample->thread], sample->time_ns, sample->time_ns);
	}
	for (size_t i = 0; i < chrome->intervals.items.count; i++) {
		const struct vg_interval *interval = &chrome->intervals.items.items[i];

		if (!interval->detached)
			lifetime_extend(&lifetimes[interval->thread], interval->begin_ns, interval->end_ns);
	}
	for (size_t i = 0; i < profile->events.count; i++) {
		const struct vg_event *event = &profile->events.items[i];

		if (event->type == VG_EVENT_INSTANT)
			lifetime_extend(&lifetimes[event->thread], event->time_ns, event->time_ns);
	}
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_begin(const void *a, const void *b)
{
	const struct lifetime *left = a, *right = b;

	if (left->process != right->process)
		return compare(left->process, right->process);
	return left->begin_ns != right->begin_ns ? compare(left->begin_ns, right->begin_ns) :
	       compare(left->thread, right->thread);
}

static int by_end(const void *a, const void *b)
{
	const struct lifetime *left = a, *right = b;

	if (left->process != right->process)
		return compare(left->process, right->process);
	return left->end_ns != right->end_ns ? compare(left->end_ns, right->end_ns) :
	       compare(left->thread, right->thread);
}

/* Frees the tracks of the threads that ended before `next` begins.  *ended: number of threads in by_end that were
 * visited.  A thread that is not placed yet stops the search: it begins and ends when `next` begins. */
static void tracks_free(const struct vg_chrome *chrome, struct collapse *collapse, const struct lifetime *next,
			size_t *ended)
{
	for (; *ended < chrome->profile->threads.count; ++*ended) {
		const struct lifetime *lifetime = &collapse->by_end[*ended];

		if (lifetime->process > next->process)
			break;
		if (lifetime->process < next->process)
			continue;
		if (lifetime->end_ns > next->begin_ns || chrome->track_of[lifetime->thread] == VG_NONE)
			break;
		collapse->free_tracks[collapse->free_end++] = lifetime->thread;
	}
}

static void threads_place(struct vg_chrome *chrome, struct collapse *collapse)
{
	size_t ended = 0;

	for (size_t i = 0; i < chrome->profile->threads.count; i++) {
		const struct lifetime *next = &collapse->by_begin[i];
		uint32_t previous;

		if (i > 0 && next->process != collapse->by_begin[i - 1].process)
			collapse->free_first = collapse->free_end;
		tracks_free(chrome, collapse, next, &ended);
		if (collapse->free_first == collapse->free_end) {
			chrome->track_of[next->thread] = next->thread;
			continue;
		}
		previous = collapse->free_tracks[collapse->free_first++];
		chrome->track_of[next->thread] = chrome->track_of[previous];
		chrome->next_in_track[previous] = next->thread;
	}
}

static int threads_collapse(struct vg_chrome *chrome)
{
	size_t count = chrome->profile->threads.count;
	struct collapse collapse = {
		.by_begin = calloc(count + 1, sizeof *collapse.by_begin),
		.by_end = calloc(count + 1, sizeof *collapse.by_end),
		.free_tracks = calloc(count + 1, sizeof *collapse.free_tracks),
	};
	int rc = -ENOMEM;

	if (collapse.by_begin != NULL && collapse.by_end != NULL && collapse.free_tracks != NULL) {
		lifetimes_measure(chrome, collapse.by_begin);
		lifetimes_measure(chrome, collapse.by_end);
		qsort(collapse.by_begin, count, sizeof *collapse.by_begin, by_begin);
		qsort(collapse.by_end, count, sizeof *collapse.by_end, by_end);
		threads_place(chrome, &collapse);
		rc = 0;
	}
	free(collapse.by_begin);
	free(collapse.by_end);
	free(collapse.free_tracks);
	return rc;
}

int vg_chrome_tracks_build(struct vg_chrome *chrome, bool collapse)
{
	size_t count = chrome->profile->threads.count;

	chrome->track_of = calloc(count + 1, sizeof *chrome->track_of);
	chrome->next_in_track = calloc(count + 1, sizeof *chrome->next_in_track);
	if (chrome->track_of == NULL || chrome->next_in_track == NULL)
		return -ENOMEM;
	for (uint32_t t = 0; t < count; t++) {
		chrome->track_of[t] = collapse ? VG_NONE : t;
		chrome->next_in_track[t] = VG_NONE;
	}
	return collapse ? threads_collapse(chrome) : 0;
}

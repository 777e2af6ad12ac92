/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_INTERVALS_H
#define VG_VGTOOL_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

/*
 * The intervals of a profile, built from its begin and end events.
 *
 * Self time: each moment counts for one of the thread's open intervals, the one that began last.  So the self times of
 * a thread add up to the time in which any interval was open, even if intervals do not end in reverse order of their
 * begin.  The self time of a detached interval is its whole time.
 *
 * The profile is untrusted:
 *  - An end without a begin is counted and ignored.
 *  - If a token begins again, this makes another interval, and the earlier one stays open.
 *  - If an event is earlier than a previous event of its thread, the latest time of the thread is used.
 *
 * Time and memory are proportional to the number of events.
 *
 *	vg_intervals_build(&intervals, profile);
 *	for (size_t i = 0; i < intervals.items.count; i++)
 *		sum_ns += intervals.items.items[i].self_ns;
 *	vg_intervals_free(&intervals);
 */
enum vg_interval_state {
	VG_INTERVAL_ENDED,           /* it has a begin and an end event */
	VG_INTERVAL_OPEN,            /* it has no end event: it lasts until the end of its thread or of the profile */
	VG_INTERVAL_END_LOST,        /* its end event was lost: it lasts until the event that proves the loss */
};

struct vg_interval {
	uint64_t token;
	uint64_t begin_ns, end_ns;
	uint64_t self_ns;
	uint64_t total_ns;           /* length of a period in which intervals of its kind and label were open on
	                                its thread all the time.  Only the interval that ends last in the period
	                                has this length; the others have 0 */
	uint64_t value;              /* argument of the begin event */
	uint32_t thread;             /* index */
	uint32_t kind, label;        /* strings, or VG_NONE */
	uint32_t parent;             /* index of the next interval around it, or VG_NONE */
	uint32_t depth;              /* number of intervals around it on its thread */
	uint8_t state;               /* enum vg_interval_state */
	bool detached;
	bool is_recursive;           /* it began inside an interval of its own kind and label */
	bool not_nested;             /* not detached, and it ended while a later interval of its thread was open */
	bool listed;                 /* private: it is open on its thread */
	uint32_t below, above;       /* private: neighbours in the list of its thread's open intervals */
};

struct vg_intervals {
	const struct vg_profile *profile;  /* the caller's; must outlive this */
	VG_ARRAY(struct vg_interval) items; /* in order of their begin events; for each thread in order of time */
	uint64_t *first;                   /* thread t has order[first[t]] to order[first[t + 1] - 1] */
	uint32_t *order;                   /* indices into items */
	uint64_t *first_step;              /* thread t has steps[first_step[t]] to steps[first_step[t + 1] - 1] */
	uint64_t *steps;                   /* begins and ends of the intervals that are not detached, in their
	                                      order; see vg_step_interval() */
	uint64_t end_ns;                   /* end of the profile: no event or sample is later */
	uint64_t ends_orphaned;            /* end events without a begin event */
	uint64_t begins_repeated;          /* begin events whose token was already open */
	uint64_t times_out_of_order;       /* events earlier than a previous event of their thread */
	uint64_t dropped;                  /* events that the recorder dropped */
	bool events_missing;               /* the recorder dropped events, or the profile is damaged */
	struct vg_intern tokens;           /* token -> index in by_token */
	VG_ARRAY(uint32_t) by_token;       /* index of the latest interval with the token */
};

/* Returns 0 or -ENOMEM; call vg_intervals_free() in either case. */
int vg_intervals_build(struct vg_intervals *intervals, const struct vg_profile *profile);
void vg_intervals_free(struct vg_intervals *intervals);

static inline uint64_t vg_interval_ns(const struct vg_interval *interval)
{
	return interval->end_ns - interval->begin_ns;
}

/* A step is the begin or the end of an interval. */
static inline uint32_t vg_step_interval(uint64_t step)
{
	return (uint32_t)(step >> 1);
}
static inline bool vg_step_is_end(uint64_t step)
{
	return step & 1;
}

/* Index of the latest interval of a token, or VG_NONE. */
uint32_t vg_intervals_find(const struct vg_intervals *intervals, uint64_t token);

/* Index of the innermost interval that was open on the sample's thread, or VG_NONE. */
uint32_t vg_sample_interval(const struct vg_intervals *intervals, const struct vg_sample *sample);

/* Returns the label; the kind if there is no label; "(no label)" if there is neither. */
const char *vg_interval_name(const struct vg_profile *profile, uint32_t kind, uint32_t label);

#endif

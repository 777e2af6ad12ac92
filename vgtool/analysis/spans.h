/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SPANS_H
#define VG_VGTOOL_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

/*
 * The intervals of a profile, made of its begin and end events.
 *
 * Self time: at every moment the interval that began last, of those open on a thread, has the
 * moment; so the self times of a thread add up to the time in which any was open, whatever order
 * they end in.  A detached interval has all its time to itself.
 *
 * Nothing is trusted: ends without begins are counted and passed over; a token that begins again
 * is another interval, and the earlier one stays open; times that go back on a thread stand still.
 * Time is in proportion to the events.
 */
enum vg_span_state {
	VG_SPAN_ENDED,               /* it began and ended */
	VG_SPAN_OPEN,                /* the end did not come: counted up to that of the thread, or
	                                of the profile */
	VG_SPAN_LOST,                /* the end must have been among the events that were dropped:
	                                counted up to the event that shows it */
};

struct vg_span {
	uint64_t token;
	uint64_t begin_ns, end_ns;
	uint64_t self_ns;
	uint64_t once_ns;            /* what it adds to the time in which any of its kind and label
	                                was open on its thread */
	uint64_t value;              /* the begin's argument */
	uint32_t thread;             /* index */
	uint32_t kind, label;        /* strings, or VG_NONE */
	uint32_t parent;             /* span, or VG_NONE */
	uint32_t depth;              /* of spans that are open around it on its thread */
	uint8_t state;               /* enum vg_span_state */
	bool detached;
	bool repeats;                /* it began within one of its own kind and label */
	bool crossed;                /* not detached, and ended before one that began after it */
	bool listed;                 /* the builder's own: it is open on its thread */
	uint32_t below, above;       /* the builder's own: open spans of its thread */
};

struct vg_spans {
	const struct vg_profile *profile;  /* the caller's; must outlive this */
	VG_ARRAY(struct vg_span) items;    /* as they began: for each thread in order of time */
	uint64_t *first;                   /* of thread t: order[first[t]] up to before */
	uint32_t *order;                   /* order[first[t + 1]], as indices into items */
	uint64_t *first_step;              /* of thread t: steps[first_step[t]] up to before */
	uint64_t *steps;                   /* steps[first_step[t + 1]]: begins and ends of those that
	                                      are not detached, as they came; see vg_step_span() */
	uint64_t end_ns;                   /* of the profile: nothing in it is later */
	uint64_t ends_orphaned;            /* ends whose begin is not there */
	uint64_t begins_repeated;          /* begins of a token that was open already */
	uint64_t times_back;               /* events earlier than one before them on their thread */
	uint64_t dropped;                  /* events that the recorder could not keep */
	bool gappy;                        /* some were, or the profile is damaged */
	struct vg_intern tokens;           /* token -> index in by_token */
	VG_ARRAY(uint32_t) by_token;       /* the latest span of it */
};

/* 0 or -ENOMEM; free in either case. */
int vg_spans_build(struct vg_spans *spans, const struct vg_profile *profile);
void vg_spans_free(struct vg_spans *spans);

static inline uint64_t vg_span_ns(const struct vg_span *span)
{
	return span->end_ns - span->begin_ns;
}

/* Which span a step is of, and whether it is its end. */
static inline uint32_t vg_step_span(uint64_t step)
{
	return (uint32_t)(step >> 1);
}
static inline bool vg_step_ends(uint64_t step)
{
	return step & 1;
}

/* The span of a token, or VG_NONE. */
uint32_t vg_spans_find(const struct vg_spans *spans, uint64_t token);

/* A span's label, or its kind where it has none; "(no label)" without both. */
const char *vg_span_name(const struct vg_profile *profile, uint32_t kind, uint32_t label);

#endif

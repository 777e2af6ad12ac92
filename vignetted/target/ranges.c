/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/ranges.h"

#include <errno.h>
#include <string.h>

#include "base/sorted.h"
#include "profile/model.h"

static bool overlap(const struct vg_code_range *range, uint64_t start, uint64_t end)
{
	return range->start < end && range->end > start;
}

/* Index of the current range that contains the address.  If none does: index of the next range above the address, or
 * now.count. */
static size_t index_of(const struct vg_ranges *ranges, uint64_t address)
{
	return vg_count_at_most(ranges->now.items, ranges->now.count, end, address);
}

static size_t past_count(const struct vg_ranges *ranges)
{
	return ranges->past_total < VG_RANGES_PAST ? (size_t)ranges->past_total : VG_RANGES_PAST;
}

/* Ranges of JIT code are not kept, because frames in them name no module. */
static void past_add(struct vg_ranges *ranges, const struct vg_code_range *range, uint64_t until_ns)
{
	struct vg_code_range *past = &ranges->past[ranges->past_total % VG_RANGES_PAST];

	if (range->module == VG_NONE)
		return;
	*past = *range;
	past->until_ns = until_ns;
	ranges->past_total++;
}

bool vg_ranges_reused(const struct vg_ranges *ranges, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < past_count(ranges); i++) {
		if (overlap(&ranges->past[i], start, end))
			return true;
	}
	return false;
}

/* ---- readings ---- */

void vg_ranges_begin(struct vg_ranges *ranges)
{
	__typeof__(ranges->now) unused = ranges->previous;

	ranges->previous = ranges->now;
	ranges->now = unused;
	ranges->now.count = 0;
}

int vg_ranges_add(struct vg_ranges *ranges, uint64_t start, uint64_t end, uint32_t module)
{
	struct vg_code_range range = { .start = start, .end = end, .module = module };

	return vg_array_push(&ranges->now, &range);
}

/* Gives the range the latest since_ns of the previous ranges that overlap it and have the same module.  `at` is the
 * index of the first previous range that may overlap it.  Returns false if no previous range overlaps it and has the
 * same module: the range is new. */
static bool range_inherit(struct vg_ranges *ranges, struct vg_code_range *range, size_t at)
{
	bool found_again = false;

	for (; at < ranges->previous.count && ranges->previous.items[at].start < range->end; at++) {
		struct vg_code_range *previous = &ranges->previous.items[at];

		if (previous->module != range->module)
			continue;
		if (!found_again || previous->since_ns > range->since_ns)
			range->since_ns = previous->since_ns;
		range->reused |= previous->reused;
		previous->found_again = found_again = true;
	}
	return found_again;
}

void vg_ranges_end(struct vg_ranges *ranges, uint64_t read_ns)
{
	size_t at = 0;

	for (size_t i = 0; i < ranges->now.count; i++) {
		struct vg_code_range *range = &ranges->now.items[i];

		while (at < ranges->previous.count && ranges->previous.items[at].end <= range->start)
			at++;
		if (!range_inherit(ranges, range, at))
			range->since_ns = ranges->latest_ns = read_ns;
	}
	for (size_t i = 0; i < ranges->previous.count; i++) {
		if (!ranges->previous.items[i].found_again)
			past_add(ranges, &ranges->previous.items[i], read_ns);
		ranges->previous.items[i].found_again = false;
	}
	ranges->previous.count = 0;
	if (ranges->past_total == 0)
		return;
	for (size_t i = 0; i < ranges->now.count; i++) {
		struct vg_code_range *range = &ranges->now.items[i];

		if (range->since_ns == read_ns && range->module != VG_NONE)
			range->reused = vg_ranges_reused(ranges, range->start, range->end);
	}
}

/* ---- records ---- */

/* The part of a range between two addresses. */
static struct vg_code_range part_of(const struct vg_code_range *range, uint64_t start, uint64_t end)
{
	struct vg_code_range part = *range;

	part.start = part.start > start ? part.start : start;
	part.end = part.end < end ? part.end : end;
	return part;
}

/* Collects a piece for pieces_insert(), unless the piece is empty.  The pieces are in `previous`, which is unused
 * between readings. */
static int piece_add(struct vg_ranges *ranges, struct vg_code_range piece)
{
	return piece.start < piece.end ? vg_array_push(&ranges->previous, &piece) : 0;
}

/* Replaces now.items[first] to now.items[last - 1] by the collected pieces.  After an error (rc), or if memory is
 * short, it removes these items and inserts nothing.  Walks then end at their addresses, and the maps are read
 * again. */
static void pieces_insert(struct vg_ranges *ranges, size_t first, size_t last, int rc)
{
	size_t count = rc == 0 ? ranges->previous.count : 0;

	if (count > last - first && vg_array_reserve(&ranges->now, count - (last - first)) != 0)
		count = 0;
	if (last < ranges->now.count)
		memmove(&ranges->now.items[first + count], &ranges->now.items[last],
			(ranges->now.count - last) * sizeof *ranges->now.items);
	if (count > 0)
		memcpy(&ranges->now.items[first], ranges->previous.items, count * sizeof *ranges->now.items);
	ranges->now.count += count - (last - first);
	ranges->previous.count = 0;
}

/* A past range was assumed to last until the reading that no longer found it.  The kernel's record of another mapping
 * at its addresses shows that it ended earlier. */
static void past_shorten(struct vg_ranges *ranges, uint64_t start, uint64_t end, uint32_t module, uint64_t time_ns)
{
	for (size_t i = 0; i < past_count(ranges); i++) {
		struct vg_code_range *past = &ranges->past[i];

		if (overlap(past, start, end) && past->since_ns <= time_ns && time_ns < past->until_ns &&
		    (module == VG_NONE || past->module != module))
			past->until_ns = time_ns;
	}
}

/* State of vg_ranges_map() while it goes through the ranges that the mapping overlaps, in order of address. */
struct map_record {
	struct vg_code_range range;
	uint64_t from;               /* the mapping's addresses below this one have been handled */
	uint64_t younger_ns;         /* time of the earliest reading that was after the record and found a new range
					at the mapping's addresses; UINT64_MAX: there is none */
	bool changed;
	int rc;
};

/* Adds a range of the mapping for its addresses from record->from to `end`, where no range is.  If a reading after the
 * record did not see the mapping there, the mapping had been unmapped by then: this is a past range. */
static void map_fill(struct vg_ranges *ranges, struct map_record *record, uint64_t end)
{
	struct vg_code_range piece = part_of(&record->range, record->from, end);

	if (piece.module == VG_NONE || piece.start >= piece.end)
		return;
	if (record->younger_ns != UINT64_MAX) {
		past_add(ranges, &piece, record->younger_ns);
		return;
	}
	piece.reused = vg_ranges_reused(ranges, piece.start, piece.end);
	record->rc |= piece_add(ranges, piece);
	record->changed = true;
}

/* Keeps the known range, because it is of the mapping's module or a reading first saw it after the record. */
static void map_keep(struct vg_ranges *ranges, struct map_record *record, struct vg_code_range known)
{
	const struct vg_code_range *mapped = &record->range;
	struct vg_code_range part = part_of(mapped, known.start, known.end);

	map_fill(ranges, record, known.start);
	if (known.module != mapped->module) {
		past_add(ranges, &part, known.since_ns);
		known.reused |= known.module != VG_NONE && part.module != VG_NONE;
	} else if (known.module != VG_NONE && known.since_ns > mapped->since_ns) {
		known.since_ns = mapped->since_ns;
	}
	record->rc |= piece_add(ranges, known);
	record->from = known.end;
}

bool vg_ranges_map(struct vg_ranges *ranges, uint64_t start, uint64_t end, uint32_t module, uint64_t time_ns)
{
	struct map_record record = {
		.range = { .start = start, .end = end, .since_ns = time_ns, .module = module },
		.from = start, .younger_ns = UINT64_MAX,
	};
	struct vg_code_range rest = { 0 };
	size_t first = index_of(ranges, start), last = first;

	past_shorten(ranges, start, end, module, time_ns);
	if (ranges->latest_ns < time_ns)
		ranges->latest_ns = time_ns;
	for (; last < ranges->now.count && ranges->now.items[last].start < end; last++) {
		uint64_t since_ns = ranges->now.items[last].since_ns;

		if (since_ns > time_ns && since_ns < record.younger_ns)
			record.younger_ns = since_ns;
	}
	for (size_t at = first; at < last; at++) {
		const struct vg_code_range *known = &ranges->now.items[at];
		struct vg_code_range covered = part_of(known, start, end);

		if (known->module == module || known->since_ns > time_ns) {
			map_keep(ranges, &record, *known);
			continue;
		}
		/* Only the first range can begin before the mapping, and only the last can end behind it. */
		record.rc |= piece_add(ranges, part_of(known, known->start, start));
		if (known->end > end)
			rest = part_of(known, end, known->end);
		past_add(ranges, &covered, time_ns);
		record.changed = true;
	}
	map_fill(ranges, &record, end);
	record.rc |= piece_add(ranges, rest);
	if (ranges->now.count + ranges->previous.count > VG_RANGES_MAX)
		record.rc = -ENOMEM;
	pieces_insert(ranges, first, last, record.rc);
	return record.changed || record.rc != 0;
}

/* ---- finding ---- */

const struct vg_code_range *vg_ranges_now(const struct vg_ranges *ranges, uint64_t address)
{
	size_t at = index_of(ranges, address);

	return at < ranges->now.count && ranges->now.items[at].start <= address ? &ranges->now.items[at] : NULL;
}

const struct vg_code_range *vg_ranges_past(const struct vg_ranges *ranges, uint64_t address, uint64_t time_ns)
{
	const struct vg_code_range *latest = NULL;

	for (size_t i = 0; i < past_count(ranges); i++) {
		const struct vg_code_range *past = &ranges->past[i];

		if (past->start <= address && address < past->end &&
		    past->since_ns <= time_ns && time_ns < past->until_ns &&
		    (latest == NULL || past->since_ns > latest->since_ns))
			latest = past;
	}
	return latest;
}

void vg_ranges_free(struct vg_ranges *ranges)
{
	vg_array_free(&ranges->now);
	vg_array_free(&ranges->previous);
}

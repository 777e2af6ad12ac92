/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/symbolization.h"

#include "symbols/table/table.h"

int vg_symbolization_prepare(struct vg_symbolization *symbolization, size_t count)
{
	symbolization->items = malloc((count + 1) * sizeof *symbolization->items);
	if (symbolization->items == NULL)
		return -ENOMEM;
	memset(symbolization->items, 0xff, count * sizeof *symbolization->items);
	symbolization->count = count;
	return 0;
}

size_t vg_symbolization_frames(const struct vg_symbolization *symbolization, size_t i,
			       struct vg_symbolized_frame frames[VG_SYMBOLIZED_FRAMES_MAX])
{
	const struct vg_symbolized_address *address = &symbolization->items[i];
	size_t count = 1;

	if (address->function == VG_SYMBOLIZED_NONE)
		return 0;
	frames[0] = (struct vg_symbolized_frame){ .function = address->function,
						  .line = address->line };
	for (uint32_t at = address->outer; at != VG_SYMBOLIZED_NONE;
	     at = symbolization->frames.items[at].outer) {
		const struct vg_symbolized_frame *frame = &symbolization->frames.items[at];

		if (count + 1 == VG_SYMBOLIZED_FRAMES_MAX && frame->outer != VG_SYMBOLIZED_NONE)
			frame = &symbolization->frames.items[frame->outermost];
		frames[count++] = *frame;
		if (count == VG_SYMBOLIZED_FRAMES_MAX)
			break;
	}
	return count;
}

static int text_intern(struct vg_symbolization *symbolization, const char *text, uint32_t *id)
{
	int rc = 0;

	*id = VG_SYMBOLIZED_NONE;
	if (text != NULL)
		rc = vg_intern_string(&symbolization->strings, text, id);
	return rc < 0 ? rc : 0;
}

/* A table stores each string once.  So equal strings have equal pointers, and the key is a pair of
 * pointers. */
static int function_add(struct vg_symbolization *symbolization, struct vg_intern *pairs,
			const struct vg_symbol_frame *from, uint32_t *index)
{
	const char *pair[2] = { from->function, from->file };
	struct vg_symbolized_function function;
	int rc = vg_intern(pairs, pair, sizeof pair, index);

	if (rc != 1)
		return rc;
	rc = text_intern(symbolization, from->function, &function.name);
	if (rc == 0)
		rc = text_intern(symbolization, from->file, &function.file);
	return rc == 0 ? vg_array_push(&symbolization->functions, &function) : rc;
}

/* State of vg_symbolization_from_table(). */
struct builder {
	struct vg_symbolization *symbolization;
	struct vg_intern pairs;         /* pointers to function and file name -> index in functions */
	struct vg_intern known_frames;  /* struct vg_symbolized_frame -> index in frames */
};

/* Adds the frames of one address, from the outermost frame inwards, so that existing callers are shared. */
static int frames_add(struct builder *builder, const struct vg_symbol_frame *from, size_t count,
		      struct vg_symbolized_address *address)
{
	struct vg_symbolization *symbolization = builder->symbolization;
	struct vg_symbolized_frame link = { .outer = VG_SYMBOLIZED_NONE, .outermost = VG_SYMBOLIZED_NONE };
	int rc = 0;

	for (size_t i = count; rc == 0 && i-- > 0;) {
		uint32_t index;

		link.line = from[i].line;
		rc = function_add(symbolization, &builder->pairs, &from[i], &link.function);
		if (rc != 0 || i == 0)
			break;
		rc = vg_intern(&builder->known_frames, &link, sizeof link, &index);
		if (rc == 1)
			rc = vg_array_push(&symbolization->frames, &link);
		if (link.outermost == VG_SYMBOLIZED_NONE)
			link.outermost = index;
		link.outer = index;
	}
	*address = (struct vg_symbolized_address){ link.function, link.line, link.outer };
	return rc;
}

int vg_symbolization_from_table(struct vg_symbolization *symbolization, const struct vg_symbols *symbols,
				const uint64_t *addresses, size_t count)
{
	struct vg_symbol_frame frames[VG_SYMBOLIZED_FRAMES_MAX];
	struct builder builder = { .symbolization = symbolization };
	int rc = vg_symbolization_prepare(symbolization, count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		size_t found = vg_symbols_lookup(symbols, addresses[i], frames,
						 VG_SYMBOLIZED_FRAMES_MAX);

		if (found > 0)
			rc = frames_add(&builder, frames, found, &symbolization->items[i]);
	}
	if (rc == 0)
		rc = vg_missing_file_copy(&symbolization->missing_file, &symbols->missing_file);
	symbolization->bad_records = symbols->bad_records;
	symbolization->first_bad_line = symbols->first_bad_line;
	vg_intern_free(&builder.pairs);
	vg_intern_free(&builder.known_frames);
	if (rc != 0)
		vg_symbolization_free(symbolization);
	return rc;
}

void vg_symbolization_free(struct vg_symbolization *symbolization)
{
	if (symbolization == NULL)
		return;
	vg_intern_free(&symbolization->strings);
	vg_array_free(&symbolization->functions);
	vg_array_free(&symbolization->frames);
	free(symbolization->items);
	vg_missing_file_free(&symbolization->missing_file);
	memset(symbolization, 0, sizeof *symbolization);
}

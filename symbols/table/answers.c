/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/answers.h"

#include "symbols/table/table.h"

int vg_answers_prepare(struct vg_answers *answers, size_t count)
{
	answers->items = malloc((count + 1) * sizeof *answers->items);
	if (answers->items == NULL)
		return -ENOMEM;
	memset(answers->items, 0xff, count * sizeof *answers->items);
	answers->count = count;
	return 0;
}

size_t vg_answers_at(const struct vg_answers *answers, size_t i,
		     struct vg_answer_frame frames[VG_ANSWER_FRAMES_MAX])
{
	const struct vg_answer *answer = &answers->items[i];
	size_t count = 1;

	if (answer->function == VG_ANSWER_NONE)
		return 0;
	frames[0] = (struct vg_answer_frame){ .function = answer->function, .line = answer->line };
	for (uint32_t at = answer->outer; at != VG_ANSWER_NONE;
	     at = answers->frames.items[at].outer) {
		const struct vg_answer_frame *frame = &answers->frames.items[at];

		if (count + 1 == VG_ANSWER_FRAMES_MAX && frame->outer != VG_ANSWER_NONE)
			frame = &answers->frames.items[frame->outermost];
		frames[count++] = *frame;
		if (count == VG_ANSWER_FRAMES_MAX)
			break;
	}
	return count;
}

static int text_keep(struct vg_answers *answers, const char *text, uint32_t *id)
{
	int rc = 0;

	*id = VG_ANSWER_NONE;
	if (text != NULL)
		rc = vg_intern_string(&answers->strings, text, id);
	return rc < 0 ? rc : 0;
}

/* Texts of one table are equal if their addresses are: only new pairs cost a look at them. */
static int function_keep(struct vg_answers *answers, struct vg_intern *pairs,
			 const struct vg_symbol_frame *from, uint32_t *index)
{
	const char *pair[2] = { from->function, from->file };
	struct vg_answer_function function;
	int rc = vg_intern(pairs, pair, sizeof pair, index);

	if (rc != 1)
		return rc;
	rc = text_keep(answers, from->function, &function.name);
	if (rc == 0)
		rc = text_keep(answers, from->file, &function.file);
	return rc == 0 ? vg_array_push(&answers->functions, &function) : rc;
}

/* What the building from a table looks up. */
struct building {
	struct vg_answers *answers;
	struct vg_intern pairs;         /* texts of function and file -> index in functions */
	struct vg_intern links;         /* struct vg_answer_frame -> index in frames */
};

/* From the outermost inwards; those that are there already are shared. */
static int frames_keep(struct building *building, const struct vg_symbol_frame *from, size_t count,
		       struct vg_answer *answer)
{
	struct vg_answers *answers = building->answers;
	struct vg_answer_frame link = { .outer = VG_ANSWER_NONE, .outermost = VG_ANSWER_NONE };
	int rc = 0;

	for (size_t i = count; rc == 0 && i-- > 0;) {
		uint32_t index;

		link.line = from[i].line;
		rc = function_keep(answers, &building->pairs, &from[i], &link.function);
		if (rc != 0 || i == 0)
			break;
		rc = vg_intern(&building->links, &link, sizeof link, &index);
		if (rc == 1)
			rc = vg_array_push(&answers->frames, &link);
		if (link.outermost == VG_ANSWER_NONE)
			link.outermost = index;
		link.outer = index;
	}
	*answer = (struct vg_answer){ link.function, link.line, link.outer };
	return rc;
}

int vg_answers_from_table(struct vg_answers *answers, const struct vg_symbols *symbols,
			  const uint64_t *addresses, size_t count)
{
	struct vg_symbol_frame frames[VG_ANSWER_FRAMES_MAX];
	struct building building = { .answers = answers };
	int rc = vg_answers_prepare(answers, count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		size_t found = vg_symbols_lookup(symbols, addresses[i], frames,
						 VG_ANSWER_FRAMES_MAX);

		if (found > 0)
			rc = frames_keep(&building, frames, found, &answers->items[i]);
	}
	if (rc == 0)
		rc = vg_absent_copy(&answers->absent, &symbols->absent);
	answers->bad_records = symbols->bad_records;
	answers->first_bad_line = symbols->first_bad_line;
	vg_intern_free(&building.pairs);
	vg_intern_free(&building.links);
	if (rc != 0)
		vg_answers_free(answers);
	return rc;
}

void vg_answers_free(struct vg_answers *answers)
{
	if (answers == NULL)
		return;
	vg_intern_free(&answers->strings);
	vg_array_free(&answers->functions);
	vg_array_free(&answers->frames);
	free(answers->items);
	vg_absent_free(&answers->absent);
	memset(answers, 0, sizeof *answers);
}

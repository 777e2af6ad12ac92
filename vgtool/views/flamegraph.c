/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/flamegraph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "vgtool/analysis/call_tree.h"
#include "vgtool/analysis/thread_names.h"
#include "vgtool/output/text.h"

/* Pixels.  A letter of the font "monospace" has at most 0.61 times the height. */
enum { WIDTH = 1200, ROW = 17, FRAME = 16, HEAD = 28, LEGEND = 18, FONT = 12 };
#define LETTER_WIDTH (FONT * 0.61)
#define GAP 0.5

enum { TINTS = 8 };

struct picture {
	const struct vg_profile *profile;
	const struct vg_flamegraph *options;
	struct vg_frames frames;
	struct vg_intern modules;    /* names of the modules of functions */
	uint32_t *colors;            /* by module: its tint, red in bits 16 to 23; 0: it has none */
	uint32_t legend[TINTS];         /* the modules with tints, the heaviest first */
	int tints;
	struct vg_call_tree tree, base;
	double *base_share;          /* by row of `tree`: its share of the base's time; NULL: no base */
	uint32_t depth;              /* of the deepest frame; the row of all samples has depth 0 */
	FILE *file;
};

/* ---- text ---- */

struct character {
	size_t bytes, columns;
	const char *escape;          /* what XML needs in its place; NULL: the character itself */
};

/* The character at the start of the text.  XML 1.0 has no control characters, and neither U+FFFE nor U+FFFF. */
static struct character character_at(const char *text, size_t length)
{
	static const char *const names[0x80] = { ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;" };
	static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
	size_t control = vg_utf8_control(text, length);

	if (control > 0)
		return (struct character){ control, 1, replacement };
	if ((unsigned char)*text < 0x80)
		return (struct character){ 1, 1, names[(unsigned char)*text] };
	for (size_t bytes = 2; bytes <= 4 && bytes <= length; bytes++) {
		uint32_t point;

		if (vg_utf8_valid(text, bytes) != bytes)
			continue;
		point = vg_utf8_code_point(text, bytes);
		/* Most characters above U+1100 are twice as wide as letters. */
		return (struct character){ bytes, point < 0x1100 ? 1 : 2, (point & 0xfffe) == 0xfffe ? replacement : NULL };
	}
	return (struct character){ 1, 1, replacement };
}

/* Writes the text.  If it needs more than `columns` columns, ".." replaces its end. */
static void text_write(FILE *file, const char *text, size_t columns)
{
	size_t length = strlen(text), fits = 0, used = 0;

	for (size_t at = 0; at < length && used <= columns;) {
		struct character character = character_at(text + at, length - at);

		at += character.bytes;
		used += character.columns;
		if (used + 2 <= columns)
			fits = at;
	}
	if (used <= columns)
		fits = length;
	for (size_t at = 0; at < fits;) {
		struct character character = character_at(text + at, length - at);

		if (character.escape != NULL)
			fputs(character.escape, file);
		else
			fwrite(text + at, 1, character.bytes, file);
		at += character.bytes;
	}
	if (fits < length)
		fputs("..", file);
}

/* ---- colours ---- */

/* The tints of vgtool/page/colours.js, so that a picture looks like the page. */
static const uint32_t tints[TINTS] = { 0xf2b45f, 0x86c8ec, 0x6fcbaa, 0xede27f, 0x97b4f0, 0xf09a76, 0xdca4c6, 0xb9d38c };
enum { REST = 0xc3c3c3, UNCHANGED = 0xd8d8d8, GREW = 0xe8603c, SHRANK = 0x5b9bf0 };

/* Gives the tints to the modules whose functions have the most self time, as the page does. */
static int modules_color(struct picture *picture)
{
	const struct vg_profile *profile = picture->profile;
	/* By module.  There are not more modules than functions. */
	double *sums = calloc((size_t)picture->frames.count + 1, sizeof *sums);
	uint32_t module;
	int rc = 0;

	picture->colors = calloc((size_t)picture->frames.count + 1, sizeof *picture->colors);
	if (sums == NULL || picture->colors == NULL)
		rc = -ENOMEM;
	for (uint32_t i = 0; rc >= 0 && i < picture->frames.count; i++) {
		const char *name = vg_frames_function(&picture->frames, i).module;

		rc = name != NULL ? vg_intern_string(&picture->modules, name, &module) : 0;
	}
	for (size_t i = 0; rc >= 0 && i < profile->samples.count; i++) {
		const struct vg_sample *sample = &profile->samples.items[i];
		const char *name = sample->stack == VG_NONE ? NULL : vg_frames_function(&picture->frames,
			vg_frames_at(&picture->frames, sample->stack, 0).function).module;

		if (name != NULL && vg_intern_find(&picture->modules, name, strlen(name) + 1, &module))
			sums[module] += (double)vg_weight_of(sample, picture->options->weight);
	}
	while (rc >= 0 && picture->tints < TINTS && (uint32_t)picture->tints < picture->modules.count) {
		uint32_t heaviest = 0;

		for (uint32_t m = 1; m < picture->modules.count; m++)
			heaviest = sums[m] > sums[heaviest] ? m : heaviest;
		picture->colors[heaviest] = tints[picture->tints];
		picture->legend[picture->tints++] = heaviest;
		sums[heaviest] = -1;
	}
	free(sums);
	return rc < 0 ? rc : 0;
}

/* Mixes two colours: share 0 is the first one, 1 the second one. */
static uint32_t mixed(uint32_t a, uint32_t b, double share)
{
	uint32_t result = 0;

	for (int shift = 0; shift < 24; shift += 8)
		result |= (uint32_t)((a >> shift & 255) * (1 - share) + (b >> shift & 255) * share) << shift;
	return result;
}

/* change: of the frame's share, in a comparison.  A tenth of the time has the full colour; the root makes small changes
 * visible.  Without a comparison, functions of one module differ a little in colour, so that adjacent frames can be
 * distinguished. */
static uint32_t frame_color(const struct picture *picture, uint32_t function, double change)
{
	const char *name = vg_frames_function(&picture->frames, function).module;
	double strength = sqrt(fabs(change) / 0.1);
	uint32_t module;

	if (picture->base_share != NULL)
		return mixed(UNCHANGED, change > 0 ? GREW : SHRANK, strength < 1 ? strength : 1);
	if (name == NULL || !vg_intern_find(&picture->modules, name, strlen(name) + 1, &module) ||
	    picture->colors[module] == 0)
		return REST;
	return mixed(picture->colors[module], 0, function % 4 * 0.035);
}

/* ---- frames ---- */

static double share_of(const struct vg_call_tree *tree, uint64_t ns)
{
	return tree->weight_ns > 0 ? (double)ns / (double)tree->weight_ns : 0;
}

/* x and width in pixels.  row: the index of a row of the tree, or -1 for all samples. */
static void frame_write(const struct picture *picture, ptrdiff_t index, double x, double width)
{
	const struct vg_call_row *row = index >= 0 ? &picture->tree.rows.items[index] : NULL;
	uint32_t depth = row != NULL ? row->depth + 1 : 0;
	uint32_t line = picture->options->to_callers ? depth : picture->depth - depth;
	uint64_t ns = row != NULL ? row->total_ns : picture->tree.weight_ns;
	struct vg_function_view view = { .name = "all" };
	double share = share_of(&picture->tree, ns), change = 0;
	size_t columns = width > 4 ? (size_t)((width - 4) / LETTER_WIDTH) : 0;
	unsigned y = HEAD + line * ROW;
	struct vg_text time;

	if (row != NULL)
		view = vg_frames_function(&picture->frames, row->function);
	if (row != NULL && picture->base_share != NULL)
		change = share - picture->base_share[index];
	fputs("<g><title>", picture->file);
	text_write(picture->file, view.name, SIZE_MAX);
	if (view.module != NULL && !view.is_module) {
		fputs("  [", picture->file);
		text_write(picture->file, view.module, SIZE_MAX);
		fputs("]", picture->file);
	}
	fprintf(picture->file, "\n%s, %.2f %%", vg_text_ns(&time, ns), 100 * share);
	if (picture->base_share != NULL && row != NULL)
		fprintf(picture->file, " (base %.2f %%, change %+.2f %%)", 100 * picture->base_share[index], 100 * change);
	fprintf(picture->file, "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"", x, y,
		width > 1 ? width - GAP : width, FRAME);
	fprintf(picture->file, "#%06x\"/>", row != NULL ? frame_color(picture, row->function, change) : REST);
	if (columns >= 4) {
		fprintf(picture->file, "<text x=\"%.2f\" y=\"%u\">", x + 2, y + FONT);
		text_write(picture->file, view.name, columns);
		fputs("</text>", picture->file);
	}
	fputs("</g>\n", picture->file);
}

static void frames_write(const struct picture *picture)
{
	double next[VG_FLAMEGRAPH_DEPTH_MAX + 2] = { 0 }; /* by depth: where the next frame begins */
	double total = (double)picture->tree.weight_ns;

	frame_write(picture, -1, 0, WIDTH);
	for (size_t i = 0; i < picture->tree.rows.count && !ferror(picture->file); i++) {
		const struct vg_call_row *row = &picture->tree.rows.items[i];
		double width = WIDTH * ((double)row->total_ns / total);

		if (row->depth >= VG_FLAMEGRAPH_DEPTH_MAX)
			continue;
		frame_write(picture, (ptrdiff_t)i, next[row->depth], width);
		next[row->depth + 1] = next[row->depth];
		next[row->depth] += width;
	}
}

/* One row of modules, and of "others" if not all have colours. */
static void legend_write(const struct picture *picture, unsigned y)
{
	const int cells = picture->tints + ((uint32_t)picture->tints < picture->modules.count), width = WIDTH / (TINTS + 1);

	for (int i = 0; i < cells; i++) {
		const char *name = i < picture->tints ? vg_intern_text(&picture->modules, picture->legend[i]) : "others";

		fprintf(picture->file, "<rect x=\"%d\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"#%06x\"/>"
			"<text x=\"%d\" y=\"%u\"><title>", i * width, y, FONT, FONT, i < picture->tints ? tints[i] : REST,
			i * width + ROW, y + FONT - 2);
		text_write(picture->file, name, SIZE_MAX);
		fputs("</title>", picture->file);
		text_write(picture->file, name, (size_t)((width - ROW) / LETTER_WIDTH));
		fputs("</text>\n", picture->file);
	}
}

static void svg_write(const struct picture *picture)
{
	const struct vg_flamegraph *options = picture->options;
	bool legend = picture->base_share == NULL && picture->tints > 0;
	unsigned height = HEAD + (picture->depth + 1) * ROW + 4 + (legend ? LEGEND : 0);
	const char *title = options->title != NULL ? options->title :
			    vg_profile_text(picture->profile, picture->profile->header.program);
	struct vg_text time;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", picture->file);
	fprintf(picture->file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" height=\"%u\" ",
		WIDTH, height, WIDTH, height);
	fprintf(picture->file, "font-family=\"monospace\" font-size=\"%d\">\n<rect width=\"%d\" height=\"%u\" "
		"fill=\"#ffffff\"/>\n<text x=\"2\" y=\"18\">", FONT, WIDTH, height);
	text_write(picture->file, title != NULL ? title : "", 80);
	fprintf(picture->file, ": %s of %s time%s%s</text>\n", vg_text_ns(&time, picture->tree.weight_ns),
		options->weight == VG_WEIGHT_CPU ? "CPU" : "wall", options->to_callers ? ", inverted" : "",
		picture->base_share != NULL ? "; red: a larger share than in the base, blue: a smaller one" : "");
	frames_write(picture);
	if (legend)
		legend_write(picture, height - LEGEND);
	fputs("</svg>\n", picture->file);
}

/* ---- the trees ---- */

/* Builds the tree of the samples of the base, or of the others.  Returns 0, -ENOMEM, or -ESRCH without a thread. */
static int tree_build(struct picture *picture, struct vg_call_tree *tree, bool is_base, uint32_t least_ppm)
{
	const struct vg_profile *profile = picture->profile;
	const struct vg_flamegraph *options = picture->options;
	uint32_t *samples = malloc((profile->samples.count + 1) * sizeof *samples);
	bool *selected = calloc(profile->threads.count + 1, sizeof *selected);
	bool any = options->thread == NULL;
	size_t count = 0;
	int rc = samples == NULL || selected == NULL ? -ENOMEM : 0;

	for (size_t t = 0; rc == 0 && t < profile->threads.count; t++) {
		const struct vg_thread *thread = &profile->threads.items[t];

		selected[t] = (thread->process < options->base_processes) == is_base &&
			      (options->thread == NULL ||
			       vg_thread_matches(options->thread, thread->tid, vg_profile_text(profile, thread->name)));
		any = any || selected[t];
	}
	for (uint32_t i = 0; rc == 0 && i < profile->samples.count; i++) {
		if (selected[profile->samples.items[i].thread])
			samples[count++] = i;
	}
	if (rc == 0)
		rc = vg_call_tree_build(tree, &picture->frames, samples, count, &(struct vg_call_tree_options){
			.to_callers = options->to_callers, .weight = options->weight, .least_ppm = least_ppm });
	free(samples);
	free(selected);
	return rc != 0 || any || is_base ? rc : -ESRCH;
}

struct path {
	uint32_t parent;             /* row + 1; 0: the row of all samples */
	uint32_t function;
};

/* Finds the rows of the tree in the base, by their functions. */
static int base_match(struct picture *picture)
{
	uint32_t at[VG_FLAMEGRAPH_DEPTH_MAX + 2] = { 0 }; /* by depth + 1: number of the row in the tree + 1 */
	struct vg_intern paths = { 0 };
	int rc = 0;

	picture->base_share = calloc(picture->tree.rows.count + 1, sizeof *picture->base_share);
	if (picture->base_share == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; rc >= 0 && i < picture->tree.rows.count; i++) {
		const struct vg_call_row *row = &picture->tree.rows.items[i];
		/* Deeper rows need numbers, too: a path's number is that of its row. */
		struct path path = { row->depth < VG_FLAMEGRAPH_DEPTH_MAX ? at[row->depth] : VG_NONE - i, row->function };
		uint32_t number;

		rc = vg_intern(&paths, &path, sizeof path, &number);
		if (rc >= 0 && row->depth < VG_FLAMEGRAPH_DEPTH_MAX)
			at[row->depth + 1] = number + 1;
	}
	for (uint32_t i = 0; rc >= 0 && i < picture->base.rows.count; i++) {
		const struct vg_call_row *row = &picture->base.rows.items[i];
		uint32_t depth = row->depth < VG_FLAMEGRAPH_DEPTH_MAX ? row->depth : VG_FLAMEGRAPH_DEPTH_MAX, number;
		struct path path = { at[depth], row->function };
		bool found = row->depth == depth && path.parent != VG_NONE &&
			     vg_intern_find(&paths, &path, sizeof path, &number);

		at[depth + 1] = found ? number + 1 : VG_NONE;
		if (found)
			picture->base_share[number] = share_of(&picture->base, row->total_ns);
	}
	vg_intern_free(&paths);
	return rc < 0 ? rc : 0;
}

static int picture_build(struct picture *picture)
{
	const struct vg_flamegraph *options = picture->options;
	int rc = vg_frames_build_rows(&picture->frames, picture->profile, VG_FRAMES_FUNCTION, options->by_module);

	if (rc == 0)
		rc = modules_color(picture);
	if (rc == 0)
		rc = tree_build(picture, &picture->tree, false, options->least_ppm);
	/* A row that is shown may have a much smaller share in the base. */
	if (rc == 0 && options->base_processes > 0)
		rc = tree_build(picture, &picture->base, true, options->least_ppm / 10);
	if (rc == 0 && options->base_processes > 0)
		rc = picture->base.weight_ns > 0 ? base_match(picture) : -ENODATA;
	for (size_t i = 0; i < picture->tree.rows.count; i++) {
		uint32_t depth = picture->tree.rows.items[i].depth + 1;

		if (depth > picture->depth && depth <= VG_FLAMEGRAPH_DEPTH_MAX)
			picture->depth = depth;
	}
	return rc;
}

int vg_flamegraph_write(const struct vg_profile *profile, const struct vg_flamegraph *flamegraph, FILE *file)
{
	struct picture picture = { .profile = profile, .options = flamegraph, .file = file };
	int rc = picture_build(&picture);

	if (rc == 0)
		svg_write(&picture);
	vg_call_tree_free(&picture.tree);
	vg_call_tree_free(&picture.base);
	free(picture.base_share);
	vg_intern_free(&picture.modules);
	free(picture.colors);
	vg_frames_free(&picture.frames);
	return rc;
}

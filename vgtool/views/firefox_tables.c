/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/firefox_tables.h"

#include "vgtool/analysis/frame_class.h"

/* The most functions of one stack, if stacks must be cut. */
enum { DEPTH_MAX = 2000 };

size_t vg_firefox_tables_frames(const struct vg_firefox_tables *tables, uint32_t node)
{
	return node < tables->firefox->profile->stacks.count ? vg_frames_count(&tables->firefox->frames, node) : 1;
}

/* The id of a frame; see vg_firefox_tables_frame(). */
static uint32_t frame_id(const struct vg_firefox_tables *tables, uint32_t node, size_t i, uint32_t *function)
{
	const struct vg_frames *frames = &tables->firefox->frames;
	uint32_t lines = (uint32_t)tables->firefox->profile->symbol_lines.count;

	if (node >= tables->firefox->profile->stacks.count) {
		*function = frames->count + node - (uint32_t)tables->firefox->profile->stacks.count;
		return lines + *function;
	}
	*function = vg_frames_at(frames, node, i).function;
	return frames->nodes[node].line_count > 0 ? frames->nodes[node].first + (uint32_t)i : lines + *function;
}

/* The id of a node that stands for a name. */
static uint32_t name_node(const struct vg_firefox_tables *tables, uint32_t name)
{
	return (uint32_t)tables->firefox->profile->stacks.count + name;
}

/* The node above a node of the profile that has no parent; VG_NONE: there is none. */
static uint32_t end_node(const struct vg_firefox_tables *tables, uint8_t end)
{
	if (end == VG_WALK_ROOT)
		return VG_NONE;
	return name_node(tables, end < VG_WALK_END_COUNT ? end : VG_FIREFOX_END_UNKNOWN);
}

uint32_t vg_firefox_tables_parent(const struct vg_firefox_tables *tables, uint32_t node)
{
	const struct vg_profile *profile = tables->firefox->profile;

	if (node >= profile->stacks.count)
		return VG_NONE;
	return profile->stacks.items[node].parent != VG_NONE ? profile->stacks.items[node].parent :
	       end_node(tables, profile->stacks.items[node].end);
}

/* The node of a sample, before stacks are cut. */
static uint32_t sample_node(const struct vg_firefox_tables *tables, const struct vg_sample *sample)
{
	if (sample->stack != VG_NONE)
		return sample->stack;
	return sample->end == VG_WALK_ROOT ? name_node(tables, VG_FIREFOX_IDLE) : end_node(tables, sample->end);
}

static uint32_t node_shown(const struct vg_firefox_tables *tables, uint32_t node)
{
	return tables->shown != NULL && node < tables->firefox->profile->stacks.count ? tables->shown[node] : node;
}

/* Finds the module of each function that is not inlined somewhere, and its lowest address. */
static void symbols_find(struct vg_firefox_tables *tables)
{
	const struct vg_profile *profile = tables->firefox->profile;
	const struct vg_frames *frames = &tables->firefox->frames;

	for (uint32_t function = 0; function < frames->count + VG_FIREFOX_NAMES; function++) {
		tables->module_of[function] = VG_NONE;
		tables->symbol_address[function] = UINT64_MAX;
	}
	for (uint32_t node = 0; node < profile->stacks.count; node++) {
		const struct vg_stack *stack = &profile->stacks.items[node];
		uint32_t function = vg_frames_at(frames, node, vg_frames_count(frames, node) - 1).function;

		if (stack->module == VG_NONE || stack->found_by == VG_FOUND_BY_SYSTEM_CALL)
			continue;
		if (tables->module_of[function] == VG_NONE)
			tables->module_of[function] = stack->module;
		if (tables->module_of[function] == stack->module && frames->nodes[node].line_count > 0 &&
		    stack->found_by != VG_FOUND_IN_KERNEL && stack->address <= UINT32_MAX &&
		    stack->address < tables->symbol_address[function])
			tables->symbol_address[function] = stack->address;
	}
}

/* Counts the rows of the stack tables of all threads, up to VG_FIREFOX_ROWS_MAX. */
static int rows_count(struct vg_firefox_tables *tables, uint64_t *rows)
{
	const struct vg_firefox *firefox = tables->firefox;
	uint32_t threads = firefox->tracks.count + (firefox->base_processes > 0);

	*rows = 0;
	for (uint32_t t = 0; t < threads; t++) {
		vg_firefox_ids_clear(&tables->nodes);
		for (uint64_t at = firefox->samples.first[t]; at < firefox->samples.first[t + 1]; at++) {
			uint32_t node = firefox->profile->samples.items[firefox->samples.order[at]].stack;
			int rc = 1;

			for (; node != VG_NONE && rc == 1; node = firefox->profile->stacks.items[node].parent) {
				rc = vg_firefox_ids_use(&tables->nodes, node);
				if (rc < 0)
					return rc;
				*rows += rc == 1 ? vg_firefox_tables_frames(tables, node) : 0;
				if (*rows > VG_FIREFOX_ROWS_MAX)
					return 0;
			}
		}
	}
	return 0;
}

/* For each node, finds the node that is shown in its place.  A caller has a lower number than its callees, so the
 * caller's entries are already set. */
static int stacks_cut(struct vg_firefox_tables *tables)
{
	const struct vg_profile *profile = tables->firefox->profile;
	uint32_t *depths = calloc(profile->stacks.count + 1, sizeof *depths);

	tables->shown = calloc(profile->stacks.count + 1, sizeof *tables->shown);
	tables->has_cut_row = calloc(profile->stacks.count + 1, 1);
	if (depths == NULL || tables->shown == NULL || tables->has_cut_row == NULL) {
		free(depths);
		return -ENOMEM;
	}
	for (uint32_t node = 0; node < profile->stacks.count; node++) {
		uint32_t caller = profile->stacks.items[node].parent;

		depths[node] = (uint32_t)vg_firefox_tables_frames(tables, node) + (caller != VG_NONE ? depths[caller] : 0);
		tables->shown[node] = node;
		if (caller == VG_NONE || depths[node] <= DEPTH_MAX)
			continue;
		depths[node] = DEPTH_MAX;
		tables->shown[node] = tables->shown[caller];
		tables->has_cut_row[tables->shown[caller]] = 1;
	}
	free(depths);
	return 0;
}

int vg_firefox_tables_open(struct vg_firefox_tables *tables, struct vg_firefox *firefox)
{
	const struct vg_profile *profile = firefox->profile;
	size_t functions = firefox->frames.count + VG_FIREFOX_NAMES, nodes = profile->stacks.count + VG_FIREFOX_NAMES;
	uint64_t rows = 0;
	int rc;

	*tables = (struct vg_firefox_tables){ .firefox = firefox };
	tables->row_of = calloc(nodes, sizeof *tables->row_of);
	tables->module_of = calloc(functions, sizeof *tables->module_of);
	tables->symbol_address = calloc(functions, sizeof *tables->symbol_address);
	rc = tables->row_of != NULL && tables->module_of != NULL && tables->symbol_address != NULL ? 0 : -ENOMEM;
	if (rc == 0)
		rc = vg_firefox_ids_open(&tables->nodes, nodes);
	if (rc == 0)
		rc = vg_firefox_ids_open(&tables->frames, profile->symbol_lines.count + functions);
	if (rc == 0)
		rc = vg_firefox_ids_open(&tables->functions, functions);
	if (rc == 0)
		rc = vg_firefox_ids_open(&tables->strings, (size_t)profile->strings.count + firefox->frames.names.count +
					 VG_FIREFOX_NAMES);
	if (rc == 0)
		rc = vg_firefox_ids_open(&tables->libraries, profile->modules.count);
	if (rc == 0)
		rc = vg_firefox_ids_open(&tables->symbols, functions);
	if (rc != 0)
		return rc;
	symbols_find(tables);
	rc = rows_count(tables, &rows);
	return rc == 0 && rows > VG_FIREFOX_ROWS_MAX ? stacks_cut(tables) : rc;
}

void vg_firefox_tables_close(struct vg_firefox_tables *tables)
{
	vg_firefox_ids_close(&tables->nodes);
	vg_firefox_ids_close(&tables->frames);
	vg_firefox_ids_close(&tables->functions);
	vg_firefox_ids_close(&tables->strings);
	vg_firefox_ids_close(&tables->libraries);
	vg_firefox_ids_close(&tables->symbols);
	vg_array_free(&tables->frame_nodes);
	vg_array_free(&tables->path);
	free(tables->row_of);
	free(tables->shown);
	free(tables->has_cut_row);
	free(tables->module_of);
	free(tables->symbol_address);
}

void vg_firefox_tables_clear(struct vg_firefox_tables *tables)
{
	vg_firefox_ids_clear(&tables->nodes);
	vg_firefox_ids_clear(&tables->frames);
	vg_firefox_ids_clear(&tables->functions);
	vg_firefox_ids_clear(&tables->strings);
	vg_firefox_ids_clear(&tables->libraries);
	vg_firefox_ids_clear(&tables->symbols);
	tables->frame_nodes.count = 0;
	tables->rows = 0;
}

uint32_t vg_firefox_tables_function(const struct vg_firefox_tables *tables, uint32_t function, uint32_t *file)
{
	const struct vg_frames *frames = &tables->firefox->frames;
	uint32_t strings = tables->firefox->profile->strings.count;
	struct vg_frame_key key;

	*file = VG_NONE;
	if (function >= frames->count)
		return strings + frames->names.count + function - frames->count;
	memcpy(&key, vg_intern_bytes(&frames->keys, function, NULL), sizeof key);
	if (key.is_synthetic)
		return strings + key.name;
	*file = key.file;
	return key.name;
}

static int function_use(struct vg_firefox_tables *tables, uint32_t function, uint32_t module)
{
	int rc = vg_firefox_ids_use(&tables->functions, function);
	uint32_t file, name;

	if (rc <= 0)
		return rc;
	/* An inlined function belongs to the module of the node where it is found first. */
	if (tables->module_of[function] == VG_NONE)
		tables->module_of[function] = module;
	name = vg_firefox_tables_function(tables, function, &file);
	rc = vg_firefox_ids_use(&tables->strings, name);
	if (rc >= 0 && file != VG_NONE)
		rc = vg_firefox_ids_use(&tables->strings, file);
	if (rc >= 0 && tables->module_of[function] != VG_NONE)
		rc = vg_firefox_ids_use(&tables->libraries, tables->module_of[function]);
	if (rc >= 0 && tables->module_of[function] != VG_NONE)
		rc = vg_firefox_ids_use(&tables->strings,
					tables->firefox->profile->modules.items[tables->module_of[function]].name);
	return rc;
}

uint32_t vg_firefox_tables_symbol(const struct vg_firefox_tables *tables, uint32_t node)
{
	const struct vg_frames *frames = &tables->firefox->frames;
	uint32_t function;

	if (node >= tables->firefox->profile->stacks.count)
		return VG_NONE;
	function = vg_frames_at(frames, node, vg_frames_count(frames, node) - 1).function;
	return tables->symbol_address[function] != UINT64_MAX &&
	       tables->module_of[function] == tables->firefox->profile->stacks.items[node].module ? function : VG_NONE;
}

static int frame_use(struct vg_firefox_tables *tables, uint32_t node, size_t i, uint32_t module)
{
	uint32_t function;
	int rc = vg_firefox_ids_use(&tables->frames, frame_id(tables, node, i, &function));

	if (rc == 1)
		rc = vg_array_push(&tables->frame_nodes, &node) == 0 ? function_use(tables, function, module) : -ENOMEM;
	return rc;
}

static int node_add(struct vg_firefox_tables *tables, uint32_t node)
{
	size_t count = vg_firefox_tables_frames(tables, node);
	bool is_real = node < tables->firefox->profile->stacks.count;
	uint32_t module = is_real ? tables->firefox->profile->stacks.items[node].module : VG_NONE;
	uint32_t symbol = vg_firefox_tables_symbol(tables, node), function;
	bool has_all = tables->frames.by_id[frame_id(tables, node, 0, &function)].round == tables->frames.round;
	int rc = 0;

	if (count >= VG_NONE - tables->rows)
		return -ENOMEM;
	tables->row_of[node] = tables->rows;
	tables->rows += (uint32_t)count;
	if (is_real && tables->has_cut_row != NULL && tables->has_cut_row[node]) {
		tables->rows++;
		rc = frame_use(tables, name_node(tables, VG_FIREFOX_CUT), 0, VG_NONE);
	}
	/* If the thread has the innermost frame, it has all frames of the address: they follow each other in the
	 * profile's symbol_lines.  So thousands of nodes at one address do not cost time for all its inlined
	 * functions. */
	for (size_t i = count; i-- > 0 && rc >= 0 && !has_all;)
		rc = frame_use(tables, node, i, module);
	if (rc >= 0 && symbol != VG_NONE)
		rc = vg_firefox_ids_use(&tables->symbols, symbol);
	return rc;
}

int vg_firefox_tables_add(struct vg_firefox_tables *tables, const struct vg_sample *sample)
{
	uint32_t node = node_shown(tables, sample_node(tables, sample));
	int rc = 0;

	while (node != VG_NONE && rc == 0 && tables->nodes.by_id[node].round != tables->nodes.round) {
		rc = vg_array_push(&tables->path, &node);
		node = vg_firefox_tables_parent(tables, node);
	}
	while (tables->path.count > 0 && rc >= 0) {
		node = tables->path.items[--tables->path.count];
		rc = vg_firefox_ids_use(&tables->nodes, node);
		if (rc >= 0)
			rc = node_add(tables, node);
	}
	tables->path.count = 0;
	return rc < 0 ? rc : 0;
}

uint32_t vg_firefox_tables_row(const struct vg_firefox_tables *tables, const struct vg_sample *sample)
{
	uint32_t node = sample_node(tables, sample), shown = node_shown(tables, node);

	return tables->row_of[shown] + (uint32_t)vg_firefox_tables_frames(tables, shown) - (shown == node);
}

int vg_firefox_tables_string(struct vg_firefox_tables *tables, uint32_t string, uint32_t *number)
{
	uint32_t id = string != VG_NONE ? string : tables->firefox->profile->strings.count +
		      tables->firefox->frames.names.count + VG_FIREFOX_NO_LABEL;
	int rc = vg_firefox_ids_use(&tables->strings, id);

	*number = vg_firefox_ids_number(&tables->strings, id);
	return rc < 0 ? rc : 0;
}

uint32_t vg_firefox_tables_frame(const struct vg_firefox_tables *tables, uint32_t node, size_t i, uint32_t *function)
{
	return vg_firefox_ids_number(&tables->frames, frame_id(tables, node, i, function));
}

const char *vg_firefox_tables_text(const struct vg_firefox_tables *tables, uint32_t string,
				   struct vg_incomplete_name *room)
{
	const struct vg_firefox *firefox = tables->firefox;
	uint32_t profile_strings = firefox->profile->strings.count, name;

	if (string < profile_strings)
		return vg_profile_text(firefox->profile, string);
	if (string - profile_strings < firefox->frames.names.count)
		return vg_intern_text(&firefox->frames.names, string - profile_strings);
	name = string - profile_strings - firefox->frames.names.count;
	if (name == VG_FIREFOX_IDLE)
		return "[idle]";
	if (name == VG_FIREFOX_CUT)
		return "[deeper frames cut]";
	if (name == VG_FIREFOX_NO_LABEL)
		return "(no label)";
	return vg_incomplete_name(name, room);
}

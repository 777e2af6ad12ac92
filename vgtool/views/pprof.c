/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "vgtool/views/pprof_labels.h"
#include "vgtool/views/pprof_tables.h"

enum { VALUES = 3 };                 /* of each sample: a count, wall time, CPU time */

struct pprof {
	const struct vg_profile *profile;
	struct vg_pprof_file file;
	struct vg_pprof_stacks stacks;
	struct vg_pprof_labels labels;
	struct vg_intern keys;       /* struct sample_key -> index in sums */
	VG_ARRAY(struct sums { uint64_t values[VALUES]; }) sums;
};

struct sample_key {
	uint32_t stack;              /* number, or VG_NONE */
	uint32_t track;
	uint32_t path;               /* of intervals; or VG_NONE */
	uint32_t end;                /* enum vg_walk_end */
};

static int sample_add(struct pprof *pprof, const struct vg_sample *sample)
{
	struct sample_key key = {
		.stack = sample->stack != VG_NONE ? pprof->stacks.of_node[sample->stack] : VG_NONE,
		.track = pprof->labels.tracks.track_of[sample->thread],
		.path = vg_pprof_interval_path(&pprof->labels, sample),
		.end = sample->end,
	};
	struct sums none = { { 0 } }, *sums;
	uint32_t index;
	int rc = vg_intern(&pprof->keys, &key, sizeof key, &index);

	if (rc > 0)
		rc = vg_array_push(&pprof->sums, &none);
	if (rc < 0)
		return rc;
	sums = &pprof->sums.items[index];
	sums->values[0] = vg_sum(sums->values[0], sample->count);
	sums->values[1] = vg_sum(sums->values[1], sample->wall_ns);
	sums->values[2] = vg_sum(sums->values[2], sample->cpu_ns);
	return 0;
}

static struct sample_key key_at(const struct pprof *pprof, uint32_t index)
{
	struct sample_key key;

	memcpy(&key, vg_intern_bytes(&pprof->keys, index, NULL), sizeof key);
	return key;
}

/* The format's numbers are signed. */
static int64_t bounded(uint64_t value)
{
	return value <= INT64_MAX ? (int64_t)value : INT64_MAX;
}

static void sample_write(struct pprof *pprof, uint32_t index)
{
	Perftools__Profiles__Profile piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT, *samples = &sample;
	Perftools__Profiles__Label labels[VG_PPROF_LABELS_MAX], *label_list[VG_PPROF_LABELS_MAX];
	uint64_t locations[VG_PPROF_ROOM];
	int64_t values[VALUES];
	struct sample_key key = key_at(pprof, index);
	bool is_base = pprof->labels.tracks.groups[pprof->labels.tracks.items[key.track].group].is_base;

	for (int i = 0; i < VALUES; i++) {
		values[i] = bounded(pprof->sums.items[index].values[i]);
		if (is_base)
			values[i] = -values[i];
	}
	sample.location_id = locations;
	sample.n_location_id = vg_pprof_stack_locations(&pprof->stacks, &pprof->file, key.stack, (uint8_t)key.end,
							locations);
	sample.value = values;
	sample.n_value = VALUES;
	sample.n_label = vg_pprof_labels_of(&pprof->labels, key.track, key.path, labels);
	for (size_t i = 0; i < sample.n_label; i++)
		label_list[i] = &labels[i];
	sample.label = label_list;
	piece.sample = &samples;
	piece.n_sample = 1;
	vg_pprof_put(&pprof->file, &piece);
}

/* Writes the samples in the order of their stacks: neighbours then have mostly the same locations, which are in the
 * CPU's cache, and compress better. */
static int samples_write(struct pprof *pprof)
{
	uint32_t stacks = pprof->stacks.stacks.count, count = pprof->keys.count;
	uint32_t *end = calloc((size_t)stacks + 2, sizeof *end), *order = calloc((size_t)count + 1, sizeof *order);
	int rc = end != NULL && order != NULL ? 0 : -ENOMEM;

	/* The bucket of stack s is s + 1.  Bucket 0 is for samples without frames (VG_NONE). */
	for (uint32_t i = 0; rc == 0 && i < count; i++)
		end[key_at(pprof, i).stack + 1]++;
	for (uint32_t s = 0; rc == 0 && s < stacks; s++)
		end[s + 1] += end[s];
	for (uint32_t i = count; rc == 0 && i-- > 0;)
		order[--end[key_at(pprof, i).stack + 1]] = i;
	for (uint32_t i = 0; rc == 0 && vg_pprof_works(&pprof->file) && i < count; i++)
		sample_write(pprof, order[i]);
	free(end);
	free(order);
	return rc;
}

static Perftools__Profiles__ValueType value_type(struct vg_pprof_file *file, const char *type, const char *unit)
{
	Perftools__Profiles__ValueType value = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;

	value.type = vg_pprof_text(file, type);
	value.unit = vg_pprof_text(file, unit);
	return value;
}

/* The sum of the recordings' durations, as pprof makes it when it merges profiles. */
static int64_t duration_ns(const struct vg_profile *profile)
{
	uint64_t sum = 0;

	for (size_t p = 0; p < profile->processes.count; p++)
		sum = vg_sum(sum, profile->processes.items[p].duration_ns);
	return bounded(sum);
}

/* When the earliest recording began, in nanoseconds since 1970; 0: unknown. */
static int64_t begin_ns(const struct vg_profile *profile)
{
	uint64_t begin = UINT64_MAX;

	for (size_t p = 0; p < profile->processes.count; p++) {
		if (profile->processes.items[p].start_ns > 0 && profile->processes.items[p].start_ns < begin)
			begin = profile->processes.items[p].start_ns;
	}
	return begin <= INT64_MAX ? (int64_t)begin : 0;
}

static void header_write(struct pprof *pprof, const char *exporter)
{
	Perftools__Profiles__Profile piece = PERFTOOLS__PROFILES__PROFILE__INIT;
	const struct vg_profile *profile = pprof->profile;
	struct vg_pprof_file *file = &pprof->file;
	const char *mode = vg_profile_text(profile, profile->header.mode_name);
	Perftools__Profiles__ValueType period = value_type(file, mode, "nanoseconds"), types[VALUES] = {
		value_type(file, "samples", "count"), value_type(file, "wall", "nanoseconds"),
		value_type(file, "cpu", "nanoseconds") }, *type_list[VALUES] = { types, types + 1, types + 2 };
	int64_t comment = vg_pprof_text(file, exporter);

	piece.sample_type = type_list;
	piece.n_sample_type = VALUES;
	piece.default_sample_type = vg_pprof_text(file, mode);
	if (profile->header.period_ns > 0) {
		piece.period = bounded(profile->header.period_ns);
		piece.period_type = &period;
	}
	piece.time_nanos = begin_ns(profile);
	piece.duration_nanos = duration_ns(profile);
	piece.comment = &comment;
	piece.n_comment = 1;
	vg_pprof_put(file, &piece);
}

static int message_write(struct pprof *pprof, uint32_t base_processes, const char *exporter)
{
	const struct vg_profile *profile = pprof->profile;
	int rc = vg_pprof_stacks_build(&pprof->stacks, profile);

	if (rc == 0)
		rc = vg_pprof_labels_build(&pprof->labels, profile, base_processes, &pprof->file);
	for (size_t i = 0; rc == 0 && i < profile->samples.count; i++)
		rc = sample_add(pprof, &profile->samples.items[i]);
	if (rc == 0)
		header_write(pprof, exporter);
	if (rc == 0)
		rc = samples_write(pprof);
	if (rc == 0)
		vg_pprof_tables_write(&pprof->stacks, &pprof->file);
	vg_intern_free(&pprof->keys);
	vg_array_free(&pprof->sums);
	vg_pprof_labels_free(&pprof->labels);
	vg_pprof_stacks_free(&pprof->stacks);
	return rc;
}

int vg_pprof_write(const struct vg_profile *profile, uint32_t base_processes, const char *exporter, FILE *file)
{
	struct pprof pprof = { .profile = profile, .file.to = file };
	int rc = message_write(&pprof, base_processes, exporter), finish_rc = vg_pprof_finish(&pprof.file);

	return rc != 0 ? rc : finish_rc;
}

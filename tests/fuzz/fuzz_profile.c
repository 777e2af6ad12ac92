/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reader of profiles, and the views. */
#include "profile/merge.h"
#include "profile/reader.h"
#include "profile/stream.h"
#include "tests/fuzz/input.h"
#include "vgtool/analysis/instruction_frames.h"
#include "vgtool/analysis/measures.h"
#include "vgtool/analysis/summary.h"
#include "vgtool/views/chrome.h"
#include "vgtool/views/cut.h"
#include "vgtool/views/firefox.h"
#include "vgtool/views/flamegraph.h"
#include "vgtool/views/folded.h"
#include "vgtool/views/pprof.h"
#include "vgtool/views/speedscope.h"
#include "vgtool/views/view_page.h"

static void views_write(const struct vg_profile *profile)
{
	struct vg_folded_options folding = { .by_thread = true };
	struct vg_measures measures = { .for_diff = true };
	struct vg_summary summary = { 0 };
	struct vg_intervals intervals;

	vg_speedscope_write(profile, VG_WEIGHT_WALL, VG_FRAMES_FUNCTION, "fuzz", input_sink());
	vg_chrome_write(profile, &(struct vg_chrome_options){ .collapse_threads = true }, "fuzz", input_sink());
	vg_firefox_write(profile, profile->processes.count > 1, "fuzz", input_sink());
	vg_folded_write(profile, &folding, input_sink());
	vg_pprof_write(profile, 1, "fuzz", input_sink());
	vg_flamegraph_write(profile, &(struct vg_flamegraph){ .base_processes = (uint32_t)profile->processes.count / 2 },
			    input_sink());
	vg_view_page_write(profile, &(struct vg_view_page){ .exporter = "fuzz" }, input_sink());
	if (vg_measures_add(&measures, profile, "fuzz.vgp", NULL) == 0)
		vg_measures_finish(&measures);
	vg_measures_free(&measures);
	/* The summary has the counters and the intervals. */
	if (vg_intervals_build(&intervals, profile) == 0 && vg_summary_add(&summary, &intervals) == 0)
		vg_summary_finish(&summary);
	vg_summary_free(&summary);
	vg_intervals_free(&intervals);
}

/* The middle of the profile, which must be a profile. */
static void cut_write(const struct vg_profile *profile, const struct vg_infile *file)
{
	struct vg_part part = { .begin_ns = profile->duration_ns / 4, .end_ns = profile->duration_ns / 4 * 3 + 1 };
	struct vg_profile cut = { 0 };
	struct vg_infile cut_file;
	struct vg_writer writer;
	char path[32];
	struct vg_err err;
	int fd = memfd_create("cut", MFD_CLOEXEC);

	if (fd < 0 || vg_part_select(&part, profile) != 0)
		abort();
	vg_writer_open(&writer, fd, 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (vg_cut_write(&part, file, &writer) != 0 || vg_infile_open(&cut_file, path, &err) != 0 ||
	    vg_profile_read(&cut, &cut_file, &err) != 0 || cut.samples.count != part.sample_count ||
	    cut.damaged_bytes != profile->damaged_bytes)
		abort();
	views_write(&cut);
	vg_profile_free(&cut);
	vg_infile_close(&cut_file);
	vg_writer_close(&writer);
	vg_part_free(&part);
	close(fd);
}

static void shortened_write(struct vg_profile *profile)
{
	uint64_t count;

	vg_instruction_frames_remove(profile);
	if (vg_instruction_frames_count(profile, &count) != 0 || count != 0)
		abort();
	views_write(profile);
}

/* Two processes with the same file. */
static void merged_write(const struct vg_profile *profile)
{
	struct vg_profile merged = { 0 };
	struct vg_merge merge = { .profile = &merged };

	if (vg_merge_add(&merge, profile, "a.vgp", NULL) == 0 && vg_merge_add(&merge, profile, "b.vgp", NULL) == 0 &&
	    vg_merge_finish(&merge) == 0)
		shortened_write(&merged);
	vg_merge_free(&merge);
	vg_profile_free(&merged);
}

static bool piece_add(struct vg_stream *stream, const unsigned char *bytes, size_t count, unsigned divisor)
{
	if (vg_stream_add(stream, bytes, count) != 0 ||
	    vg_stream_merge(stream, vg_stream_now_ns(stream) / divisor) != 0)
		return false;
	vg_instruction_frames_remove(stream->profile);
	return true;
}

/* The file in two pieces, as a profile that is read while it is written. */
static void stream_read(const struct vg_infile *file)
{
	struct vg_profile profile = { 0 };
	size_t half = file->length / 2;
	struct vg_stream stream;

	if (vg_stream_open(&stream, &profile) == 0 && piece_add(&stream, file->bytes, half, 2) &&
	    piece_add(&stream, file->bytes + half, file->length - half, 1))
		vg_folded_write(&profile, &(struct vg_folded_options){ 0 }, input_sink());
	vg_stream_close(&stream);
	vg_profile_free(&profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vg_profile profile = { 0 };
	struct vg_infile file;
	struct vg_err err;

	if (vg_infile_open(&file, input_path(data, size), &err) != 0)
		abort();
	if (vg_profile_read(&profile, &file, &err) == 0) {
		views_write(&profile);
		merged_write(&profile);
		cut_write(&profile, &file);
	}
	vg_profile_free(&profile);
	stream_read(&file);
	vg_infile_close(&file);
	return 0;
}

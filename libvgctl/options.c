/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/options.h"

#include <errno.h>
#include <string.h>

#include "base/counters.h"
#include "libvgctl/failure.h"

static int flight_check(const struct vgctl_options *options)
{
	if (options->flight_s > VG_WIRE_FLIGHT_MAX_NS / 1000000000)
		return vg_failure(-EINVAL, "vgctl_options: flight_s is %u, not 0 to 86400",
				  options->flight_s);
	if (options->flight_s != 0 && (options->flight_memory_bytes < 1u << 20 ||
				       options->flight_memory_bytes > options->max_memory_bytes / 2))
		return vg_failure(-EINVAL, "vgctl_options: flight_memory_bytes is %llu, not 1048576 to half of "
				  "max_memory_bytes", (unsigned long long)options->flight_memory_bytes);
	if (options->watchdog_ms == 0)
		return 0;
	if (options->watchdog_ms < 10)
		return vg_failure(-EINVAL, "vgctl_options: watchdog_ms is %u, not 0 or at least 10",
				  options->watchdog_ms);
	if (options->flight_s == 0 || options->watchdog_path == NULL || *options->watchdog_path == '\0')
		return vg_failure(-EINVAL, "vgctl_options: watchdog_ms needs flight_s and watchdog_path");
	if (options->watchdog_files < 1 || options->watchdog_files > VG_WIRE_WATCH_FILES)
		return vg_failure(-EINVAL, "vgctl_options: watchdog_files is %u, not 1 to %d",
				  options->watchdog_files, VG_WIRE_WATCH_FILES);
	return 0;
}

static int counters_check(const struct vgctl_options *options)
{
	uint16_t codes[VG_COUNTERS_MAX] = { 0 };
	struct vg_err err;

	if (options->counters == NULL || vg_counters_parse(options->counters, codes, &err) == 0)
		return 0;
	return vg_failure(-EINVAL, "vgctl_options: counters: %s", err.text);
}

/* A size beyond this is not a size of struct vgctl_options, but a structure that was not initialized. */
enum { STRUCT_BYTES_MAX = 4096 };

void vgctl_options_init(struct vgctl_options *options, size_t size)
{
	static const struct vgctl_options full = VGCTL_OPTIONS_INIT;

	if (options == NULL || size < sizeof full.struct_bytes)
		return;
	memcpy(options, &full, size < sizeof full ? size : sizeof full);
	if (size > sizeof full)
		memset((char *)options + sizeof full, 0, size - sizeof full);
	options->struct_bytes = size;
}

/* Copies the given options over the defaults in *options.  The program may have been compiled with an earlier or a
 * later version of vgctl.h. */
static int options_copy(const struct vgctl_options *given, struct vgctl_options *options)
{
	size_t bytes = given->struct_bytes;

	if (bytes < sizeof given->struct_bytes || bytes > STRUCT_BYTES_MAX)
		return vg_failure(-EINVAL, "vgctl_options: struct_bytes is %zu, not the size of the structure; use "
				  "VGCTL_OPTIONS_INIT or vgctl_options_init()", bytes);
	for (size_t i = sizeof *options; i < bytes; i++) {
		if (((const char *)given)[i] != 0)
			return vg_failure(-E2BIG, "vgctl_options: byte %zu is set, and this version of the library "
					  "knows only the first %zu bytes; use a later libvgctl", i, sizeof *options);
	}
	memcpy(options, given, bytes < sizeof *options ? bytes : sizeof *options);
	return 0;
}

int vg_options_check(const struct vgctl_options *given, struct vgctl_options *options)
{
	int rc;

	vgctl_options_init(options, sizeof *options);
	rc = given != NULL ? options_copy(given, options) : 0;
	if (rc != 0)
		return rc;
	if (options->budget_percent == VGCTL_BUDGET_AUTO)
		options->budget_percent = options->rate_hz == VGCTL_RATE_AUTO ? 1 : 0;
	if (options->rate_hz == VGCTL_RATE_AUTO)
		options->rate_hz = 99;
	if (!(options->budget_percent >= 0 && options->budget_percent <= 100))
		return vg_failure(-EINVAL, "vgctl_options: budget_percent is %g, not 0 to 100",
				  options->budget_percent);
	if (options->rate_hz > 10000)
		return vg_failure(-EINVAL, "vgctl_options: rate_hz is %u, not 0 to 10000",
				  options->rate_hz);
	if (options->mode != VGCTL_WALL && options->mode != VGCTL_CPU)
		return vg_failure(-EINVAL, "vgctl_options: mode is %d, not VGCTL_WALL or VGCTL_CPU",
				  (int)options->mode);
	if (options->max_frames < 1 || options->max_frames > 65536)
		return vg_failure(-EINVAL, "vgctl_options: max_frames is %u, not 1 to 65536",
				  options->max_frames);
	if (options->max_file_bytes != 0 && options->max_file_bytes < 65536)
		return vg_failure(-EINVAL, "vgctl_options: max_file_bytes is %llu, not 0 or at least 65536",
				  (unsigned long long)options->max_file_bytes);
	if (options->max_memory_bytes < 32u << 20)
		return vg_failure(-EINVAL, "vgctl_options: max_memory_bytes is %llu, not at least 33554432",
				  (unsigned long long)options->max_memory_bytes);
	if (options->max_threads < 1)
		return vg_failure(-EINVAL, "vgctl_options: max_threads is 0, not at least 1");
	if (options->thread > INT32_MAX)
		return vg_failure(-EINVAL, "vgctl_options: thread is %llu, not 0 or the id of a thread",
				  (unsigned long long)options->thread);
	if (counters_check(options) != 0)
		return -EINVAL;
	return flight_check(options);
}

void vg_options_begin(const struct vgctl_options *options, struct vg_wire_begin *begin)
{
	*begin = (struct vg_wire_begin){
		.period_ns = options->rate_hz == 0 ? 0 : UINT64_C(1000000000) / options->rate_hz,
		.max_file_bytes = options->max_file_bytes,
		.max_duration_ns = options->max_duration_s * UINT64_C(1000000000),
		.max_frames = options->max_frames,
		.cpu_mode = options->mode == VGCTL_CPU,
		.perf_map = options->perf_map != 0,
		.thread_names = options->thread_names != 0,
		.stop_always = options->stop_always != 0,
		.max_memory_bytes = options->max_memory_bytes,
		.max_threads = options->max_threads,
		.budget_ppm = (uint32_t)(options->budget_percent * 10000),
		.events_overwrite = options->events_overwrite != 0,
		.flight_ns = options->flight_s * UINT64_C(1000000000),
		.flight_memory_bytes = options->flight_memory_bytes,
		.thread = (uint32_t)options->thread,
	};
	/* This cannot fail, because vg_options_check() has checked the counters. */
	if (options->counters != NULL)
		vg_counters_parse(options->counters, begin->counters, NULL);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/comparable.h"

#include <errno.h>
#include <math.h>

#include "vgtool/analysis/blocks.h"
#include "vgtool/analysis/frame_class.h"

static const char *mode_text(enum vg_weight weight)
{
	return weight == VG_WEIGHT_CPU ? "CPU time" : "wall time";
}

int vg_comparable_weight(struct vg_comparable *earlier, const struct vg_profile *profile, const char *path,
			 struct vg_err *err)
{
	enum vg_weight weight = vg_weight_default(profile);

	if (earlier->first_path == NULL) {
		earlier->first_path = path;
		earlier->weight = weight;
	}
	if (weight == earlier->weight)
		return 0;
	return vg_err_set(err, -EINVAL, "%s: recorded by %s, but %s by %s; use --weight wall or --weight cpu",
			  path, mode_text(weight), earlier->first_path, mode_text(earlier->weight));
}

/* True if the profile shows functions by name.  The program's own module decides, if it is in a stack: the names of a
 * system library can be found on many machines.  *addresses: some frame is in a module. */
static bool has_names(const struct vg_profile *profile, bool *addresses)
{
	bool program = false, program_named = false, named = false, module_named;
	uint32_t program_module = profile->processes.count > 0 ? vg_program_module(profile, 0) : VG_NONE;

	*addresses = false;
	for (size_t i = 0; i < profile->stacks.count; i++) {
		uint32_t index = profile->stacks.items[i].module;
		const struct vg_module *module = index != VG_NONE ? &profile->modules.items[index] : NULL;

		if (module == NULL || profile->stacks.items[i].found_by == VG_FOUND_IN_KERNEL)
			continue;
		*addresses = true;
		module_named = profile->resolved && !module->unresolved;
		named = named || module_named;
		if (program_module == VG_NONE || module->name != profile->modules.items[program_module].name)
			continue;
		program = true;
		program_named = program_named || module_named;
	}
	return program ? program_named : named;
}

/* If a function is a name in one profile and an address in another, it would have two rows: removed and new. */
int vg_comparable_symbols(struct vg_comparable *earlier, const struct vg_profile *profile, const char *path,
			  struct vg_err *err)
{
	bool addresses, names = has_names(profile, &addresses);

	if (names && earlier->symbolized_path == NULL)
		earlier->symbolized_path = path;
	if (addresses && !names && earlier->unsymbolized_path == NULL)
		earlier->unsymbolized_path = path;
	if (earlier->symbolized_path == NULL || earlier->unsymbolized_path == NULL)
		return 0;
	return vg_err_set(err, -EINVAL, "%s: not resolved, but %s is; resolve both with vgtool resolve",
			  earlier->unsymbolized_path, earlier->symbolized_path);
}

/* The share of the samples of running threads that timers took, 0 to 1.  NAN: the profile does not have the number. */
static double timer_share(const struct vg_profile *profile)
{
	const struct vg_count *timers = vg_profile_count(profile, &profile->stats, "timer_samples");
	double running = 0;

	for (size_t i = 0; i < profile->samples.count; i++)
		running += profile->samples.items[i].cpu_ns > 0 ? profile->samples.items[i].count : 0;
	return timers != NULL && running > 0 ? (double)timers->value / running : NAN;
}

int vg_comparable_sampling(struct vg_comparable *earlier, const struct vg_profile *profile, const char *path,
			   struct vg_err *err)
{
	uint64_t period_ns = profile->header.period_ns;
	double timers = timer_share(profile);

	if (profile->samples.count == 0)
		return 0;
	if (earlier->period_ns == 0) {
		earlier->period_ns = period_ns;
		earlier->period_path = path;
	}
	if (period_ns > 0 && (period_ns / 2 > earlier->period_ns || earlier->period_ns / 2 > period_ns))
		return vg_err_set(err, -EINVAL, "%s: sampled %.0f times a second, but %s %.0f times; "
				  "record both at the same rate", path, 1e9 / (double)period_ns,
				  earlier->period_path, 1e9 / (double)earlier->period_ns);
	/* The recorder begins with stops, and may use stops and timers for one program.  So only a clear difference
	 * counts, and only in a profile of some length. */
	if (!vg_blocks_suffice(profile))
		return 0;
	if (timers >= 0.75 && earlier->timers_path == NULL)
		earlier->timers_path = path;
	if (timers <= 0.25 && earlier->stops_path == NULL)
		earlier->stops_path = path;
	if (earlier->timers_path == NULL || earlier->stops_path == NULL)
		return 0;
	return vg_err_set(err, -EINVAL, "%s: running threads were sampled by stops, but in %s by timers; "
			  "record both with the same permissions", earlier->stops_path, earlier->timers_path);
}

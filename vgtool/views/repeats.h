/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_REPEATS_H
#define VG_VGTOOL_REPEATS_H

#include "profile/model.h"

/*
 * A record can stand for many samples.  For viewers that count samples, the record is written once for each of them:
 *
 *	most = vg_repeats_max(profile);
 *	repeats = vg_repeats_of(sample, most);
 *	for (uint32_t i = 0; i < repeats; i++)
 *		write(vg_repeat_ns(sample, i, repeats));
 */

/* How often one record may be repeated, 1 or more: a hostile record of a few bytes can stand for billions of samples.
 * All records together make at most 1,000,000 samples, plus 20 for each byte of the profile, unless there are more
 * records. */
uint32_t vg_repeats_max(const struct vg_profile *profile);

/* How often the record is repeated, 1 or more. */
uint32_t vg_repeats_of(const struct vg_sample *sample, uint32_t most);

/* The time of the i-th repetition.  The last one has the time of the record. */
uint64_t vg_repeat_ns(const struct vg_sample *sample, uint32_t i, uint32_t repeats);

#endif

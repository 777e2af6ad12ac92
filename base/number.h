/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_NUMBER_H
#define VG_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers as a person writes them on a command line: all of the text, or false. */

/* A whole number from `least` to `most`. */
bool vg_number_parse(const char *text, uint64_t least, uint64_t most, uint64_t *value);

/* A number of percent, 0 or more, with a fraction if need be, with a sign behind it or without. */
bool vg_number_percent(const char *text, double *percent);

/* The same up to 100, in millionths, of which it is one at least, or 0. */
bool vg_number_ppm(const char *text, uint32_t *ppm);

#endif

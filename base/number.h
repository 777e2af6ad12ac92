/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_NUMBER_H
#define VG_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* These functions parse a number from the command line.  They return false if the text has another form, or if anything
 * follows the number. */

/* A whole number from `least` to `most`, in decimal digits. */
bool vg_number_parse(const char *text, uint64_t least, uint64_t most, uint64_t *value);

/* A percentage, 0 or more, with or without a fraction and a percent sign. */
bool vg_number_percent(const char *text, double *percent);

/* A percentage from 0 to 100.  *ppm is in parts per million.  Returns false for a percentage above 0 and below 1
 * ppm. */
bool vg_number_ppm(const char *text, uint64_t *ppm);

/* A time from `least_ns` to `most_ns`, such as "10", "0.5", "0.5s", "500ms", "20us", "1m", "2h" or "30d".  Without a
 * unit the number is in seconds. */
bool vg_number_time(const char *text, uint64_t least_ns, uint64_t most_ns, uint64_t *ns);

/* A size from `least` to `most` bytes, such as "65536", "64K", "64M", "1.5G" or "1T".  The units are powers of 1024. */
bool vg_number_size(const char *text, uint64_t least, uint64_t most, uint64_t *bytes);

#endif

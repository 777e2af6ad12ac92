/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/output/text.h"

#include <inttypes.h>
#include <stdio.h>

/* Three significant digits. */
static const char *scaled(struct vg_text *room, double value, const char *unit)
{
	int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(room->text, sizeof room->text, "%.*f %s", digits, value, unit);
	return room->text;
}

const char *vg_text_ns(struct vg_text *room, uint64_t ns)
{
	uint64_t seconds = ns / 1000000000;

	if (ns == 0) {
		snprintf(room->text, sizeof room->text, "0 s");
		return room->text;
	}
	if (seconds >= 3600) {
		snprintf(room->text, sizeof room->text, "%" PRIu64 " h %02u min", seconds / 3600,
			 (unsigned)(seconds / 60 % 60));
		return room->text;
	}
	if (seconds >= 600) {
		snprintf(room->text, sizeof room->text, "%u min %02u s", (unsigned)(seconds / 60),
			 (unsigned)(seconds % 60));
		return room->text;
	}
	if (ns >= 999500000)
		return scaled(room, (double)ns / 1e9, "s");
	if (ns >= 999500)
		return scaled(room, (double)ns / 1e6, "ms");
	if (ns >= 1000)
		return scaled(room, (double)ns / 1e3, "us");
	snprintf(room->text, sizeof room->text, "%u ns", (unsigned)ns);
	return room->text;
}

const char *vg_text_number(struct vg_text *room, uint64_t number)
{
	static const char *const units[] = { "M", "G", "T", "P", "E" };
	double value = (double)number / 1e6;
	size_t unit = 0;

	if (number < 10000000) {
		snprintf(room->text, sizeof room->text, "%u", (unsigned)number);
		return room->text;
	}
	while (value >= 999.5) {
		value /= 1000;
		unit++;
	}
	return scaled(room, value, units[unit]);
}

const char *vg_text_bytes(struct vg_text *room, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(room->text, sizeof room->text, "%u byte%s", (unsigned)bytes,
			 bytes == 1 ? "" : "s");
		return room->text;
	}
	value /= 1024;
	while (value >= 1023.5) {
		value /= 1024;
		unit++;
	}
	return scaled(room, value, units[unit]);
}

const char *vg_text_percent(struct vg_text *room, uint64_t part, uint64_t whole)
{
	if (whole == 0)
		snprintf(room->text, sizeof room->text, "-");
	else
		snprintf(room->text, sizeof room->text, "%.1f%%", 100.0 * (double)part / (double)whole);
	return room->text;
}

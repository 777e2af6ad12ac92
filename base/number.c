/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool vg_number_parse(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	char *end;

	/* strtoull(3) would accept a sign and leading blanks. */
	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *value >= least && *value <= most;
}

bool vg_number_percent(const char *text, double *percent)
{
	char *end;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return false;
	*percent = strtod(text, &end);
	if (end != text && *end == '%')
		end++;
	return end != text && *end == '\0' && isfinite(*percent);
}

bool vg_number_ppm(const char *text, uint64_t *ppm)
{
	double percent;

	if (!vg_number_percent(text, &percent) || percent > 100)
		return false;
	*ppm = (uint64_t)(percent * 10000);
	return *ppm > 0 || percent == 0;
}

struct unit {
	const char *name;
	uint64_t scale;
};

/* Parses a decimal number with a unit.  The units end with a NULL name.  strtold(3) alone would accept signs, blanks,
 * exponents and hexadecimal numbers. */
static bool quantity_parse(const char *text, const struct unit *units, uint64_t least, uint64_t most, uint64_t *value)
{
	const char *unit = text + strspn(text, "0123456789.");
	char *end;
	long double number = strtold(text, &end);

	if (end != unit || end == text)
		return false;
	while (units->name != NULL && strcasecmp(units->name, unit) != 0)
		units++;
	if (units->name == NULL)
		return false;
	number *= units->scale;
	/* Also false for a number that uint64_t cannot hold. */
	if (!(number >= least && number <= most))
		return false;
	*value = (uint64_t)number;
	return true;
}

bool vg_number_time(const char *text, uint64_t least_ns, uint64_t most_ns, uint64_t *ns)
{
	static const struct unit units[] = {
		{ "", 1000000000 }, { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 },
		{ "m", UINT64_C(60) * 1000000000 }, { "h", UINT64_C(3600) * 1000000000 },
		{ "d", UINT64_C(86400) * 1000000000 }, { NULL, 0 },
	};

	return quantity_parse(text, units, least_ns, most_ns, ns);
}

bool vg_number_size(const char *text, uint64_t least, uint64_t most, uint64_t *bytes)
{
	static const struct unit units[] = {
		{ "", 1 }, { "K", 1 << 10 }, { "M", 1 << 20 }, { "G", 1 << 30 }, { "T", UINT64_C(1) << 40 },
		{ NULL, 0 },
	};

	return quantity_parse(text, units, least, most, bytes);
}

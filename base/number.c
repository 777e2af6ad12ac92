/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

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

bool vg_number_ppm(const char *text, uint32_t *ppm)
{
	double percent;

	if (!vg_number_percent(text, &percent) || percent > 100)
		return false;
	*ppm = (uint32_t)(percent * 10000);
	return *ppm > 0 || percent == 0;
}

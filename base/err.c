/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/err.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *vg_errno_text(int code)
{
	/* For the C locale, newlocale(3) returns a static object, which need not be freed. */
	const char *words = strerror_l(-code, newlocale(LC_ALL_MASK, "C", (locale_t)0));

	return words != NULL ? words : "unknown error";
}

int vg_err_set(struct vg_err *err, int code, const char *format, ...)
{
	if (err != NULL) {
		va_list args;

		va_start(args, format);
		vsnprintf(err->text, sizeof err->text, format, args);
		va_end(args);
	}
	return code;
}

int vg_err_sys(struct vg_err *err, int code, const char *format, ...)
{
	va_list args;
	size_t used;

	if (err == NULL)
		return code;
	va_start(args, format);
	vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof err->text - used, ": %s", vg_errno_text(code));
	return code;
}

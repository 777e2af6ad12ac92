/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "libvgctl/vgctl.h"

static __thread struct {
	int code;
	char text[400];
} latest;

static const char *general(int code)
{
	switch (code) {
	case -ENOPKG: return "cannot find the helper vignetted";
	case -ENOEXEC: return "cannot start the helper vignetted";
	case -EPERM: return "tracing this process is forbidden";
	case -EALREADY: return "this process has a session already";
	case -EUSERS: return "this process has as many sessions as there can be";
	case -EBUSY: return "another process is writing that profile";
	case -ENOSPC: return "no space left for the profile; what was written is kept";
	case -EFBIG: return "the session has reached a limit and records no more";
	case -ECANCELED: return "the helper vignetted was ended by a signal; the profile ends there";
	case -EDQUOT: return "the disk quota is used up; what was written of the profile is kept";
	case -ECONNRESET: return "the helper vignetted died; what it had written is kept";
	case -EPROTO: return "the helper vignetted is of another version than libvgctl";
	case -ETIMEDOUT: return "the helper vignetted does not answer";
	case -ECHILD: return "the session belongs to the parent process";
	case -EINVAL: return "an argument or option is out of range";
	}
	return vg_err_words(code);
}

int vg_failure(int code, const char *format, ...)
{
	va_list args;

	latest.code = code;
	latest.text[0] = '\0';
	if (format != NULL) {
		va_start(args, format);
		vsnprintf(latest.text, sizeof latest.text, format, args);
		va_end(args);
		/* The helper's words may hold the name of another process: programs print them. */
		vg_utf8_make_plain(latest.text, strlen(latest.text));
	}
	return code;
}

const char *vgctl_strerror(int error)
{
	if (error >= 0)
		return "success";
	if (error == latest.code && latest.text[0] != '\0')
		return latest.text;
	return general(error);
}

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
	case -EALREADY: return "this process has a session, watchdog or listening helper already";
	case -EUSERS: return "this process has 4 recordings already, the most that are possible";
	case -EBUSY: return "another process is writing that profile";
	case -ENOSPC: return "no space left on the disk; what was written is kept";
	case -EFBIG: return "the session has reached a limit of its options and has stopped recording";
	case -ECANCELED: return "a signal has ended the helper vignetted; the profile ends there";
	case -EDQUOT: return "the disk quota is used up; what was written is kept";
	case -ECONNRESET: return "the helper vignetted died; what it had written is kept";
	case -EPROTO: return "the helper vignetted and libvgctl have versions that do not work together";
	case -ETIMEDOUT: return "the helper vignetted did not answer";
	case -ECHILD: return "the session belongs to the parent process";
	case -EINVAL: return "an argument or option is out of range";
	case -E2BIG: return "an option is set that this version of libvgctl does not know";
	}
	return vg_errno_text(code);
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
		/* A message of the helper may contain the name of another process. */
		vg_utf8_make_printable(latest.text, strlen(latest.text));
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

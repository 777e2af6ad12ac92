/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/output/bounded.h"

#include <errno.h>

/* For fopencookie(3).  If the returned number is less than `count`, the stream has a write error. */
static ssize_t bounded_write(void *cookie, const char *bytes, size_t count)
{
	struct vg_bounded *bounded = cookie;

	if (count > bounded->left_bytes) {
		bounded->exceeded = true;
		bounded->left_bytes = 0;        /* a later, shorter write must fail too */
		errno = EFBIG;
		return 0;
	}
	bounded->left_bytes -= count;
	return (ssize_t)fwrite(bytes, 1, count, bounded->to);
}

FILE *vg_bounded_open(struct vg_bounded *bounded, FILE *to, uint64_t bytes_max)
{
	*bounded = (struct vg_bounded){ .to = to, .left_bytes = bytes_max };
	return fopencookie(bounded, "w", (cookie_io_functions_t){ .write = bounded_write });
}

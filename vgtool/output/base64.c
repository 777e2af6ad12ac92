/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/output/base64.h"

#include <errno.h>
#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void four_make(char *four, const unsigned char *three)
{
	four[0] = letters[three[0] >> 2];
	four[1] = letters[(three[0] & 3) << 4 | three[1] >> 4];
	four[2] = letters[(three[1] & 15) << 2 | three[2] >> 6];
	four[3] = letters[three[2] & 63];
}

/* For fopencookie(3).  0 stands for an error. */
static ssize_t base64_write(void *cookie, const char *bytes, size_t count)
{
	struct vg_base64 *base64 = cookie;
	char out[4096] = "";
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		base64->rest[base64->rest_count++] = (unsigned char)bytes[i];
		if (base64->rest_count < 3)
			continue;
		four_make(out + used, base64->rest);
		base64->rest_count = 0;
		used += 4;
		if (used == sizeof out) {
			if (fwrite(out, 1, used, base64->to) != used)
				return 0;
			used = 0;
		}
	}
	return fwrite(out, 1, used, base64->to) == used ? (ssize_t)count : 0;
}

FILE *vg_base64_open(struct vg_base64 *base64, FILE *to)
{
	*base64 = (struct vg_base64){ .to = to };
	return fopencookie(base64, "w", (cookie_io_functions_t){ .write = base64_write });
}

int vg_base64_close(struct vg_base64 *base64, FILE *file)
{
	int failed = ferror(file), rc = fclose(file) != 0 || failed ? -EIO : 0;
	char four[4];

	if (rc != 0 || base64->rest_count == 0)
		return rc;
	memset(base64->rest + base64->rest_count, 0, sizeof base64->rest - base64->rest_count);
	four_make(four, base64->rest);
	memset(four + 1 + base64->rest_count, '=', 3 - base64->rest_count);
	return fwrite(four, 1, sizeof four, base64->to) == sizeof four ? 0 : -EIO;
}

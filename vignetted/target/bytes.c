/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/bytes.h"

bool vg_bytes_uleb(struct vg_bytes *bytes, uint64_t *value)
{
	unsigned int shift = 0;

	*value = 0;
	while (bytes->at < bytes->end && shift < 64) {
		unsigned char byte = *bytes->at++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if ((byte & 0x80) == 0)
			return true;
	}
	return false;
}

bool vg_bytes_sleb(struct vg_bytes *bytes, int64_t *value)
{
	uint64_t bits = 0;
	unsigned int shift = 0;

	while (bytes->at < bytes->end && shift < 64) {
		unsigned char byte = *bytes->at++;

		bits |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if ((byte & 0x80) == 0) {
			if (shift < 64 && (byte & 0x40) != 0)
				bits |= ~UINT64_C(0) << shift;
			*value = (int64_t)bits;
			return true;
		}
	}
	return false;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/marks.h"

#include <string.h>
#include <sys/uio.h>

bool vg_marks_check(pid_t pid, const struct vg_marks *marks)
{
	struct iovec remote[VG_MARKS_MAX], local;
	unsigned char bytes[VG_MARKS_MAX * VG_MARK_BYTES];
	size_t length = 0;

	if (marks->count == 0)
		return true;
	for (size_t i = 0; i < marks->count; i++) {
		const struct vg_image *image = marks->images[i];

		remote[i] = (struct iovec){ (void *)image->mark_address, image->mark_bytes };
		length += image->mark_bytes;
	}
	local = (struct iovec){ bytes, length };
	if (process_vm_readv(pid, &local, 1, remote, marks->count, 0) != (ssize_t)length)
		return false;
	length = 0;
	for (size_t i = 0; i < marks->count; i++) {
		const struct vg_image *image = marks->images[i];

		if (memcmp(bytes + length, image->mark, image->mark_bytes) != 0)
			return false;
		length += image->mark_bytes;
	}
	return true;
}

void vg_marks_check_each(pid_t pid, const struct vg_marks *marks, bool *hold)
{
	bool all_hold = vg_marks_check(pid, marks);

	for (size_t i = 0; i < marks->count; i++) {
		const struct vg_marks one = { .images = { marks->images[i] }, .count = 1 };

		hold[i] = all_hold || vg_marks_check(pid, &one);
	}
}

bool vg_marks_add(pid_t pid, struct vg_marks *marks, const struct vg_image *image)
{
	bool full = marks->count == VG_MARKS_MAX, hold = !full || vg_marks_check(pid, marks);

	if (full)
		marks->count = 0;
	marks->images[marks->count++] = image;
	return hold;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/perf_clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

/* Returns 0 if our time namespace is also our children's, -EXDEV if it is not, or another negative errno.  The kernel
 * shows only the offsets of the children's namespace.  Before Linux 6.1 the two namespaces differ in a program that was
 * executed after unshare(2) and vfork(2). */
static int own_namespace_check(void)
{
	struct stat own, childrens;

	if (stat("/proc/self/ns/time", &own) != 0 || stat("/proc/self/ns/time_for_children", &childrens) != 0)
		return -errno;
	return own.st_dev == childrens.st_dev && own.st_ino == childrens.st_ino ? 0 : -EXDEV;
}

/* timens_offsets has one line for each clock: its name, seconds, and nanoseconds.  The offset is the sum of both
 * numbers. */
static int offset_read(FILE *offsets, int64_t *offset_ns)
{
	int64_t seconds, rest_ns;

	if (fscanf(offsets, "monotonic %" SCNd64 " %" SCNd64, &seconds, &rest_ns) != 2)
		return -EPROTO;
	/* No overflow: the kernel allows 146 years, and 64 bits of nanoseconds hold 292 years. */
	*offset_ns = seconds * 1000000000 + rest_ns;
	return 0;
}

/* One reading suffices: the offset cannot change once the namespace has a process. */
int vg_perf_clock_offset(int64_t *offset_ns)
{
	FILE *offsets = fopen("/proc/self/timens_offsets", "re");
	int rc;

	*offset_ns = 0;
	/* ENOENT: the kernel has no time namespaces. */
	if (offsets == NULL)
		return errno == ENOENT ? 0 : -errno;
	rc = own_namespace_check();
	if (rc == 0)
		rc = offset_read(offsets, offset_ns);
	fclose(offsets);
	return rc;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_TESTS_FUZZ_INPUT_H
#define VG_TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* libFuzzer calls this function for each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline int input_fd(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("input", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	return fd;
}

static inline const char *input_path(const uint8_t *data, size_t size)
{
	static char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", input_fd(data, size));
	return path;
}

static inline FILE *input_sink(void)
{
	static FILE *sink;

	if (sink == NULL)
		sink = fopen("/dev/null", "w");
	if (sink == NULL)
		abort();
	return sink;
}

#endif

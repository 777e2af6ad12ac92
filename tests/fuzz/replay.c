/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* replay CHANGES FILE...: runs a fuzzer's function, without libFuzzer, on each file and on CHANGES changed copies of it.
 * The changes depend only on the file's bytes, so a failure can be repeated. An input that crashes, takes 10 s of CPU
 * time or does not end in 600 s is left at the beginning of the file `replay-input` of the current directory;
 * `replay-length` has its size, a number of 64 bits. */
#include "tests/fuzz/input.h"

#include <fcntl.h>
#include <string.h>
#include <sys/time.h>

enum { INPUT_MAX_BYTES = 65536, GROWTH_MAX_BYTES = 64, EDITS_MAX = 4, INPUT_MAX_CPU_S = 10, INPUT_MAX_S = 600 };

static uint8_t *current;                /* the input that runs, in the file replay-input */
static uint64_t *current_bytes;         /* its size, in the file replay-length */

/* xorshift64, by Marsaglia */
static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Changes some bytes in place, removes some, or repeats some. Returns the new size. */
static size_t edit(uint8_t *bytes, size_t size, uint64_t *state)
{
	static const uint8_t words[] = { 0, 1, 0x7f, 0x80, 0xff, 0xfe };
	size_t at = next(state) % size, length = 1 + next(state) % 8;

	if (length > size - at)
		length = size - at;
	switch (next(state) % 6) {
	case 0:
		bytes[at] ^= (uint8_t)(1 << next(state) % 8);
		break;
	case 1:
		bytes[at] = (uint8_t)next(state);
		break;
	case 2:
		memset(bytes + at, words[next(state) % sizeof words], length);
		break;
	case 3:
		memmove(bytes + at, bytes + next(state) % (size - length + 1), length);
		break;
	case 4:
		memmove(bytes + at, bytes + at + length, size - at - length);
		size -= length;
		break;
	case 5:
		memmove(bytes + at + length, bytes + at, size - at);
		size += length;
		break;
	}
	return size;
}

/* Maps a new file of that size. */
static void *map_file(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	void *at = fd < 0 || ftruncate(fd, (off_t)size) != 0 ? MAP_FAILED :
		   mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	close(fd);
	return at;
}

/* Runs the fuzzer's function on a copy of the current input, so that a sanitizer finds a read past its end. */
static void run(size_t size)
{
	struct itimerval limit = { .it_value = { .tv_sec = INPUT_MAX_CPU_S } };
	uint8_t *copy = malloc(size > 0 ? size : 1);

	if (copy == NULL)
		exit(2);
	memcpy(copy, current, size);
	*current_bytes = size;
	/* SIGPROF and SIGALRM end the process. */
	setitimer(ITIMER_PROF, &limit, NULL);
	alarm(INPUT_MAX_S);
	LLVMFuzzerTestOneInput(copy, size);
	alarm(0);
	setitimer(ITIMER_PROF, &(struct itimerval){ 0 }, NULL);
	free(copy);
}

static void replay(const char *path, long changes)
{
	uint8_t *original = malloc(INPUT_MAX_BYTES + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t state = 0x9e3779b97f4a7c15;
	ssize_t size = fd < 0 || original == NULL ? -1 : read(fd, original, INPUT_MAX_BYTES + 1);

	if (size < 0 || size > INPUT_MAX_BYTES) {
		fprintf(stderr, "%s: cannot be read, or has more than %d bytes\n", path, INPUT_MAX_BYTES);
		exit(2);
	}
	close(fd);
	for (ssize_t i = 0; i < size; i++)
		state = (state ^ original[i]) * 0x100000001b3;
	state |= 1;
	for (long change = 0; change <= changes; change++) {
		size_t length = (size_t)size;

		memcpy(current, original, length);
		for (uint64_t edits = change == 0 || size == 0 ? 0 : 1 + next(&state) % EDITS_MAX; edits > 0 && length > 0; edits--)
			length = edit(current, length, &state);
		run(length);
	}
	free(original);
}

int main(int argc, char **argv)
{
	long changes = argc > 1 ? strtol(argv[1], NULL, 10) : 0;

	if (argc < 3) {
		fprintf(stderr, "usage: replay CHANGES FILE...\n");
		return 2;
	}
	current = map_file("replay-input", INPUT_MAX_BYTES + GROWTH_MAX_BYTES);
	current_bytes = map_file("replay-length", sizeof *current_bytes);
	for (int i = 2; i < argc; i++)
		replay(argv[i], changes);
	printf("%ld inputs\n", (argc - 2) * (changes + 1));
	return 0;
}

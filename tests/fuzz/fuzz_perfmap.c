/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The helper's reader of perf maps. The input is four sample addresses, and then the map. Whatever the input is, the
 * profile must be readable, and no two of its names may be of the same code. If the first byte is 255, 256 KiB of
 * zeros follow the map in the file. */
#include "tests/fuzz/input.h"

#include <fcntl.h>
#include <string.h>

#include "profile/reader.h"
#include "vignetted/target/perf_map.h"

enum { ADDRESSES = 4, SPARSE_BYTES = 1 << 18 };

static struct vg_perf_map map = { .directory = -1 };
static int map_fd = -1, out_fd = -1;

static void files_make(void)
{
	map.directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	map.owner = geteuid();
	snprintf(map.name, sizeof map.name, "perfmap.map");
	map_fd = openat(map.directory, map.name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	out_fd = memfd_create("out", MFD_CLOEXEC);
	if (map.directory < 0 || map_fd < 0 || out_fd < 0)
		abort();
}

/* True if each name's code contains one of the addresses, and does not overlap the code of the next name. */
static bool code_is_good(const struct vg_profile *profile, const uint64_t addresses[ADDRESSES])
{
	for (size_t i = 0; i < profile->jit_code.count; i++) {
		const struct vg_jit_code *code = &profile->jit_code.items[i];
		bool is_needed = false;

		for (size_t at = 0; at < ADDRESSES; at++)
			is_needed = is_needed || addresses[at] - code->address < code->size_bytes;
		if (!is_needed || (i > 0 && code->address - code[-1].address < code[-1].size_bytes) ||
		    (i > 0 && code->address == code[-1].address))
			return false;
	}
	return true;
}

static void profile_check(const uint64_t addresses[ADDRESSES])
{
	struct vg_profile profile = { 0 };
	struct vg_infile file = { .path = "out" };
	struct vg_err err;

	file.length = (uint64_t)lseek(out_fd, 0, SEEK_END);
	file.bytes = mmap(NULL, file.length, PROT_READ, MAP_SHARED, out_fd, 0);
	if (file.bytes == MAP_FAILED || vg_profile_read(&profile, &file, &err) != 0 || profile.damage.count > 0 ||
	    !code_is_good(&profile, addresses))
		abort();
	vg_profile_free(&profile);
	munmap((void *)file.bytes, file.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct vg_writer_header header = { .mode = "wall", .writer = "", .arch = "",
							.program = "" };
	uint64_t addresses[ADDRESSES], map_bytes;
	struct vg_writer writer;

	if (map_fd < 0)
		files_make();
	if (size < sizeof addresses)
		return 0;
	memcpy(addresses, data, sizeof addresses);
	map_bytes = size - sizeof addresses + (data[0] == 255 ? SPARSE_BYTES : 0);
	if (ftruncate(out_fd, 0) != 0 || lseek(out_fd, 0, SEEK_SET) != 0 || ftruncate(map_fd, 0) != 0 ||
	    pwrite(map_fd, data + sizeof addresses, size - sizeof addresses, 0) != (ssize_t)(size - sizeof addresses) ||
	    ftruncate(map_fd, (off_t)map_bytes) != 0)
		abort();
	vg_writer_open(&writer, out_fd, 0);
	vg_writer_header(&writer, &header);
	if (vg_perf_map_write(&map, addresses, ADDRESSES, &writer) != 0 || map.unread_bytes != 0)
		abort();
	vg_writer_end(&writer, "end", 1, NULL, 0);
	vg_writer_close(&writer);
	profile_check(addresses);
	return 0;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The helper's reader of perf maps: the input is four addresses of samples, and then the map.  Whatever that is, the
 * profile is one that can be read, and no two names in it are of the same code.  Where the first byte is 255, the file
 * goes on for 256 KiB of nothing.
 */
#include "tests/fuzz/input.h"

#include <fcntl.h>
#include <string.h>

#include "profile/reader.h"
#include "vignetted/target/perfmap.h"

enum { ADDRESSES = 4, SPARSE_BYTES = 1 << 18 };

static struct vg_perfmap map = { .directory = -1 };
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

/* Whether the names are of code that one of the addresses may be in, and that is not the next one's. */
static bool code_is_good(const struct vg_profile *profile, const uint64_t addresses[ADDRESSES])
{
	for (size_t i = 0; i < profile->code.count; i++) {
		const struct vg_code *code = &profile->code.items[i];
		bool wanted = false;

		for (size_t at = 0; at < ADDRESSES; at++)
			wanted = wanted || addresses[at] >= code->address;
		if (!wanted || (i > 0 && code->address - code[-1].address < code[-1].size_bytes) ||
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
	uint64_t addresses[ADDRESSES], whole;
	struct vg_writer writer;

	if (map_fd < 0)
		files_make();
	if (size < sizeof addresses)
		return 0;
	memcpy(addresses, data, sizeof addresses);
	whole = size - sizeof addresses + (data[0] == 255 ? SPARSE_BYTES : 0);
	if (ftruncate(out_fd, 0) != 0 || lseek(out_fd, 0, SEEK_SET) != 0 || ftruncate(map_fd, 0) != 0 ||
	    pwrite(map_fd, data + sizeof addresses, size - sizeof addresses, 0) != (ssize_t)(size - sizeof addresses) ||
	    ftruncate(map_fd, (off_t)whole) != 0)
		abort();
	vg_writer_open(&writer, out_fd, 0);
	vg_writer_header(&writer, &header);
	if (vg_perfmap_write(&map, addresses, ADDRESSES, &writer) != 0 || map.unread_bytes != 0)
		abort();
	vg_writer_end(&writer, "end", 1, NULL, 0);
	vg_writer_close(&writer);
	profile_check(addresses);
	return 0;
}

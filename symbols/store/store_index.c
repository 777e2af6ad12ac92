/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/store/store_index.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/build_id.h"
#include "base/descriptor.h"
#include "base/intern.h"
#include "base/outfile.h"
#include "symbols/store/store_files.h"

/* Room for 2,000,000 files with paths of 80 bytes. */
enum { INDEX_MAX_BYTES = 256 << 20 };

/* If one of these is different, the file may have other contents.  No program can set a ctime. */
struct identity {
	uint64_t device, inode, bytes, mtime_ns, ctime_ns;
};

/* A file that changed less than this time before the index was made may have changed again with the same times: the
 * times of some file systems have whole seconds.  Or a linker may still write it.  So it is opened again. */
static const uint64_t SETTLED_NS = UINT64_C(2000000000);

struct header {
	char magic[16];
	uint64_t begin_ns;           /* CLOCK_REALTIME, before the first directory was read */
};

/* The number is the version of the format. */
static const char MAGIC[16] = "vgtool index 3";

/* A directory or a file.  The build id and the path follow.  Only an ELF file has a build id.  A path that is too
 * long is left out. */
struct record {
	struct identity file;
	uint32_t contents;           /* VG_STORE_FILE_... */
	uint16_t id_bytes, path_bytes; /* path_bytes includes the NUL */
};

typedef VG_ARRAY(unsigned char) byte_array;

/* ---- reading ---- */

/* Sets *record to the record at *at, *rest to the bytes that follow it, and *at to the next record.  Returns false if
 * there is no whole record. */
static bool record_next(const byte_array *index, size_t *at, struct record *record, const unsigned char **rest)
{
	size_t left = index->count - *at, more;

	if (left < sizeof *record)
		return false;
	memcpy(record, index->items + *at, sizeof *record);
	more = (size_t)record->id_bytes + record->path_bytes;
	*rest = index->items + *at + sizeof *record;
	if (more > left - sizeof *record || record->id_bytes > VG_BUILD_ID_MAX_BYTES || record->path_bytes > PATH_MAX ||
	    (record->id_bytes > 0 && record->path_bytes == 0) ||
	    (record->path_bytes > 0 && strnlen((const char *)*rest + record->id_bytes, record->path_bytes) !=
	     (size_t)record->path_bytes - 1))
		return false;
	*at += sizeof *record + more;
	return true;
}

static bool is_whole(const byte_array *index)
{
	const unsigned char *rest;
	struct record record;
	size_t at = sizeof(struct header);

	if (index->count < sizeof(struct header) || memcmp(index->items, MAGIC, sizeof MAGIC) != 0)
		return false;
	while (at < index->count) {
		if (!record_next(index, &at, &record, &rest))
			return false;
	}
	return true;
}

/* Returns 0, -EBADMSG or -ENOMEM. */
static int index_load(byte_array *index, int fd)
{
	struct stat status;
	ssize_t got = 1;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > INDEX_MAX_BYTES)
		return -EBADMSG;
	/* One byte more than the size: the last read(2) returns 0. */
	if (vg_array_reserve(index, (size_t)status.st_size + 1) != 0)
		return -ENOMEM;
	while (got > 0 && index->count < (size_t)status.st_size) {
		got = pread(fd, index->items + index->count, (size_t)status.st_size - index->count,
			    (off_t)index->count);
		index->count += got > 0 ? (size_t)got : 0;
	}
	return is_whole(index) ? 0 : -EBADMSG;
}

int vg_store_index_read(int fd, int (*visit)(void *context, const struct vg_store_index_entry *entry), void *context)
{
	byte_array index = { 0 };
	int rc = index_load(&index, fd);
	const unsigned char *rest;
	struct record record;
	size_t at = sizeof(struct header);

	while (rc == 0 && at < index.count && record_next(&index, &at, &record, &rest)) {
		if (record.id_bytes > 0)
			rc = visit(context, &(struct vg_store_index_entry){
				rest, record.id_bytes, (const char *)rest + record.id_bytes,
				record.contents });
	}
	vg_array_free(&index);
	return rc;
}

/* ---- updating ---- */

struct update {
	byte_array old, new;
	struct vg_intern files;      /* identity in the old index -> index in `offsets` */
	VG_ARRAY(size_t) offsets;    /* of records in the old index */
	bool has_files;              /* the new index has a file */
};

static uint64_t nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

static struct identity identity_of(const struct stat *status)
{
	return (struct identity){ status->st_dev, status->st_ino, (uint64_t)status->st_size,
				  nanoseconds(&status->st_mtim), nanoseconds(&status->st_ctim) };
}

/* index: not empty. */
static bool is_settled(const byte_array *index, const struct identity *file)
{
	struct header header;

	memcpy(&header, index->items, sizeof header);
	return file->ctime_ns < header.begin_ns && header.begin_ns - file->ctime_ns >= SETTLED_NS;
}

static void old_load(byte_array *index, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	if (fd < 0)
		return;
	if (index_load(index, fd) != 0)
		index->count = 0;
	close(fd);
}

/* Whether all directories and ELF files in the index are as they were. */
static bool is_current(const byte_array *index, const char *root)
{
	const unsigned char *rest;
	struct record record;
	size_t at = sizeof(struct header);

	if (index->count == 0)
		return false;
	while (at < index->count && record_next(index, &at, &record, &rest)) {
		struct identity now;
		struct stat status;
		char path[PATH_MAX];

		if (!is_settled(index, &record.file))
			return false;
		if (record.path_bytes == 0)
			continue;
		/* The slash at the end of the root's own path follows a symbolic link. */
		if (snprintf(path, sizeof path, "%s/%s", root, (const char *)rest + record.id_bytes) >= PATH_MAX ||
		    lstat(path, &status) != 0)
			return false;
		now = identity_of(&status);
		if (memcmp(&now, &record.file, sizeof now) != 0)
			return false;
	}
	return true;
}

static int old_intern(struct update *update)
{
	size_t at = sizeof(struct header), offset = at;
	const unsigned char *rest;
	struct record record;
	uint32_t number;
	int rc = 0;

	while (rc >= 0 && at < update->old.count && record_next(&update->old, &at, &record, &rest)) {
		rc = is_settled(&update->old, &record.file) ?
		     vg_intern(&update->files, &record.file, sizeof record.file, &number) : 0;
		/* Two names of one file have the same identity, and so the same build id. */
		if (rc == 1)
			rc = vg_array_push(&update->offsets, &offset);
		offset = at;
	}
	return rc < 0 ? rc : 0;
}

/* Sets the record's id_bytes and contents, and `id`: from the old index, or else from the file. */
static int id_get(const struct update *update, const char *path, struct record *record,
		  unsigned char id[VG_BUILD_ID_MAX_BYTES])
{
	struct record known;
	const unsigned char *rest;
	uint32_t number;
	size_t bytes = 0;

	if (vg_intern_find(&update->files, &record->file, sizeof record->file, &number)) {
		size_t at = update->offsets.items[number];

		if (record_next(&update->old, &at, &known, &rest)) {
			memcpy(id, rest, known.id_bytes);
			record->id_bytes = known.id_bytes;
			record->contents = known.contents;
			return 0;
		}
	}
	if (vg_store_file_build_id(path, id, &bytes, &record->contents) == -ENOMEM)
		return -ENOMEM;
	record->id_bytes = (uint16_t)bytes;
	return 0;
}

static int bytes_add(byte_array *to, const void *bytes, size_t count)
{
	if (to->count + count > INDEX_MAX_BYTES)
		return -EFBIG;
	if (vg_array_reserve(to, count) != 0)
		return -ENOMEM;
	memcpy(to->items + to->count, bytes, count);
	to->count += count;
	return 0;
}

static int file_visit(void *context, const char *path, const char *relative, const struct stat *status)
{
	struct record record = { .file = identity_of(status) };
	bool is_directory = S_ISDIR(status->st_mode);
	size_t path_bytes = strlen(relative) + 1;
	unsigned char id[VG_BUILD_ID_MAX_BYTES];
	struct update *update = context;
	int rc;

	/* Such a file can be opened by no path. */
	if (path_bytes > PATH_MAX)
		return 0;
	rc = is_directory ? 0 : id_get(update, path, &record, id);
	update->has_files |= !is_directory;
	record.path_bytes = (uint16_t)path_bytes;
	if (rc == 0)
		rc = bytes_add(&update->new, &record, sizeof record);
	if (rc == 0)
		rc = bytes_add(&update->new, id, record.id_bytes);
	return rc == 0 ? bytes_add(&update->new, relative, record.path_bytes) : rc;
}

static int index_write(const byte_array *index, const char *path, struct vg_err *err)
{
	struct vg_outfile file = VG_OUTFILE_CLOSED;
	int rc = vg_outfile_open(&file, path, err);

	if (rc != 0)
		return rc;
	rc = vg_write_all(file.fd, index->items, index->count);
	if (rc == 0)
		return vg_outfile_commit(&file, err);
	vg_outfile_abandon(&file);
	return vg_err_sys(err, rc, "%.200s: cannot write", path);
}

int vg_store_index_update(const char *root, const char *path, struct vg_err *err)
{
	struct header header = { .begin_ns = 0 };
	struct update update = { 0 };
	struct timespec now;
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	memcpy(header.magic, MAGIC, sizeof header.magic);
	header.begin_ns = nanoseconds(&now);
	old_load(&update.old, path);
	if (is_current(&update.old, root)) {
		vg_array_free(&update.old);
		return 0;
	}
	rc = old_intern(&update);
	if (rc == 0)
		rc = bytes_add(&update.new, &header, sizeof header);
	if (rc == 0)
		rc = vg_store_files_walk(root, file_visit, &update);
	if (rc == 0 && !update.has_files)
		rc = -ENOENT;
	if (rc != 0)
		vg_err_sys(err, rc, "%.200s: cannot make the index", root);
	else
		rc = index_write(&update.new, path, err);
	vg_array_free(&update.old);
	vg_array_free(&update.new);
	vg_array_free(&update.offsets);
	vg_intern_free(&update.files);
	return rc;
}

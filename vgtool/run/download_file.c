/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/download_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/output_path.h"

enum { GZIP_FIRST_BYTE = 0x1f, INFLATE_BYTES = 65536 };

/* The first bytes of each kind of file.  An error page of a server begins in another way. */
static const char *const magics[] = { [VG_DOWNLOAD_SYMBOLS] = "MODULE ", [VG_DOWNLOAD_ELF] = "\177ELF" };
static const char *const kind_names[] = {
	[VG_DOWNLOAD_SYMBOLS] = "the server sent a file that is no symbol file",
	[VG_DOWNLOAD_ELF] = "the server sent a file that is no ELF file",
};

int vg_download_file_open(struct vg_download_file *file, const struct vg_download_request *request,
			  struct vg_err *err)
{
	int length;

	*file = (struct vg_download_file){ .request = request, .fd = -1 };
	length = snprintf(file->part, sizeof file->part, "%s/.part.XXXXXX", request->directory);
	if (length < 0 || length >= (int)sizeof file->part) {
		*file->part = '\0';
		return vg_err_sys(err, -ENAMETOOLONG, "%.100s", request->directory);
	}
	file->fd = mkostemp(file->part, O_CLOEXEC);       /* with mode 0600 */
	if (file->fd >= 0)
		return 0;
	*file->part = '\0';
	return vg_err_sys(err, -errno, "%.200s: cannot create a file", request->directory);
}

static int failed(struct vg_download_file *file, int rc, const char *problem)
{
	file->rc = vg_err_set(&file->err, rc, "%s", problem);
	return rc;
}

static int plain_take(struct vg_download_file *file, const unsigned char *bytes, size_t count)
{
	const char *magic = magics[file->request->kind];
	int rc;

	for (size_t i = 0; i < count && file->bytes + i < strlen(magic); i++) {
		if (bytes[i] != (unsigned char)magic[file->bytes + i])
			return failed(file, -EBADMSG, kind_names[file->request->kind]);
	}
	/* This also ends a gzip file that decompresses to zeros without end. */
	if (count > file->request->bytes_max - file->bytes)
		return failed(file, -EFBIG, "the server sent a file that is too large; VGTOOL_SERVER_MAX_SIZE is the limit");
	file->bytes += count;
	rc = vg_write_all(file->fd, bytes, count);
	if (rc != 0)
		file->rc = vg_err_sys(&file->err, rc, "%.200s: cannot write", file->request->directory);
	return rc;
}

/* A gzip file can have several members, one after the other. */
static int gzip_take(struct vg_download_file *file, const void *bytes, size_t count)
{
	static unsigned char room[INFLATE_BYTES];
	z_stream *stream = &file->stream;
	int rc = 0;

	stream->next_in = bytes;
	stream->avail_in = (unsigned)count;
	do {
		int result;

		if (file->gzip_ended && inflateReset(stream) != Z_OK)
			return failed(file, -EBADMSG, "the server sent a damaged gzip file");
		stream->next_out = room;
		stream->avail_out = sizeof room;
		result = inflate(stream, Z_NO_FLUSH);
		file->gzip_ended = result == Z_STREAM_END;
		/* Z_BUF_ERROR: no more input, and no output is pending. */
		if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
			return failed(file, -EBADMSG, "the server sent a damaged gzip file");
		rc = plain_take(file, room, sizeof room - stream->avail_out);
	} while (rc == 0 && (stream->avail_in > 0 || (stream->avail_out == 0 && !file->gzip_ended)));
	return rc;
}

int vg_download_file_take(struct vg_download_file *file, const void *bytes, size_t count)
{
	if (file->rc != 0 || count == 0)
		return file->rc;
	if (!file->begun && *(const unsigned char *)bytes == GZIP_FIRST_BYTE) {
		if (inflateInit2(&file->stream, MAX_WBITS + 16) != Z_OK)
			return failed(file, -ENOMEM, "out of memory");
		file->is_gzip = true;
	}
	file->begun = true;
	if (count > UINT32_MAX)
		return failed(file, -EFBIG, "libcurl passed too many bytes at once");
	return file->is_gzip ? gzip_take(file, bytes, count) : plain_take(file, bytes, count);
}

/* A server that answers every request with the same file would fill the cache with it, and the cached file of another
 * module would hide the right one for ever. */
static int symbols_check(struct vg_download_file *file, struct vg_err *err)
{
	char line[4096];
	ssize_t bytes = pread(file->fd, line, sizeof line - 1, 0);

	if (bytes < 0)
		return vg_err_sys(err, -errno, "%.200s: cannot read", file->request->directory);
	line[bytes] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return strcasestr(line, file->request->id) != NULL ? 0 :
	       vg_err_set(err, -EBADMSG, "the server sent the symbols of another module");
}

/* Searches the note with the build id, as readelf -n shows it, in all bytes: the file is not parsed here. */
static int elf_check(const struct vg_download_file *file, struct vg_err *err)
{
	const struct vg_download_request *request = file->request;
	struct { Elf64_Nhdr header; char name[4]; unsigned char id[VG_BUILD_ID_MAX_BYTES]; } note = {
		.header = { .n_namesz = 4, .n_descsz = request->build_id_bytes, .n_type = NT_GNU_BUILD_ID },
		.name = "GNU",
	};
	void *bytes = mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, file->fd, 0);
	bool found;

	if (bytes == MAP_FAILED)
		return vg_err_sys(err, -errno, "%.200s: cannot read", request->directory);
	memcpy(note.id, request->build_id, request->build_id_bytes);
	found = memmem(bytes, file->bytes, &note, offsetof(typeof(note), id) + request->build_id_bytes) != NULL;
	munmap(bytes, file->bytes);
	return found ? 0 : vg_err_set(err, -EBADMSG, "the server sent a file with another build id");
}

int vg_download_file_commit(struct vg_download_file *file, struct vg_err *err)
{
	const struct vg_download_request *request = file->request;
	char path[PATH_MAX];
	int rc = file->rc;

	if (rc != 0)
		return vg_err_set(err, rc, "%s", file->err.text);
	if (file->bytes < strlen(magics[request->kind]))
		return vg_err_set(err, -EBADMSG, "%s", kind_names[request->kind]);
	if (file->is_gzip && !file->gzip_ended)
		return vg_err_set(err, -EBADMSG, "the server sent an incomplete gzip file");
	rc = request->kind == VG_DOWNLOAD_SYMBOLS ? symbols_check(file, err) : elf_check(file, err);
	strcpy(path, request->path);
	if (rc == 0)
		rc = vg_output_path_make_directories(path, 0700, err);
	if (rc == 0 && rename(file->part, request->path) != 0)
		rc = vg_err_sys(err, -errno, "%.200s: cannot rename a file", request->directory);
	if (rc == 0)
		*file->part = '\0';
	return rc;
}

void vg_download_file_close(struct vg_download_file *file)
{
	if (file->is_gzip)
		inflateEnd(&file->stream);
	if (file->fd >= 0)
		close(file->fd);
	if (*file->part != '\0')
		unlink(file->part);
	file->is_gzip = false;
	file->fd = -1;
	*file->part = '\0';
}

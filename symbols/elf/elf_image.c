/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf/elf_image.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "base/infile.h"
#include "base/sorted.h"

/* libelf allocates the size that a compression header claims.  Deflate compresses at most 1032:1,
 * so a higher ratio is damage. */
#define COMPRESSION_MAX 1100

static int code_add(struct vg_elf_image *image, uint64_t address, uint64_t size_bytes)
{
	struct vg_symbol_range range = { address, size_bytes };
	uint64_t end;

	if (size_bytes == 0 || __builtin_add_overflow(address, size_bytes, &end))
		return 0;
	return vg_array_push(&image->code, &range);
}

/* Adds the section's decompressed size to data_bytes.  Returns 0 or -EBADMSG. */
static int section_measure(struct vg_elf_image *image, Elf_Scn *section, const GElf_Shdr *header,
			   const char *name, struct vg_err *err)
{
	uint64_t bytes = header->sh_size;
	GElf_Chdr compressed;

	if (header->sh_flags & SHF_COMPRESSED) {
		if (gelf_getchdr(section, &compressed) == NULL)
			return vg_err_set(err, -EBADMSG, "%s: section %s has a damaged compression header",
					  image->path, name);
		bytes = compressed.ch_size;
	} else if (strncmp(name, ".zdebug", 7) == 0) {
		ssize_t claimed = dwelf_scn_gnu_compressed_size(section);

		if (claimed >= 0)
			bytes = (uint64_t)claimed;
	}
	if (bytes / COMPRESSION_MAX > header->sh_size)
		return vg_err_set(err, -EBADMSG,
				  "%s: section %s is damaged: its header says that %" PRIu64
				  " compressed bytes decompress to %" PRIu64, image->path, name,
				  (uint64_t)header->sh_size, bytes);
	if (__builtin_add_overflow(image->data_bytes, bytes, &image->data_bytes))
		image->data_bytes = UINT64_MAX;
	return 0;
}

static int sections_check(struct vg_elf_image *image, uint64_t file_bytes, struct vg_err *err)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(image->elf, &names) != 0)
		names = 0;
	while ((section = elf_nextscn(image->elf, section)) != NULL) {
		const char *name;
		GElf_Shdr header;
		uint64_t end;
		int rc;

		if (gelf_getshdr(section, &header) == NULL)
			return vg_err_set(err, -EBADMSG, "%s: section header %zu is damaged",
					  image->path, elf_ndxscn(section));
		name = elf_strptr(image->elf, names, header.sh_name);
		if (name == NULL)
			name = "";
		if ((header.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR) &&
		    code_add(image, header.sh_addr, header.sh_size) != 0)
			return vg_err_sys(err, -ENOMEM, "%s", image->path);
		if (header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL)
			continue;
		if (__builtin_add_overflow(header.sh_offset, header.sh_size, &end) || end > file_bytes)
			return vg_err_set(err, -EBADMSG, "%s: section %zu (%.40s) at offset %" PRIu64
					  " is truncated: it ends beyond the end of the file", image->path,
					  elf_ndxscn(section), name, (uint64_t)header.sh_offset);
		rc = section_measure(image, section, &header, name, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int segments_check(struct vg_elf_image *image, struct vg_err *err)
{
	bool needs_code = image->code.count == 0;
	bool has_load = false;
	size_t count;

	if (elf_getphdrnum(image->elf, &count) != 0)
		return vg_err_set(err, -EBADMSG, "%s: damaged program headers", image->path);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(image->elf, (int)i, &header) == NULL)
			return vg_err_set(err, -EBADMSG, "%s: program header %zu is damaged or truncated",
					  image->path, i);
		if (header.p_type != PT_LOAD)
			continue;
		if (!has_load)
			image->load_base = header.p_vaddr;
		has_load = true;
		if (needs_code && (header.p_flags & PF_X) &&
		    code_add(image, header.p_vaddr, header.p_memsz) != 0)
			return vg_err_sys(err, -ENOMEM, "%s", image->path);
	}
	return 0;
}

/* Merges overlapping ranges, so that a lookup has to check one range only. */
static void code_merge(struct vg_elf_image *image)
{
	struct vg_symbol_range *code = image->code.items;
	size_t kept = 0;

	if (image->code.count == 0)
		return;
	vg_sort_by(code, image->code.count, address);
	for (size_t i = 1; i < image->code.count; i++) {
		uint64_t end = code[i].address + code[i].size_bytes;

		if (code[i].address - code[kept].address >= code[kept].size_bytes)
			code[++kept] = code[i];
		else if (end - code[kept].address > code[kept].size_bytes)
			code[kept].size_bytes = end - code[kept].address;
	}
	image->code.count = kept + 1;
}

/* Which ELF types may be opened. */
enum file_types {
	FILE_TYPES_LINKED,      /* ET_EXEC, ET_DYN */
	FILE_TYPES_ANY,         /* also ET_REL */
};

static int headers_check(struct vg_elf_image *image, uint64_t file_bytes, enum file_types file_types,
			 struct vg_err *err)
{
	uint64_t table_end;
	size_t count = 0;
	GElf_Ehdr header;
	int rc;

	if (gelf_getehdr(image->elf, &header) == NULL)
		return vg_err_set(err, -EBADMSG, "%s: damaged or truncated ELF header", image->path);
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN &&
	    (file_types == FILE_TYPES_LINKED || header.e_type != ET_REL))
		return vg_err_set(err, -ENOEXEC, "%s: not an executable or shared library, but another kind of "
				  "ELF file", image->path);
	if (elf_getshdrnum(image->elf, &count) != 0)
		count = header.e_shnum;
	if (header.e_shoff != 0 &&
	    (__builtin_mul_overflow((uint64_t)count, (uint64_t)header.e_shentsize, &table_end) ||
	     __builtin_add_overflow(table_end, header.e_shoff, &table_end) ||
	     table_end > file_bytes || header.e_shoff >= file_bytes))
		return vg_err_set(err, -EBADMSG, "%s: truncated: the section headers at offset %" PRIu64
				  " end beyond the end of the file", image->path,
				  (uint64_t)header.e_shoff);
	rc = sections_check(image, file_bytes, err);
	if (rc == 0)
		rc = segments_check(image, err);
	if (rc == 0)
		code_merge(image);
	return rc;
}

static int file_open(const char *path, struct vg_err *err)
{
	int fd = vg_regular_file_open(path);

	if (fd == -EINVAL || fd == -EISDIR)
		return vg_err_set(err, -EINVAL, "%s: not a regular file", path);
	return fd >= 0 ? fd : vg_err_sys(err, fd, "%s: cannot open", path);
}

/* A linked file has fewer than 65,280 sections.  With more, e_shnum is 0 and the number is in a section header.  libelf
 * allocates 300 bytes for each section at once, also if the headers are in a hole of the file. */
static bool has_section_count(const unsigned char *header)
{
	bool is_64_bit = header[EI_CLASS] == ELFCLASS64;
	size_t offset_at = is_64_bit ? offsetof(Elf64_Ehdr, e_shoff) : offsetof(Elf32_Ehdr, e_shoff);
	size_t count_at = is_64_bit ? offsetof(Elf64_Ehdr, e_shnum) : offsetof(Elf32_Ehdr, e_shnum);
	static const unsigned char none[sizeof(Elf64_Off)];

	return memcmp(header + count_at, none, sizeof(Elf64_Half)) != 0 ||
	       memcmp(header + offset_at, none, is_64_bit ? sizeof(Elf64_Off) : sizeof(Elf32_Off)) == 0;
}

static int section_count_check(const unsigned char *header, size_t bytes, const char *path, struct vg_err *err)
{
	return bytes < sizeof(Elf64_Ehdr) || memcmp(header, ELFMAG, SELFMAG) != 0 || has_section_count(header) ? 0 :
	       vg_err_set(err, -EBADMSG, "%s: more sections than a linked file can have", path);
}

/* Files that others have opened are checked, too. */
static int regular_file_measure(struct vg_elf_image *image, int fd, const char *path, uint64_t *file_bytes,
				struct vg_err *err)
{
	unsigned char header[sizeof(Elf64_Ehdr)];
	struct stat status;
	int rc;

	if (fstat(fd, &status) != 0)
		return vg_err_sys(err, -errno, "%s: cannot examine", path);
	if (!S_ISREG(status.st_mode))
		return vg_err_set(err, -EINVAL, "%s: not a regular file", path);
	*file_bytes = (uint64_t)status.st_size;
	rc = vg_file_holes_check(fd, *file_bytes, path, &image->file_data_bytes, err);
	if (rc != 0)
		return rc;
	return pread(fd, header, sizeof header, 0) == (ssize_t)sizeof header ?
	       section_count_check(header, sizeof header, path, err) : 0;
}

/* Takes ownership of `elf`, which is the result of elf_begin() or elf_memory(). */
static int elf_check(struct vg_elf_image *image, Elf *elf, uint64_t bytes, enum file_types file_types,
		     struct vg_err *err)
{
	image->elf = elf;
	if (elf == NULL || elf_kind(elf) != ELF_K_ELF)
		return vg_err_set(err, -ENOEXEC, bytes == 0 ? "%s: empty file" : "%s: not an ELF file",
				  image->path);
	return headers_check(image, bytes, file_types, err);
}

static int image_begin(struct vg_elf_image *image, const char *path, struct vg_err *err)
{
	*image = (struct vg_elf_image)VG_ELF_IMAGE_CLOSED;
	elf_version(EV_CURRENT);
	image->path = strdup(path);
	return image->path != NULL ? 0 : vg_err_sys(err, -ENOMEM, "%s", path);
}

/* Takes ownership of fd.  If fd is negative, err describes this error already. */
static int image_open(struct vg_elf_image *image, int fd, const char *path, enum file_types file_types,
		      struct vg_err *err)
{
	uint64_t file_bytes = 0;
	int rc;

	*image = (struct vg_elf_image)VG_ELF_IMAGE_CLOSED;
	rc = fd < 0 ? fd : image_begin(image, path, err);
	image->fd = fd;
	if (rc == 0)
		rc = regular_file_measure(image, fd, path, &file_bytes, err);
	if (rc == 0)
		rc = elf_check(image, elf_begin(image->fd, ELF_C_READ_MMAP, NULL), file_bytes, file_types,
			       err);
	if (rc != 0)
		vg_elf_image_close(image);
	return rc;
}

int vg_elf_image_open(struct vg_elf_image *image, const char *path, struct vg_err *err)
{
	int rc = image_open(image, file_open(path, err), path, FILE_TYPES_LINKED, err);

	image->path_is_given = rc == 0;
	return rc;
}

char *vg_elf_image_directory(const struct vg_elf_image *image, int *rc)
{
	char *real = image->path_is_given ? realpath(image->path, NULL) : vg_named_real_path(image->path);

	*rc = real != NULL ? 0 : errno == ENOMEM ? -ENOMEM : -ENOENT;
	if (real != NULL)
		*strrchr(real, '/') = '\0';
	return real;
}

int vg_elf_image_open_descriptor(struct vg_elf_image *image, int fd, const char *path, struct vg_err *err)
{
	return image_open(image, fd, path, FILE_TYPES_LINKED, err);
}

int vg_elf_image_open_named(struct vg_elf_image *image, const char *path)
{
	return image_open(image, vg_named_file_open(path), path, FILE_TYPES_LINKED, NULL);
}

int vg_elf_image_open_named_any_type(struct vg_elf_image *image, const char *path)
{
	return image_open(image, vg_named_file_open(path), path, FILE_TYPES_ANY, NULL);
}

int vg_elf_image_open_descriptor_any_type(struct vg_elf_image *image, int fd, const char *path, struct vg_err *err)
{
	return image_open(image, fd, path, FILE_TYPES_ANY, err);
}

int vg_elf_image_open_memory(struct vg_elf_image *image, void *bytes, size_t count,
			     const char *path, struct vg_err *err)
{
	int rc = image_begin(image, path, err);

	image->memory = bytes;
	image->file_data_bytes = count;
	if (rc == 0)
		rc = section_count_check(bytes, count, path, err);
	if (rc == 0)
		rc = elf_check(image, elf_memory(bytes, count), count, FILE_TYPES_LINKED, err);
	if (rc != 0)
		vg_elf_image_close(image);
	return rc;
}

void vg_elf_image_close(struct vg_elf_image *image)
{
	elf_end(image->elf);
	if (image->fd >= 0)
		close(image->fd);
	free(image->memory);
	for (size_t i = 0; i < image->decompressed.count; i++)
		free(image->decompressed.items[i]);
	vg_array_free(&image->decompressed);
	free(image->path);
	vg_array_free(&image->code);
	*image = (struct vg_elf_image)VG_ELF_IMAGE_CLOSED;
}

bool vg_elf_image_has_code(const struct vg_elf_image *image, uint64_t address)
{
	const struct vg_symbol_range *code = image->code.items;
	size_t count = vg_count_at_most(code, image->code.count, address, address);

	return address != 0 && count > 0 &&
	       address - code[count - 1].address < code[count - 1].size_bytes;
}

bool vg_elf_is_big_endian(const struct vg_elf_image *image)
{
	GElf_Ehdr header;

	return gelf_getehdr(image->elf, &header) != NULL && header.e_ident[EI_DATA] == ELFDATA2MSB;
}

Elf_Scn *vg_elf_section(const struct vg_elf_image *image, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(image->elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(image->elf, section)) != NULL) {
		const char *found;

		if (gelf_getshdr(section, header) == NULL || header->sh_type == SHT_NOBITS)
			continue;
		found = elf_strptr(image->elf, names, header->sh_name);
		if (found != NULL && strcmp(found, name) == 0)
			return section;
	}
	return NULL;
}

/* The section in the old GNU compression, .zdebug_NAME. */
static Elf_Scn *zdebug_section(const struct vg_elf_image *image, const char *name, GElf_Shdr *header)
{
	char compressed[64];

	snprintf(compressed, sizeof compressed, ".z%s", name + 1);
	return vg_elf_section(image, compressed, header);
}

Elf_Scn *vg_elf_debug_section(const struct vg_elf_image *image, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = vg_elf_section(image, name, header);

	return section != NULL ? section : zdebug_section(image, name, header);
}

bool vg_elf_has_dwarf(const struct vg_elf_image *image)
{
	GElf_Shdr header;

	return vg_elf_debug_section(image, ".debug_info", &header) != NULL;
}

Elf_Data *vg_elf_section_data(const struct vg_elf_image *image, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = vg_elf_section(image, name, header);
	Elf_Data *data;

	/* dwelf_scn_gnu_compressed_size() is negative if libdw has decompressed the section
	 * already. */
	if (section == NULL) {
		section = zdebug_section(image, name, header);
		if (section == NULL || (dwelf_scn_gnu_compressed_size(section) >= 0 &&
					elf_compress_gnu(section, 0, 0) < 0))
			return NULL;
	}
	if ((header->sh_flags & SHF_COMPRESSED) && elf_compress(section, 0, 0) < 0)
		return NULL;
	data = elf_getdata(section, NULL);
	return data != NULL && data->d_buf != NULL && data->d_size > 0 ? data : NULL;
}

struct vg_elf_bytes vg_elf_section_bytes(const struct vg_elf_image *image, const char *name)
{
	static const unsigned char nothing[1];  /* not NULL, because callers add 0 to it */
	struct vg_elf_bytes bytes = { nothing, nothing, vg_elf_is_big_endian(image), false };
	GElf_Shdr header;
	Elf_Data *data = vg_elf_section_data(image, name, &header);

	if (data != NULL) {
		bytes.at = data->d_buf;
		bytes.end = bytes.at + data->d_size;
	}
	return bytes;
}

Elf_Scn *vg_elf_section_of_type(const struct vg_elf_image *image, unsigned type,
				GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(image->elf, section)) != NULL) {
		if (gelf_getshdr(section, header) != NULL && header->sh_type == type)
			return section;
	}
	return NULL;
}

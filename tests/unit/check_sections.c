/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading section headers and notes, of intact and damaged files that are made here; and the index of .eh_frame. */
#include "tests/unit/suites.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/build_id.h"
#include "vignetted/target/image.h"
#include "vignetted/unwind/cfi.h"

/* ---- section headers ---- */

enum { NULL_SECTION, NAMES, EH_FRAME, TEXT, NOTE, SECTIONS };
enum { NAMES_AT = 1024, TEXT_AT = 2048, NOTE_AT = 3072, GO_NOTE_AT = 3584, BASE = 0x400000, END = 0x500000 };

static const char names[] = "\0.shstrtab\0.eh_frame\0.text\0.note";

static struct {
	Elf64_Ehdr header;
	Elf64_Shdr sections[SECTIONS];
} file;

/* A note as Go's linker writes it. */
static const struct { Elf64_Nhdr header; char name[4], text[20]; } go_note = {
	{ 4, 18, 4 }, "Go", "abcdefghijklmnopqr",
};

static struct vg_image image;

static void file_make(void)
{
	memset(&file, 0, sizeof file);
	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_ident[EI_CLASS] = ELFCLASS64;
	file.header.e_shoff = sizeof file.header;
	file.header.e_shentsize = sizeof(Elf64_Shdr);
	file.header.e_shnum = SECTIONS;
	file.header.e_shstrndx = NAMES;
	file.sections[NAMES] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = NAMES_AT,
					     .sh_size = sizeof names };
	file.sections[EH_FRAME] = (Elf64_Shdr){ .sh_name = 11, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC,
						.sh_addr = 0x1000, .sh_size = 100 };
	file.sections[TEXT] = (Elf64_Shdr){ .sh_name = 21, .sh_type = SHT_PROGBITS, .sh_offset = TEXT_AT,
					    .sh_size = 17 };
}

static void file_read(void)
{
	static const struct {
		Elf64_Nhdr note;
		char name[4];
		unsigned char id[4];
	} note = { { 4, 4, NT_GNU_BUILD_ID }, "GNU", { 1, 2, 3, 4 } };
	static const unsigned char text[17] = { [0] = 1, [15] = 7, [16] = 2 };
	int fd = memfd_create("file", MFD_CLOEXEC);

	ck_assert(pwrite(fd, &file, sizeof file, 0) == sizeof file && pwrite(fd, names, sizeof names, NAMES_AT) > 0 &&
		  pwrite(fd, text, sizeof text, TEXT_AT) > 0 && pwrite(fd, &note, sizeof note, NOTE_AT) > 0 &&
		  pwrite(fd, &go_note, sizeof go_note, GO_NOTE_AT) > 0);
	image = (struct vg_image){ .base = BASE, .end = END, .bias = BASE };
	vg_sections_read(&image, fd);
	close(fd);
}

START_TEST(eh_frame_and_ids)
{
	static const unsigned char text_id[16] = { [0] = 3, [15] = 7 }, build_id[4] = { 1, 2, 3, 4 };

	file_make();
	file_read();
	ck_assert_uint_eq(image.eh_frame, BASE + 0x1000);
	ck_assert_uint_eq(image.eh_frame_bytes, 100);
	ck_assert_uint_eq(image.build_id_bytes, sizeof text_id);
	ck_assert_mem_eq(image.build_id, text_id, sizeof text_id);
	/* A build id is preferred to the text id. It may be in any section of type SHT_NOTE. */
	file.sections[NOTE] = (Elf64_Shdr){ .sh_name = 27, .sh_type = SHT_NOTE, .sh_offset = NOTE_AT, .sh_size = 20 };
	file_read();
	ck_assert_uint_eq(image.build_id_bytes, sizeof build_id);
	ck_assert_mem_eq(image.build_id, build_id, sizeof build_id);
}
END_TEST

/* The id of a file that has only Go's build id is computed from this build id, as a text id is computed from code. */
START_TEST(go_build_id)
{
	unsigned char id[VG_TEXT_ID_BYTES];
	size_t at, bytes;

	ck_assert(vg_notes_find((const void *)&go_note, sizeof go_note, 4, VG_NOTE_GO_BUILD_ID, &at, &bytes));
	ck_assert_uint_eq(at, 16);
	ck_assert_uint_eq(bytes, 18);
	ck_assert(!vg_notes_find((const void *)&go_note, sizeof go_note, 4, VG_NOTE_GNU_BUILD_ID, &at, &bytes));
	ck_assert(!vg_notes_find((const void *)&go_note, 16 + 17, 4, VG_NOTE_GO_BUILD_ID, &at, &bytes));
	file_make();
	file.sections[NOTE] = (Elf64_Shdr){ .sh_name = 27, .sh_type = SHT_NOTE, .sh_offset = GO_NOTE_AT,
					    .sh_size = sizeof go_note, .sh_addralign = 4 };
	file_read();
	vg_text_id(go_note.text, 18, id);
	ck_assert_uint_eq(image.build_id_bytes, sizeof id);
	ck_assert_mem_eq(image.build_id, id, sizeof id);
}
END_TEST

/* Each function damages the file in one place. After a damage of the first list the reader finds nothing. After a
 * damage of the second list it finds only the id. */
static void not_elf(void) { file.header.e_ident[0] = 0; }
static void other_class(void) { file.header.e_ident[EI_CLASS] = ELFCLASS32; }
static void other_size(void) { file.header.e_shentsize = 1; }
static void no_sections(void) { file.header.e_shnum = 0; }
static void too_many_sections(void) { file.header.e_shnum = 60000; }
static void sections_out_of_the_file(void) { file.header.e_shoff = UINT64_MAX - 10; }
static void no_names(void) { file.header.e_shstrndx = SECTIONS; }
static void names_out_of_the_file(void) { file.sections[NAMES].sh_offset = UINT64_MAX; }
static void names_truncated(void) { file.sections[NAMES].sh_size = 3; }
static void (*const damages_of_headers[])(void) = {
	not_elf, other_class, other_size, no_sections, too_many_sections, sections_out_of_the_file, no_names,
	names_out_of_the_file, names_truncated,
};

static void eh_frame_below(void) { file.sections[EH_FRAME].sh_addr = (uint64_t)-8; }
static void eh_frame_above(void) { file.sections[EH_FRAME].sh_addr = END - BASE; }
static void eh_frame_long(void) { file.sections[EH_FRAME].sh_size = UINT64_MAX; }
static void eh_frame_not_loaded(void) { file.sections[EH_FRAME].sh_flags = 0; }
static void eh_frame_without_bytes(void) { file.sections[EH_FRAME].sh_type = SHT_NOBITS; }
static void eh_frame_unnamed(void) { file.sections[EH_FRAME].sh_name = UINT32_MAX; }
static void (*const damages_of_eh_frame[])(void) = {
	eh_frame_below, eh_frame_above, eh_frame_long, eh_frame_not_loaded, eh_frame_without_bytes, eh_frame_unnamed,
};

START_TEST(damaged_headers)
{
	file_make();
	damages_of_headers[_i]();
	file_read();
	ck_assert_uint_eq(image.eh_frame, 0);
	ck_assert_uint_eq(image.build_id_bytes, 0);
}
END_TEST

START_TEST(eh_frame_out_of_the_image)
{
	file_make();
	damages_of_eh_frame[_i]();
	file_read();
	ck_assert_uint_eq(image.eh_frame, 0);
	ck_assert_uint_eq(image.build_id_bytes, 16);
}
END_TEST

START_TEST(truncated_text_has_no_id)
{
	file_make();
	file.sections[TEXT].sh_size = 1 << 20;
	file_read();
	ck_assert_uint_eq(image.build_id_bytes, 0);
	file.sections[TEXT].sh_size = 0;
	file_read();
	ck_assert_uint_eq(image.build_id_bytes, 0);
}
END_TEST

/* ---- notes ---- */

START_TEST(notes_with_both_alignments)
{
	/* A note of 1 byte precedes the build id, whose offset depends on the alignment. */
	_Alignas(8) unsigned char notes[128];
	size_t at, bytes;

	for (uint64_t alignment = 4; alignment <= 8; alignment += 4) {
		Elf64_Nhdr first = { 4, 1, 1 }, second = { 4, 20, NT_GNU_BUILD_ID };
		size_t second_at = alignment == 4 ? 20 : 24, id_at;

		memset(notes, 0, sizeof notes);
		memcpy(notes, &first, sizeof first);
		memcpy(notes + second_at, &second, sizeof second);
		memcpy(notes + second_at + sizeof second, "GNU", 4);
		id_at = second_at + sizeof second + 4;
		ck_assert(vg_notes_find(notes, sizeof notes, alignment, VG_NOTE_GNU_BUILD_ID, &at, &bytes));
		ck_assert_uint_eq(at, id_at);
		ck_assert_uint_eq(bytes, 20);
		/* The bytes end within the build id. */
		ck_assert(!vg_notes_find(notes, id_at + 19, alignment, VG_NOTE_GNU_BUILD_ID, &at, &bytes));
	}
	memset(notes, 0xff, sizeof notes);
	ck_assert(!vg_notes_find(notes, sizeof notes, 4, VG_NOTE_GNU_BUILD_ID, &at, &bytes));
	ck_assert(!vg_notes_find(notes, 0, 4, VG_NOTE_GNU_BUILD_ID, &at, &bytes));
}
END_TEST

/* ---- the index ---- */

enum { FUNCTIONS = 40000, FDE_BYTES = 24, CIE_BYTES = 20, CODE_BYTES = 16 };

/* An image in this process's memory: a CIE, then an FDE for each function, in the reverse order of their addresses. */
static struct {
	unsigned char code[FUNCTIONS * CODE_BYTES];
	unsigned char frames[CIE_BYTES + FUNCTIONS * FDE_BYTES];
} image_memory;

static void image_make(void)
{
	static const unsigned char cie[CIE_BYTES] = {
		CIE_BYTES - 4, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b,
	};

	memcpy(image_memory.frames, cie, sizeof cie);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		unsigned char *fde = image_memory.frames + CIE_BYTES + i * FDE_BYTES;
		uint32_t words[4] = { FDE_BYTES - 4, CIE_BYTES + i * FDE_BYTES + 4, 0, CODE_BYTES };

		words[2] = (uint32_t)(image_memory.code + (FUNCTIONS - 1 - i) * CODE_BYTES - (fde + 8));
		memcpy(fde, words, sizeof words);
	}
	image = (struct vg_image){
		.base = (uint64_t)&image_memory, .end = (uint64_t)(&image_memory + 1),
		.eh_frame = (uint64_t)image_memory.frames, .eh_frame_bytes = sizeof image_memory.frames,
	};
}

static uint64_t fde_of(uint32_t function)
{
	return (uint64_t)(image_memory.frames + CIE_BYTES + (FUNCTIONS - 1 - function) * FDE_BYTES);
}

START_TEST(index_finds_functions)
{
	struct vg_memory memory;

	ck_assert_int_eq(vg_memory_open(&memory, getpid()), 0);
	image_make();
	for (uint32_t i = 0; i < FUNCTIONS; i += 999) {
		ck_assert_uint_eq(vg_cfi_fde(&memory, &image, image.base + i * CODE_BYTES), fde_of(i));
		ck_assert_uint_eq(vg_cfi_fde(&memory, &image, image.base + i * CODE_BYTES + 15), fde_of(i));
	}
	ck_assert_uint_eq(vg_cfi_fde(&memory, &image, image.base - 1), 0);
	vg_fde_index_free(&image.fde_index);
	vg_memory_free(&memory);
}
END_TEST

/* A call reads as many words as it may. The next call continues where it ended. */
START_TEST(index_is_made_in_parts)
{
	struct vg_memory memory;
	unsigned int calls = 0;
	uint64_t found = 0;

	ck_assert_int_eq(vg_memory_open(&memory, getpid()), 0);
	image_make();
	for (; found == 0 && calls < 1000; calls++) {
		memory.words_left = 10000;
		found = vg_cfi_fde(&memory, &image, image.base + 5 * CODE_BYTES);
	}
	ck_assert_uint_eq(found, fde_of(5));
	ck_assert_uint_gt(calls, 10);
	vg_fde_index_free(&image.fde_index);
	vg_memory_free(&memory);
}
END_TEST

/* Damage ends the section. Entries before it are found. */
START_TEST(index_ends_at_damage)
{
	struct vg_memory memory;
	uint32_t length = UINT32_MAX;

	ck_assert_int_eq(vg_memory_open(&memory, getpid()), 0);
	image_make();
	memcpy(image_memory.frames + CIE_BYTES + 10 * FDE_BYTES, &length, sizeof length);
	ck_assert_uint_eq(vg_cfi_fde(&memory, &image, image.base + (FUNCTIONS - 1) * CODE_BYTES),
			  fde_of(FUNCTIONS - 1));
	ck_assert_uint_eq(vg_cfi_fde(&memory, &image, image.base), 0);
	vg_fde_index_free(&image.fde_index);
	vg_memory_free(&memory);
}
END_TEST

START_TEST(index_is_bounded)
{
	struct vg_fde_index one = { 0 }, other = { 0 };
	uint32_t total = VG_FDE_INDEX_ALL_MAX - 3;

	for (uint32_t i = 0; i < VG_FDE_INDEX_MAX; i++)
		ck_assert(vg_fde_index_add(&one, i, i));
	ck_assert(!vg_fde_index_add(&one, 0, 0));
	ck_assert(one.overflowed && one.complete);
	ck_assert_uint_eq(one.entries.count, 0);
	other.total = &total;
	for (uint32_t i = 0; i < 3; i++)
		ck_assert(vg_fde_index_add(&other, i, i));
	ck_assert(!vg_fde_index_add(&other, 3, 3));
	ck_assert_uint_eq(total, VG_FDE_INDEX_ALL_MAX - 3);
}
END_TEST

Suite *sections_suite(void)
{
	Suite *suite = suite_create("sections");
	TCase *tests = tcase_create("sections");

	tcase_add_test(tests, eh_frame_and_ids);
	tcase_add_test(tests, go_build_id);
	tcase_add_loop_test(tests, damaged_headers, 0, sizeof damages_of_headers / sizeof *damages_of_headers);
	tcase_add_loop_test(tests, eh_frame_out_of_the_image, 0,
			    sizeof damages_of_eh_frame / sizeof *damages_of_eh_frame);
	tcase_add_test(tests, truncated_text_has_no_id);
	tcase_add_test(tests, notes_with_both_alignments);
	suite_add_tcase(suite, tests);
	tests = tcase_create("index");
	tcase_add_test(tests, index_finds_functions);
	tcase_add_test(tests, index_is_made_in_parts);
	tcase_add_test(tests, index_ends_at_damage);
	tcase_add_test(tests, index_is_bounded);
	suite_add_tcase(suite, tests);
	return suite;
}

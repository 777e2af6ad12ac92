/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/cfi/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "symbols/cfi/cfi_address.h"
#include "symbols/cfi/cfi_columns.h"
#include "symbols/cfi/cfi_program.h"
#include "symbols/cfi/cfi_registers.h"
#include "symbols/cfi/cfi_rule.h"

/* Every step is an instruction, a copied state or some text, for which several bytes of the file
 * stand; but a common entry's program is run again where entries of several alternate. */
#define STEPS_PER_BYTE 32
#define STEPS_FREE 1000000

static struct vg_elf_bytes cursor_of(const struct vg_cfi_reader *reader, const uint8_t *at,
				      const uint8_t *end)
{
	return (struct vg_elf_bytes){ at, end, reader->big_endian, false };
}

/* What the letters of the augmentation say of the entries; false if one is unknown and could
 * mean anything. */
static bool augmentation_read(struct vg_cfi_reader *reader, const Dwarf_CIE *entry)
{
	struct vg_cfi_common *common = &reader->common;
	struct vg_elf_bytes data = cursor_of(reader, entry->augmentation_data, NULL);
	const char *letter = entry->augmentation;
	bool valid = true;

	data.end = data.at != NULL ? data.at + entry->augmentation_data_size : NULL;
	common->has_size = *letter == 'z';
	if (common->has_size)
		letter++;
	for (; *letter != '\0'; letter++) {
		switch (*letter) {
		case 'R':
			common->pointer_encoding = (uint8_t)vg_elf_byte(&data);
			break;
		case 'L':
			vg_elf_byte(&data);
			break;
		case 'P':
			vg_cfi_address(reader, &data, (uint8_t)vg_elf_byte(&data) & 0x0f, &valid);
			break;
		case 'S': /* a signal's frame */
		case 'B': /* return addresses signed with the other key */
		case 'G': /* memory tagged */
			break;
		default:
			/* With their length known, data can be skipped. */
			return common->has_size && !data.failed;
		}
	}
	return valid && !data.failed;
}

/* 0, -EBADMSG, -ENOBUFS, -ENOMEM. */
static int common_read(struct vg_cfi_reader *reader, const unsigned char *ident, Elf_Data *data,
		       bool is_eh, uint64_t offset)
{
	struct vg_cfi_common *common = &reader->common;
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;
	int rc;

	if (offset == common->offset)
		return 0;
	common->offset = UINT64_MAX;
	if (offset >= reader->data_bytes ||
	    dwarf_next_cfi(ident, data, is_eh, offset, &next, &entry) != 0 ||
	    !dwarf_cfi_cie_p(&entry))
		return -EBADMSG;
	rc = vg_budget_spend(&reader->budget, 16 + (next - offset) / 16);
	if (rc != 0)
		return rc;
	common->code_factor = entry.cie.code_alignment_factor;
	common->data_factor = entry.cie.data_alignment_factor;
	common->return_register = entry.cie.return_address_register;
	common->augmentation_bytes = entry.cie.fde_augmentation_data_size;
	common->pointer_encoding = DW_EH_PE_absptr;
	if (!augmentation_read(reader, &entry.cie))
		return -EBADMSG;
	if (reader->column_count == 0 || reader->return_register != common->return_register)
		vg_cfi_lay_out(reader, common->return_register);
	memset(&common->initial, 0, sizeof common->initial);
	memset(&reader->state, 0, sizeof reader->state);
	reader->location = 0;
	reader->end = UINT64_MAX;
	rc = vg_cfi_run(reader, cursor_of(reader, entry.cie.initial_instructions,
					  entry.cie.initial_instructions_end), false);
	if (rc != 0)
		return rc;
	common->initial = reader->state;
	common->offset = offset;
	return 0;
}

static int program_run(struct vg_cfi_reader *reader, struct vg_elf_bytes cursor)
{
	int rc;

	if (reader->common.has_size)
		vg_elf_block(&cursor);
	else
		vg_elf_skip(&cursor, reader->common.augmentation_bytes);
	if (cursor.failed)
		return -EBADMSG;
	reader->state = reader->common.initial;
	reader->dirty = reader->state.used;
	rc = vg_cfi_run(reader, cursor, true);
	/* Of a damaged program the rows before the damage are good. */
	vg_cfi_write_end(reader, rc == 0 || reader->location > reader->end ? reader->end :
			 reader->location);
	return rc;
}

/* 0, -EBADMSG, -ENOBUFS, -ENOMEM. */
static int entry_read(struct vg_cfi_reader *reader, const Dwarf_FDE *entry)
{
	struct vg_elf_bytes cursor = cursor_of(reader, entry->start, entry->end);
	uint8_t encoding = reader->common.pointer_encoding;
	uint64_t address, size_bytes;
	bool valid, size_valid;
	int rc = vg_budget_spend(&reader->budget, 16);

	if (rc != 0)
		return rc;
	address = vg_cfi_address(reader, &cursor, encoding, &valid);
	size_bytes = vg_cfi_address(reader, &cursor, encoding & 0x0f, &size_valid);
	if (!valid || !size_valid || __builtin_add_overflow(address, size_bytes, &reader->end))
		return -EBADMSG;
	/* Code that the linker dropped lies nowhere. */
	if (size_bytes == 0 || address < reader->image->load_base ||
	    !vg_elf_image_has_code(reader->image, address))
		return 0;
	if (size_bytes > UINT32_MAX)
		return -EBADMSG;
	reader->location = address;
	return program_run(reader, cursor);
}

static int section_read(struct vg_cfi_reader *reader, Elf *elf, Elf_Data *data, bool is_eh)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
	Dwarf_Off offset = 0, next = 0;
	int rc = 0, more;

	reader->data = data->d_buf;
	reader->data_bytes = data->d_size;
	reader->common.offset = UINT64_MAX;
	for (; offset < data->d_size && (rc == 0 || rc == -EBADMSG); offset = next) {
		Dwarf_CFI_Entry entry;

		next = offset;
		more = dwarf_next_cfi(ident, data, is_eh, offset, &next, &entry);
		if (more > 0)
			break;
		rc = more < 0 ? -EBADMSG : 0;
		if (rc == 0 && !dwarf_cfi_cie_p(&entry)) {
			rc = common_read(reader, ident, data, is_eh, entry.fde.CIE_pointer);
			if (rc == 0)
				rc = entry_read(reader, &entry.fde);
		}
		if (rc == -EBADMSG)
			reader->symbols->bad_records++;
		/* Where even the length is damaged, the rest cannot be found. */
		if (next <= offset)
			break;
	}
	return rc == -EBADMSG ? 0 : rc;
}

static int file_read(struct vg_cfi_reader *reader, const struct vg_elf_image *file)
{
	static const char *const names[] = { ".eh_frame", ".debug_frame" };
	int rc = 0;

	for (size_t i = 0; i < sizeof names / sizeof *names && rc == 0; i++) {
		GElf_Shdr header;
		Elf_Data *data = vg_elf_section_data(file, names[i], &header);

		if (data == NULL)
			continue;
		vg_budget_extend(&reader->budget, data->d_size, STEPS_PER_BYTE);
		reader->section_address = header.sh_addr;
		rc = section_read(reader, file->elf, data, i == 0);
	}
	return rc;
}

static struct vg_cfi_reader *reader_new(const struct vg_elf_image *image,
					struct vg_symbols *symbols)
{
	struct vg_cfi_reader *reader = calloc(1, sizeof *reader);
	GElf_Ehdr header;

	if (reader == NULL)
		return NULL;
	reader->text = malloc(VG_CFI_TEXT_MAX);
	if (reader->text == NULL) {
		free(reader);
		return NULL;
	}
	reader->symbols = symbols;
	reader->image = image;
	if (gelf_getehdr(image->elf, &header) != NULL) {
		reader->names = vg_cfi_names_of(header.e_machine);
		reader->big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
		reader->address_bytes = header.e_ident[EI_CLASS] == ELFCLASS32 ? 4 : 8;
	}
	reader->budget.steps = STEPS_FREE;
	return reader;
}

static int unwind_compare(const void *left, const void *right)
{
	const struct vg_symbol_unwind *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	/* Rows were appended in reading order. */
	return a->first_row < b->first_row ? -1 : a->first_row > b->first_row;
}

/* Sorts, and of those that overlap keeps the first. */
static void unwinds_sort(struct vg_symbols *symbols)
{
	struct vg_symbol_unwind *unwinds = symbols->unwinds.items;
	size_t kept = 0;

	if (symbols->unwinds.count == 0)
		return;
	qsort(unwinds, symbols->unwinds.count, sizeof *unwinds, unwind_compare);
	for (size_t i = 1; i < symbols->unwinds.count; i++) {
		if (unwinds[i].address - unwinds[kept].address >= unwinds[kept].size_bytes)
			unwinds[++kept] = unwinds[i];
	}
	symbols->unwinds.count = kept + 1;
}

int vg_cfi_read(const struct vg_elf_image *image, const struct vg_elf_image *debug,
		struct vg_symbols *symbols)
{
	struct vg_cfi_reader *reader = reader_new(image, symbols);
	int rc = 0;

	if (reader == NULL)
		return -ENOMEM;
	if (reader->names.count > 0)
		rc = file_read(reader, image);
	if (rc == 0 && reader->names.count > 0 && debug != NULL && debug != image)
		rc = file_read(reader, debug);
	/* Absurd: what was read before it is good. */
	if (rc == -ENOBUFS) {
		reader->symbols->bad_records++;
		rc = 0;
	}
	unwinds_sort(symbols);
	free(reader->text);
	free(reader);
	return rc;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/cfi/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "symbols/cfi/cfi_address.h"
#include "symbols/cfi/cfi_columns.h"
#include "symbols/cfi/cfi_program.h"
#include "symbols/cfi/cfi_registers.h"
#include "symbols/cfi/cfi_rule.h"

/* Limits for the work on a damaged or hostile file.  A step is the work for one CFA instruction, or for one byte of the
 * rules that are written.  A copy of a state counts as 16 steps.  Most steps read new bytes of the file.  But the
 * program of a CIE runs again whenever two successive FDEs have different CIEs. */
#define STEPS_PER_BYTE 32
#define STEPS_MIN 1000000

static struct vg_elf_bytes cursor_of(const struct vg_cfi_reader *reader, const uint8_t *at,
				      const uint8_t *end)
{
	return (struct vg_elf_bytes){ at, end, reader->big_endian, false };
}

/* Reads the augmentation of a CIE.  Returns false if an unknown letter makes the size of the
 * augmentation data unknown. */
static bool augmentation_read(struct vg_cfi_reader *reader, const Dwarf_CIE *entry)
{
	struct vg_cfi_cie_state *cie = &reader->cie;
	struct vg_elf_bytes data = cursor_of(reader, entry->augmentation_data, NULL);
	const char *letter = entry->augmentation;
	bool valid = true;

	data.end = data.at != NULL ? data.at + entry->augmentation_data_size : NULL;
	cie->has_augmentation_length = *letter == 'z';
	if (cie->has_augmentation_length)
		letter++;
	for (; *letter != '\0'; letter++) {
		switch (*letter) {
		case 'R':
			cie->pointer_encoding = (uint8_t)vg_elf_byte(&data);
			break;
		case 'L':
			vg_elf_byte(&data);
			break;
		case 'P':
			vg_cfi_address(reader, &data, (uint8_t)vg_elf_byte(&data) & 0x0f, &valid);
			break;
		case 'S': /* signal frame */
		case 'B': /* return addresses are signed with key B */
		case 'G': /* memory is tagged */
			break;
		default:
			/* If the length of the data is known, the data can be skipped. */
			return cie->has_augmentation_length && !data.failed;
		}
	}
	return valid && !data.failed;
}

/* Returns 0, -EBADMSG, -ENOBUFS or -ENOMEM. */
static int cie_read(struct vg_cfi_reader *reader, const unsigned char *ident, Elf_Data *data,
		    bool is_eh, uint64_t offset)
{
	struct vg_cfi_cie_state *cie = &reader->cie;
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;
	int rc;

	if (offset == cie->offset)
		return 0;
	cie->offset = UINT64_MAX;
	if (offset >= reader->data_bytes ||
	    dwarf_next_cfi(ident, data, is_eh, offset, &next, &entry) != 0 ||
	    !dwarf_cfi_cie_p(&entry))
		return -EBADMSG;
	rc = vg_work_limit_use(&reader->work_limit, 16 + (next - offset) / 16);
	if (rc != 0)
		return rc;
	cie->code_factor = entry.cie.code_alignment_factor;
	cie->data_factor = entry.cie.data_alignment_factor;
	cie->return_register = entry.cie.return_address_register;
	cie->augmentation_bytes = entry.cie.fde_augmentation_data_size;
	cie->pointer_encoding = DW_EH_PE_absptr;
	if (!augmentation_read(reader, &entry.cie))
		return -EBADMSG;
	if (reader->column_count == 0 || reader->return_register != cie->return_register)
		vg_cfi_columns_set(reader, cie->return_register);
	memset(&cie->initial, 0, sizeof cie->initial);
	memset(&reader->state, 0, sizeof reader->state);
	reader->location = 0;
	reader->end = UINT64_MAX;
	rc = vg_cfi_run(reader, cursor_of(reader, entry.cie.initial_instructions,
					  entry.cie.initial_instructions_end), false);
	if (rc != 0)
		return rc;
	cie->initial = reader->state;
	cie->offset = offset;
	return 0;
}

static int program_run(struct vg_cfi_reader *reader, struct vg_elf_bytes cursor)
{
	int rc;

	if (reader->cie.has_augmentation_length)
		vg_elf_block(&cursor);
	else
		vg_elf_skip(&cursor, reader->cie.augmentation_bytes);
	if (cursor.failed)
		return -EBADMSG;
	reader->state = reader->cie.initial;
	reader->dirty = reader->state.used;
	rc = vg_cfi_run(reader, cursor, true);
	/* Rows before the damage are valid. */
	vg_cfi_range_end(reader, rc == 0 || reader->location > reader->end ? reader->end :
			 reader->location);
	return rc;
}

/* Returns 0, -EBADMSG, -ENOBUFS or -ENOMEM. */
static int fde_read(struct vg_cfi_reader *reader, const Dwarf_FDE *entry)
{
	struct vg_elf_bytes cursor = cursor_of(reader, entry->start, entry->end);
	uint8_t encoding = reader->cie.pointer_encoding;
	uint64_t address, size_bytes;
	bool valid, size_valid;
	int rc = vg_work_limit_use(&reader->work_limit, 16);

	if (rc != 0)
		return rc;
	address = vg_cfi_address(reader, &cursor, encoding, &valid);
	size_bytes = vg_cfi_address(reader, &cursor, encoding & 0x0f, &size_valid);
	if (!valid || !size_valid || __builtin_add_overflow(address, size_bytes, &reader->end))
		return -EBADMSG;
	/* The FDE of a function that the linker dropped has no valid address. */
	if (size_bytes == 0 || address < reader->image->load_base ||
	    !vg_elf_image_has_code(reader->image, address))
		return 0;
	if (size_bytes > UINT32_MAX)
		return -EBADMSG;
	reader->location = address;
	return program_run(reader, cursor);
}

static int section_cfi_read(struct vg_cfi_reader *reader, Elf *elf, Elf_Data *data, bool is_eh)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
	Dwarf_Off offset = 0, next = 0;
	int rc = 0, status;

	reader->data = data->d_buf;
	reader->data_bytes = data->d_size;
	reader->cie.offset = UINT64_MAX;
	for (; offset < data->d_size && (rc == 0 || rc == -EBADMSG); offset = next) {
		Dwarf_CFI_Entry entry;

		next = offset;
		status = dwarf_next_cfi(ident, data, is_eh, offset, &next, &entry);
		if (status > 0)
			break;
		rc = status < 0 ? -EBADMSG : 0;
		if (rc == 0 && !dwarf_cfi_cie_p(&entry)) {
			rc = cie_read(reader, ident, data, is_eh, entry.fde.CIE_pointer);
			if (rc == 0)
				rc = fde_read(reader, &entry.fde);
		}
		if (rc == -EBADMSG)
			reader->symbols->bad_records++;
		/* Without a valid length the next entry cannot be found. */
		if (next <= offset)
			break;
	}
	return rc == -EBADMSG ? 0 : rc;
}

static int file_cfi_read(struct vg_cfi_reader *reader, const struct vg_elf_image *file)
{
	static const char *const names[] = { ".eh_frame", ".debug_frame" };
	int rc = 0;

	for (size_t i = 0; i < sizeof names / sizeof *names && rc == 0; i++) {
		GElf_Shdr header;
		Elf_Data *data = vg_elf_section_data(file, names[i], &header);

		if (data == NULL)
			continue;
		vg_work_limit_extend(&reader->work_limit, data->d_size, STEPS_PER_BYTE);
		reader->section_address = header.sh_addr;
		rc = section_cfi_read(reader, file->elf, data, i == 0);
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
		reader->names = vg_cfi_register_names(header.e_machine);
		reader->big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
		reader->address_bytes = header.e_ident[EI_CLASS] == ELFCLASS32 ? 4 : 8;
	}
	reader->work_limit.steps_left = STEPS_MIN;
	return reader;
}

static int cfi_range_compare(const void *left, const void *right)
{
	const struct vg_symbol_cfi_range *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	/* Ranges with the same address stay in the order in which they were read: first_row rises in that order. */
	return a->first_row < b->first_row ? -1 : a->first_row > b->first_row;
}

/* Sorts the ranges, and removes each one that overlaps an earlier one. */
static void cfi_ranges_sort(struct vg_symbols *symbols)
{
	struct vg_symbol_cfi_range *cfi_ranges = symbols->cfi_ranges.items;
	size_t kept = 0;

	if (symbols->cfi_ranges.count == 0)
		return;
	qsort(cfi_ranges, symbols->cfi_ranges.count, sizeof *cfi_ranges, cfi_range_compare);
	for (size_t i = 1; i < symbols->cfi_ranges.count; i++) {
		if (cfi_ranges[i].address - cfi_ranges[kept].address >= cfi_ranges[kept].size_bytes)
			cfi_ranges[++kept] = cfi_ranges[i];
	}
	symbols->cfi_ranges.count = kept + 1;
}

int vg_cfi_read(const struct vg_elf_image *image, const struct vg_elf_image *debug,
		struct vg_symbols *symbols)
{
	struct vg_cfi_reader *reader = reader_new(image, symbols);
	int rc = 0;

	if (reader == NULL)
		return -ENOMEM;
	if (reader->names.count > 0)
		rc = file_cfi_read(reader, image);
	if (rc == 0 && reader->names.count > 0 && debug != NULL && debug != image)
		rc = file_cfi_read(reader, debug);
	/* The work limit was reached.  The ranges that were read so far are valid. */
	if (rc == -ENOBUFS) {
		reader->symbols->bad_records++;
		rc = 0;
	}
	cfi_ranges_sort(symbols);
	free(reader->text);
	free(reader);
	return rc;
}

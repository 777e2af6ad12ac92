/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "tests/recording/libdw_rows.h"

#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vignetted/unwind/cfi.h"
#include "vignetted/unwind/regs.h"

enum { PAGE_BYTES = 4096, STACK_MAX = 64, RA_COLUMN = 16 };

/* ---- invented registers and memory: each value is different ---- */

uint64_t mixed(uint64_t value)
{
	value = (value ^ value >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return value ^ value >> 29;
}

uint64_t register_value(uint64_t number, uint64_t address)
{
	return number == RA_COLUMN ? address : mixed(number + 1) & 0x7ffffffffff8;
}

static uint64_t word_at(uint64_t address)
{
	return mixed(address ^ 0x5555) & 0x7ffffffffff8;
}

/* ---- libdw's rows ---- */

/* Computes an expression.  Returns false if it has an operation that this program does not know. */
static bool evaluate(const Dwarf_Op *ops, size_t count, uint64_t address, uint64_t cfa,
		     uint64_t *result)
{
	uint64_t stack[STACK_MAX] = { 0 };
	size_t depth = 0;

	for (size_t i = 0; i < count; i++) {
		uint8_t atom = ops[i].atom;
		uint64_t *top = depth > 0 ? &stack[depth - 1] : &stack[0];

		if (depth == STACK_MAX)
			return false;
		if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
			stack[depth++] = register_value(atom - DW_OP_breg0, address) + ops[i].number;
		} else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
			stack[depth++] = atom - DW_OP_lit0;
		} else if (atom == DW_OP_bregx) {
			stack[depth++] = register_value(ops[i].number, address) + ops[i].number2;
		} else if (atom == DW_OP_call_frame_cfa) {
			stack[depth++] = cfa;
		} else if (atom == DW_OP_const1u || atom == DW_OP_const2u || atom == DW_OP_const4u ||
			   atom == DW_OP_const1s || atom == DW_OP_const2s || atom == DW_OP_const4s ||
			   atom == DW_OP_constu || atom == DW_OP_consts) {
			stack[depth++] = ops[i].number;
		} else if (atom == DW_OP_deref && depth > 0) {
			*top = word_at(*top);
		} else if (atom == DW_OP_plus_uconst && depth > 0) {
			*top += ops[i].number;
		} else if (atom == DW_OP_stack_value) {
			break;
		} else if (depth >= 2) {
			uint64_t right = stack[--depth], *left = &stack[depth - 1];

			switch (atom) {
			case DW_OP_plus: *left += right; break;
			case DW_OP_minus: *left -= right; break;
			case DW_OP_and: *left &= right; break;
			case DW_OP_shl: *left <<= right & 63; break;
			case DW_OP_mul: *left *= right; break;
			case DW_OP_ge: *left = (int64_t)*left >= (int64_t)right; break;
			default: return false;
			}
		} else {
			return false;
		}
	}
	*result = stack[depth > 0 ? depth - 1 : 0];
	return depth > 0;
}

static bool is_value(const Dwarf_Op *ops, size_t count)
{
	return count > 0 && ops[count - 1].atom == DW_OP_stack_value;
}

/* Where the caller's register is, according to libdw. */
enum saved { SAVED_AT, SAVED_VALUE, SAVED_SAME, SAVED_UNDEFINED, SAVED_REGISTER, SAVED_UNKNOWN };

static enum saved register_saved(Dwarf_Frame *frame, int number, uint64_t address, uint64_t cfa,
				 uint64_t *place)
{
	Dwarf_Op room[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, number, room, &ops, &count) != 0)
		return SAVED_UNKNOWN;
	if (count == 0)
		return ops == NULL ? SAVED_SAME : SAVED_UNDEFINED;
	if (count == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) {
		*place = ops[0].atom - DW_OP_reg0;
		return SAVED_REGISTER;
	}
	/* libdw's form of DW_CFA_register. */
	if (count == 1 && ops[0].atom == DW_OP_regx) {
		*place = ops[0].number;
		return SAVED_REGISTER;
	}
	if (!evaluate(ops, count, address, cfa, place))
		return SAVED_UNKNOWN;
	return is_value(ops, count) ? SAVED_VALUE : SAVED_AT;
}

/* The register to which an expression adds something; -1: it is another expression. */
static int register_of(const Dwarf_Op *ops, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ops[i].atom == DW_OP_deref)
			return -1;
	}
	if (ops[0].atom == DW_OP_bregx)
		return (int)ops[0].number;
	return ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31 ? ops[0].atom - DW_OP_breg0 : -1;
}

void outcome_of_libdw(struct outcome *outcome, Dwarf_Frame *frame, uint64_t address, bool signal)
{
	enum saved fp, ra, sp;
	Dwarf_Op *ops;
	size_t count;

	memset(outcome, 0, sizeof *outcome);
	outcome->signal = signal;
	outcome->refused = dwarf_frame_cfa(frame, &ops, &count) != 0;
	if (outcome->refused || !evaluate(ops, count, address, 0, &outcome->cfa))
		return;
	outcome->cfa_usual = ops[0].atom == DW_OP_breg0 + vg_dwarf_fp ||
			     ops[0].atom == DW_OP_breg0 + vg_dwarf_sp ||
			     (ops[0].atom == DW_OP_bregx && (ops[0].number == vg_dwarf_fp ||
							     ops[0].number == vg_dwarf_sp));
	outcome->cfa_register = register_of(ops, count);
	ra = register_saved(frame, RA_COLUMN, address, outcome->cfa, &outcome->ra_at);
	if (ra == SAVED_UNDEFINED) {
		outcome->known = outcome->root = true;
		return;
	}
	fp = register_saved(frame, (int)vg_dwarf_fp, address, outcome->cfa, &outcome->fp_at);
	outcome->fp_same = fp == SAVED_SAME;
	outcome->fp_undefined = fp == SAVED_UNDEFINED;
	sp = register_saved(frame, (int)vg_dwarf_sp, address, outcome->cfa, &outcome->sp);
	if (sp == SAVED_AT)
		outcome->sp = word_at(outcome->sp);
	else if (sp != SAVED_VALUE)
		outcome->sp = outcome->cfa;
	outcome->ra_in_register = ra == SAVED_REGISTER;
	outcome->known = (ra == SAVED_AT || ra == SAVED_REGISTER) &&
			 (fp == SAVED_SAME || fp == SAVED_UNDEFINED || fp == SAVED_AT);
}

/* ---- vignetted's rows ---- */

static uint64_t place(uint8_t base, int32_t offset, uint64_t cfa)
{
	uint64_t from = base == VG_FROM_CFA ? cfa :
			register_value(base == VG_FROM_FP ? vg_dwarf_fp : vg_dwarf_sp, 0);

	return from + (uint64_t)(int64_t)offset;
}

void outcome_of_row(struct outcome *outcome, const struct vg_row *row)
{
	memset(outcome, 0, sizeof *outcome);
	outcome->known = true;
	outcome->signal = row->signal;
	outcome->root = row->kind == VG_ROW_ROOT;
	outcome->cfa = place(row->cfa_base, row->cfa_offset, 0);
	if (row->cfa_deref)
		outcome->cfa = word_at(outcome->cfa) + row->cfa_addend;
	outcome->sp = outcome->cfa;
	outcome->ra_in_register = row->ra_base == VG_FROM_REGISTER;
	outcome->ra_at = outcome->ra_in_register ? (uint64_t)row->ra_offset :
			 place(row->ra_base, row->ra_offset, outcome->cfa);
	outcome->fp_same = row->fp_base == VG_FROM_SAME;
	outcome->fp_undefined = row->fp_base == VG_FROM_UNDEFINED;
	if (!outcome->fp_same && !outcome->fp_undefined)
		outcome->fp_at = place(row->fp_base, row->fp_offset, outcome->cfa);
}

/* ---- FDEs ---- */

/* Reads a pointer that has the encoding which linkers write: 32 bits, relative to its place. */
static bool pointer_read(const uint8_t **at, const uint8_t *end, const Elf_Data *data, uint64_t section,
			 uint64_t *pointer)
{
	int32_t distance;

	if ((size_t)(end - *at) < sizeof distance)
		return false;
	memcpy(&distance, *at, sizeof distance);
	*pointer = distance == 0 ? 0 : section + (uint64_t)(*at - (const uint8_t *)data->d_buf) +
					       (uint64_t)(int64_t)distance;
	*at += sizeof distance;
	return true;
}

static bool fde_read(const Dwarf_CFI_Entry *entry, bool has_lsda, const Elf_Data *data, uint64_t section,
		     struct file_fde *fde)
{
	const uint8_t *at = entry->fde.start;
	uint32_t size;

	*fde = (struct file_fde){ 0 };
	if (!pointer_read(&at, entry->fde.end, data, section, &fde->start) ||
	    (size_t)(entry->fde.end - at) < sizeof size)
		return false;
	memcpy(&size, at, sizeof size);
	at += sizeof size;
	fde->end = fde->start + size;
	/* The pointer follows the length of the augmentation data, which is 4 then. */
	return !has_lsda || at++ == entry->fde.end || pointer_read(&at, entry->fde.end, data, section, &fde->lsda);
}

static Elf_Scn *section_find(Elf *elf, const char *wanted)
{
	size_t names;
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		const char *name = gelf_getshdr(scn, &header) != NULL ?
				   elf_strptr(elf, names, header.sh_name) : NULL;

		if (name != NULL && strcmp(name, wanted) == 0)
			return scn;
	}
	return NULL;
}

/* Whether the FDEs of this CIE have language-specific data. */
static bool cie_has_lsda(unsigned char *ident, Elf_Data *data, Dwarf_Off offset)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	return dwarf_next_cfi(ident, data, true, offset, &next, &entry) == 0 && dwarf_cfi_cie_p(&entry) &&
	       strchr(entry.cie.augmentation, 'L') != NULL;
}

bool file_fdes_visit(struct file *file, void (*visit)(void *context, const struct file_fde *fde), void *context)
{
	Elf_Scn *scn = section_find(file->elf, ".eh_frame");
	unsigned char *ident = (unsigned char *)elf_getident(file->elf, NULL);
	Elf_Data *data;
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;
	GElf_Shdr header;

	if (scn == NULL)
		return false;
	data = elf_rawdata(scn, NULL);
	gelf_getshdr(scn, &header);
	for (; dwarf_next_cfi(ident, data, true, offset, &next, &entry) == 0; offset = next) {
		struct file_fde fde;

		if (!dwarf_cfi_cie_p(&entry) &&
		    fde_read(&entry, cie_has_lsda(ident, data, entry.fde.CIE_pointer), data, header.sh_addr, &fde))
			visit(context, &fde);
	}
	return true;
}

/* ---- files ---- */

static bool segments_extent(struct file *file, uint64_t *first, uint64_t *end)
{
	size_t count;
	GElf_Phdr segment;

	*first = UINT64_MAX;
	*end = 0;
	if (elf_getphdrnum(file->elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(file->elf, (int)i, &segment) == NULL || segment.p_type != PT_LOAD)
			continue;
		if (segment.p_vaddr < *first)
			*first = segment.p_vaddr / PAGE_BYTES * PAGE_BYTES;
		if (segment.p_vaddr + segment.p_memsz > *end)
			*end = segment.p_vaddr + segment.p_memsz;
	}
	return *first < *end;
}

static bool segments_map(struct file *file)
{
	uint64_t first, end;
	size_t count;
	GElf_Phdr segment;

	if (!segments_extent(file, &first, &end))
		return false;
	file->mapped_bytes = end - first;
	file->mapped = mmap(NULL, file->mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (file->mapped == MAP_FAILED)
		return false;
	file->bias = (uint64_t)file->mapped - first;
	elf_getphdrnum(file->elf, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t skew;

		if (gelf_getphdr(file->elf, (int)i, &segment) == NULL || segment.p_type != PT_LOAD ||
		    segment.p_filesz == 0)
			continue;
		skew = segment.p_vaddr % PAGE_BYTES;
		if (mmap((void *)(file->bias + segment.p_vaddr - skew), segment.p_filesz + skew, PROT_READ,
			 MAP_PRIVATE | MAP_FIXED, file->fd, (off_t)(segment.p_offset - skew)) == MAP_FAILED)
			return false;
	}
	return true;
}

bool file_open(struct file *file, struct vg_memory *memory, const char *name)
{
	memset(file, 0, sizeof *file);
	file->name = name;
	file->fd = open(name, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0)
		return false;
	file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	if (file->elf == NULL || !segments_map(file))
		return false;
	file->cfi = dwarf_getcfi_elf(file->elf);
	if (file->cfi == NULL || vg_image_read(&file->image, memory, (uint64_t)file->mapped) != 0)
		return false;
	if (file->image.eh_frame_hdr == 0)
		vg_sections_read(&file->image, file->fd);
	return true;
}

void file_close(struct file *file, struct vg_memory *memory)
{
	if (file->cfi != NULL)
		dwarf_cfi_end(file->cfi);
	elf_end(file->elf);
	if (file->mapped != NULL && file->mapped != MAP_FAILED)
		munmap(file->mapped, file->mapped_bytes);
	if (file->fd >= 0)
		close(file->fd);
	vg_fde_index_free(&file->image.fde_index);
	vg_memory_cache_drop(memory);
}

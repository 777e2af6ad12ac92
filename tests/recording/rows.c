/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * rows [-c] [-e EVERY] FILE...: compares vignetted's rows with libdw's.
 *
 * Each file is mapped as the loader would map it, and read through the same interface as a sampled process.  libdw
 * lists the FDEs from the section, and not from the sorted table or the index that vignetted searches.  Each
 * row of libdw is compared at its first address and at one address inside it: both sides compute the CFA and the places
 * of the frame pointer and the return address, from invented registers and memory.  So the form of a rule does not
 * matter.  The exit status is 1 if anything differs.
 *
 * -c: also compares the rows that vignetted finds from instructions, without unwind information.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vignetted/target/sections.h"
#include "vignetted/unwind/cfi.h"
#include "vignetted/unwind/code_rows.h"
#include "vignetted/unwind/regs.h"

enum { PAGE_BYTES = 4096, REGISTERS = 17, STACK_MAX = 64, SHOWN_MAX = 20, RA_COLUMN = 16 };

struct file {
	const char *name;
	int fd;
	Elf *elf;
	Dwarf_CFI *cfi;
	unsigned char *mapped;
	size_t mapped_bytes;
	uint64_t bias;
	struct vg_image image;
};

struct tally {
	uint64_t fdes, rows, compared, differences, complex_rows, complex_addresses, addresses;
	uint64_t refused;            /* rows that libdw calls malformed: they cannot be compared */
	uint64_t needless;           /* complex in vignetted, although libdw's CFA is from sp or fp */
	/* Numbers of addresses at which rows from instructions were compared; at which the first of these rows is
	 * right; at which any of them is right. */
	uint64_t code_rows, code_first, code_any;
};

/* The results of a row. */
struct outcome {
	bool known;                  /* false: this program cannot compute the row */
	bool root, fp_same, fp_undefined, signal;
	bool refused, ra_in_register;
	bool cfa_usual;              /* the CFA is computed from the stack pointer or the frame pointer */
	uint64_t cfa, fp_at, sp;
	uint64_t ra_at;              /* where the return address is: an address, or the number of a register */
};

static struct vg_memory memory;
static bool compare_code;                /* option -c */

/* ---- invented registers and memory: each value is different ---- */

static uint64_t mixed(uint64_t value)
{
	value = (value ^ value >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return value ^ value >> 29;
}

static uint64_t register_value(uint64_t number, uint64_t address)
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

static void outcome_of_libdw(struct outcome *outcome, Dwarf_Frame *frame, uint64_t address,
			     bool signal)
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

static void outcome_of_row(struct outcome *outcome, const struct vg_row *row)
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

/* ---- comparing ---- */

static bool agree(const struct outcome *theirs, const struct outcome *ours)
{
	if (theirs->root || ours->root)
		return theirs->root == ours->root;
	return theirs->known && theirs->cfa == ours->cfa && theirs->sp == ours->sp &&
	       theirs->ra_at == ours->ra_at && theirs->ra_in_register == ours->ra_in_register &&
	       theirs->signal == ours->signal &&
	       theirs->fp_same == ours->fp_same && theirs->fp_undefined == ours->fp_undefined &&
	       (theirs->fp_same || theirs->fp_undefined || theirs->fp_at == ours->fp_at);
}

static void outcome_print(const char *whose, const struct outcome *outcome)
{
	printf("    %-8s known %d root %d signal %d cfa %" PRIx64 " sp %" PRIx64 " ra %s%+" PRId64
	       " fp %s cfa%+" PRId64 "\n", whose, outcome->known, outcome->root, outcome->signal,
	       outcome->cfa, outcome->sp, outcome->ra_in_register ? "in register" : "at cfa",
	       (int64_t)(outcome->ra_at - (outcome->ra_in_register ? 0 : outcome->cfa)),
	       outcome->fp_same ? "same" : outcome->fp_undefined ? "undefined" : "at",
	       (int64_t)(outcome->fp_at - outcome->cfa));
}

static void difference_add(const struct file *file, struct tally *tally, uint64_t address,
			    const struct outcome *theirs, const struct vg_row *row)
{
	struct outcome ours;

	if (tally->differences++ >= SHOWN_MAX)
		return;
	printf("  %s: 0x%" PRIx64 ": differs, our kind is %u\n", file->name, address, row->kind);
	outcome_of_row(&ours, row);
	outcome_print("libdw", theirs);
	outcome_print("ours", &ours);
}

/* Compares the rows from instructions.  Only the caller's stack pointer counts. */
static void code_compare(const struct file *file, struct tally *tally, uint64_t address, const struct outcome *theirs)
{
	struct vg_row rows[2 * VG_CODE_ROWS_MAX];
	size_t count = vg_code_rows(&memory, file->bias + address, rows), right;
	struct outcome ours;
	bool ignored;

	count += vg_code_rows_backward(&memory, file->bias + address, rows + count, &ignored);
	for (right = 0; right < count; right++) {
		outcome_of_row(&ours, &rows[right]);
		if (ours.cfa == theirs->cfa)
			break;
	}
	tally->code_rows++;
	tally->code_first += right == 0 && count > 0;
	tally->code_any += right < count;
}

/* Compares one address with libdw's row, or with NULL if libdw has none. */
static void address_compare(struct file *file, struct tally *tally, uint64_t address,
			    Dwarf_Frame *frame, bool signal, uint64_t row_bytes)
{
	struct outcome theirs = { 0 }, ours;
	struct vg_row row;

	vg_cfi_row(&memory, &file->image, file->bias + address, &row);
	tally->compared++;
	if (frame == NULL) {
		if (row.kind != VG_ROW_NONE)
			difference_add(file, tally, address, &theirs, &row);
		return;
	}
	outcome_of_libdw(&theirs, frame, file->bias + address, signal);
	if (theirs.refused) {
		tally->refused += row_bytes != 0;
		return;
	}
	/* Only at the first address of a row, where an instruction begins. */
	if (compare_code && row_bytes != 0 && theirs.known && theirs.cfa_usual && !theirs.root && !theirs.signal &&
	    !theirs.ra_in_register)
		code_compare(file, tally, address, &theirs);
	if (row.kind == VG_ROW_COMPLEX) {
		tally->complex_rows += row_bytes != 0;
		tally->complex_addresses += row_bytes;
		tally->needless += row_bytes != 0 && theirs.known && theirs.cfa_usual;
		return;
	}
	outcome_of_row(&ours, &row);
	if (row.kind == VG_ROW_NONE || !agree(&theirs, &ours))
		difference_add(file, tally, address, &theirs, &row);
}

/* Compares every row from `address` to `end`. */
static void range_compare(struct file *file, struct tally *tally, uint64_t address,
			  uint64_t end)
{
	while (address < end) {
		Dwarf_Addr row_start, row_end;
		Dwarf_Frame *frame;
		bool signal;

		if (dwarf_cfi_addrframe(file->cfi, address, &frame) != 0) {
			printf("  %s: 0x%" PRIx64 ": libdw: %s\n", file->name, address, dwarf_errmsg(-1));
			tally->differences++;
			return;
		}
		dwarf_frame_info(frame, &row_start, &row_end, &signal);
		if (row_end > end)
			row_end = end;
		tally->rows++;
		tally->addresses += row_end - address;
		address_compare(file, tally, address, frame, signal, row_end - address);
		/* The results of a PLT row depend on the address. */
		if (row_end - address > 1)
			address_compare(file, tally, address + 1 + mixed(address) % (row_end - address - 1),
					frame, signal, 0);
		free(frame);
		if (row_end <= address)
			return;
		address = row_end;
	}
}

/* ---- FDEs ---- */

/* The range of an FDE.  Its pointers must have the encoding that linkers write: 32 bits, relative to their place. */
static bool fde_range(const Dwarf_CFI_Entry *entry, const Elf_Data *data, uint64_t section,
		      uint64_t *start, uint64_t *end)
{
	const uint8_t *at = entry->fde.start;
	int32_t distance;
	uint32_t size;

	if ((size_t)(entry->fde.end - at) < sizeof distance + sizeof size)
		return false;
	memcpy(&distance, at, sizeof distance);
	memcpy(&size, at + sizeof distance, sizeof size);
	*start = section + (uint64_t)(at - (const uint8_t *)data->d_buf) + (uint64_t)(int64_t)distance;
	*end = *start + size;
	return true;
}

static void section_compare(struct file *file, struct tally *tally, Elf_Scn *scn, unsigned every)
{
	unsigned char *ident = (unsigned char *)elf_getident(file->elf, NULL);
	Elf_Data *data = elf_rawdata(scn, NULL);
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;
	GElf_Shdr header;

	gelf_getshdr(scn, &header);
	for (; dwarf_next_cfi(ident, data, true, offset, &next, &entry) == 0; offset = next) {
		uint64_t start, end;
		Dwarf_Frame *frame;

		if (dwarf_cfi_cie_p(&entry) || tally->fdes++ % every != 0 ||
		    !fde_range(&entry, data, header.sh_addr, &start, &end) || start == end)
			continue;
		range_compare(file, tally, start, end);
		/* After the FDE's end there is another FDE, or neither libdw nor vignetted has a row. */
		if (dwarf_cfi_addrframe(file->cfi, end, &frame) == 0)
			free(frame);
		else
			address_compare(file, tally, end, NULL, false, 0);
	}
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

static bool file_open(struct file *file, const char *name)
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
	if (file->cfi == NULL || vg_image_read(&file->image, &memory, (uint64_t)file->mapped) != 0)
		return false;
	if (file->image.eh_frame_hdr == 0)
		vg_sections_read(&file->image, file->fd);
	return true;
}

static void file_close(struct file *file)
{
	if (file->cfi != NULL)
		dwarf_cfi_end(file->cfi);
	elf_end(file->elf);
	if (file->mapped != NULL && file->mapped != MAP_FAILED)
		munmap(file->mapped, file->mapped_bytes);
	if (file->fd >= 0)
		close(file->fd);
	vg_fde_index_free(&file->image.fde_index);
	vg_memory_cache_drop(&memory);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static bool file_compare(const char *name, unsigned every)
{
	struct tally tally = { 0 };
	Elf_Scn *scn = NULL;
	struct file file;
	bool good = file_open(&file, name);

	if (good)
		scn = section_find(file.elf, ".eh_frame");
	if (scn != NULL)
		section_compare(&file, &tally, scn, every);
	file_close(&file);
	if (scn == NULL || tally.rows == 0) {
		printf("%s: nothing to compare\n", name);
		return false;
	}
	printf("%s: %" PRIu64 " FDEs, %" PRIu64 " rows, %" PRIu64 " addresses compared, %" PRIu64
	       " differences, %" PRIu64 " refused by libdw; complex: %.3f %% of rows, %.3f %% of addresses, %" PRIu64
	       " needlessly\n", name, tally.fdes, tally.rows, tally.compared, tally.differences, tally.refused,
	       share(tally.complex_rows, tally.rows), share(tally.complex_addresses, tally.addresses),
	       tally.needless);
	if (compare_code)
		printf("%s: by code: of %" PRIu64 " addresses the first row is right for %.2f %%, any row for "
		       "%.2f %%\n", name, tally.code_rows, share(tally.code_first, tally.code_rows),
		       share(tally.code_any, tally.code_rows));
	return tally.differences == 0;
}

int main(int argc, char **argv)
{
	unsigned every = 1;
	int option, status = 0;

	while ((option = getopt(argc, argv, "ce:")) != -1) {
		if (option == 'c')
			compare_code = true;
		else if (option == 'e')
			every = (unsigned)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (every == 0 || optind == argc) {
		fprintf(stderr, "usage: rows [-c] [-e EVERY] FILE...\n");
		return 2;
	}
	elf_version(EV_CURRENT);
	if (vg_memory_open(&memory, getpid()) != 0)
		return 2;
	for (int i = optind; i < argc; i++) {
		if (!file_compare(argv[i], every))
			status = 1;
	}
	vg_memory_free(&memory);
	return status;
}

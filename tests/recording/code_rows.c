/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * code_rows [-v] [-e EVERY] FILE...: compares the rows that vignetted finds from instructions with libdw's rows.
 *
 * The files have unwind information, which the rows from instructions do not use.  Compared are the addresses of all
 * instructions of all FDEs, and all return addresses; with -e one of EVERY addresses.  For a return address, unwinders
 * use the row of the call, and the instructions are followed from the return address.
 *
 * A row is right if the CFA is right and the place of the caller's frame pointer is right.  Unwinding checks rows by
 * vg_code_rows_verify() where it knows the function's beginning.  This program checks them always.
 *
 * -v: prints each address for which the first row or the first row that passes the check is not right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/recording/fde_code.h"
#include "vignetted/unwind/code_rows.h"
#include "vignetted/unwind/regs.h"

/* How a row from instructions compares with libdw's. */
enum verdict {
	RIGHT,
	FP_UNKNOWN,                  /* the CFA is right, and the row says that the frame pointer is not known */
	FP_WRONG,                    /* the CFA is right */
	CFA_WRONG,
	OTHER_BASE,                  /* the CFAs are computed from different registers and cannot be compared */
	NO_ROW,
	VERDICTS
};

static const char *const verdict_names[] = { "right", "fp_unknown", "fp_wrong", "cfa_wrong", "other_base", "none" };

/* Which row of an address is judged: the first; the best; the first that passes the check. */
enum choice { FIRST, BEST, CHECKED, CHOICES };

struct tally {
	uint64_t addresses;
	uint64_t verdicts[CHOICES][VERDICTS];
};

/* What is counted in one tally. */
enum kind { INSTRUCTIONS, RETURNS, LANDING_PADS, KINDS };

static const char *const kind_names[] = { "instructions", "return addresses", "addresses behind landing pads" };

struct comparison {
	struct file *file;
	struct fde_code code;
	unsigned int every;
	bool verbose;
	uint64_t not_compared;       /* the CFI's row cannot be computed, or is a signal frame's or root's */
	uint64_t cfi_incomplete;     /* addresses in functions for which cfi_is_incomplete() */
	uint64_t not_decoded;        /* bytes of FDEs that are not instructions */
	struct tally tallies[KINDS];
};

static struct vg_memory memory;
static struct vg_code_space space;

/* ---- comparing ---- */

static uint64_t sp_value(void)
{
	return register_value(vg_dwarf_sp, 0);
}

/* The CFI of most epilogues does not mention that the frame pointer was popped: it says that the value is below the
 * stack pointer, where it still is. */
static bool fp_popped(const struct outcome *cfi)
{
	return cfi->cfa_register == (int)vg_dwarf_sp && !cfi->fp_same && !cfi->fp_undefined && cfi->fp_at < sp_value();
}

static enum verdict fp_compare(const struct outcome *cfi, const struct outcome *ours, const struct vg_row *row)
{
	bool same = cfi->fp_same || fp_popped(cfi);

	if (ours->fp_undefined || cfi->fp_undefined)
		return FP_UNKNOWN;
	if (ours->fp_same || same)
		return ours->fp_same && same ? RIGHT : FP_WRONG;
	if (ours->cfa == cfi->cfa)
		return ours->fp_at == cfi->fp_at ? RIGHT : FP_WRONG;
	if (row->fp_base != VG_FROM_CFA && row->fp_base != row->cfa_base)
		return FP_UNKNOWN;
	return ours->fp_at - ours->cfa == cfi->fp_at - cfi->cfa ? RIGHT : FP_WRONG;
}

/* Rows with different registers for the CFA cannot be compared by their numbers.  If a path from the function's
 * beginning confirms ours, it counts as right. */
static enum verdict row_compare(const struct outcome *cfi, const struct vg_row *row, enum vg_code_verdict verified)
{
	struct outcome ours;
	int base = (int)(row->cfa_base == VG_FROM_FP ? vg_dwarf_fp : vg_dwarf_sp);

	outcome_of_row(&ours, row);
	if (ours.cfa == cfi->cfa)
		return fp_compare(cfi, &ours, row);
	if (cfi->cfa_register == base && !row->cfa_deref)
		return CFA_WRONG;
	if (verified != VG_CODE_RIGHT)
		return OTHER_BASE;
	return fp_compare(cfi, &ours, row);
}

/* Whether unwinding would use the row.  The caller's frame cannot be lower on the stack.  The caller's stack pointer is
 * aligned; with this row it is, if it differs from libdw's by a multiple of 16. */
static bool passes(const struct outcome *cfi, const struct vg_row *row, enum vg_code_verdict verified)
{
	struct outcome ours;

	if (row->cfa_base == VG_FROM_SP && !row->cfa_deref && row->cfa_offset <= 0)
		return false;
	outcome_of_row(&ours, row);
	return verified == VG_CODE_RIGHT || (verified == VG_CODE_UNDECIDED && (ours.cfa - cfi->cfa) % 16 == 0);
}

static void row_print(const struct vg_row *row)
{
	printf(" cfa%s r%u%+d fp %u%+d", row->cfa_deref ? " at" : "",
	       (unsigned int)(row->cfa_base == VG_FROM_FP ? vg_dwarf_fp : vg_dwarf_sp), row->cfa_offset, row->fp_base,
	       row->fp_offset);
}

static void address_print(const struct comparison *all, enum kind kind, uint64_t address, const struct outcome *cfi,
			  const enum verdict verdicts[CHOICES])
{
	uint64_t base = cfi->cfa_register >= 0 ? register_value((uint64_t)cfi->cfa_register, 0) : 0;

	printf("%s: 0x%" PRIx64 ": %s: first %s, best %s, checked %s; CFI: cfa r%d%+" PRId64 " fp %s%+" PRId64 "; rows",
	       all->file->name, address, kind_names[kind], verdict_names[verdicts[FIRST]],
	       verdict_names[verdicts[BEST]], verdict_names[verdicts[CHECKED]], cfi->cfa_register,
	       (int64_t)(cfi->cfa - base),
	       cfi->fp_same ? "same" : cfi->fp_undefined ? "undefined" : fp_popped(cfi) ? "popped" : "cfa",
	       cfi->fp_same || cfi->fp_undefined ? 0 : (int64_t)(cfi->fp_at - cfi->cfa));
}

/* Compares the rows for the address.  Like unwinding, it searches in the next way only if no row passes the check. */
static void address_compare(struct comparison *all, enum kind kind, uint64_t address, uint64_t beginning,
			    const struct outcome *cfi)
{
	struct vg_code_reader reader = { .memory = &memory };
	struct tally *tally = &all->tallies[kind];
	enum verdict verdicts[CHOICES] = { NO_ROW, NO_ROW, NO_ROW };
	struct vg_code_rows found[VG_CODE_SEARCHES];
	uint64_t bias = all->file->bias;
	enum vg_code_search how;

	for (how = 0; how < VG_CODE_SEARCHES && verdicts[CHECKED] == NO_ROW; how++) {
		vg_code_rows_find(&space, &reader, bias + address, how, &found[how]);
		for (size_t i = 0; i < found[how].count; i++) {
			const struct vg_row *row = &found[how].rows[i];
			enum vg_code_verdict verified = vg_code_rows_verify(&space, &reader, bias + beginning,
									    bias + address, row);
			enum verdict verdict = row_compare(cfi, row, verified);

			if (verdicts[BEST] == NO_ROW)
				verdicts[FIRST] = verdict;
			if (verdict < verdicts[BEST])
				verdicts[BEST] = verdict;
			if (verdicts[CHECKED] == NO_ROW && passes(cfi, row, verified))
				verdicts[CHECKED] = verdict;
		}
	}
	tally->addresses++;
	for (int choice = 0; choice < CHOICES; choice++)
		tally->verdicts[choice][verdicts[choice]]++;
	if (!all->verbose || (verdicts[FIRST] == RIGHT && verdicts[CHECKED] == RIGHT))
		return;
	address_print(all, kind, address, cfi, verdicts);
	for (int i = 0; i < (int)how; i++) {
		printf(" |");
		for (size_t j = 0; j < found[i].count; j++)
			row_print(&found[i].rows[j]);
	}
	printf("; function 0x%" PRIx64 "\n", beginning);
}

/* libdw's row for the address.  False: there is none. */
static bool cfi_row(struct comparison *all, uint64_t address, uint64_t *row_end, struct outcome *outcome)
{
	Dwarf_Frame *frame;
	bool signal;

	if (dwarf_cfi_addrframe(all->file->cfi, address, &frame) != 0)
		return false;
	dwarf_frame_info(frame, NULL, row_end, &signal);
	outcome_of_libdw(outcome, frame, all->file->bias + address, signal);
	free(frame);
	return true;
}

static bool is_comparable(const struct outcome *cfi)
{
	return cfi->known && !cfi->root && !cfi->signal && !cfi->ra_in_register;
}

/* Assembly code may have incomplete CFI, written by hand: it does not mention that registers are pushed, or that the
 * frame pointer is. */
static bool cfi_is_incomplete(struct comparison *all, const struct fde *fde)
{
	bool pushes = false, pushes_fp = false, cfa_moves = false, fp_saved = false;
	uint64_t row_end = 0, cfa = 0;
	struct instruction instruction;
	struct outcome cfi = { 0 };

	for (uint64_t at = fde->start; at < fde->end; at = instruction.next) {
		if (!fde_code_instruction(&all->code, at, fde->end, &instruction) ||
		    (at >= row_end && !cfi_row(all, at, &row_end, &cfi)))
			break;
		if (at == fde->start)
			cfa = cfi.cfa;
		cfa_moves |= cfi.cfa != cfa;
		fp_saved |= !cfi.fp_same;
		pushes |= instruction.is_push;
		pushes_fp |= instruction.pushes_fp;
	}
	return !fde->is_plt && ((pushes && !cfa_moves) || (pushes_fp && !fp_saved));
}

static void fde_compare(struct comparison *all, const struct fde *fde)
{
	uint64_t row_end = 0, beginning;
	struct instruction instruction;
	struct outcome cfi = { 0 };
	bool incomplete = cfi_is_incomplete(all, fde), is_pad;

	for (uint64_t at = fde->start; at < fde->end; at = instruction.next) {
		enum reach reach = fde_code_reach(&all->code, at);
		bool wanted = reach != REACH_NONE && mixed(at) % all->every == 0;

		if (!fde_code_instruction(&all->code, at, fde->end, &instruction)) {
			all->not_decoded += fde->end - at;
			return;
		}
		/* The row of a PLT depends on the address. */
		if ((at >= row_end || fde->is_plt) && !cfi_row(all, at, &row_end, &cfi))
			return;
		if (!wanted)
			continue;
		all->cfi_incomplete += incomplete;
		all->not_compared += !incomplete && !is_comparable(&cfi);
		if (incomplete || !is_comparable(&cfi))
			continue;
		beginning = fde_code_beginning(&all->code, fde, at);
		is_pad = reach == REACH_LANDING_PAD;
		address_compare(all, is_pad ? LANDING_PADS : INSTRUCTIONS, at, beginning, &cfi);
		if (instruction.is_call)
			address_compare(all, is_pad ? LANDING_PADS : RETURNS, instruction.next, beginning, &cfi);
	}
}

/* ---- results ---- */

static double share(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static uint64_t wrong(const uint64_t verdicts[VERDICTS])
{
	return verdicts[FP_WRONG] + verdicts[CFA_WRONG] + verdicts[OTHER_BASE];
}

static double right(const uint64_t verdicts[VERDICTS], uint64_t whole)
{
	return share(verdicts[RIGHT] + verdicts[FP_UNKNOWN], whole);
}

static void tally_print(const char *name, const char *what, const struct tally *tally)
{
	const uint64_t *checked = tally->verdicts[CHECKED], *first = tally->verdicts[FIRST];
	uint64_t whole = tally->addresses;

	printf("code_rows: %s: %" PRIu64 " %s: %.2f %% right, %.3f %% wrong, %.2f %% none; first row: %.2f %% right, "
	       "%.2f %% wrong; some row: %.2f %% right; wrong are %" PRIu64 " CFAs and %" PRIu64
	       " frame pointers, %" PRIu64 " CFAs cannot be compared\n", name, whole, what, right(checked, whole),
	       share(wrong(checked), whole), share(checked[NO_ROW], whole), right(first, whole),
	       share(wrong(first), whole), right(tally->verdicts[BEST], whole), checked[CFA_WRONG], checked[FP_WRONG],
	       checked[OTHER_BASE]);
}

static bool file_compare(const char *path, unsigned int every, bool verbose)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	struct file file;
	struct comparison all = { .file = &file, .every = every, .verbose = verbose };
	bool good = file_open(&file, &memory, path) && fde_code_read(&all.code, &file);

	for (size_t i = 0; i < all.code.count && good; i++)
		fde_compare(&all, &all.code.fdes[i]);
	for (int kind = 0; kind < KINDS && good; kind++)
		tally_print(name, kind_names[kind], &all.tallies[kind]);
	if (good)
		printf("code_rows: %s: %zu FDEs, %" PRIu64 " addresses have CFI that cannot be compared, %" PRIu64
		       " have incomplete CFI, %" PRIu64 " bytes cannot be decoded\n", name, all.code.count,
		       all.not_compared, all.cfi_incomplete, all.not_decoded);
	else
		printf("code_rows: %s: nothing to compare\n", name);
	fde_code_free(&all.code);
	file_close(&file, &memory);
	return good;
}

int main(int argc, char **argv)
{
	unsigned int every = 1;
	bool verbose = false;
	int option, status = 0;

	while ((option = getopt(argc, argv, "ve:")) != -1) {
		if (option == 'v')
			verbose = true;
		else if (option == 'e')
			every = (unsigned int)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (every == 0 || optind == argc) {
		fprintf(stderr, "usage: code_rows [-v] [-e EVERY] FILE...\n");
		return 2;
	}
	elf_version(EV_CURRENT);
	if (vg_memory_open(&memory, getpid()) != 0)
		return 2;
	for (int i = optind; i < argc; i++) {
		if (!file_compare(argv[i], every, verbose))
			status = 1;
	}
	vg_memory_free(&memory);
	return status;
}

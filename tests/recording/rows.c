/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * rows [-e EVERY] FILE...: compares vignetted's rows with libdw's.
 *
 * Each file is mapped as the loader would map it, and read through the same interface as a sampled process.  libdw
 * lists the FDEs from the section, and not from the sorted table or the index that vignetted searches.  Each
 * row of libdw is compared at its first address and at one address inside it: both sides compute the CFA and the places
 * of the frame pointer and the return address, from invented registers and memory.  So the form of a rule does not
 * matter.  The exit status is 1 if anything differs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/recording/libdw_rows.h"
#include "vignetted/unwind/cfi.h"

enum { SHOWN_MAX = 20 };

struct tally {
	uint64_t fdes, rows, compared, differences, complex_rows, complex_addresses, addresses;
	uint64_t refused;            /* rows that libdw calls malformed: they cannot be compared */
	uint64_t needless;           /* complex in vignetted, although libdw's CFA is from sp or fp */
};

struct comparison {
	struct file file;
	struct tally tally;
	unsigned every;
};

static struct vg_memory memory;

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

static double share(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void fde_compare(void *context, const struct file_fde *fde)
{
	struct comparison *comparison = context;
	Dwarf_Frame *frame;

	if (comparison->tally.fdes++ % comparison->every != 0 || fde->start == fde->end)
		return;
	range_compare(&comparison->file, &comparison->tally, fde->start, fde->end);
	/* After the FDE's end there is another FDE, or neither libdw nor vignetted has a row. */
	if (dwarf_cfi_addrframe(comparison->file.cfi, fde->end, &frame) == 0)
		free(frame);
	else
		address_compare(&comparison->file, &comparison->tally, fde->end, NULL, false, 0);
}

static bool file_compare(const char *name, unsigned every)
{
	struct comparison comparison = { .every = every };
	const struct tally *tally = &comparison.tally;
	bool good = file_open(&comparison.file, &memory, name) &&
		    file_fdes_visit(&comparison.file, fde_compare, &comparison);

	file_close(&comparison.file, &memory);
	if (!good || tally->rows == 0) {
		printf("%s: nothing to compare\n", name);
		return false;
	}
	printf("%s: %" PRIu64 " FDEs, %" PRIu64 " rows, %" PRIu64 " addresses compared, %" PRIu64
	       " differences, %" PRIu64 " refused by libdw; complex: %.3f %% of rows, %.3f %% of addresses, %" PRIu64
	       " needlessly\n", name, tally->fdes, tally->rows, tally->compared, tally->differences, tally->refused,
	       share(tally->complex_rows, tally->rows), share(tally->complex_addresses, tally->addresses),
	       tally->needless);
	return tally->differences == 0;
}

int main(int argc, char **argv)
{
	unsigned every = 1;
	int option, status = 0;

	while ((option = getopt(argc, argv, "e:")) != -1) {
		if (option == 'e')
			every = (unsigned)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (every == 0 || optind == argc) {
		fprintf(stderr, "usage: rows [-e EVERY] FILE...\n");
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

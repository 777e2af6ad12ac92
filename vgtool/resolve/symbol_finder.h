/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SYMBOL_FINDER_H
#define VG_VGTOOL_SYMBOL_FINDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbols/store/store_binary.h"
#include "symbols/table/symbolization.h"
#include "symbols/table/table.h"

/*
 * Finds the best source of a module's symbols.  The sources are, best first:
 *  1. a symbol file with functions,
 *  2. an ELF file with debug information,
 *  3. a symbol file with linker symbols only (PUBLIC records),
 *  4. an ELF file without debug information,
 *  5. a file of this machine, if the caller can open one,
 *  6. a debug file of another place, if the caller can open one.
 * If the stores have neither 1 nor 2, servers may add a symbol file to a store first.
 *
 *	vg_symbol_finder_find(&finder, "libc.so.6", build_id, build_id_bytes, &source, &err);
 *	vg_symbol_source_lookup(&finder, &source, build_id, build_id_bytes, addresses, count, &symbolization, &err);
 *	vg_symbol_source_free(&source);
 */
struct vg_symbol_finder {
	const char *const *stores;   /* directories and files; the caller's */
	size_t store_count;
	struct vg_store_binaries binaries; /* ELF files in the stores, by build id */
	struct vg_store_binaries code_binaries; /* the same, with code */

	/* Opens the first file of this machine, from candidate *next on, that may be the module.  Sets *next for the
	 * next call.  Returns a descriptor and sets *path, both of which the caller frees, or returns -ENOENT.
	 * NULL: the stores are the only sources. */
	int (*open)(void *context, const char *module, const unsigned char *build_id, size_t build_id_bytes,
		    uint32_t *next, char **path);
	/* Opens a debug file by its build id, which the finder compares.  It is also asked for debug files of the files
	 * above, if no store has them.  Returns as open().  NULL: there is no other place. */
	int (*open_debug_file)(void *context, const unsigned char *build_id, size_t build_id_bytes, char **path);
	/* The same for a binary, for vg_symbol_finder_find_code(). */
	int (*open_binary)(void *context, const unsigned char *build_id, size_t build_id_bytes, char **path);
	/* Asks servers for the module's symbol file.  Returns 0 if one of the stores now has it.  NULL: no servers. */
	int (*fetch)(void *context, const char *module, const unsigned char *build_id, size_t build_id_bytes);
	void *context;               /* of these functions */
};

/* A file with a module's symbols. */
struct vg_symbol_source {
	char *path;                  /* owned */
	bool is_binary;              /* an ELF file; false: a symbol file */
	bool is_open;                /* fd is the open file, owned */
	int fd;
};

/* Finds the source of a module's symbols.  Returns 0; -ENOENT if no store has the module, or if the module has
 * no build id; or another negative errno, with a message in err.  The caller frees the source. */
int vg_symbol_finder_find(struct vg_symbol_finder *finder, const char *module, const unsigned char *build_id,
			  size_t build_id_bytes, struct vg_symbol_source *source, struct vg_err *err);

/* Call it after vg_symbol_finder_find() returned -ENOENT.  If the stores have another build of the module, sets err to
 * a sentence that names this other build and the build id that is needed, and returns true. */
bool vg_symbol_finder_other_build(const struct vg_symbol_finder *finder, const char *module,
				  const unsigned char *build_id, size_t build_id_bytes, struct vg_err *err);

/* Code that a binary must have. */
struct vg_code {
	struct vg_symbol_range range; /* module-relative */
	uint64_t load_base;          /* result: the virtual address of the module-relative address 0 */
};

/* Opens the binary with that build id and that code: from a store, of this machine, or by open_binary().  Sets
 * code->load_base.  Returns 0, -ENOENT or -ENOMEM, with a message in err.  The caller frees the source. */
int vg_symbol_finder_find_code(struct vg_symbol_finder *finder, const char *module, const unsigned char *build_id,
			       size_t build_id_bytes, struct vg_code *code, struct vg_symbol_source *source,
			       struct vg_err *err);

/* Looks up module-relative addresses.  They must be sorted and have no duplicates.  Returns 0, or a negative
 * errno with a message in err. */
int vg_symbol_source_lookup(const struct vg_symbol_finder *finder, struct vg_symbol_source *source,
			    const unsigned char *build_id, size_t build_id_bytes,
			    const uint64_t *addresses, size_t count, struct vg_symbolization *symbolization,
			    struct vg_err *err);

/* Reads all symbols of the source, for many calls of vg_symbols_lookup().  The caller frees *symbols.  Returns 0, or a
 * negative errno with a message in err; *symbols is then empty. */
int vg_symbol_source_read(const struct vg_symbol_finder *finder, struct vg_symbol_source *source,
			  const unsigned char *build_id, size_t build_id_bytes, struct vg_symbols *symbols,
			  struct vg_err *err);

/* Sets *missing_file if the source lacks function names because the file that has these names was not found.
 * *missing_file must be all zero, and stays zero if no file is missing.  Returns 0, or a negative errno with a message
 * in err. */
int vg_symbol_source_find_missing_file(const struct vg_symbol_finder *finder, const struct vg_symbol_source *source,
				       struct vg_missing_file *missing_file, struct vg_err *err);

void vg_symbol_source_free(struct vg_symbol_source *source);
void vg_symbol_finder_free(struct vg_symbol_finder *finder);

/* Checks that every store can be read.  Without the check an unreadable store would look empty.  Returns
 * 0, or a negative errno with a message in err. */
int vg_symbol_finder_check(const struct vg_symbol_finder *finder, struct vg_err *err);

#endif

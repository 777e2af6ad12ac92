/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/resolve/symbol_finder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build_id.h"
#include "base/infile.h"
#include "symbols/binary.h"
#include "symbols/breakpad/breakpad.h"
#include "symbols/store/store.h"
#include "symbols/store/store_files.h"
#include "vgtool/output/text.h"

/* Takes ownership of the descriptor in `source`.  Returns 0 if the file has the build id and, unless `code` is NULL,
 * the code; else -ENOENT or -ENOMEM. */
static int source_check(struct vg_symbol_source *source, const unsigned char *build_id, size_t build_id_bytes,
			struct vg_code *code)
{
	unsigned char id[VG_BUILD_ID_MAX_BYTES];
	size_t bytes;
	int rc;

	source->is_open = true;
	rc = vg_store_binary_build_id(source->fd, source->path, id, &bytes);
	if (rc == 0 && (bytes != build_id_bytes || memcmp(id, build_id, bytes) != 0))
		rc = -ENOENT;
	if (rc == 0 && code != NULL)
		rc = vg_binary_code_find(source->fd, source->path, &code->range, &code->load_base);
	if (rc != 0)
		vg_symbol_source_free(source);
	return rc;
}

static int debug_file_find(const struct vg_symbol_finder *finder, const unsigned char *build_id, size_t build_id_bytes,
			   struct vg_symbol_source *source)
{
	if (finder->open_debug_file == NULL || build_id_bytes < 2)
		return -ENOENT;
	*source = (struct vg_symbol_source){ .is_binary = true };
	source->fd = finder->open_debug_file(finder->context, build_id, build_id_bytes, &source->path);
	return source->fd < 0 ? source->fd : source_check(source, build_id, build_id_bytes, NULL);
}

/* Files with the module's name may be other builds, so the build id of each is compared. */
static int machine_find(const struct vg_symbol_finder *finder, const char *module, const unsigned char *build_id,
			size_t build_id_bytes, struct vg_code *code, struct vg_symbol_source *source)
{
	uint32_t next = 0;

	if (finder->open == NULL || build_id_bytes == 0)
		return -ENOENT;
	for (;;) {
		int rc;

		*source = (struct vg_symbol_source){ .is_binary = true };
		source->fd = finder->open(finder->context, module, build_id, build_id_bytes, &next, &source->path);
		if (source->fd < 0)
			return source->fd;
		rc = source_check(source, build_id, build_id_bytes, code);
		if (rc != -ENOENT)
			return rc;
	}
}

/* *is_complete: the source has functions or debug information. */
static int stores_find(struct vg_symbol_finder *finder, const char *module, const unsigned char *build_id,
		       size_t build_id_bytes, struct vg_symbol_source *source, bool *is_complete, struct vg_err *err)
{
	struct vg_symbol_source binary = { .is_binary = true };
	bool has_functions = false, has_debug_info;
	int rc, binary_rc;

	*source = (struct vg_symbol_source){ 0 };
	rc = vg_store_find(finder->stores, finder->store_count, module, build_id, build_id_bytes,
			   &source->path, &has_functions, err);
	*is_complete = has_functions;
	if (rc == -ENOMEM || has_functions || build_id_bytes == 0)
		return rc;
	binary_rc = vg_store_find_binary(&finder->binaries, finder->stores, finder->store_count,
					 build_id, build_id_bytes, &binary.path, &has_debug_info);
	if (binary_rc == -ENOMEM) {
		vg_symbol_source_free(source);
		return vg_err_sys(err, binary_rc, "%s: cannot find the symbols", module);
	}
	if (binary_rc != 0 || (rc == 0 && !has_debug_info)) {
		vg_symbol_source_free(&binary);
		return rc;
	}
	vg_symbol_source_free(source);
	*source = binary;
	*is_complete = has_debug_info;
	return 0;
}

/* Asks the servers only for modules whose symbols the stores do not have. */
static int stores_and_servers_find(struct vg_symbol_finder *finder, const char *module, const unsigned char *build_id,
				   size_t build_id_bytes, struct vg_symbol_source *source, struct vg_err *err)
{
	bool is_complete;
	int rc = stores_find(finder, module, build_id, build_id_bytes, source, &is_complete, err);

	if (rc == -ENOMEM || is_complete || build_id_bytes < 2 || finder->fetch == NULL ||
	    finder->fetch(finder->context, module, build_id, build_id_bytes) != 0)
		return rc;
	vg_symbol_source_free(source);
	return stores_find(finder, module, build_id, build_id_bytes, source, &is_complete, err);
}

/* The path of an ELF file of this name in the stores, or NULL. */
static const char *binary_of_name(const struct vg_symbol_finder *finder, const char *module)
{
	for (size_t i = 0; i < finder->binaries.items.count; i++) {
		const char *path = finder->binaries.items.items[i].path;

		if (strcmp(basename(path), module) == 0)
			return path;
	}
	return NULL;
}

bool vg_symbol_finder_other_build(const struct vg_symbol_finder *finder, const char *module,
				  const unsigned char *build_id, size_t build_id_bytes, struct vg_err *err)
{
	char needed[2 * VG_BUILD_ID_MAX_BYTES + 1], id[VG_DEBUG_ID_ROOM];
	const char *path;

	if (build_id_bytes == 0)
		return false;
	vg_build_id_hex(needed, sizeof needed, build_id, build_id_bytes);
	if (vg_store_other_build(finder->stores, finder->store_count, module, id)) {
		vg_err_set(err, -ENOENT, "%.100s: symbols of another build (%s) are in the store; build id %s is "
			   "needed", module, id, needed);
		return true;
	}
	path = binary_of_name(finder, module);
	if (path == NULL)
		return false;
	vg_err_set(err, -ENOENT, "%.60s: %.100s is another build; build id %s is needed", module, path, needed);
	return true;
}

int vg_symbol_finder_find(struct vg_symbol_finder *finder, const char *module, const unsigned char *build_id,
			  size_t build_id_bytes, struct vg_symbol_source *source, struct vg_err *err)
{
	struct vg_symbol_source machine;
	int rc = stores_and_servers_find(finder, module, build_id, build_id_bytes, source, err), machine_rc;

	if (rc == 0 || rc == -ENOMEM)
		return rc;
	machine_rc = machine_find(finder, module, build_id, build_id_bytes, NULL, &machine);
	if (machine_rc != 0 && machine_rc != -ENOMEM)
		machine_rc = debug_file_find(finder, build_id, build_id_bytes, &machine);
	if (machine_rc == -ENOMEM)
		return vg_err_sys(err, machine_rc, "%s: cannot find the symbols", module);
	if (machine_rc != 0)
		return rc;
	vg_symbol_source_free(source);
	*source = machine;
	return 0;
}

static int store_code_find(struct vg_symbol_finder *finder, const unsigned char *build_id, size_t build_id_bytes,
			   struct vg_code *code, struct vg_symbol_source *source)
{
	bool has_code;
	int rc;

	*source = (struct vg_symbol_source){ .is_binary = true };
	finder->code_binaries.wants_code = true;
	rc = vg_store_find_binary(&finder->code_binaries, finder->stores, finder->store_count, build_id,
				  build_id_bytes, &source->path, &has_code);
	if (rc != 0)
		return rc;
	source->fd = vg_regular_file_open(source->path);
	if (source->fd >= 0)
		return source_check(source, build_id, build_id_bytes, code);
	vg_symbol_source_free(source);
	return -ENOENT;
}

int vg_symbol_finder_find_code(struct vg_symbol_finder *finder, const char *module, const unsigned char *build_id,
			       size_t build_id_bytes, struct vg_code *code, struct vg_symbol_source *source,
			       struct vg_err *err)
{
	char hex[2 * VG_BUILD_ID_MAX_BYTES + 1];
	int rc = store_code_find(finder, build_id, build_id_bytes, code, source);

	if (rc == -ENOENT)
		rc = machine_find(finder, module, build_id, build_id_bytes, code, source);
	if (rc == -ENOENT && finder->open_binary != NULL && build_id_bytes >= 2) {
		*source = (struct vg_symbol_source){ .is_binary = true };
		source->fd = finder->open_binary(finder->context, build_id, build_id_bytes, &source->path);
		rc = source->fd < 0 ? source->fd : source_check(source, build_id, build_id_bytes, code);
	}
	if (rc == 0)
		return 0;
	vg_build_id_hex(hex, sizeof hex, build_id, build_id_bytes);
	return rc == -ENOMEM ? vg_err_sys(err, rc, "%s: cannot find the binary", module) :
	       vg_err_set(err, -ENOENT, "%.100s: the binary with the build id %s was not found; -s DIRECTORY names a "
			  "directory that has it", module, hex);
}

/* Files that belong to a binary (its debug file, the file that dwz made) can be in any of the stores. */
static struct vg_symbols_search search_of(const struct vg_symbol_finder *finder)
{
	return (struct vg_symbols_search){ .debug_dirs = finder->stores,
					   .debug_dir_count = finder->store_count,
					   .open = finder->open_debug_file, .open_context = finder->context };
}

static int binary_read(const struct vg_symbol_finder *finder, struct vg_symbol_source *source,
		       const unsigned char *build_id, size_t build_id_bytes, struct vg_symbols *symbols,
		       struct vg_err *err)
{
	const struct vg_symbols_search search = search_of(finder);
	int rc = source->is_open ? vg_symbols_from_descriptor(symbols, source->fd, source->path, &search, err) :
		 vg_symbols_from_binary(symbols, source->path, &search, err);

	source->is_open = false;     /* it was closed */
	if (rc != 0)
		return rc;
	/* The file may have been replaced since it was found. */
	if (symbols->build_id_bytes == build_id_bytes && memcmp(symbols->build_id, build_id, build_id_bytes) == 0)
		return 0;
	vg_symbols_free(symbols);
	return vg_err_set(err, -ESTALE, "%s: its build id changed after the file was found; the file is not used",
			  source->path);
}

int vg_symbol_source_read(const struct vg_symbol_finder *finder, struct vg_symbol_source *source,
			  const unsigned char *build_id, size_t build_id_bytes, struct vg_symbols *symbols,
			  struct vg_err *err)
{
	*symbols = (struct vg_symbols){ 0 };
	if (!source->is_binary)
		return vg_breakpad_read(symbols, source->path, NULL, 0, err);
	return binary_read(finder, source, build_id, build_id_bytes, symbols, err);
}

static int binary_lookup(const struct vg_symbol_finder *finder, struct vg_symbol_source *source,
			 const unsigned char *build_id, size_t build_id_bytes,
			 const uint64_t *addresses, size_t count, struct vg_symbolization *symbolization,
			 struct vg_err *err)
{
	struct vg_symbols symbols = { 0 };
	int rc = binary_read(finder, source, build_id, build_id_bytes, &symbols, err);

	if (rc == 0 && vg_symbolization_from_table(symbolization, &symbols, addresses, count) != 0)
		rc = vg_err_sys(err, -ENOMEM, "%s: cannot look up the symbols", source->path);
	vg_symbols_free(&symbols);
	return rc;
}

int vg_symbol_source_lookup(const struct vg_symbol_finder *finder, struct vg_symbol_source *source,
			    const unsigned char *build_id, size_t build_id_bytes,
			    const uint64_t *addresses, size_t count, struct vg_symbolization *symbolization,
			    struct vg_err *err)
{
	if (!source->is_binary)
		return vg_breakpad_symbolize(symbolization, source->path, addresses, count, err);
	return binary_lookup(finder, source, build_id, build_id_bytes, addresses, count, symbolization, err);
}

int vg_symbol_source_find_missing_file(const struct vg_symbol_finder *finder, const struct vg_symbol_source *source,
				       struct vg_missing_file *missing_file, struct vg_err *err)
{
	const struct vg_symbols_search search = search_of(finder);

	/* A debug file of debuginfod: only the broker may open it by its path. */
	if (source->is_open)
		return 0;
	return source->is_binary ? vg_symbols_find_missing_file(missing_file, source->path, &search, err) :
	       vg_breakpad_find_missing_file(missing_file, source->path, err);
}

void vg_symbol_source_free(struct vg_symbol_source *source)
{
	free(source->path);
	if (source->is_open)
		close(source->fd);
	*source = (struct vg_symbol_source){ 0 };
}

void vg_symbol_finder_free(struct vg_symbol_finder *finder)
{
	vg_store_binaries_free(&finder->binaries);
	vg_store_binaries_free(&finder->code_binaries);
}

int vg_symbol_finder_check(const struct vg_symbol_finder *finder, struct vg_err *err)
{
	for (size_t i = 0; i < finder->store_count; i++) {
		int store = open(finder->stores[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

		if (store < 0)
			return vg_err_sys(err, -errno, "%s: cannot read the symbol store", finder->stores[i]);
		close(store);
	}
	return 0;
}

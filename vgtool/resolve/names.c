/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/resolve/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/binary.h"
#include "symbols/breakpad/breakpad.h"
#include "symbols/store/store.h"

int vg_names_find(struct vg_names *names, const char *module, const unsigned char *build_id,
		  size_t build_id_bytes, struct vg_names_place *place, struct vg_err *err)
{
	struct vg_names_place binary = { NULL, true };
	bool has_functions = false, has_debug_info;
	int rc, binary_rc;

	*place = (struct vg_names_place){ 0 };
	rc = vg_store_find(names->stores, names->store_count, module, build_id, build_id_bytes,
			   &place->path, &has_functions, err);
	if (rc == -ENOMEM || has_functions || build_id_bytes == 0)
		return rc;
	binary_rc = vg_store_find_binary(&names->binaries, names->stores, names->store_count,
					 build_id, build_id_bytes, &binary.path, &has_debug_info);
	if (binary_rc == -ENOMEM) {
		vg_names_place_free(place);
		return vg_err_sys(err, binary_rc, "%s", module);
	}
	if (binary_rc != 0 || (rc == 0 && !has_debug_info)) {
		vg_names_place_free(&binary);
		return rc;
	}
	vg_names_place_free(place);
	*place = binary;
	return 0;
}

/* What belongs to a binary (a debug file, dwz's) may lie in any of the stores. */
static struct vg_symbols_search search_of(const struct vg_names *names)
{
	return (struct vg_symbols_search){ .debug_dirs = names->stores,
					   .debug_dir_count = names->store_count };
}

static int binary_answer(const struct vg_names *names, const struct vg_names_place *place,
			 const unsigned char *build_id, size_t build_id_bytes,
			 const uint64_t *addresses, size_t count, struct vg_answers *answers,
			 struct vg_err *err)
{
	const struct vg_symbols_search search = search_of(names);
	struct vg_symbols symbols = { 0 };
	int rc = vg_symbols_from_binary(&symbols, place->path, &search, err);

	if (rc != 0)
		return rc;
	/* The file may be another one by now. */
	if (symbols.build_id_bytes != build_id_bytes ||
	    memcmp(symbols.build_id, build_id, build_id_bytes) != 0)
		rc = vg_err_set(err, -ESTALE, "%s: not used: its build id has changed", place->path);
	else if (vg_answers_from_table(answers, &symbols, addresses, count) != 0)
		rc = vg_err_sys(err, -ENOMEM, "%s", place->path);
	vg_symbols_free(&symbols);
	return rc;
}

int vg_names_answer(const struct vg_names *names, const struct vg_names_place *place,
		    const unsigned char *build_id, size_t build_id_bytes,
		    const uint64_t *addresses, size_t count, struct vg_answers *answers,
		    struct vg_err *err)
{
	if (!place->is_binary)
		return vg_breakpad_answer(answers, place->path, addresses, count, err);
	return binary_answer(names, place, build_id, build_id_bytes, addresses, count, answers, err);
}

int vg_names_find_absent(const struct vg_names *names, const struct vg_names_place *place,
			 struct vg_absent *absent, struct vg_err *err)
{
	const struct vg_symbols_search search = search_of(names);

	return place->is_binary ? vg_symbols_find_absent(absent, place->path, &search, err) :
	       vg_breakpad_find_absent(absent, place->path, err);
}

void vg_names_place_free(struct vg_names_place *place)
{
	free(place->path);
	*place = (struct vg_names_place){ 0 };
}

void vg_names_free(struct vg_names *names)
{
	vg_store_binaries_free(&names->binaries);
}

int vg_names_check(const struct vg_names *names, struct vg_err *err)
{
	for (size_t i = 0; i < names->store_count; i++) {
		int store = open(names->stores[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

		if (store < 0)
			return vg_err_sys(err, -errno, "cannot read the store %s", names->stores[i]);
		close(store);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define INPUT_MAX_CHARS 8192
#define OUTPUT_MAX_CHARS 65536

/* The most references to earlier parts (S_, S0_) in a name with pack expansions.  libiberty searches what is below a
 * pack expansion without printing it (d_find_pack()), and each reference again: 66 of them took 2^34 steps, 30 take
 * 3^10 at most.  Of 5,740 such names in 42 libraries of Debian 12, two have more. */
enum { PACK_REFERENCES_MAX = 30 };

struct sink {
	struct vg_demangler *demangler;
	jmp_buf stop;
};

static void sink_append(const char *text, size_t length, void *opaque)
{
	struct sink *sink = opaque;
	struct vg_demangler *demangler = sink->demangler;

	/* libiberty has no way to stop a demangler.  Its callback interface allocates nothing on
	 * the heap, so longjmp() out of a callback leaks nothing. */
	if (length > OUTPUT_MAX_CHARS - demangler->used ||
	    vg_array_grow((void **)&demangler->text, &demangler->capacity, demangler->used,
			  length + 1, 1) != 0)
		longjmp(sink->stop, 1);
	memcpy(demangler->text + demangler->used, text, length);
	demangler->used += length;
	demangler->text[demangler->used] = '\0';
}

static bool demangle_with(struct vg_demangler *demangler, const char *name,
			  int (*demangle)(const char *, int, demangle_callbackref, void *))
{
	struct sink sink = { .demangler = demangler };

	demangler->used = 0;
	if (setjmp(sink.stop) != 0)
		return false;
	return demangle(name, DMGL_PARAMS, sink_append, &sink) != 0 && demangler->used > 0;
}

static bool packs_are_bounded(const char *name)
{
	int references = 0;

	/* Dp: of types; sp: of expressions.  Both can also be letters of an identifier, and then the limit applies,
	 * too. */
	if (strstr(name, "Dp") == NULL && strstr(name, "sp") == NULL)
		return true;
	for (const char *at = name; (at = strchr(at, 'S')) != NULL;) {
		at += 1 + strspn(at + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		references += *at == '_';
	}
	return references <= PACK_REFERENCES_MAX;
}

bool vg_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || strcmp(name, "_Dmain") == 0);
}

const char *vg_demangle(struct vg_demangler *demangler, const char *name)
{
	if (!vg_is_mangled(name) || strnlen(name, INPUT_MAX_CHARS + 1) > INPUT_MAX_CHARS)
		return name;
	/* _Dmain is the main function of a program in the language D. */
	if (name[1] == 'D')
		return "D main";
	/* Legacy Rust names are valid C++ names with a hash at the end: try Rust first. */
	if (demangle_with(demangler, name, rust_demangle_callback))
		return demangler->text;
	if (name[1] == 'Z' && packs_are_bounded(name) && demangle_with(demangler, name, cplus_demangle_v3_callback))
		return demangler->text;
	return name;
}

/* Counts codes of GNAT that expand to longer words: `SO` becomes 'Output, `DF` becomes .Finalize. */
static size_t ada_growing_codes(const char *name)
{
	size_t count = 0;

	for (; name[0] != '\0'; name++)
		count += (name[0] == 'S' && name[1] != '\0' && strchr("RWIO", name[1]) != NULL) ||
			 (name[0] == 'D' && (name[1] == 'F' || name[1] == 'A'));
	return count;
}

const char *vg_demangle_ada(struct vg_demangler *demangler, const char *name)
{
	char *text;

	/* libiberty allocates room for one growing code only.  If a name has more of them, libiberty
	 * writes beyond the end of its buffer. */
	if (strnlen(name, INPUT_MAX_CHARS + 1) > INPUT_MAX_CHARS || ada_growing_codes(name) > 1)
		return name;
	text = ada_demangle(name, 0);
	/* If a name is not encoded, ada_demangle() returns it in angle brackets. */
	if (text == NULL || text[0] == '<') {
		free(text);
		return name;
	}
	free(demangler->text);
	demangler->text = text;
	demangler->used = strlen(text);
	demangler->capacity = demangler->used + 1;
	return text;
}

void vg_demangler_free(struct vg_demangler *demangler)
{
	if (demangler == NULL)
		return;
	free(demangler->text);
	memset(demangler, 0, sizeof *demangler);
}

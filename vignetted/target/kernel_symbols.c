/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/kernel_symbols.h"

#include <errno.h>
#include <stdbool.h>

#include "base/sorted.h"
#include "profile/model.h"

/* A line is "ADDRESS TYPE NAME", or "ADDRESS TYPE NAME\t[MODULE]".  A name has at most 511 bytes (KSYM_NAME_LEN), the
 * name of a module at most 55. */
enum { LINE_MAX_BYTES = 1024 };

/* A kernel of Debian has 120,000 lines and 5 MB. */
enum { SYMBOLS_MAX = 1 << 20, LINES_MAX = 4 << 20, TEXT_MAX_BYTES = 64 << 20, MODULES_MAX = 1 << 12 };

/* Code that is farther behind a symbol does not belong to it: no function of the kernel is that long. */
enum { FUNCTION_MAX_BYTES = 1 << 20 };

/* Unless the kernel hides addresses, one of the first lines has an address that is not 0.  This may not be the first
 * line: in kernels before 6.15 the first symbols are offsets in the memory of a CPU, and the first offset is 0. */
enum { LINES_TRIED = 64 };

static const char unknown[] = "[unknown]", kernel[] = "[kernel]";

static bool shows_addresses(FILE *file)
{
	char line[LINE_MAX_BYTES];

	for (int i = 0; i < LINES_TRIED && fgets(line, sizeof line, file) != NULL; i++) {
		if (strtoull(line, NULL, 16) != 0)
			return true;
	}
	return false;
}

int vg_kernel_symbols_open(struct vg_kernel_symbols *symbols, struct vg_err *err)
{
	*symbols = (struct vg_kernel_symbols){ .file = fopen("/proc/kallsyms", "re") };
	if (symbols->file == NULL)
		return vg_err_sys(err, -errno, "/proc/kallsyms, which has the names of kernel functions");
	/* The kernel decides at open(2) whether this file shows addresses (kallsyms_open()). */
	if (shows_addresses(symbols->file)) {
		rewind(symbols->file);
		return 0;
	}
	vg_kernel_symbols_close(symbols);
	return vg_err_set(err, -EACCES, "/proc/kallsyms hides the addresses of kernel functions; let root run: "
			  "sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
}

/* Appends the text.  Returns its offset, or VG_NONE if there is no room. */
static uint32_t text_add(struct vg_kernel_symbols *symbols, const char *text)
{
	size_t bytes = strlen(text) + 1, at = symbols->text.count;

	if (bytes > TEXT_MAX_BYTES - at || vg_array_reserve(&symbols->text, bytes) != 0)
		return VG_NONE;
	memcpy(symbols->text.items + at, text, bytes);
	symbols->text.count += bytes;
	return (uint32_t)at;
}

/* Adds the symbol of a line, if its type stands for code: t and T are symbols of a text section, w and W weak ones.  Of
 * symbols with the same address, the first one counts.  Returns 0 or -ENOMEM. */
static int line_add(struct vg_kernel_symbols *symbols, char *line)
{
	struct vg_kernel_symbol symbol = { .number = VG_NONE };
	size_t count = symbols->symbols.count;
	char *at, *name, *module;
	int rc;

	line[strcspn(line, "\n")] = '\0';
	symbol.address = strtoull(line, &at, 16);
	if (symbol.address == 0 || at[0] != ' ' || at[1] == '\0' || at[2] != ' ' ||
	    strchr("tTwW", at[1]) == NULL ||
	    (count > 0 && symbols->symbols.items[count - 1].address == symbol.address))
		return 0;
	name = at + 3;
	module = strchr(name, '\t');
	if (module != NULL)
		*module++ = '\0';
	if (module != NULL && symbols->modules.count < MODULES_MAX) {
		rc = vg_intern_string(&symbols->modules, module, &symbol.module);
		if (rc < 0)
			return rc;
	}
	symbol.name = text_add(symbols, name);
	return symbol.name == VG_NONE ? -ENOMEM : vg_array_push(&symbols->symbols, &symbol);
}

/* If memory is short, all code is unknown: the last symbol that was read would get the code of those behind it. */
static void file_read(struct vg_kernel_symbols *symbols)
{
	char line[LINE_MAX_BYTES];
	uint32_t id;
	int rc = vg_intern_string(&symbols->modules, kernel, &id);

	for (int i = 0; rc >= 0 && i < LINES_MAX && symbols->symbols.count < SYMBOLS_MAX &&
	     fgets(line, sizeof line, symbols->file) != NULL; i++)
		rc = line_add(symbols, line);
	fclose(symbols->file);
	symbols->file = NULL;
	if (rc < 0)
		symbols->symbols.count = 0;
	vg_sort_by(symbols->symbols.items, symbols->symbols.count, address);
}

int vg_kernel_symbols_number(struct vg_kernel_symbols *symbols, uint64_t address, uint32_t *number)
{
	const uint32_t none = VG_NONE;
	struct vg_kernel_symbol *symbol;
	uint32_t index;
	size_t count;

	if (symbols->file != NULL)
		file_read(symbols);
	/* The number 0 is unknown code. */
	if (symbols->found.count == 0 && vg_array_push(&symbols->found, &none) != 0)
		return -ENOMEM;
	*number = 0;
	count = vg_count_at_most(symbols->symbols.items, symbols->symbols.count, address, address);
	if (count == 0 || address - symbols->symbols.items[count - 1].address >= FUNCTION_MAX_BYTES)
		return 0;
	index = (uint32_t)count - 1;
	symbol = &symbols->symbols.items[index];
	if (symbol->number == VG_NONE) {
		if (vg_array_push(&symbols->found, &index) != 0)
			return -ENOMEM;
		symbol->number = (uint32_t)symbols->found.count - 1;
	}
	*number = symbol->number;
	return 0;
}

struct vg_kernel_function vg_kernel_symbols_function(const struct vg_kernel_symbols *symbols, uint32_t number)
{
	uint32_t index = symbols->found.items[number];
	const struct vg_kernel_symbol *symbol;

	if (index == VG_NONE)
		return (struct vg_kernel_function){ unknown, kernel, 0 };
	symbol = &symbols->symbols.items[index];
	return (struct vg_kernel_function){ symbols->text.items + symbol->name,
					    vg_intern_text(&symbols->modules, symbol->module), symbol->module };
}

void vg_kernel_symbols_close(struct vg_kernel_symbols *symbols)
{
	if (symbols->file != NULL)
		fclose(symbols->file);
	vg_array_free(&symbols->symbols);
	vg_array_free(&symbols->text);
	vg_array_free(&symbols->found);
	vg_intern_free(&symbols->modules);
	symbols->file = NULL;
}

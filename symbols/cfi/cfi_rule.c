/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/cfi/cfi_rule.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "symbols/cfi/cfi_expression.h"
#include "symbols/cfi/cfi_registers.h"

#define BIT(column) ((unsigned __int128)1 << (column))

static bool rule_equals(const struct vg_cfi_rule *a, const struct vg_cfi_rule *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case VG_CFI_UNSPECIFIED:
	case VG_CFI_UNDEFINED:
	case VG_CFI_SAME:
		return true;
	case VG_CFI_AT_OFFSET:
	case VG_CFI_IS_OFFSET:
		return a->offset == b->offset;
	case VG_CFI_REGISTER:
		return a->reg == b->reg && a->offset == b->offset;
	case VG_CFI_AT_EXPRESSION:
	case VG_CFI_IS_EXPRESSION:
		return a->expression_bytes == b->expression_bytes &&
		       (a->expression == b->expression ||
			memcmp(a->expression, b->expression, a->expression_bytes) == 0);
	}
	return false;
}

static size_t format(char *text, const char *form, ...) __attribute__((format(printf, 2, 3)));

static size_t format(char *text, const char *form, ...)
{
	va_list args;
	int length;

	va_start(args, form);
	length = vsnprintf(text, VG_CFI_RULE_TEXT_MAX, form, args);
	va_end(args);
	return length > 0 && length < VG_CFI_RULE_TEXT_MAX ? (size_t)length : 0;
}

static size_t expression_text(const struct vg_cfi_reader *reader, const struct vg_cfi_rule *rule,
			      uint8_t column, char text[VG_CFI_RULE_TEXT_MAX])
{
	size_t length = vg_cfi_translate(reader, rule->expression, rule->expression_bytes,
					 column != reader->cfa_column, text);

	if (length == 0 || rule->kind == VG_CFI_IS_EXPRESSION)
		return length;
	if (length + 2 >= VG_CFI_RULE_TEXT_MAX)
		return 0;
	memcpy(text + length, " ^", 3);
	return length + 2;
}

/* What an unchanged register is called.  The return address's own register is no column. */
static const char *same_name(const struct vg_cfi_reader *reader, uint8_t column)
{
	if (column == reader->ra_column)
		return vg_cfi_register_name(reader, reader->return_register);
	return column == reader->cfa_column ? NULL : reader->column_names[column];
}

/* The expression of a rule; 0 if there is none, or it cannot be said. */
static size_t rule_text(const struct vg_cfi_reader *reader, const struct vg_cfi_rule *rule,
			uint8_t column, char text[VG_CFI_RULE_TEXT_MAX])
{
	const char *name;

	switch (rule->kind) {
	case VG_CFI_UNSPECIFIED:
	case VG_CFI_SAME:
		name = same_name(reader, column);
		return name != NULL ? format(text, "%s", name) : 0;
	case VG_CFI_UNDEFINED:
		/* A return address of 0 ends the walk, here as in Breakpad's STACK WIN.  Later
		 * versions of the format have ".undef", which earlier readers choke on. */
		return column == reader->ra_column ? format(text, "0") : 0;
	case VG_CFI_AT_OFFSET:
		return format(text, ".cfa %" PRId64 " + ^", rule->offset);
	case VG_CFI_IS_OFFSET:
		return format(text, ".cfa %" PRId64 " +", rule->offset);
	case VG_CFI_REGISTER:
		name = vg_cfi_register_name(reader, rule->reg);
		if (name == NULL)
			return 0;
		if (column != reader->cfa_column)
			return format(text, "%s", name);
		return format(text, "%s %" PRId64 " +", name, rule->offset);
	case VG_CFI_AT_EXPRESSION:
	case VG_CFI_IS_EXPRESSION:
		return expression_text(reader, rule, column, text);
	}
	return 0;
}

void vg_cfi_write_end(struct vg_cfi_reader *reader, uint64_t address)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_unwind *last;

	if (!reader->is_open)
		return;
	reader->is_open = false;
	last = &symbols->unwinds.items[symbols->unwinds.count - 1];
	last->size_bytes = address - reader->image->load_base - last->address;
	if (last->size_bytes == 0) {
		symbols->unwind_rows.count = last->first_row;
		symbols->unwinds.count--;
	}
}

static int unwind_begin(struct vg_cfi_reader *reader, uint64_t address)
{
	struct vg_symbol_unwind unwind = {
		.address = address - reader->image->load_base,
		.first_row = (uint32_t)reader->symbols->unwind_rows.count,
	};
	int rc = vg_array_push(&reader->symbols->unwinds, &unwind);

	if (rc != 0)
		return rc;
	reader->is_open = true;
	memset(&reader->written, 0, sizeof reader->written);
	reader->dirty = reader->state.used | BIT(reader->cfa_column) | BIT(reader->ra_column);
	return 0;
}

/* Also a rule that cannot be said takes its time, and that in every row; the next step finds the
 * budget spent. */
static void rule_charge(struct vg_cfi_reader *reader, const struct vg_cfi_rule *rule)
{
	bool is_expression = rule->kind == VG_CFI_AT_EXPRESSION || rule->kind == VG_CFI_IS_EXPRESSION;
	uint64_t steps = 4 + (is_expression ? rule->expression_bytes : 0);

	if (vg_budget_spend(&reader->budget, steps) != 0)
		reader->budget.steps = 0;
}

enum appended {
	APPENDED,               /* what changed, if anything did */
	UNSAYABLE,              /* .cfa or .ra: there is no row without them */
	UNSET,                  /* a register that has a rule should have none */
};

static enum appended column_append(struct vg_cfi_reader *reader, uint8_t column, size_t *used)
{
	const struct vg_cfi_rule *rule = &reader->state.rules[column];
	bool is_needed = column == reader->cfa_column || column == reader->ra_column;
	bool is_first = !(reader->written.used & BIT(column));
	char text[VG_CFI_RULE_TEXT_MAX];
	size_t length;

	if (!is_first && rule_equals(rule, &reader->written.rules[column]))
		return APPENDED;
	/* Registers that no rule names are taken to be unchanged. */
	if (is_first && !is_needed && rule->kind == VG_CFI_UNSPECIFIED)
		return APPENDED;
	rule_charge(reader, rule);
	length = rule_text(reader, rule, column, text);
	if (length == 0 && !is_needed)
		return is_first ? APPENDED : UNSET;
	if (length == 0 ||
	    *used + strlen(reader->column_names[column]) + length + 4 > VG_CFI_TEXT_MAX)
		return UNSAYABLE;
	*used += (size_t)sprintf(reader->text + *used, "%s%s: %s", *used > 0 ? " " : "",
				 reader->column_names[column], text);
	reader->written.rules[column] = *rule;
	reader->written.used |= BIT(column);
	return APPENDED;
}

static unsigned lowest_bit(unsigned __int128 bits)
{
	uint64_t low = (uint64_t)bits;

	return low != 0 ? (unsigned)__builtin_ctzll(low) :
			  64 + (unsigned)__builtin_ctzll((uint64_t)(bits >> 64));
}

/* The text of what changed; *used is its length. */
static enum appended changes_format(struct vg_cfi_reader *reader, size_t *used)
{
	enum appended appended = APPENDED;

	*used = 0;
	for (unsigned __int128 left = reader->dirty; left != 0 && appended == APPENDED;
	     left &= left - 1)
		appended = column_append(reader, (uint8_t)lowest_bit(left), used);
	return appended;
}

static int row_push(struct vg_cfi_reader *reader, uint64_t address)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_unwind *unwind = &symbols->unwinds.items[symbols->unwinds.count - 1];
	struct vg_symbol_unwind_row row = {
		.offset_bytes = (uint32_t)(address - reader->image->load_base - unwind->address),
	};
	int rc = vg_intern_string(&symbols->strings, reader->text, &row.rules);

	if (rc < 0)
		return rc;
	rc = vg_array_push(&symbols->unwind_rows, &row);
	if (rc != 0)
		return rc;
	unwind->row_count++;
	return symbols->unwind_rows.count < VG_SYMBOLS_NONE ? 0 : -ENOBUFS;
}

int vg_cfi_write_row(struct vg_cfi_reader *reader, uint64_t address)
{
	enum appended appended;
	size_t used;
	int rc = reader->is_open ? 0 : unwind_begin(reader, address);

	if (rc != 0)
		return rc;
	appended = changes_format(reader, &used);
	/* The records have no word for it; a new beginning does. */
	if (appended == UNSET) {
		vg_cfi_write_end(reader, address);
		rc = unwind_begin(reader, address);
		if (rc != 0)
			return rc;
		appended = changes_format(reader, &used);
	}
	if (appended != APPENDED) {
		reader->symbols->unwinds_left_out++;
		vg_cfi_write_end(reader, address);
		return 0;
	}
	reader->dirty = 0;
	rc = used > 0 ? vg_budget_spend(&reader->budget, used) : 0;
	return rc == 0 && used > 0 ? row_push(reader, address) : rc;
}

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
	case VG_CFI_SAME_VALUE:
		return true;
	case VG_CFI_OFFSET:
	case VG_CFI_VAL_OFFSET:
		return a->offset == b->offset;
	case VG_CFI_REGISTER:
		return a->reg == b->reg && a->offset == b->offset;
	case VG_CFI_EXPRESSION:
	case VG_CFI_VAL_EXPRESSION:
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
	size_t length = vg_cfi_expression_text(reader, rule->expression, rule->expression_bytes,
					       column != reader->cfa_column, text);

	if (length == 0 || rule->kind == VG_CFI_VAL_EXPRESSION)
		return length;
	if (length + 2 >= VG_CFI_RULE_TEXT_MAX)
		return 0;
	memcpy(text + length, " ^", 3);
	return length + 2;
}

/* The name of a column's register, for the rule "unchanged".  The register of .ra is the return address
 * register, which has no column of its own.  .cfa has no register: the result is NULL. */
static const char *unchanged_name(const struct vg_cfi_reader *reader, uint8_t column)
{
	if (column == reader->ra_column)
		return vg_cfi_register_name(reader, reader->return_register);
	return column == reader->cfa_column ? NULL : reader->column_names[column];
}

/* Writes a rule to `text` as an expression in Breakpad's language.  Returns the text's length; 0 if
 * there is nothing to write, or if the language cannot express the rule. */
static size_t rule_text(const struct vg_cfi_reader *reader, const struct vg_cfi_rule *rule,
			uint8_t column, char text[VG_CFI_RULE_TEXT_MAX])
{
	const char *name;

	switch (rule->kind) {
	case VG_CFI_UNSPECIFIED:
	case VG_CFI_SAME_VALUE:
		name = unchanged_name(reader, column);
		return name != NULL ? format(text, "%s", name) : 0;
	case VG_CFI_UNDEFINED:
		/* A return address of 0 ends an unwind, as in Breakpad's STACK WIN records.
		 * Later versions of the format have ".undef" for this case, but older
		 * readers drop a frame whose rules have an unknown word. */
		return column == reader->ra_column ? format(text, "0") : 0;
	case VG_CFI_OFFSET:
		return format(text, ".cfa %" PRId64 " + ^", rule->offset);
	case VG_CFI_VAL_OFFSET:
		return format(text, ".cfa %" PRId64 " +", rule->offset);
	case VG_CFI_REGISTER:
		name = vg_cfi_register_name(reader, rule->reg);
		if (name == NULL)
			return 0;
		if (column != reader->cfa_column)
			return format(text, "%s", name);
		return format(text, "%s %" PRId64 " +", name, rule->offset);
	case VG_CFI_EXPRESSION:
	case VG_CFI_VAL_EXPRESSION:
		return expression_text(reader, rule, column, text);
	}
	return 0;
}

void vg_cfi_range_end(struct vg_cfi_reader *reader, uint64_t address)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_cfi_range *last;

	if (!reader->is_open)
		return;
	reader->is_open = false;
	last = &symbols->cfi_ranges.items[symbols->cfi_ranges.count - 1];
	last->size_bytes = address - reader->image->load_base - last->address;
	if (last->size_bytes == 0) {
		symbols->cfi_rows.count = last->first_row;
		symbols->cfi_ranges.count--;
	}
}

static int cfi_range_begin(struct vg_cfi_reader *reader, uint64_t address)
{
	struct vg_symbol_cfi_range cfi_range = {
		.address = address - reader->image->load_base,
		.first_row = (uint32_t)reader->symbols->cfi_rows.count,
	};
	int rc = vg_array_push(&reader->symbols->cfi_ranges, &cfi_range);

	if (rc != 0)
		return rc;
	reader->is_open = true;
	memset(&reader->written, 0, sizeof reader->written);
	reader->dirty = reader->state.used | BIT(reader->cfa_column) | BIT(reader->ra_column);
	return 0;
}

/* Counts the work of formatting a rule, even if the rule cannot be expressed: such a rule is tried
 * again in each row.  If the work limit is used up, the next step fails. */
static void rule_use_steps(struct vg_cfi_reader *reader, const struct vg_cfi_rule *rule)
{
	bool is_expression = rule->kind == VG_CFI_EXPRESSION || rule->kind == VG_CFI_VAL_EXPRESSION;
	uint64_t steps = 4 + (is_expression ? rule->expression_bytes : 0);

	if (vg_work_limit_use(&reader->work_limit, steps) != 0)
		reader->work_limit.steps_left = 0;
}

enum append_result {
	APPENDED,               /* the column's rule was appended, or did not change */
	INEXPRESSIBLE,          /* .cfa or .ra cannot be expressed: no row is possible */
	RULE_ENDED,             /* a register no longer has a rule that can be expressed */
};

static enum append_result column_append(struct vg_cfi_reader *reader, uint8_t column, size_t *used)
{
	const struct vg_cfi_rule *rule = &reader->state.rules[column];
	bool is_required = column == reader->cfa_column || column == reader->ra_column;
	bool is_first = !(reader->written.used & BIT(column));
	char text[VG_CFI_RULE_TEXT_MAX];
	size_t length;

	if (!is_first && rule_equals(rule, &reader->written.rules[column]))
		return APPENDED;
	/* A register without a rule is assumed to be unchanged. */
	if (is_first && !is_required && rule->kind == VG_CFI_UNSPECIFIED)
		return APPENDED;
	rule_use_steps(reader, rule);
	length = rule_text(reader, rule, column, text);
	if (length == 0 && !is_required)
		return is_first ? APPENDED : RULE_ENDED;
	if (length == 0 ||
	    *used + strlen(reader->column_names[column]) + length + 4 > VG_CFI_TEXT_MAX)
		return INEXPRESSIBLE;
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

/* Writes to reader->text those rules that changed.  Sets *used to the length of the text. */
static enum append_result changes_format(struct vg_cfi_reader *reader, size_t *used)
{
	enum append_result append_result = APPENDED;

	*used = 0;
	for (unsigned __int128 left = reader->dirty; left != 0 && append_result == APPENDED;
	     left &= left - 1)
		append_result = column_append(reader, (uint8_t)lowest_bit(left), used);
	return append_result;
}

static int row_push(struct vg_cfi_reader *reader, uint64_t address)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_cfi_range *cfi_range = &symbols->cfi_ranges.items[symbols->cfi_ranges.count - 1];
	struct vg_symbol_cfi_row row = {
		.offset_bytes = (uint32_t)(address - reader->image->load_base - cfi_range->address),
	};
	int rc = vg_intern_string(&symbols->strings, reader->text, &row.rules);

	if (rc < 0)
		return rc;
	rc = vg_array_push(&symbols->cfi_rows, &row);
	if (rc != 0)
		return rc;
	cfi_range->row_count++;
	return symbols->cfi_rows.count < VG_SYMBOLS_NONE ? 0 : -ENOBUFS;
}

int vg_cfi_row_write(struct vg_cfi_reader *reader, uint64_t address)
{
	enum append_result append_result;
	size_t used;
	int rc = reader->is_open ? 0 : cfi_range_begin(reader, address);

	if (rc != 0)
		return rc;
	append_result = changes_format(reader, &used);
	/* STACK CFI records can set a rule, but not remove one.  A new STACK CFI INIT record begins
	 * without rules. */
	if (append_result == RULE_ENDED) {
		vg_cfi_range_end(reader, address);
		rc = cfi_range_begin(reader, address);
		if (rc != 0)
			return rc;
		append_result = changes_format(reader, &used);
	}
	if (append_result != APPENDED) {
		reader->symbols->cfi_rows_left_out++;
		vg_cfi_range_end(reader, address);
		return 0;
	}
	reader->dirty = 0;
	rc = used > 0 ? vg_work_limit_use(&reader->work_limit, used) : 0;
	return rc == 0 && used > 0 ? row_push(reader, address) : rc;
}

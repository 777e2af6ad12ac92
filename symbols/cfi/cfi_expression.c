/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/cfi/cfi_expression.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "symbols/cfi/cfi_registers.h"

/*
 * Runs a DWARF expression on a stack of texts instead of values.  Breakpad's postfix language has
 * registers, decimal numbers, and the operators + - * / % on unsigned words, ^ (load) and @ (align
 * down to a power of two).
 *
 * Breakpad's language lacks some DWARF operations.  Other operators replace them: * or / replaces a
 * shift, % replaces a mask of low bits, and x / c replaces `x >= c` if x is known to be less than
 * 2c.  The CFI that linkers write for PLT entries needs the comparison, to find whether the PLT
 * entry has pushed its argument.
 */
#define STACK_MAX 16

struct value {
	size_t length;
	uint64_t bound;                 /* the greatest possible value */
	bool is_constant;               /* the value is the constant `bound` */
	char text[VG_CFI_RULE_TEXT_MAX];
};

struct machine {
	const struct vg_cfi_reader *reader;
	struct vg_elf_bytes cursor;
	uint64_t word_max;              /* the greatest unsigned word */
	struct value stack[STACK_MAX];
	unsigned depth;
	bool failed;
};

static struct value *push(struct machine *machine)
{
	if (machine->depth == STACK_MAX)
		machine->failed = true;
	else
		machine->depth++;
	return &machine->stack[machine->depth - 1];
}

/* The value that has `below` values above it on the stack.  If the stack has fewer values, sets
 * `failed` and returns the bottom element. */
static struct value *peek(struct machine *machine, uint64_t below)
{
	if (below < machine->depth)
		return &machine->stack[machine->depth - 1 - below];
	machine->failed = true;
	return &machine->stack[0];
}

static struct value *pop(struct machine *machine)
{
	struct value *top = peek(machine, 0);

	if (machine->depth > 0)
		machine->depth--;
	return top;
}

static void value_write(struct machine *machine, struct value *value, const char *form, ...)
	__attribute__((format(printf, 3, 4)));

static void value_write(struct machine *machine, struct value *value, const char *form, ...)
{
	char text[VG_CFI_RULE_TEXT_MAX];
	va_list args;
	int length;

	va_start(args, form);
	length = vsnprintf(text, sizeof text, form, args);
	va_end(args);
	if (length < 0 || (size_t)length >= sizeof text) {
		machine->failed = true;
		length = 0;
	}
	memcpy(value->text, text, (size_t)length);
	value->text[length] = '\0';
	value->length = (size_t)length;
	value->is_constant = false;
	value->bound = machine->word_max;
}

static int64_t word_signed(const struct machine *machine, uint64_t number)
{
	return vg_sign_extend(number, machine->reader->address_bytes);
}

static void number_push(struct machine *machine, uint64_t number)
{
	struct value *value = push(machine);

	number &= machine->word_max;
	value_write(machine, value, "%" PRId64, word_signed(machine, number));
	value->is_constant = true;
	value->bound = number;
}

static void register_push(struct machine *machine, uint64_t reg, int64_t offset)
{
	const char *name = vg_cfi_register_name(machine->reader, reg);
	struct value *value = push(machine);

	if (name == NULL)
		machine->failed = true;
	else if (offset == 0)
		value_write(machine, value, "%s", name);
	else
		value_write(machine, value, "%s %" PRId64 " +", name, offset);
}

static bool is_power_of_two(uint64_t number)
{
	return number != 0 && (number & (number - 1)) == 0;
}

static bool is_positive(const struct machine *machine, const struct value *value)
{
	return value->bound <= machine->word_max >> 1;
}

/* Sets `left` to the text "LEFT RIGHT OPERATOR".  `bound` is the greatest possible result;
 * UINT64_MAX: unknown. */
static void binary_write(struct machine *machine, struct value *left, const struct value *right,
			 char operator, uint64_t bound)
{
	char copy[VG_CFI_RULE_TEXT_MAX];

	memcpy(copy, left->text, left->length + 1);
	value_write(machine, left, "%s %s %c", copy, right->text, operator);
	if (bound < machine->word_max)
		left->bound = bound;
}

static void constant_write(struct machine *machine, struct value *left, uint64_t constant,
			   char operator, uint64_t bound)
{
	struct value number;

	value_write(machine, &number, "%" PRIu64, constant);
	binary_write(machine, left, &number, operator, bound);
}

static void mask(struct machine *machine, struct value *left, struct value *right)
{
	struct value copy;
	uint64_t ones;

	if (left->is_constant) {
		copy = *left;
		*left = *right;
		right = &copy;
	}
	ones = right->bound;
	if (!right->is_constant)
		machine->failed = true;
	else if (is_power_of_two(ones + 1) && ones <= INT32_MAX)
		constant_write(machine, left, ones + 1, '%', ones);
	else if (is_power_of_two((~ones & machine->word_max) + 1))
		constant_write(machine, left, (~ones & machine->word_max) + 1, '@', left->bound);
	else
		machine->failed = true;
}

/* Sets `left` to left >= right, or to left > right if `strict` is set.  Negates the result if `negate` is set. */
static void compare(struct machine *machine, struct value *left, const struct value *right,
		    bool strict, bool negate)
{
	uint64_t threshold = right->bound + strict;
	char copy[VG_CFI_RULE_TEXT_MAX];

	if (!right->is_constant || !is_positive(machine, right) || !is_positive(machine, left) ||
	    threshold == 0 || left->bound / 2 >= threshold) {
		machine->failed = true;
		return;
	}
	constant_write(machine, left, threshold, '/', 1);
	if (!negate)
		return;
	memcpy(copy, left->text, left->length + 1);
	value_write(machine, left, "1 %s -", copy);
	left->bound = 1;
}

static void shift(struct machine *machine, struct value *left, const struct value *right, bool up)
{
	uint64_t bound;

	if (!right->is_constant || right->bound >= 8 * machine->reader->address_bytes - 1)
		machine->failed = true;
	else if (!up)
		constant_write(machine, left, (uint64_t)1 << right->bound, '/',
			       left->bound >> right->bound);
	else if (__builtin_mul_overflow(left->bound, (uint64_t)1 << right->bound, &bound))
		constant_write(machine, left, (uint64_t)1 << right->bound, '*', UINT64_MAX);
	else
		constant_write(machine, left, (uint64_t)1 << right->bound, '*', bound);
}

static void divide(struct machine *machine, struct value *left, const struct value *right,
		   bool remainder)
{
	/* In DWARF, division is signed and the remainder is unsigned.  In Breakpad, both are
	 * unsigned. */
	if (!right->is_constant || right->bound == 0 ||
	    (!remainder && (!is_positive(machine, left) || !is_positive(machine, right))))
		machine->failed = true;
	else if (remainder)
		binary_write(machine, left, right, '%', right->bound - 1);
	else
		binary_write(machine, left, right, '/', left->bound / right->bound);
}

static void binary_run(struct machine *machine, unsigned operation)
{
	struct value *right = pop(machine), *left = peek(machine, 0);
	uint64_t bound;

	if (machine->failed)
		return;
	switch (operation) {
	case DW_OP_plus:
		if (__builtin_add_overflow(left->bound, right->bound, &bound))
			bound = UINT64_MAX;
		binary_write(machine, left, right, '+', bound);
		break;
	case DW_OP_minus:
		binary_write(machine, left, right, '-', UINT64_MAX);
		break;
	case DW_OP_mul:
		if (__builtin_mul_overflow(left->bound, right->bound, &bound))
			bound = UINT64_MAX;
		binary_write(machine, left, right, '*', bound);
		break;
	case DW_OP_and:
		mask(machine, left, right);
		break;
	case DW_OP_ge:
	case DW_OP_gt:
		compare(machine, left, right, operation == DW_OP_gt, false);
		break;
	case DW_OP_lt:
	case DW_OP_le:
		compare(machine, left, right, operation == DW_OP_le, true);
		break;
	case DW_OP_shl:
	case DW_OP_shr:
		shift(machine, left, right, operation == DW_OP_shl);
		break;
	case DW_OP_div:
	case DW_OP_mod:
		divide(machine, left, right, operation == DW_OP_mod);
		break;
	default:
		machine->failed = true;
	}
}

static void copy_push(struct machine *machine, uint64_t below)
{
	struct value copy = *peek(machine, below);

	if (!machine->failed)
		*push(machine) = copy;
}

static void swap(struct machine *machine, uint64_t below)
{
	struct value *a = peek(machine, 0), *b = peek(machine, below), copy = *a;

	*a = *b;
	*b = copy;
}

static void fetch(struct machine *machine, uint64_t bytes)
{
	struct value *top = peek(machine, 0);
	char copy[VG_CFI_RULE_TEXT_MAX];

	if (bytes != machine->reader->address_bytes)
		machine->failed = true;
	if (machine->failed)
		return;
	memcpy(copy, top->text, top->length + 1);
	value_write(machine, top, "%s ^", copy);
}

static void number_run(struct machine *machine, unsigned operation)
{
	static const uint8_t widths[] = { 1, 1, 2, 2, 4, 4, 8, 8 };
	unsigned bytes;
	uint64_t number;

	if (operation == DW_OP_constu) {
		number_push(machine, vg_elf_uleb128(&machine->cursor));
	} else if (operation == DW_OP_consts) {
		number_push(machine, (uint64_t)vg_elf_sleb128(&machine->cursor));
	} else {
		/* DW_OP_const1u, 1s, 2u, 2s, ... */
		bytes = widths[operation - DW_OP_const1u];
		number = vg_elf_uint(&machine->cursor, bytes);
		if ((operation - DW_OP_const1u) % 2 == 1)
			number = (uint64_t)vg_sign_extend(number, bytes);
		number_push(machine, number);
	}
}

static void operation_run(struct machine *machine, unsigned operation)
{
	uint64_t reg;

	if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31) {
		number_push(machine, operation - DW_OP_lit0);
		return;
	}
	if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31) {
		register_push(machine, operation - DW_OP_breg0, vg_elf_sleb128(&machine->cursor));
		return;
	}
	if (operation >= DW_OP_const1u && operation <= DW_OP_consts) {
		number_run(machine, operation);
		return;
	}
	switch (operation) {
	case DW_OP_nop:
		break;
	case DW_OP_bregx:
		reg = vg_elf_uleb128(&machine->cursor);
		register_push(machine, reg, vg_elf_sleb128(&machine->cursor));
		break;
	case DW_OP_plus_uconst:
		number_push(machine, vg_elf_uleb128(&machine->cursor));
		binary_run(machine, DW_OP_plus);
		break;
	case DW_OP_neg:
		number_push(machine, 0);
		swap(machine, 1);
		binary_run(machine, DW_OP_minus);
		break;
	case DW_OP_deref:
		fetch(machine, machine->reader->address_bytes);
		break;
	case DW_OP_deref_size:
		fetch(machine, vg_elf_byte(&machine->cursor));
		break;
	case DW_OP_dup:
		copy_push(machine, 0);
		break;
	case DW_OP_over:
		copy_push(machine, 1);
		break;
	case DW_OP_pick:
		copy_push(machine, vg_elf_byte(&machine->cursor));
		break;
	case DW_OP_drop:
		pop(machine);
		break;
	case DW_OP_swap:
		swap(machine, 1);
		break;
	case DW_OP_rot:
		swap(machine, 2);
		swap(machine, 1);
		break;
	default:
		binary_run(machine, operation);
	}
}

size_t vg_cfi_expression_text(const struct vg_cfi_reader *reader, const uint8_t *expression,
			      size_t bytes, bool push_cfa, char text[VG_CFI_RULE_TEXT_MAX])
{
	struct machine machine;

	machine.reader = reader;
	machine.cursor = (struct vg_elf_bytes){ expression, expression + bytes,
						 reader->big_endian, false };
	machine.word_max = reader->address_bytes == 4 ? UINT32_MAX : UINT64_MAX;
	machine.depth = 0;
	machine.failed = false;
	value_write(&machine, &machine.stack[0], ".cfa");
	if (push_cfa)
		push(&machine);
	while (machine.cursor.at < machine.cursor.end && !machine.failed)
		operation_run(&machine, (unsigned)vg_elf_byte(&machine.cursor));
	if (machine.failed || machine.cursor.failed || machine.depth == 0)
		return 0;
	memcpy(text, machine.stack[machine.depth - 1].text,
	       machine.stack[machine.depth - 1].length + 1);
	return machine.stack[machine.depth - 1].length;
}

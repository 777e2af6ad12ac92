/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/cfi_program.h"

#include "vignetted/unwind/regs.h"

/* ---- expressions ---- */

enum { OP_DEREF = 0x06, OP_CONST1U = 0x08, OP_CONST8S = 0x0f, OP_PICK = 0x15, OP_DIV = 0x1b, OP_PLUS_UCONST = 0x23,
       OP_BRA = 0x28, OP_LIT0 = 0x30, OP_LIT31 = 0x4f, OP_BREG0 = 0x70, OP_BREG31 = 0x8f, OP_DEREF_SIZE = 0x94,
       OP_NOP = 0x96 };

/* Operations on the expression's stack: DW_OP_deref, dup, drop, over, swap, rot, abs to xor, eq to ne. */
static bool has_no_operand(uint64_t operation)
{
	return operation == 0x06 || operation == 0x12 || operation == 0x13 || operation == 0x14 || operation == 0x16 ||
	       operation == 0x17 || (operation >= 0x19 && operation <= 0x27) ||
	       (operation >= 0x29 && operation <= 0x2e) ||
	       (operation >= OP_LIT0 && operation <= OP_LIT31) || operation == OP_NOP;
}

static bool operation_read(struct vg_bytes *block)
{
	uint64_t operation, value;
	int64_t offset;

	if (!vg_bytes_fixed(block, 1, &operation) || operation == OP_DIV || operation == OP_BRA)
		return false;
	if (operation >= OP_BREG0 && operation <= OP_BREG31)
		return vg_bytes_sleb(block, &offset);
	if (operation == OP_PLUS_UCONST)
		return vg_bytes_uleb(block, &value);
	/* DW_OP_const1u to const8s: pairs of unsigned and signed, with 1, 2, 4 and 8 bytes. */
	if (operation >= OP_CONST1U && operation <= OP_CONST8S)
		return vg_bytes_fixed(block, (size_t)1 << (operation - OP_CONST1U) / 2, &value);
	if (operation == OP_PICK || operation == OP_DEREF_SIZE)
		return vg_bytes_fixed(block, 1, &value);
	return has_no_operand(operation);
}

/*
 * Whether libunwind can evaluate a DWARF expression (DWARF 5, section 2.5) safely.  Only operations that compute an
 * address from registers and memory are allowed.  Not allowed are:
 * - DW_OP_skip and DW_OP_bra: they can make an endless loop;
 * - DW_OP_div: INT64_MIN / -1 raises SIGFPE in libunwind 1.6.2;
 * - DW_OP_constu, DW_OP_consts and DW_OP_bregx: libunwind takes their operands for operations.
 *
 * None of the 2 million entries in 1,709 files of Debian 12 uses one of these.
 */
static bool expression_is_safe(struct vg_bytes block)
{
	while (block.at < block.end) {
		if (!operation_read(&block))
			return false;
	}
	return true;
}

/* ---- instructions ---- */

enum {
	CFA_ADVANCE_LOC = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0, CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01, CFA_ADVANCE_LOC1 = 0x02, CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04, CFA_OFFSET_EXTENDED = 0x05, CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07, CFA_SAME_VALUE = 0x08, CFA_REGISTER = 0x09, CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b, CFA_DEF_CFA = 0x0c, CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e, CFA_DEF_CFA_EXPRESSION = 0x0f, CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11, CFA_DEF_CFA_SF = 0x12, CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14, CFA_VAL_OFFSET_SF = 0x15, CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
};

enum { REMEMBERED_MAX = 16 };

/* How to find the caller's value of one register. */
struct rule {
	uint8_t base;                /* enum vg_row_base */
	bool complex;                /* a row cannot hold the rule */
	int64_t offset;
};

/* Rows need only these registers.  Rules for other registers are skipped. */
enum { FP, RA, SP, TRACKED };

/* How to find the CFA: register + offset; or the word at that address, plus `added`. */
struct cfa {
	uint64_t number;             /* the register's DWARF number */
	int64_t offset;
	bool deref, complex;
	uint64_t added;
};

struct state {
	struct cfa plain, expression;
	bool by_expression;          /* true: `expression` gives the CFA; false: `plain` does.  The one that is not in
					use is kept for later, as in GCC's unwinder. */
	struct rule rules[TRACKED];
};

struct machine {
	const struct vg_cfi_program *program;
	struct state now, initial, remembered[REMEMBERED_MAX];
	size_t depth;
	uint64_t location;           /* `now` holds from this address on */
	bool has_initial;            /* `initial` is set: the CIE's program was run */
	bool safe;                   /* libunwind can run all instructions up to here safely */
};

static struct rule *rule_of(struct machine *machine, uint64_t number)
{
	if (number == machine->program->return_column)
		return &machine->now.rules[RA];
	if (number == vg_dwarf_fp)
		return &machine->now.rules[FP];
	if (number == vg_dwarf_sp)
		return &machine->now.rules[SP];
	return NULL;
}

/* Reads an offset in units of the CIE's data_factor.  Programs are untrusted.  False: the offset is malformed, or does
 * not fit in 64 bits. */
static bool factored_read(const struct machine *machine, struct vg_bytes *bytes, bool is_signed, int64_t *offset)
{
	int64_t factored;

	return (is_signed ? vg_bytes_sleb(bytes, &factored) : vg_bytes_uleb(bytes, (uint64_t *)&factored)) &&
	       !__builtin_mul_overflow(factored, machine->program->data_factor, offset);
}

/* False: the new location does not fit in 64 bits. */
static bool location_advance(struct machine *machine, uint64_t delta)
{
	uint64_t bytes;

	return !__builtin_mul_overflow(delta, machine->program->code_factor, &bytes) &&
	       !__builtin_add_overflow(machine->location, bytes, &machine->location);
}

/* Reads an expression's block, and notes whether libunwind can evaluate it safely. */
static bool block_read(struct machine *machine, struct vg_bytes *bytes, struct vg_bytes *block)
{
	uint64_t length;

	if (!vg_bytes_uleb(bytes, &length) || length > (uint64_t)(bytes->end - bytes->at))
		return false;
	*block = (struct vg_bytes){ bytes->at, bytes->at + length };
	bytes->at += length;
	machine->safe &= expression_is_safe(*block);
	return true;
}

/* Reads one DW_OP_bregN: register + offset. */
static bool based_read(struct vg_bytes *block, uint64_t *number, int64_t *offset)
{
	uint64_t operation;

	if (!vg_bytes_fixed(block, 1, &operation) || operation < OP_BREG0 || operation > OP_BREG31)
		return false;
	*number = operation - OP_BREG0;
	return vg_bytes_sleb(block, offset);
}

/* Recognises the expression that linkers write for PLT entries.  The CFA's distance from the stack pointer depends on
 * the position of the instruction in the 16-byte entry: breg7 8; breg16 0; lit15; and; litN; ge; lit3; shl; plus. */
static bool plt_read(struct vg_bytes block, uint64_t address, struct cfa *cfa)
{
	static const unsigned char head[] = { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a };
	static const unsigned char tail[] = { 0x2a, 0x33, 0x24, 0x22 };

	if (block.end - block.at != 11 || memcmp(block.at, head, sizeof head) != 0 ||
	    block.at[6] < 0x30 || block.at[6] > 0x4f || memcmp(block.at + 7, tail, sizeof tail) != 0)
		return false;
	cfa->number = vg_dwarf_sp;
	cfa->offset = 8 + ((address & 15) >= (uint64_t)(block.at[6] - 0x30) ? 8 : 0);
	return true;
}

/* Recognises expressions for register + offset, for the word at that address, and for that word plus a constant.
 * The word is used by signal frames, and by functions that realign their stack.  The word plus a constant is used by
 * assembly code that saves its first stack pointer in its frame (OpenSSL). */
static bool word_read(struct vg_bytes block, struct cfa *cfa)
{
	uint64_t operation;

	if (!based_read(&block, &cfa->number, &cfa->offset))
		return false;
	if (block.at == block.end)
		return true;
	cfa->deref = true;
	if (!vg_bytes_fixed(&block, 1, &operation) || operation != OP_DEREF)
		return false;
	if (block.at == block.end)
		return true;
	return vg_bytes_fixed(&block, 1, &operation) && operation == OP_PLUS_UCONST &&
	       vg_bytes_uleb(&block, &cfa->added) && block.at == block.end;
}

/* The rule of a register that is saved at the address that an expression computes. */
static struct rule rule_by_expression(struct vg_bytes block)
{
	struct rule rule = { 0 };
	uint64_t base;

	if (!based_read(&block, &base, &rule.offset) || block.at != block.end ||
	    (base != vg_dwarf_sp && base != vg_dwarf_fp))
		return (struct rule){ .complex = true };
	rule.base = base == vg_dwarf_sp ? VG_FROM_SP : VG_FROM_FP;
	return rule;
}

/* Runs an instruction that sets the rule of the register `number`.  False: its further operands are malformed. */
static bool rule_step(struct machine *machine, uint8_t code, uint64_t number, struct vg_bytes *bytes)
{
	struct rule *rule = rule_of(machine, number), set = { 0 };
	struct vg_bytes block;
	uint64_t value;

	switch (code) {
	case CFA_OFFSET: case CFA_OFFSET_EXTENDED: case CFA_OFFSET_EXTENDED_SF:
		set.base = VG_FROM_CFA;
		if (!factored_read(machine, bytes, code == CFA_OFFSET_EXTENDED_SF, &set.offset))
			return false;
		break;
	case CFA_RESTORE: case CFA_RESTORE_EXTENDED:
		/* In a CIE's program there is nothing to restore.  libunwind may restore uninitialized memory there. */
		machine->safe &= machine->has_initial;
		if (rule != NULL)
			set = machine->initial.rules[rule - machine->now.rules];
		break;
	case CFA_UNDEFINED:
		set.base = VG_FROM_UNDEFINED;
		break;
	case CFA_SAME_VALUE:
		set.base = VG_FROM_SAME;
		break;
	case CFA_EXPRESSION: case CFA_VAL_EXPRESSION:
		if (!block_read(machine, bytes, &block))
			return false;
		set = code == CFA_EXPRESSION ? rule_by_expression(block) : (struct rule){ .complex = true };
		break;
	default:
		/* DW_CFA_register, DW_CFA_val_offset and DW_CFA_val_offset_sf have one more operand.  libunwind 1.6.2
		 * knows only DW_CFA_register, and uses its operand, a register number, as an array index without a
		 * check.  libunwind takes the operands of the other two for instructions. */
		if (!vg_bytes_uleb(bytes, &value))
			return false;
		machine->safe &= code == CFA_REGISTER && value <= vg_dwarf_last;
		if (code == CFA_REGISTER && number == machine->program->return_column && value <= INT32_MAX)
			set = (struct rule){ .base = VG_FROM_REGISTER, .offset = (int64_t)value };
		else
			set.complex = true;
	}
	if (rule != NULL)
		*rule = set;
	return true;
}

/* Runs one instruction.  False: it is malformed, or not known. */
static bool step(struct machine *machine, struct vg_bytes *bytes, uint64_t address)
{
	struct state *now = &machine->now;
	uint8_t code = *bytes->at++;
	struct vg_bytes block;
	uint64_t value = code & 0x3f;

	/* Three instructions have an operand in the low 6 bits. */
	switch (code & 0xc0) {
	case CFA_ADVANCE_LOC:
		return location_advance(machine, value);
	case CFA_OFFSET: case CFA_RESTORE:
		return rule_step(machine, code & 0xc0, value, bytes);
	}
	switch (code) {
	case CFA_NOP:
		return true;
	case CFA_ADVANCE_LOC1: case CFA_ADVANCE_LOC2: case CFA_ADVANCE_LOC4:
		return vg_bytes_fixed(bytes, (size_t)1 << (code - CFA_ADVANCE_LOC1), &value) &&
		       location_advance(machine, value);
	case CFA_REMEMBER_STATE:
		if (machine->depth == REMEMBERED_MAX)
			return false;
		machine->remembered[machine->depth++] = *now;
		return true;
	case CFA_RESTORE_STATE:
		if (machine->depth == 0)
			return false;
		*now = machine->remembered[--machine->depth];
		return true;
	case CFA_DEF_CFA:
		now->by_expression = now->plain.complex = false;
		return vg_bytes_uleb(bytes, &now->plain.number) &&
		       vg_bytes_uleb(bytes, (uint64_t *)&now->plain.offset);
	case CFA_DEF_CFA_SF:
		now->by_expression = now->plain.complex = false;
		return vg_bytes_uleb(bytes, &now->plain.number) &&
		       factored_read(machine, bytes, true, &now->plain.offset);
	case CFA_DEF_CFA_OFFSET:
		return vg_bytes_uleb(bytes, (uint64_t *)&now->plain.offset);
	case CFA_DEF_CFA_OFFSET_SF:
		return factored_read(machine, bytes, true, &now->plain.offset);
	case CFA_DEF_CFA_REGISTER:
		/* The standard forbids DW_CFA_def_cfa_register after an expression, but some assembly code uses it
		 * there (libgcrypt).  The offset is the last one that was set without an expression. */
		now->by_expression = false;
		return vg_bytes_uleb(bytes, &now->plain.number);
	case CFA_DEF_CFA_EXPRESSION:
		if (!block_read(machine, bytes, &block))
			return false;
		now->by_expression = true;
		now->expression = (struct cfa){ 0 };
		now->expression.complex = !plt_read(block, address, &now->expression) &&
					  !word_read(block, &now->expression);
		return true;
	case CFA_OFFSET_EXTENDED: case CFA_OFFSET_EXTENDED_SF: case CFA_RESTORE_EXTENDED:
	case CFA_UNDEFINED: case CFA_SAME_VALUE: case CFA_REGISTER: case CFA_EXPRESSION:
	case CFA_VAL_EXPRESSION: case CFA_VAL_OFFSET: case CFA_VAL_OFFSET_SF:
		return vg_bytes_uleb(bytes, &value) && rule_step(machine, code, value, bytes);
	case CFA_GNU_ARGS_SIZE:
		return vg_bytes_uleb(bytes, &value);
	}
	return false;                /* DW_CFA_set_loc, or an unknown instruction */
}

static bool run(struct machine *machine, struct vg_bytes bytes, uint64_t address)
{
	while (bytes.at < bytes.end) {
		struct state before = machine->now;
		uint64_t location = machine->location;

		if (!step(machine, &bytes, address))
			return false;
		/* The instruction moved past the address, so the state before the instruction holds there. */
		if (machine->location != location && machine->location > address) {
			machine->now = before;
			return true;
		}
	}
	return true;
}

static bool fits(int64_t offset)
{
	return offset >= INT32_MIN && offset <= INT32_MAX;
}

static void row_make(const struct machine *machine, struct vg_row *row)
{
	const struct state *now = &machine->now;
	const struct cfa *cfa = now->by_expression ? &now->expression : &now->plain;
	const struct rule *fp = &now->rules[FP], *ra = &now->rules[RA], *sp = &now->rules[SP];

	*row = (struct vg_row){
		.kind = VG_ROW_COMPLEX,
		.cfa_base = cfa->number == vg_dwarf_fp ? VG_FROM_FP : VG_FROM_SP,
		.cfa_deref = cfa->deref,
		.cfa_addend = (uint8_t)cfa->added,
		.cfa_offset = (int32_t)cfa->offset,
		.fp_base = fp->base, .fp_offset = (int32_t)fp->offset,
		.ra_base = ra->base, .ra_offset = (int32_t)ra->offset,
		.signal = machine->program->signal,
	};
	if (ra->base == VG_FROM_UNDEFINED && !ra->complex) {
		row->kind = VG_ROW_ROOT;
		return;
	}
	/* The caller's stack pointer is the CFA, unless there is a rule for the stack pointer.  Signal frames have such
	 * a rule, but their rule for the CFA gives the same value: the saved stack pointer. */
	if (cfa->complex || cfa->added > UINT8_MAX || fp->complex || ra->complex || ra->base == VG_FROM_SAME ||
	    (cfa->number != vg_dwarf_sp && cfa->number != vg_dwarf_fp) ||
	    (!machine->program->signal && (sp->base != VG_FROM_SAME || sp->complex)) ||
	    !fits(cfa->offset) || !fits(fp->offset) || !fits(ra->offset))
		return;
	row->kind = VG_ROW_PLAIN;
}

void vg_cfi_program_run(const struct vg_cfi_program *program, struct vg_bytes initial, struct vg_bytes instructions,
			uint64_t first, uint64_t address, struct vg_row *row)
{
	struct machine machine = { .program = program, .location = first };

	row->kind = VG_ROW_COMPLEX;
	machine.now.plain.complex = true; /* until an instruction defines the CFA */
	if (!run(&machine, initial, UINT64_MAX))
		return;
	machine.location = first;
	machine.initial = machine.now;
	machine.has_initial = true;
	if (run(&machine, instructions, address))
		row_make(&machine, row);
}

bool vg_cfi_program_is_safe(const struct vg_cfi_program *program, struct vg_bytes initial, struct vg_bytes instructions)
{
	struct machine machine = { .program = program, .safe = program->return_column <= vg_dwarf_last };

	if (!run(&machine, initial, UINT64_MAX))
		return false;
	machine.has_initial = true;
	return run(&machine, instructions, UINT64_MAX) && machine.safe;
}

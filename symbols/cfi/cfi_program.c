/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/cfi/cfi_program.h"

#include <dwarf.h>

#include "symbols/cfi/cfi_address.h"
#include "symbols/cfi/cfi_columns.h"
#include "symbols/cfi/cfi_rule.h"

/* Has the same number as DW_CFA_GNU_window_save, which is used on SPARC only. */
#define CFA_AARCH64_NEGATE_RA_STATE 0x2d
#define CFA_MIPS_ADVANCE_LOC8 0x1d

static void rule_set(struct vg_cfi_reader *reader, uint8_t column, struct vg_cfi_rule rule)
{
	/* A register without a name cannot be written. */
	if (column == UINT8_MAX)
		return;
	reader->state.rules[column] = rule;
	reader->state.used |= (unsigned __int128)1 << column;
	reader->dirty |= (unsigned __int128)1 << column;
}

static int offset_rule(struct vg_cfi_reader *reader, uint64_t reg, enum vg_cfi_kind kind,
		       int64_t factored)
{
	struct vg_cfi_rule rule = { .kind = kind };

	if (__builtin_mul_overflow(factored, reader->cie.data_factor, &rule.offset))
		return -EBADMSG;
	rule_set(reader, vg_cfi_column(reader, reg), rule);
	return 0;
}

static void plain_rule(struct vg_cfi_reader *reader, uint64_t reg, enum vg_cfi_kind kind)
{
	rule_set(reader, vg_cfi_column(reader, reg), (struct vg_cfi_rule){ .kind = kind });
}

static void restore_rule(struct vg_cfi_reader *reader, uint64_t reg)
{
	uint8_t column = vg_cfi_column(reader, reg);

	if (column != UINT8_MAX)
		rule_set(reader, column, reader->cie.initial.rules[column]);
}

static void expression_rule(struct vg_cfi_reader *reader, uint8_t column, enum vg_cfi_kind kind,
			    struct vg_elf_bytes *program)
{
	struct vg_elf_bytes block = vg_elf_block(program);
	struct vg_cfi_rule rule = { .kind = kind, .expression = block.at };

	rule.expression_bytes = (uint32_t)(block.end - block.at);
	if ((size_t)(block.end - block.at) > UINT32_MAX)
		program->failed = true;
	rule_set(reader, column, rule);
}

static void cfa_rule(struct vg_cfi_reader *reader, uint64_t reg, int64_t offset)
{
	rule_set(reader, reader->cfa_column,
		 (struct vg_cfi_rule){ .kind = VG_CFI_REGISTER, .reg = reg, .offset = offset });
}

/* Changes the register or the offset in the CFA's rule.  LLVM's first rule for MIPS sets the
 * register only: the offset is then 0. */
static int cfa_change(struct vg_cfi_reader *reader, const uint64_t *reg, const int64_t *offset)
{
	struct vg_cfi_rule rule = reader->state.rules[reader->cfa_column];

	if (rule.kind != VG_CFI_REGISTER && (rule.kind != VG_CFI_UNSPECIFIED || reg == NULL))
		return -EBADMSG;
	cfa_rule(reader, reg != NULL ? *reg : rule.reg, offset != NULL ? *offset : rule.offset);
	return 0;
}

static int cfa_offset(struct vg_cfi_reader *reader, const uint64_t *reg, int64_t factored)
{
	int64_t offset;

	if (__builtin_mul_overflow(factored, reader->cie.data_factor, &offset))
		return -EBADMSG;
	if (reg == NULL)
		return cfa_change(reader, NULL, &offset);
	cfa_rule(reader, *reg, offset);
	return 0;
}

static int state_remember(struct vg_cfi_reader *reader)
{
	int rc = vg_work_limit_use(&reader->work_limit, 16);

	if (rc != 0)
		return rc;
	if (reader->saved_count == VG_CFI_SAVED_MAX)
		return -EBADMSG;
	reader->saved[reader->saved_count++] = reader->state;
	return 0;
}

static int state_restore(struct vg_cfi_reader *reader)
{
	int rc = vg_work_limit_use(&reader->work_limit, 16);

	if (rc != 0)
		return rc;
	if (reader->saved_count == 0)
		return -EBADMSG;
	reader->dirty |= reader->state.used;
	reader->state = reader->saved[--reader->saved_count];
	reader->dirty |= reader->state.used;
	return 0;
}

static int location_set(struct vg_cfi_reader *reader, uint64_t location, bool write_rows)
{
	int rc = 0;

	/* The program of a CIE has no addresses. */
	if (!write_rows || location < reader->location)
		return -EBADMSG;
	if (location > reader->location && reader->location < reader->end)
		rc = vg_cfi_row_write(reader, reader->location);
	if (rc == 0)
		reader->location = location;
	return rc;
}

static int location_advance(struct vg_cfi_reader *reader, uint64_t delta, bool write_rows)
{
	uint64_t bytes, location;

	if (__builtin_mul_overflow(delta, reader->cie.code_factor, &bytes) ||
	    __builtin_add_overflow(reader->location, bytes, &location))
		return -EBADMSG;
	return location_set(reader, location, write_rows);
}

static int cfa_instruction(struct vg_cfi_reader *reader, uint64_t operation,
			   struct vg_elf_bytes *program)
{
	uint64_t reg;
	int64_t offset;

	switch (operation) {
	case DW_CFA_def_cfa:
		reg = vg_elf_uleb128(program);
		cfa_rule(reader, reg, (int64_t)vg_elf_uleb128(program));
		return 0;
	case DW_CFA_def_cfa_sf:
		reg = vg_elf_uleb128(program);
		return cfa_offset(reader, &reg, vg_elf_sleb128(program));
	case DW_CFA_def_cfa_register:
		reg = vg_elf_uleb128(program);
		return cfa_change(reader, &reg, NULL);
	case DW_CFA_def_cfa_offset:
		offset = (int64_t)vg_elf_uleb128(program);
		return cfa_change(reader, NULL, &offset);
	case DW_CFA_def_cfa_offset_sf:
		return cfa_offset(reader, NULL, vg_elf_sleb128(program));
	case DW_CFA_def_cfa_expression:
		expression_rule(reader, reader->cfa_column, VG_CFI_VAL_EXPRESSION, program);
		return 0;
	}
	return -EBADMSG;
}

static int register_instruction(struct vg_cfi_reader *reader, uint64_t operation,
				struct vg_elf_bytes *program)
{
	uint64_t reg = vg_elf_uleb128(program);

	switch (operation) {
	case DW_CFA_offset_extended:
		return offset_rule(reader, reg, VG_CFI_OFFSET, (int64_t)vg_elf_uleb128(program));
	case DW_CFA_offset_extended_sf:
		return offset_rule(reader, reg, VG_CFI_OFFSET, vg_elf_sleb128(program));
	case DW_CFA_GNU_negative_offset_extended:
		return offset_rule(reader, reg, VG_CFI_OFFSET,
				   (int64_t)(0 - vg_elf_uleb128(program)));
	case DW_CFA_val_offset:
		return offset_rule(reader, reg, VG_CFI_VAL_OFFSET, (int64_t)vg_elf_uleb128(program));
	case DW_CFA_val_offset_sf:
		return offset_rule(reader, reg, VG_CFI_VAL_OFFSET, vg_elf_sleb128(program));
	case DW_CFA_restore_extended:
		restore_rule(reader, reg);
		return 0;
	case DW_CFA_undefined:
		plain_rule(reader, reg, VG_CFI_UNDEFINED);
		return 0;
	case DW_CFA_same_value:
		plain_rule(reader, reg, VG_CFI_SAME_VALUE);
		return 0;
	case DW_CFA_register:
		rule_set(reader, vg_cfi_column(reader, reg),
			 (struct vg_cfi_rule){ .kind = VG_CFI_REGISTER,
					       .reg = vg_elf_uleb128(program) });
		return 0;
	case DW_CFA_expression:
		expression_rule(reader, vg_cfi_column(reader, reg), VG_CFI_EXPRESSION, program);
		return 0;
	case DW_CFA_val_expression:
		expression_rule(reader, vg_cfi_column(reader, reg), VG_CFI_VAL_EXPRESSION, program);
		return 0;
	}
	return -EBADMSG;
}

static int instruction_run(struct vg_cfi_reader *reader, struct vg_elf_bytes *program, bool write_rows)
{
	uint64_t operation = vg_elf_byte(program), location;
	bool valid;

	switch (operation & 0xc0) {
	case DW_CFA_advance_loc:
		return location_advance(reader, operation & 0x3f, write_rows);
	case DW_CFA_offset:
		return offset_rule(reader, operation & 0x3f, VG_CFI_OFFSET,
				   (int64_t)vg_elf_uleb128(program));
	case DW_CFA_restore:
		restore_rule(reader, operation & 0x3f);
		return 0;
	}
	switch (operation) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_set_loc:
		location = vg_cfi_address(reader, program, reader->cie.pointer_encoding, &valid);
		return valid ? location_set(reader, location, write_rows) : -EBADMSG;
	case DW_CFA_advance_loc1:
		return location_advance(reader, vg_elf_uint(program, 1), write_rows);
	case DW_CFA_advance_loc2:
		return location_advance(reader, vg_elf_uint(program, 2), write_rows);
	case DW_CFA_advance_loc4:
		return location_advance(reader, vg_elf_uint(program, 4), write_rows);
	case CFA_MIPS_ADVANCE_LOC8:
		return location_advance(reader, vg_elf_uint(program, 8), write_rows);
	case DW_CFA_remember_state:
		return state_remember(reader);
	case DW_CFA_restore_state:
		return state_restore(reader);
	case CFA_AARCH64_NEGATE_RA_STATE:
		/* No rule is needed: readers recognize a signed return address by its upper bits. */
		return 0;
	case DW_CFA_GNU_args_size:
		vg_elf_uleb128(program);
		return 0;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		return cfa_instruction(reader, operation, program);
	}
	return register_instruction(reader, operation, program);
}

int vg_cfi_run(struct vg_cfi_reader *reader, struct vg_elf_bytes program, bool write_rows)
{
	int rc = 0;

	reader->saved_count = 0;
	while (rc == 0 && program.at < program.end) {
		rc = vg_work_limit_use(&reader->work_limit, 1);
		if (rc == 0)
			rc = instruction_run(reader, &program, write_rows);
		if (rc == 0 && program.failed)
			rc = -EBADMSG;
	}
	if (rc == 0 && write_rows && reader->location < reader->end)
		rc = vg_cfi_row_write(reader, reader->location);
	return rc;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_line.h"

#include <dwarf.h>

#include "base/sorted.h"
#include "symbols/dwarf/dwarf_file.h"
#include "symbols/dwarf/dwarf_name.h"

/*
 * Runs line number programs, versions 2 to 5 (DWARF 5, 6.2).  libdw is not used, for two reasons.
 * It keeps the rows of all units in memory.  And it sorts rows without regard to their sequences, so
 * that the last row of a sequence seems to reach up to the next sequence.
 */

/* A program and the parameters in its header.  line_range, opcode_base and line_base have the names
 * of the DWARF standard. */
struct program {
	struct vg_elf_bytes bytes;
	unsigned version, address_bytes;
	uint8_t min_instruction_bytes, ops_per_instruction, line_range, opcode_base;
	int8_t line_base;
	uint8_t operand_counts[256];
};

struct state {
	uint64_t address, line, file;
	unsigned op_index;
	size_t first_row;       /* first row of the sequence */
};

static bool header_read(struct program *program, bool *is_64bit)
{
	struct vg_elf_bytes *bytes = &program->bytes;
	uint64_t length = vg_elf_uint(bytes, 4);

	*is_64bit = length == UINT32_MAX;
	if (*is_64bit)
		length = vg_elf_uint(bytes, 8);
	if (!vg_elf_bytes_need(bytes, length))
		return false;
	bytes->end = bytes->at + length;
	program->version = (unsigned)vg_elf_uint(bytes, 2);
	if (program->version < 2 || program->version > 5)
		return false;
	if (program->version >= 5) {
		program->address_bytes = vg_elf_byte(bytes);
		vg_elf_skip(bytes, 1);
	}
	return !bytes->failed;
}

static bool encoding_read(struct program *program)
{
	struct vg_elf_bytes *bytes = &program->bytes;

	program->min_instruction_bytes = vg_elf_byte(bytes);
	program->ops_per_instruction = program->version >= 4 ? vg_elf_byte(bytes) : 1;
	if (program->ops_per_instruction == 0)
		program->ops_per_instruction = 1;
	vg_elf_skip(bytes, 1); /* default_is_stmt */
	program->line_base = (int8_t)vg_elf_byte(bytes);
	program->line_range = vg_elf_byte(bytes);
	program->opcode_base = vg_elf_byte(bytes);
	for (unsigned i = 1; i < program->opcode_base; i++)
		program->operand_counts[i] = vg_elf_byte(bytes);
	return !bytes->failed && program->line_range != 0 && program->opcode_base != 0;
}

static void advance(const struct program *program, struct state *state, uint64_t operations)
{
	if (program->ops_per_instruction == 1) {
		state->address += operations * program->min_instruction_bytes;
		return;
	}
	operations += state->op_index;
	state->address += operations / program->ops_per_instruction * program->min_instruction_bytes;
	state->op_index = (unsigned)(operations % program->ops_per_instruction);
}

/* Adds a row, which ends the previous row of its sequence. */
static int row_begin(struct vg_dwarf_reader *reader, const struct state *state)
{
	struct vg_dwarf_row row = {
		.low = state->address, .high = state->address,
		.line = state->line <= INT32_MAX ? (uint32_t)state->line : 0,
	};
	struct vg_dwarf_row *last;
	int rc = vg_dwarf_file(reader, state->file, &row.file);

	if (rc != 0)
		return rc;
	if (reader->rows.count > state->first_row) {
		last = &reader->rows.items[reader->rows.count - 1];
		if (last->low >= state->address) {
			/* The previous row has no instructions: replace it. */
			*last = row;
			return 0;
		}
		last->high = state->address;
	}
	return vg_array_push(&reader->rows, &row);
}

/* Ends a sequence.  Removes its rows if the linker dropped their code: their addresses are then 0, -1
 * or small numbers. */
static void sequence_end(struct vg_dwarf_reader *reader, struct state *state)
{
	struct vg_dwarf_row *rows = reader->rows.items;

	if (reader->rows.count > state->first_row) {
		struct vg_dwarf_row *last = &rows[reader->rows.count - 1];

		if (state->address > last->low)
			last->high = state->address;
		else
			reader->rows.count--;
	}
	if (reader->rows.count > state->first_row &&
	    !vg_elf_image_has_code(reader->image, rows[state->first_row].low))
		reader->rows.count = state->first_row;
	*state = (struct state){ .line = 1, .file = 1, .first_row = reader->rows.count };
}

static void extended_run(struct vg_dwarf_reader *reader, struct program *program,
			 struct state *state)
{
	struct vg_elf_bytes *bytes = &program->bytes;
	uint64_t length = vg_elf_uleb128(bytes);
	const unsigned char *next;

	if (length == 0 || !vg_elf_bytes_need(bytes, length))
		return;
	next = bytes->at + length;
	switch (vg_elf_byte(bytes)) {
	case DW_LNE_end_sequence:
		sequence_end(reader, state);
		break;
	case DW_LNE_set_address:
		if (length - 1 == 4 || length - 1 == 8)
			state->address = vg_elf_uint(bytes, (unsigned)length - 1);
		state->op_index = 0;
		break;
	default:
		break;
	}
	bytes->at = next;
}

static int standard_run(struct vg_dwarf_reader *reader, struct program *program,
			struct state *state, uint8_t opcode)
{
	struct vg_elf_bytes *bytes = &program->bytes;

	switch (opcode) {
	case DW_LNS_copy:
		return row_begin(reader, state);
	case DW_LNS_advance_pc:
		advance(program, state, vg_elf_uleb128(bytes));
		break;
	case DW_LNS_advance_line:
		state->line += (uint64_t)vg_elf_sleb128(bytes);
		break;
	case DW_LNS_set_file:
		state->file = vg_elf_uleb128(bytes);
		break;
	case DW_LNS_const_add_pc:
		advance(program, state, (255u - program->opcode_base) / program->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		state->address += vg_elf_uint(bytes, 2);
		state->op_index = 0;
		break;
	default:
		for (unsigned i = 0; i < program->operand_counts[opcode]; i++)
			vg_elf_uleb128(bytes);
	}
	return 0;
}

static int program_run(struct vg_dwarf_reader *reader, struct program *program)
{
	struct state state = { .line = 1, .file = 1 };
	struct vg_elf_bytes *bytes = &program->bytes;
	int rc = 0;

	while (bytes->at < bytes->end && rc == 0) {
		uint8_t opcode = *bytes->at++;

		if (opcode >= program->opcode_base) {
			unsigned special = opcode - program->opcode_base;

			advance(program, &state, special / program->line_range);
			state.line += (uint64_t)(int64_t)(program->line_base +
							  (int)(special % program->line_range));
			rc = row_begin(reader, &state);
		} else if (opcode == 0) {
			extended_run(reader, program, &state);
		} else {
			rc = standard_run(reader, program, &state, opcode);
		}
	}
	/* If the last sequence has no end, the table is damaged. */
	if (reader->rows.count > state.first_row) {
		reader->rows.count = state.first_row;
		bytes->failed = true;
	}
	return rc;
}

static int table_read(struct vg_dwarf_reader *reader, uint64_t offset)
{
	struct program program = { .bytes = reader->sections.line };
	struct vg_elf_bytes *bytes = &program.bytes;
	const unsigned char *start;
	uint64_t header_bytes;
	bool is_64bit;
	int rc;

	vg_elf_skip(bytes, offset);
	if (!header_read(&program, &is_64bit))
		goto bad;
	header_bytes = vg_elf_uint(bytes, is_64bit ? 8 : 4);
	if (!vg_elf_bytes_need(bytes, header_bytes))
		goto bad;
	start = bytes->at + header_bytes;
	if (!encoding_read(&program))
		goto bad;
	rc = vg_work_limit_use(&reader->work_limit, (uint64_t)(bytes->end - bytes->at));
	if (rc == 0)
		rc = vg_dwarf_read_files(reader, *bytes, program.version, is_64bit);
	bytes->at = start;
	if (rc == 0)
		rc = program_run(reader, &program);
	vg_sort_by(reader->rows.items, reader->rows.count, low);
	if (rc == 0 && bytes->failed)
		reader->symbols->bad_records++;
	return rc;
bad:
	reader->symbols->bad_records++;
	return 0;
}

int vg_dwarf_read_rows(struct vg_dwarf_reader *reader, Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset;

	reader->rows.count = 0;
	vg_dwarf_set_files(reader, NULL, 0);
	reader->directory = NULL;
	/* Partial units of dwz have no code. */
	if (dwarf_tag(unit) == DW_TAG_partial_unit)
		return 0;
	reader->directory = vg_dwarf_string(unit, DW_AT_comp_dir);
	if (dwarf_attr(unit, DW_AT_stmt_list, &attribute) == NULL ||
	    dwarf_formudata(&attribute, &offset) != 0)
		return 0;
	return table_read(reader, offset);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/code_path.h"

/* Larger distances from the first stack pointer are not believed. */
enum { WORD_BYTES = 8, FRAME_MAX_BYTES = 1 << 20 };

void vg_code_path_begin(struct vg_code_path *path, uint64_t address)
{
	*path = (struct vg_code_path){ .at = address, .compared = VG_REGISTER_NONE };
	for (uint8_t i = 0; i < VG_REGISTERS; i++)
		path->values[i] = (struct vg_value){ .base = VG_VALUE_AT_BEGIN, .number = i };
}

static bool is_known(const struct vg_value *value)
{
	return value->base != VG_VALUE_UNKNOWN;
}

static bool is_first(const struct vg_value *value, uint8_t number)
{
	return value->base == VG_VALUE_AT_BEGIN && value->number == number;
}

/* Whether the value is the word on the stack at (first value of stack pointer or frame pointer + at). */
static bool is_loaded(const struct vg_value *value)
{
	return value->base == VG_VALUE_LOADED && value->number <= VG_REGISTER_FP;
}

static bool is_equal(const struct vg_value *a, const struct vg_value *b)
{
	return a->base == b->base && a->number == b->number && a->at == b->at && a->at_2 == b->at_2 &&
	       a->offset == b->offset;
}

static struct vg_value moved(struct vg_value value, int64_t bytes)
{
	if (is_known(&value))
		value.offset = (int64_t)((uint64_t)value.offset + (uint64_t)bytes);
	return value;
}

static bool is_small(int64_t bytes)
{
	return bytes > -FRAME_MAX_BYTES && bytes < FRAME_MAX_BYTES;
}

/* ---- words on the stack ---- */

static struct vg_stored *stored_find(const struct vg_code_path *path, const struct vg_value *address)
{
	for (uint8_t i = 0; i < path->stored_count; i++) {
		if (is_equal(&path->stored[i].address, address))
			return (struct vg_stored *)&path->stored[i];
	}
	return NULL;
}

static void store(struct vg_code_path *path, struct vg_value address, const struct vg_value *value)
{
	struct vg_stored *stored = stored_find(path, &address);

	if (address.base == VG_VALUE_UNKNOWN || address.base == VG_VALUE_CONSTANT)
		return;
	if (stored == NULL && is_known(value) && path->stored_count < VG_STORED_MAX)
		stored = &path->stored[path->stored_count++];
	if (stored != NULL)
		*stored = (struct vg_stored){ address, *value };
}

/* A word that the path has not stored has the value that it had when the path began.  Words below the first stack
 * pointer had no value then. */
static struct vg_value load(const struct vg_code_path *path, struct vg_value address)
{
	const struct vg_stored *stored = stored_find(path, &address);
	int32_t offset = (int32_t)address.offset;

	if (stored != NULL)
		return stored->value;
	if (!is_small(address.offset) || (is_first(&address, VG_REGISTER_SP) && offset < 0))
		return (struct vg_value){ 0 };
	if (address.base == VG_VALUE_AT_BEGIN)
		return (struct vg_value){ VG_VALUE_LOADED, address.number, .at = offset };
	if (address.base == VG_VALUE_LOADED)
		return (struct vg_value){ VG_VALUE_LOADED_TWICE, address.number, .at = address.at, .at_2 = offset };
	return (struct vg_value){ 0 };
}

/* ---- instructions ---- */

/* The stack pointer got a value that is computed from neither stack pointer nor frame pointer.  If the frame pointer
 * still points into the stack, this is an array of variable size.  Otherwise the code has switched to another stack. */
static void stack_replaced_note(struct vg_code_path *path)
{
	const struct vg_value *sp = &path->values[VG_REGISTER_SP], *fp = &path->values[VG_REGISTER_FP];

	if (sp->base != VG_VALUE_ALIGNED && !is_first(sp, VG_REGISTER_SP) && !is_first(sp, VG_REGISTER_FP))
		path->stack_replaced |= !is_first(fp, VG_REGISTER_SP);
}

static void effect_apply(struct vg_code_path *path, const struct vg_effect *effect)
{
	struct vg_value none = { 0 };
	struct vg_value *to = &path->values[effect->to];
	const struct vg_value *from = effect->from != VG_REGISTER_NONE ? &path->values[effect->from] : &none;

	switch ((enum vg_effect_kind)effect->kind) {
	case VG_EFFECT_STORE:
		store(path, moved(*to, effect->number), from);
		return;
	case VG_EFFECT_ALIGN:
		if (effect->to == VG_REGISTER_SP && to->base == VG_VALUE_AT_BEGIN)
			none.base = VG_VALUE_ALIGNED;
		*to = none;
		return;
	case VG_EFFECT_CONSTANT:
		*to = (struct vg_value){ .base = VG_VALUE_CONSTANT, .offset = effect->number };
		return;
	case VG_EFFECT_SET:
		*to = moved(*from, effect->number);
		break;
	case VG_EFFECT_LOAD:
		*to = load(path, moved(*from, effect->number));
		break;
	}
	if (effect->to == VG_REGISTER_SP)
		stack_replaced_note(path);
}

/* A loop that probes a large frame, page by page, ends when the stack pointer equals another register. */
static void loop_end(struct vg_code_path *path, const struct vg_instruction *instruction)
{
	if (path->compared != VG_REGISTER_NONE && instruction->flow == VG_FLOW_BRANCH && instruction->distance < 0 &&
	    is_known(&path->values[path->compared]))
		path->values[VG_REGISTER_SP] = path->values[path->compared];
}

bool vg_code_path_apply(struct vg_code_path *path, const struct vg_instruction *instruction)
{
	const struct vg_value *jump = instruction->jump_register != VG_REGISTER_NONE ?
				      &path->values[instruction->jump_register] : NULL;

	loop_end(path, instruction);
	path->compared = instruction->compared;
	path->doubtful |= path->after_call && instruction->is_padding;
	path->after_call = instruction->flow == VG_FLOW_CALL;
	path->after_jump = instruction->flow == VG_FLOW_JUMP || instruction->flow == VG_FLOW_JUMP_REGISTER;
	for (uint8_t i = 0; i < instruction->effect_count; i++)
		effect_apply(path, &instruction->effects[i]);
	for (uint32_t lost = instruction->lost; lost != 0; lost &= lost - 1)
		path->values[__builtin_ctz(lost)] = (struct vg_value){ 0 };
	path->at += instruction->length;
	switch ((enum vg_flow)instruction->flow) {
	case VG_FLOW_NEXT: case VG_FLOW_CALL: case VG_FLOW_BRANCH:
		break;
	case VG_FLOW_JUMP:
		path->at += (uint64_t)instruction->distance;
		break;
	case VG_FLOW_JUMP_REGISTER:
		if (jump == NULL || jump->base != VG_VALUE_CONSTANT)
			return false;
		path->at = (uint64_t)jump->offset;
		break;
	case VG_FLOW_JUMP_MEMORY: case VG_FLOW_RETURN: case VG_FLOW_TRAP:
		return false;
	}
	return is_small(path->values[VG_REGISTER_SP].offset);
}

bool vg_code_path_has_frame(const struct vg_code_path *path)
{
	const struct vg_value *sp = &path->values[VG_REGISTER_SP];

	return is_first(sp, VG_REGISTER_SP) && sp->offset < 0;
}

bool vg_code_path_pops_return(const struct vg_code_path *path, const struct vg_instruction *instruction)
{
	const struct vg_value *sp = &path->values[VG_REGISTER_SP], *fp = &path->values[VG_REGISTER_FP];

	return instruction->effect_count == 2 && instruction->effects[0].kind == VG_EFFECT_LOAD &&
	       instruction->effects[0].from == VG_REGISTER_SP && instruction->effects[1].to == VG_REGISTER_SP &&
	       is_first(sp, VG_REGISTER_FP) && sp->offset == WORD_BYTES && is_loaded(fp) &&
	       fp->number == VG_REGISTER_FP && fp->at == 0 && fp->offset == 0;
}

/* ---- rows ---- */

/* cfa_addend of a row is one byte. */
static bool is_addend(int64_t bytes)
{
	return bytes >= 0 && bytes <= UINT8_MAX;
}

static enum vg_row_base row_base(uint8_t number)
{
	return number == VG_REGISTER_FP ? VG_FROM_FP : VG_FROM_SP;
}

/* Sets where the caller's frame pointer is, at the path's beginning.  False: the path does not restore it. */
static bool row_fp_at_begin(const struct vg_code_path *path, struct vg_row *row)
{
	const struct vg_value *sp = &path->values[VG_REGISTER_SP], *fp = &path->values[VG_REGISTER_FP];

	if (is_first(fp, VG_REGISTER_FP) && fp->offset == 0)
		return true;
	if (is_loaded(fp) && fp->offset == 0) {
		row->fp_base = (uint8_t)row_base(fp->number);
		row->fp_offset = fp->at;
		return true;
	}
	if (fp->base == VG_VALUE_LOADED_TWICE && is_loaded(sp) && fp->number == sp->number && fp->at == sp->at &&
	    fp->offset == 0) {
		row->fp_base = VG_FROM_CFA;
		row->fp_offset = (int32_t)(fp->at_2 - sp->offset - WORD_BYTES);
		return true;
	}
	row->fp_base = VG_FROM_UNDEFINED;
	return false;
}

/* At the return, the return address is on top of the stack. */
bool vg_code_path_row_at_begin(const struct vg_code_path *path, struct vg_row *row, bool *doubtful)
{
	const struct vg_value *sp = &path->values[VG_REGISTER_SP];

	*row = (struct vg_row){ .kind = VG_ROW_PLAIN, .ra_base = VG_FROM_CFA, .ra_offset = -WORD_BYTES };
	if (sp->base == VG_VALUE_AT_BEGIN && sp->number <= VG_REGISTER_FP && is_small(sp->offset)) {
		row->cfa_base = (uint8_t)row_base(sp->number);
		row->cfa_offset = (int32_t)sp->offset + WORD_BYTES;
	} else if (is_loaded(sp) && is_addend(sp->offset + WORD_BYTES)) {
		row->cfa_base = (uint8_t)row_base(sp->number);
		row->cfa_offset = sp->at;
		row->cfa_deref = 1;
		row->cfa_addend = (uint8_t)(sp->offset + WORD_BYTES);
	} else {
		return false;
	}
	*doubtful = !row_fp_at_begin(path, row) || path->doubtful;
	return true;
}

/* The word on the stack that has a register's first value, + the offset. */
static const struct vg_stored *saved_find(const struct vg_code_path *path, uint8_t number)
{
	for (uint8_t i = 0; i < path->stored_count; i++) {
		const struct vg_stored *stored = &path->stored[i];

		if (is_first(&stored->value, number) &&
		    (is_first(&stored->address, VG_REGISTER_SP) || stored->address.base == VG_VALUE_ALIGNED))
			return stored;
	}
	return NULL;
}

/* At the beginning, the return address is on top of the stack. */
bool vg_code_path_row_at_end(const struct vg_code_path *path, struct vg_row *row)
{
	const struct vg_value *sp = &path->values[VG_REGISTER_SP], *fp = &path->values[VG_REGISTER_FP];
	const struct vg_stored *sp_saved = saved_find(path, VG_REGISTER_SP);
	const struct vg_stored *fp_saved = saved_find(path, VG_REGISTER_FP);

	*row = (struct vg_row){ .kind = VG_ROW_PLAIN, .ra_base = VG_FROM_CFA, .ra_offset = -WORD_BYTES };
	if (is_first(sp, VG_REGISTER_SP) && is_small(sp->offset)) {
		row->cfa_base = VG_FROM_SP;
		row->cfa_offset = (int32_t)(WORD_BYTES - sp->offset);
	} else if (is_first(fp, VG_REGISTER_SP) && is_small(fp->offset)) {
		row->cfa_base = VG_FROM_FP;
		row->cfa_offset = (int32_t)(WORD_BYTES - fp->offset);
	} else if (sp->base == VG_VALUE_ALIGNED && sp_saved != NULL && sp_saved->address.base == VG_VALUE_ALIGNED &&
		   is_small(sp_saved->address.offset) && is_small(sp->offset) &&
		   is_addend(WORD_BYTES - sp_saved->value.offset)) {
		row->cfa_base = VG_FROM_SP;
		row->cfa_offset = (int32_t)(sp_saved->address.offset - sp->offset);
		row->cfa_deref = 1;
		row->cfa_addend = (uint8_t)(WORD_BYTES - sp_saved->value.offset);
	} else {
		return false;
	}
	/* A saved frame pointer is preferred: the register of a waiting thread is not known. */
	if (fp_saved != NULL && fp_saved->value.offset == 0 && is_first(&fp_saved->address, VG_REGISTER_SP) &&
	    is_small(fp_saved->address.offset)) {
		row->fp_base = VG_FROM_CFA;
		row->fp_offset = (int32_t)fp_saved->address.offset - WORD_BYTES;
	} else if (!is_first(fp, VG_REGISTER_FP) || fp->offset != 0) {
		row->fp_base = VG_FROM_UNDEFINED;
	}
	return true;
}

/* The CFA is the first stack pointer + WORD_BYTES. */
enum vg_code_verdict vg_code_path_verify(const struct vg_code_path *path, const struct vg_row *row)
{
	struct vg_value from = path->values[row->cfa_base == VG_FROM_FP ? VG_REGISTER_FP : VG_REGISTER_SP], cfa;

	from = moved(from, row->cfa_offset);
	cfa = row->cfa_deref ? moved(load(path, from), row->cfa_addend) : from;
	if (is_first(&cfa, VG_REGISTER_SP))
		return cfa.offset == WORD_BYTES ? VG_CODE_RIGHT : VG_CODE_WRONG;
	/* The row reads a word that the path has not stored.  (If path->stored is full, it may have.) */
	if (row->cfa_deref && from.base == VG_VALUE_ALIGNED && path->stored_count < VG_STORED_MAX)
		return VG_CODE_WRONG;
	/* An aligned or unknown stack pointer is at no fixed distance from the CFA. */
	if (!row->cfa_deref && (from.base == VG_VALUE_ALIGNED || (row->cfa_base == VG_FROM_SP && !is_known(&from))))
		return VG_CODE_WRONG;
	return VG_CODE_UNDECIDED;
}

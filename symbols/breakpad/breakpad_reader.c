/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad_reader.h"

int vg_sym_bad_record(struct vg_sym_reader *reader)
{
	if (reader->symbols->bad_records++ == 0)
		reader->symbols->first_bad_line = reader->line_number;
	return 0;
}

int vg_sym_file_slot(struct vg_sym_reader *reader, uint64_t number, uint32_t *slot)
{
	static const struct vg_sym_name none = { .id = VG_SYMBOLS_NONE };
	int rc;

	if (reader->cached_slot != VG_SYMBOLS_NONE && reader->cached_number == number) {
		*slot = reader->cached_slot;
		return 0;
	}
	rc = vg_array_reserve(&reader->files, 1);
	if (rc == 0)
		rc = vg_sym_slot(&reader->file_slots, number, slot);
	if (rc == 1)
		rc = vg_array_push(&reader->files, &none);
	if (rc != 0)
		return rc;
	reader->cached_number = number;
	reader->cached_slot = *slot;
	return 0;
}

int vg_sym_origin_slot(struct vg_sym_reader *reader, uint64_t number, uint32_t *slot)
{
	static const struct vg_sym_origin none = {
		{ .id = VG_SYMBOLS_NONE }, VG_SYMBOLS_NONE, { .index = VG_SYMBOLS_NONE },
	};
	int rc = vg_array_reserve(&reader->origins, 1);

	if (rc == 0)
		rc = vg_sym_slot(&reader->origin_slots, number, slot);
	return rc == 1 ? vg_array_push(&reader->origins, &none) : rc;
}

void vg_sym_reader_free(struct vg_sym_reader *reader)
{
	vg_sym_slots_free(&reader->file_slots);
	vg_sym_slots_free(&reader->origin_slots);
	vg_array_free(&reader->files);
	vg_array_free(&reader->origins);
	vg_array_free(&reader->open_calls);
	vg_array_free(&reader->scratch);
	vg_array_free(&reader->linker_symbols);
	vg_array_free(&reader->function_ranges);
	vg_intern_free(&reader->pairs);
	free(reader->functions_at);
	vg_array_free(&reader->innermost);
	vg_array_free(&reader->next_unset);
	vg_array_free(&reader->parents);
	vg_array_free(&reader->frames);
}

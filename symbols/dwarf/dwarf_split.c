/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_split.h"

#include <dwarf.h>
#include <errno.h>

/* What is left to read of a list or an attribute. */
struct cursor {
	const struct vg_dwarf_split *split;
	const unsigned char *at, *end;
	bool is_bad;            /* it ended too soon; everything read is 0 from then on */
};

uint64_t vg_dwarf_packed_number(const unsigned char *bytes, unsigned count, bool is_big_endian)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < count; i++)
		number = number << 8 | bytes[is_big_endian ? i : count - 1 - i];
	return number;
}

static uint64_t take_fixed(struct cursor *cursor, unsigned count)
{
	const unsigned char *at = cursor->at;

	if (cursor->is_bad || (size_t)(cursor->end - at) < count) {
		cursor->is_bad = true;
		return 0;
	}
	cursor->at += count;
	return vg_dwarf_packed_number(at, count, cursor->split->is_big_endian);
}

static uint64_t take_leb(struct cursor *cursor)
{
	uint64_t number = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint64_t byte = take_fixed(cursor, 1);

		number |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
	}
	cursor->is_bad = true;
	return 0;
}

static uint64_t take_address(struct cursor *cursor)
{
	return take_fixed(cursor, cursor->split->address_bytes);
}

/* The address with that number in the program's table. */
static uint64_t address_at(struct cursor *cursor, uint64_t number)
{
	const struct vg_dwarf_split *split = cursor->split;

	if (cursor->is_bad || number >= split->addresses.count / split->address_bytes) {
		cursor->is_bad = true;
		return 0;
	}
	return vg_dwarf_packed_number(split->addresses.bytes + number * split->address_bytes,
			       split->address_bytes, split->is_big_endian);
}

static uint64_t take_indexed(struct cursor *cursor)
{
	return address_at(cursor, take_leb(cursor));
}

/* An attribute's bytes, which lie in the unit. */
static bool attribute_cursor(const struct vg_dwarf_split *split, const Dwarf_Attribute *attribute,
			     struct cursor *cursor)
{
	const unsigned char *end = split->info.bytes + split->info.count;

	*cursor = (struct cursor){ split, attribute->valp, end, false };
	return attribute->valp >= split->info.bytes && attribute->valp <= end;
}

/* False if the attribute is no address. */
static bool address_read(const struct vg_dwarf_split *split, const Dwarf_Attribute *attribute,
			 uint64_t *address)
{
	struct cursor cursor;

	if (!attribute_cursor(split, attribute, &cursor))
		return false;
	switch (attribute->form) {
	case DW_FORM_addr:
		*address = take_address(&cursor);
		break;
	case DW_FORM_addrx:
	case DW_FORM_GNU_addr_index:
		*address = take_indexed(&cursor);
		break;
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
		*address = address_at(&cursor, take_fixed(&cursor,
							  attribute->form - DW_FORM_addrx1 + 1));
		break;
	default:
		return false;
	}
	return !cursor.is_bad;
}

typedef int range_callback(void *context, uint64_t low, uint64_t high);

static int single_range(const struct vg_dwarf_split *split, Dwarf_Die *die, range_callback *each,
			void *context)
{
	Dwarf_Attribute attribute;
	uint64_t low, high;
	Dwarf_Word bytes;

	if (dwarf_attr(die, DW_AT_low_pc, &attribute) == NULL)
		return 0;
	if (!address_read(split, &attribute, &low) ||
	    dwarf_attr(die, DW_AT_high_pc, &attribute) == NULL)
		return -EBADMSG;
	if (!address_read(split, &attribute, &high)) {
		if (dwarf_formudata(&attribute, &bytes) != 0 ||
		    __builtin_add_overflow(low, (uint64_t)bytes, &high))
			return -EBADMSG;
	}
	return each(context, low, high);
}

/* DWARF 5, section 2.17.3. */
static int list_walk(struct cursor *cursor, range_callback *each, void *context)
{
	uint64_t base = cursor->split->base;
	int rc = 0;

	while (rc == 0 && !cursor->is_bad) {
		uint64_t low = 0, high = 0;

		switch (take_fixed(cursor, 1)) {
		case DW_RLE_end_of_list:
			return cursor->is_bad ? -EBADMSG : 0;
		case DW_RLE_base_addressx:
			base = take_indexed(cursor);
			continue;
		case DW_RLE_base_address:
			base = take_address(cursor);
			continue;
		case DW_RLE_startx_endx:
			low = take_indexed(cursor);
			high = take_indexed(cursor);
			break;
		case DW_RLE_startx_length:
			low = take_indexed(cursor);
			high = low + take_leb(cursor);
			break;
		case DW_RLE_offset_pair:
			low = base + take_leb(cursor);
			high = base + take_leb(cursor);
			break;
		case DW_RLE_start_end:
			low = take_address(cursor);
			high = take_address(cursor);
			break;
		case DW_RLE_start_length:
			low = take_address(cursor);
			high = low + take_leb(cursor);
			break;
		default:
			return -EBADMSG;
		}
		if (!cursor->is_bad)
			rc = each(context, low, high);
	}
	return rc != 0 ? rc : -EBADMSG;
}

/* Before DWARF 5: pairs of addresses, all ones for a new base. */
static int pairs_walk(struct cursor *cursor, range_callback *each, void *context)
{
	uint64_t base = cursor->split->base;
	uint64_t ones = cursor->split->address_bytes < 8 ?
			((uint64_t)1 << 8 * cursor->split->address_bytes) - 1 : UINT64_MAX;
	int rc = 0;

	while (rc == 0) {
		uint64_t low = take_address(cursor), high = take_address(cursor);

		if (cursor->is_bad)
			return -EBADMSG;
		if (low == 0 && high == 0)
			break;
		if (low == ones)
			base = high;
		else
			rc = each(context, (base + low) & ones, (base + high) & ones);
	}
	return rc;
}

/* Where the list with that number is: the table of offsets behind the header counts from its own
 * beginning. */
static bool list_offset(const struct vg_dwarf_split *split, uint64_t number, uint64_t *offset)
{
	uint64_t header = split->offset_bytes == 8 ? 20 : 12, entry;

	if (__builtin_mul_overflow(number, (uint64_t)split->offset_bytes, &entry) ||
	    __builtin_add_overflow(entry, header, &entry) || split->ranges.count < split->offset_bytes ||
	    entry > split->ranges.count - split->offset_bytes)
		return false;
	return !__builtin_add_overflow(vg_dwarf_packed_number(split->ranges.bytes + entry,
						       split->offset_bytes, split->is_big_endian),
				       header, offset);
}

int vg_dwarf_split_ranges(const struct vg_dwarf_split *split, Dwarf_Die *die, range_callback *each,
			  void *context)
{
	Dwarf_Attribute attribute;
	struct cursor cursor;
	uint64_t offset;

	if (dwarf_attr(die, DW_AT_ranges, &attribute) == NULL)
		return single_range(split, die, each, context);
	if (!attribute_cursor(split, &attribute, &cursor))
		return -EBADMSG;
	if (attribute.form == DW_FORM_rnglistx) {
		if (!list_offset(split, take_leb(&cursor), &offset))
			return -EBADMSG;
	} else if (attribute.form == DW_FORM_sec_offset) {
		offset = take_fixed(&cursor, split->offset_bytes);
	} else {
		return -EBADMSG;
	}
	if (cursor.is_bad || offset >= split->ranges.count)
		return -EBADMSG;
	cursor.at = split->ranges.bytes + offset;
	cursor.end = split->ranges.bytes + split->ranges.count;
	return split->version >= 5 ? list_walk(&cursor, each, context) :
				     pairs_walk(&cursor, each, context);
}

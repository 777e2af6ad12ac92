/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_split.h"

#include <dwarf.h>
#include <errno.h>

/* The address with that number in the program's table. */
static uint64_t address_at(const struct vg_dwarf_split *split, struct vg_elf_bytes *bytes,
			   uint64_t number)
{
	unsigned size = split->address_bytes;

	if (number >= vg_elf_left(&split->addresses) / size) {
		bytes->failed = true;
		return 0;
	}
	return vg_elf_number(split->addresses.at + number * size, size, split->addresses.big_endian);
}

static uint64_t take_address(const struct vg_dwarf_split *split, struct vg_elf_bytes *bytes)
{
	return vg_elf_fixed(bytes, split->address_bytes);
}

static uint64_t take_indexed(const struct vg_dwarf_split *split, struct vg_elf_bytes *bytes)
{
	return address_at(split, bytes, vg_elf_uleb(bytes));
}

/* What is in the unit from an attribute on; false if the attribute lies elsewhere. */
static bool attribute_bytes(const struct vg_dwarf_split *split, const Dwarf_Attribute *attribute,
			    struct vg_elf_bytes *bytes)
{
	*bytes = split->info;
	bytes->at = attribute->valp;
	return attribute->valp >= split->info.at && attribute->valp <= split->info.end;
}

/* False if the attribute is no address. */
static bool address_read(const struct vg_dwarf_split *split, const Dwarf_Attribute *attribute,
			 uint64_t *address)
{
	struct vg_elf_bytes bytes;

	if (!attribute_bytes(split, attribute, &bytes))
		return false;
	switch (attribute->form) {
	case DW_FORM_addr:
		*address = take_address(split, &bytes);
		break;
	case DW_FORM_addrx:
	case DW_FORM_GNU_addr_index:
		*address = take_indexed(split, &bytes);
		break;
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
		*address = address_at(split, &bytes,
				      vg_elf_fixed(&bytes, attribute->form - DW_FORM_addrx1 + 1));
		break;
	default:
		return false;
	}
	return !bytes.failed;
}

typedef int range_callback(void *context, uint64_t low, uint64_t high);

static int single_range(const struct vg_dwarf_split *split, Dwarf_Die *die, range_callback *each,
			void *context)
{
	Dwarf_Attribute attribute;
	uint64_t low, high;
	Dwarf_Word size;

	if (dwarf_attr(die, DW_AT_low_pc, &attribute) == NULL)
		return 0;
	if (!address_read(split, &attribute, &low) ||
	    dwarf_attr(die, DW_AT_high_pc, &attribute) == NULL)
		return -EBADMSG;
	if (!address_read(split, &attribute, &high)) {
		if (dwarf_formudata(&attribute, &size) != 0 ||
		    __builtin_add_overflow(low, (uint64_t)size, &high))
			return -EBADMSG;
	}
	return each(context, low, high);
}

/* DWARF 5, section 2.17.3. */
static int list_walk(const struct vg_dwarf_split *split, struct vg_elf_bytes *list,
		     range_callback *each, void *context)
{
	uint64_t base = split->base;
	int rc = 0;

	while (rc == 0 && !list->failed) {
		uint64_t low = 0, high = 0;

		switch (vg_elf_byte(list)) {
		case DW_RLE_end_of_list:
			return list->failed ? -EBADMSG : 0;
		case DW_RLE_base_addressx:
			base = take_indexed(split, list);
			continue;
		case DW_RLE_base_address:
			base = take_address(split, list);
			continue;
		case DW_RLE_startx_endx:
			low = take_indexed(split, list);
			high = take_indexed(split, list);
			break;
		case DW_RLE_startx_length:
			low = take_indexed(split, list);
			high = low + vg_elf_uleb(list);
			break;
		case DW_RLE_offset_pair:
			low = base + vg_elf_uleb(list);
			high = base + vg_elf_uleb(list);
			break;
		case DW_RLE_start_end:
			low = take_address(split, list);
			high = take_address(split, list);
			break;
		case DW_RLE_start_length:
			low = take_address(split, list);
			high = low + vg_elf_uleb(list);
			break;
		default:
			return -EBADMSG;
		}
		if (!list->failed)
			rc = each(context, low, high);
	}
	return rc != 0 ? rc : -EBADMSG;
}

/* Before DWARF 5: pairs of addresses, all ones for a new base. */
static int pairs_walk(const struct vg_dwarf_split *split, struct vg_elf_bytes *list,
		      range_callback *each, void *context)
{
	uint64_t base = split->base;
	uint64_t ones = split->address_bytes < 8 ?
			((uint64_t)1 << 8 * split->address_bytes) - 1 : UINT64_MAX;
	int rc = 0;

	while (rc == 0) {
		uint64_t low = take_address(split, list), high = take_address(split, list);

		if (list->failed)
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
	struct vg_elf_bytes table = split->ranges;
	uint64_t header = split->offset_bytes == 8 ? 20 : 12, entry;

	if (__builtin_mul_overflow(number, (uint64_t)split->offset_bytes, &entry))
		return false;
	vg_elf_skip(&table, header);
	vg_elf_skip(&table, entry);
	return !__builtin_add_overflow(vg_elf_fixed(&table, split->offset_bytes), header, offset) &&
	       !table.failed;
}

int vg_dwarf_split_ranges(const struct vg_dwarf_split *split, Dwarf_Die *die, range_callback *each,
			  void *context)
{
	struct vg_elf_bytes bytes, list = split->ranges;
	Dwarf_Attribute attribute;
	uint64_t offset;

	if (dwarf_attr(die, DW_AT_ranges, &attribute) == NULL)
		return single_range(split, die, each, context);
	if (!attribute_bytes(split, &attribute, &bytes))
		return -EBADMSG;
	if (attribute.form == DW_FORM_rnglistx) {
		if (!list_offset(split, vg_elf_uleb(&bytes), &offset))
			return -EBADMSG;
	} else if (attribute.form == DW_FORM_sec_offset) {
		offset = vg_elf_fixed(&bytes, split->offset_bytes);
	} else {
		return -EBADMSG;
	}
	vg_elf_skip(&list, offset);
	if (bytes.failed || vg_elf_left(&list) == 0)
		return -EBADMSG;
	return split->version >= 5 ? list_walk(split, &list, each, context) :
				     pairs_walk(split, &list, each, context);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_split.h"

#include <dwarf.h>
#include <errno.h>

static uint64_t uint_attribute(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word = 0;

	if (dwarf_attr(die, name, &attribute) == NULL || dwarf_formudata(&attribute, &word) != 0)
		return 0;
	return word;
}

/* A section of the program, from the offset in the skeleton's attribute `base`. */
static struct vg_elf_bytes program_bytes(const struct vg_elf_image *debug, const char *name,
					 Dwarf_Die *skeleton, unsigned base)
{
	struct vg_elf_bytes bytes = vg_elf_section_bytes(debug, name);

	vg_elf_skip(&bytes, uint_attribute(skeleton, base));
	return bytes;
}

int vg_dwarf_split_describe(struct vg_dwarf_split *split, const struct vg_elf_image *debug, Dwarf_Die *skeleton,
			    struct vg_elf_bytes info, struct vg_elf_bytes ranges)
{
	uint8_t address_bytes, offset_bytes;
	Dwarf_Half version;
	Dwarf_Addr low;

	if (dwarf_cu_info(skeleton->cu, &version, NULL, NULL, NULL, NULL, &address_bytes, &offset_bytes) != 0 ||
	    vg_elf_bytes_left(&info) == 0 || address_bytes == 0)
		return -EBADMSG;
	*split = (struct vg_dwarf_split){
		.info = info, .ranges = ranges, .base = dwarf_lowpc(skeleton, &low) == 0 ? low : 0,
		.version = version, .address_bytes = address_bytes, .offset_bytes = offset_bytes,
		.addresses = program_bytes(debug, ".debug_addr", skeleton,
					   version >= 5 ? DW_AT_addr_base : DW_AT_GNU_addr_base),
	};
	if (version < 5)
		split->ranges = program_bytes(debug, ".debug_ranges", skeleton, DW_AT_GNU_ranges_base);
	return 0;
}

/* The address with that index in .debug_addr.  Sets bytes->failed if there is none. */
static uint64_t address_at(const struct vg_dwarf_split *split, struct vg_elf_bytes *bytes,
			   uint64_t number)
{
	unsigned size = split->address_bytes;

	if (number >= vg_elf_bytes_left(&split->addresses) / size) {
		bytes->failed = true;
		return 0;
	}
	return vg_elf_uint_at(split->addresses.at + number * size, size, split->addresses.big_endian);
}

static uint64_t read_address(const struct vg_dwarf_split *split, struct vg_elf_bytes *bytes)
{
	return vg_elf_uint(bytes, split->address_bytes);
}

static uint64_t read_indexed_address(const struct vg_dwarf_split *split, struct vg_elf_bytes *bytes)
{
	return address_at(split, bytes, vg_elf_uleb128(bytes));
}

/* Sets *bytes to the part of the unit that begins with the attribute's value.  False if the
 * attribute is not in the unit. */
static bool attribute_bytes(const struct vg_dwarf_split *split, const Dwarf_Attribute *attribute,
			    struct vg_elf_bytes *bytes)
{
	*bytes = split->info;
	bytes->at = attribute->valp;
	return attribute->valp >= split->info.at && attribute->valp <= split->info.end;
}

/* False if the attribute is not an address. */
static bool address_read(const struct vg_dwarf_split *split, const Dwarf_Attribute *attribute,
			 uint64_t *address)
{
	struct vg_elf_bytes bytes;

	if (!attribute_bytes(split, attribute, &bytes))
		return false;
	switch (attribute->form) {
	case DW_FORM_addr:
		*address = read_address(split, &bytes);
		break;
	case DW_FORM_addrx:
	case DW_FORM_GNU_addr_index:
		*address = read_indexed_address(split, &bytes);
		break;
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
		*address = address_at(split, &bytes,
				      vg_elf_uint(&bytes, attribute->form - DW_FORM_addrx1 + 1));
		break;
	default:
		return false;
	}
	return !bytes.failed;
}

typedef int range_callback(void *context, uint64_t low, uint64_t high);

static int single_range(const struct vg_dwarf_split *split, Dwarf_Die *die, range_callback *callback,
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
	return callback(context, low, high);
}

/* Reads a range list of DWARF 5 (2.17.3). */
static int rnglist_walk(const struct vg_dwarf_split *split, struct vg_elf_bytes *list,
			range_callback *callback, void *context)
{
	uint64_t base = split->base;
	int rc = 0;

	while (rc == 0 && !list->failed) {
		uint64_t low = 0, high = 0;

		switch (vg_elf_byte(list)) {
		case DW_RLE_end_of_list:
			return list->failed ? -EBADMSG : 0;
		case DW_RLE_base_addressx:
			base = read_indexed_address(split, list);
			continue;
		case DW_RLE_base_address:
			base = read_address(split, list);
			continue;
		case DW_RLE_startx_endx:
			low = read_indexed_address(split, list);
			high = read_indexed_address(split, list);
			break;
		case DW_RLE_startx_length:
			low = read_indexed_address(split, list);
			high = low + vg_elf_uleb128(list);
			break;
		case DW_RLE_offset_pair:
			low = base + vg_elf_uleb128(list);
			high = base + vg_elf_uleb128(list);
			break;
		case DW_RLE_start_end:
			low = read_address(split, list);
			high = read_address(split, list);
			break;
		case DW_RLE_start_length:
			low = read_address(split, list);
			high = low + vg_elf_uleb128(list);
			break;
		default:
			return -EBADMSG;
		}
		if (!list->failed)
			rc = callback(context, low, high);
	}
	return rc != 0 ? rc : -EBADMSG;
}

/* Reads a range list in the format before DWARF 5: pairs of addresses.  If the first address of a pair
 * has all bits set, the second address is the new base address. */
static int range_pairs_walk(const struct vg_dwarf_split *split, struct vg_elf_bytes *list,
			    range_callback *callback, void *context)
{
	uint64_t base = split->base;
	uint64_t base_marker = split->address_bytes < 8 ?
			((uint64_t)1 << 8 * split->address_bytes) - 1 : UINT64_MAX;
	int rc = 0;

	while (rc == 0) {
		uint64_t low = read_address(split, list), high = read_address(split, list);

		if (list->failed)
			return -EBADMSG;
		if (low == 0 && high == 0)
			break;
		if (low == base_marker)
			base = high;
		else
			rc = callback(context, (base + low) & base_marker, (base + high) & base_marker);
	}
	return rc;
}

/* The offset of the range list with that index.  The offsets are stored after the header, and are
 * relative to the end of the header. */
static bool list_offset(const struct vg_dwarf_split *split, uint64_t number, uint64_t *offset)
{
	struct vg_elf_bytes table = split->ranges;
	uint64_t header = split->offset_bytes == 8 ? 20 : 12, entry;

	if (__builtin_mul_overflow(number, (uint64_t)split->offset_bytes, &entry))
		return false;
	vg_elf_skip(&table, header);
	vg_elf_skip(&table, entry);
	return !__builtin_add_overflow(vg_elf_uint(&table, split->offset_bytes), header, offset) &&
	       !table.failed;
}

int vg_dwarf_split_ranges(const struct vg_dwarf_split *split, Dwarf_Die *die, range_callback *callback,
			  void *context)
{
	struct vg_elf_bytes bytes, list = split->ranges;
	Dwarf_Attribute attribute;
	uint64_t offset;

	if (dwarf_attr(die, DW_AT_ranges, &attribute) == NULL)
		return single_range(split, die, callback, context);
	if (!attribute_bytes(split, &attribute, &bytes))
		return -EBADMSG;
	if (attribute.form == DW_FORM_rnglistx) {
		if (!list_offset(split, vg_elf_uleb128(&bytes), &offset))
			return -EBADMSG;
	} else if (attribute.form == DW_FORM_sec_offset) {
		offset = vg_elf_uint(&bytes, split->offset_bytes);
	} else {
		return -EBADMSG;
	}
	vg_elf_skip(&list, offset);
	if (bytes.failed || vg_elf_bytes_left(&list) == 0)
		return -EBADMSG;
	return split->version >= 5 ? rnglist_walk(split, &list, callback, context) :
				     range_pairs_walk(split, &list, callback, context);
}

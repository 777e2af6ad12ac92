/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_WANTED_H
#define VG_SYMBOLS_BREAKPAD_WANTED_H

#include "symbols/breakpad/breakpad_reader.h"

/* The first wanted address of the function that is not below `address`; reader->high if there is
 * none.  Starts where the last search ended. */
size_t vg_sym_wanted_search(struct vg_sym_reader *reader, uint64_t address);

/* The same, without a call where the last search has the same result. */
static inline size_t vg_sym_wanted_from(struct vg_sym_reader *reader, uint64_t address)
{
	size_t at = reader->at;

	if (at >= reader->low && at <= reader->high &&
	    (at == reader->low || reader->wanted[at - 1] < address) &&
	    (at == reader->high || reader->wanted[at] >= address))
		return at;
	return vg_sym_wanted_search(reader, address);
}

/* Whether the range holds a wanted address. */
static inline bool vg_sym_is_wanted(struct vg_sym_reader *reader, uint64_t address,
				    uint64_t size_bytes)
{
	size_t at;

	if (reader->wanted == NULL)
		return true;
	at = vg_sym_wanted_from(reader, address);
	return at < reader->high && reader->wanted[at] - address < size_bytes;
}

#endif

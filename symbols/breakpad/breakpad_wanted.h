/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_WANTED_H
#define VG_SYMBOLS_BREAKPAD_WANTED_H

#include "symbols/breakpad/breakpad_reader.h"

/* The index of the function's first wanted address at or after `address`; reader->high if there is
 * none.  The search begins where the last search ended. */
size_t vg_sym_wanted_search(struct vg_sym_reader *reader, uint64_t address);

/* As vg_sym_wanted_search(), but inline.  Returns at once if the result is the same as the last
 * time, as it often is. */
static inline size_t vg_sym_wanted_from(struct vg_sym_reader *reader, uint64_t address)
{
	size_t at = reader->at;

	if (at >= reader->low && at <= reader->high &&
	    (at == reader->low || reader->wanted[at - 1] < address) &&
	    (at == reader->high || reader->wanted[at] >= address))
		return at;
	return vg_sym_wanted_search(reader, address);
}

/* True if the range has a wanted address. */
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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_INTERN_H
#define VG_BASE_INTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"

/*
 * Gives ids to byte strings (keys): 0, 1, 2, ... in the order of their first use.  Equal keys have the same id.  Keys
 * may be strings or structs.  A struct must not have undefined padding, because keys are compared byte by byte.  A
 * zeroed table is empty.
 *
 * 	struct vg_intern names = { 0 };
 * 	if (vg_intern_string(&names, "main", &id) < 0)
 * 		return -ENOMEM;
 * 	puts(vg_intern_text(&names, id));
 * 	vg_intern_free(&names);
 */
struct vg_intern {
	VG_ARRAY(unsigned char) bytes; /* all keys, one after the other */
	struct vg_intern_key { size_t offset; uint32_t length, hash; } *keys; /* by id */
	size_t capacity;             /* of `keys` */
	uint32_t count;
	uint32_t slot_count;         /* a power of two */
	uint32_t *slots;             /* id + 1, or 0: free; open addressing */
	struct vg_hash_key hash_key; /* set when the first slots are allocated */
};

/* Sets *id to the key's id and adds the key if it is new.  Returns 1 if the key is new, 0 if not, or -ENOMEM with the
 * table unchanged. */
int vg_intern(struct vg_intern *table, const void *key, size_t length, uint32_t *id);

/* If the table has the key, returns true and sets *id to its id.  Otherwise returns false. */
bool vg_intern_find(const struct vg_intern *table, const void *key, size_t length, uint32_t *id);

/* Like vg_intern(), for a string.  The key includes the NUL, so that vg_intern_text() can return it. */
int vg_intern_string(struct vg_intern *table, const char *text, uint32_t *id);

/* The key with that id, which must be below table->count.  The pointer is valid until the next vg_intern().  `length`
 * may be NULL.  vg_intern_text() is for keys of vg_intern_string(). */
const void *vg_intern_bytes(const struct vg_intern *table, uint32_t id, size_t *length);
const char *vg_intern_text(const struct vg_intern *table, uint32_t id);

void vg_intern_free(struct vg_intern *table);

#endif

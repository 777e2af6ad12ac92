/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_INTERN_H
#define VG_BASE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/*
 * Gives equal byte strings the same small number, counting from 0 in order of first sight.
 * Serves strings and fixed structs alike; a struct used as a key must have no padding left
 * undefined.  All zero is an empty table.
 */
struct vg_intern {
	unsigned char *bytes;          /* keys, one after the other */
	size_t bytes_used, bytes_capacity;
	struct vg_intern_key { size_t offset; uint32_t length, hash; } *keys; /* by id */
	uint32_t count, capacity;
	uint32_t *slots;               /* id + 1, or 0; open addressing */
	uint32_t slot_count;           /* power of two */
	struct vg_hash_key hash_key;   /* of as long as there are slots */
};

/* *id is the key's number.  1 if it was new, 0 if not, -ENOMEM (table unchanged). */
int vg_intern(struct vg_intern *table, const void *key, size_t length, uint32_t *id);

/* Whether the key is known; *id is its number if so.  Changes nothing. */
bool vg_intern_find(const struct vg_intern *table, const void *key, size_t length, uint32_t *id);

/* vg_intern() for a string; a NUL is kept behind it, so that vg_intern_text() serves. */
int vg_intern_string(struct vg_intern *table, const char *text, uint32_t *id);

/* The bytes behind an id below table->count; valid until the next vg_intern(). */
const void *vg_intern_bytes(const struct vg_intern *table, uint32_t id, size_t *length);
const char *vg_intern_text(const struct vg_intern *table, uint32_t id);

void vg_intern_free(struct vg_intern *table);

#endif

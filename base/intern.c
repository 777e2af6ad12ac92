/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t key_hash(const struct vg_intern *table, const void *key, size_t length)
{
	return (uint32_t)vg_hash(&table->hash_key, key, length);
}

static int slots_double(struct vg_intern *table)
{
	uint32_t slot_count = table->slot_count ? table->slot_count * 2 : 64;
	uint32_t *slots;

	if (table->slot_count > UINT32_MAX / 4)
		return -ENOMEM;
	slots = calloc(slot_count, sizeof *slots);
	if (slots == NULL)
		return -ENOMEM;
	if (table->slot_count == 0)
		vg_hash_key(&table->hash_key);
	for (uint32_t id = 0; id < table->count; id++) {
		uint32_t at = table->keys[id].hash & (slot_count - 1);

		while (slots[at] != 0)
			at = (at + 1) & (slot_count - 1);
		slots[at] = id + 1;
	}
	free(table->slots);
	table->slots = slots;
	table->slot_count = slot_count;
	return 0;
}

static int key_append(struct vg_intern *table, const void *key, size_t length, uint32_t hash)
{
	if (length > UINT32_MAX || vg_array_reserve(&table->bytes, length) != 0 ||
	    vg_array_grow((void **)&table->keys, &table->capacity, table->count, 1, sizeof *table->keys) != 0)
		return -ENOMEM;
	if (length > 0)
		memcpy(table->bytes.items + table->bytes.count, key, length);
	table->keys[table->count++] = (struct vg_intern_key){ table->bytes.count, (uint32_t)length, hash };
	table->bytes.count += length;
	return 0;
}

/* Returns the slot of the key or, if the table does not have the key, the free slot for it. */
static uint32_t slot_find(const struct vg_intern *table, const void *key, size_t length,
			  uint32_t hash)
{
	uint32_t at = hash & (table->slot_count - 1);

	for (; table->slots[at] != 0; at = (at + 1) & (table->slot_count - 1)) {
		const struct vg_intern_key *seen = &table->keys[table->slots[at] - 1];

		if (seen->hash == hash && seen->length == length &&
		    (length == 0 || memcmp(table->bytes.items + seen->offset, key, length) == 0))
			break;
	}
	return at;
}

int vg_intern(struct vg_intern *table, const void *key, size_t length, uint32_t *id)
{
	uint32_t hash, at;

	if (table->count >= table->slot_count / 2 && slots_double(table) != 0)
		return -ENOMEM;
	hash = key_hash(table, key, length);
	at = slot_find(table, key, length, hash);
	if (table->slots[at] != 0) {
		*id = table->slots[at] - 1;
		return 0;
	}
	if (key_append(table, key, length, hash) != 0)
		return -ENOMEM;
	table->slots[at] = table->count;
	*id = table->count - 1;
	return 1;
}

bool vg_intern_find(const struct vg_intern *table, const void *key, size_t length, uint32_t *id)
{
	uint32_t at;

	if (table->slot_count == 0)
		return false;
	at = slot_find(table, key, length, key_hash(table, key, length));
	if (table->slots[at] == 0)
		return false;
	*id = table->slots[at] - 1;
	return true;
}

int vg_intern_string(struct vg_intern *table, const char *text, uint32_t *id)
{
	return vg_intern(table, text, strlen(text) + 1, id);
}

const void *vg_intern_bytes(const struct vg_intern *table, uint32_t id, size_t *length)
{
	if (length != NULL)
		*length = table->keys[id].length;
	return table->bytes.items + table->keys[id].offset;
}

const char *vg_intern_text(const struct vg_intern *table, uint32_t id)
{
	return (const char *)table->bytes.items + table->keys[id].offset;
}

void vg_intern_free(struct vg_intern *table)
{
	vg_array_free(&table->bytes);
	free(table->keys);
	free(table->slots);
	memset(table, 0, sizeof *table);
}

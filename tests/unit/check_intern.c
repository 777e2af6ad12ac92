/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table that gives equal byte strings the same number, with ordinary keys and with keys that an attacker chose. */
#include "tests/unit/suites.h"

#include <string.h>

#include "base/intern.h"

enum { KEYS = 20000, KEY_BYTES = 16 };

static struct vg_intern table;

static void teardown(void)
{
	vg_intern_free(&table);
}

/* The longest distance of a key from its first slot: a lookup probes that many slots at most. */
static uint32_t longest_probe(void)
{
	uint32_t mask = table.slot_count - 1, longest = 0;

	for (uint32_t at = 0; at < table.slot_count; at++) {
		uint32_t home, distance;

		if (table.slots[at] == 0)
			continue;
		home = table.keys[table.slots[at] - 1].hash & mask;
		distance = (at - home) & mask;
		if (distance > longest)
			longest = distance;
	}
	return longest;
}

/* Adds all keys, then finds each with the number that it got. */
static void keys_check(void (*key_make)(uint32_t number, unsigned char key[KEY_BYTES]))
{
	unsigned char key[KEY_BYTES];
	uint32_t id;

	for (uint32_t i = 0; i < KEYS; i++) {
		key_make(i, key);
		ck_assert_int_eq(vg_intern(&table, key, sizeof key, &id), 1);
		ck_assert_uint_eq(id, i);
	}
	for (uint32_t i = 0; i < KEYS; i++) {
		size_t length;

		key_make(i, key);
		ck_assert(vg_intern_find(&table, key, sizeof key, &id));
		ck_assert_uint_eq(id, i);
		ck_assert_int_eq(vg_intern(&table, key, sizeof key, &id), 0);
		ck_assert_uint_eq(id, i);
		ck_assert_mem_eq(vg_intern_bytes(&table, id, &length), key, sizeof key);
		ck_assert_uint_eq(length, sizeof key);
	}
	/* Half of the slots are free, so a random key is a few hundred slots from its first slot at most. */
	ck_assert_uint_le(longest_probe(), 500);
}

static void counted_key(uint32_t number, unsigned char key[KEY_BYTES])
{
	memset(key, 0, KEY_BYTES);
	memcpy(key, &number, sizeof number);
}

START_TEST(ordinary_keys)
{
	keys_check(counted_key);
}
END_TEST

/* A hash without a secret key can be inverted: an attacker can make any number of keys with the same slot, and a few
 * megabytes of them would keep a reader busy for an hour. These keys collide under FNV-1a over words, which has no
 * secret key. The second word turns the state after the first word into 0. */
static void colliding_key(uint32_t number, unsigned char key[KEY_BYTES])
{
	uint64_t state = 0xcbf29ce484222325u ^ KEY_BYTES, words[2] = { number, 0 };

	state = (state ^ words[0]) * 0x9e3779b97f4a7c15u;
	state ^= state >> 29;
	words[1] = state;
	memcpy(key, words, KEY_BYTES);
}

START_TEST(keys_that_collide_under_a_known_hash)
{
	keys_check(colliding_key);
}
END_TEST

START_TEST(keys_of_different_lengths_differ)
{
	static const char zeros[64];
	uint32_t id;

	ck_assert(!vg_intern_find(&table, zeros, 0, &id));
	for (uint32_t length = 0; length < sizeof zeros; length++) {
		ck_assert_int_eq(vg_intern(&table, zeros, length, &id), 1);
		ck_assert_uint_eq(id, length);
	}
	for (uint32_t length = 0; length < sizeof zeros; length++) {
		ck_assert_int_eq(vg_intern(&table, zeros, length, &id), 0);
		ck_assert_uint_eq(id, length);
	}
}
END_TEST

/* The test vectors of SipHash's authors: the key is 00 01 02 ..., and so is the text. */
START_TEST(hash_is_siphash_1_3)
{
	static const struct vg_hash_key key = { { 0x0706050403020100, 0x0f0e0d0c0b0a0908 } };
	static const unsigned char bytes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 };
	struct vg_hash_key own, again;

	ck_assert_uint_eq(vg_hash(&key, bytes, 0), 0xabac0158050fc4dc);
	ck_assert_uint_eq(vg_hash(&key, bytes, sizeof bytes), 0xd320d86d2a519956);
	vg_hash_key(&own);
	vg_hash_key(&again);
	ck_assert_mem_eq(&own, &again, sizeof own);
	ck_assert(own.words[0] != 0 && own.words[1] != 0);
}
END_TEST

Suite *intern_suite(void)
{
	Suite *suite = suite_create("intern");
	TCase *cases = tcase_create("intern");

	tcase_add_checked_fixture(cases, NULL, teardown);
	tcase_add_test(cases, ordinary_keys);
	tcase_add_test(cases, keys_that_collide_under_a_known_hash);
	tcase_add_test(cases, keys_of_different_lengths_differ);
	tcase_add_test(cases, hash_is_siphash_1_3);
	suite_add_tcase(suite, cases);
	return suite;
}

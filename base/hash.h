/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_HASH_H
#define VG_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * SipHash-1-3 (Aumasson and Bernstein, 2012): one round for each word and three rounds at the end.  The hash tables of
 * Rust, Python and Ruby use it too.  Names in our tables are untrusted: the key is secret, so that nobody can choose
 * names that collide.
 *
 * 	struct vg_hash_key key;
 * 	vg_hash_key(&key);
 * 	hash = vg_hash(&key, name, strlen(name));
 */
struct vg_hash_key {
	uint64_t words[2];
};

/* The random key of this process. */
void vg_hash_key(struct vg_hash_key *key);

uint64_t vg_hash(const struct vg_hash_key *key, const void *bytes, size_t length);

#endif

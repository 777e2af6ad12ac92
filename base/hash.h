/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_HASH_H
#define VG_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * SipHash-1-3 (Aumasson and Bernstein, 2012; one round a word, three at the end, as in the tables of
 * Rust, Python and Ruby).  Names in our tables come from strangers.  Without the secret hash key they
 * cannot choose names that collide.
 */
struct vg_hash_key {
	uint64_t words[2];
};

/* The process's own, which is random. */
void vg_hash_key(struct vg_hash_key *key);

uint64_t vg_hash(const struct vg_hash_key *key, const void *bytes, size_t length);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/hash.h"

#include <endian.h>
#include <string.h>
#include <sys/auxv.h>

struct state {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void round_run(struct state *s)
{
	s->v0 += s->v1;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v0 = rotate(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v2 = rotate(s->v2, 32);
}

static inline void word_take(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	round_run(s);
	s->v0 ^= word;
}

/* The kernel gives each process 16 random bytes (AT_RANDOM) at execve(2).  Reading them needs no system call.  A
 * seccomp filter of the host might forbid a system call for random bytes. */
void vg_hash_key(struct vg_hash_key *key)
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	*key = (struct vg_hash_key){ { 0 } };
	if (random != NULL)
		memcpy(key->words, random, sizeof key->words);
}

uint64_t vg_hash(const struct vg_hash_key *key, const void *bytes, size_t length)
{
	const unsigned char *at = bytes, *words_end = at + length / 8 * 8;
	struct state s = {
		key->words[0] ^ 0x736f6d6570736575, key->words[1] ^ 0x646f72616e646f6d,
		key->words[0] ^ 0x6c7967656e657261, key->words[1] ^ 0x7465646279746573,
	};
	uint64_t word, last = (uint64_t)length << 56;

	for (; at < words_end; at += 8) {
		memcpy(&word, at, sizeof word);
		word_take(&s, le64toh(word));
	}
	for (size_t i = 0; i < length % 8; i++)
		last |= (uint64_t)at[i] << 8 * i;
	word_take(&s, last);
	s.v2 ^= 0xff;
	for (int i = 0; i < 3; i++)
		round_run(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

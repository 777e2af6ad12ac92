/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The static library of views_work.c. */
#include "bench/views_library.h"

uint32_t library_crc(const unsigned char *data, size_t bytes)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < bytes; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static uint32_t adler_reduce(uint32_t sum)
{
	return sum % 65521;
}

uint32_t library_adler(const unsigned char *data, size_t bytes)
{
	uint32_t a = 1, b = 0;

	for (size_t i = 0; i < bytes; i++) {
		a = adler_reduce(a + data[i]);
		b = adler_reduce(b + a);
	}
	return b << 16 | a;
}

unsigned long library_hash(const char *text, size_t bytes)
{
	unsigned long hash = 14695981039346656037UL;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)text[i]) * 1099511628211;
	return hash;
}

unsigned library_primes(unsigned most)
{
	unsigned count = 0;

	for (unsigned n = 3; n < most; n += 2) {
		unsigned divisor = 3;

		while (divisor * divisor <= n && n % divisor != 0)
			divisor += 2;
		count += divisor * divisor > n;
	}
	return count;
}

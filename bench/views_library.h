/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_VIEWS_LIBRARY_H
#define VG_BENCH_VIEWS_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

/* Checksums of the bytes. */
uint32_t library_crc(const unsigned char *data, size_t bytes);
uint32_t library_adler(const unsigned char *data, size_t bytes);
unsigned long library_hash(const char *text, size_t bytes);

/* The number of primes from 3 to most - 1. */
unsigned library_primes(unsigned most);

#endif

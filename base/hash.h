/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hash functions. Those of bytes are keyed by a seed (SipHash-1-3), so that other parties cannot
 * choose what collides if the seed is hash_seed(); a constant seed gives the same hash on every
 * run. The tables over them are hash_table.h, map.h and texts.h.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash128 {
	uint64_t a, b;
};

uint64_t hash_u64(uint64_t x); /* a bijection that mixes all bits (the finaliser of splitmix64) */

/* A number that is constant while the process lives, and secret to other processes. 0 if the
 * kernel gives no random bytes. */
uint64_t hash_seed(void);

uint64_t hash_bytes(uint64_t seed, const void *data, size_t len);

/* 128 bits, for identities that are not compared byte by byte. */
struct hash128 hash_bytes128(uint64_t seed, const void *data, size_t len);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/hash.h"

#include <assert.h>
#include <endian.h>
#include <string.h>
#include <sys/auxv.h>

uint64_t
hash_u64(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* ---- SipHash-1-3 (Aumasson and Bernstein, 2012), with a result of 64 or 128 bits ---- */

struct sip {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t
rotate(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

static inline void
sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 = rotate(s->v0, 32) + s->v3;
	s->v2 += s->v1;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 = rotate(s->v2, 32);
}

static inline void
sip_word(struct sip *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

static inline uint64_t
sip_end(struct sip *s, uint64_t mark)
{
	if (mark == 0xdd)
		s->v1 ^= mark;
	else
		s->v2 ^= mark;
	for (int i = 0; i < 3; i++)
		sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

static struct sip
sip_absorb(uint64_t k0, uint64_t k1, uint64_t wide, const uint8_t *at, size_t len)
{
	struct sip s = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ wide,
		k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573 };
	uint64_t word, last = (uint64_t)len << 56;

	for (; len >= sizeof word; at += sizeof word, len -= sizeof word) {
		memcpy(&word, at, sizeof word);
		sip_word(&s, le64toh(word));
	}
	for (size_t i = 0; i < len; i++)
		last |= (uint64_t)at[i] << 8 * i;
	sip_word(&s, last);
	return s;
}

uint64_t
hash_bytes(uint64_t seed, const void *data, size_t len)
{
	struct sip s = sip_absorb(seed, hash_u64(~seed), 0, data, len);

	assert(data != NULL || len == 0);
	return sip_end(&s, 0xff);
}

struct hash128
hash_bytes128(uint64_t seed, const void *data, size_t len)
{
	struct sip s = sip_absorb(seed, hash_u64(~seed), 0xee, data, len);
	uint64_t a = sip_end(&s, 0xee);

	assert(data != NULL || len == 0);
	return (struct hash128){ a, sip_end(&s, 0xdd) };
}

/* The kernel gives each process 16 random bytes (AT_RANDOM). The C library uses them for its stack
 * guard, so they are hashed, not returned. */
uint64_t
hash_seed(void)
{
	static uint64_t known; /* every thread would set the same */
	uint64_t seed = __atomic_load_n(&known, __ATOMIC_RELAXED);
	const void *random;

	if (seed != 0 || (random = (const void *)getauxval(AT_RANDOM)) == NULL)
		return seed;
	seed = hash_bytes(0x686f6e65, random, 16);
	__atomic_store_n(&known, seed, __ATOMIC_RELAXED);
	return seed;
}

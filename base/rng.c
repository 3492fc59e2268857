/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/rng.h"

#include <assert.h>
#include <math.h>

#include "base/hash.h"

static uint64_t
rotate(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

void
rng_seed(struct rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		r->s[i] = hash_u64(seed += 0x9e3779b97f4a7c15);
}

uint64_t
rng_next(struct rng *r)
{
	uint64_t *s = r->s, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

/*
 * The upper half of a 64 x 64 bit product is uniform, except for the products whose lower half is
 * under 2^64 mod n; those are drawn again (Lemire 2019).
 */
uint64_t
rng_below(struct rng *r, uint64_t n)
{
	unsigned __int128 product;

	assert(n > 0);
	do
		product = (unsigned __int128)rng_next(r) * n;
	while ((uint64_t)product < n && (uint64_t)product < -n % n);
	return (uint64_t)(product >> 64);
}

double
rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* Marsaglia's polar method; its second number is discarded, so that the state is s alone. */
double
rng_normal(struct rng *r)
{
	double x, y, square;

	do {
		x = 2 * rng_unit(r) - 1;
		y = 2 * rng_unit(r) - 1;
		square = x * x + y * y;
	} while (square >= 1 || square == 0);
	return x * sqrt(-2 * log(square) / square);
}

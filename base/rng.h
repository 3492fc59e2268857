/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seeded random numbers (xoshiro256**, Blackman and Vigna 2018): the same seed gives the same
 * numbers on every machine. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct rng {
	uint64_t s[4];
};

void rng_seed(struct rng *r, uint64_t seed); /* any seed; expanded by splitmix64 */
uint64_t rng_next(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n); /* uniform in 0..n-1, without bias; n > 0 */
double rng_unit(struct rng *r);                /* uniform in [0, 1) */
double rng_normal(struct rng *r);              /* mean 0, variance 1 */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Ids. Each thread has its own generator (xoshiro256**), so that an id costs 1 ns and threads share no cache
 * line.
 */
#define _GNU_SOURCE
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "instrument/inside.h"

/* Differs from a thread's generation if the process was forked after the thread was seeded. */
static uint32_t generation = 1;

void
ids_after_fork(void)
{
	generation++;
}

/* Early in boot the kernel may have no random bytes yet, and libhone does not wait: time, process and thread make
 * the seed then. */
static void
seed_poorly(uint64_t random[4])
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	random[0] = mix64((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
	random[1] = mix64(random[0] ^ (uint64_t)getpid());
	random[2] = mix64(random[1] ^ (uint64_t)(uintptr_t)random);
	random[3] = mix64(random[2] ^ (uint64_t)gettid()) | 1;
}

static __attribute__((noinline, cold)) void
seed(struct hone_thread *t)
{
	if (getrandom(t->random, sizeof t->random, GRND_NONBLOCK) != (ssize_t)sizeof t->random)
		seed_poorly(t->random);
	t->random[0] |= t->random[1] == 0; /* the generator never leaves a state of all zeroes */
	t->random_generation = generation;
}

static inline uint64_t
rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline uint64_t
step(uint64_t s[4])
{
	uint64_t out = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return out;
}

uint64_t
ids_next(void)
{
	struct hone_thread *t = &hone_self;
	uint64_t id;

	if (__builtin_expect(t->random_generation != generation, 0))
		seed(t);
	do
		id = step(t->random);
	while (id == 0);
	return id;
}

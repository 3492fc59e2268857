/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of libhone; hidden from programs.
 */
#ifndef HONE_INSIDE_H
#define HONE_INSIDE_H

#include <stdbool.h>

#include "instrument/hone.h"

#pragma GCC visibility push(hidden)

enum { UNITS_ASIDE_MAX = 4, NAME_MAX_BYTES = 63 };

/* A thread's context. One more slot than units can be suspended: it keeps the fourth unit while deeper
 * ones, which are not traced, run. */
struct hone_thread {
	struct hone_unit now; /* all zeroes: outside of any request */
	struct hone_unit aside[UNITS_ASIDE_MAX + 1];
	uint32_t naside;
	uint32_t beyond; /* units begun deeper than that */
	uint64_t random[4];
	uint32_t random_generation; /* 0: not seeded yet */
	bool asked; /* LTTng has evaluated `sampled`: it is about to write a record */
};

/* initial-exec: one load from the thread pointer, without a call, in the tracer's callbacks too. Its size is within
 * what glibc reserves for libraries that are opened late. */
extern __thread struct hone_thread hone_self __attribute__((tls_model("initial-exec")));

/* 64 random bits, never 0. No system call but the first on a thread, and the first after fork(). */
uint64_t ids_next(void);
void ids_after_fork(void);

/* A hash of 64 bits (the finaliser of splitmix64); the same on every run. */
static inline uint64_t
mix64(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Sets the path of the table (NULL: none), and whether all requests are sampled while there is no
 * table. Discards a former table. For use before the first decision, and in tests. */
void policy_init(const char *path, bool trusted, bool sample_without);

/* Sets sampled and probed, by request type and CLOCK_MONOTONIC. draw: a random number, uniform over all
 * values, that nobody outside of this process can know or choose. called: the trace id is a caller's, and the number is made of it if
 * callers are known (policy.h). A few loads; while no agent renews its
 * lease, one attempt a second to open a table. */
void policy_decide(struct hone_carrier *c, uint64_t now_ns, bool called, uint32_t draw);

/* Signals to the agent that a record of a sampled request was not written (policy.h, "knock"). now_ns is
 * CLOCK_MONOTONIC_COARSE. Three system calls at most once in 10 ms (once a record while the agent's queue is
 * full), otherwise a comparison. errno is kept. */
void policy_unwritten(uint64_t now_ns);

#pragma GCC visibility pop
#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the files of libhone share. Nothing here is seen by a program.
 */
#ifndef HONE_INSIDE_H
#define HONE_INSIDE_H

#include <stdbool.h>

#include "instrument/hone.h"

#pragma GCC visibility push(hidden)

enum { UNITS_ASIDE_MAX = 4, NAME_MAX_BYTES = 63 };

/* A thread's context. One more slot than units may be aside: it keeps the
 * fourth unit while deeper ones, that are not traced, run on top of it. */
struct hone_thread {
	struct hone_unit now; /* all zeroes: outside of any request */
	struct hone_unit aside[UNITS_ASIDE_MAX + 1];
	uint32_t naside;
	uint32_t beyond; /* units begun deeper than that */
	uint64_t random[4];
	uint32_t random_generation; /* 0: not seeded yet */
	bool asked; /* LTTng has asked whether this is sampled: it is about to write a record */
};

/* initial-exec: one load from the thread pointer, no call, also where the
 * tracer's callbacks run. It fits what glibc keeps for libraries opened late. */
extern __thread struct hone_thread hone_self __attribute__((tls_model("initial-exec")));

/* 64 random bits, never 0. No system call but the first on a thread, and the first after fork(). */
uint64_t ids_next(void);
void ids_after_fork(void);

/* The same 64 bits for the same input, as good as random. */
static inline uint64_t
mix64(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Where the table is (NULL: nowhere), and whether everything is sampled while
 * there is none. Forgets the table it had. Before the first decision, or in a test. */
void policy_init(const char *path, bool trusted, bool sample_without);

/* Sets sampled and probed, by request type, trace id and CLOCK_MONOTONIC. A few loads; at most
 * once a second, while no agent answers, it looks whether there is a table now. */
void policy_decide(struct hone_carrier *c, uint64_t now_ns);

/* A record of a sampled request was not written by anybody, by CLOCK_MONOTONIC_COARSE: tells the
 * agent, if there is one. Four system calls, at most once in 10 ms; else a comparison. Leaves errno
 * as it is. */
void policy_unwritten(uint64_t now_ns);

#pragma GCC visibility pop
#endif

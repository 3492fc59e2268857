/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work that the programs of the news site only pretend to do, and random numbers. */
#ifndef NEWS_WORK_H
#define NEWS_WORK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Waits, as for a disk. work_queue() waits for an exponential time (cut at 5 times its mean), one thread after
 * the other for each `line`, from 0 to WORK_LINES - 1. */
enum { WORK_LINES = 8 };
void work_wait(double ms);
void work_queue(int line, double mean_ms);

/* Computes for `ms` of this thread's processor time. */
void work_compute(double ms);

/* Uniform in [0, 1), from a generator of this thread. */
double work_chance(void);

/* Hashes the bytes `rounds` times: a few nanoseconds for each byte and round. */
uint64_t work_hash(const void *bytes, size_t n, int rounds);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which records of several queues are missing, by their numbers: 1, 2, 3... in each queue. They come almost in order: a record may come one turn
 * after a later one, but not more. So what is missing below the highest number of a turn is certain at the end of the next one.
 *
 *	turn       1              2              3
 *	numbers    1 2 4          3 5 6 8        9 10
 *	missing    -              -              7: it was due in turn 2, or in this one
 *
 * Pure. Unlike a counter of what could not be written, this shows whatever is lost on the way, also by a defect.
 */
#ifndef BELOW_KERNEL_RECORD_NUMBERS_H
#define BELOW_KERNEL_RECORD_NUMBERS_H

#include <stdint.h>

struct record_numbers;

/* now_ns: no record is older than that. NULL: out of memory, or no queue. */
struct record_numbers *record_numbers_new(uint32_t queues, uint64_t now_ns);
void record_numbers_free(struct record_numbers *n); /* NULL is fine */

/* A record has come. One of no queue is not counted. O(1). */
void record_numbers_take(
    struct record_numbers *n, uint32_t queue, uint64_t number, uint64_t time_ns);

/* Ends a turn. Returns how many of the turn before are missing for certain; *from_ns and *to_ns are then the times of the last records before and
 * after them, else unchanged. O(queues). */
uint64_t record_numbers_turn(struct record_numbers *n, uint64_t *from_ns, uint64_t *to_ns);

#endif

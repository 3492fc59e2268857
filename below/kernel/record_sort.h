/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Brings records of several ring buffers, one of each CPU, into the order of their times. A ring that is read first may lack what
 * was written while the next one is read, so records later than a given time wait for the next turn.
 */
#ifndef BELOW_KERNEL_RECORD_SORT_H
#define BELOW_KERNEL_RECORD_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_sort;

struct record_sort *record_sort_new(void);    /* NULL: out of memory */
void record_sort_free(struct record_sort *s); /* NULL is fine */

/* Copies the record. False: out of memory. O(len). */
bool record_sort_add(struct record_sort *s, uint64_t time_ns, const void *record, size_t len);

/* record: at an address that is a multiple of 8, valid during the call. */
typedef void record_sort_taken(void *of, const void *record, size_t len);
/* Hands on all records up to until_ns: the earlier ones first, those of equal times as they were added. Keeps the others. To be
 * called after each turn of record_sort_add(). O(n log n). */
void record_sort_take(struct record_sort *s, uint64_t until_ns, record_sort_taken *take, void *of);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Merges the records of several queues, one of each CPU, into the order of their times. Within a queue records come almost in
 * order: an interrupt's may lie behind that of what it interrupted.
 */
#ifndef BELOW_KERNEL_CPU_MERGE_H
#define BELOW_KERNEL_CPU_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu_merge;

struct cpu_merge *cpu_merge_new(uint32_t queues); /* not 0. NULL: out of memory */
void cpu_merge_free(struct cpu_merge *m);         /* NULL is fine */

/* Copies the record. False: out of memory. O(len + number of records of the queue that are later). */
bool cpu_merge_add(
    struct cpu_merge *m, uint32_t queue, uint64_t time_ns, const void *record, size_t len);

/* record: at an address that is a multiple of 8, valid during the call; the callee may write to it. */
typedef void cpu_merge_taken(void *of, uint32_t queue, void *record, size_t len);
/* Hands on all records up to until_ns: the earlier ones first, those of equal times by queue, and in a queue as they were added. Keeps
 * the others. O(n log queues + what is kept). */
void cpu_merge_take(struct cpu_merge *m, uint64_t until_ns, cpu_merge_taken *take, void *of);

size_t cpu_merge_bytes(const struct cpu_merge *m); /* of the records that are kept */

#endif

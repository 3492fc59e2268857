/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fills in what records leave open, from what earlier ones of the host said: which thread a CPU runs, of which process a
 * thread is, whether it has exited. It also drops what is said twice: names that are known, and wake-ups of which the
 * kernel has up to three events.
 */
#ifndef KERNEL_FILES_THREAD_TABLE_H
#define KERNEL_FILES_THREAD_TABLE_H

#include "kernel/files/account.h"

struct thread_table;

/* memory_max_bytes bounds the table of threads: those beyond it have no process and no state. ERR_MEMORY. */
int thread_table_new(
    struct thread_table **ret, size_t memory_max_bytes, struct account *a, struct err *e);
void thread_table_free(struct thread_table *t);

enum { THREAD_TABLE_MAX = 2 };

/*
 * Takes a kernel event with marks (translate.h), in the order of time, and writes the events that are to be given, 0 to
 * THREAD_TABLE_MAX, without marks. Returns their number, or ERR_MEMORY. Events of Hone's own are given as they are.
 * O(1) expected.
 */
int thread_table_take(struct thread_table *t, const struct kernel_event *ev,
    struct kernel_event ret[THREAD_TABLE_MAX], struct err *e);

/* After the last event: counts threads without a process, CPUs and threads. */
void thread_table_end(struct thread_table *t);

#endif

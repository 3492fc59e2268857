/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kernel events of some processes and their children for the agent, as pieces of a stream (kernel/kernel_stream.h) in messages of wire/below.h.
 *
 * What the agent does not take waits, up to FEED_PENDING_MAX bytes; then the rings of the kernel fill, and what does not fit there is
 * a KERNEL_LOST of its CPU.
 */
#ifndef BELOW_MAIN_KERNEL_FEED_H
#define BELOW_MAIN_KERNEL_FEED_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/below.h"

struct kernel_feed;

enum { FEED_PENDING_MAX = 4 << 20, FEED_MS = 25 /* between two turns */ };

/* Attaches; nothing is followed yet. flags: of enum below_record_flag. Errors of record_bpf_open(); ERR_MEMORY. */
int kernel_feed_open(struct kernel_feed **ret, uint8_t flags, struct err *e);
void kernel_feed_close(struct kernel_feed *f); /* NULL is fine; detaches */

/* What the kernel lacks for some of it; "": nothing. */
const char *kernel_feed_missing(const struct kernel_feed *f);

/* Follows a process, which may have ended. Errors of record_bpf_follow(). */
int kernel_feed_add(struct kernel_feed *f, pid_t pid, struct err *e);

/* Sends a message. False: there is no room for it now. */
typedef bool kernel_feed_put(void *of, const struct below_message *m);

/* Reads what has happened and puts EVENTS, and an EVENTS_MARK when nothing waits any more. ERR_MEMORY. */
int kernel_feed_turn(struct kernel_feed *f, kernel_feed_put *put, void *of, struct err *e);

#endif

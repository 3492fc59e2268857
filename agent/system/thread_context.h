/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a running program keeps the context of each thread: the request and unit that it works for.
 * libhone publishes it (instrument/context_place.h, docs/trace-contract.md).
 *
 *	/proc/PID/maps -> libhone.so -> its symbol -> the object in the memory of PID -> offset
 *
 * The first two steps need the right to see the process' mappings (its user, or CAP_PERFMON on
 * recent kernels, or CAP_SYS_PTRACE), the last one the right to read its memory.
 */
#ifndef AGENT_SYSTEM_THREAD_CONTEXT_H
#define AGENT_SYSTEM_THREAD_CONTEXT_H

#include <stdint.h>
#include <sys/types.h>

#include "instrument/context_place.h"

enum thread_context {
	THREAD_CONTEXT_FOUND,
	THREAD_CONTEXT_NONE,   /* the process does not use libhone, or one that publishes nothing */
	THREAD_CONTEXT_HIDDEN, /* its mappings, or the file of libhone, may not be read */
	THREAD_CONTEXT_UNREAD, /* *address is known, but the process' memory may not be read */
	THREAD_CONTEXT_BAD     /* what it published is malformed */
};

/* In words, for a message: "its memory may not be read". */
const char *thread_context_text(enum thread_context c);

/*
 * Finds what the process published. FOUND: *ret is valid, as thread_context_check() says. FOUND, UNREAD and
 * BAD: *address is where it lies in the process' memory. Costs a read of the mappings, and of the symbols of
 * libhone: under a millisecond.
 */
enum thread_context thread_context_find(
    pid_t pid, struct hone_context_place *ret, uint64_t *address);

/* Checks bytes that were read from there; pure. FOUND or BAD: the magic, sizes and offsets are not those
 * of a context whose members lie within 4096 bytes, aligned, at less than 1 GiB from the thread pointer. The
 * program writes them, so they may be anything. */
enum thread_context thread_context_check(const struct hone_context_place *p);

#endif

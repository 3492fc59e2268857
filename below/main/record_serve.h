/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hone-below --record: kernel events as they happen, as a stream (kernel/kernel_stream.h) on a descriptor.
 *
 * It ends when its time is over, when all processes that it follows have ended, when it is asked to (*ended), when the reader's end of the pipe is closed, and when the reader has taken
 * nothing for RECORD_STALL_MS. Nothing is attached afterwards. A reader that is slower than the events loses some: what
 * waits for it is at most RECORD_PENDING_MAX, then the rings of the kernel fill, and what does not fit there is a KERNEL_LOST of
 * its CPU.
 */
#ifndef BELOW_MAIN_RECORD_SERVE_H
#define BELOW_MAIN_RECORD_SERVE_H

#include <signal.h>

#include "below/kernel/record_bpf.h"

enum {
	RECORD_PENDING_MAX = 32 << 20, /* bytes */
	RECORD_STALL_MS = 10000,
	RECORD_NAMES_MAX = 1 << 18 /* connections, or texts, until all names are told anew */
};

struct record_serve_options {
	struct record_bpf_options bpf;
	const char *const *counted; /* names as they are told, of bpf.counted */
	bool stacks; /* of the threads of bpf.pids, by observe.h and record_stacks.h */
	double seconds;
	int out;
};

/* Returns 0 when it has ended; what happened is told in the stream, also an error, which is returned, too: that of record_bpf_open(), or
 * ERR_PEER: the reader is gone or takes nothing. */
int record_serve(
    const struct record_serve_options *o, const volatile sig_atomic_t *ended, struct err *e);

#endif

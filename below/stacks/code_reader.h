/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stacks.h promises, in the calling process: files that make libdw crash or run for long do so here. stacks.c
 * runs it in a process of its own. One thread at a time. */
#ifndef BELOW_STACKS_CODE_READER_H
#define BELOW_STACKS_CODE_READER_H

#include <stdint.h>

#include "below/probes/file_probes.h"
#include "below/stacks/code_place.h"
#include "below/stacks/file_identity.h"
#include "below/stacks/stack_sample.h"

enum { GIVEN_UP_MAX = 64 };

struct given_up { /* files that are not read any more; the oldest makes room */
	struct file_identity files[GIVEN_UP_MAX];
	uint32_t count; /* in all; files[count % GIVEN_UP_MAX] is next */
};

struct code_reader;

/* limits: all set. `working` is always the file that is being read, or zeroes, for who has to find out which file ended this
 * process; it may be in shared memory, and must outlive the reader, like `given_up`. NULL: out of memory. */
struct code_reader *code_reader_new(const struct stacks_limits *limits,
    const struct given_up *given_up, struct file_identity *working);

/* As in stacks.h, at this time (CLOCK_MONOTONIC). Returns the number of new names. */
void code_reader_follow(struct code_reader *r, pid_t pid, uint64_t now_ns);
void code_reader_forget(struct code_reader *r, pid_t pid, uint64_t since_ns);
uint32_t code_reader_place(struct code_reader *r, const struct stack_sample *sample,
    uint64_t now_ns, struct code_place *ret);

/* As stacks_probes(), of a file that is open as *fd, which is the caller's; -1: it cannot be read
 * (ret->unread), or is given up. */
bool code_reader_probes(struct code_reader *r, pid_t pid, uint32_t file, uint32_t from,
    uint64_t now_ns, struct file_identity *identity, struct file_probes *ret, int *fd);

/* As stacks_functions(). *fd is the caller's; -1: no function can be probed. */
bool code_reader_functions(struct code_reader *r, pid_t pid, uint32_t file, const char *name,
    uint64_t now_ns, struct file_identity *identity, struct file_functions *ret, int *fd);

#endif

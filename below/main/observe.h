/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From what the BPF programs write to messages of wire/below.h: waits with their cause, places in the code, and what the holder of
 * a lock did while another thread waited for it.
 *
 *	raw_stack ---> place (NAME, once) ---+
 *	raw_wait  ---> parts, cause ---------+--> WAIT, SAMPLE
 *	raw_hit   --------------------------------> HITS
 */
#ifndef BELOW_MAIN_OBSERVE_H
#define BELOW_MAIN_OBSERVE_H

#include "base/err.h"
#include "below/kernel/trace_bpf.h"
#include "below/main/places.h"
#include "wire/below.h"

struct observer;

struct observer_options {
	uint32_t samples_hz, without; /* as in trace_bpf.h */
	/* Only waits in system calls are told, and only their stacks are unwound. */
	bool calls_only;
	bool children; /* as in trace_bpf.h; then observer_forget_ended() is to be called */
};

/* As trace_bpf_open() and stacks_open(). */
int observer_open(struct observer **ret, const struct observer_options *o, struct err *e);
void observer_close(struct observer *x); /* NULL is fine */

struct below_can observer_can(
    const struct observer *x); /* its text is valid until observer_close() */

/* Follows the threads of a process that are in probed requests, as f->flags say; NULL: all of its threads, with their waits. */
int observer_follow(struct observer *x, pid_t pid, const struct below_follow *f, struct err *e);
void observer_unfollow(struct observer *x, pid_t pid);

/* As trace_bpf_forget_ended(), trace_bpf_unfollowed(). */
void observer_forget_ended(struct observer *x);
uint64_t observer_unfollowed(const struct observer *x);

/* As probes_set() and probes_list() (probes.h). ERR_MISSING: no probes are possible here. */
int observer_probe(struct observer *x, const struct below_probe *probe, struct err *e);
void observer_list(struct observer *x, pid_t pid, below_take *take, void *of);
/* As probes_apply(): to be called after what changes probes or processes. */
void observer_apply(struct observer *x, below_take *take, void *of);

/* CPU time in ns of the process that unwinds stacks, which is a child of this one. */
uint64_t observer_reader_cpu_ns(const struct observer *x);

/* Hands on what there is: NAME, WAIT, SAMPLE, LOST; then a MARK. O(records). */
void observer_read(struct observer *x, below_take *take, void *of);

#endif

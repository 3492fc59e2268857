/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Request graphs of programs without instrumentation, from kernel events: who sent on which TCP connection, who received, who
 * forked, who woke whom. The idea is that of MiSeRTrace (Thrivikraman et al., MiSeRTrace: Kernel-level Request Tracing for
 * Microservice Visibility, ICPE '22 Companion); the rule `current` and the treatment of what is not certain are ours.
 *
 *	client          front, a service                  cart, another one            the trace
 *	  |---request---> RECEIVE                                                      request_begin
 *	  |               SEND ----------request---------> RECEIVE                     fork, unit_begin
 *	  |               RECEIVE <------response--------- SEND                        join, unit_end
 *	  |<--response--- SEND                                                         request_end
 *
 * A unit is the span of a thread, or of several that follow each other, from the receipt of a message to the last piece of its
 * response. On a connection the role of each end is fixed: by its ports where just one is in the range that Linux gives to clients
 * (32768 and up), else by the text of HTTP/1, else by the first message that belongs to a request. So a response is
 * the message of the side that serves, also of programs that were busy when the recording began.
 *
 * What a thread sends belongs to its context. There are two rules for it:
 *
 *	RULE_CURRENT	A thread has one context: the last message that it received. The response to a message that it sent restores
 *			the context in which that was sent. After the response to a request, the thread has no context. This is
 *			right for threads that block, and for event loops that act on a message before they receive the next one.
 *	RULE_ALL	A thread has the contexts of all messages that it received and has not responded to, as in the paper. Right for
 *			threads that block only: an event loop gets edges from all open requests. In the paper's program a unit begins
 *			when the receiving system call is entered, which may be before the message was sent; here, when the message
 *			is received.
 *
 * Where RULE_CURRENT knows no context:
 *
 *  1. A worker: a thread that never received a request, in a process with open requests. What it sends is kept apart until the
 *     worker sends the response to a request that was received before that work began: it belongs to that one. So a pool of workers
 *     behind a queue needs no wake-ups.
 *  2. A worker whose response another thread sends: a wake-up is a hand-over if a thread with a context wakes it, both are of the same
 *     process, the worker has no context, was asleep, not for a lock nor for storage, and no thread with another context woke it since it
 *     went to sleep. When the worker sleeps again, or wakes the thread that received that request, with no answer outstanding and
 *     before the response to that request, what it sent belongs to that request. If meanwhile a request is open for which nobody
 *     was woken, a worker may have taken that instead: all of them are lossy.
 *  3. A thread that a timer woke, and that was never handed work: background.
 *  4. Else it is counted (counts.unattributed), and a request that may lack it, or have too much, is lossy, which means no evidence
 *     (trace.h). So is one whose response another thread sends while the work of a worker is not attributed.
 *
 * Not covered: several requests at a time on one connection whose responses do not come in order (HTTP/2), unless the response is
 * sent in the context of its request; an event loop that sends, after it received a message, for another request than that one; hosts
 * whose clocks differ by more than the network takes.
 *
 * Bounds: options. Memory is at most about traces_max x 180 B + records_max x 220 B + threads_max x 620 B + connections_max x 700 B, 250 MiB by
 * default, and names (4,096 types of at most 255 bytes). What does not fit is counted: the oldest is given up.
 */
#ifndef KERNEL_REQUESTS_REQUESTS_H
#define KERNEL_REQUESTS_REQUESTS_H

#include "kernel/requests/requests_types.h"

struct requests;

/* Labels are made in `labels` by the thread that calls requests_event(). names: those that the events refer to; both must outlive
 * *ret. ERR_MEMORY. */
int requests_new(struct requests **ret, const struct requests_options *o,
    struct kernel_names *names, struct labels *labels, struct err *e);
void requests_free(struct requests *r); /* NULL is fine */

/* A kernel_take() of struct requests. O(1) expected, and O(records log records) for each trace that is handed out. Traces are handed
 * out hold_ns after their response, in the order of these. ERR_MEMORY, or the error of take(). */
int requests_event(void *requests, const struct kernel_event *ev, struct err *e);

/* No event up to this time is still to come: hands out what is due by then, though no event says that time has passed. ERR_MEMORY, or the
 * error of take(). */
int requests_pass(struct requests *r, int64_t until_ns, struct err *e);

/* After the last event: hands out all requests that have a response. ERR_MEMORY, or the error of take(). */
int requests_end(struct requests *r, struct err *e);

void requests_counts(const struct requests *r, struct requests_counts *ret);

/* Names of hosts by the node numbers of events: KERNEL_HOSTS_MAX texts, which may be "". The array stays at its address, and each entry
 * is set before a trace with it is handed out. */
const char *const *requests_nodes(const struct requests *r);

#endif

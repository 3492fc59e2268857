/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * By how much the clocks of hosts are ahead of this machine's: no span comes before it has ended, so one that ends in the future proves it.
 *
 *	lead of a body		the latest end of the host's spans in it - its arrival
 *	lead of the host	the lower median of its last HOST_CLOCKS_BODIES bodies, so one span with a wrong time moves nothing; 0 before there
 *				are HOST_CLOCKS_FIRST
 *
 * The lead is a lower bound, too small by the age of the youngest span of a body. A clock that is behind proves nothing, since late spans look
 * alike. Bounded: HOST_CLOCKS_MAX hosts; when they are full, all are forgotten. Pure.
 */
#ifndef OTEL_SPANS_HOST_CLOCKS_H
#define OTEL_SPANS_HOST_CLOCKS_H

#include "formats/trace_span.h"

enum {
	HOST_CLOCKS_MAX = 1024,
	HOST_CLOCKS_BODIES = 8,
	HOST_CLOCKS_FIRST = 3,
	HOST_CLOCKS_NAME_MAX = 128
};

struct host_clocks;

struct host_clocks *host_clocks_new(void);    /* NULL: out of memory */
void host_clocks_free(struct host_clocks *h); /* NULL is fine */

/* Notes a span of the body at hand that ended lead_ns after it came; negative: before. One without a node is left out: nothing would move it
 * (formats/tree.h), and many hosts may have its service's name. Names are told apart by their first HOST_CLOCKS_NAME_MAX bytes. O(1). */
void host_clocks_note(struct host_clocks *h, const struct span *s, int64_t lead_ns);

/* The end of the body: its leads count from now on. O(hosts in it). */
void host_clocks_body(struct host_clocks *h);

/* The lead of the span's host, 0 if it is negative or not known, or if the span names none. O(1). */
int64_t host_clocks_ahead_ns(struct host_clocks *h, const struct span *s);

/* Hosts that are ahead by more than this now. O(hosts). */
uint32_t host_clocks_count_ahead(const struct host_clocks *h, int64_t over_ns);

#endif

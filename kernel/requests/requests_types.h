/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options and counts of requests.h. */
#ifndef KERNEL_REQUESTS_REQUESTS_TYPES_H
#define KERNEL_REQUESTS_REQUESTS_TYPES_H

#include "analysis/trace.h"
#include "kernel/event.h"
#include "kernel/requests/gateways.h"

enum request_rule { RULE_CURRENT, RULE_ALL };

struct requests_options {
	enum request_rule rule;
	/* Who begins requests. NULL: everybody who is not recorded, and recorded processes that never received a request. Must outlive
	 * the stage. */
	const struct gateways *gateways;
	uint32_t traces_max;   /* open requests */
	uint32_t records_max;  /* of all of them together */
	uint32_t records_each; /* of one; a request with more is incomplete (INCOMPLETE_TOO_LONG) */
	uint32_t threads_max;  /* and processes */
	uint32_t connections_max;
	/* How long a request is kept after its response: further pieces of it, and losses that the source reports late, are
	 * still taken into account. */
	int64_t hold_ns;
	int64_t patience_ns; /* a request without a response is given up after this time */
	/* Also a RECORD_SAMPLE for each time that a thread ran for a unit without a break, at its end: from switches, of all of that time. */
	bool runs;
	/* Takes ownership of a trace. A negative result ends the stage with that code. */
	int (*take)(void *ctx, struct trace *t, struct err *e);
	void *ctx;
};

struct requests_options requests_defaults(void); /* take is NULL */

struct requests_counts {
	uint64_t events;
	uint64_t requests;    /* begun = traces + no_response + given_up + those still open */
	uint64_t traces;      /* handed out */
	uint64_t lossy;       /* of these: a part may be missing, or be another request's */
	uint64_t incomplete;  /* of these: see trace.h */
	uint64_t no_response; /* open at the end, or for longer than patience_ns: not handed out */
	uint64_t given_up;    /* more than traces_max or records_max were open: not handed out */
	uint64_t outside;     /* messages of peers that are no gateway */
	uint64_t
	    unsolicited; /* responses whose request was not seen: sent before the recording began */
	uint64_t
	    unattributed; /* messages, or the work of a worker, that may belong to one of several requests */
	uint64_t background; /* messages of threads that work for no request */
	uint64_t adopted; /* work of workers that the response attributed; handed_over: a wake-up */
	uint64_t handed_over;
	uint64_t ambiguous; /* responses that may be that of several requests of their connection */
	uint64_t lost;      /* events that the source reports as lost */
	uint64_t losses;    /* how often */
	uint64_t
	    back_in_time; /* events that are earlier than the one before: taken as of that time */
	uint64_t
	    reused; /* thread numbers and connections that were used again by another process */
	uint64_t evicted; /* threads, processes and connections over their limits */
	uint64_t
	    not_counted; /* KERNEL_COUNTED events in no request's span, or of a name that came too late */
	uint64_t
	    malformed; /* events of an unknown kind, or with a connection or time that cannot be */
};

#endif

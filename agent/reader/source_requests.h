/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of programs without any instrumentation, as records: kernel events of hone-below (wire/below.h) go through the stage of
 * kernel/requests/requests.h, and what that hands out comes as if libhone had written it.
 *
 *	idle --source_requests_begin()--> recording --source_requests_end()--> idle
 *	           EVENTS: source_requests_feed()    MARK: source_requests_mark()
 *
 *	trace  --> REQUEST_BEGIN  SERVICE/hone:request_begin(TYPE)   fields trace_id_high, probed, lossy
 *	           REQUEST_END, FORK, JOIN, UNIT_BEGIN, UNIT_END     an end with the times of its unit's waits and what was counted
 *	           POINT          SERVICE/call:NAME_begin, _end      a call to a program that is not followed
 *	           WAIT, SAMPLE   SERVICE/below:STATE()              of services that are looked below, in probed requests
 *
 * All records of a request come at once, at most REQUESTS_HOLD_NS after its response by the clock of the events, most of them therefore late for
 * the watermark of the other sources. So that nobody decides on a request before, the watermark is REQUESTS_HOLD_NS behind the last mark: every request
 * that ended at or before it was delivered. Another source waits for this one by no more than that and the time between two marks (50 ms). While idle the
 * watermark is the present.
 *
 * A request that may lack something, or have something of another one, has the field lossy = 1 (analysis/trace.h): since its records are late, a loss
 * with a time span would not mark it, and would mark requests of programs that lost nothing.
 *
 * Types are cut to 63 bytes. After 8192 labels new names are `other`, and requests with further labels are dropped and counted.
 */
#ifndef AGENT_READER_SOURCE_REQUESTS_H
#define AGENT_READER_SOURCE_REQUESTS_H

#include "agent/reader/mapped_options.h"
#include "agent/reader/source.h"
#include "kernel/requests/requests.h"

#define REQUESTS_HOLD_NS INT64_C(100000000)

/* What a kernel event costs the programs, in records of tracepoints (bench/kernel_cost.py): as so many it is counted. */
enum { REQUESTS_EVENT_RECORDS = 7 };

struct source_requests;

struct source_requests_options {
	enum request_rule rule;
	const struct gateways *gateways; /* as in requests_types.h; must outlive the source */
	/* For each request, when it is complete: whether it is sampled, and probed. NULL: all are probed. */
	enum mapped_choice (*choose)(void *of, const char *type);
	/* Whether waits and samples of this service are wanted now. NULL: of all. */
	bool (*looks_below)(void *of, const char *service);
	void *of;
	uint64_t seed; /* random: of trace ids, which no other node may have */
};

struct source_requests_counts { /* since the source was opened */
	struct requests_counts stage;
	uint64_t events, losses, lost; /* kernel events; how often some were lost, and how many */
	uint64_t sampled,
	    skipped;         /* requests that were delivered, and those that were not chosen */
	uint64_t unlabelled; /* requests that were dropped, for want of a label or of memory */
	uint64_t cut_off;    /* open requests when the recording ended */
};

/* Opens the source, idle. *handle is valid until ret->close(). ERR_MEMORY. */
int source_requests_open(struct source *ret, struct source_requests **handle,
    const struct source_requests_options *o, struct err *e);

/* A stream of kernel events begins. ERR_MEMORY: it stays idle. */
int source_requests_begin(struct source_requests *s, struct mono now, struct err *e);
/* The next bytes of the stream. ERR_INPUT: malformed; ERR_MEMORY. Then the source is idle. */
int source_requests_feed(struct source_requests *s, const void *data, size_t len, struct err *e);
/* All kernel events until then were fed. */
void source_requests_mark(struct source_requests *s, int64_t mark_ns);
/* The stream has ended. Requests that have their response are delivered; those that have none are counted, and so is, unless it was asked
 * for, a loss. No effect while idle. */
void source_requests_end(struct source_requests *s, bool asked);

/* A wait or sample of a thread that hone-below saw in no request (source_below.h), with its label: it gives those of a request their place in the
 * code, if it is that of a thread of one. Copied. No effect while idle. */
void source_requests_seen(
    struct source_requests *s, const struct record *r, const struct batch_label *l);

/* Programs that are followed: they appear among the processes of source_stats. Copied. False: out of memory, and the list is as before. */
bool source_requests_programs(
    struct source_requests *s, const struct source_process *list, uint32_t n);

void source_requests_count(const struct source_requests *s, struct source_requests_counts *ret);

#endif

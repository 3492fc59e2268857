/* SPDX-License-Identifier: MIT */
/*
 * libhone: marks the requests of a program for Hone.
 *
 * A request is served by units of sequential work, each on one thread at a time. A program marks
 * where a request begins and ends, where a unit hands work to another one (a thread, a queue, a remote
 * call), where that work begins and ends, and where its result has been waited for. Every LTTng-UST
 * tracepoint of the process, of the program or its libraries, then carries the ids of its request.
 *
 *	hone_request_begin("GET_HOME", NULL);
 *	struct hone_carrier c;
 *	hone_fork("cart.get", &c);		... send c with the call
 *		hone_unit_begin(&c, "cart.get");	(there, in the other thread or process)
 *		hone_unit_end();
 *	hone_join(&c, "cart.get");		... when its answer has come
 *	hone_request_end(200);
 *
 * No call allocates, locks, waits or reports errors: outside of a request, or with invalid arguments, a
 * call has no effect. Calls are safe from any thread, but not from signal handlers; each thread has
 * its own context. Names are C strings that live longer than the unit (literals do); at most 63
 * bytes of them are recorded. Requests that are not sampled emit no records. Programs that run
 * several units in turn on one thread (coroutines, event loops) use hone_detach() and
 * hone_attach(). A child of fork() is outside of any request until it receives a carrier.
 */
#ifndef HONE_H
#define HONE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The context that travels with work that is handed over. Plain bytes: copy it into a queue entry,
 * or a message between machines of the same byte order; for HTTP use hone_traceparent() and
 * hone_tracestate(). All zeroes: no request. */
struct hone_carrier {
	uint64_t trace_id_high;
	uint64_t trace_id;     /* low 64 bits of the W3C trace id; 0: none */
	uint64_t link_id;      /* of the hand-over; the W3C parent id */
	uint32_t request_type; /* hone_request_type() of the type's name */
	uint8_t sampled;       /* 1: the always-on tracepoints fire for it */
	uint8_t probed;        /* 1: added tracepoints fire for it */
	uint16_t via; /* not 0: another tracer was between (via.h); set by hone_carrier_read() */
};

/* A unit that is not on a thread: see hone_detach(). */
struct hone_unit {
	struct hone_carrier carrier;
	uint64_t unit_id;
	const char *name;
};

enum { HONE_TRACEPARENT_SIZE = 56, HONE_TRACESTATE_SIZE = 32 }; /* with the final 0 */

/* A request begins. `type` is its request type ("GET_HOME"; at most 63 bytes are used); a program
 * should have few types. `from`: the carrier of a caller that traces without Hone, whose trace id is
 * kept; else NULL. Decides by the agent's table in shared memory and a random number whether the
 * request is sampled and probed; the trace id has no part in it, unless the agent's agent.callers_known says so. The thread's former units, nested ones
 * included, are discarded. Emits hone:request_begin. Cost: one hash of `type` and a few loads (20 ns in
 * all where the request is not sampled); once a second, while there is no agent,
 * one thread tries to open its table. */
void hone_request_begin(const char *type, const struct hone_carrier *from);

/* The request's reply was sent. `status`: any number, such as the HTTP status. The thread is outside
 * of any request afterwards. Emits hone:request_end. */
void hone_request_end(int status);

/* This unit hands over work called `name`; *out is the carrier for the other side, all zeroes outside
 * of a request. Emits hone:fork. */
void hone_fork(const char *name, struct hone_carrier *out);

/* Work that was handed over begins, and ends, on this thread. The thread's former unit is suspended until
 * hone_unit_end(); four units can be, deeper ones are in no request. Each begin needs its end,
 * also with a carrier of all zeroes. Emit hone:unit_begin and hone:unit_end. */
void hone_unit_begin(const struct hone_carrier *c, const char *name);
void hone_unit_end(void);

/* This unit has waited for the result of work that it handed over, and received it. Work without a
 * join counts as not waited for. Emits hone:join. */
void hone_join(const struct hone_carrier *c, const char *name);

/* hone_detach() takes the unit off this thread, for example while it waits in an event loop; the thread is
 * then outside of any request. hone_attach() puts it on this or another thread, in place of the
 * unit there (a unit of all zeroes: no request). Both discard the thread's suspended units: to nest
 * units, detach the outer one before the inner one begins. Neither emits a record. */
void hone_detach(struct hone_unit *out);
void hone_attach(const struct hone_unit *u);

/* The carrier as HTTP headers: `traceparent` (W3C Trace Context, version 00), and for `tracestate` the
 * member hone=, to be put before the members of others. Both write a C string, empty without a
 * request, and return its length. */
size_t hone_traceparent(const struct hone_carrier *c, char out[HONE_TRACEPARENT_SIZE]);
size_t hone_tracestate(const struct hone_carrier *c, char out[HONE_TRACESTATE_SIZE]);

/* Parses both headers (either may be NULL; a tracestate may have other members; of versions above 00
 * the first four fields are read, as W3C requires). 0: *out is set. -1: malformed, or a trace id
 * whose low half is 0; *out is all zeroes. One pass over both.
 * The link is that of hone=, which tracers in between hand on; if the parent id is another one, `via` says so, and
 * the unit counts as called by the span of that id where Hone has it (docs/otel.md).
 * hone_from_known(c): 1 if the sender uses Hone (hone= is in its tracestate), so that its link id
 * belongs to a fork: begin a unit. 0: begin a request. */
int hone_carrier_read(struct hone_carrier *out, const char *traceparent, const char *tracestate);
int hone_from_known(const struct hone_carrier *c);

/* The context of this thread; 0 outside of a request. */
uint64_t hone_trace_id(void);
uint64_t hone_unit_id(void);
int hone_probed(void);

/* Whether a tracer records units (hone:unit_begin is enabled). While it is 0 a program need not parse
 * the contexts that it receives, since no record of this process would be written. One load. */
int hone_listening(void);

/* The 31-bit number of a request type (FNV-1a of its first 63 bytes, folded); never 0. */
uint32_t hone_request_type(const char *type);

#ifdef __cplusplus
}
#endif
#endif

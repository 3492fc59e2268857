/* SPDX-License-Identifier: MIT */
/*
 * libhone: tell Hone where a request is.
 *
 * A request is served by units: stretches of sequential work, each on one
 * thread at a time. Say where a request begins and ends, where a unit hands
 * work to another (a thread, a queue, a remote call), where that work begins
 * and ends, and where its result is waited for. Every LTTng-UST tracepoint of
 * the process, yours or anybody's, then carries the request it belongs to.
 *
 *	hone_request_begin("GET_HOME", NULL);
 *	struct hone_carrier c;
 *	hone_fork("cart.get", &c);		... send c along with the call
 *		hone_unit_begin(&c, "cart.get");	(there, in the other thread or process)
 *		hone_unit_end();
 *	hone_join(&c, "cart.get");		... when its answer has come
 *	hone_request_end(200);
 *
 * No call allocates, locks, waits for anybody or fails visibly: outside of a
 * request, or with nonsense for arguments, each does nothing. Safe from any
 * thread, not from signal handlers; a thread's context is its own. Names are C
 * strings that outlive the unit they name (literals do); at most 63 bytes of
 * them are recorded. What is not sampled emits nothing. Programs that run
 * several units on one thread in turn (coroutines, event loops) use
 * hone_detach() and hone_attach(). A child of fork() is outside of any request
 * until it is handed a carrier.
 */
#ifndef HONE_H
#define HONE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What travels with work that is handed on. Plain bytes: copy it into a queue
 * entry or a message between machines of one byte order; over HTTP use
 * hone_traceparent() and hone_tracestate(). All zeroes: no request. */
struct hone_carrier {
	uint64_t trace_id_high;
	uint64_t trace_id;     /* low 64 bits of the W3C trace id; 0: none */
	uint64_t link_id;      /* what was handed on; the W3C parent id */
	uint32_t request_type; /* hone_request_type() of the type's name */
	uint8_t sampled;       /* 1: the always-on tracepoints fire for it */
	uint8_t probed;        /* 1: tracepoints that Hone added fire for it */
	uint8_t reserved[2];   /* 0 */
};

/* A unit that rests: what hone_detach() takes off a thread. */
struct hone_unit {
	struct hone_carrier carrier;
	uint64_t unit_id;
	const char *name;
};

enum { HONE_TRACEPARENT_SIZE = 56, HONE_TRACESTATE_SIZE = 32 }; /* with the final 0 */

/* A request enters here. `type` names the kind of request ("GET_HOME"; at most
 * 63 bytes are used; it should be one of few). `from`: the caller's carrier,
 * when the request came with a trace id of somebody who is not under Hone (its
 * id is then kept), else NULL. Decides, from the table that the node's agent
 * keeps in shared memory, whether this request is sampled and probed. Whatever
 * the thread was in before is forgotten, units put aside included.
 * Emits hone:request_begin. Cost: one hash of `type` and a few loads (20 ns in
 * all where the request is not sampled); once a second, while there is no agent,
 * one thread tries to open its table. */
void hone_request_begin(const char *type, const struct hone_carrier *from);

/* Its reply has left. `status`: yours, e.g. the HTTP status. The thread is
 * outside of any request afterwards. Emits hone:request_end. */
void hone_request_end(int status);

/* This unit hands on work called `name`; *out is what the other side needs.
 * Emits hone:fork. Outside of a request *out becomes all zeroes. */
void hone_fork(const char *name, struct hone_carrier *out);

/* Work that was handed on begins, on this thread; what the thread was in before
 * is put aside (four deep; deeper units are in no request) until hone_unit_end().
 * Each begin needs its end, also when the carrier is all zeroes. Emit
 * hone:unit_begin and hone:unit_end. */
void hone_unit_begin(const struct hone_carrier *c, const char *name);
void hone_unit_end(void);

/* This unit has waited for, and got, the result of what it handed on. Work that
 * is never joined is not waited for. Emits hone:join. */
void hone_join(const struct hone_carrier *c, const char *name);

/* Moves the unit off this thread, e.g. while it waits in an event loop; the
 * thread is then outside of any request. hone_attach() puts it on a thread
 * again, the same or another, in place of whatever that was in (a unit of all
 * zeroes: nothing). What was put aside on the thread is forgotten by either: to
 * nest units there, detach the outer one before the inner begins. Neither emits anything. */
void hone_detach(struct hone_unit *out);
void hone_attach(const struct hone_unit *u);

/* The HTTP form: header `traceparent` (W3C Trace Context, version 00) and
 * `tracestate` with the member hone=, to be put before others' members. Both
 * write a C string; it is empty where there is no request. Return: its length. */
size_t hone_traceparent(const struct hone_carrier *c, char out[HONE_TRACEPARENT_SIZE]);
size_t hone_tracestate(const struct hone_carrier *c, char out[HONE_TRACESTATE_SIZE]);

/* Reads them (either may be NULL; a tracestate may have other members; versions
 * above 00 are read by their first four fields, as W3C asks). 0: *out is set.
 * -1: malformed, or a trace id whose low half is 0; *out is all zeroes and the
 * work has no request. Costs one pass over both.
 * hone_from_known(c): 1 when the sender was under Hone too (had hone= in its
 * tracestate), so that its link is one that we know: begin a unit. 0: begin a
 * request. */
int hone_carrier_read(struct hone_carrier *out, const char *traceparent, const char *tracestate);
int hone_from_known(const struct hone_carrier *c);

/* Where this thread is: 0 outside of a request. */
uint64_t hone_trace_id(void);
uint64_t hone_unit_id(void);
int hone_probed(void);

/* Whether somebody records what units do here (hone:unit_begin is on). Who is handed contexts that
 * cost something to read need not read them while it is 0: nothing that this process did with them
 * would be seen. One load. */
int hone_listening(void);

/* The 31-bit number that stands for a request type, never 0 (FNV-1a, folded). */
uint32_t hone_request_type(const char *type);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The desired state of a node, which the controller sends whole (want), and the agent's report of it (done). A state, not a
 * change: repeating it has no effect, and the next one makes up for a lost one. After the agent has reported an epoch on a connection, a
 * want on this connection can just renew it.
 */
#ifndef WIRE_TOGGLE_H
#define WIRE_TOGGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum {
	TOGGLE_NAME_MAX = 255,
	TOGGLES_MAX = 16384,
	RATES_MAX = 512,
	WANT_BELOW_MAX = 64,
	WANT_RECORDER_MAX = 256
};

/* A tracepoint to enable until the lease ends. */
struct toggle {
	const char *name; /* "provider:event" or "provider:*", terminated */
	bool sampled; /* for all sampled requests; else for probed ones, which are some of these */
};

/* Shares of the requests of a type, 0 to 1. */
struct rate {
	const char *request_type; /* terminated */
	double sampled, probed;
};

struct want {
	uint64_t epoch;   /* increases with every change; equal epochs are equal states */
	int64_t lease_ms; /* since the agent received it; then added tracepoints are disabled */
	double sampled;   /* of request types without an entry in rates */
	uint32_t nrates, ntoggles;
	struct rate *rates;
	struct toggle *toggles;
	/* Programs whose probed requests are also recorded below their tracepoints (docs/architecture.md) until the
	 * lease ends: names of processes, terminated. */
	uint32_t nbelow;
	const char **below;
	uint64_t before; /* bit i: of below[i] also what threads do before they begin a unit */
	/* The node's cost is over its limit although its requests are sampled as little as they can be: what
	 * does not obey the rates makes it so (agent/reader/overrun.h). */
	bool overrun;
	/* What the node's flight recorder (wire/keep.h) records of sampled requests until the lease ends: names as of toggles. 0: it
	 * is off. */
	uint32_t nrecorder;
	const char **recorder;
	/* It has an epoch and a lease only: the state of this epoch, which the agent has reported on this connection, lasts that long from
	 * now on. */
	bool renews;
};

enum done_result {
	DONE_ON,      /* enabled */
	DONE_NO_SUCH, /* no program has it; it is enabled when one comes that does */
	DONE_FAILED   /* the tracer refused it */
};

struct done {
	uint64_t epoch;      /* the desired state in effect on this node */
	int64_t from_ns;     /* in effect since then, by the node's CLOCK_MONOTONIC */
	uint32_t nresults;   /* one for each toggle of the desired state, in its order */
	uint8_t *results;    /* enum done_result */
	const char *failure; /* the tracer's error text, or "" */
};

/* Encoders append to *b; its `failed` reports lack of memory. Decoders check everything, copy texts
 * into the arena and leave *ret unchanged on failure: ERR_INPUT, ERR_MEMORY. O(len). */
void want_encode(const struct want *w, struct buf *b);
int want_decode(struct want *ret, struct arena *a, const void *data, size_t len, struct err *e);
void done_encode(const struct done *d, struct buf *b);
int done_decode(struct done *ret, struct arena *a, const void *data, size_t len, struct err *e);

#endif

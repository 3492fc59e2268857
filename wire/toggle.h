/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the controller wants of a node, whole, and what became of it. A state, not
 * a change: sending it twice does nothing, losing one is mended by the next.
 */
#ifndef WIRE_TOGGLE_H
#define WIRE_TOGGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum { TOGGLE_NAME_MAX = 255, TOGGLES_MAX = 16384, RATES_MAX = 512 };

/* Switch this tracepoint on for the requests under diagnosis, until the lease ends. */
struct toggle {
	const char *name; /* "provider:event" or "provider:*", terminated */
};

/* How much of a request type is seen: shares of 1. */
struct rate {
	const char *request_type; /* terminated */
	double sampled, probed;
};

struct want {
	uint64_t epoch;   /* grows with every change; the same epoch is the same state */
	int64_t lease_ms; /* from when the agent has it; then nothing added stays on */
	double sampled;   /* of request types without a line below */
	uint32_t nrates, ntoggles;
	struct rate *rates;
	struct toggle *toggles;
};

enum done_result {
	DONE_ON,
	DONE_NO_SUCH,
	DONE_FAILED
}; /* NO_SUCH: no program here has it, armed for later */

struct done {
	uint64_t epoch;      /* this epoch's state holds on this node */
	int64_t from_ns;     /* since then, by the node's CLOCK_MONOTONIC */
	uint32_t nresults;   /* one for each toggle of the epoch, in its order */
	uint8_t *results;    /* enum done_result */
	const char *failure; /* "" or the tracer's words */
};

/* Encoders append to *b (its `failed` says so on lack of memory). Decoders check everything, copy
 * texts into the arena; ERR_INPUT, ERR_MEMORY. O(len). */
void want_encode(const struct want *w, struct buf *b);
int want_decode(struct want *ret, struct arena *a, const void *data, size_t len, struct err *e);
void done_encode(const struct done *d, struct buf *b);
int done_decode(struct done *ret, struct arena *a, const void *data, size_t len, struct err *e);

#endif

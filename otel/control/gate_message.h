/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the package hone-otel-gate and hone-otel say to each other: POST /hone/v1/gate, JSON both ways. The gate says which spans it can
 * turn on, and what is in effect; the answer says which are to be on, and for how long. Pure.
 *
 *	{ "service": "price", "pid": 12, "instance": "16 hex", "gate": "0.1.0", "first": true, "version": 7,
 *	  "names": ["shop-price:discount"], "spans": 1200, "on_ns": 9000, "off_ns": 300 }
 *	{ "version": 8, "lease_ms": 5000, "poll_ms": 250, "share": 0.5, "on": ["shop-price:discount"], "again": false }
 */
#ifndef OTEL_CONTROL_GATE_MESSAGE_H
#define OTEL_CONTROL_GATE_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define GATE_PATH "/hone/v1/gate"

enum {
	GATE_BODY_MAX = 512 << 10,
	GATE_SERVICE_MAX = 100,
	GATE_INSTANCE_MAX = 64,
	GATE_NAMES_MAX = 1024
};

struct gate_question {
	const char *service, *instance, *gate; /* gate: version of the package */
	uint32_t pid;
	bool
	    first; /* its first question to this hone-otel, as it thinks: names are all that it has */
	uint64_t version; /* of what is in effect there; 0: its lease has ended */
	uint64_t spans;   /* that were turned on since its start */
	double on_ns,
	    off_ns; /* mean cost of a span that is on, and of one that is off; 0: not measured yet */
	uint32_t nnames;
	const char **names; /* of spans that it can turn on, and that it did not tell of before */
};

struct gate_answer {
	uint64_t version;
	int64_t lease_ms, poll_ms; /* until the spans go off; until the next question */
	double share;              /* of traces in which they are on */
	bool again;  /* hone-otel does not know the gate: it is to tell all its names */
	bool listed; /* false: those that are on are the same as before */
	uint32_t non;
	const char **on;
};

/* Texts are in the arena. Service and names are cleaned: a service has no '/' and no control characters, and is cut to GATE_SERVICE_MAX;
 * names that are no names of points (otel/spans/span_points.h) are left out, and so are those past GATE_NAMES_MAX. ERR_INPUT: not such a
 * message; ERR_MEMORY. O(len). */
int gate_question_read(
    struct gate_question *ret, struct arena *a, const void *data, size_t len, struct err *e);

/* ERR_MEMORY. O(bytes). */
int gate_answer_write(const struct gate_answer *w, struct buf *to, struct err *e);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A tracer's events to traces: by the trace contract (libhone's context says
 * which request an event belongs to), or, for programs without libhone, by a mapping
 * (mapping/mapper.h) of the program, or by a pair of events on one thread that begin and end a
 * request.
 */
#ifndef FORMATS_CORRELATE_H
#define FORMATS_CORRELATE_H

#include "formats/reading.h"

struct tracer_event {
	int64_t time_ns; /* of a clock that all events of its node share */
	uint32_t node;   /* of reading_node() */
	uint32_t pid, tid;
	bool has_tid, has_context;
	uint64_t trace_id, unit_id;     /* with has_context */
	struct text_view service, name; /* name: "provider:event" */
	uint32_t nfields;               /* at most RECORD_VALUES_MAX */
	const char *const *fields;
	const struct value *values;
};

struct correlate;

/* rule: "thread=BEGIN..END", each "provider:event" or a pattern of such, in which * stands for any
 * text; a begin inside of such a request puts an end to it, which is then incomplete. NULL: by the
 * mapping of the reading's options, in programs of its name, and else by context. Traces go to the
 * reading. ERR_INPUT: the rule is not of that form. */
int correlate_check(const char *rule, struct err *e); /* the rule alone */
int correlate_new(struct correlate **ret, struct reading *r, const char *rule, struct err *e);
void correlate_free(struct correlate *c);

/* Events come in any order within some seconds; all of one is copied. O(1), and what comes of it.
 * ERR_MEMORY, or what take() said. */
int correlate_event(struct correlate *c, const struct tracer_event *v, struct err *e);

/* The tracer lost so many events of the node, between these times: the traces of that time are
 * marked. */
int correlate_loss(struct correlate *c, uint32_t node, uint64_t count, int64_t from_ns,
    int64_t to_ns, struct err *e);

/* Nothing more comes: hands out what is whole and counts what is not. ERR_INPUT: not one event
 * could be told to belong to a request, with what is missing; ERR_MEMORY, or what take() said. */
int correlate_end(struct correlate *c, struct err *e);

#endif

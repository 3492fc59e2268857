/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an agent says of itself and its node: hello, status, programs, its clock; and the
 * controller's welcome. */
#ifndef WIRE_AGENT_MESSAGES_H
#define WIRE_AGENT_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/record.h"

enum { NODE_NAME_MAX = 63, PROGRAMS_MAX = 4096, TRACEPOINTS_MAX = 262144 };

struct hello {
	const char *node;     /* the node's name, terminated */
	uint64_t incarnation; /* this run of the agent; another number after each start */
	uint64_t first_seq;   /* the oldest batch it still holds, or the next that it will make */
	const char *version;  /* of the program, for people */
	int64_t clock_ns;     /* the node's CLOCK_MONOTONIC as this is sent */
};

struct welcome {
	uint64_t have_seq; /* batches up to this one need not be sent */
};

/* A round trip that tells two clocks apart (analysis/clocks.h). The controller asks with asked_ns,
 * the rest being 0; the agent sends it back. Each stamp is made by the thread that reads or writes,
 * as late or early as can be. */
struct clock_echo {
	int64_t asked_ns;         /* the controller's clock */
	int64_t came_ns, went_ns; /* the node's CLOCK_MONOTONIC */
};

/* The tracer's buffers; its files that nobody has read yet; unacknowledged batches; unsent bytes. A
 * record passes them in this order. */
enum queue { QUEUE_RING, QUEUE_FILES, QUEUE_AGENT, QUEUE_LINK, QUEUES };
const char *queue_name(enum queue q); /* "ring", "files", "agent", "link" */

struct status {
	double fill[QUEUES];         /* shares of 1, the fullest since the last status */
	uint64_t lost[LOSS_REASONS]; /* records, since the agent started */
	uint64_t records, batches;   /* read, sent, since the agent started */
	uint64_t mapped, dropped;    /* records written by programs without libhone, however few of
	                                their requests are    sampled, and of those that the agent read
	                                and dropped: these are not in `records` */
	int64_t cpu_us;              /* used by the agent, and */
	int64_t tracer_cpu_us;       /* by the session and consumer daemons, since it started */
	int64_t memory_bytes;        /* resident */
	int64_t ring_bytes;          /* of the tracer's buffers */
	int64_t files_bytes;         /* written by the tracer, not read yet */
	uint64_t sent_bytes;         /* to the controller, since the agent started */
	uint32_t programs;           /* traceable programs on the node now */
	uint32_t added;              /* tracepoints on that Hone added */
	uint64_t epoch;              /* of the state that holds */
	double record_ns, rejected_ns; /* what one of its records costs a program there, and one
	                          that a filter rejects, as measured; 0, 0: not measured (yet) */
	bool shed;                     /* it switched added tracepoints off by itself, because of */
	enum queue shed_by;            /* this queue */
	bool tracer_ok;                /* the session daemon answers and tracing runs */
	bool guard_ok;                 /* a guardian is there */
	const char *trouble;           /* "" or words for the operator */
};

struct program {
	const char *service; /* the process' name */
	uint32_t pid;
	uint32_t first, count; /* its tracepoints, in programs.names */
};

/* Tracepoints of programs of the same service and the same list share one stretch of names. */
struct programs {
	uint32_t nprograms, nnames;
	struct program *programs;
	const char **names; /* "provider:event" */
};

/* Encoders append to *b; decoders check everything and copy texts into the arena; ERR_INPUT,
 * ERR_MEMORY. O(len). */
void hello_encode(const struct hello *h, struct buf *b);
int hello_decode(struct hello *ret, struct arena *a, const void *data, size_t len, struct err *e);
void welcome_encode(const struct welcome *w, struct buf *b);
int welcome_decode(struct welcome *ret, const void *data, size_t len, struct err *e);
void clock_encode(const struct clock_echo *c, struct buf *b);
int clock_decode(struct clock_echo *ret, const void *data, size_t len, struct err *e);
void status_encode(const struct status *s, struct buf *b);
int status_decode(struct status *ret, struct arena *a, const void *data, size_t len, struct err *e);
void programs_encode(const struct programs *p, struct buf *b);
int programs_decode(
    struct programs *ret, struct arena *a, const void *data, size_t len, struct err *e);

#endif

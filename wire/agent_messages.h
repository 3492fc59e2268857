/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The messages about an agent and its node: hello, welcome, clock, status, programs. */
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
	uint64_t incarnation; /* of this run of the agent; differs after each start */
	uint64_t first_seq;   /* of the oldest unacknowledged batch, or of the next one */
	const char *version;  /* of the program, for display */
	int64_t clock_ns;     /* the node's CLOCK_MONOTONIC when this was sent */
};

struct welcome {
	uint64_t have_seq; /* the controller has the batches up to this one */
};

/* A round trip that measures the offset of two clocks (analysis/clocks.h). The controller sends asked_ns and 0, 0;
 * the agent adds its times. Each time is taken by the thread that reads or writes, next to the
 * system call. */
struct clock_echo {
	int64_t asked_ns;         /* the controller's clock */
	int64_t came_ns, went_ns; /* the node's CLOCK_MONOTONIC */
};

/* The queues that a record passes, in this order: the tracer's ring buffers; its files, not read yet;
 * unacknowledged batches; unsent bytes. */
enum queue { QUEUE_RING, QUEUE_FILES, QUEUE_AGENT, QUEUE_LINK, QUEUES };
const char *queue_name(enum queue q); /* "ring", "files", "agent", "link" */

enum trouble_kind {
#define TROUBLE(name, number, word, text) NODE_TROUBLE_##name = number,
#include "wire/troubles.tbl.h"
#undef TROUBLE
	NODE_TROUBLE_KINDS
};
const char *trouble_kind_word(enum trouble_kind k); /* "tracer-silent"; "" for NONE */

/* The most severe trouble of a node; all zeroes: none. Fields that a kind does not use are 0. */
struct node_trouble {
	enum trouble_kind kind;
	const char *subject; /* a program, or a folder; NULL is "" */
	const char *text;    /* of an error: of TRACER, READER, RATES, TRACEPOINT; NULL is "" */
	double seconds;
	uint64_t bytes;
	uint32_t times, pid;
	uint32_t
	    user; /* of RING_DAMAGED, RING_POSITIONS, RING_STUCK, OVERRUN, CONSUMER: the program's; USER_UNKNOWN */
};
#define USER_UNKNOWN UINT32_MAX

/* Whether hone-below runs on the node (wire/below.h). */
enum below_on_node {
	BELOW_NODE_NONE,    /* it is not installed, or off */
	BELOW_NODE_UNKNOWN, /* it was not tried yet */
	BELOW_NODE_CANNOT,  /* it can do nothing here */
	BELOW_NODE_READY,
	BELOW_NODE_ACTIVE, /* it follows processes */
	BELOW_NODE_STATES
};
const char *below_on_node_word(
    enum below_on_node s); /* "none", "unknown", "cannot", "ready", "active" */

struct status {
	double fill[QUEUES]; /* occupancy, 0 to 1: the maximum since the last status */
	const char
	    *fullest; /* the program whose ring buffer was that full; NULL is "": not known */
	uint32_t fullest_pid;
	uint64_t lost[LOSS_REASONS]; /* records, since the agent started */
	uint64_t records, batches;   /* read, sent, since the agent started */
	/* Records of programs without libhone, of sampled requests and others, and those of them that the
	 * agent read and discarded; the latter are not in `records`. */
	uint64_t mapped, dropped;
	/* Of `records`, those that a program makes with or without Hone: spans of OpenTelemetry that its operator has turned on. They
	 * are no cost of Hone in the program. */
	uint64_t inherent;
	int64_t cpu_us; /* of the agent, since it started, with that of hone-below */
	int64_t
	    tracer_cpu_us; /* of the session and consumer daemons in that time, without programs in quarantine */
	/* Of both together, what does not follow the number of records: once, for tracepoints that were switched and for hone-below to
	 * begin to follow a process; and hone-below apart from that. */
	int64_t switch_cpu_us, below_cpu_us;
	int64_t memory_bytes; /* resident */
	int64_t ring_bytes;   /* of the tracer's buffers */
	int64_t files_bytes;  /* written by the tracer, not read yet */
	uint64_t sent_bytes;  /* to the controller, since the agent started */
	uint32_t programs;    /* traceable processes on the node now */
	uint32_t added;       /* added tracepoints that are enabled */
	uint64_t epoch;       /* of the desired state in effect */
	/* The measured cost for a program of a record, and of one that the filter rejects; 0, 0: not
	 * measured yet. */
	double record_ns, rejected_ns;
	bool shed;          /* it has shed load: disabled all added tracepoints */
	enum queue shed_by; /* the queue that caused it */
	bool tracer_ok;     /* the session daemon answers and tracing runs */
	bool guard_ok;      /* the guardian process runs */
	struct node_trouble trouble;
	enum below_on_node below;
	uint32_t below_can;        /* flags of wire/below.h */
	const char *below_missing; /* why not more, and how to grant it; NULL is "" */
	/* Programs that are followed by kernel events: all 0 and "" without `kernel`. */
	bool kernel;               /* some are configured */
	uint32_t kernel_processes; /* followed now, without their children */
	uint64_t kernel_requests;  /* complete ones, sampled or not, since the agent started */
	uint64_t kernel_lossy;     /* of these, that may lack something */
	double kernel_events_per_s;
	/* Why none, or not all: "no-process", "over-limit", or what hone-below says; NULL is "" */
	const char *kernel_missing;
	/* The flight recorder (wire/keep.h); all 0 and "" while it is off. */
	uint32_t recorder;      /* rules that are enabled */
	int64_t recorder_bytes; /* of its buffers */
	uint64_t
	    recorder_records; /* written, since the agent started: bytes / mean size of a record */
	uint64_t recorder_written;    /* the bytes of these */
	uint64_t recorder_snapshots;  /* taken, since the agent started */
	uint64_t recorder_refused;    /* that the tracer refused */
	const char *recorder_missing; /* why it is not on although it is wanted; NULL is "" */
};

enum lever {
#define LEVER(name, word) LEVER_##name,
#include "wire/levers.tbl.h"
#undef LEVER
	LEVERS
};
const char *lever_word(enum lever l); /* "gate" */

struct program {
	const char *service; /* the process' name */
	uint32_t pid;
	uint32_t first, count; /* its tracepoints, in programs.names */
	uint8_t lever;         /* enum lever */
};

/* Programs of the same service with the same tracepoints share one range of names. */
struct programs {
	uint32_t nprograms, nnames;
	struct program *programs;
	const char **names; /* "provider:event" */
	/* Of the names: enum loglevel. NULL: all are LOGLEVEL_NONE, in what is encoded. */
	const uint8_t *levels;
};

/* Encoders append to *b; its `failed` reports lack of memory. Decoders check everything, copy texts into the arena and
 * leave *ret unchanged on failure: ERR_INPUT, ERR_MEMORY. O(len). */
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

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The messages between hone-agent and hone-below, on a socketpair of type SOCK_SEQPACKET: each packet is one
 * message, a byte of its kind and its fields. Both ends are of the same release and machine.
 *
 *	agent                                            hone-below
 *	  |                                  <-- CAN ---  what the kernel and the privileges permit; again when that changes
 *	  |--- FOLLOW, UNFOLLOW -->                       processes
 *	  |--- LIST ------------->                        a process followed, or not
 *	  |                 <-- LISTED                     the USDT probes of its files
 *	  |--- PROBE ------------>                        on or off, in all processes followed
 *	  |                 <-- PROBED, HITS
 *	  |--- LEASE, each second -->                     without one for its time, hone-below ends
 *	  |                 <-- NAME, WAIT, SAMPLE, LOST   what threads of probed requests did
 *	  |                              <-- MARK, COST    each 100 ms
 *	  |--- RECORD ----------->                        kernel events of processes and their children
 *	  |--- RECORD_OF --------->                        one of these processes
 *	  |              <-- RECORDING                     whether it does, or why not
 *	  |            <-- EVENTS, EVENTS_MARK             pieces of a stream of kernel events (kernel/kernel_stream.h)
 *	  |--- END -->
 *	  |                        <-- what there is, MARK   of the time of the END or later; then it ends
 *
 * A NAME comes before the first message with its id. Times are CLOCK_MONOTONIC. The messages of hone-below have the numbers 1, 2, 3..., also those that the
 * socket did not take, so the agent sees whether one is missing that no LOST tells of.
 */
#ifndef WIRE_BELOW_H
#define WIRE_BELOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum below_state {
#define STATE(name, number, word, text) BELOW_##name = number,
#include "wire/below_states.tbl.h"
#undef STATE
	BELOW_STATES
};

/* "lock"; "blocked by a lock". Unknown numbers have those of UNKNOWN. */
const char *below_state_word(enum below_state s);
const char *below_state_text(enum below_state s);

/* "waits", "samples", "stacks", "faults", "holders", of one flag of enum below_can_flag. */
const char *below_can_word(uint32_t flag);

enum {
	BELOW_MESSAGE_MAX = 8192, /* bytes of a message */
	BELOW_FOLDED_MAX = 1023,
	BELOW_FUNCTION_MAX = 127,
	BELOW_FILE_MAX = 127,
	BELOW_MISSING_MAX = 511,
	BELOW_LEASE_MS = 3000, /* what the agent gives, each second */
	BELOW_PROBE_NAME_MAX = 255,
	BELOW_NAMES_MAX = 7000, /* bytes of a LISTED */
	BELOW_REASON_MAX = 127,
	BELOW_VALUES_MAX = 6,
	BELOW_HITS_MAX = 64,    /* of a message */
	BELOW_WORD_MAX = 15,    /* bytes */
	BELOW_PIECE_MAX = 8000, /* bytes of an EVENTS */
};

/* Of the names of USDT probes: "usdt.postgresql:query__start". */
#define BELOW_USDT "usdt."
/* Of the begin and the end of a function of a program: "func.shop-cart:flush_log_start", and "_done". */
#define BELOW_FUNC "func."
#define BELOW_FUNC_START "_start"
#define BELOW_FUNC_DONE "_done"

bool below_is_probe(const char *name); /* begins with one of both */

/* Whether it is begin or end of a function of that service. */
bool below_is_function(const char *name, const char *service);

enum below_kind {
	BELOW_FOLLOW = 1,
	BELOW_UNFOLLOW,
	BELOW_LEASE,
	BELOW_END,
	BELOW_LIST,
	BELOW_PROBE,
	BELOW_RECORD,
	BELOW_RECORD_OF,
	BELOW_CAN = 16,
	BELOW_NAME,
	BELOW_WAIT,
	BELOW_SAMPLE,
	BELOW_LOST,
	BELOW_MARK,
	BELOW_COST,
	BELOW_LISTED,
	BELOW_PROBED,
	BELOW_HITS,
	BELOW_RECORDING,
	BELOW_EVENTS,
	BELOW_EVENTS_MARK,
};

/* What hone-below can do here. */
enum below_can_flag {
	BELOW_CAN_WAITS = 1,    /* waits off the CPU, with their cause */
	BELOW_CAN_SAMPLES = 2,  /* samples on the CPU */
	BELOW_CAN_STACKS = 4,   /* places in the code */
	BELOW_CAN_FAULTS = 8,   /* waits for page faults */
	BELOW_CAN_HOLDERS = 16, /* what the holder of a lock did meanwhile */
	BELOW_CAN_SAMPLED = 32, /* all of this by looking at threads again and again, without BPF */
	BELOW_CAN_PROBES = 64,  /* probes in the code, of those that programs ship (USDT) */
	BELOW_CAN_FLAGS = 127,
};

/* Whose record of its request a thread keeps. OTEL_*: that of an OpenTelemetry SDK (agent/system/otel_context.h), found as enum tls_model of
 * agent/system/symbol_file.h says. */
enum below_context {
	BELOW_CONTEXT_HONE,
	BELOW_CONTEXT_OTEL_FIXED,
	BELOW_CONTEXT_OTEL_OFFSET,
	BELOW_CONTEXT_OTEL_DESCRIPTOR,
	BELOW_CONTEXT_OTEL_MODULE,
	BELOW_CONTEXTS
};

enum below_follow_flag {
	BELOW_FOLLOW_WAITS = 1, /* waits and samples, too, not only probes */
	BELOW_FOLLOW_ALL =
	    2, /* all threads: the program has no libhone, and its context is not read */
	/* Waits and samples also of threads that are in no probed request, without ids: what a thread did before it begins a unit. */
	BELOW_FOLLOW_BEFORE = 4,
	BELOW_FOLLOW_FLAGS = 7,
};

/* Follow the threads of a process that are in probed requests. What was said before of it is replaced. */
struct below_follow {
	uint32_t pid; /* of the process, in the pid namespace of both */
	uint8_t flags;
	uint8_t
	    context; /* enum below_context; of an OpenTelemetry SDK `offset` and `address` are those of its pointer */
	/* Where threads keep their context (instrument/context_place.h); offset 0: the agent may not read that, and
	 * hone-below finds it, in the process' memory at `address`, which is 0 if the agent may not know that either. The
	 * other members are then 0. */
	int64_t offset;
	uint64_t address;
	uint16_t trace_id, unit_id, request_type, probed; /* offsets in the context */
};

struct below_can {
	uint32_t flags;      /* of enum below_can_flag; 0: nothing */
	const char *missing; /* why not more, and how to grant it; "": nothing is missing */
};

/* A place in the code. Texts are terminated. */
struct below_name {
	uint32_t id;        /* not 0 */
	const char *folded; /* the stack: "main;serve;append() at dd.c:27;fsync" */
	const char *function, *file, *called; /* of the program's innermost frame; "": unknown */
	uint32_t line;                        /* 0: unknown */
};

/* An interval off the CPU: from begin to woken in `state`, from woken to end ready. */
struct below_wait {
	uint32_t pid, tid;
	uint64_t trace_id, unit_id;
	int64_t begin_ns, woken_ns, end_ns; /* begin <= woken <= end */
	uint8_t state;                      /* enum below_state */
	uint32_t place;                     /* 0: unknown */
	uint64_t lock;                      /* address; 0: none */
	uint32_t owner_tid;                 /* of the lock when the wait began; 0: unknown */
	uint8_t owner_state;                /* what it did then; UNKNOWN */
	uint32_t owner_place;               /* 0: unknown */
	char owner_name[BELOW_WORD_MAX +
			1];      /* the thread's (comm), without control characters; "": unknown */
	bool owner_is_read;      /* which request it served then, probed or not, is known: */
	uint64_t owner_trace_id; /* 0: none */
	uint32_t owner_type;     /* hone_request_type() of it; 0: none */
	uint32_t waker_tid;      /* 0: an interrupt, or unknown */
	uint64_t waker_trace_id; /* of its request; 0: none */
	uint32_t waker_type;     /* hone_request_type() of it, probed or not; 0: none */
	char waker_name[BELOW_WORD_MAX + 1]; /* as owner_name */
};

/* A thread was seen on a CPU; it stands for weight_ns of running. */
struct below_sample {
	uint32_t pid, tid;
	uint64_t trace_id, unit_id;
	int64_t time_ns, weight_ns;
	uint32_t place; /* 0: unknown */
};

struct below_lost {
	uint64_t count;
	int64_t from_ns, to_ns;
	uint64_t messages; /* that had a number and were not sent; 0: what is lost was in none */
};

struct below_probe {
	uint32_t id;      /* what its hits are said to be of */
	uint32_t pid;     /* of a function: it is one of this process' files; else 0 */
	const char *name; /* "usdt.provider:name", "func.service:name_start", terminated */
	bool on;
	uint8_t
	    word; /* of the text to which argument word - 1 points, hits have the first word; 0: of none */
};

struct below_listed { /* one of several messages */
	uint32_t pid;
	bool last;         /* of this process */
	const char *names; /* one in each line, terminated */
};

struct below_probed {
	uint32_t id;
	bool on;
	const char *
	    reason; /* why it could not be switched; "": it is as it was asked for, in all files that have it */
	bool
	    full; /* there was no room for it beside others: it may be asked for again as soon as these are off */
};

struct below_hit { /* a thread passed a probe */
	uint32_t id, pid, tid;
	uint64_t trace_id, unit_id; /* 0: all threads are followed */
	int64_t time_ns;
	uint8_t nvalues;
	int64_t values[BELOW_VALUES_MAX]; /* its arguments; 0 for one that cannot be read */
	char word
	    [BELOW_WORD_MAX +
		1]; /* letters, digits and '_', in capitals; "": none was asked for, or there is none */
};

struct below_hits {     /* in the order of their times */
	uint32_t count; /* not 0 */
	const struct below_hit *list;
};

enum below_record_flag {
	BELOW_RECORD_ON = 1,
	BELOW_RECORD_TEXTS = 2, /* also how messages begin, where that is text: user data */
	BELOW_RECORD_FLAGS = 3,
};

struct below_recording {
	bool on; /* a new stream begins with the next EVENTS; false: none follows */
	const char
	    *missing; /* why not, or why not all, and how to grant it; "": nothing is missing */
};

struct below_events {      /* the next bytes of the stream, in order */
	uint32_t len;      /* 1 to BELOW_PIECE_MAX */
	const void *bytes; /* decoded: in the packet */
};

struct below_message {
	enum below_kind kind;
	uint64_t number; /* of hone-below; 0: none, from the agent */
	union {
		struct below_follow follow;
		uint32_t unfollow; /* pid */
		uint32_t lease_ms; /* since it was received; then hone-below ends */
		struct below_can can;
		struct below_name name;
		struct below_wait wait;
		struct below_sample sample;
		struct below_lost lost;
		int64_t
		    mark_ns; /* no WAIT, SAMPLE or LOST that ended at or before it is still to come */
		int64_t cost_cpu_us; /* of hone-below and its children since they began */
		uint32_t list;       /* pid */
		struct below_probe probe;
		struct below_listed listed;
		struct below_probed probed;
		struct below_hits hits;
		uint8_t
		    record; /* of enum below_record_flag. What was recorded before is ended, and a stream begins anew */
		uint32_t record_of; /* pid: its threads, and those of its children, from now on */
		struct below_recording recording;
		struct below_events events;
		int64_t
		    events_mark_ns; /* no kernel event at or before it is still to come, nor a loss that ended */
	};
};

/* Appends the message; b->failed reports lack of memory. Texts over their limit are cut. */
void below_encode(const struct below_message *m, struct buf *b);

/* Decodes one packet. Texts are copied into the arena. ERR_INPUT: malformed, or an unknown kind; ERR_MEMORY: *ret is of
 * no use. O(len), at most 16 * len bytes of memory. The bytes of an EVENTS stay in `data`. */
int below_decode(
    struct below_message *ret, struct arena *a, const void *data, size_t len, struct err *e);

#endif

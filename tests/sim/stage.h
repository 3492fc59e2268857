/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stage that simulated applications are played on: nodes with agents, in
 * front of the real engine, on a fake clock. Agents tell batches, obey wants, have
 * clocks of their own, lose records, are late, fill up. What the application does
 * is its own: it is asked for requests, and emits records.
 */
#ifndef TESTS_SIM_STAGE_H
#define TESTS_SIM_STAGE_H

#include "base/texts.h"
#include "base/rng.h"
#include "controlplane/engine/engine.h"

enum { MS = 1000000, TICK_NS = 20 * MS, STAGE_NODES_MAX = 64 };
#define START_NS INT64_C(1000000000000)
#define SHED 0.9

struct stage_record {
	int64_t time_ns; /* true time; told by the node's clock */
	uint64_t trace, unit, link;
	int64_t value;  /* of the label's field, if it has one */
	uint32_t label; /* a number from stage_label() */
	uint32_t seq;   /* order of making: ties in time stay in it */
};

struct stage_node {
	char name[32], service[32];
	uint32_t number; /* the engine's */
	struct stage_record *records;
	size_t nrecords, room;
	struct texts *has;      /* tracepoints that it can switch, "provider:event" */
	uint64_t epoch;         /* that it obeys */
	double sampled, probed; /* of the requests that begin here */
	/* trouble */
	int64_t ahead_ns, step_ns, step_at_ns; /* its clock; step_at: after stage.begun_ns */
	double drift_ppm;
	double gone_from_s,
	    gone_for_s; /* it is killed, after begun_ns; its records until it is back are lost */
	bool gone;
	int64_t late_ns;                      /* it tells what is older than that */
	double fill, fill_from_s, fill_for_s; /* its queues, after begun_ns; at SHED it lets go of
	                                         what was added, until a new epoch */
	bool shed;
	uint32_t on, sheds;              /* toggles of its epoch; how often it has let go */
	double record_ns, rejected_ns;   /* what a record costs there, and one that the filter
	                                    rejects; 0: it does not tell */
	double idle_core, record_cpu_ns; /* what agent and tracer use: share of a core, and for each
	                                    record told; 0, 0: it does not tell */
	double cpu_ns;                   /* used so far, and */
	uint64_t told, sent_bytes;       /* records, and all their bytes */
	int lose_count;                  /* records that it loses, at most, ... */
	double lose_every_s;
	uint32_t lose_label; /* of this label only, + 1; 0: of any */
	int64_t told_ns, asked_ns, status_ns;
	void *ctx; /* the application's */
};

struct stage {
	struct engine *g;
	struct forest *forest;
	struct rng rng,
	    wire_rng; /* wire_rng: of what the controller and agents say to each other */
	struct stage_node *nodes[STAGE_NODES_MAX];
	int nnodes;
	int64_t now_ns, begun_ns; /* begun: the diagnosis; INT64_MAX: not yet */
	double rate, owed;        /* requests a second */
	bool has_clocks;
	uint64_t requests, next_id;
	struct sketch *decisions, *steps; /* time of a core, ns: of steps after which something else
	                                     is wanted, of others; or NULL */
	/* the application */
	void (*request)(void *app, int64_t at_ns);
	void (*obeyed)(void *app, struct stage_node *n, const struct want *w); /* may be NULL */
	void (*lost)(void *app, struct stage_node *n,
	    const struct stage_record *r); /* may be NULL: a record of those that it loses */
	void *app;
	/* labels, and which number each has in the batch being made */
	struct texts *labels;
	struct stage_label {
		uint8_t kind;
		const char *field;
		uint32_t number;
		uint64_t batch;
	} * label;
	size_t label_room;
	uint64_t batches;
	uint32_t seq;
};

/* Prints "Bail out!", ends the program: what cannot be in a test that is sound. */
void stage_die(const char *what, const char *with) __attribute__((noreturn));

struct engine_options stage_options(
    uint64_t seed); /* as honed has them, with a memory for large applications */

/* Nodes are added before stage_open(); clocks and troubles are set on what it returns. */
struct stage_node *stage_node(struct stage *s, const char *service, const char *name);
struct stage_node *stage_node_named(const struct stage *s, const char *name); /* or NULL */
/* A tracepoint that a program on that node has. Each once. */
void stage_has(struct stage_node *n, const char *tracepoint);
/* It tells what it has, now. */
void stage_programs(struct stage *s, struct stage_node *n);
/* Makes the engine, joins all agents. Several times with the same nodes, each after stage_close().
 */
void stage_open(struct stage *s, const struct engine_options *o, uint64_t seed);
void stage_close(struct stage *s);
void stage_release(struct stage *s); /* nodes as well */

/* Of "service/provider:event" and the like; field: NULL, or the one it carries, which must live on.
 * O(1). */
uint32_t stage_label(struct stage *s, enum record_kind kind, const char *text, const char *field);
void stage_emit(
    struct stage *s, struct stage_node *n, const struct stage_record *r); /* its seq is set here */

/* 20 ms of everything. O(records of it), and O(nodes). */
void stage_tick(struct stage *s);

/* A second's rest, then learns with everything on until the engine has ended it. */
void stage_learn(struct stage *s, double seconds);
/* Starts, plays until the run has ended (or seconds have gone by) and for two seconds more; *quiet:
 * nothing is on after it. Returns the run, the forest's; watch (may be NULL) is called after each
 * tick. */
struct run *stage_diagnose(struct stage *s, const char *type, const struct start_options *o,
    double seconds_max, void (*watch)(void *app), bool *quiet);

#endif

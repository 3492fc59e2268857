/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stage for simulated applications: nodes with agents in front of the real engine, on a fake
 * clock. Agents send batches, obey desired states (WANT), have their own clocks, lose records, send
 * late and have queues that fill. The application is asked for requests and emits records.
 */
#ifndef TESTS_SIM_STAGE_H
#define TESTS_SIM_STAGE_H

#include "base/texts.h"
#include "base/rng.h"
#include "controlplane/engine/engine.h"

enum { STAGE_RING = 1 << 16 };
enum { MS = 1000000, TICK_NS = 20 * MS, STAGE_NODES_MAX = 64, STAGE_TYPES_MAX = 8 };
#define START_NS INT64_C(1000000000000)
#define SHED 0.9

struct stage_record {
	int64_t time_ns; /* true time; it is sent in the time of the node's clock */
	uint64_t trace, unit, link;
	int64_t value;  /* value of the label's field, if it has one */
	uint32_t label; /* from stage_label() */
	uint32_t seq;   /* order of creation, which orders records of equal time */
	uint32_t tid;   /* 0: the node has one thread */
};

struct stage_node {
	char name[32], service[32];
	uint32_t number; /* the engine's number of the node */
	struct stage_record *records;
	size_t nrecords, room;
	struct texts *has;      /* tracepoints that it can enable, "provider:event" */
	uint64_t epoch;         /* of the desired state that it obeys */
	double sampled, probed; /* sampling shares of the requests that begin here */
	struct stage_rate {     /* the same for each request type that the desired state names */
		char type[32];
		double sampled, probed;
	} rates[STAGE_TYPES_MAX];
	uint32_t nrates;
	double sampled_others; /* shares of types without a rate of their own */
	/* faults of the node */
	int64_t ahead_ns, step_ns,
	    step_at_ns; /* offset of its clock; a jump, at step_at_ns after stage.begun_ns */
	double drift_ppm;
	double gone_from_s,
	    gone_for_s; /* the agent is killed then, in seconds after begun_ns; records are lost until it is back */
	bool gone;
	int64_t late_ns; /* a record is sent when it is older than this delay */
	double fill, fill_from_s, fill_for_s; /* queue occupancy, from fill_from_s after begun_ns;
	                                         at SHED it sheds load until a new epoch */
	bool shed;
	uint32_t on, sheds; /* changes of tracepoints in its epoch; how often it has shed load */
	double record_ns, rejected_ns;   /* cost of a recorded and of a rejected record; 0: the
	                                    agent does not report it */
	double idle_core, record_cpu_ns; /* CPU of agent and tracer: share of a core, and for each
	                                    record sent; 0, 0: not reported */
	/* Its flight recorder, if it can have one: providers that it has on, and the newest records. */
	char recorder[16][48];
	uint32_t nrecorder;
	struct stage_record *ring;
	size_t ring_at;            /* records written to it, over all */
	double cpu_ns;             /* CPU used so far */
	uint64_t told, sent_bytes; /* records sent, and their bytes */
	int lose_count;            /* largest number of records that it loses at a time ... */
	double lose_every_s;
	uint32_t lose_label; /* ... and their label + 1; 0: any label */
	int64_t told_ns, asked_ns, status_ns;
	void *ctx; /* owned by the application */
};

struct stage {
	struct engine *g;
	struct forest *forest;
	struct rng rng, wire_rng; /* wire_rng: delays of messages between controller and agents */
	struct stage_node *nodes[STAGE_NODES_MAX];
	int nnodes;
	int64_t now_ns, begun_ns; /* begun_ns: start of the diagnosis; INT64_MAX: not yet */
	double rate, owed;        /* requests a second */
	bool irregular; /* they arrive as a Poisson process; false: as many in each second */
	bool has_clocks;
	bool has_recorders; /* nodes can have flight recorders, of STAGE_RING records each */
	uint64_t requests, next_id;
	struct sketch *decisions,
	    *steps; /* CPU time in ns: of steps that change a desired state, and of the other steps; or NULL */
	/* the application */
	void (*request)(void *app, int64_t at_ns);
	/* all requests before that time have been generated; may be NULL */
	void (*advance)(void *app, int64_t until_ns);
	void (*obeyed)(void *app, struct stage_node *n, const struct want *w); /* may be NULL */
	void (*lost)(void *app, struct stage_node *n,
	    const struct stage_record
		*r); /* may be NULL; called for each record that a node loses */
	void *app;
	/* labels, and the number of each in the batch being built */
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

/* Prints "Bail out!" and ends the program: for states that a correct test cannot reach. */
void stage_die(const char *what, const char *with) __attribute__((noreturn));

struct engine_options stage_options(
    uint64_t seed); /* settings as in honed, with memory for large applications */

/* Nodes are added before stage_open(). The caller sets clock and faults of the returned node. */
struct stage_node *stage_node(struct stage *s, const char *service, const char *name);
struct stage_node *stage_node_named(const struct stage *s, const char *name); /* or NULL */
/* Adds a tracepoint of a program on that node. Precondition: not added before. */
void stage_has(struct stage_node *n, const char *tracepoint);
/* The agent sends its list of tracepoints to the engine. */
void stage_programs(struct stage *s, struct stage_node *n);
/* Creates the engine and connects all agents. Can be repeated with the same nodes after
 * stage_close(). */
void stage_open(struct stage *s, const struct engine_options *o, uint64_t seed);
void stage_close(struct stage *s);
void stage_release(struct stage *s); /* also frees the nodes */

/* The number of a label, "service/provider:event" or the like. field: the field that it carries, or
 * NULL; not copied. O(1). */
uint32_t stage_label(struct stage *s, enum record_kind kind, const char *text, const char *field);
void stage_emit(
    struct stage *s, struct stage_node *n, const struct stage_record *r); /* its seq is set here */

/* The same for the node's flight recorder: whether it has this provider on; and a record of it, which overwrites the oldest one. */
bool stage_is_recorded(const struct stage_node *n, const char *name);
void stage_record_passed(struct stage *s, struct stage_node *n, const struct stage_record *r);

/* Advances application, agents and engine by 20 ms. O(records in it + nodes). */
void stage_tick(struct stage *s);

/* What the node's desired state says of this request type. */
struct stage_rate stage_rate(const struct stage_node *n, const char *type);

/* Idles for 1 s, then learns with all tracepoints enabled until the engine ends it. */
void stage_learn(struct stage *s, double seconds);
/* Starts a diagnosis, plays until the run has ended (or for the given seconds) and 2 s more. *quiet:
 * no tracepoint is enabled after that. Returns the run, owned by the forest. watch (may be NULL) is
 * called after each tick. */
struct run *stage_diagnose(struct stage *s, const char *type, const struct start_options *o,
    double seconds_max, void (*watch)(void *app), bool *quiet);

#endif

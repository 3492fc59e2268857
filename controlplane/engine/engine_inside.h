/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the engine is made of; for its own files (engine, nodes, learn, diagnose and those beside
 * it) and for answer.c, which looks. */
#ifndef CONTROLPLANE_ENGINE_ENGINE_INSIDE_H
#define CONTROLPLANE_ENGINE_ENGINE_INSIDE_H

#include "analysis/assemble.h"
#include "analysis/clocks.h"
#include "controlplane/engine/engine.h"
#include "controlplane/engine/rules.h"
#include "controlplane/engine/sampler.h"
#include "controlplane/search/diagnose.h"
#include "report/report.h"
#include "searchspace/plan.h"
#include "base/map.h"

enum { NODES_MAX = 1024, TYPES_MAX = 512, PICKS_MAX = 16 };

/* ---- nodes.c: what we know of an agent, and what we want of it ---- */
struct node {
	char name[NODE_NAME_MAX + 1];
	char version[32]; /* of the agent's program */
	bool connected;
	struct mono heard;    /* last message */
	struct status status; /* its trouble is in `trouble` */
	struct status before; /* the status a while ago, for rates */
	struct mono status_at, before_at;
	char trouble[200];
	struct arena programs_arena;
	struct programs programs; /* in that arena */
	struct texts *names;      /* of its tracepoints, and "provider:*" of each provider */
	struct arena want_arena;
	struct want want;      /* in that arena; epoch 0: nothing wanted yet */
	uint64_t want_hash;    /* of its content */
	uint64_t want_made_of; /* engine.wants when it was made */
	uint64_t done_epoch;
	char failure[200]; /* the tracer's words of the last epoch, or "" */
	bool rests;        /* it has shed: nothing is wanted of it until then */
	struct mono rests_until;
	int64_t rest_ns; /* so long, the last time; 0: it never did */
};

/* ---- types ---- */
struct type {
	uint32_t label; /* of its request_begin */
	char *name;
	uint64_t traces;
	struct moments total; /* ns */
	struct sketch *sketch;
	uint64_t window_traces; /* in the second before the last */
	double per_second;      /* traces; sampled ones */
	double offered;         /* requests: as many as that stands for */
	double window_sampled;  /* the share that was sampled when the window began */
	double enough; /* the share that is enough of them, over 1 where there are fewer; 0: not
	                  known */
	struct mono window;
	struct diagnosis *diagnosis; /* the newest, running or ended; NULL */
	struct map
	    seen; /* (label of a unit's begin, label) that the space has seen of it; see learn.c */
	uint64_t seen_of; /* engine.spaces then */
};

/* ---- learn.c ---- */
struct learning {
	bool active, ended; /* ended: engine_learned() has not been asked yet */
	bool ready;         /* all nodes have everything on; the time counts from then */
	struct mono since, until;
	int64_t for_ns; /* in all; the groups share it */
	uint64_t traces;
	struct mono begun, shrunk;
	struct wall when;        /* of the last step */
	double shrink;           /* of the share that is probed, by full queues: 1, a half, ... */
	uint32_t group, ngroups; /* of providers, that take turns: this one, from 0 */
	uint32_t providers;      /* in all */
};

struct engine {
	struct engine_options o;
	struct forest *forest;
	struct labels *labels;
	struct assemble *assemble;
	struct clocks *clocks;
	struct space *space;
	uint64_t spaces;                      /* so many there were, this one included */
	uint64_t programs;                    /* grows when any node's programs may have changed */
	uint64_t fingerprint, fingerprint_of; /* of engine.programs then */
	bool taught, learned; /* it knows more since it was saved; and it is time to save it */
	struct plan *plan;
	struct node nodes[NODES_MAX];
	const char *node_names[NODES_MAX];
	uint32_t nnodes;
	struct type types[TYPES_MAX];
	uint32_t ntypes;
	struct map type_of; /* label + 1 -> struct type */
	struct learning learning;
	bool paused;
	struct mono paused_since;
	char paused_why[240], shed_why[200];
	double mailbox_fill;
	bool rest; /* an agent rests: what it does not record proves nothing */
	uint64_t pauses, sheds;
	int64_t paused_ns;
	struct report *report; /* of all requests since `reported`, by always-on tracepoints; NULL:
	                          none is kept */
	struct rules rules;
	struct preload_labels preload; /* labels of the preload layer */
	struct search_port port;       /* see engine_search_port() */
	struct wall reported;
	uint64_t reported_used;       /* records of traces that came out before it */
	struct report_counts windows; /* of the windows before that one: moved, pathless, inexact */
	struct arena scratch;         /* for the work on one trace, or one decision */
	struct afford *afford;        /* what tracepoints cost; see afford.h */
	struct sampler *sampler;      /* what all costs, and how many requests are sampled for it */
	uint64_t wants;               /* grows when any node's want may have changed */
	struct path_counts diagnosed; /* of diagnoses; reports count their own */
	uint64_t untyped;             /* traces of request types beyond TYPES_MAX */
	struct sketch delay;          /* ns from the oldest record of each batch to us */
};

/* engine.c: the type of that name, or "service/name"; ERR_MISSING, ERR_INPUT (several). */
int engine_type(struct engine *g, const char *name, struct type **ret, struct err *e);

enum { OWNER_LEARN = 0 }; /* in the plan; hypotheses own by their id, from 1 */

/* nodes.c */
void nodes_changed(struct engine *g);
bool nodes_done(
    const struct engine *g); /* every connected agent has told that its latest want holds */
/* The trace began after this, by our clock, however wrong its node's may be. */
bool began_after(const struct engine *g, const struct trace *t, int64_t time_ns);
/* Counts a trace's records, by node; decides how many requests are sampled. O(units); as
 * sampler_step(). ERR_MEMORY. */
int nodes_trace(struct engine *g, const struct type *type, const struct trace *t, struct err *e);
int nodes_sample(struct engine *g, struct mono now, struct err *e);
double nodes_sampled(const struct engine *g,
    const struct type *type); /* share of its requests that is sampled now */
void node_release(struct node *n);
/* Of all (service, tracepoint) of all nodes, whatever their order: which version of the application
 * runs. Never 0. */
uint64_t nodes_fingerprint(const struct engine *g);
uint32_t nodes_tracepoints(const struct engine *g, bool deep); /* distinct ones that can be
                                  switched; or not deep: of the programs' own */

/* queues.c */
double node_fill(const struct node *n, enum queue *which); /* its fullest queue */
void queues_watch(struct engine *g, struct mono now);      /* O(nodes) */
void queues_shed(
    struct engine *g, struct node *n, struct mono now); /* its status says that it has */

/* learn.c */
int learn_step(struct engine *g, struct mono now, struct wall when, struct err *e);
int learn_trace(struct engine *g, const struct trace *t, struct err *e);
void learn_end(struct engine *g);
bool under_diagnosis(const struct engine *g); /* any type is */
/* Of a diagnosis: what the space has never seen, or anything. O(events), and once O(places). */
int learn_new(
    struct engine *g, struct type *type, const struct trace *t, bool anything, struct err *e);
/* A diagnosis has ended: what it taught is to be saved. */
void learn_keep(struct engine *g, struct wall when);
double learn_left_s(const struct engine *g, struct mono now); /* while it is active */
double learn_probed(const struct engine *g); /* the least share of any type's requests */

/* search_port.c: the engine as searches see it, with what changes (queues, space) as it is now. The
 * engine's. */
struct search_port *engine_search_port(struct engine *g);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nodes: machines with an agent. What each agent reported of its node (status, programs), and
 * what it was last asked to have enabled. A node keeps its number, from 0, for as long as the
 * controller runs, also while its agent is away.
 */
#ifndef CONTROLPLANE_ENGINE_NODES_H
#define CONTROLPLANE_ENGINE_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/label.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "controlplane/engine/binaries.h"
#include "controlplane/search/port.h"
#include "controlplane/search/preload_labels.h"
#include "searchspace/plan.h"
#include "wire/agent_messages.h"
#include "wire/below.h"
#include "wire/toggle.h"

enum { NODES_MAX = 16384 };

struct node {
	char name[NODE_NAME_MAX + 1];
	char version[32]; /* of the agent's program */
	bool connected;
	struct mono heard;    /* last message, or when it left */
	struct mono recorded; /* when its last batch with records was taken; 0: none was */
	struct status status; /* the latest; the texts of its trouble are below */
	struct status before; /* one of at least 5 s earlier, for rates */
	struct mono status_at, before_at;
	char trouble_subject[200], trouble_text[400], below_missing[512], kernel_missing[512],
	    recorder_missing[512];
	char fullest[NODE_NAME_MAX + 1]; /* text of the status */

	struct arena programs_arena;
	struct programs
	    programs; /* in that arena, but for the texts: those are of the binaries, as are the log levels */
	struct binary **binaries; /* in that arena: one for each service and range of names */
	uint32_t nbinaries;
	bool listed;          /* its agent has listed its programs */
	uint64_t programs_at; /* nodes.programs when it did last */

	/* desired_state.c */
	struct arena want_arena;
	struct want want; /* in that arena, but for the rates; epoch 0: none was made yet */
	struct want_rates *want_rates; /* these */
	uint64_t want_hash;            /* of its content */
	uint64_t want_revision;        /* nodes_revision() when it was made */
	uint64_t confirmed_epoch;      /* the latest that its agent reported DONE */
	bool
	    maybe_on; /* a desired state had added tracepoints, and none without them was confirmed since */
	char failure[200]; /* the tracer's message for that epoch, or "" */

	/* queues.c: an agent that shed load has no added tracepoints until then */
	bool backing_off;
	struct mono backoff_until;
	int64_t backoff_ns; /* length of the last backoff; 0: it never had one */
};

/* The rates of desired states: those of all nodes are the same, but that nothing is probed on a node that backs off. */
struct want_rates {
	uint32_t refs, n;
	struct rate *rates;
	uint64_t revision, hash; /* of nodes_revision(); of the content */
	struct arena arena;
};

struct nodes { /* all zeroes is empty */
	/* Of NODES_MAX each, made by the first nodes_join(): memory that no node uses stays untouched. */
	struct node *items;
	const char **names; /* of the items, for rooms that know numbers only */
	double *fill; /* of the fullest queue of each agent, 0..1; 0 while it is not connected */
	struct binaries binaries; /* of all programs */
	uint32_t n;
	uint32_t backing_off; /* how many are */
	struct want_rates
	    *rates[2]; /* the latest: of other nodes, and of those that back off; NULL: none yet */
	struct texts *by_name; /* the number of a name is its node's */
	uint64_t changes;      /* grows when the desired state of any node may have changed */
	uint64_t programs;     /* grows when the programs of any node may have changed */
	bool without_probes;   /* USDT probes that agents report are left out (search.probes) */
};

void nodes_release(struct nodes *nodes);
void want_rates_unref(struct want_rates *r); /* the last one frees them; NULL is fine */

/* The number of the node with this name, new or not; its agent is connected from now on and has
 * confirmed nothing. ERR_FULL: NODES_MAX others are known; ERR_MEMORY. O(length). */
int nodes_join(struct nodes *nodes, const char *name, const char *version, struct mono now,
    uint32_t *node, struct err *e);
void nodes_leave(struct nodes *nodes, uint32_t node, struct mono now);
/* Copies *s. */
void nodes_status(struct nodes *nodes, uint32_t node, const struct status *s, struct mono now);
/* Copies *p. ERR_MEMORY: the node then has no programs. ERR_FULL: its programs have more than TRACEPOINTS_MAX
 * tracepoints, where processes of one service with the same tracepoints count once; nothing has changed.
 * O(names + programs). */
int nodes_programs(struct nodes *nodes, uint32_t node, const struct programs *p, struct err *e);
void nodes_done(struct nodes *nodes, uint32_t node, const struct done *d, struct mono now);

/* The desired state of any node may have changed: it is made again when it is asked for. */
void nodes_changed(struct nodes *nodes);
/* Changes whenever the desired state of any node may have changed, by the plan or otherwise. Never
 * 0. */
uint64_t nodes_revision(const struct nodes *nodes, const struct plan *plan);
/* Every connected agent has confirmed its latest desired state. O(nodes). */
bool nodes_confirmed(const struct nodes *nodes, const struct plan *plan);

/* Whether nobody knows if added tracepoints are enabled at the node: its agent left before it confirmed that they are not. Its lease
 * ended, or ends, *lease_left_ns after `now`; then its agent or its guardian disables them. */
bool node_is_unknown(const struct node *n, struct mono now, int64_t *lease_left_ns);

uint32_t nodes_connected(const struct nodes *nodes);
/* As `below` of struct search_port. O(nodes * programs). */
bool nodes_below(const struct nodes *nodes, const char *service, char missing[BELOW_WHY_MAX + 1]);
/* Whether a process with this name can be traced on the node. O(binaries of the node). */
bool node_has_program(const struct node *n, const char *service);
/* Whether the node's programs have this tracepoint ("provider:event", or "provider:*"), or for a function (search_functions.h) whether its
 * program runs there. O(binaries of the node). */
bool node_has_tracepoint(const struct node *n, const char *name);
/* The same of a label's tracepoint `name`, in a program of the label's service; and the agent is
 * connected. O(binaries of the node). */
bool node_has_label(const struct node *n, const struct label *l, const char *name);
/* Occupancy of the fullest queue of the agent, 0..1, and which one that is. */
double node_fill(const struct node *n, enum queue *which);

/* A hash of all distinct (service, tracepoint) of all nodes, independent of their order: it
 * identifies the version of the application. Tracepoints of the preload layer do not count. Never
 * 0; the same as long as nodes.binaries.changes is. O(tracepoints of all binaries). */
uint64_t nodes_fingerprint(const struct nodes *nodes, const struct preload_labels *preload);
/* How many distinct tracepoints there are, without those of the preload layer; preload NULL: with
 * them. O(tracepoints of all binaries). */
uint32_t nodes_tracepoints(const struct nodes *nodes, const struct preload_labels *preload);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tracepoints that are on by their log level, for all sampled requests. They are not of a diagnosis, and no diagnosis takes them for
 * something that it enabled. Desired states have them, with the lease of all added tracepoints.
 *
 *	     congestion (queues.h), learning
 *	on ----------------------------------> held: none is on, on no node
 *	   <----------------------------------
 *	     it has ended LEVELS_REST_NS ago, or longer each time it comes back soon
 *
 * So they go at once where a diagnosis keeps its tracepoints for a while. Learning enables every tracepoint by itself, and measures what
 * each costs.
 */
#ifndef CONTROLPLANE_ENGINE_LEVELS_H
#define CONTROLPLANE_ENGINE_LEVELS_H

#include "analysis/trace.h"
#include "controlplane/engine/level_choice.h"
#include "controlplane/engine/level_labels.h"
#include "controlplane/engine/level_rates.h"
#include "controlplane/engine/nodes.h"

#define LEVELS_REST_NS INT64_C(30000000000)
/* The rest is at most so many times as long; it doubles when congestion comes back within so many rests. */
enum { LEVELS_REST_MOST = 32, LEVELS_REST_SOON = 4 };

enum levels_held { LEVELS_ON, LEVELS_HELD_CONGESTION, LEVELS_HELD_LEARNING, LEVELS_HELD_END };

/* "" for ON, "congestion", "learning", "end". */
const char *levels_held_word(enum levels_held h);

struct level_node {
	struct arena arena;
	struct level_choice choice; /* in the arena */
	uint64_t programs, version; /* of the node's programs and the rules that it was made of */
};

struct levels { /* all zeroes: no rule */
	struct level_rules rules;
	uint64_t version; /* grows with each change of the rules */
	uint64_t stored;  /* the version that is in the file */
	enum levels_held held;
	struct mono held_until;
	int64_t rest_ns;          /* the last; 0: it was never held for congestion */
	uint64_t holds;           /* for congestion, since honed started */
	struct level_node *nodes; /* by number */
	uint32_t n, cap;
	uint64_t choices; /* grows when a node has others, from 1 */
	uint64_t chosen_programs,
	    chosen_version; /* nodes.programs and the version at the last choice */
	struct level_labels labels;
	struct level_rates rates;
};

void levels_release(struct levels *l);

/* As level_rules_set(). */
int levels_set(struct levels *l, const char *pattern, uint8_t level, struct err *e);

/* Holds them, or not. True: that has changed. O(1). */
bool levels_hold(struct levels *l, bool congested, bool learning, struct mono now);
/* Holds them until honed ends. */
void levels_end(struct levels *l);

/* Chooses the tracepoints of nodes whose programs or rules are others. True: some node has others now. Without memory a node has none.
 * O(1) if no programs or rules have changed; else O(nodes), and O(tracepoints) of those that are chosen anew. */
bool levels_choose(
    struct levels *l, const struct nodes *nodes, const struct preload_labels *preload);

/* Counts the records of a trace that are there since a tracepoint is on by its log level, by the service that wrote them: also of one
 * that is on since another service of the node has it on. O(events), and O(log names) for some. ERR_MEMORY. */
int levels_count(struct levels *l, const struct labels *labels, const struct binaries *binaries,
    const struct trace *t, struct err *e);

/* What is to be on at the node; empty while it is held. */
struct level_choice levels_of(const struct levels *l, uint32_t node);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is known of the forks of each label: whether a trace is closed when each fork in it has one unit_begin. By contract a link is begun
 * by one unit (docs/trace-contract.md), but
 *
 *	- a fork can lead to a program without instrumentation: then no unit_begin ever comes, and waiting for one would be in vain;
 *	- a service with OpenTelemetry hands the link that it was called by on, so that the programs that it calls begin by it too: one
 *	  unit_begin then says nothing of the others, which come seconds later.
 *
 * So a label is unknown at first, and its traces wait for all nodes. After FORKS_SEEN forks of it in such traces it is known; if a unit_begin
 * comes late all the same, the trace's links are remembered for a while, so that the label is corrected. Used by assemble.c. Pure.
 */
#ifndef ANALYSIS_FORK_LABELS_H
#define ANALYSIS_FORK_LABELS_H

#include "analysis/trace.h"

enum { FORKS_SEEN = 32 };

enum fork_rule {
	FORK_UNKNOWN,   /* its trace waits for all nodes */
	FORK_ANSWERED,  /* it is open until a unit begins by it */
	FORK_LEADS_OUT, /* of what is traced: no unit begins by it */
};

struct fork_labels;

/* keep_ns: for so long after its end the links of a trace are remembered, at most 65,536 in all (1.5 MiB). NULL: out of memory. */
struct fork_labels *fork_labels_new(int64_t keep_ns);
void fork_labels_free(struct fork_labels *f); /* NULL is fine */

/* O(1). */
enum fork_rule fork_labels_rule(const struct fork_labels *f, uint32_t label);

/* A node came that was never there before: forks that nobody answered may be answered by it, so that has to show again. O(1). */
void fork_labels_new_node(struct fork_labels *f);

/* Learns from a trace that waited for all nodes, or for as long as it may. Without memory nothing is learned. O(events). */
void fork_labels_learn(struct fork_labels *f, const struct trace *t, const struct labels *labels);

/* Remembers the forks of a trace that did not wait for all nodes. While there is no room for a link it is not remembered. O(events). */
void fork_labels_remember(
    struct fork_labels *f, const struct trace *t, const struct labels *labels);

/* A unit_begin of a trace that was returned already. O(1). */
void fork_labels_late(struct fork_labels *f, uint64_t trace_id, uint64_t link_id);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The decider's side of Kafka (docs/scale.md): agents that are connected to gates, and the traces of shards.
 *
 *	hone.events --> gates, their agents --> agent_links (as mail of agents of our own)
 *	hone.rows   --> merge --> engine_take()
 *	hone.forest --> a copy of the leader's database, while it stands by; <-- its own rows, while it leads
 *	hone.orders <-- desired states, keeps, refusals, with an echo of each gate's last beat; --> whether another decider has taken over
 *
 * A gate whose beats stop has lost its agents. An agent that is not known, since this decider began after it or missed events, is refused:
 * it connects again, as after a restart of honed.
 */
#ifndef CONTROLPLANE_HONED_REMOTE_AGENTS_H
#define CONTROLPLANE_HONED_REMOTE_AGENTS_H

#include <stdatomic.h>

#include "controlplane/honed/agent_links.h"
#include "controlplane/honed/forest_feed.h"
#include "controlplane/honed/kafka_link.h"
#include "controlplane/relay/row_merge.h"

struct remote_agents;

/* Connects, and waits while another decider leads, with a copy of its database: it returns when no beat of one has come for LEADER_SILENT_NS (twice that if
 * the copy is not whole) and the copy has all that the log says before our term, or when *stop is set (*ret NULL then). The database is closed again. Errors of
 * kafka_link_open() and forest_copy_open(); ERR_PEER: another decider took over at the same time, or has a higher term in the
 * log of the forest, or our term does not get there. */
#define LEADER_SILENT_NS INT64_C(5000000000)
int remote_agents_open(
    struct remote_agents **ret, const struct config *c, const atomic_bool *stop, struct err *e);
void remote_agents_close(struct remote_agents *r); /* NULL is fine */

/* What is to be told of each commit of the forest; from remote_agents_begin() on. */
struct forest_feed *remote_agents_feed(struct remote_agents *r);
/* Once: the links get this port; the engine's labels are used. ERR_MEMORY. */
int remote_agents_begin(
    struct remote_agents *r, struct agent_links *links, const struct config *c, struct err *e);
/* Takes what has come: agents to the links, traces to the engine. */
void remote_agents_take(struct remote_agents *r);
/* Sends what the links have given to the port, and the beat. */
void remote_agents_send(struct remote_agents *r);
/* Another decider leads: this one must end. */
bool remote_agents_replaced(const struct remote_agents *r);

struct remote_counts {
	uint32_t gates, agents;
	uint64_t term;
	uint64_t records,
	    bytes; /* that the connected gates have taken from agents, in their present runs */
	/* Messages of gates; of these, such as came of a run that was replaced; agents that were refused since they were not known. */
	uint64_t lost_events, over, unknown_agents;
	struct row_merge_counts rows;
	struct forest_feed_counts forest;
	int64_t apart_ns;  /* the clocks of two gates, if they differ too much; else 0 */
	bool forest_whole; /* it began with all that the log of the forest had said */
};
void remote_agents_counts(const struct remote_agents *r, struct remote_counts *ret);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The links to agents: hands their frames to the engine, sends them their desired states, and asks
 * for their clocks. An agent keeps its entry, and its tag at the server, while it is away.
 */
#ifndef CONTROLPLANE_HONED_AGENT_LINKS_H
#define CONTROLPLANE_HONED_AGENT_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "controlplane/engine/engine.h"
#include "controlplane/engine/nodes.h"
#include "controlplane/honed/limited_log.h"
#include "controlplane/honed/want_sender.h"
#include "controlplane/server/server.h"
#include "forest/forest.h"

struct agent_link {
	struct peer *peer; /* NULL: not connected */
	char name[NODE_NAME_MAX + 1];
	uint32_t node; /* the engine's number */
	struct sent sent;
	struct mono asked; /* when it was last asked for its clock ... */
	uint32_t nasked;   /* ... and how often on this connection */
	uint32_t
	    quarantined; /* pid of the program that its last status reported in quarantine; 0: none */
	bool shed;       /* its last status reported that it has shed load, */
	bool follows;    /* and that hone-below follows programs; also after it has left */
	/* Lines that this node causes by connecting, leaving and the jumps of its clock: one node's do
	 * not use up another's. */
	struct limited_log log;
};

struct agent_links {
	struct engine *engine; /* these three are borrowed */
	struct forest *forest;
	struct server *server;
	struct agent_link *items; /* the index is the tag */
	uint32_t n, cap;
	struct texts *by_name;         /* the number of a name is its tag */
	struct arena scratch;          /* of one frame */
	struct engine_queues reported; /* what was logged last; its texts are not kept */
	struct limited_log refusals;   /* of nodes that the engine refuses: any number of names */
};

void agent_links_release(struct agent_links *links);

/* MAIL_JOINED: welcomes or refuses. */
void agent_links_joined(struct agent_links *links, const struct mail *m);
/* MAIL_LEFT. */
void agent_links_left(struct agent_links *links, const struct mail *m);
/* MAIL_FRAME. A negative code: the frame is malformed, the agent is to be refused. */
int agent_links_frame(struct agent_links *links, const struct mail *m, struct err *e);
const char *agent_links_name(const struct agent_links *links, uint32_t tag);

/* Sends each agent its desired state if it is due. safe: what the engine decided is committed, and
 * no queue is full; else only what disables tracepoints goes out. */
void agent_links_send(struct agent_links *links, bool safe);
/* Asks each agent for its clock: 8 times every 50 ms, then every 500 ms. */
void agent_links_ask_clocks(struct agent_links *links);
/* Logs congestion: when it begins and ends, and each agent that sheds load. */
void agent_links_log_queues(struct agent_links *links);
/* Logs how many lines about each node were left out, once there is room for it. O(nodes). */
void agent_links_log_left_out(struct agent_links *links);
/* Logs each connected agent as not having confirmed that its added tracepoints are disabled. */
void agent_links_log_unconfirmed(const struct agent_links *links, int64_t lease_ns);

#endif

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
	uint32_t nasked; /* how often it was asked for its clock on this connection */
	uint32_t
	    quarantined; /* pid of the program that its last status reported in quarantine; 0: none */
	bool shed;       /* its last status reported that it has shed load, */
	bool follows;    /* and that hone-below follows programs; also after it has left */
	/* Lines that this node causes by connecting, leaving and the jumps of its clock: one node's do
	 * not use up another's. */
	struct limited_log log;
};

/* When there is something for an agent, by time alone. A small table of its own, since each step looks at all of it. */
struct agent_times {
	int64_t ask_ns;  /* for its clock; INT64_MAX: it is not connected */
	int64_t want_ns; /* its desired state, again; INT64_MAX: so */
};

/* How agents are reached: by this honed's own server, or through gates (remote_agents.h), for which a peer is an address that it gave. */
struct agent_port {
	void *of;
	void (*welcome)(void *of, struct peer *p, uint32_t tag);
	void (*refuse)(void *of, struct peer *p, const char *text);
	void (*took)(void *of, struct peer *p, uint64_t seq);
	void (*want)(void *of, struct peer *p, const struct buf *payload);
	bool (*keep)(void *of, struct peer *p, const struct buf *payload);
	void (*clock)(void *of, struct peer *p);
};

struct agent_port agent_port_server(struct server *s);

struct agent_links {
	struct engine *engine; /* these two are borrowed */
	struct forest *forest;
	struct agent_port port;
	struct agent_link *items;  /* the index is the tag */
	struct agent_times *times; /* of the items */
	uint32_t n, cap, times_cap;
	uint32_t connected;
	uint64_t revision;       /* engine_revision() when all desired states were looked at */
	bool unsafe;             /* what they add was not sent then */
	struct mono left_out_at; /* of agent_links_log_left_out() */
	struct texts *by_name;   /* the number of a name is its tag */
	struct arena scratch;    /* of one frame */
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
/* The connection of that node, or NULL; the tag of a node that is or was connected, or UINT32_MAX. */
struct peer *agent_links_peer(const struct agent_links *links, const char *name);
uint32_t agent_links_tag(const struct agent_links *links, const char *name);
const char *agent_links_name(const struct agent_links *links, uint32_t tag);

/* Sends each agent its desired state if it is due. safe: what the engine decided is committed, and
 * no queue is full; else only what disables tracepoints goes out. O(nodes): some ns of each, and more of those to which something is sent, or
 * of all when any desired state may have changed. */
void agent_links_send(struct agent_links *links, bool safe);
/*
 * Asks each agent for its clock: 8 times every 50 ms, then every 500 ms; of over 1,000 agents each up to every 1,000 ms. One that sent no records
 * for 2 s (it is calm) is asked less often yet, so that all calm ones are asked 4,000 times a second: each in 2.5 s if they are 10,000. When its
 * records come, its clock's bound is wider by CLOCK_DRIFT_PPM of that (0.6 ms) until its next answer, for which it is asked at once.
 */
void agent_links_ask_clocks(struct agent_links *links);
/* Logs congestion: when it begins and ends, and each agent that sheds load. */
void agent_links_log_queues(struct agent_links *links);
/* Logs how many lines about each node were left out, once there is room for it: O(nodes) once a second, else O(1). */
void agent_links_log_left_out(struct agent_links *links);
/* Logs each connected agent as not having confirmed that its added tracepoints are disabled. */
void agent_links_log_unconfirmed(const struct agent_links *links, int64_t lease_ns);

#endif

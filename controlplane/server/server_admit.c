/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which new connections are accepted. A connection is a stranger until its HELLO or its first
 * question; then it is identified:
 *
 *	connects --> permitted, by the kernel's credentials? --> stranger --HELLO, ASK--> identified
 *	                  |no                                       |too many: the oldest that is silent
 *	                  '--> REFUSE with the reason, closed       '--> closed
 *
 * The number of strangers is limited separately for each door, so a flood of silent connections
 * keeps no identified one out. server_limits.c limits identified connections.
 */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CROWDED_PAUSE_NS = 2000000, FLOOD_NOTE_S = 10 };

/* Who has connected: over a local socket from the kernel's credentials; others are not known yet.
 * *only_node: the only node that it may report for, or NULL. forbidden->code: not 0 if it is
 * refused. */
static void
identify(struct gate *g, struct stream *st, struct who *who, const char **only_node,
    struct err *forbidden)
{
	struct server *s = g->server;
	struct mono now = clock_mono();
	int uid, pid;

	*who = (struct who){ .uid = -1, .pid = -1 };
	*only_node = NULL;
	forbidden->code = 0;
	if (stream_peer(st, &uid, &pid) < 0) {
		if (strncmp(listener_url(g->listener), "ipc://", 6) == 0)
			err_set(forbidden, ERR_DENIED,
			    "the kernel did not report the user of the process");
		return;
	}
	roles_who(s->roles, uid, pid, now, who);
	if (g->door == DOOR_OPERATORS) {
		if (who->role == ROLE_NONE)
			roles_refuse(s->roles, who, ROLE_LOOK, NULL, forbidden);
		return;
	}
	switch (roles_agent(s->roles, who, now)) {
	case AGENT_NO:
		roles_refuse_agent(s->roles, who, forbidden);
		break;
	case AGENT_THIS_HOST:
		*only_node = s->host;
		break;
	case AGENT_ANY_NODE:
		break;
	}
}

/* Strangers of this door: those that are being closed, or those that are not. */
static int
strangers(const struct server *s, enum door door, bool closing)
{
	int n = 0;

	for (const struct peer *p = s->peers; p != NULL; p = p->next)
		n += p->conn.door == door && !p->conn.identified && p->closing == closing;
	return n;
}

/* Closes one stranger of this door. It is sent the reason, unless strangers_max of them are being
 * closed already: these wait up to FAREWELL_MS for their peers to read it. */
static void
close_oldest_stranger(struct server *s, enum door door)
{
	struct peer *first = NULL;

	for (struct peer *p = s->peers; p != NULL; p = p->next)
		if (p->conn.door == door && !p->conn.identified && !p->closing &&
		    (first == NULL || conn_closed_before(&p->conn, &first->conn)))
			first = p;
	if (first == NULL)
		return;
	if (s->flood_noted.ns == 0 ||
	    mono_since_ns(clock_mono(), s->flood_noted) > FLOOD_NOTE_S * INT64_C(1000000000)) {
		server_note(s,
		    "too many connections have sent nothing: the oldest are closed; see strangers_max in honed.conf");
		s->flood_noted = clock_mono();
	}
	if (strangers(s, door, true) < s->options.strangers_max) {
		peer_hang_up(
		    first, "too many connections have sent nothing, and this one was the oldest");
	} else {
		peer_hang_up(first, NULL);
		stream_abort(first->stream);
	}
}

/* Waits for threads that are ending while there are more connections than all limits together. */
static void
wait_for_threads(struct server *s)
{
	int most = s->options.connections_max + 4 * s->options.strangers_max;
	struct timespec until;

	while (s->npeers >= most && !s->stopping) {
		until = mono_in_ms(100);
		server_wait(s, &s->ended, &until);
		server_reap(s);
	}
}

void
server_admit(struct gate *g, struct stream *st)
{
	struct server *s = g->server;
	struct err forbidden, e = { 0 };
	const char *only_node;
	struct who who;
	bool crowded = false;
	int rc = 0;

	identify(g, st, &who, &only_node, &forbidden);
	server_lock(s);
	server_reap(s);
	if (forbidden.code != 0) {
		server_refused(s, g->door, &who, &forbidden);
		if (strangers(s, g->door, true) >= s->options.strangers_max)
			rc = err_set(&e, forbidden.code, "%s", forbidden.text);
	} else if (strangers(s, g->door, false) >= s->options.strangers_max) {
		close_oldest_stranger(s, g->door);
		crowded = true;
	}
	if (rc == 0)
		wait_for_threads(s);
	if (s->stopping)
		rc = err_set(&e, ERR_PEER, "the controller is stopping");
	else if (rc == 0 && (rc = peer_start(s, g->door, st, &who, only_node, &forbidden, &e)) < 0)
		server_note(s, "refused: %s", e.text);
	server_unlock(s);
	if (rc < 0)
		stream_turn_away(st, e.text);
	/*
	 * Over TLS, a peer that connects faster than a handshake takes would displace connections
	 * in the middle of theirs, and keep this thread busy: accept more slowly. A local socket
	 * has no handshake, and during a pause its backlog would fill and the kernel would refuse
	 * others.
	 */
	if (crowded && who.uid < 0)
		nanosleep(&(struct timespec){ .tv_nsec = CROWDED_PAUSE_NS }, NULL);
}

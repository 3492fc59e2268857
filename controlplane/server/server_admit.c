/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which new connections are accepted. A connection is a stranger until its HELLO or its first
 * question; then it is identified:
 *
 *	connects --> permitted, by the kernel's credentials? --> stranger --HELLO, ASK--> identified
 *	                  |no                                       |too many, of its source or of all:
 *	                  '--> REFUSE with the reason, closed       '--> one is closed (strangers.h)
 *
 * The number of strangers is limited separately for each door, and over TCP for each source, so a
 * flood of silent connections keeps no identified one out, and no stranger of another source. server_limits.c limits identified connections.
 */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { FLOOD_NOTE_S = 10, SOURCE_BYTES = 64 };

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

/* Who connects, for the limits: the address of another machine, or a local user. Whether it is another machine. */
static bool
name_source(const struct stream *st, const struct who *who, char source[SOURCE_BYTES])
{
	const char *address = stream_address(st);

	if (address[0] != '\0')
		snprintf(source, SOURCE_BYTES, "%s", address);
	else
		snprintf(source, SOURCE_BYTES, "user %d", who->uid);
	return address[0] != '\0';
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

static void
note_flood(struct server *s, const char *source)
{
	if (s->flood_noted.ns != 0 &&
	    mono_since_ns(clock_mono(), s->flood_noted) <= FLOOD_NOTE_S * INT64_C(1000000000))
		return;
	server_note(s,
	    "too many connections have not identified themselves, most lately from %s: some are closed; see strangers_max in honed.conf",
	    source);
	s->flood_noted = clock_mono();
}

/* Closes a stranger. It is sent the reason, unless strangers_max of them are being closed already: these wait up to
 * FAREWELL_MS for their peers to read it. */
static void
close_stranger(struct server *s, struct peer *p)
{
	if (strangers(s, p->conn.door, true) < s->options.strangers_max) {
		peer_hang_up(p, REFUSED_UNHEARD);
		return;
	}
	peer_hang_up(p, NULL);
	stream_abort(p->stream);
}

/* Makes room for a new stranger of this source. false: the new one has to go. */
static bool
make_room(struct server *s, const struct gate *g, unsigned cell, const char *source, bool remote)
{
	int max = s->options.strangers_max, n = 0, i;
	struct admission limits = { max, max };
	struct stranger all[max];
	struct peer *peers[max];

	if (remote)
		limits.share = max / SOURCE_PART > 0 ? max / SOURCE_PART : 1;
	for (struct peer *p = s->peers; p != NULL && n < max; p = p->next) {
		if (p->conn.door != g->door || p->conn.identified || p->closing)
			continue;
		peer_hear(p);
		peers[n] = p;
		all[n++] = (struct stranger){ p->cell, p->conn.spoke };
	}
	if ((i = stranger_to_close(all, n, cell, &limits, &s->rng)) == CLOSE_NONE)
		return true;
	note_flood(s, source);
	if (i != CLOSE_NEW)
		close_stranger(s, peers[i]);
	return i != CLOSE_NEW;
}

/* Whether a connection is taken whose source is permitted: its source has not failed too often, and there is room for
 * it or is made. */
static bool
admitted(struct server *s, const struct gate *g, unsigned cell, const char *source, bool remote)
{
	if (remote && source_penalised(&s->sources, cell, clock_mono())) {
		note_flood(s, source);
		return false;
	}
	return make_room(s, g, cell, source, remote);
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
	char source[SOURCE_BYTES];
	unsigned cell;
	struct who who;
	bool refused = false;
	int rc = 0;

	identify(g, st, &who, &only_node, &forbidden);
	bool remote = name_source(st, &who, source);

	cell = source_cell(s->source_secret, source);
	server_lock(s);
	server_reap(s);
	if (forbidden.code != 0) {
		server_refused(s, g->door, &who, &forbidden);
		if (strangers(s, g->door, true) >= s->options.strangers_max)
			rc = err_set(&e, forbidden.code, "%s", forbidden.text);
	} else {
		refused = !admitted(s, g, cell, source, remote);
	}
	if (rc == 0 && !refused)
		wait_for_threads(s);
	if (s->stopping)
		rc = err_set(&e, ERR_PEER, "the controller is stopping");
	else if (rc == 0 && !refused &&
		 (rc = peer_start(s, g->door, st, cell, &who, only_node, &forbidden, &e)) < 0)
		server_note(s, "refused: %s", e.text);
	server_unlock(s);
	if (rc < 0)
		stream_turn_away(st, e.text);
	else if (refused) /* without a word, since writing may wait, and no handshake was done */
		stream_close(st);
}

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
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/stream.h"

enum {
	FLOOD_NOTE_S = 10,
	TURN_AWAY_BYTES = 512,
};

/* ---- strangers ---- */

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
	if (s->count[p->conn.door][LIST_CLOSING] < s->options.strangers_max)
		peer_hang_up(p, REFUSED_UNHEARD);
	else
		peer_close(p);
}

/* Makes room for a new stranger of this source. false: the new one has to go. */
static bool
make_room(struct server *s, const struct peer *new)
{
	int max = s->options.strangers_max, n = 0, i;
	enum door door = new->conn.door;
	struct admission limits = { max, max };
	struct stranger all[max];
	struct peer *peers[max], *p;

	if (new->remote)
		limits.share = max / SOURCE_PART > 0 ? max / SOURCE_PART : 1;
	TAILQ_FOREACH(p, &s->lists[door][LIST_STRANGERS], listed)
	{
		if (n == max)
			break;
		peers[n] = p;
		all[n++] = (struct stranger){ p->cell, p->conn.spoke };
	}
	if ((i = stranger_to_close(all, n, new->cell, &limits, &s->rng)) == CLOSE_NONE)
		return true;
	note_flood(s, new->source);
	if (i != CLOSE_NEW)
		close_stranger(s, peers[i]);
	return i != CLOSE_NEW;
}

/* Whether a connection is taken whose user is permitted: its source has not failed too often, and there is room for
 * it or is made. */
static bool
admitted(struct server *s, const struct peer *p)
{
	if (p->remote && source_penalised(&s->sources, p->cell, clock_mono())) {
		note_flood(s, p->source);
		return false;
	}
	return make_room(s, p);
}

/* ---- new connections; in the loop's thread ---- */

/* As much of a refusal as the socket takes. */
static void
turn_away(struct peer *p, const char *text)
{
	uint8_t frame[FRAME_HEADER_BYTES + TURN_AWAY_BYTES];
	size_t len = strlen(text) < TURN_AWAY_BYTES ? strlen(text) : TURN_AWAY_BYTES, n;

	memcpy(frame + FRAME_HEADER_BYTES, text, len);
	frame_seal(frame, FRAME_REFUSE, 0, text, len);
	channel_write(&p->channel, frame, FRAME_HEADER_BYTES + len, &n, NULL);
}

/* Frees a connection that was not taken; in no list. */
static void
drop(struct peer *p)
{
	channel_close(&p->channel);
	peer_free(p);
}

/* Its user is not permitted. It is sent the reason, unless too many are sent theirs. */
static void
forbid(struct server *s, struct peer *p)
{
	server_refused(s, p->conn.door, &p->conn.who, &p->forbidden);
	if (s->count[p->conn.door][LIST_CLOSING] >= s->options.strangers_max) {
		turn_away(p, p->forbidden.text);
		peer_close(p);
		return;
	}
	p->state = PEER_TALKING;
	peer_hang_up(p, p->forbidden.text);
}

/* Begins what a connection of another machine says first. */
static void
begin(struct gate *g, struct peer *p)
{
	struct server *s = g->server;
	struct err e = { 0 };

	if (!url_is_tls(listen_socket_url(g->listener))) {
		p->state = PEER_TALKING;
		return;
	}
	p->state = PEER_SHAKING;
	p->credentials_age = s->credentials_age;
	if (s->options.tls == NULL)
		err_set(&e, ERR_INPUT, "this side has no credentials; hone keys init makes them");
	else
		channel_secure(&p->channel, s->options.tls, &e);
	if (e.code != 0)
		peer_fail(p, &e);
}

/* Who it is, is known: it becomes a stranger, or is closed. */
static void
admit(struct gate *g, struct peer *p)
{
	struct server *s = g->server;

	assert(server_lock_held(s));
	if (p->forbidden.code != 0) {
		forbid(s, p);
		return;
	}
	if (s->stopping || !admitted(s, p)) {
		peer_close(p); /* without a word, since no handshake was done */
		return;
	}
	peer_list(p, LIST_STRANGERS);
	begin(g, p);
}

static struct peer *
peer_new(struct gate *g, const struct accepted_socket *a)
{
	struct server *s = g->server;
	struct peer *p = calloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	p->server = s;
	p->list = LISTS;
	p->remote = !a->local;
	channel_init(&p->channel, a->fd);
	conn_init(&p->conn, g->door, &s->options.limits, clock_mono());
	p->conn.who.uid = a->uid;
	p->conn.who.pid = a->pid;
	snprintf(p->address, sizeof p->address, "%s", a->address);
	if (a->local)
		snprintf(p->source, sizeof p->source, "user %d", a->uid);
	else
		snprintf(p->source, sizeof p->source, "%s", a->network);
	p->cell = source_cell(s->source_secret, p->source);
	return p;
}

void
server_admit(struct gate *g, const struct accepted_socket *a)
{
	struct server *s = g->server;
	struct peer *p = peer_new(g, a);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = p };

	if (p == NULL) {
		close(a->fd);
		return;
	}
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, a->fd, &ev) != 0) {
		drop(p);
		return;
	}
	server_lock(s);
	peer_list(p, LIST_UNKNOWN);
	if (a->local)
		server_greet(p, JOB_ROLES);
	else {
		peer_ready(p);
		admit(g, p);
	}
	server_unlock(s);
}

/* After a piece of the handshake, or all of it. */
static void
go_on_shaking(struct peer *p)
{
	struct server *s = p->server;
	struct err e = { 0 };

	if (p->greeter_rc < 0) {
		err_set(&e, p->greeter_rc, "TLS handshake: %s at %s: %s", p->address,
		    listen_socket_url(s->gates[p->conn.door].listener), p->greeter_err.text);
	} else if (p->greeter_rc == 0) {
		p->state = PEER_TALKING;
		if (p->forbidden.code != 0)
			e = p->forbidden;
		else
			peer_name(p, &e);
	} else if (conn_patience_ms(&p->conn, clock_mono()) == 0) {
		conn_deadline_passed(&p->conn, &e); /* while a greeter has it, nobody looks */
	}
	if (e.code != 0) {
		peer_fail(p, &e);
		return;
	}
	/* The credentials may have changed during the handshake. */
	if (p->state == PEER_TALKING && p->credentials_age != s->credentials_age)
		server_recheck_later(p);
}

void
server_greeted(struct peer *p)
{
	struct server *s = p->server;

	assert(server_lock_held(s) && !p->with_greeter);
	if (p->state >= PEER_CLOSING) {
		peer_put_writing(p);
		return;
	}
	peer_ready(p);
	peer_put_writing(p);
	if (p->job == JOB_ROLES)
		admit(&s->gates[p->conn.door], p);
	else
		go_on_shaking(p);
}

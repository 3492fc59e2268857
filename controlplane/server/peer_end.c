/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why and how a connection ends; in the loop's thread. */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* Whether this side refuses the peer, which then is sent the reason. */
static bool
is_refusal(const struct err *e)
{
	return e->code != ERR_PEER && e->code != ERR_SYSTEM;
}

static void
note_refusal(struct peer *p, const struct err *e)
{
	struct server *s = p->server;

	if (e->code == ERR_DENIED)
		server_refused(s, p->conn.door, &p->conn.who, e);
	else if (!s->stopping)
		server_note(s, "%s %s: %s", p->conn.door == DOOR_AGENTS ? "agent" : "operator",
		    p->conn.hello.node != NULL ? p->conn.hello.node : "(unnamed)", e->text);
}

void
peer_fail(struct peer *p, const struct err *e)
{
	assert(server_lock_held(p->server) && e->code != 0);
	/* Otherwise the caller's thread has closed it, and has set the reason. */
	if (p->state < PEER_CLOSING) {
		p->end = *e;
		peer_hang_up(p, is_refusal(e) ? e->text : NULL);
		if (is_refusal(e)) {
			note_refusal(p, e);
			return;
		}
	}
	peer_close(p);
}

/* What is only for peers that have a socket. */
static void
release(struct peer *p)
{
	for (int i = 0; i < SLOTS; i++)
		buf_release(&p->slots[i]);
	buf_release(&p->out);
	free(p->in.payload);
	free(p->in.rest);
	p->in = (struct incoming){ 0 };
}

void
peer_close(struct peer *p)
{
	struct server *s = p->server;
	struct letter *l = p->last;

	assert(server_lock_held(s) && p->state != PEER_ENDED);
	if (p->state < PEER_CLOSING)
		peer_hang_up(p, NULL);
	if (p->with_greeter)
		return;
	if (p->remote && p->conn.spoke && !p->conn.identified)
		source_failed(&s->sources, p->cell, clock_mono());
	/* A process that is being forked may still have the socket: then close() alone would not end its events. */
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, p->channel.fd, NULL);
	channel_close(&p->channel);
	release(p);
	if (p->is_waiting)
		TAILQ_REMOVE(&s->writing, p, waiting);
	peer_drop_ack(p);
	peer_unready(p);
	if (p->is_recheck)
		TAILQ_REMOVE(&s->recheck, p, recheck_);
	p->is_waiting = p->is_recheck = false;
	p->state = PEER_ENDED;
	if (l == NULL) { /* the caller does not know this connection */
		peer_list(p, LISTS);
		peer_free(p);
		return;
	}
	peer_list(p, LIST_ENDED);
	p->last = NULL;
	l->end = true;
	l->mail = (struct mail){ .kind = MAIL_LEFT, .peer = p, .text = strdup(p->end.text) };
	mailbox_put(&s->mailbox, l);
}

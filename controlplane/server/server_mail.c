/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interface of the thread that empties the mailbox: mail that it takes, and frames that it sends. */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* ---- from the mailbox ---- */

static uint64_t
hash_of(const struct server *s, const char *node)
{
	return hash_bytes(s->source_secret, node, strlen(node));
}

/* The slot of this node in the index, or NULL. O(1) expected. */
static struct hash_slot *
find_progress(const struct server *s, const char *node)
{
	struct hash_slot *at = hash_table_first(&s->progress_index, hash_of(s, node));

	while (at != NULL && strcmp(s->progress[at->entry]->node, node) != 0)
		at = hash_table_next(&s->progress_index, at);
	return at;
}

/* Forgets a node that is not connected. Its number in server.progress, or HASH_TABLE_NONE. O(nodes). */
static uint32_t
forget_progress(struct server *s)
{
	for (uint32_t i = 0; i < s->nprogress; i++)
		if (s->progress[i]->peer == NULL) {
			hash_table_remove(
			    &s->progress_index, find_progress(s, s->progress[i]->node));
			return i;
		}
	return HASH_TABLE_NONE;
}

/* The progress of this node, new if it has none. With PROGRESS_MAX nodes, one that is not connected
 * is forgotten for it. O(1) expected; O(nodes) for a new one with PROGRESS_MAX nodes. NULL: out of memory. */
static struct node_progress *
progress_of(struct server *s, const char *node)
{
	const struct hash_slot *known = find_progress(s, node);
	uint32_t at = HASH_TABLE_NONE;
	struct node_progress *p;

	if (known != NULL)
		return s->progress[known->entry];
	if (!hash_table_reserve(&s->progress_index, s->nprogress + 1))
		return NULL;
	if (s->nprogress >= PROGRESS_MAX)
		at = forget_progress(s);
	if (at == HASH_TABLE_NONE) {
		if (!array_reserve(s->progress, s->progress_cap, s->nprogress + 1) ||
		    (s->progress[s->nprogress] = malloc(sizeof *p)) == NULL)
			return NULL;
		at = s->nprogress++;
	}
	p = s->progress[at];
	memset(p, 0, sizeof *p);
	snprintf(p->node, sizeof p->node, "%s", node);
	hash_table_put(&s->progress_index, hash_of(s, node), at); /* there is room */
	return p;
}

/* Whether a new connection of the node replaces `old`: the same agent again, or `old` is closing or
 * silent. */
static bool
may_replace(const struct server *s, const struct peer *old, const struct hello *h)
{
	return old->state >= PEER_CLOSING || old->conn.hello.incarnation == h->incarnation ||
	       (old->hold == HOLD_NONE &&
		   mono_since_ns(clock_mono(), old->conn.heard) >= s->options.replace_ns);
}

/* The MAIL_LEFT of this peer, after which its letters are discarded. Takes the text. */
static struct mail
mail_left(struct peer *p, char *text)
{
	if (p->progress != NULL && p->progress->peer == p)
		p->progress->peer = NULL;
	p->left_reported = true;
	p->discard = true;
	return (struct mail){ .kind = MAIL_LEFT, .peer = p, .tag = p->tag, .text = text };
}

/*
 * A HELLO of an agent. True: *ret is MAIL_JOINED; or, if the node had an older connection, its
 * MAIL_LEFT, and the letter was put back and comes next. False: the agent is refused.
 */
static bool
open_hello(struct server *s, struct letter *l, struct mail *ret)
{
	struct peer *p = l->mail.peer, *old;
	struct node_progress *progress = progress_of(s, p->conn.hello.node);
	struct err e;

	if (progress == NULL) {
		peer_hang_up(p, "the controller is out of memory");
		return false;
	}
	if ((old = progress->peer) != NULL && old != p) {
		if (!may_replace(s, old, &p->conn.hello)) {
			err_set(&e, ERR_BUSY,
			    "node %s is connected already by another agent that is alive; give each node "
			    "a name of its own, or end one of the two agents",
			    progress->node);
			server_note(s, "refused: %s", e.text);
			peer_hang_up(p, e.text);
			return false;
		}
		peer_hang_up(old, "another connection of this node took over");
		*ret = mail_left(old, strdup("another connection of the node took over"));
		mailbox_put_back(&s->mailbox, l);
		return true;
	}
	p->progress = progress;
	*ret = l->mail;
	return true;
}

/* Makes the mail of a letter. False: there is nothing for the caller. Takes the letter. */
static bool
open_letter(struct server *s, struct letter *l, struct mail *ret)
{
	struct peer *p = l->mail.peer;
	bool mail = true;

	*ret = l->mail;
	if (l->end) {              /* the loop does not know it any more */
		if (p->deferred) { /* its answer frees it */
			p->gone = true;
		} else { /* the next server_next() frees it */
			peer_list(p, LISTS);
			s->left = p;
		}
		mail = p->welcomed && !p->left_reported;
		if (mail)
			*ret = mail_left(p, l->mail.text);
	} else if (p != NULL && p->discard) {
		mail = false;
	} else if (l->mail.kind == MAIL_JOINED) {
		mail = open_hello(s, l, ret);
		if (mail && ret->kind == MAIL_LEFT)
			return true; /* the letter was put back */
	}
	if (p != NULL)
		ret->tag = p->tag;
	if (!mail)
		mail_release(&l->mail);
	free(l);
	return mail;
}

/* The first letter, or NULL. The loop reads on when there is room again. */
static struct letter *
take_letter(struct server *s)
{
	struct letter *l = mailbox_take(&s->mailbox);

	if (!TAILQ_EMPTY(&s->held[HOLD_ROOM]) && !mailbox_full(&s->mailbox))
		server_wake(s);
	return l;
}

bool
server_next(struct server *s, struct mail *ret, int timeout_ms)
{
	struct timespec until = mono_in_ms(timeout_ms);
	struct letter *l;
	bool found = false;

	server_lock(s);
	while (!found) {
		if (s->left != NULL)
			peer_free(s->left);
		s->left = NULL;
		if ((l = take_letter(s)) != NULL)
			found = open_letter(s, l, ret);
		else if (timeout_ms == 0 || server_wait(s, &s->mailbox.mail, &until) != 0)
			break;
	}
	server_unlock(s);
	return found;
}

bool
server_next_status(struct server *s, struct mail *ret)
{
	bool found = false;

	server_lock(s);
	while (!found && s->mailbox.urgent != &s->mailbox.first)
		found = open_letter(s, take_letter(s), ret);
	server_unlock(s);
	return found;
}

size_t
server_waiting_bytes(struct server *s)
{
	size_t bytes;

	server_lock(s);
	bytes = s->mailbox.bytes;
	server_unlock(s);
	return bytes;
}

size_t
server_reading_bytes(struct server *s)
{
	size_t bytes;

	server_lock(s);
	bytes = s->reading_bytes;
	server_unlock(s);
	return bytes;
}

/* ---- to the peers ---- */

void
server_welcome(struct server *s, struct peer *p, uint32_t tag)
{
	const struct hello *h = &p->conn.hello;
	uint64_t oldest = h->first_seq > 0 ? h->first_seq - 1 : 0;
	struct buf b = { 0 };

	server_lock(s);
	if (p->progress->incarnation != h->incarnation)
		p->progress->have_seq = 0;
	p->progress->incarnation = h->incarnation;
	if (p->progress->have_seq < oldest)
		p->progress->have_seq = oldest;
	p->progress->peer = p;
	p->tag = tag;
	p->welcomed = true;
	conn_welcome(&p->conn, p->progress->have_seq);
	welcome_encode(&(struct welcome){ .have_seq = p->progress->have_seq }, &b);
	peer_put(p, SLOT_WELCOME, b.data, b.len);
	server_unlock(s);
	buf_release(&b);
}

void
server_defer(struct server *s, struct peer *p)
{
	server_lock(s);
	p->deferred = true;
	server_unlock(s);
}

bool
server_waits(struct server *s, const struct peer *p)
{
	bool waits;

	server_lock(s);
	waits = p->state == PEER_TALKING;
	server_unlock(s);
	return waits;
}

/* The peer gets its answer now. False: its connection has ended, and it is freed. */
static bool
end_deferral(struct peer *p)
{
	p->deferred = false;
	if (!p->gone)
		return true;
	peer_list(p, LISTS);
	peer_free(p);
	return false;
}

void
server_refuse(struct server *s, struct peer *p, const char *text)
{
	server_lock(s);
	if (!end_deferral(p)) {
		server_unlock(s);
		return;
	}
	p->discard = true;
	if (p->state < PEER_CLOSING) {
		err_set(&p->end, 0, "%s", text);
		peer_hang_up(p, text);
	}
	server_unlock(s);
}

void
server_took(struct server *s, struct peer *p, uint64_t seq)
{
	struct buf b = { 0 };

	buf_u64(&b, seq);
	server_lock(s);
	p->progress->have_seq = seq;
	peer_put_ack(p, b.data, b.len);
	server_unlock(s);
	buf_release(&b);
}

void
server_want(struct server *s, struct peer *p, const struct buf *payload)
{
	server_lock(s);
	peer_put(p, SLOT_WANT, payload->data, payload->len);
	server_unlock(s);
}

bool
server_keep(struct server *s, struct peer *p, const struct buf *payload)
{
	bool taken;

	server_lock(s);
	taken = !p->full[SLOT_KEEP];
	if (taken) {
		peer_put(p, SLOT_KEEP, payload->data, payload->len);
		taken = p->full[SLOT_KEEP];
	}
	server_unlock(s);
	return taken;
}

void
server_clock(struct server *s, struct peer *p)
{
	server_lock(s);
	peer_put(p, SLOT_CLOCK, NULL, 0);
	server_unlock(s);
}

void
server_answer(struct server *s, struct peer *p, const char *text, size_t len)
{
	server_lock(s);
	if (end_deferral(p)) {
		peer_put(p, SLOT_ANSWER, text, len);
		conn_answered(&p->conn, clock_mono());
	}
	server_unlock(s);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The server over base/stream.h (nng_stream): the listeners, and the side of the one who empties
 * the mailbox. */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void
server_note(struct server *s, const char *fmt, ...)
{
	char words[512];
	struct letter *l;
	va_list ap;

	assert(server_is_mine(s));
	/* Who knocks a thousand times a second fills no memory and no log. */
	if (s->mailbox.notes >= MAILBOX_NOTES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(words, sizeof words, fmt, ap);
	va_end(ap);
	if ((l = letter_new(MAIL_NOTE, words)) != NULL)
		mailbox_put(&s->mailbox, l);
}

/* ---- coming in ---- */

static bool
stopping(struct server *s)
{
	bool yes;

	server_lock(s);
	yes = s->stopping;
	server_unlock(s);
	return yes;
}

static void *
gatekeeper(void *arg)
{
	struct gate *g = arg;
	struct stream *st;
	struct err e;
	int rc;

	while (!stopping(g->server)) {
		if (g->door == DOOR_AGENTS)
			server_keys(g->server);
		if ((rc = listener_accept(g->listener, &st, 1000, &e)) == 0) {
			server_admit(g, st);
		} else if (rc != ERR_TIMEOUT && !stopping(g->server)) {
			server_lock(g->server);
			server_note(g->server, "%s: %s", listener_url(g->listener), e.text);
			server_unlock(g->server);
			/* Out of descriptors, most likely: that does not pass faster by asking
			 * faster. */
			nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
		}
	}
	return NULL;
}

static int
gate_open(struct server *s, enum door door, const char *url, struct err *e)
{
	struct gate *g = &s->gates[door];
	bool open;
	int rc;

	g->server = s;
	g->door = door;
	open = door == DOOR_AGENTS ? roles_agents_open(s->roles) : roles_operators_open(s->roles);
	/* Whoever may open it, the kernel says who that is, and that decides before anything is
	 * read. */
	if ((rc = listener_open(&g->listener, url, open ? 0666 : 0600, e)) < 0)
		return rc;
	if (pthread_create(&g->thread, NULL, gatekeeper, g) != 0)
		return err_set(e, ERR_SYSTEM, "no thread to listen on %s", url);
	g->running = true;
	return 0;
}

/* Who may, and what this host is called: an agent of it by another user may speak for it alone. */
static int
know_ourselves(struct server *s, struct err *e)
{
	int rc = 0;

	if (gethostname(s->host, sizeof s->host - 1) < 0)
		return err_errno(e, "the name of this host");
	s->roles = s->options.roles;
	if (s->roles == NULL && (rc = roles_new(&s->made_roles,
				     &(struct roles_options){ .own_uid = (int)geteuid() }, e)) == 0)
		s->roles = s->made_roles;
	return rc;
}

int
server_open(struct server **ret, const struct server_options *o, struct err *e)
{
	struct server *s;
	int rc;

	if (strncmp(o->operators, "ipc://", 6) != 0)
		return err_set(e, ERR_INPUT,
		    "%s: operators are served on a local socket (ipc://) only", o->operators);
	if ((s = calloc(1, sizeof *s)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	s->options = *o;
	if (o->strangers_max <= 0)
		s->options.strangers_max = DEFAULT_STRANGERS;
	pthread_mutex_init(&s->lock, NULL);
	cond_init_mono(&s->ended);
	mailbox_init(&s->mailbox, o->mailbox_max_bytes);
	if ((rc = know_ourselves(s, e)) < 0 || (rc = gate_open(s, DOOR_AGENTS, o->agents, e)) < 0 ||
	    (rc = gate_open(s, DOOR_OPERATORS, o->operators, e)) < 0) {
		server_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

const char *
server_url(const struct server *s, enum door door)
{
	return listener_url(s->gates[door].listener);
}

static void
gate_close(struct gate *g)
{
	if (g->listener == NULL)
		return;
	listener_abort(g->listener);
	if (g->running)
		pthread_join(g->thread, NULL);
	listener_close(g->listener);
}

void
server_close(struct server *s)
{
	struct peer *p, *next;

	if (s == NULL)
		return;
	server_lock(s);
	s->stopping = true;
	pthread_cond_broadcast(&s->mailbox.room);
	server_unlock(s);
	for (int i = 0; i < DOORS; i++)
		gate_close(&s->gates[i]);
	server_lock(s);
	for (p = s->peers; p != NULL; p = p->next)
		if (!p->closing)
			peer_hang_up(p, NULL);
	server_unlock(s);
	server_lock(s);
	server_reap(s);
	server_unlock(s);
	/* Nobody adds to or takes from the list any more: whoever ends while we stop says so in the
	 * mailbox. */
	for (p = s->peers; p != NULL; p = next) {
		next = p->next;
		pthread_join(p->reader, NULL);
		peer_free(p);
	}
	if (s->gone != NULL)
		peer_free(s->gone);
	mailbox_release(&s->mailbox);
	for (uint32_t i = 0; i < s->nseen; i++)
		free(s->seen[i]);
	free(s->seen);
	roles_free(s->made_roles);
	pthread_cond_destroy(&s->ended);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- taking out ---- */

/* The node's row, made when it is new; when the table is full, in place of one that is not here.
 * NULL: no memory. */
static struct seen *
seen_of(struct server *s, const char *node)
{
	struct seen *free_one = NULL, **more;

	for (uint32_t i = 0; i < s->nseen; i++) {
		if (strcmp(s->seen[i]->node, node) == 0)
			return s->seen[i];
		if (s->seen[i]->now == NULL && free_one == NULL)
			free_one = s->seen[i];
	}
	if (s->nseen < SEEN_MAX || free_one == NULL) {
		if ((more = realloc(s->seen, (s->nseen + 1) * sizeof *more)) == NULL)
			return NULL;
		s->seen = more;
		if ((free_one = calloc(1, sizeof *free_one)) == NULL)
			return NULL;
		s->seen[s->nseen++] = free_one;
	}
	memset(free_one, 0, sizeof *free_one);
	snprintf(free_one->node, sizeof free_one->node, "%s", node);
	return free_one;
}

static bool
may_replace(const struct server *s, const struct peer *old, const struct hello *h)
{
	return old->closing || old->conn.hello.incarnation == h->incarnation ||
	       (!old->blocked &&
		   mono_since_ns(clock_mono(), old->conn.heard) >= s->options.replace_ns);
}

static struct mail
left(struct peer *p, char *text)
{
	if (p->seen != NULL && p->seen->now == p)
		p->seen->now = NULL;
	p->left_told = true;
	p->deaf = true;
	return (struct mail){ .kind = MAIL_LEFT, .peer = p, .tag = p->tag, .text = text };
}

static void
forget(struct server *s, struct peer *p)
{
	struct peer **at = &s->peers;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	s->npeers--;
	s->gone = p;
	pthread_cond_broadcast(&s->ended);
}

void
server_reap(struct server *s)
{
	struct peer *p;

	assert(server_is_mine(s));
	while ((p = s->dead) != NULL) {
		s->dead = p->next;
		s->npeers--;
		server_unlock(s);
		pthread_join(p->reader, NULL); /* it died as its last act */
		peer_free(p);
		server_lock(s);
	}
}

/* An agent said hello. Returns true when there is something to tell: that the older connection of
 * its name left (the hello is put back, and comes next), or that it joined. */
static bool
hello_came(struct server *s, struct letter *l, struct mail *ret)
{
	struct peer *p = l->mail.peer, *old;
	struct seen *seen = seen_of(s, p->conn.hello.node);
	struct err e;

	if (seen == NULL) {
		peer_hang_up(p, "the controller is out of memory");
		return false;
	}
	if ((old = seen->now) != NULL && old != p) {
		if (!may_replace(s, old, &p->conn.hello)) {
			err_set(&e, ERR_BUSY,
			    "node %s is connected already by another agent that is alive; give each node "
			    "a name of its own, or end one of the two agents",
			    seen->node);
			server_note(s, "refused: %s", e.text);
			peer_hang_up(p, e.text);
			return false;
		}
		peer_hang_up(old, "another connection of this node took over");
		*ret = left(old, strdup("another connection of the node took over"));
		mailbox_put_back(&s->mailbox, l);
		return true;
	}
	p->seen = seen;
	*ret = l->mail;
	return true;
}

/* What the caller hears of a letter; false: nothing. Takes the letter. */
static bool
open_letter(struct server *s, struct letter *l, struct mail *ret)
{
	struct peer *p = l->mail.peer;
	bool tell = true;

	*ret = l->mail;
	if (l->end) {
		server_unlock(s);
		pthread_join(p->reader, NULL); /* it said so as its last act */
		server_lock(s);
		forget(s, p);
		tell = p->welcomed && !p->left_told;
		if (tell)
			*ret = left(p, l->mail.text);
	} else if (p != NULL && p->deaf) {
		tell = false;
	} else if (l->mail.kind == MAIL_JOINED) {
		tell = hello_came(s, l, ret);
		if (tell && ret->kind == MAIL_LEFT)
			return true; /* the letter was put back */
	}
	if (p != NULL)
		ret->tag = p->tag;
	if (!tell)
		mail_release(&l->mail);
	free(l);
	return tell;
}

bool
server_next(struct server *s, struct mail *ret, int timeout_ms)
{
	struct timespec until = mono_in_ms(timeout_ms);
	struct letter *l;
	bool told = false;

	server_lock(s);
	while (!told) {
		server_reap(s);
		if (s->gone != NULL)
			peer_free(s->gone);
		s->gone = NULL;
		if ((l = mailbox_take(&s->mailbox)) != NULL)
			told = open_letter(s, l, ret);
		else if (timeout_ms == 0 || server_wait(s, &s->mailbox.mail, &until) != 0)
			break;
	}
	server_unlock(s);
	return told;
}

bool
server_next_status(struct server *s, struct mail *ret)
{
	bool told = false;

	server_lock(s);
	while (!told && s->mailbox.urgent != &s->mailbox.first)
		told = open_letter(s, mailbox_take(&s->mailbox), ret);
	server_unlock(s);
	return told;
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

/* ---- saying ---- */

void
server_welcome(struct server *s, struct peer *p, uint32_t tag)
{
	const struct hello *h = &p->conn.hello;
	uint64_t oldest = h->first_seq > 0 ? h->first_seq - 1 : 0;
	struct buf b = { 0 };

	server_lock(s);
	if (p->seen->incarnation != h->incarnation)
		p->seen->have_seq = 0;
	p->seen->incarnation = h->incarnation;
	if (p->seen->have_seq < oldest)
		p->seen->have_seq = oldest;
	p->seen->now = p;
	p->tag = tag;
	p->welcomed = true;
	conn_welcome(&p->conn, p->seen->have_seq);
	welcome_encode(&(struct welcome){ .have_seq = p->seen->have_seq }, &b);
	peer_put(p, SLOT_WELCOME, b.data, b.len);
	server_unlock(s);
	buf_release(&b);
}

void
server_refuse(struct server *s, struct peer *p, const char *words)
{
	server_lock(s);
	p->deaf = true;
	if (!p->closing) {
		err_set(&p->end, 0, "%s", words);
		peer_hang_up(p, words);
	}
	server_unlock(s);
}

void
server_took(struct server *s, struct peer *p, uint64_t seq)
{
	struct buf b = { 0 };

	buf_u64(&b, seq);
	server_lock(s);
	p->seen->have_seq = seq;
	peer_put(p, SLOT_ACK, b.data, b.len);
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
	peer_put(p, SLOT_ANSWER, text, len);
	conn_answered(&p->conn);
	server_unlock(s);
}

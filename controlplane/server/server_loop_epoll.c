/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loop: one thread that accepts, reads and writes for all connections. In each turn it takes what the kernel reports,
 * reads, writes, and then wakes the caller once.
 *
 * When much comes it turns at most TURNS_PER_S times a second, so that one wake-up carries many frames: most of what a frame costs
 * is the waking of threads. When little comes, it turns at once.
 */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define MS_NS INT64_C(1000000)

enum {
	EVENTS = 1024,
	ACCEPTS = 64,      /* in a turn, of a listener */
	HELD_AT_ONCE = 64, /* in a turn */
	UNKNOWN_MAX = 64,  /* whose user is looked up, of a listener */
	JOBS_MAX = 256,    /* that wait for greeters: half a second of handshakes */
	SHORT_MS =
	    20, /* between two looks at the time of strangers and of those that are closing */
	LONG_MS = 250, /* and of all others */
	ACCEPT_AGAIN_MS = 100,
	WRITE_MS = 10000, /* enough for an answer of many MiB to a slow terminal */
	FAREWELL_MS = 2000,
	DRAIN_MS = 300,
};

/* ---- reading and writing ---- */

/* Each once: who has more to read is in the next turn. */
static void
read_ready(struct server *s)
{
	struct peer *p;

	for (int left = s->nready; left > 0 && (p = TAILQ_FIRST(&s->ready)) != NULL; left--) {
		peer_unready(p);
		peer_read(p);
	}
}

/* Whether one that is held for this reason need not wait any more. */
static bool
may_read(const struct server *s, enum hold why)
{
	const struct peer *p = TAILQ_FIRST(&s->held[why]);

	if (p == NULL)
		return false;
	return why == HOLD_ROOM ? !mailbox_full(&s->mailbox)
	                        : s->reading_bytes == 0 || s->reading_bytes + p->in.frame.length <=
	                                                       s->options.mailbox_max_bytes;
}

/* Reads those that were held and need not wait any more: some, since the caller makes room meanwhile. */
static void
read_held(struct server *s, enum hold why)
{
	struct peer *p;

	server_lock(s);
	for (int i = 0; i < HELD_AT_ONCE && may_read(s, why); i++) {
		p = TAILQ_FIRST(&s->held[why]);
		peer_unhold(p);
		server_unlock(s);
		peer_read(p);
		server_lock(s);
	}
	server_unlock(s);
}

/* The peers over their rate whose time has come. */
static void
read_slow(struct server *s)
{
	struct mono now = clock_mono();
	struct peer *p, *next;

	server_lock(s);
	for (p = TAILQ_FIRST(&s->held[HOLD_RATE]); p != NULL; p = next) {
		next = TAILQ_NEXT(p, held);
		if (mono_since_ns(now, p->held_until) < 0)
			continue;
		peer_unhold(p);
		peer_ready(p);
	}
	server_unlock(s);
}

static void
write_waiting(struct server *s)
{
	struct peer *p;

	server_lock(s);
	peer_put_acks_due(s, clock_mono());
	while ((p = TAILQ_FIRST(&s->writing)) != NULL) {
		TAILQ_REMOVE(&s->writing, p, waiting);
		p->is_waiting = false;
		server_unlock(s);
		peer_write(p);
		server_lock(s);
	}
	server_unlock(s);
}

/* ---- new connections ---- */

/* Each new connection is read before the next one is admitted: otherwise one that has said who it is might be closed, as a
 * stranger, for those that have not. */

static bool
may_accept(struct server *s, const struct gate *g)
{
	int most = s->options.connections_max + 4 * s->options.strangers_max, all = 0;

	for (int i = 0; i < LISTS; i++)
		all += s->count[DOOR_AGENTS][i] + s->count[DOOR_OPERATORS][i];
	/* Operators do not wait behind handshakes of agents. */
	return !s->stopping && all < most && s->count[g->door][LIST_UNKNOWN] < UNKNOWN_MAX &&
	       (g->door == DOOR_OPERATORS || s->njobs < JOBS_MAX);
}

static void
accept_some(struct gate *g)
{
	struct server *s = g->server;
	struct accepted_socket a;
	struct err e;
	bool may = true;
	int rc;

	if (mono_since_ns(clock_mono(), g->not_before) < 0)
		return;
	for (int i = 0; i < ACCEPTS && g->acceptable && may; i++) {
		server_lock(s);
		may = may_accept(s, g);
		server_unlock(s);
		if (!may)
			break;
		if ((rc = listen_socket_accept(g->listener, &a, &e)) == 0) {
			server_admit(g, &a);
			read_ready(s);
		} else if (rc == ERR_MISSING) {
			g->acceptable = false;
		} else { /* most likely out of file descriptors: do not retry in a busy loop */
			server_lock(s);
			server_note(s, "%s", e.text);
			server_unlock(s);
			g->not_before = (struct mono){ clock_mono().ns + ACCEPT_AGAIN_MS * MS_NS };
			may = false;
		}
	}
}

static void
take_greeted(struct server *s)
{
	struct peer *p;

	server_lock(s);
	while ((p = TAILQ_FIRST(&s->greeted)) != NULL) {
		TAILQ_REMOVE(&s->greeted, p, job_);
		p->with_greeter = false;
		server_greeted(p);
		server_unlock(s);
		read_ready(s);
		server_lock(s);
	}
	server_unlock(s);
}

/* ---- time ---- */

static bool
passed(struct mono since, struct mono now, int ms)
{
	return mono_since_ns(now, since) > ms * MS_NS;
}

static void
check_one(struct peer *p, struct mono now)
{
	struct err e = { 0 };

	if (p->with_greeter)
		return;
	if (p->state == PEER_CLOSING || p->state == PEER_DRAINING) {
		if (passed(p->closed_at, now, p->state == PEER_CLOSING ? FAREWELL_MS : DRAIN_MS))
			peer_close(p);
		return;
	}
	if (p->hold == HOLD_NONE && p->state != PEER_UNKNOWN &&
	    conn_patience_ms(&p->conn, now) == 0)
		conn_deadline_passed(&p->conn, &e);
	else if (p->stuck && passed(p->out_since, now, WRITE_MS))
		err_set(&e, ERR_PEER, "the peer does not read");
	if (e.code != 0)
		peer_fail(p, &e);
}

static void
check_list(struct server *s, enum peer_list list, struct mono now)
{
	struct peer *p, *next;

	for (int door = 0; door < DOORS; door++)
		for (p = TAILQ_FIRST(&s->lists[door][list]); p != NULL; p = next) {
			next = TAILQ_NEXT(p, listed);
			check_one(p, now);
		}
}

/* With the lock held. O(strangers) each SHORT_MS, O(connections) each LONG_MS. */
static void
check_time(struct server *s)
{
	struct mono now = clock_mono();

	if (passed(s->strangers_checked, now, SHORT_MS - 1)) {
		s->strangers_checked = now;
		check_list(s, LIST_STRANGERS, now);
		check_list(s, LIST_CLOSING, now);
	}
	if (passed(s->all_checked, now, LONG_MS - 1)) {
		s->all_checked = now;
		check_list(s, LIST_IDENTIFIED, now);
	}
}

/* How long to wait for events. With the lock held. */
static int
wait_ms(struct server *s)
{
	struct mono now = clock_mono();
	int ms = LONG_MS, ack_ms = peer_put_acks_due(s, now);
	const struct peer *p;

	if (!TAILQ_EMPTY(&s->ready) || !TAILQ_EMPTY(&s->writing) || !TAILQ_EMPTY(&s->recheck) ||
	    !TAILQ_EMPTY(&s->greeted) || may_read(s, HOLD_ROOM) || may_read(s, HOLD_MEMORY))
		return 0;
	for (int door = 0; door < DOORS; door++)
		if (s->count[door][LIST_STRANGERS] + s->count[door][LIST_CLOSING] > 0 ||
		    s->gates[door].acceptable)
			ms = SHORT_MS;
	if (ack_ms >= 0 && ack_ms < ms)
		ms = ack_ms;
	TAILQ_FOREACH(p, &s->held[HOLD_RATE], held)
	{
		int64_t left = mono_since_ns(p->held_until, now) / MS_NS + 1;

		ms = left < 1 ? 1 : left < ms ? (int)left : ms;
	}
	return ms;
}

/* ---- the turn ---- */

/* With the lock held. */
static void
take_event(struct server *s, const struct epoll_event *ev)
{
	struct peer *p = ev->data.ptr;
	uint64_t count;

	if (ev->data.ptr == &s->wake_fd) {
		if (read(s->wake_fd, &count, sizeof count) < 0)
			assert(errno == EAGAIN);
		return;
	}
	for (int door = 0; door < DOORS; door++)
		if (ev->data.ptr == &s->gates[door]) {
			s->gates[door].acceptable = true;
			return;
		}
	p->channel.at_end |= (ev->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	if (ev->events & ~(uint32_t)EPOLLOUT) {
		p->channel.drained = false;
		peer_ready(p);
	}
	if (ev->events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		peer_put_writing(p);
}

/* Waits until the next turn is due. */
static int
next_turn(struct server *s, struct epoll_event *events)
{
	int64_t wait_ns = bucket_wait_ns(&s->turns, clock_mono());
	int ms;

	if (wait_ns > 0) {
		nanosleep(&(struct timespec){ .tv_nsec = wait_ns % 1000000000 }, NULL);
		bucket_wait_ns(&s->turns, clock_mono());
	}
	server_lock(s);
	ms = wait_ms(s);
	server_unlock(s);
	return epoll_wait(s->epoll, events, EVENTS, ms);
}

static void
turn(struct server *s)
{
	struct epoll_event events[EVENTS];
	int n = next_turn(s, events);

	server_lock(s);
	s->woken = false;
	for (int i = 0; i < n; i++)
		take_event(s, &events[i]);
	server_unlock(s);
	take_greeted(s);
	for (int door = 0; door < DOORS; door++)
		accept_some(&s->gates[door]);
	read_slow(s);
	read_held(s, HOLD_ROOM);
	read_ready(s);
	read_held(s, HOLD_MEMORY);
	server_recheck(s);
	write_waiting(s);
	server_lock(s);
	if (n < EVENTS) /* else something of a silent one may have come */
		check_time(s);
	mailbox_announce(&s->mailbox);
	server_unlock(s);
}

/* ---- the end ---- */

/* Whether any socket is open. */
static bool
any_open(const struct server *s)
{
	for (int door = 0; door < DOORS; door++)
		for (int i = 0; i < LIST_ENDED; i++)
			if (s->count[door][i] > 0)
				return true;
	return false;
}

static void
hang_up_all(struct server *s)
{
	struct peer *p;

	for (int door = 0; door < DOORS; door++)
		for (int i = 0; i < LIST_CLOSING; i++)
			while ((p = TAILQ_FIRST(&s->lists[door][i])) != NULL)
				peer_hang_up(p, NULL);
}

void *
server_loop(void *arg)
{
	struct server *s = arg;
	bool open = true, hung_up = false;

	while (open) {
		turn(s);
		server_lock(s);
		if (s->stopping && !hung_up) {
			hang_up_all(s);
			hung_up = true;
		}
		open = !s->stopping || any_open(s);
		server_unlock(s);
	}
	return NULL;
}

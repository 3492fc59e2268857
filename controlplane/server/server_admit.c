/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who gets a place. Whoever connects is a stranger until it has said HELLO, or asked; then it is known:
 *
 *	knocks --> the kernel's word: may it? --> stranger --HELLO, ASK--> known
 *	                    |no                      |too many: the oldest silent one goes
 *	                    '--> told why, hung up   '--> hung up
 *
 * So a flood of those who say nothing passes through the strangers' places, and
 * keeps none of the known ones out. Agents and operators have separate shares of
 * the known places, and strangers' places of their own.
 */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OPERATORS_KEPT = 8, OPERATORS_PART = 8, OWN_PART = 4, CROWDED_PAUSE_NS = 2000000 };
enum { FLOOD_NOTE_S = 10 };

/* ---- who knocks ---- */

/* Over a local socket the kernel says who it is; of others nothing is known yet. */
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
			err_set(
			    forbidden, ERR_DENIED, "the kernel does not say whose process it is");
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

void
server_refused(struct server *s, enum door door, const struct who *who, const struct err *e)
{
	struct letter *l;

	assert(server_is_mine(s));
	/* As of notes: who knocks a thousand times a second fills no memory. The next one counts
	 * those that were left out. */
	if (s->mailbox.notes >= MAILBOX_NOTES_MAX ||
	    (l = letter_new(MAIL_REFUSED, e->text)) == NULL) {
		s->unsaid++;
		return;
	}
	l->mail.who = *who;
	l->mail.door = door;
	l->mail.times = 1 + s->unsaid;
	s->unsaid = 0;
	mailbox_put(&s->mailbox, l);
}

/* ---- strangers' places ---- */

static int
strangers(const struct server *s, enum door door, bool leaving)
{
	int n = 0;

	for (const struct peer *p = s->peers; p != NULL; p = p->next)
		n += p->conn.door == door && !p->conn.known && p->closing == leaving;
	return n;
}

/* The one that goes first hears why, unless so many are on their way out that nobody could wait for
 * them. */
static void
make_room(struct server *s, enum door door)
{
	struct peer *first = NULL;

	for (struct peer *p = s->peers; p != NULL; p = p->next)
		if (p->conn.door == door && !p->conn.known && !p->closing &&
		    (first == NULL || conn_goes_before(&p->conn, &first->conn)))
			first = p;
	if (first == NULL)
		return;
	if (s->flooded.ns == 0 ||
	    mono_since_ns(clock_mono(), s->flooded) > FLOOD_NOTE_S * INT64_C(1000000000)) {
		server_note(s,
		    "too many connections that say nothing: the oldest are closed; see strangers_max in honed.conf");
		s->flooded = clock_mono();
	}
	if (strangers(s, door, true) < s->options.strangers_max) {
		peer_hang_up(
		    first, "too many connect and say nothing, and you were the first of them");
	} else {
		peer_hang_up(first, NULL);
		stream_abort(first->stream);
	}
}

/* Threads that end are waited for, when there are more than there should be. */
static void
wait_for_room(struct server *s)
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
		make_room(s, g->door);
		crowded = true;
	}
	if (rc == 0)
		wait_for_room(s);
	if (s->stopping)
		rc = err_set(&e, ERR_PEER, "the controller is stopping");
	else if (rc == 0 && (rc = peer_start(s, g->door, st, &who, only_node, &forbidden, &e)) < 0)
		server_note(s, "turned away: %s", e.text);
	server_unlock(s);
	if (rc < 0)
		stream_turn_away(st, e.text);
	/*
	 * Who connects faster than a handshake takes would turn out those in the middle of one, and
	 * have us do nothing else. A local socket knows no handshake, and while we paused the
	 * kernel would turn away whoever else wants to come.
	 */
	if (crowded && who.uid < 0)
		nanosleep(&(struct timespec){ .tv_nsec = CROWDED_PAUSE_NS }, NULL);
}

/* ---- known places ---- */

static int
share(const struct server *s, enum door door)
{
	int all = s->options.connections_max, operators = all / OPERATORS_PART;

	operators = operators < OPERATORS_KEPT ? OPERATORS_KEPT : operators;
	operators = operators > all / 2 ? all / 2 : operators;
	return door == DOOR_OPERATORS ? operators : all - operators;
}

/* Known ones of that door; of those that are neither root's nor our own user's: only those. */
static int
known(const struct server *s, const struct peer *but, bool others_only)
{
	int n = 0;

	for (const struct peer *p = s->peers; p != NULL; p = p->next)
		n += p != but && p->conn.door == but->conn.door && p->conn.known && !p->closing &&
		     (!others_only || !p->conn.who.own);
	return n;
}

/* An operator that asks nothing just now makes room: it can connect again. The one that has been
 * quiet for longest; of others than root and our own user, where the place is for such. */
static bool
close_an_idle_one(struct server *s, const struct peer *but, bool others_only)
{
	struct peer *idle = NULL;

	for (struct peer *p = s->peers; p != NULL; p = p->next)
		if (p != but && p->conn.door == DOOR_OPERATORS && p->conn.known && !p->closing &&
		    p->conn.stage == CONN_OPEN && !p->blocked &&
		    (!others_only || !p->conn.who.own) &&
		    (idle == NULL || p->conn.heard.ns < idle->conn.heard.ns))
			idle = p;
	if (idle != NULL)
		peer_hang_up(idle, "others want to ask; connect again");
	return idle != NULL;
}

int
server_place(struct server *s, struct peer *p, struct err *e)
{
	int all = share(s, p->conn.door), own = all / OWN_PART > 0 ? all / OWN_PART : 1;

	assert(server_is_mine(s));
	if (p->conn.door == DOOR_AGENTS) {
		if (known(s, p, false) < all)
			return 0;
		return err_set(e, ERR_FULL,
		    "there are %d agents, and no more are allowed; see connections_max in honed.conf",
		    all);
	}
	if (!p->conn.who.own && known(s, p, true) >= (all > own ? all - own : 1) &&
	    !close_an_idle_one(s, p, true))
		return err_set(e, ERR_FULL,
		    "so many operators ask at once that no more are allowed but root and the user of honed; "
		    "see connections_max in honed.conf");
	if (known(s, p, false) >= all && !close_an_idle_one(s, p, !p->conn.who.own))
		return err_set(e, ERR_FULL,
		    "%d operators ask at once, and no more are allowed; see connections_max in honed.conf",
		    all);
	return 0;
}

/* ---- paces ---- */

/* A user's, over all its connections; of more users than there is room for, the one that asked
 * longest ago is forgotten. */
static struct bucket *
pace_of(struct server *s, int uid, struct mono now)
{
	struct asker *place = &s->askers[0];

	for (int i = 0; i < ASKERS_MAX; i++) {
		if (s->askers[i].used && s->askers[i].uid == uid)
			return &s->askers[i].pace;
		if (place->used &&
		    (!s->askers[i].used || s->askers[i].pace.at.ns < place->pace.at.ns))
			place = &s->askers[i];
	}
	*place = (struct asker){ .used = true, .uid = uid };
	bucket_init(&place->pace, s->options.questions_per_s, 2 * s->options.questions_per_s, now);
	return &place->pace;
}

int64_t
server_slow_ns(struct server *s, struct peer *p, unsigned kind, struct mono now)
{
	if (p->conn.door == DOOR_AGENTS)
		return conn_slow_ns(&p->conn, kind, now);
	return kind == FRAME_ASK ? bucket_wait_ns(pace_of(s, p->conn.who.uid, now), now) : 0;
}

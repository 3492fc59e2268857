/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits of identified connections: how many each door may have, and how fast they may send. Part of
 * connections_max is reserved for operators, and part of that for root and the user of honed. */
#include "controlplane/server/server_inside.h"

#include <assert.h>

enum {
	OPERATORS_MIN = 8,  /* operators have at least this many, ... */
	OPERATORS_PART = 8, /* ... or one in this many of all; at most half */
	OWN_PART = 4,       /* one in this many of them is for root and the user of honed */
};

/* ---- the number of identified connections ---- */

/* How many this door may have, of connections_max. */
static int
limit_of(const struct server *s, enum door door)
{
	int all = s->options.connections_max, operators = all / OPERATORS_PART;

	operators = operators < OPERATORS_MIN ? OPERATORS_MIN : operators;
	operators = operators > all / 2 ? all / 2 : operators;
	return door == DOOR_OPERATORS ? operators : all - operators;
}

/* Operators that are identified and not of root or honed's user, without `but`. */
static int
other_operators(const struct server *s, const struct peer *but)
{
	const struct peer *p;
	int n = 0;

	TAILQ_FOREACH(p, &s->lists[DOOR_OPERATORS][LIST_IDENTIFIED], listed)
	n += p != but && !p->conn.who.own;
	return n;
}

/* Closes the operator's connection that has been without a question for longest, if there is one: it
 * can connect again. others_only: not one of root or of honed's user. */
static bool
close_idle_operator(struct server *s, const struct peer *but, bool others_only)
{
	struct peer *idle = NULL, *p;

	TAILQ_FOREACH(p, &s->lists[DOOR_OPERATORS][LIST_IDENTIFIED], listed)
	if (p != but && p->conn.stage == CONN_OPEN && p->hold == HOLD_NONE &&
	    (!others_only || !p->conn.who.own) &&
	    (idle == NULL || p->conn.heard.ns < idle->conn.heard.ns))
		idle = p;
	if (idle != NULL)
		peer_hang_up(
		    idle, "this idle connection was closed for another operator; connect again");
	return idle != NULL;
}

int
server_check_limit(struct server *s, struct peer *p, struct err *e)
{
	int all = limit_of(s, p->conn.door), own = all / OWN_PART > 0 ? all / OWN_PART : 1;
	int identified = s->count[p->conn.door][LIST_IDENTIFIED];

	assert(server_lock_held(s) && p->list != LIST_IDENTIFIED);
	if (p->conn.door == DOOR_AGENTS) {
		if (identified < all)
			return 0;
		return err_set(e, ERR_FULL,
		    "there are %d agents, and no more are allowed; see connections_max in honed.conf",
		    all);
	}
	if (!p->conn.who.own && other_operators(s, p) >= (all > own ? all - own : 1) &&
	    !close_idle_operator(s, p, true))
		return err_set(e, ERR_FULL,
		    "%d operators ask at once, and no more are allowed except root and the user of honed; "
		    "see connections_max in honed.conf",
		    all > own ? all - own : 1);
	if (s->count[DOOR_OPERATORS][LIST_IDENTIFIED] >= all &&
	    !close_idle_operator(s, p, !p->conn.who.own))
		return err_set(e, ERR_FULL,
		    "%d operators ask at once, and no more are allowed; see connections_max in honed.conf",
		    all);
	return 0;
}

/* ---- rates ---- */

/* The rate of a user over all its connections. If the table is full, the user that asked longest ago
 * is forgotten. */
static struct bucket *
rate_of(struct server *s, int uid, struct mono now)
{
	struct user_rate *found = &s->user_rates[0];

	for (int i = 0; i < USER_RATES_MAX; i++) {
		if (s->user_rates[i].used && s->user_rates[i].uid == uid)
			return &s->user_rates[i].bucket;
		if (found->used &&
		    (!s->user_rates[i].used || s->user_rates[i].bucket.at.ns < found->bucket.at.ns))
			found = &s->user_rates[i];
	}
	*found = (struct user_rate){ .used = true, .uid = uid };
	bucket_init(
	    &found->bucket, s->options.questions_per_s, 2 * s->options.questions_per_s, now);
	return &found->bucket;
}

int64_t
server_slow_ns(struct server *s, struct peer *p, unsigned kind, struct mono now)
{
	assert(server_lock_held(s));
	if (p->conn.door == DOOR_AGENTS)
		return conn_slow_ns(&p->conn, kind, now);
	return kind == FRAME_ASK ? bucket_wait_ns(rate_of(s, p->conn.who.uid, now), now) : 0;
}

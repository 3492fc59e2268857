/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/answers/audit_log.h"

#include <assert.h>
#include <string.h>

#define ROWS_PER_S 0.1
enum { ROWS_AT_ONCE = 10 };

/* A user on another machine has no uid; its name is that of its certificate. */
static bool
is_of(const struct audit_user *u, const struct who *w)
{
	return u->used && !u->several && u->who.uid == w->uid && strcmp(u->who.user, w->user) == 0;
}

/* The entry of the user. If the book is full: replaces the least recent entry without unwritten
 * events; if all have some, the first entry becomes that of several users, so that no user gets the
 * events of another. */
static struct audit_user *
user_of(struct audit_book *b, const struct who *w, struct mono now)
{
	struct audit_user *place = NULL;

	for (int i = 0; i < AUDIT_USERS; i++) {
		struct audit_user *u = &b->users[i];

		if (is_of(u, w))
			return u;
		if (!u->used ? place == NULL || place->used
			     : u->unwritten == 0 &&
				   (place == NULL || (place->used && u->at.ns < place->at.ns)))
			place = u;
	}
	if (place == NULL) {
		b->users[0].who = (struct who){ .uid = -1, .pid = -1 };
		b->users[0].several = true;
		return &b->users[0];
	}
	*place = (struct audit_user){ .used = true, .who = *w };
	bucket_init(&place->pace, ROWS_PER_S, ROWS_AT_ONCE, now);
	return place;
}

int
audit_asked(struct audit_book *b, struct forest *f, const struct who *w, const struct audit *asked,
    struct mono now, struct err *e)
{
	struct audit row = *asked;
	struct audit_user *u;

	assert(asked->actor == ACTOR_NONE && asked->times > 0);
	row.uid = w->uid;
	row.pid = w->pid;
	row.user = w->user;
	if (row.outcome == AUDIT_DONE)
		return forest_audit_add(f, &row, e);
	u = user_of(b, w, now);
	u->at = now;
	if (bucket_wait_ns(&u->pace, now) > 0) {
		u->unwritten += row.times;
		return 0;
	}
	if (is_of(u, w)) {
		row.times += u->unwritten;
		u->unwritten = 0;
	}
	return forest_audit_add(f, &row, e);
}

void
audit_flush(struct audit_book *b, struct forest *f, struct mono now, struct wall when)
{
	for (int i = 0; i < AUDIT_USERS; i++) {
		struct audit_user *u = &b->users[i];
		struct audit row = { .when = when,
			.uid = u->who.uid,
			.pid = u->who.pid,
			.user = u->who.user,
			.asked = "",
			.outcome = AUDIT_REFUSED,
			.times = u->unwritten,
			.actor = u->several ? ACTOR_SEVERAL_USERS : ACTOR_NONE,
			.reason = REASON_UNLISTED };

		if (u->unwritten == 0 || bucket_wait_ns(&u->pace, now) > 0)
			continue;
		if (forest_audit_add(f, &row, NULL) == 0)
			u->unwritten = 0;
	}
}

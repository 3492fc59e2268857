/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Agents on other machines (tls://): their certificates, and certificates that change or are revoked. */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/tls.h"

enum {
	CHECK_MS = 1000,
	RECHECKS = 8, /* in a turn, about 0.2 ms of CPU each */
};

static const char AGENT_NAME[] = "hone:agent:";

int
peer_name(struct peer *p, struct err *e)
{
	const char *name = channel_peer_name(&p->channel);

	assert(server_lock_held(p->server));
	if (strncmp(name, AGENT_NAME, strlen(AGENT_NAME)) != 0)
		return err_set(e, ERR_DENIED, "its certificate (%s) is not of an agent", name);
	snprintf(p->conn.who.user, sizeof p->conn.who.user, "%s", name);
	p->conn.only_node = name + strlen(AGENT_NAME); /* lives as long as the channel */
	return 0;
}

/* ---- certificates of connections, when the credentials have changed; in the loop's thread ---- */

void
server_recheck_later(struct peer *p)
{
	assert(server_lock_held(p->server));
	if (p->is_recheck || p->state != PEER_TALKING || p->channel.calls == NULL)
		return;
	TAILQ_INSERT_TAIL(&p->server->recheck, p, recheck_);
	p->is_recheck = true;
}

static void
recheck_all(struct server *s)
{
	struct peer *p;

	TAILQ_FOREACH(p, &s->lists[DOOR_AGENTS][LIST_STRANGERS], listed)
	server_recheck_later(p);
	TAILQ_FOREACH(p, &s->lists[DOOR_AGENTS][LIST_IDENTIFIED], listed)
	server_recheck_later(p);
	s->rechecked_age = s->credentials_age;
}

/* Closes the connection if the current credentials do not permit its certificate. */
static void
recheck(struct server *s, struct peer *p)
{
	struct err e = { 0 };

	server_unlock(s);
	int rc = channel_trusted(&p->channel, &e);

	server_lock(s);
	if (rc == 0 || p->state != PEER_TALKING)
		return;
	server_note(s, "agent %s: %s",
	    p->conn.hello.node != NULL ? p->conn.hello.node : "(unnamed)", e.text);
	p->discard = true;
	err_set(&p->end, 0, "%s", e.text);
	peer_hang_up(p, e.text);
}

void
server_recheck(struct server *s)
{
	struct peer *p;

	server_lock(s);
	if (s->rechecked_age != s->credentials_age)
		recheck_all(s);
	for (int i = 0; i < RECHECKS && (p = TAILQ_FIRST(&s->recheck)) != NULL; i++) {
		TAILQ_REMOVE(&s->recheck, p, recheck_);
		p->is_recheck = false;
		recheck(s, p);
	}
	server_unlock(s);
}

/* ---- new credentials; in a greeter's thread ---- */

void
server_check_credentials(struct server *s)
{
	struct mono now = clock_mono();
	struct err e = { 0 };
	int rc, before;

	assert(server_lock_held(s));
	if (s->options.tls == NULL ||
	    mono_since_ns(now, s->credentials_checked) < CHECK_MS * INT64_C(1000000))
		return;
	s->credentials_checked = now; /* the other greeters see it, and leave it to this one */
	before = s->credentials_error;
	server_unlock(s);
	rc = tls_refresh(s->options.tls, &e);
	server_lock(s);
	if (rc > 0)
		s->credentials_age++;
	if (rc > 0 || (rc == 0 && before != 0))
		server_note(s, "the credentials have changed; the new ones are in use");
	if (rc < 0 && rc != before)
		server_note(s,
		    "the credentials have changed, but cannot be used; the former ones stay in use: %s",
		    e.text);
	s->credentials_error = rc < 0 ? rc : 0;
	if (rc != 0 || before != 0)
		server_wake(s);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Agents on other machines (tls://): their certificates, and certificates that change or are revoked. */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/tls.h"

enum { CHECK_MS = 1000 };

static const char AGENT_NAME[] = "hone:agent:";

/* Takes the peer's name from its certificate: for the log and the audit, and to check its HELLO. Not
 * on other transports. The name lives as long as the stream. */
static int
name_peer(struct peer *p, struct err *e)
{
	const char *name = stream_peer_name(p->stream);

	if (name[0] == '\0')
		return 0;
	if (strncmp(name, AGENT_NAME, strlen(AGENT_NAME)) != 0)
		return err_set(e, ERR_DENIED, "its certificate (%s) is not of an agent", name);
	server_lock(p->server);
	snprintf(p->conn.who.user, sizeof p->conn.who.user, "%s", name);
	p->conn.only_node = name + strlen(AGENT_NAME);
	server_unlock(p->server);
	return 0;
}

int
peer_secure(struct peer *p, struct err *e)
{
	int ms, rc;

	server_lock(p->server);
	ms = conn_patience_ms(&p->conn, clock_mono());
	server_unlock(p->server);
	/* end_untrusted() does not find a peer whose certificate is revoked during its handshake:
	 * check again afterwards. */
	if ((rc = stream_secure(p->stream, p->server->options.tls, ms, e)) == 0 &&
	    (rc = stream_trusted(p->stream, e)) == 0)
		rc = name_peer(p, e);
	return rc;
}

/* Closes the connections whose certificates the current credentials do not permit. With the lock
 * held. */
static void
end_untrusted(struct server *s)
{
	struct err e;

	assert(server_lock_held(s));
	for (struct peer *p = s->peers; p != NULL; p = p->next) {
		if (p->closing || stream_trusted(p->stream, &e) == 0)
			continue;
		server_note(s, "agent %s: %s",
		    p->conn.hello.node != NULL ? p->conn.hello.node : "(unnamed)", e.text);
		p->discard = true;
		err_set(&p->end, 0, "%s", e.text);
		peer_hang_up(p, e.text);
	}
}

void
server_check_credentials(struct server *s)
{
	struct mono now = clock_mono();
	struct err e = { 0 };
	int rc;

	if (s->options.tls == NULL ||
	    mono_since_ns(now, s->credentials_checked) < CHECK_MS * INT64_C(1000000))
		return;
	s->credentials_checked = now;
	if ((rc = tls_refresh(s->options.tls, &e)) == 0 && s->credentials_error == 0)
		return;
	server_lock(s);
	if (rc > 0)
		end_untrusted(s);
	if (rc > 0 || (rc == 0 && s->credentials_error != 0))
		server_note(s, "the credentials have changed; the new ones are in use");
	if (rc < 0 && rc != s->credentials_error)
		server_note(s,
		    "the credentials have changed, but cannot be used; the former ones stay in use: %s",
		    e.text);
	server_unlock(s);
	s->credentials_error = rc < 0 ? rc : 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Agents of other machines (tls://): who they are, by their certificates, and whether that still
 * holds. */
#include "controlplane/server/server_inside.h"

#include <stdio.h>
#include <string.h>

#include "base/tls.h"

enum { LOOK_MS = 1000 };

static const char AGENT[] = "hone:agent:";

/* Who it is, for the log, the audit, and its HELLO. The name lasts as long as the stream. "": it is
 * not tls://. */
static int
name_peer(struct peer *p, struct err *e)
{
	const char *name = stream_peer_name(p->stream);

	if (name[0] == '\0')
		return 0;
	if (strncmp(name, AGENT, strlen(AGENT)) != 0)
		return err_set(e, ERR_DENIED, "its certificate (%s) is no agent's", name);
	server_lock(p->server);
	snprintf(p->conn.who.user, sizeof p->conn.who.user, "%s", name);
	p->conn.only_node = name + strlen(AGENT);
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
	/* Who is revoked in the middle of its handshake is not among those that end_untrusted()
	 * finds. */
	if ((rc = stream_secure(p->stream, p->server->options.tls, ms, e)) == 0 &&
	    (rc = stream_trusted(p->stream, e)) == 0)
		rc = name_peer(p, e);
	return rc;
}

static void
end_untrusted(struct server *s)
{
	struct err e;

	for (struct peer *p = s->peers; p != NULL; p = p->next) {
		if (p->closing || stream_trusted(p->stream, &e) == 0)
			continue;
		server_note(s, "agent %s: %s",
		    p->conn.hello.node != NULL ? p->conn.hello.node : "(unnamed)", e.text);
		p->deaf = true;
		err_set(&p->end, 0, "%s", e.text);
		peer_hang_up(p, e.text);
	}
}

void
server_keys(struct server *s)
{
	struct mono now = clock_mono();
	struct err e = { 0 };
	int rc;

	if (s->options.tls == NULL ||
	    mono_since_ns(now, s->keys_looked) < LOOK_MS * INT64_C(1000000))
		return;
	s->keys_looked = now;
	if ((rc = tls_refresh(s->options.tls, &e)) == 0 && s->keys_trouble == 0)
		return;
	server_lock(s);
	if (rc > 0)
		end_untrusted(s);
	if (rc > 0 || (rc == 0 && s->keys_trouble != 0))
		server_note(s, "the keys have changed, and the new ones hold");
	if (rc < 0 && rc != s->keys_trouble)
		server_note(s, "the keys have changed, and the former ones still hold: %s", e.text);
	server_unlock(s);
	s->keys_trouble = rc < 0 ? rc : 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The greeters: GREETERS threads for what takes long at the begin of a connection, so that no other connection waits for
 * it: looking up users, which may ask a server, and TLS handshakes, some ms of CPU each. While a greeter has a connection, the loop
 * neither reads nor writes it. As many handshakes are calculated at once as there are greeters; what waits for them is limited
 * by the loop, which then accepts no more.
 */
#include "controlplane/server/server_inside.h"

#include <assert.h>

void
server_greet(struct peer *p, enum greeter_job job)
{
	struct server *s = p->server;

	assert(server_lock_held(s) && !p->with_greeter);
	p->job = job;
	p->with_greeter = true;
	TAILQ_INSERT_TAIL(&s->jobs[job], p, job_);
	s->njobs++;
	pthread_cond_signal(&s->job);
}

static void
shake_hands(struct peer *p)
{
	struct server *s = p->server;
	bool changed;

	p->greeter_rc = channel_shake(&p->channel, &p->greeter_err);
	server_lock(s);
	changed = p->credentials_age != s->credentials_age;
	server_unlock(s);
	/* What the handshake did not know of when it checked the certificate. */
	if (p->greeter_rc == 0 && changed)
		channel_trusted(&p->channel, &p->forbidden);
}

/* Over a local socket the kernel has said who it is, and a greeter has looked up what that user may do. p->forbidden.code:
 * not 0 if it is refused. */
static void
find_roles(struct peer *p)
{
	struct server *s = p->server;
	struct mono now = clock_mono();
	struct who who = p->conn.who;
	const char *only_node = NULL;
	struct err forbidden = { 0 };

	if (who.uid < 0) {
		err_set(
		    &forbidden, ERR_DENIED, "the kernel did not report the user of the process");
	} else {
		roles_who(s->roles, who.uid, who.pid, now, &who);
		if (p->conn.door == DOOR_OPERATORS && who.role == ROLE_NONE)
			roles_refuse(s->roles, &who, ROLE_LOOK, NULL, &forbidden);
		else if (p->conn.door == DOOR_AGENTS)
			switch (roles_agent(s->roles, &who, now)) {
			case AGENT_NO:
				roles_refuse_agent(s->roles, &who, &forbidden);
				break;
			case AGENT_THIS_HOST:
				only_node = s->host;
				break;
			case AGENT_ANY_NODE:
				break;
			}
	}
	server_lock(s);
	p->conn.who = who;
	p->conn.only_node = only_node;
	p->forbidden = forbidden;
	server_unlock(s);
}

/* Users are found at once, as a rule: they do not wait for handshakes. One is looked up at a time: where that takes long, handshakes go on. */
static struct peer *
first_job(const struct server *s)
{
	struct peer *p = s->looking_up ? NULL : TAILQ_FIRST(&s->jobs[JOB_ROLES]);

	return p != NULL ? p : TAILQ_FIRST(&s->jobs[JOB_SHAKE]);
}

static void
do_job(struct server *s, struct peer *p)
{
	enum greeter_job job = p->job;

	assert(server_lock_held(s));
	TAILQ_REMOVE(&s->jobs[job], p, job_);
	s->njobs--;
	if (job == JOB_ROLES)
		s->looking_up = true;
	server_unlock(s);
	if (job == JOB_ROLES)
		find_roles(p);
	else
		shake_hands(p);
	server_lock(s);
	if (job == JOB_ROLES)
		s->looking_up = false;
	TAILQ_INSERT_TAIL(&s->greeted, p, job_);
	server_wake(s);
}

void *
server_greeter(void *arg)
{
	struct server *s = arg;
	struct peer *p;

	server_lock(s);
	while (!s->loop_ended) {
		struct timespec until = mono_in_ms(1000);

		server_check_credentials(s);
		if ((p = first_job(s)) != NULL)
			do_job(s, p);
		else
			server_wait(s, &s->job, &until);
	}
	server_unlock(s);
	return NULL;
}

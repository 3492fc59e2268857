/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The listeners of the server: one thread accepts agents, one accepts operators. */
#include "controlplane/server/server_inside.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"

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
accept_loop(void *arg)
{
	struct gate *g = arg;
	struct stream *st;
	struct err e;
	int rc;

	while (!stopping(g->server)) {
		if (g->door == DOOR_AGENTS)
			server_check_credentials(g->server);
		if ((rc = listener_accept(g->listener, &st, 1000, &e)) == 0) {
			server_admit(g, st);
		} else if (rc != ERR_TIMEOUT && !stopping(g->server)) {
			server_lock(g->server);
			server_note(g->server, "%s: %s", listener_url(g->listener), e.text);
			server_unlock(g->server);
			/* Most likely out of file descriptors: do not retry in a busy loop. */
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
	/* Also where every user can open the socket, identify() decides by the kernel's
	 * credentials before anything is read. */
	if ((rc = listener_open(&g->listener, url, open ? 0666 : 0600, e)) < 0)
		return rc;
	if (door == DOOR_AGENTS)
		listener_defer(g->listener);
	if (pthread_create(&g->thread, NULL, accept_loop, g) != 0)
		return err_set(e, ERR_SYSTEM, "no thread to listen on %s", url);
	g->running = true;
	return 0;
}

/* The roles, and the name of this host: agents in agents.allow may report for this host only. */
static int
find_roles(struct server *s, struct err *e)
{
	int rc = 0;

	if (gethostname(s->host, sizeof s->host - 1) < 0)
		return err_errno(e, "the name of this host");
	s->roles = s->options.roles;
	if (s->roles == NULL && (rc = roles_new(&s->own_roles,
				     &(struct roles_options){ .own_uid = (int)geteuid() }, e)) == 0)
		s->roles = s->own_roles;
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
	lock_init(&s->lock);
	s->source_secret = hash_seed();
	rng_seed(&s->rng, s->source_secret);
	sources_init(&s->sources, clock_mono());
	cond_init_mono(&s->ended);
	mailbox_init(&s->mailbox, o->mailbox_max_bytes);
	if ((rc = find_roles(s, e)) < 0 || (rc = gate_open(s, DOOR_AGENTS, o->agents, e)) < 0 ||
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
	server_reap(s);
	server_unlock(s);
	/* The list does not change any more: a reader that ends while the server stops posts a
	 * letter and stays in the list. */
	for (p = s->peers; p != NULL; p = next) {
		next = p->next;
		pthread_join(p->reader, NULL);
		peer_free(p);
	}
	if (s->left != NULL)
		peer_free(s->left);
	mailbox_release(&s->mailbox);
	for (uint32_t i = 0; i < s->nprogress; i++)
		free(s->progress[i]);
	free(s->progress);
	hash_table_release(&s->progress_index);
	roles_free(s->own_roles);
	pthread_cond_destroy(&s->ended);
	lock_destroy(&s->lock);
	free(s);
}

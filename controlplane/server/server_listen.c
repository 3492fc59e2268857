/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens and closes the server: its listeners and its threads. */
#include "controlplane/server/server_inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/hash.h"

/* A turn of the loop carries what came in up to 1 ms, once it has turned so often at once. */
enum { TURNS_PER_S = 1000, TURNS_AT_ONCE = 50 };

static int
gate_open(struct server *s, enum door door, const char *url, struct err *e)
{
	struct gate *g = &s->gates[door];
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.ptr = g };
	bool open;
	int rc;

	g->server = s;
	g->door = door;
	open = door == DOOR_AGENTS ? roles_agents_open(s->roles) : roles_operators_open(s->roles);
	/* Also where every user can open the socket, identify() decides by the kernel's
	 * credentials before anything is read. */
	if ((rc = listen_socket_open(&g->listener, url, open ? 0666 : 0600, e)) < 0)
		return rc;
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, listen_socket_fd(g->listener), &ev) != 0)
		return err_errno(e, "%s", url);
	return 0;
}

/* What the loop waits with. */
static int
open_events(struct server *s, struct err *e)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = &s->wake_fd };

	if ((s->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0 ||
	    (s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->wake_fd, &ev) != 0)
		return err_errno(e, "waiting for connections");
	return 0;
}

/* With the lock, so that the loop knows its own thread. */
static int
start_threads(struct server *s, struct err *e)
{
	int rc = 0;

	server_lock(s);
	while (s->ngreeters < GREETERS && rc == 0)
		if ((rc = pthread_create(&s->greeters[s->ngreeters], NULL, server_greeter, s)) == 0)
			s->ngreeters++;
	if (rc == 0)
		s->loop_runs = pthread_create(&s->loop, NULL, server_loop, s) == 0;
	server_unlock(s);
	return s->loop_runs ? 0 : err_set(e, ERR_SYSTEM, "no threads for connections");
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

static void
init_lists(struct server *s)
{
	for (int door = 0; door < DOORS; door++)
		for (int i = 0; i < LISTS; i++)
			TAILQ_INIT(&s->lists[door][i]);
	for (int i = 0; i < HOLDS; i++)
		TAILQ_INIT(&s->held[i]);
	TAILQ_INIT(&s->writing);
	TAILQ_INIT(&s->acks);
	TAILQ_INIT(&s->ready);
	TAILQ_INIT(&s->recheck);
	for (int i = 0; i < JOBS; i++)
		TAILQ_INIT(&s->jobs[i]);
	TAILQ_INIT(&s->greeted);
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
	bucket_init(&s->turns, TURNS_PER_S, TURNS_AT_ONCE, clock_mono());
	s->epoll = s->wake_fd = -1;
	cond_init_mono(&s->job);
	mailbox_init(&s->mailbox, o->mailbox_max_bytes);
	init_lists(s);
	if ((rc = find_roles(s, e)) < 0 || (rc = open_events(s, e)) < 0 ||
	    (rc = gate_open(s, DOOR_AGENTS, o->agents, e)) < 0 ||
	    (rc = gate_open(s, DOOR_OPERATORS, o->operators, e)) < 0 ||
	    (rc = start_threads(s, e)) < 0) {
		server_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

const char *
server_url(const struct server *s, enum door door)
{
	return listen_socket_url(s->gates[door].listener);
}

/* The loop writes what waits and closes all sockets; the greeters serve it until then. */
static void
end_threads(struct server *s)
{
	server_lock(s);
	s->stopping = true;
	if (s->loop_runs)
		server_wake(s);
	server_unlock(s);
	if (s->loop_runs)
		pthread_join(s->loop, NULL);
	server_lock(s);
	s->loop_ended = true;
	pthread_cond_broadcast(&s->job);
	server_unlock(s);
	for (int i = 0; i < s->ngreeters; i++)
		pthread_join(s->greeters[i], NULL);
}

void
server_close(struct server *s)
{
	struct peer *p;

	if (s == NULL)
		return;
	end_threads(s);
	for (int door = 0; door < DOORS; door++) {
		while ((p = TAILQ_FIRST(&s->lists[door][LIST_ENDED])) != NULL) {
			TAILQ_REMOVE(&s->lists[door][LIST_ENDED], p, listed);
			peer_free(p);
		}
		listen_socket_close(s->gates[door].listener);
	}
	if (s->left != NULL)
		peer_free(s->left);
	mailbox_release(&s->mailbox);
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	if (s->epoll >= 0)
		close(s->epoll);
	for (uint32_t i = 0; i < s->nprogress; i++)
		free(s->progress[i]);
	free(s->progress);
	hash_table_release(&s->progress_index);
	roles_free(s->own_roles);
	pthread_cond_destroy(&s->job);
	lock_destroy(&s->lock);
	free(s);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbpool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "instrument/hone.h"

enum { DBPOOL_MAX = 32 };

struct dbpool {
	pthread_mutex_t mutex;
	pthread_cond_t given;
	PGconn *idle[DBPOOL_MAX];
	int nidle, nused, limit;
	uint64_t next_ticket, now_serving;
};

struct dbpool *
dbpool_new(const char *where, int connections)
{
	struct dbpool *p = calloc(1, sizeof *p);

	if (!p || connections > DBPOOL_MAX)
		return NULL;
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->given, NULL);
	p->limit = connections;
	for (; p->nidle < connections; p->nidle++) {
		p->idle[p->nidle] = PQconnectdb(where);
		if (PQstatus(p->idle[p->nidle]) != CONNECTION_OK) {
			fprintf(stderr, "%s", PQerrorMessage(p->idle[p->nidle]));
			return NULL;
		}
	}
	return p;
}

struct dbpool_turn
dbpool_line_up(struct dbpool *p)
{
	struct dbpool_turn turn;

	pthread_mutex_lock(&p->mutex);
	turn.ticket = p->next_ticket++;
	turn.waiters = (int64_t)(turn.ticket - p->now_serving) + p->nused - (p->limit - 1);
	if (turn.waiters < 0)
		turn.waiters = 0;
	pthread_mutex_unlock(&p->mutex);
	return turn;
}

PGconn *
dbpool_take(struct dbpool *p, struct dbpool_turn turn)
{
	PGconn *db;

	pthread_mutex_lock(&p->mutex);
	while (turn.ticket != p->now_serving || p->nused >= p->limit)
		pthread_cond_wait(&p->given, &p->mutex);
	p->now_serving++;
	p->nused++;
	db = p->idle[--p->nidle];
	pthread_cond_broadcast(&p->given);
	pthread_mutex_unlock(&p->mutex);
	return db;
}

void
dbpool_give(struct dbpool *p, PGconn *db)
{
	pthread_mutex_lock(&p->mutex);
	p->idle[p->nidle++] = db;
	p->nused--;
	pthread_cond_broadcast(&p->given);
	pthread_mutex_unlock(&p->mutex);
}

void
dbpool_limit(struct dbpool *p, int connections)
{
	pthread_mutex_lock(&p->mutex);
	p->limit = connections;
	pthread_cond_broadcast(&p->given);
	pthread_mutex_unlock(&p->mutex);
}

/* The statement followed by a comment with the context, in which the "=" of tracestate is encoded as
 * %3D; `sql` itself if there is no request or no space. */
static const char *
with_comment(const char *sql, const struct hone_carrier *link, char *out, size_t size)
{
	char parent[HONE_TRACEPARENT_SIZE], state[HONE_TRACESTATE_SIZE], *value;
	int n;

	if (!hone_traceparent(link, parent) || !hone_tracestate(link, state) ||
	    !(value = strchr(state, '=')))
		return sql;
	*value++ = 0;
	n = snprintf(
	    out, size, "%s /*traceparent='%s',tracestate='%s%%3D%s'*/", sql, parent, state, value);
	return n > 0 && (size_t)n < size ? out : sql;
}

static PGresult *
run(PGconn *db, const char *name, const char *sql, int nparams, const char *const params[])
{
	struct hone_carrier link;
	char commented[1024];
	PGresult *r;

	hone_fork(name, &link);
	r = PQexecParams(db, with_comment(sql, &link, commented, sizeof commented), nparams, NULL,
	    params, NULL, NULL, 0);
	hone_join(&link, name);
	return r;
}

PGresult *
db_run(PGconn *db, const char *name, const char *sql, int nparams, const char *const params[])
{
	PGresult *r = run(db, name, sql, nparams, params);

	if (PQstatus(db) != CONNECTION_OK) {
		PQclear(r);
		PQreset(db);
		r = run(db, name, sql, nparams, params);
	}
	if (PQresultStatus(r) == PGRES_TUPLES_OK || PQresultStatus(r) == PGRES_COMMAND_OK)
		return r;
	fprintf(stderr, "%s%s\n", PQerrorMessage(db), sql);
	PQclear(r);
	return NULL;
}

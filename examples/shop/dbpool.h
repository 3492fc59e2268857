/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pool of connections to PostgreSQL. Threads that find no free connection queue
 * for one, first come first served:
 *
 *	turn = dbpool_line_up(pool);
 *	db = dbpool_take(pool, turn);	... waits
 *	dbpool_give(pool, db);
 *
 * Each statement is work that is handed over and joined; its context is in a comment
 * in the format of sqlcommenter (https://google.github.io/sqlcommenter/spec/).
 */
#ifndef SHOP_DBPOOL_H
#define SHOP_DBPOOL_H

#include <libpq-fe.h>
#include <stdint.h>

struct dbpool;

struct dbpool_turn {
	uint64_t ticket;
	int64_t waiters; /* how many must return a connection first; 0: one is free */
};

/* `where`: a libpq connection string. At most 32 connections. NULL: cannot connect, with a message on
 * stderr, or no memory. */
struct dbpool *dbpool_new(const char *where, int connections);
struct dbpool_turn dbpool_line_up(struct dbpool *p);
PGconn *dbpool_take(struct dbpool *p, struct dbpool_turn turn);
void dbpool_give(struct dbpool *p, PGconn *db);

/* Sets how many of the connections may be in use at a time. */
void dbpool_limit(struct dbpool *p, int connections);

/* Runs one statement with text parameters; reconnects once if the connection was lost. `name`: a
 * literal, the name of the work in traces. The caller clears the result. NULL: failed, with a
 * message on stderr. */
PGresult *db_run(
    PGconn *db, const char *name, const char *sql, int nparams, const char *const params[]);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pool of connections to PostgreSQL. Who finds none free lines up, and is
 * served in turn:
 *
 *	turn = dbpool_line_up(pool);
 *	db = dbpool_take(pool, turn);	... waits
 *	dbpool_give(pool, db);
 *
 * Within a request each statement is work handed on and joined; the request goes
 * along in a comment, as sqlcommenter writes it (https://google.github.io/sqlcommenter/spec/).
 */
#ifndef SHOP_DBPOOL_H
#define SHOP_DBPOOL_H

#include <libpq-fe.h>
#include <stdint.h>

struct dbpool;

struct dbpool_turn {
	uint64_t ticket;
	int64_t waiters; /* who must be done before it is this turn: 0, there is one free */
};

/* `where` is a libpq connection string. NULL: it can't be reached, said on stderr. */
struct dbpool *dbpool_new(const char *where, int connections);
struct dbpool_turn dbpool_line_up(struct dbpool *p);
PGconn *dbpool_take(struct dbpool *p, struct dbpool_turn turn);
void dbpool_give(struct dbpool *p, PGconn *db);

/* At most `connections` are in use from now on, of those that there are. */
void dbpool_limit(struct dbpool *p, int connections);

/* Runs one statement with up to eight text parameters; reconnects when the
 * server had gone. `name`, a literal, says in traces what is asked.
 * NULL: it failed, said on stderr; else the caller's to clear. */
PGresult *db_run(
    PGconn *db, const char *name, const char *sql, int nparams, const char *const params[]);

#endif

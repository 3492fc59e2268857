/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of shop-order share. */
#ifndef SHOP_ORDER_H
#define SHOP_ORDER_H

#include <libpq-fe.h>
#include <stdint.h>
#include "service.h"

/* A connection of the pool, after waiting for one; give it back. */
PGconn *order_connection(void);
void order_connection_give(PGconn *db);

/* As db_run(); the parameters, at most four, are numbers. NULL: it failed,
 * said on stderr; else the caller's to clear. */
PGresult *order_run(PGconn *db, const char *name, const char *sql, int n, const int64_t numbers[]);
int64_t order_cell(const PGresult *r, int row, int column);

/* The fault small_pool: 1 while it is on. */
int order_slow_queries(void);

int order_history(struct exchange *x);

#endif

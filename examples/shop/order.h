/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of shop-order. */
#ifndef SHOP_ORDER_H
#define SHOP_ORDER_H

#include <libpq-fe.h>
#include <stdint.h>
#include "service.h"

/* Waits for a connection of the pool; the caller returns it with order_connection_give(). */
PGconn *order_connection(void);
void order_connection_give(PGconn *db);

/* Like db_run(), with at most four parameters, which are numbers. */
PGresult *order_run(PGconn *db, const char *name, const char *sql, int n, const int64_t numbers[]);
int64_t order_cell(const PGresult *r, int row, int column);

/* 1 while the fault small_pool is on. */
int order_slow_queries(void);

int order_history(struct exchange *x);

#endif

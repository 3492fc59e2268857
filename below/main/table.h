/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits and samples of a process, added up by state and place, for people. */
#ifndef BELOW_MAIN_TABLE_H
#define BELOW_MAIN_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "wire/below.h"

struct table;

struct table *table_new(void); /* NULL: out of memory */
void table_free(struct table *t);

/* As below_take (below/main/places.h); `of` is the table. What does not fit (1024 rows, 65536 names) is added to rows without a place. O(1) on average. */
void table_take(void *of, const struct below_message *m);

/* The rows with most time first. */
void table_print(const struct table *t, FILE *out, double seconds);
/* {"seconds", "rows": [{"state", "place", "called", "count", "ms", "holder": null or {"state", "place"}}], "lost"}. Returns 0 or -1. */
int table_json(const struct table *t, FILE *out, double seconds);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often the probes of a process were passed, for people. */
#ifndef BELOW_MAIN_PROBE_TABLE_H
#define BELOW_MAIN_PROBE_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "below/main/below_watch.h"

struct probe_table;

struct probe_table *probe_table_new(void); /* NULL: out of memory */
void probe_table_free(struct probe_table *t);

/* As below_take (below/main/places.h); `of` is the table. Takes LISTED, PROBED, HIT, LOST. */
void probe_table_take(void *of, const struct below_message *m);

/* Switches on those that are listed and match the pattern (* stands for any text), or for "func.NAME" begin and end of that function of
 * the process. Returns how many. */
uint32_t probe_table_ask(
    struct probe_table *t, struct below_watch *w, pid_t pid, const char *pattern);

/* Those that were asked for, with most hits first. */
void probe_table_print(struct probe_table *t, FILE *out);
/* {"seconds", "probes": [{"name", "hits", "failed": null or text}], "lost"}. Returns 0 or -1. */
int probe_table_json(struct probe_table *t, FILE *out, double seconds);

#endif

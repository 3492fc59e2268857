/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The node's traceable programs and their tracepoints. Listing them costs the
 * session daemon up to a second, during which nothing can be switched; so what
 * was listed once is remembered for each service and program file, and only a
 * program that was never seen calls for a listing.
 *
 * Asks nobody: what runs, and what was listed, are arguments.
 */
#ifndef AGENT_TRACER_INVENTORY_H
#define AGENT_TRACER_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/tracer/tracer.h"
#include "base/arena.h"
#include "wire/agent.h"

struct inventory;

struct inventory *inventory_new(void); /* NULL: out of memory */
void inventory_free(struct inventory *v);

struct inventory_process {   /* one traced process */
	const char *service; /* its name; copied, up to 63 bytes */
	uint32_t pid;
	bool mapped;      /* its requests are those that a mapping describes */
	uint64_t program; /* identifies its program file (process_program()); 0: unknown */
};

/* Replaces the list of running processes by p[0..n), of which the first PROGRAMS_MAX count. On
 * failure (ERR_MEMORY) the previous list stays. O(n + tracepoints of all programs). */
int inventory_run(
    struct inventory *v, const struct inventory_process *p, uint32_t n, struct err *e);

/* Whether some program's tracepoints are not known. */
bool inventory_wants_list(const struct inventory *v);

/* Whether some program's were listed but once: it may have been while it was starting, with some of
 * its providers not yet loaded, as preloaded helpers are first and its own last. */
bool inventory_wants_another(const struct inventory *v);

/* The tracer's list. A program that is not in it counts as one without tracepoints from the third
 * list on, since it may have begun after the list was made. The tracer's own (but its preloaded
 * helpers') and libhone's are left out. */
int inventory_listed(struct inventory *v, const struct tracepoints *t, struct err *e);

/* Whether a program that runs has it; "*" in the event stands for anything. */
bool inventory_has(void *inventory, const char *name);

/* The same of programs that are mapped. */
bool inventory_mapped(void *inventory, const char *name);

/* For the controller; in the arena, names in v. ERR_MEMORY. */
int inventory_programs(
    const struct inventory *v, struct programs *ret, struct arena *a, struct err *e);
uint32_t inventory_count(const struct inventory *v);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The node's traced programs and their tracepoints. To list them takes the session daemon up to a
 * second, during which no tracepoint can be enabled or disabled; so the list of each service and
 * program file is kept, and only a program that is not known requires a new listing.
 *
 * It makes no calls: which processes run, and what was listed, are arguments.
 */
#ifndef AGENT_TRACER_INVENTORY_H
#define AGENT_TRACER_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/tracer/tracer.h"
#include "base/arena.h"
#include "wire/agent_messages.h"

struct inventory;

struct inventory *inventory_new(void);    /* NULL: out of memory */
void inventory_free(struct inventory *v); /* NULL is fine */

struct inventory_process {   /* one traced process */
	const char *service; /* its name; copied, up to 63 bytes */
	uint32_t pid;
	bool mapped; /* a mapping describes its requests */
	bool
	    probes_only; /* the tracer does not know it: it has no tracepoints but its USDT probes */
	uint64_t program; /* identifies its program file (process_program()); 0: unknown */
	bool kernel;      /* it is followed by kernel events, and has no tracepoints at all */
};

/* Replaces the list of running processes by p[0..n), of which the first PROGRAMS_MAX count. On
 * failure (ERR_MEMORY) the previous list stays. O(n + tracepoints of all programs). */
int inventory_run(
    struct inventory *v, const struct inventory_process *p, uint32_t n, struct err *e);

/* A running program's tracepoints are not known. */
bool inventory_wants_list(const struct inventory *v);

/* A running program was listed only once. That may have been while it was starting, with some of its
 * providers not loaded yet: preloaded ones come first, its own last. */
bool inventory_wants_another(const struct inventory *v);

/* Takes the tracer's list, and sorts it. A program that is in none of three lists counts as one
 * without tracepoints; it may have started after the first. Tracepoints of libhone and of the tracer
 * itself (tracer_internal.h) are left out. ERR_MEMORY: some programs are still unknown. */
int inventory_listed(struct inventory *v, const struct tracepoints *t, struct err *e);

/* The pid of a running process whose program's USDT probes are not known yet, and its service (may be NULL; valid until the next inventory_run()); 0: they
 * are known of all. Each process whose program file is unknown counts as a program of its own; those only if `fileless`. */
uint32_t inventory_unprobed(const struct inventory *v, bool fileless, const char **service);

/* Takes names of USDT probes of that process's program, one in each line, all of them in one or several calls, the last of which
 * is marked. Processes of several containers may have one pid: they are those of the first one of this service whose probes are not known.
 * ERR_MEMORY: some are missing. O(names). */
int inventory_probes(struct inventory *v, const char *service, uint32_t pid, const char *names,
    bool last, struct err *e);

/* The names of all USDT probes of running programs, some more than once. */
void inventory_each_probe(
    const struct inventory *v, void (*each)(void *of, const char *name), void *of);

/* Whether the program of that process has USDT probes. O(processes). */
bool inventory_has_probes(const struct inventory *v, const char *service, uint32_t pid);

/* A running program has the tracepoint; "*" in the event matches any text. The first argument is a
 * struct inventory, so that it can serve as a callback. O(1); O(names) with "*". */
bool inventory_has(void *inventory, const char *name);

/* The same, of programs with a mapping. */
bool inventory_mapped(void *inventory, const char *name);

/* All running programs with their tracepoints, for the controller. Arrays are in the arena, texts
 * belong to v and are valid until its next change. ERR_MEMORY. O(processes^2 + tracepoints). */
int inventory_programs(
    const struct inventory *v, struct programs *ret, struct arena *a, struct err *e);

uint32_t inventory_count(const struct inventory *v); /* running processes */

#endif

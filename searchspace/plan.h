/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The plan: which tracepoints are wanted, and by which owners. A tracepoint wanted by several
 * owners is enabled once, and disabled when all have released it.
 */
#ifndef SEARCHSPACE_PLAN_H
#define SEARCHSPACE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct plan;

struct plan *plan_new(void); /* NULL: out of memory */
void plan_free(struct plan *p);

/* Adds or removes an owner's claim. `tracepoint`: "provider:event" or "provider:*"; `owner`: a
 * hypothesis id, or any number of the caller's. Repeating a claim changes nothing. O(claims).
 * ERR_MEMORY. */
int plan_want(struct plan *p, const char *tracepoint, uint64_t owner, struct err *e);
void plan_release(struct plan *p, const char *tracepoint, uint64_t owner);
/* All of its claims; O(claims^2). */
void plan_release_owner(struct plan *p, uint64_t owner);
void plan_clear(struct plan *p);

bool plan_wants(const struct plan *p, const char *tracepoint);
uint32_t plan_count(const struct plan *p); /* number of tracepoints wanted now */
/* The i-th tracepoint in the order of names; NULL past the last. *owner: the one that claimed
 * it first. O(claims). */
const char *plan_at(const struct plan *p, uint32_t i, uint64_t *owner);
/* Increases whenever the set of wanted tracepoints changes. */
uint64_t plan_version(const struct plan *p);

#endif

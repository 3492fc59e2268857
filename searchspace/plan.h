/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who wants which tracepoint. A tracepoint that two hypotheses want is on once,
 * and goes off when both have let go. The plan knows the difference between what
 * is wanted now and what was wanted at the last look; doors make it so.
 */
#ifndef SEARCHSPACE_PLAN_H
#define SEARCHSPACE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct plan;

struct plan *plan_new(void); /* NULL: out of memory */
void plan_free(struct plan *p);

/* `tracepoint`: "provider:event" or "provider:*"; `owner`: a hypothesis id, or any number of the
 * caller's. Twice the same is once. ERR_MEMORY. O(claims). */
int plan_want(struct plan *p, const char *tracepoint, uint64_t owner, struct err *e);
void plan_release(struct plan *p, const char *tracepoint, uint64_t owner);
void plan_release_owner(struct plan *p, uint64_t owner); /* all that it wanted */
void plan_clear(struct plan *p);

bool plan_wants(const struct plan *p, const char *tracepoint);
uint32_t plan_count(const struct plan *p); /* tracepoints wanted now */
/* In the order of names; NULL past the last. owner: the oldest that wants it. O(claims). */
const char *plan_at(const struct plan *p, uint32_t i, uint64_t *owner);
/* Grows whenever the set of wanted tracepoints changes, else stays. */
uint64_t plan_version(const struct plan *p);

#endif

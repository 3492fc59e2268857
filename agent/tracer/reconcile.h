/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Wanted minus on gives changes. The controller says which tracepoints it wants
 * on (struct want: a state, an epoch, a lease); the tracer says which changes
 * worked; this keeps both, and knows what is to be done next. It does nothing by itself
 * and asks no clock: time is an argument.
 *
 * A tracepoint is wanted while the newest epoch names it, its lease has not
 * ended, and the agent has not shed; or while it is a standing one, of a mapping,
 * and these are to be on. A change that failed is tried again after a second.
 *
 * In programs without libhone no request is probed: what they have goes on without
 * that filter (change.plain), also when such a program comes after it was switched on.
 */
#ifndef AGENT_TRACER_RECONCILE_H
#define AGENT_TRACER_RECONCILE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/tracer/tracer.h"
#include "base/clock.h"
#include "base/err.h"
#include "wire/toggle.h"

enum {
	RECONCILE_NAMES_MAX = 65536, /* different names in the agent's life */
	RECONCILE_CHANGES_MAX =
	    16 /* at once, so that what comes meanwhile does not wait for hundreds */
};
#define RECONCILE_LEASE_MAX_MS 600000

struct reconcile;

struct reconcile *reconcile_new(void); /* NULL: out of memory */
void reconcile_free(struct reconcile *r);

/* A new connection: its first want counts whatever its epoch, and its done is due again. */
void reconcile_connected(struct reconcile *r);

/* The controller's word; its lease begins now. ERR_INPUT: an older epoch than the one that counts,
 * ignored. O(toggles). */
int reconcile_want(struct reconcile *r, const struct want *w, struct mono now, struct err *e);

/* Nothing added stays on, until a want of a newer epoch than the one that counts now comes. */
void reconcile_shed(struct reconcile *r);

/* The tracer has a new session: nothing is on there, whatever was. */
void reconcile_forget(struct reconcile *r);

/* Other programs run now, so that done may read differently. */
void reconcile_programs_changed(struct reconcile *r);

/* Of a mapping. False: out of memory, or too many names. */
bool reconcile_standing(struct reconcile *r, const char *name);
void reconcile_standing_none(struct reconcile *r); /* there is none any more; while nothing is on */
/* Whether those are to be on, from now on; at first they are not. */
void reconcile_stand(struct reconcile *r, bool on);
/* What else goes on without a filter: names (may be wildcards) of which mapped() says so. */
void reconcile_mapped(struct reconcile *r, bool (*mapped)(void *of, const char *name), void *of);

/* What is to be changed now, off first, not too many at once; the caller's array, to be given to
 * reconcile_applied() whatever became of it, and until then nothing else is due. NULL with *n 0:
 * nothing, or out of memory. O(names). */
struct tracer_change *reconcile_changes(struct reconcile *r, struct mono now, uint32_t *n);

/* Frees it. `gone`: the session is gone and nothing was changed. */
void reconcile_applied(
    struct reconcile *r, struct tracer_change *changes, uint32_t n, bool gone, struct mono now);

/* Whether the newest epoch holds and that is to be said (again). Then *ret is valid until the next
 * call on r. `exists`: whether a program here has it (may be a wildcard). */
bool reconcile_done(struct reconcile *r, struct mono now,
    bool (*exists)(void *arg, const char *name), void *arg, struct done *ret);

struct reconcile_look {
	uint64_t epoch;  /* that holds */
	uint32_t added;  /* on now, as far as we know; without standing ones */
	uint32_t wanted; /* named by the newest epoch */
	bool shed;
	bool leased; /* somebody's lease runs */
	struct mono lease_until;
};

void reconcile_look(const struct reconcile *r, struct mono now, struct reconcile_look *ret);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the desired state with the actual one. The controller says which tracepoints it wants
 * (struct want: a state, an epoch, a lease); the tracer says which changes worked; this keeps both
 * and knows which change is next. It makes no calls and reads no clock: time is an argument.
 *
 * A tracepoint is wanted while the newest epoch names it, its lease has not ended, and the agent has
 * not shed load; or while a mapping names it (a standing tracepoint) and standing ones are on. A
 * change that failed is tried again after a second.
 *
 * In programs without libhone no request is probed: their tracepoints are enabled without that
 * filter (FILTER_NONE), also where such a program starts after they were enabled.
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
	/* Changes at once; a want that comes meanwhile does not have to wait for hundreds. */
	RECONCILE_CHANGES_MAX = 16,
	RECONCILE_LEASE_MAX_MS = 600000, /* a longer lease is cut to this */
};

/* Whose tracepoints they are. Each has its own changes under way. */
enum reconcile_kind {
	RECONCILE_TRACER, /* of LTTng-UST */
	RECONCILE_PROBES, /* of hone-below: below_is_probe() */
	RECONCILE_KINDS
};

struct reconcile;

struct reconcile *reconcile_new(void);    /* NULL: out of memory */
void reconcile_free(struct reconcile *r); /* NULL is fine */

/* A new connection: its first want counts whatever its epoch, and its done is due again. */
void reconcile_connected(struct reconcile *r);

/* Takes the desired state; its lease begins now. ERR_INPUT: its epoch is older than the current one,
 * so it is ignored. ERR_MEMORY: the previous state stays. O(toggles). */
int reconcile_want(struct reconcile *r, const struct want *w, struct mono now, struct err *e);

/* The agent sheds load: no added tracepoint is wanted until a want of a newer epoch comes. */
void reconcile_shed(struct reconcile *r);

/* The session, or hone-below, is gone or new: no tracepoint of this kind is enabled. O(names). */
void reconcile_forget(struct reconcile *r, enum reconcile_kind kind);

/* A tracepoint that was enabled is so no longer: it is tried again after a second. `point` as in struct tracer_change; an unknown one
 * is ignored. */
void reconcile_lost(struct reconcile *r, uint32_t point, const char *reason, struct mono now);

/* Whether a tracepoint of this kind is wanted now. O(names). */
bool reconcile_wants(const struct reconcile *r, enum reconcile_kind kind, struct mono now);

/* Other programs run now, so the results in done may be others. */
void reconcile_programs_changed(struct reconcile *r);

/* Adds a standing tracepoint, of a mapping; "hone:" ones are always on and are ignored. False: out
 * of memory, or RECONCILE_NAMES_MAX names. */
bool reconcile_standing(struct reconcile *r, const char *name);
/* Forgets all standing ones; only while nothing is enabled. O(names). */
void reconcile_standing_none(struct reconcile *r);
/* Standing tracepoints are wanted from now on, or not; at first they are not. */
void reconcile_stand(struct reconcile *r, bool on);

/* mapped(of, name) says which other names (maybe wildcards) are enabled without a filter. NULL:
 * none. */
void reconcile_mapped(struct reconcile *r, bool (*mapped)(void *of, const char *name), void *of);

/* The changes of this kind that are due, up to RECONCILE_CHANGES_MAX, disabling first. The array is the caller's
 * and has to be given to reconcile_applied(); until then no other change of this kind is due. NULL with *n 0: no
 * change is due, or out of memory. O(names). */
struct tracer_change *reconcile_changes(
    struct reconcile *r, enum reconcile_kind kind, struct mono now, uint32_t *n);

/* Takes the results of the changes and frees the array. `gone`: the session, or hone-below, does not exist any more
 * and no change was made. */
void reconcile_applied(
    struct reconcile *r, struct tracer_change *changes, uint32_t n, bool gone, struct mono now);

/* True: the newest epoch is applied, and this has to be reported (again); *ret is valid until the
 * next call on r. exists(arg, name): a program of this node has it (name may be a wildcard).
 * O(names + toggles). */
bool reconcile_done(struct reconcile *r, struct mono now,
    bool (*exists)(void *arg, const char *name), void *arg, struct done *ret);

struct reconcile_stats {
	uint64_t epoch;  /* the last that was applied */
	uint32_t added;  /* enabled tracepoints, without standing ones */
	uint32_t wanted; /* named by the newest epoch */
	bool shed;
	bool leased; /* the lease of the newest want has not ended */
	struct mono lease_until;
};

void reconcile_stats(const struct reconcile *r, struct mono now, struct reconcile_stats *ret);

/* A controller's lease within its limits: 0 to RECONCILE_LEASE_MAX_MS. */
int64_t reconcile_lease_ms(int64_t lease_ms);

#endif

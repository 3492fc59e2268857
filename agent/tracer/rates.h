/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's side of the table of rates in shared memory (instrument/policy.h): which share of the
 * requests of each type the programs sample and probe, and until when. One thread at a time.
 */
#ifndef AGENT_TRACER_RATES_H
#define AGENT_TRACER_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/tracer/knocks.h"
#include "base/clock.h"
#include "base/err.h"
#include "wire/toggle.h"

struct rates;

/* Opens the table, or creates it, and locks it for this agent until rates_close(). All that an
 * earlier agent left in it is set to zero. A file that is no table of this version, belongs to
 * another user, or was locked by one who can only read it, is replaced; so is a link, a socket or a
 * folder, which is moved aside to a name that begins with `path` unless it is empty. Listens for knocks
 * beside it (knocks.h). ERR_BUSY: another agent holds it; ERR_INPUT: the path is too long; ERR_SYSTEM; ERR_MEMORY. */
int rates_open(struct rates **ret, const char *path, struct err *e);

/* Writes the rates that the controller wants; requests are probed until probe_until. Request types
 * that are not named are sampled at want->sampled from now on, and not probed. Programs read it with
 * their next request. ERR_FULL: the table has no entry left for some request types; all others are
 * written. O(types). */
int rates_apply(struct rates *r, const struct want *w, struct mono probe_until, struct err *e);

/* Whether all who call the node's programs are known, so that a caller's trace id may decide (instrument/policy.h). Not at the begin. */
void rates_callers(struct rates *r, bool known);

/* Requests are sampled until then; no more if it has passed. */
void rates_renew(struct rates *r, struct mono sample_until);

enum rates_choice { RATES_SKIP, RATES_SAMPLE, RATES_PROBE }; /* probed requests are sampled, too */

/* What libhone would decide for a request of that type that begins now. draw: a random number,
 * uniform over all values. O(1) expected. */
enum rates_choice rates_choose(
    const struct rates *r, const char *request_type, struct mono now, uint32_t draw);

/* Those who report requests that they sampled and that are not recorded; the rates' own. */
struct knocks *rates_knocks(struct rates *r);

/* No request is probed any more: this disables the records of added tracepoints at once, in every
 * program with libhone. */
void rates_silence(struct rates *r);

/* rates_silence(), and no request is sampled. `remove`: the file is removed, too. NULL is fine. */
void rates_close(struct rates *r, bool remove);

/* A descriptor of the table, open for writing, from an open() of its own: it does not carry the lock
 * of rates_open(). The caller's; -1 on failure. To be called while this process may open the file,
 * and before the file is removed. */
int rates_spare(const struct rates *r);

/* For a guardian whose agent is dead: silences the table that fd is open for; does not touch a file
 * that is no table. Allocates no memory. */
void rates_silence_fd(int fd);

#endif

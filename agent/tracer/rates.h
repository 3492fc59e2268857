/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's side of the table in shared memory (instrument/policy.h): how
 * many requests of each type the programs sample and probe, and until when.
 */
#ifndef AGENT_TRACER_RATES_H
#define AGENT_TRACER_RATES_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/err.h"
#include "wire/toggle.h"

struct rates;

/* Opens the table, or makes it; it is ours alone until rates_close(). All that an earlier agent
 * left in it is set to zero. ERR_BUSY: another agent has it. A file that is no table of this
 * version is replaced. */
int rates_open(struct rates **ret, const char *path, struct err *e);

/* Writes what is wanted; probing holds until probe_until. Types that are not named have
 * want->sampled from now on, and are not probed. Programs see it with their next request. ERR_FULL:
 * more types than the table ever holds; all others are written. O(types). */
int rates_apply(struct rates *r, const struct want *w, struct mono probe_until, struct err *e);

/* Sampling goes on until then. Call it more often than the time it gives. */
void rates_renew(struct rates *r, struct mono sample_until);

/* What becomes of a request of that type which begins now, by the table, as libhone would decide:
 * 0: it is not sampled, 1: it is, 2: and probed. draw: any number, all alike likely. O(1) expected.
 */
int rates_choose(const struct rates *r, const char *request_type, struct mono now, uint32_t draw);

/* Whether programs have said, between `from` and now, that requests they sampled are recorded by
 * nobody; from: the last call's now, or rates_open(). now: read just before. Whoever else reads the
 * file with read() is taken for one. A system call. */
bool rates_unwritten(struct rates *r, struct mono now, struct mono *from);

/* Nothing is probed any more: added tracepoints fall silent, in every program, at once. */
void rates_silence(struct rates *r);

/* Silence, and no sampling. `remove`: the file goes too (the agent ends for good). NULL is fine. */
void rates_close(struct rates *r, bool remove);

/* A descriptor of the table, open for writing, from an open() of its own: who holds only this one
 * does not keep another agent from the table. The caller's; -1 on failure. Call it while the file
 * may still be opened, and before it is removed. */
int rates_spare(const struct rates *r);
/* For a guardian whose agent is dead: silences the table that fd is open for, if it is one.
 * Allocates nothing. */
void rates_silence_fd(int fd);

#endif

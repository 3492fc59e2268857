/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent's source of records: reads it into batches, and reports what it could not read as a
 * loss. */
#ifndef AGENT_MAIN_AGENT_RECORDS_H
#define AGENT_MAIN_AGENT_RECORDS_H

#include "agent/main/agent_state.h"

/* Reads whom agent.users lists, once, before records_open(). Errors as of listed_users_parse(). */
int records_list_users(struct agent *a, struct err *e);

/* Opens the source of a new session; a loss is reported if there was a session before. The caller
 * sets a->tracing.session. Errors as of sources_open(). */
int records_open(
    struct agent *a, const struct tracer_session *session, struct mono now, struct err *e);

/* Closes the source of an open session; its counters are kept. */
void records_close(struct agent *a);

/* Reads what the source has, up to 8192 records. Without an open session it only resets the counters
 * of the turn. */
void records_read(struct agent *a, struct mono now);

/* Reports a time during which something may have been written that is not read. The number is
 * unknown, so the loss counts 1. */
void records_lose(struct agent *a, int64_t from_ns, int64_t to_ns);

/* Reports as lost what programs that run untraced sampled and did not write. To be called before the
 * watermark passes, that is, before records_read(). */
void records_lose_unwritten(struct agent *a, struct mono now);

/* After a session was lost no source promises a watermark; so that the controller does not wait for
 * this node, the watermark follows the clock, at most 1 s behind, and the time is a loss. */
void records_pass_time(struct agent *a, struct mono now);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The traced requests that this Redis serves. Their records:
 *
 *	begins: hone:unit_begin    redis:queue  redis:command_begin
 *	                           (redis:call, of a script's commands)
 *	command ends:              redis:command_end  redis:reply_begin
 *	replies are written:       redis:key  redis:reply_end    hone:unit_end
 *
 * One command runs at a time. The units of commands that have ended are detached
 * from the thread until the event loop writes all replies.
 */
#ifndef HONE_REDIS_REQUESTS_H
#define HONE_REDIS_REQUESTS_H

#include <stdbool.h>

#include "instrument/hone.h"
#include "instrument/redis/redis_api.h"
#include "instrument/redis/redis_names.h"

/* A command begins that came with the context *c; *f is without the wrapper already. Begins a unit of
 * the sender's request, or, if the sender does not use Hone, a request of type "redis.<command>".
 * False, without any effect: it is not sampled. */
bool request_begins(
    struct redis_filtered *f, const struct hone_carrier *c, const struct name *name);

/* Whether a traced command is running; the calls below have no effect otherwise, except for
 * request_loses_key(), which requires it. request_calls(): its script calls a command.
 * request_loses_key(): a key has expired or was evicted. request_command_ends(): it has ended. */
bool request_runs(void);
void request_calls(struct redis_filtered *f, const char *name, size_t length);
void request_loses_key(bool evicted);
void request_command_ends(void);

/* The replies are about to be written: ends all pending units. `redis`: a context to look up keys with. */
void requests_leave(struct redis *redis);

#endif

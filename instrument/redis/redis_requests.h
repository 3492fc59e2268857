/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The requests that are in this Redis.
 *
 *	begins: hone:unit_begin    redis:queue  redis:command_begin
 *	                           (redis:call, of a script's commands)
 *	command ends:              redis:command_end  redis:reply_begin
 *	replies leave:             redis:key  redis:reply_end    hone:unit_end
 *
 * One command runs at a time; those that are done wait, with their units off
 * the thread, until the event loop writes all replies at once.
 */
#ifndef HONE_REDIS_REQUESTS_H
#define HONE_REDIS_REQUESTS_H

#include <stdbool.h>

#include "instrument/hone.h"
#include "instrument/redis/redis_api.h"
#include "instrument/redis/redis_names.h"

/* A command begins that came with a context; without the wrapper already. False: it is not sampled,
 * and nothing is done. A sender who is not under Hone has begun no request: then one begins here,
 * of type "redis.<command>". */
bool request_begins(
    struct redis_filtered *f, const struct hone_carrier *c, const struct name *name);

/* It is running: a script of it has called a command; a key has gone; the server has done its own
 * work. */
bool request_runs(void);
void request_calls(struct redis_filtered *f, const char *name, size_t length);
void request_loses_key(bool evicted);
void request_command_ends(void);

/* The replies are about to be written. `redis`: to look at keys. */
void requests_leave(struct redis *redis);

#endif

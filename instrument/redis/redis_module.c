/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hone_redis.so: HONE.X <traceparent> <tracestate> <command> <argument>...
 *
 * A command filter takes the first three words off before Redis looks the
 * command up. So it is Redis itself that executes what is left, for the client
 * that sent it: with its permissions, in its transaction, blocking if it blocks;
 * and what is replicated, logged and monitored is the command alone.
 *
 * A filter sees a command begin and no command end: it has ended when the next
 * one begins, or when the event loop is about to write the replies.
 */
#include <string.h>
#include <strings.h>

#include "instrument/redis/redis_api.h"
#include "instrument/redis/redis_loop.h"
#include "instrument/redis/redis_names.h"
#include "instrument/redis/redis_tp.h"
#include "instrument/redis/redis_requests.h"

enum { VERSION = 1, WORDS = 3, DEEP_MAX = 4, CONTEXT_MAX_BYTES = 4096, IDLE_MS = 1000 };

static const char WRAPPER[] = "HONE.X";

static struct redis *own; /* a context that belongs to no client */
static bool may_call; /* the command that is running may call others, that pass the filter, too */
static bool in_loop,
    used; /* the loop's events are ours; since the timer was set there was a request */
static bool hears_keys; /* we are told of keys that expire or are evicted */

__attribute__((visibility("default"))) int RedisModule_OnLoad(
    struct redis *redis, struct redis_string **args, int n);
__attribute__((visibility("default"))) int RedisModule_OnUnload(struct redis *redis);

/* ---- the event loop: its events cost every round, so they are ours only while there are requests
 * ---- */

static void
on_loop(struct redis *redis, struct redis_event event, uint64_t what, void *data)
{
	(void)event;
	(void)data;

	if (what == REDIS_AFTER_SLEEP) {
		request_command_ends();
		loop_woke();
		return;
	}
	request_command_ends();
	loop_sleeps();
	requests_leave(redis);
	may_call = false;
}

static void
leave_loop(struct redis *redis)
{
	static const struct redis_event LOOP = { REDIS_LOOP, 1 };

	api.SubscribeToServerEvent(redis, LOOP, NULL);
	in_loop = false;
	loop = (struct loop){
		0
	}; /* what runs now has no end that we shall see: it must not count as the longest, later */
}

static void
on_timer(struct redis *redis, void *data)
{
	(void)data;

	if (used)
		api.CreateTimer(own, IDLE_MS, on_timer, NULL);
	else
		leave_loop(redis);
	used = false;
}

static void
enter_loop(void)
{
	static const struct redis_event LOOP = { REDIS_LOOP, 1 };

	used = true;
	if (in_loop)
		return;
	in_loop = true;
	api.SubscribeToServerEvent(own, LOOP, on_loop);
	api.CreateTimer(own, IDLE_MS, on_timer, NULL);
}

/* ---- the filter ---- */

static bool
is_wrapper(const char *word, size_t length)
{
	return length == sizeof WRAPPER - 1 && (word[4] == '.') &&
	       strncasecmp(word, WRAPPER, length) == 0;
}

/* EVAL, EVALSHA, FCALL and their kin; EXEC may execute one. */
static bool
is_script(const char *word, size_t length)
{
	return length >= 4 && ((word[0] | 32) == 'e' || (word[0] | 32) == 'f') &&
	       (strncasecmp(word, "eval", 4) == 0 || strncasecmp(word, "exec", 4) == 0 ||
		   strncasecmp(word, "fcall", 5) == 0);
}

/* NULL if it is nothing that hone_carrier_read() should read: with a 0 inside, or far too long. */
static const char *
context_word(struct redis_filtered *f, int at)
{
	size_t length;
	const char *word = api.StringPtrLen(api.CommandFilterArgGet(f, at), &length);

	return length <= CONTEXT_MAX_BYTES && memchr(word, '\0', length) == NULL ? word : NULL;
}

/* Who wraps what is wrapped already is the nearer caller: the outer context counts. */
static const char *
unwrap(struct redis_filtered *f, size_t *length, struct hone_carrier *c)
{
	const char *word, *parent = context_word(f, 1), *state = context_word(f, 2);

	if (!hone_listening() || parent == NULL || state == NULL ||
	    hone_carrier_read(c, parent, state) != 0)
		*c = (struct hone_carrier){ 0 };
	for (int deep = 0;; deep++) {
		word = api.StringPtrLen(api.CommandFilterArgGet(f, 0), length);
		if (deep == DEEP_MAX || !is_wrapper(word, *length) ||
		    api.CommandFilterArgsCount(f) <= WORDS)
			return word;
		for (int i = 0; i < WORDS; i++)
			api.CommandFilterArgDelete(f, 0);
	}
}

/* What a client has sent behind a command that blocked it is executed when the round is over
 * already. Nobody would tell its end but the next round's beginning, which may be long after: so it
 * is left out. */
static void
filter(struct redis_filtered *f)
{
	struct hone_carrier c = { 0 };
	size_t length;
	const char *word = api.StringPtrLen(api.CommandFilterArgGet(f, 0), &length);
	bool wrapped = is_wrapper(word, length) && api.CommandFilterArgsCount(f) > WORDS;

	if (wrapped)
		word = unwrap(f, &length, &c);
	if (may_call && (api.GetContextFlags(NULL) & REDIS_IN_SCRIPT) != 0) {
		request_calls(f, word, length);
		return;
	}
	may_call = is_script(word, length);
	if (loop.closed)
		return;
	request_command_ends();
	loop_begins(word, length);
	if (c.trace_id != 0 && request_begins(f, &c, names_find(word, length)))
		enter_loop();
}

/* ---- the command: what the filter leaves alone, and what asks where the keys are ---- */

static int
tell_keys(struct redis *redis, struct redis_string **args, int n)
{
	int keys = 0, *flags = NULL, *at = NULL;

	if (n > WORDS)
		at = api.GetCommandKeysWithFlags(redis, args + WORDS, n - WORDS, &keys, &flags);
	for (int i = 0; at != NULL && i < keys; i++)
		api.KeyAtPosWithFlags(redis, at[i] + WORDS, flags[i]);
	if (at != NULL) {
		api.Free(at);
		api.Free(flags);
	}
	return REDIS_OK;
}

static int
command(struct redis *redis, struct redis_string **args, int n)
{
	if (api.IsKeysPositionRequest(redis))
		return tell_keys(redis, args, n);
	if (n <= WORDS)
		return api.WrongArity(redis);
	return api.ReplyWithError(redis, "ERR HONE.X in HONE.X, too deep");
}

/* ---- the server's own work ---- */

static int
on_key(struct redis *redis, int type, const char *event, struct redis_string *key)
{
	(void)redis, (void)event, (void)key;

	if (request_runs())
		request_loses_key(type == REDIS_EVICTED);
	if (type == REDIS_EVICTED)
		lttng_ust_tracepoint(redis, evicted);
	else
		lttng_ust_tracepoint(redis, expired);
	return REDIS_OK;
}

/* Each write costs 20 ns more from the moment that somebody wants to hear of keys, and there is no
 * way back; so not before somebody listens to what tells of them. */
static void
listen_to_keys(struct redis *redis)
{
	if (!hears_keys && (lttng_ust_tracepoint_enabled(redis, command_end) ||
			       lttng_ust_tracepoint_enabled(redis, expired) ||
			       lttng_ust_tracepoint_enabled(redis, evicted)))
		hears_keys = api.SubscribeToKeyspaceEvents(
				 redis, REDIS_EXPIRED | REDIS_EVICTED, on_key) == REDIS_OK;
}

static void
on_cron(struct redis *redis, struct redis_event event, uint64_t what, void *data)
{
	(void)event, (void)what, (void)data;

	loop.cron = true;
	lttng_ust_tracepoint(redis, cron);
	listen_to_keys(redis);
}

static void
on_fork(struct redis *redis, struct redis_event event, uint64_t what, void *data)
{
	(void)redis, (void)event, (void)data;

	if (what == REDIS_BEGINS)
		lttng_ust_tracepoint(redis, fork);
	else
		lttng_ust_tracepoint(redis, child_gone);
}

static void
on_flush(struct redis *redis, struct redis_event event, uint64_t what, void *data)
{
	(void)redis, (void)event, (void)data;

	if (what == REDIS_BEGINS)
		lttng_ust_tracepoint(redis, flush_begin);
	else
		lttng_ust_tracepoint(redis, flush_end);
}

static void
on_loading(struct redis *redis, struct redis_event event, uint64_t what, void *data)
{
	(void)redis, (void)event, (void)data;

	if (what < REDIS_LOADED)
		lttng_ust_tracepoint(redis, load_begin);
	else
		lttng_ust_tracepoint(redis, load_end);
}

/* ---- coming and going ---- */

static int
learn_names(struct redis *redis)
{
	struct redis_reply *list = api.Call(redis, "COMMAND", "c", "LIST");
	const char *name;
	size_t length;

	if (list == NULL)
		return REDIS_ERR;
	for (size_t i = 0; i < api.CallReplyLength(list); i++) {
		name = api.CallReplyStringPtr(api.CallReplyArrayElement(list, i), &length);
		if (name != NULL && memchr(name, '|', length) == NULL)
			names_add(name, length);
	}
	api.FreeCallReply(list);
	return REDIS_OK;
}

static int
listen_to_server(struct redis *redis)
{
	static const struct {
		uint64_t event;
		redis_event_call *call;
	} EVENTS[] = {
		{ REDIS_CRON, on_cron },
		{ REDIS_FORK, on_fork },
		{ REDIS_FLUSH, on_flush },
		{ REDIS_LOADING, on_loading },
	};

	for (size_t i = 0; i < sizeof EVENTS / sizeof EVENTS[0]; i++)
		if (api.SubscribeToServerEvent(redis, (struct redis_event){ EVENTS[i].event, 1 },
			EVENTS[i].call) != REDIS_OK)
			return REDIS_ERR;
	return REDIS_OK;
}

int
RedisModule_OnLoad(struct redis *redis, struct redis_string **args, int n)
{
	const char *lacks = api_get(redis);
	(void)args;

	if (api.SetModuleAttribs == NULL)
		return REDIS_ERR;
	api.SetModuleAttribs(redis, "hone", VERSION, REDIS_API_VERSION);
	if (lacks != NULL || n != 0) {
		if (api.Log != NULL)
			api.Log(redis, "warning",
			    lacks != NULL ? "this Redis has no %s" : "takes no arguments", lacks);
		return REDIS_ERR;
	}
	api.SetModuleOptions(redis, REDIS_SIGNALS_NO_KEYS | REDIS_BEARS_LOADING);
	if (api.CreateCommand(redis, WRAPPER, command, "write fast getkeys-api", 0, 0, 0) !=
		REDIS_OK ||
	    learn_names(redis) != REDIS_OK || listen_to_server(redis) != REDIS_OK)
		return REDIS_ERR;
	own = api.GetDetachedThreadSafeContext(redis);
	return api.RegisterCommandFilter(redis, filter, 0) != NULL ? REDIS_OK : REDIS_ERR;
}

/* The library stays in memory, since LTTng knows its tracepoints: it may be loaded again. Redis
 * lets go of the filter, the events and the command by itself; while the timer is set, it does not
 * unload us. */
int
RedisModule_OnUnload(struct redis *redis)
{
	request_command_ends();
	requests_leave(redis);
	names_clear();
	api.FreeThreadSafeContext(own);
	may_call = hears_keys = false;
	return REDIS_OK;
}

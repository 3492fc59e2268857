/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hone_redis.so: HONE.X <traceparent> <tracestate> <command> <argument>...
 *
 * A command filter removes the first three words before Redis looks the command
 * up. So Redis itself executes the rest for the client that sent it, with the
 * client's permissions, in its transaction, and blocking if it blocks; Redis
 * replicates, logs and monitors the command without the three words.
 *
 * A filter is called when a command begins, but not when it ends: a command has
 * ended when the next one begins, or when the event loop is about to write replies.
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
static bool may_call;     /* the running command may call others, which the filter sees, too */
static bool in_loop;      /* subscribed to the loop's events */
static bool used;         /* a request came since the timer was set */
static bool hears_keys;   /* subscribed to events of expired and evicted keys */

__attribute__((visibility("default"))) int RedisModule_OnLoad(
    struct redis *redis, struct redis_string **args, int n);
__attribute__((visibility("default"))) int RedisModule_OnUnload(struct redis *redis);

/* ---- the event loop. Its events cost time in every iteration, so the module is subscribed only while
 * requests come ---- */

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
	/* Of the command that runs now no end will be seen: it must not count as the longest one later. */
	loop = (struct loop){ 0 };
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

/* EVAL, EVALSHA, FCALL and their variants; EXEC, since a transaction may contain one. */
static bool
is_script(const char *word, size_t length)
{
	return length >= 4 && ((word[0] | 32) == 'e' || (word[0] | 32) == 'f') &&
	       (strncasecmp(word, "eval", 4) == 0 || strncasecmp(word, "exec", 4) == 0 ||
		   strncasecmp(word, "fcall", 5) == 0);
}

/* The argument as a C string that hone_carrier_read() may read; NULL: it contains a 0 byte, or has
 * more than CONTEXT_MAX_BYTES. */
static const char *
context_word(struct redis_filtered *f, int at)
{
	size_t length;
	const char *word = api.StringPtrLen(api.CommandFilterArgGet(f, at), &length);

	return length <= CONTEXT_MAX_BYTES && memchr(word, '\0', length) == NULL ? word : NULL;
}

/* Removes all wrappers, up to DEEP_MAX. *c is the context of the outermost one, since its sender is the
 * direct caller; all zeroes if it is invalid, or if no tracer records units. Returns the name of the
 * command, *length bytes. */
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

/* Commands that a client sent after one that blocked it are executed after the before-sleep event
 * (loop.closed). Their end would be seen only when the next iteration begins, which may be much
 * later, so they are not traced. */
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

/* ---- the command HONE.X itself: Redis calls it for key positions, and where the filter removed nothing ---- */

static int
report_key_positions(struct redis *redis, struct redis_string **args, int n)
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
		return report_key_positions(redis, args, n);
	if (n <= WORDS)
		return api.WrongArity(redis);
	return api.ReplyWithError(redis, "ERR HONE.X in HONE.X, too deep");
}

/* ---- events of the server ---- */

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

/* The subscription makes each write 20 ns slower and cannot be undone, so it waits until a tracepoint
 * that depends on it is enabled. */
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

/* ---- load and unload ---- */

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

/* Redis itself removes the filter, the event subscriptions and the command, and does not unload a
 * module while its timer is set. The library stays in memory (linked with -z nodelete) since LTTng
 * keeps pointers to its tracepoints; so it may be loaded again, and the state is reset here. */
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

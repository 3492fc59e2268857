/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cache.h"

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include "instrument/hone.h"

/* WRAP: words reserved before a command for HONE.X, traceparent, tracestate. */
enum { WRAP = 3, WORDS = WRAP + 6 };

struct redis_command {
	const char *word[WORDS];
	size_t length[WORDS];
	int n;
};

static const char *path;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key_of_thread;
static atomic_int wraps; /* whether Redis has HONE.X: 1 yes, -1 no, 0 not known yet */

static void
end_connection(void *redis)
{
	redisFree(redis);
}

static void
begin(void)
{
	pthread_key_create(&key_of_thread, end_connection);
}

void
cache_use(const char *socket_path)
{
	path = socket_path;
}

static redisContext *
connection(void)
{
	struct timeval limit = { 5, 0 };
	redisContext *redis;

	pthread_once(&once, begin);
	redis = pthread_getspecific(key_of_thread);
	if (redis && redis->err) {
		redisFree(redis);
		redis = NULL;
	}
	if (!redis)
		redis = redisConnectUnixWithTimeout(path, limit);
	pthread_setspecific(key_of_thread, redis);
	return redis;
}

/* ---- commands, with the context of the request ---------------------------------- */

static void
command_word(struct redis_command *c, const char *word, size_t length)
{
	c->word[c->n] = word;
	c->length[c->n++] = length;
}

static struct redis_command
command(const char *verb, const char *key)
{
	struct redis_command c = { .n = WRAP };

	command_word(&c, verb, strlen(verb));
	command_word(&c, key, strlen(key));
	return c;
}

static int
redis_wraps(redisContext *redis)
{
	int known = atomic_load(&wraps);
	redisReply *reply;

	if (known)
		return known > 0;
	reply = redisCommand(redis, "COMMAND INFO HONE.X");
	known = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 &&
	                reply->element[0]->type == REDIS_REPLY_ARRAY
	            ? 1
	            : -1;
	if (reply)
		atomic_store(&wraps, known);
	freeReplyObject(reply);
	return known > 0;
}

/* Sends the command, after "HONE.X traceparent tracestate" if there is a request and Redis has the module. */
static redisReply *
send_command(redisContext *redis, struct redis_command *c, const struct hone_carrier *link)
{
	char parent[HONE_TRACEPARENT_SIZE], state[HONE_TRACESTATE_SIZE];
	int from = WRAP, n = c->n;

	if (hone_traceparent(link, parent) && hone_tracestate(link, state) && redis_wraps(redis)) {
		from = c->n = 0;
		command_word(c, "HONE.X", 6);
		command_word(c, parent, strlen(parent));
		command_word(c, state, strlen(state));
		c->n = n;
	}
	return redisCommandArgv(redis, n - from, c->word + from, c->length + from);
}

/* Runs a command as work called `name`. Tries twice, since Redis may have been restarted: the second
 * try reconnects. NULL: failed, with a message on stderr. */
static redisReply *
run(const char *name, struct redis_command c)
{
	redisContext *redis = NULL;
	redisReply *reply = NULL;
	struct hone_carrier link;

	for (int attempt = 0; attempt < 2 && !reply; attempt++) {
		redis = connection();
		if (!redis || redis->err)
			continue;
		hone_fork(name, &link);
		reply = send_command(redis, &c, &link);
		hone_join(&link, name);
	}
	if (!reply)
		fprintf(stderr, "%s: %s\n", path, redis ? redis->errstr : "out of memory");
	return reply;
}

static int
settle(redisReply *reply)
{
	int failed = !reply || reply->type == REDIS_REPLY_ERROR;

	if (reply && failed)
		fprintf(stderr, "%s: %s\n", path, reply->str);
	freeReplyObject(reply);
	return failed ? -1 : 0;
}

/* ---- the operations of the cache ------------------------------------------------------------- */

int
cache_get(const char *key, struct shop_text *value)
{
	redisReply *reply = run("cache.get", command("GET", key));
	int found = reply && reply->type == REDIS_REPLY_STRING;

	if (found)
		text_add(value, reply->str, (size_t)reply->len);
	return settle(reply) == 0 ? found : -1;
}

int
cache_put(const char *key, const char *value, size_t length, int seconds)
{
	struct redis_command c = command("SET", key);
	char expiry[16];

	command_word(&c, value, length);
	if (seconds) {
		command_word(&c, "EX", 2);
		command_word(&c, expiry, (size_t)snprintf(expiry, sizeof expiry, "%d", seconds));
	}
	return settle(run("cache.put", c));
}

int
cache_drop(const char *key)
{
	return settle(run("cache.drop", command("DEL", key)));
}

int
cache_list_has(const char *key, const char *value)
{
	struct redis_command c = command("LPOS", key);
	redisReply *reply;
	int found;

	command_word(&c, value, strlen(value));
	reply = run("cache.list", c);
	found = reply && reply->type == REDIS_REPLY_INTEGER;
	return settle(reply) == 0 ? found : -1;
}

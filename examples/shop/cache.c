/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cache.h"

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/time.h>

static const char *path;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key_of_thread;

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

/* A second try reconnects: Redis may have been started anew in between. */
static redisReply *
command(const char *format, ...)
{
	redisContext *redis = NULL;
	redisReply *reply = NULL;
	va_list args;

	for (int attempt = 0; attempt < 2 && !reply; attempt++) {
		redis = connection();
		if (!redis || redis->err)
			continue;
		va_start(args, format);
		reply = redisvCommand(redis, format, args);
		va_end(args);
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

int
cache_get(const char *key, struct text *value)
{
	redisReply *reply = command("GET %s", key);
	int found = reply && reply->type == REDIS_REPLY_STRING;

	if (found)
		text_add(value, reply->str, (size_t)reply->len);
	return settle(reply) == 0 ? found : -1;
}

int
cache_put(const char *key, const char *value, size_t length, int seconds)
{
	if (seconds)
		return settle(command("SET %s %b EX %d", key, value, length, seconds));
	return settle(command("SET %s %b", key, value, length));
}

int
cache_drop(const char *key)
{
	return settle(command("DEL %s", key));
}

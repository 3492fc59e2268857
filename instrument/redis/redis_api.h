/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of Redis' module API that we use. Debian has no redismodule.h to
 * include. The API is found by name, through the first word of the context
 * that a module is loaded with, and is stable: what is declared here is what
 * Redis 7.0 documents, and later versions keep.
 */
#ifndef HONE_REDIS_API_H
#define HONE_REDIS_API_H

#include <stddef.h>
#include <stdint.h>

struct redis; /* a context: whose name, client and database a call is about */
struct redis_string;
struct redis_key;
struct redis_reply;
struct redis_filter;
struct redis_filtered; /* a command on its way to execution */

/* An event and the version of its data. By value, as the API has it. */
struct redis_event {
	uint64_t id, version;
};

typedef int redis_command(struct redis *, struct redis_string **, int);
typedef void redis_filter_call(struct redis_filtered *);
typedef void redis_event_call(struct redis *, struct redis_event, uint64_t what, void *data);
typedef int redis_key_call(struct redis *, int type, const char *event, struct redis_string *key);
typedef void redis_timer_call(struct redis *, void *data);

/* The numbers are Redis'. */
enum { REDIS_OK = 0, REDIS_ERR = 1, REDIS_API_VERSION = 1 };
enum { REDIS_IN_SCRIPT = 1 << 0 };                                     /* GetContextFlags */
enum { REDIS_SIGNALS_NO_KEYS = 1 << 1, REDIS_BEARS_LOADING = 1 << 2 }; /* SetModuleOptions */
enum { REDIS_KEY_WRITE = 1 << 1, REDIS_KEY_UNTOUCHED = 1 << 16 };      /* OpenKey */
enum { REDIS_EXPIRED = 1 << 8, REDIS_EVICTED = 1 << 9 }; /* SubscribeToKeyspaceEvents */
enum {
	REDIS_FLUSH = 2,
	REDIS_LOADING = 3,
	REDIS_CRON = 8,
	REDIS_FORK = 13,
	REDIS_LOOP = 15
};                                                      /* events, */
enum { REDIS_BEGINS = 0, REDIS_ENDS = 1 };              /* what of a flush or a fork has come, */
enum { REDIS_LOADED = 3, REDIS_LOAD_FAILED = 4 };       /* or of loading (less: it begins), */
enum { REDIS_BEFORE_SLEEP = 0, REDIS_AFTER_SLEEP = 1 }; /* or of the loop */

struct redis_api {
#define API(result, name, arguments) result(*name) arguments;
#include "instrument/redis/redis_api.tbl.h"
#undef API
};
extern struct redis_api api;

/* Fills `api`. NULL, or the name of what this Redis lacks. */
const char *api_get(struct redis *);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of Redis' module API that this module uses, declared here since Debian
 * packages no redismodule.h. Functions are found by name, with the function whose
 * address is the first word of the context passed to RedisModule_OnLoad(). The API
 * is stable: the declarations are those that Redis 7.0 documents, and later
 * versions keep them.
 */
#ifndef HONE_REDIS_API_H
#define HONE_REDIS_API_H

#include <stddef.h>
#include <stdint.h>

struct redis; /* a context: the module, client and database that a call refers to */
struct redis_string;
struct redis_key;
struct redis_reply;
struct redis_filter;
struct redis_filtered; /* a command before its execution, as a command filter receives it */

/* An event and the version of its data. The API passes it by value. */
struct redis_event {
	uint64_t id, version;
};

typedef int redis_command(struct redis *, struct redis_string **, int);
typedef void redis_filter_call(struct redis_filtered *);
typedef void redis_event_call(struct redis *, struct redis_event, uint64_t what, void *data);
typedef int redis_key_call(struct redis *, int type, const char *event, struct redis_string *key);
typedef void redis_timer_call(struct redis *, void *data);

/* The numbers are defined by Redis' API. */
enum { REDIS_OK = 0, REDIS_ERR = 1, REDIS_API_VERSION = 1 };
enum { REDIS_IN_SCRIPT = 1 << 0 };                                     /* GetContextFlags */
enum { REDIS_SIGNALS_NO_KEYS = 1 << 1, REDIS_BEARS_LOADING = 1 << 2 }; /* SetModuleOptions */
enum { REDIS_KEY_WRITE = 1 << 1, REDIS_KEY_UNTOUCHED = 1 << 16 };      /* OpenKey */
enum { REDIS_EXPIRED = 1 << 8, REDIS_EVICTED = 1 << 9 }; /* SubscribeToKeyspaceEvents */
/* Server events. */
enum { REDIS_FLUSH = 2, REDIS_LOADING = 3, REDIS_CRON = 8, REDIS_FORK = 13, REDIS_LOOP = 15 };
/* Their subevents: of a flush or a fork; of loading (smaller numbers: it begins); of the loop. */
enum { REDIS_BEGINS = 0, REDIS_ENDS = 1 };
enum { REDIS_LOADED = 3, REDIS_LOAD_FAILED = 4 };
enum { REDIS_BEFORE_SLEEP = 0, REDIS_AFTER_SLEEP = 1 };

struct redis_api {
#define API(result, name, arguments) result(*name) arguments;
#include "instrument/redis/redis_api.tbl.h"
#undef API
};
extern struct redis_api api;

/* Sets all members of `api`, with the context of RedisModule_OnLoad(). Returns NULL, or the name of
 * the first function that this Redis does not have (a literal); the members from it on are then not
 * set. */
const char *api_get(struct redis *);

#endif

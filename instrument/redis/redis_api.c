/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "instrument/redis/redis_api.h"

struct redis_api api;

static const struct {
	const char *name;
	size_t at;
} CALLS[] = {
#define API(result, name, arguments) { "RedisModule_" #name, offsetof(struct redis_api, name) },
#include "instrument/redis/redis_api.tbl.h"
#undef API
};

const char *
api_get(struct redis *redis)
{
	int (*get)(const char *name, void *call) = *(int (**)(const char *, void *))redis;

	for (size_t i = 0; i < sizeof CALLS / sizeof CALLS[0]; i++)
		if (get(CALLS[i].name, (char *)&api + CALLS[i].at) != REDIS_OK)
			return CALLS[i].name;
	return NULL;
}

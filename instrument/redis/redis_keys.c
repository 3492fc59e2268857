/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "instrument/redis/redis_keys.h"

#include "instrument/redis/redis_tp.h"

/* Tries databases in order, as long as there is one of that number. */
enum { ARGS_MAX = 256, DATABASES_MAX = 64 };

static const char *const TYPES[] = { "none", "string", "list", "hash", "set", "zset", "module",
	"stream" };

struct found {
	const char *type;
	uint64_t length, db_keys;
};

void
key_find(struct first_key *k, struct redis_filtered *f)
{
	static struct redis_string *args[ARGS_MAX];
	int n = api.CommandFilterArgsCount(f), *at, keys = 0;

	for (int i = 0; i < n && i < ARGS_MAX; i++)
		args[i] = api.CommandFilterArgGet(f, i);
	at = api.GetCommandKeysWithFlags(NULL, args, n < ARGS_MAX ? n : ARGS_MAX, &keys, NULL);
	if (at == NULL)
		return;
	k->name = api.HoldString(NULL, args[at[0]]);
	k->keys = n <= ARGS_MAX ? keys : -1;
	api.Free(at);
}

/* Opened for writing, a key that is missing or read counts neither as a miss nor as a hit; nothing
 * is written. */
static void
look(struct found *found, struct redis *redis, struct redis_string *name)
{
	struct redis_key *key = api.OpenKey(redis, name, REDIS_KEY_WRITE | REDIS_KEY_UNTOUCHED);
	int type = api.KeyType(key);

	if (type > 0 && type < (int)(sizeof TYPES / sizeof TYPES[0])) {
		found->type = found->db_keys == 0 ? TYPES[type] : "ambiguous";
		found->length = api.ValueLength(key);
		found->db_keys = api.DbSize(redis);
	}
	api.CloseKey(key);
}

/* Which database a client has selected, Redis tells nobody on the way of a
 * command: it is the one that has the key. */
void
key_tell(struct first_key *k, struct redis *redis)
{
	struct found found = { TYPES[0], 0, 0 };

	if (k->name == NULL)
		return;
	for (int db = 0; db < DATABASES_MAX && api.SelectDb(redis, db) == REDIS_OK; db++)
		if (api.DbSize(redis) > 0)
			look(&found, redis, k->name);
	lttng_ust_tracepoint(redis, key, found.type, found.length, k->keys, found.db_keys);
	key_forget(k);
}

void
key_forget(struct first_key *k)
{
	if (k->name != NULL)
		api.FreeString(NULL, k->name);
	k->name = NULL;
}

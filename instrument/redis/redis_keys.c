/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "instrument/redis/redis_keys.h"

#include "instrument/redis/redis_tp.h"

/* Databases are tried from number 0 up to the last one that exists, but at most DATABASES_MAX. Of a command with
 * more than ARGS_MAX arguments the keys are not counted. */
enum { ARGS_MAX = 256, DATABASES_MAX = 64 };

static const char *const TYPES[] = { "none", "string", "list", "hash", "set", "zset", "module",
	"stream" };

/* What the databases contain under the key's name. */
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

/* Adds what the selected database contains under `name` to *found. The key is opened for writing,
 * although nothing is written, since Redis then counts neither a keyspace hit nor a miss. */
static void
key_look_up(struct found *found, struct redis *redis, struct redis_string *name)
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

/* Redis does not tell a command filter which database the client has selected, so
 * all are searched for the key; more than one that contains it: type "ambiguous". */
void
key_emit(struct first_key *k, struct redis *redis)
{
	struct found found = { TYPES[0], 0, 0 };

	if (k->name == NULL)
		return;
	for (int db = 0; db < DATABASES_MAX && api.SelectDb(redis, db) == REDIS_OK; db++)
		if (api.DbSize(redis) > 0)
			key_look_up(&found, redis, k->name);
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

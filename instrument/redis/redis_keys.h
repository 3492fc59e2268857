/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first key of a command, and the size of its value. The value is looked up
 * after the command, just before its reply is sent: a look-up in a command filter,
 * before the command, could make Redis expire the key.
 */
#ifndef HONE_REDIS_KEYS_H
#define HONE_REDIS_KEYS_H

#include "instrument/redis/redis_api.h"

/* All zeroes: none. Holds a reference to the key's name until key_emit() or key_forget(). */
struct first_key {
	struct redis_string *name;
	int keys; /* number of keys of the command; -1: it has too many arguments to count them */
};

/* Sets *k, which was all zeroes, to the first key of a command; leaves it so where the command has
 * none. O(arguments), up to 256. */
void key_find(struct first_key *k, struct redis_filtered *f);

/* Emits redis:key if *k has a key, and releases it. Cost: one look-up in each non-empty database (at most
 * 64). Changes the selected database of `redis`. */
void key_emit(struct first_key *k, struct redis *redis);
/* Releases the name. */
void key_forget(struct first_key *k);

#endif

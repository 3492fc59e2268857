/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first key of a command, and how big its value is. It is looked up when the
 * command is done, just before its reply leaves: while a command is on its way to
 * execution Redis must not find out that a key has expired.
 */
#ifndef HONE_REDIS_KEYS_H
#define HONE_REDIS_KEYS_H

#include "instrument/redis/redis_api.h"

/* All zeroes: none. Holds the key's name until it has been told, or forgotten. */
struct first_key {
	struct redis_string *name;
	int keys; /* of the command; -1: more than are counted */
};

void key_find(struct first_key *k, struct redis_filtered *f);

/* Emits redis:key, if there is one. O(1) for each database. */
void key_tell(struct first_key *k, struct redis *redis);
void key_forget(struct first_key *k);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names of commands. A client may send any name, but the names of units must be few and must not be freed: they are
 * the names of the commands that Redis had when the module was loaded, or "other".
 */
#ifndef HONE_REDIS_NAMES_H
#define HONE_REDIS_NAMES_H

#include <stddef.h>

/* The command ("get"), and the type of a request that it begins ("redis.get"). */
struct name {
	const char *text, *type;
};

/* Adds a name of `length` bytes, in lower case. Without effect: an empty name, one of more than 40 bytes, one that
 * exists, or no space (1024 names, 32 KiB). Only while the module is loaded. */
void names_add(const char *name, size_t length);
void names_clear(void);

/* The entry of a name in any case, or "other"; never NULL. Valid until names_clear(). Cost: one pass over the name, and
 * usually one comparison. */
const struct name *names_find(const char *name, size_t length);

#endif

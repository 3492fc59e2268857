/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names of commands. A client may send any name, but names of units must be few and permanent: they are those that
 * Redis had when the module was loaded, or "other".
 */
#ifndef HONE_REDIS_NAMES_H
#define HONE_REDIS_NAMES_H

#include <stddef.h>

/* "get", and as the type of a request that begins here "redis.get". */
struct name {
	const char *text, *type;
};

/* Adds one, in whatever case; what does not fit is not added. While loading only: never later. */
void names_add(const char *name, size_t length);
void names_clear(void);

/* Never NULL. Costs a pass over the name, and mostly one comparison. */
const struct name *names_find(const char *name, size_t length);

#endif

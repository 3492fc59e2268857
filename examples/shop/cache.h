/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Redis, over its Unix socket; each thread has a connection of its own. */
#ifndef SHOP_CACHE_H
#define SHOP_CACHE_H

#include "text.h"

void cache_use(const char *socket_path);	/* once, at start */

/* 1: found, added to *value. 0: not there. -1: Redis does not answer; said on stderr. */
int cache_get(const char *key, struct text *value);
/* Stored for `seconds`, 0: for good. 0, or -1 as above. */
int cache_put(const char *key, const char *value, size_t length, int seconds);
int cache_drop(const char *key);

#endif

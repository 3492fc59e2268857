/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Redis, over its Unix socket; each thread has a connection of its own. Within a
 * request each command is work handed on and joined, "cache.get" and so on;
 * where Redis has Hone's module, the request goes along (HONE.X).
 */
#ifndef SHOP_CACHE_H
#define SHOP_CACHE_H

#include "text.h"

void cache_use(const char *socket_path); /* once, at start */

/* 1: found, added to *value. 0: not there. -1: Redis does not answer; said on stderr. */
int cache_get(const char *key, struct text *value);
/* Stored for `seconds`, 0: for good. 0, or -1 as above. */
int cache_put(const char *key, const char *value, size_t length, int seconds);
int cache_drop(const char *key);
/* 1: the list has this value, 0: not, or there is no such list. -1 as above. */
int cache_list_has(const char *key, const char *value);

#endif

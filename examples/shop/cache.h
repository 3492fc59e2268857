/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A client of Redis over its Unix socket, with one connection for each thread. Each
 * command is work that is handed over and joined ("cache.get" and others); if Redis
 * has Hone's module, the command carries the context of the request (HONE.X).
 */
#ifndef SHOP_CACHE_H
#define SHOP_CACHE_H

#include "text.h"

void cache_use(const char *socket_path); /* once, at start */

/* 1: found, and appended to *value. 0: not found. -1: failed, with a message on stderr. */
int cache_get(const char *key, struct shop_text *value);
/* Stores a value for `seconds`; 0: without expiry. 0, or -1 as above. */
int cache_put(const char *key, const char *value, size_t length, int seconds);
int cache_drop(const char *key);
/* 1: the list contains the value. 0: it does not, or there is no such list. -1 as above. */
int cache_list_has(const char *key, const char *value);

#endif

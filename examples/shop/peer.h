/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls to the other services: HTTP with connections that are kept, each thread its own. */
#ifndef SHOP_PEER_H
#define SHOP_PEER_H

#include "text.h"

/*
 * Calls `method` on 127.0.0.1:`port` and waits for the answer, within a request
 * as work handed on and joined under `name`. `body` may be NULL. `path` with
 * what follows is like printf's. The answer is added to *reply. Returns the
 * HTTP status, or 502 when there was no answer; said on stderr.
 */
int peer_call(const char *port, const char *name, const char *method, const struct text *body,
    struct text *reply, const char *path, ...) __attribute__((format(printf, 6, 7)));

#endif

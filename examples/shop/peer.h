/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls to the other services by HTTP, with persistent connections of each thread. */
#ifndef SHOP_PEER_H
#define SHOP_PEER_H

#include "text.h"

/*
 * Calls `method` on 127.0.0.1:`port` and waits for the answer: work called `name`
 * that is handed over and joined. `body` may be NULL. `path` is a format of printf().
 * Appends the answer to *reply. Returns the HTTP status, or 502 without an answer,
 * with a message on stderr.
 */
int peer_call(const char *port, const char *name, const char *method, const struct shop_text *body,
    struct shop_text *reply, const char *path, ...) __attribute__((format(printf, 6, 7)));

#endif

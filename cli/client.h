/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks honed, and waits for the answer. docs/questions.md says what can be asked. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <jansson.h>

#include "base/err.h"

struct client;

#define CLIENT_SOCKET "ipc:///run/hone/honed.sock"

/* ERR_PEER: nobody there; words say how to start honed. */
int client_open(struct client **ret, const char *url, int timeout_ms, struct err *e);
void client_close(struct client *c); /* NULL is fine */

/* *answer is the caller's to json_decref(). An answer that says "ok": false is a failure, with its
 * words (*answer is then the answer too); all else leaves NULL. The question is not taken. */
int client_ask(struct client *c, const json_t *question, json_t **answer, struct err *e);

#endif

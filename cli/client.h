/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A connection to honed: sends a question, waits for the answer. docs/questions.md lists them. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <jansson.h>

#include "base/err.h"

struct client;

#define CLIENT_SOCKET "ipc:///run/hone/honed.sock"

/* Connects to honed within timeout_ms, which also limits each later call. url must stay valid until
 * client_close(). ERR_PEER: no connection; the text says how to start honed or who has access.
 * ERR_MEMORY. */
int client_open(struct client **ret, const char *url, int timeout_ms, struct err *e);
void client_close(struct client *c); /* NULL is fine */

/*
 * Sends the question, which stays the caller's, and waits for the answer. If honed closes the connection before it has read anything,
 * since too many others say nothing, it connects and sends again, three times at most. 0: *answer is the
 * caller's to json_decref(). ERR_PEER with the text of "error": the answer has "ok": false, and
 * *answer is the caller's, too. ERR_VERSION, and ERR_INPUT for an answer that is not an object,
 * also leave *answer to the caller. Other errors leave it NULL.
 */
int client_ask(struct client *c, const json_t *question, json_t **answer, struct err *e);

#endif

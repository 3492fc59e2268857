/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is posted to /alerts: who may, how much, how often, and what comes of it. HTTP itself is the door's. */
#ifndef CONTROLPLANE_HONED_ALERTS_RECEIVER_H
#define CONTROLPLANE_HONED_ALERTS_RECEIVER_H

#include "base/buf.h"
#include "controlplane/engine/engine.h"
#include "controlplane/server/bucket.h"

enum { RECEIVER_BURST = 10, RECEIVER_PER_SECOND = 1 };

struct alerts_receiver {
	const char *token_path; /* watch.receive_token, borrowed; "": nothing is received */
	struct bucket pace;
};

struct alerts_post { /* the headers; NULL: was not sent */
	const char *method, *authorization, *content_type, *content_length;
};

void alerts_receiver_init(struct alerts_receiver *r, const char *token_path, struct mono now);

/*
 * 0: the body is to be read; else the status of the refusal, the first that holds:
 *
 * 404 nothing is received; 405 it is no POST; 503 the file of the token is unusable (*e says why, for the log); 401 the token is not shown;
 * 415 it is not JSON; 413 it is longer than RECEIVED_BYTES_MAX; 429 posts come too fast.
 *
 * Reads a file of a few bytes. A post that shows no token takes nothing from what may come.
 */
unsigned alerts_receiver_admit(
    struct alerts_receiver *r, const struct alerts_post *p, struct mono now, struct err *e);

/* 200 or 400 and an answer in JSON for the body of a post; 500: out of memory, and no answer. Starts diagnoses: received_alerts.h. */
unsigned alerts_receiver_take(
    const struct buf *body, struct engine *g, struct mono now, struct wall when, char **answer);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an alert is to those outside: hone alerts, a webhook, a command, an Alertmanager. */
#ifndef CONTROLPLANE_ANSWERS_ALERT_MESSAGE_H
#define CONTROLPLANE_ANSWERS_ALERT_MESSAGE_H

#include <jansson.h>

#include "controlplane/answers/answer_context.h"

/* Whether there is more to wait for before the alert is told: its diagnosis has not ended. */
bool alert_is_diagnosed_now(const struct forest *f, const struct alert *a);

/* An alert as in the answer to "alerts"; the caller's. */
json_t *alert_json(const struct engine *g, const struct alert *a);

/* JSON for a webhook and a command: {"version", "alert", "run"}; run: as in the answer to "forest", null: none was started. The caller's
 * to free(); NULL: out of memory. */
char *alert_message(const struct engine *g, const struct forest *f, const struct alert *a,
    const struct answer_context *c);

/* Alerts as Alertmanager's POST /api/v2/alerts takes them: of `n`, those that fire and those that ended after `since`. *count: how many.
 * The caller's to free(); NULL: out of memory. */
char *alert_manager_message(const struct engine *g, const struct forest *f,
    const struct alert *alerts, uint32_t n, struct wall since, uint32_t *count);

#endif

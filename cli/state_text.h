/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text of the fields in which honed tells its state (docs/questions.md): phases of runs,
 * congestion, exceeded limits, troubles of nodes, and actions of Hone. Each function appends its text
 * to *out, or nothing if the object is null; text_of_put() makes a string of it.
 */
#ifndef CLI_STATE_TEXT_H
#define CLI_STATE_TEXT_H

#include <jansson.h>

#include "base/buf.h"

void congestion_text_put(struct buf *out, const json_t *congestion);
void phase_text_put(struct buf *out, const json_t *phase);
/* Of the word of `levels_held`, which is not null: why no tracepoint is on by its log level. */
const char *levels_held_text(const char *word);
void limit_text_put(struct buf *out, const json_t *over);
void trouble_text_put(struct buf *out, const json_t *trouble);
/* The part of Hone that acted, and what it did, of a row of the audit. */
void actor_text_put(struct buf *out, const json_t *row);
void action_text_put(struct buf *out, const json_t *row);

#endif

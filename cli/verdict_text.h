/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text of verdicts and reasons, made from the fields of answers (docs/questions.md): for the
 * terminal, the page and graphs alike. Appended without a final 0, not cleaned, not escaped. Of a
 * row that a Hone before schema 4 wrote, the sentence that it kept.
 */
#ifndef CLI_VERDICT_TEXT_H
#define CLI_VERDICT_TEXT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "cli/pen.h"

/* A reason by its word in o[key], with o["subject"] in place; else o["text"]; else nothing. */
void reason_text_put(struct buf *out, const json_t *o, const char *key);
/* A verdict in one sentence. */
void verdict_text_put(struct buf *out, const json_t *run, const json_t *v);
/* What a run ended with, or why not: its first verdict's sentence or its reason. Nothing: neither.
 */
void run_text_put(struct buf *out, const json_t *run);

/* Parts of the sentence, that a table shows apart. Nothing where the verdict has no such field. */
void verdict_preload_put(struct buf *out, const json_t *v);
void verdict_position_put(struct buf *out, const json_t *v);
void verdict_sample_put(struct buf *out, const json_t *v);
void verdict_unlearned_put(struct buf *out, const json_t *v);
void verdict_budget_put(struct buf *out, const json_t *v);
/* What the search ended with inside the edge, by its kind. */
void verdict_end_put(struct buf *out, const json_t *run, const json_t *v);

/* Each as a clean text of the pen's: text_of_put(p, verdict_preload_put, v). */
const char *text_of_put(
    struct pen *p, void (*put)(struct buf *out, const json_t *o), const json_t *o);
const char *text_of_reason(struct pen *p, const json_t *o, const char *key);
const char *text_of_verdict(struct pen *p, const json_t *run, const json_t *v);
const char *text_of_end(struct pen *p, const json_t *run, const json_t *v);

#endif

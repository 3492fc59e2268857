/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text of verdicts and reasons, made from the fields of answers (docs/questions.md): for the
 * terminal, the page and graphs alike. All functions append to *out without a final 0, neither cleaned
 * nor escaped. For rows written before schema 4 they append the stored sentence.
 */
#ifndef CLI_VERDICT_TEXT_H
#define CLI_VERDICT_TEXT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "cli/pen.h"

/* Appends the text of the reason o[key], with o["subject"] inserted; else o["text"]; else no text. */
void reason_text_put(struct buf *out, const json_t *o, const char *key);
/* A verdict in one sentence. */
void verdict_text_put(struct buf *out, const json_t *run, const json_t *v);
/* Of a run whose state is "nothing stands out": why; else no text. */
void run_nothing_put(struct buf *out, const json_t *run);
/* Of a run whose problem has stopped: when it was there, and where; else no text. */
void run_gone_put(struct buf *out, const json_t *run);
/* Of a run that is compared with a baseline: which one; else no text. */
void run_compared_put(struct buf *out, const json_t *run);
/* Of a run that found something: how much of the problem its verdicts leave, and why no more is searched; else
 * no text. */
void run_left_put(struct buf *out, const json_t *run);
/* The result of a run: that nothing stands out, that the problem has stopped, the sentence of its first verdict, or the reason why it has none; empty if it
 * has neither. */
void run_text_put(struct buf *out, const json_t *run);

/* Parts of the sentence, for separate lines. Empty if the verdict has no such field. */
void verdict_preload_put(struct buf *out, const json_t *v);
/* The span of tracepoints that the edge is a part of. */
void verdict_within_put(struct buf *out, const json_t *v);
void verdict_position_put(struct buf *out, const json_t *v);
void verdict_sample_put(struct buf *out, const json_t *v);
void verdict_unlearned_put(struct buf *out, const json_t *v);
/* What the slow requests of a tail, or the few that take long in the edge, have that the others have not; else that they are few. */
void verdict_tail_put(struct buf *out, const json_t *v);
/* What the requests waited for in the edge. */
void verdict_waited_put(struct buf *out, const json_t *v);
/* What threads did in the edge below its tracepoints; where in the code most of it was; what the holder of the lock did there
 * meanwhile. */
void verdict_below_put(struct buf *out, const json_t *v);
void verdict_ground_put(
    struct buf *out, const json_t *v); /* why it is no place in the program, if it is none */
void verdict_below_place_put(struct buf *out, const json_t *v);
void verdict_below_holder_put(struct buf *out, const json_t *v);
/* For which requests that was, and whose threads ended the waits. */
void verdict_below_held_put(struct buf *out, const json_t *v);
void verdict_below_released_put(struct buf *out, const json_t *v);
void verdict_below_functions_put(struct buf *out, const json_t *v);
/* What slow requests have more of there than the others: states, the innermost function of the program with what it calls, and
 * the function that has most itself. */
void verdict_below_differential_put(struct buf *out, const json_t *v);
/* What of it was not there in the baseline; no text without a baseline. */
void verdict_new_put(struct buf *out, const json_t *v);
void verdict_pool_put(struct buf *out, const json_t *v);
/* Of a verdict about captured outliers: what it rests on. */
void verdict_captured_put(struct buf *out, const json_t *v);
/* Why a verdict that is not sure, without a mistake, is not. */
const char *verdict_doubt_text(const json_t *v);
void verdict_budget_put(struct buf *out, const json_t *v);
/* How the search ended inside the edge, by kind. */
void verdict_end_put(struct buf *out, const json_t *run, const json_t *v);

/* Whether the key has a quarter of the variance of the edge, so that it may be called a cause; else it
 * is related only: a number may rank the times and still have little of their variance. key: {"r",
 * ...}; r is null of a category, which has {"share"}. */
bool key_explains(const json_t *key);
/* Of a share or a CV: an interval that is wider than 1 (100 points) and than three times the value says
 * no more than that there were too few requests. */
bool interval_useful(double value, double low, double high);
/* The same as cleaned strings of the pen: text_of_put(p, verdict_preload_put, v). */
const char *text_of_put(
    struct pen *p, void (*put)(struct buf *out, const json_t *o), const json_t *o);
const char *text_of_reason(struct pen *p, const json_t *o, const char *key);
const char *text_of_verdict(struct pen *p, const json_t *run, const json_t *v);
const char *text_of_end(struct pen *p, const json_t *run, const json_t *v);

#endif

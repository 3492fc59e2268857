/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of answers share: answer.c dispatches, the others answer by thought. */
#ifndef CONTROLPLANE_ANSWERS_ANSWER_INSIDE_H
#define CONTROLPLANE_ANSWERS_ANSWER_INSIDE_H

#include <jansson.h>

#include "controlplane/answers/answer.h"
#include "controlplane/engine/engine.h"
#include "controlplane/engine/parts.h"
#include "report/document.h"

/* An answer, without "ok" where that is true. Never NULL but for lack of memory. `ask` has fields
 * of the question only, each of the type that it ought to have. */
typedef json_t *question(
    struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask);

/* ask_status() and so on. */
#define QUESTION(name, role, changing, fields) question ask_##name;
#include "wire/questions.tbl.h"

/* Tracepoints that one answer lists: agents may tell of millions. */
enum { ANSWER_LISTED_MAX = 20000 };

/* ---- answer.c ---- */
json_t *answer_refuse(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
json_t *answer_text(const char *s);    /* NULL is "" */
json_t *answer_id(struct trace_id id); /* hex digits; null at 0 */
json_t *answer_number_id(uint64_t id); /* of a run, or a hypothesis; null at 0 */
/* A whole number; absent: `otherwise`. False: it is there, and not from min to max. */
bool answer_whole(
    const json_t *ask, const char *key, int64_t min, int64_t max, int64_t otherwise, int64_t *ret);

/* ---- answer_audit.c ---- */
/* A row for a question that changes something, and its answer. refused: who asked may not. */
void answer_audit(struct forest *f, const struct answer_context *c, const json_t *ask,
    const json_t *answer, bool refused);

/* ---- answer_runs.c: all of it from the forest alone, so that it is the same after a restart ----
 */
json_t *answer_run(const struct engine *g, const struct forest *f, const struct run *r,
    const struct answer_context *c, bool tree);
json_t *answer_reason(enum reason r); /* its word; null: none */
json_t *answer_hypothesis(const struct hypothesis *h);
json_t *answer_verdict(const struct engine *g, const struct verdict *v);
/* The hypothesis that its tree begins with: of the group as always-on tracepoints tell it. */
const struct hypothesis *answer_root(const struct forest *f, const struct hypothesis *h);
/* The type's newest run (of all types: NULL) that has a verdict, or NULL. */
const struct run *answer_last_verdict(const struct forest *f, const char *type);

/* ---- answer_look.c ---- */
json_t *answer_learning(const struct engine *g, const struct answer_context *c);

/* ---- answer_cost.c: of one node (null: nothing is known of it), and of all ---- */
json_t *answer_cost(const struct engine *g, uint32_t node, const struct answer_context *c);
json_t *answer_costs(const struct engine *g, const struct answer_context *c);

/* ---- answer_space.c ---- */
/* From now on it is this version of the application that is searched and learned. `create`: begins
 * it where the file has none of that name. The version before is saved first. ERR_BUSY: a diagnosis
 * or learning goes on. */
int answer_version(
    struct engine *g, const struct answer_context *c, const char *name, bool create, struct err *e);

#endif

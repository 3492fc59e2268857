/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of answers: answer.c dispatches to answer_*.c, which use the functions of answer_inside.c. */
#ifndef CONTROLPLANE_ANSWERS_ANSWER_INSIDE_H
#define CONTROLPLANE_ANSWERS_ANSWER_INSIDE_H

#include <jansson.h>

#include "controlplane/answers/answer_context.h"
#include "controlplane/engine/engine.h"
#include "controlplane/engine/parts.h"
#include "report/document.h"

/* Returns the answer, where "ok" may be absent if true; NULL: out of memory. `ask` has only fields of
 * the question, of the right types. */
typedef json_t *question(
    struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask);

/* ask_status() and so on. */
#define QUESTION(name, role, changing, fields) question ask_##name;
#include "wire/questions.tbl.h"

/* The most tracepoints that an answer lists, since agents may have millions. */
enum { ANSWER_LISTED_MAX = 20000 };

/* ---- answer_inside.c: new values, which the caller owns ---- */
/* An answer with "ok" false. code: ERR_MISSING, ERR_BUSY, ERR_INPUT, ERR_STORE or ERR_DENIED; any other is "failed". */
json_t *answer_refuse(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
json_t *answer_text(const char *s); /* NULL gives "" */
json_t *answer_incomplete(
    const uint64_t counts[INCOMPLETES]); /* {"no-end": 3, ...}, a count for each reason */
json_t *answer_id(struct trace_id id);   /* hex digits; null for 0 */
json_t *answer_number_id(uint64_t id);   /* id of a run or a hypothesis; null for 0 */
/* Reads the integer field `key`, or `otherwise` if it is absent. False: it is present, but not from min to max. */
bool answer_whole(
    const json_t *ask, const char *key, int64_t min, int64_t max, int64_t otherwise, int64_t *ret);

json_t *answer_lines(const char *lines); /* a list of the lines; NULL is "" */
/* "reason", "node", "queue", "fill" and so on; null: none. */
json_t *answer_congestion(const struct congestion *c);

/* ---- answer_audit.c ---- */
/* Adds a row for a question and its answer; no row without a book. refused: the role of the user does not suffice. */
void answer_audit(struct forest *f, const struct answer_context *c, const json_t *ask,
    const json_t *answer, bool refused);

/* ---- answer_runs.c: from the forest alone (except a run's phase), so the same after a restart ---- */
/* tree: with all hypotheses, and whole verdicts. */
json_t *answer_run(const struct engine *g, const struct forest *f, const struct run *r,
    const struct answer_context *c, bool tree);
json_t *answer_reason(enum reason r); /* its word; null for REASON_NONE */
json_t *answer_hypothesis(const struct hypothesis *h);
/* whole: with the differential of what is below its edge, up to 100 KiB of JSON. */
json_t *answer_verdict(const struct engine *g, const struct verdict *v, bool whole);
/* The root of the tree of h; its group is that of the always-on tracepoints. NULL if h is NULL. */
const struct hypothesis *answer_root(const struct forest *f, const struct hypothesis *h);
/* The newest run of the type (NULL: of all) that has a verdict, or NULL. O(runs). */
const struct run *answer_last_verdict(const struct forest *f, const char *type);

/* ---- answer_below.c ---- */
/* What threads did in the edge of the verdict, below its tracepoints; null: nobody looked. whole: as above. */
json_t *answer_below(const struct verdict *v, bool whole);
/* What slow requests have more of there; null: they were not compared, or the database is damaged there. NULL: out of memory. */
json_t *answer_differential(const struct verdict *v);

/* ---- answer_status.c ---- */
json_t *answer_learning(const struct engine *g, const struct answer_context *c);

/* ---- answer_tracepoints.c ---- */
/* Whether a diagnosis or learning has the tracepoint on, by its name or its provider's. *owner: the hypothesis that claimed it first;
 * OWNER_LEARN. O(claims). */
bool answer_planned(const struct engine *g, const char *name, uint64_t *owner);
/* {"service": its pattern, "level"}; null: no rule. */
json_t *answer_level_rule(const struct level_rule *r);
json_t *answer_level(uint8_t level);                     /* its word; null: none */
json_t *answer_level_rules(const struct level_rules *r); /* in the order in which they were set */
/* Why log levels have no tracepoint on; null: they are not held, or there is no rule. */
json_t *answer_levels_held(const struct levels *l);

/* ---- answer_cost.c: of a node (null: no status yet), and of all ---- */
json_t *answer_cost(const struct engine *g, uint32_t node, const struct answer_context *c);
json_t *answer_costs(const struct engine *g, const struct answer_context *c);

/* 16 or 32 hex digits, not 0; of 16 the upper half is 0: not known. */
bool answer_read_id(const char *s, struct trace_id *ret);
bool answer_same_id(struct trace_id a, struct trace_id b); /* as far as both are known */

/* ---- answer_space.c ---- */
/* Switches to this version of the learned space; the present one is saved first. create: makes it if
 * the file does not have it, else ERR_MISSING. ERR_INPUT: not a valid name; ERR_BUSY: a diagnosis or
 * learning is active; errors of the file. */
int answer_version(
    struct engine *g, const struct answer_context *c, const char *name, bool create, struct err *e);

#endif

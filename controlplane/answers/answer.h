/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers the questions of operators, JSON in, JSON out; docs/questions.md lists them. Questions that
 * change something need the role DIAGNOSE and are recorded in the audit. */
#ifndef CONTROLPLANE_ANSWERS_ANSWER_H
#define CONTROLPLANE_ANSWERS_ANSWER_H

#include "controlplane/answers/answer_context.h"

/* Returns the answer as JSON text, which the caller frees, or NULL: out of memory. `ask` need not end in 0.
 * A malformed question is answered with an error. */
char *answer_ask(struct engine *g, struct forest *f, const struct answer_context *c,
    const char *ask, size_t len);

/* The answer that refuses a question for this reason, as answer_ask() gives it; the caller's. NULL: out of memory. */
char *answer_failure(const struct err *e);
/* Whether an answer has "ok" true. O(length). */
bool answer_is_ok(const char *text);

enum answer_length {
	ANSWER_SHORT,
	ANSWER_LONG, /* it may take seconds, since it judges the groups of a report; it only reads what is in memory */
	ANSWER_LONG_CHANGES, /* the same, and a new report begins */
};

/* How long the answer to the question may take. O(len). */
enum answer_length answer_length(const char *ask, size_t len);

#endif

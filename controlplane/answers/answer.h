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

/* Whether the question only reads what is in memory, and may take seconds, since it judges the groups of a report. O(len). */
bool answer_takes_long(const char *ask, size_t len);

#endif

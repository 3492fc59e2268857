/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers the questions of operators, JSON in, JSON out; docs/questions.md lists them. Questions that
 * change something need the role DIAGNOSE and are recorded in the audit. */
#ifndef CONTROLPLANE_ANSWERS_ANSWER_H
#define CONTROLPLANE_ANSWERS_ANSWER_H

#include "controlplane/answers/audit_log.h"
#include "controlplane/engine/engine.h"
#include "controlplane/answers/refusals.h"

struct answer_context { /* what the engine does not know */
	struct mono now, started;
	struct wall when;
	const char *database, *space_path;
	const char *store_trouble; /* error text of the last commit, if it failed; "" or NULL */
	struct who who;            /* the user who asks */
	const struct roles *roles; /* for the text of a refusal; NULL: only root has access */
	struct audit_book *book;   /* of the audit; NULL: nothing is recorded */
	const struct refusals *refusals; /* of agents; NULL: not known */
};

/* The answer as JSON text, which the caller frees; NULL: out of memory. A malformed question is
 * answered with an error. */
char *answer_ask(struct engine *g, struct forest *f, const struct answer_context *c,
    const char *ask, size_t len);

#endif

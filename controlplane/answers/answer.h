/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions of operators, JSON in, JSON out; docs/questions.md is the list. Opens nothing, changes
 * what it is asked to, by whoever may; and says so in the audit. */
#ifndef CONTROLPLANE_ANSWERS_ANSWER_H
#define CONTROLPLANE_ANSWERS_ANSWER_H

#include "controlplane/answers/audit_log.h"
#include "controlplane/engine/engine.h"
#include "controlplane/answers/refusals.h"

struct answer_context { /* what the engine does not know of its program */
	struct mono now, started;
	struct wall when;
	const char *database, *space_path;
	const char *store_trouble;       /* "" or words: the last commit failed */
	struct who who;                  /* that asks */
	const struct roles *roles;       /* for words of who may not; NULL: root's alone */
	struct audit_book *book;         /* of the audit; NULL: none is kept */
	const struct refusals *refusals; /* of agents; NULL: it is not known */
};

/* The answer's text, the caller's to free(); NULL: out of memory. Malformed questions are answered
 * too. */
char *answer_ask(struct engine *g, struct forest *f, const struct answer_context *c,
    const char *ask, size_t len);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions of operators, JSON in, JSON out; docs/questions.md is the list. Opens nothing, changes what it is asked to. */
#ifndef CONTROLPLANE_ANSWER_H
#define CONTROLPLANE_ANSWER_H

#include "controlplane/engine.h"

struct answer_context {		/* what the engine does not know of its program */
	struct mono now, started;
	struct wall when;
	const char *database, *space_path;
	const char *store_trouble;	/* "" or words: the last commit failed */
};

/* The answer's text, the caller's to free(); NULL: out of memory. Malformed questions are answered too. */
char *answer_ask(struct engine *g, struct forest *f, const struct answer_context *c, const char *ask, size_t len);

#endif

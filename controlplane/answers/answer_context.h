/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The circumstances of a question: time, files, the user who asks. */
#ifndef CONTROLPLANE_ANSWERS_ANSWER_CONTEXT_H
#define CONTROLPLANE_ANSWERS_ANSWER_CONTEXT_H

#include "controlplane/answers/audit_log.h"
#include "controlplane/answers/refusals.h"
#include "controlplane/engine/engine.h"

/* What an answer needs beside the engine and the forest. Borrowed for the call. */
struct answer_context {
	struct mono now, started;
	struct wall when;
	const char *database, *space_path;
	const char *store_trouble; /* error text of the last commit, if it failed; "" or NULL */
	struct who who;            /* the user who asks */
	const struct roles *roles; /* for the text of a refusal; NULL: only root has access */
	struct audit_book *book;   /* of the audit; NULL: nothing is recorded */
	const struct refusals *refusals; /* of agents; NULL: not known */
};

#endif

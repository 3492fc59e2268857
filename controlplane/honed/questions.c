/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/questions.h"

char *
questions_answer(struct questions *q, const struct who *who, const char *question, size_t len)
{
	const struct answer_context c = {
		.now = clock_mono(),
		.started = q->started,
		.when = clock_wall(),
		.database = q->config->database,
		.space_path = q->config->space,
		.store_trouble = q->keeper->trouble,
		.who = *who,
		.roles = q->roles,
		.book = &q->book,
		.refusals = &q->refusals,
		.web = q->web,
		.part = q->part,
		.log = q->log,
	};

	return answer_ask(q->engine, q->keeper->forest, &c, question, len);
}

void
questions_refused(
    struct questions *q, const struct who *who, bool is_agent, uint64_t times, const char *why)
{
	if (is_agent)
		refusals_add(&q->refusals, why, times, clock_wall());
	audit_asked(&q->book, q->keeper->forest, who,
	    &(struct audit){ .when = clock_wall(),
		.action = is_agent ? ACTION_CONNECT_AGENT : ACTION_CONNECT,
		.outcome = AUDIT_REFUSED,
		.times = times,
		.text = why },
	    clock_mono(), NULL);
}

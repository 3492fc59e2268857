/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The questions of operators, whichever door they come through: answered by answer_ask(), and in the
 * audit. */
#ifndef CONTROLPLANE_HONED_QUESTIONS_H
#define CONTROLPLANE_HONED_QUESTIONS_H

#include "controlplane/answers/answer.h"
#include "controlplane/honed/forest_keeper.h"
#include "controlplane/honed/honed_config.h"

struct questions {
	const struct config *config; /* these four are borrowed */
	struct engine *engine;
	struct forest_keeper *keeper;
	struct roles *roles;
	struct mono started;
	struct audit_book book;
	struct refusals refusals;          /* of agents, for display */
	struct web_port web;               /* set by the door */
	enum answer_part part;             /* ANSWER_ALL; others are set for the time of a call */
	struct long_answers *long_answers; /* long_answers.h; borrowed */
	const struct log_facts *log;       /* of a decider; NULL: this honed works alone */
};

/* The answer, as JSON, the caller's to free(); NULL: out of memory. who: see roles_who(); what it
 * may not do is refused in the answer. */
char *questions_answer(
    struct questions *q, const struct who *who, const char *question, size_t len);
/* Somebody was refused at a door, `times` times: for the audit, and hone agents. */
void questions_refused(
    struct questions *q, const struct who *who, bool is_agent, uint64_t times, const char *why);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The questions that answer_takes_long(), of all doors: each is answered by a process of answer_process.h, one at a time so that they do not
 * take all processors, in the order in which they came, but users by turns. honed's thread waits for none of them.
 *
 * What such a question changes (a report that is to begin anew) is changed by honed's thread right after the fork, so that the answer has
 * what the change ends.
 */
#ifndef CONTROLPLANE_HONED_LONG_ANSWERS_H
#define CONTROLPLANE_HONED_LONG_ANSWERS_H

#include "controlplane/honed/answer_process.h"
#include "controlplane/honed/questions.h"

struct long_question;

struct long_answers { /* all zeroes but `questions`: none waits */
	struct questions *questions;
	struct long_question *first, *last; /* that wait for their process */
	struct long_question *current;      /* the process answers it */
	struct answer_process process;
	bool changed;       /* what the current one changes */
	int64_t served_uid; /* of the last one whose turn came */
};

/* An answer: JSON, as text (NULL: none) or in a file that is not empty (-1: none). Whoever is told takes both. Neither: honed ends, or is out
 * of memory. */
struct long_answer {
	char *text;
	int file;
};

/* Who asks, in honed's thread. */
struct long_asker {
	void *door, *peer;
	/* Called once, also at long_answers_forget(). */
	void (*answered)(void *door, void *peer, struct long_answer a);
	/* Whether it still waits; NULL: it does until it is answered. */
	bool (*waits)(void *door, void *peer);
};

/* Puts a copy of the question in the queue, whose bound is the caller's: a peer has one at a time. ERR_MEMORY; then asker->answered() is not
 * called. */
int long_answers_ask(struct long_answers *l, const struct long_asker *asker, const struct who *who,
    const char *question, size_t len, struct err *e);
/* Takes what the process has answered, drops questions whose askers have gone, starts the next process. Never waits but for a fork. */
void long_answers_step(struct long_answers *l, struct mono now);
/* Answers all questions of this door with nothing. */
void long_answers_forget(struct long_answers *l, const void *door);

#endif

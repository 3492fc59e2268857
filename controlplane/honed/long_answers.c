/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/long_answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct long_question {
	struct long_question *next;
	struct long_asker asker;
	struct who who;
	size_t len;
	char text[]; /* followed by a 0 */
};

/* ---- the queue ---- */

int
long_answers_ask(struct long_answers *l, const struct long_asker *asker, const struct who *who,
    const char *question, size_t len, struct err *e)
{
	struct long_question *q = calloc(1, sizeof *q + len + 1);

	if (q == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	q->asker = *asker;
	q->who = *who;
	q->len = len;
	memcpy(q->text, question, len);
	if (l->first == NULL)
		l->first = q;
	else
		l->last->next = q;
	l->last = q;
	return 0;
}

/* The first question of another user than the last one answered, so that one with many of them does not hold all others up; else the first. NULL:
 * none waits. O(questions). */
static struct long_question *
take_next(struct long_answers *l)
{
	struct long_question *q = l->first, *before = NULL;

	while (q != NULL && q->who.uid == l->served_uid) {
		before = q;
		q = q->next;
	}
	if (q == NULL) {
		q = l->first;
		before = NULL;
	}
	if (q == NULL)
		return NULL;
	*(before != NULL ? &before->next : &l->first) = q->next;
	if (l->last == q)
		l->last = before;
	l->served_uid = q->who.uid;
	return q;
}

/* Tells the asker, and frees the question. */
static void
tell(struct long_question *q, struct long_answer a)
{
	q->asker.answered(q->asker.door, q->asker.peer, a);
	free(q);
}

static bool
still_waits(const struct long_question *q)
{
	return q->asker.waits == NULL || q->asker.waits(q->asker.door, q->asker.peer);
}

static struct long_answer
nothing(void)
{
	return (struct long_answer){ .text = NULL, .file = -1 };
}

/* ---- the process ---- */

/* The process ended without an answer. */
static struct long_answer
failed(const struct long_answers *l)
{
	struct long_answer a = nothing();
	struct err e;

	err_set(&e, ERR_SYSTEM,
	    "the process that was to make this answer was killed or failed, or took over %d s%s",
	    ANSWER_PROCESS_S, l->changed ? "; what the question changes has changed" : "");
	log_line(LOG_WARN, "%s", e.text);
	a.text = answer_failure(&e);
	return a;
}

static void
end_current(struct long_answers *l, struct long_answer a)
{
	struct long_question *q = l->current;

	l->current = NULL;
	tell(q, a);
}

/* Changes what the question changes. False: *text is the answer that says why not; NULL: out of memory. */
static bool
change(struct long_answers *l, const struct long_question *q, char **text)
{
	bool ok;

	l->questions->part = ANSWER_CHANGE;
	*text = questions_answer(l->questions, &q->who, q->text, q->len);
	l->questions->part = ANSWER_ALL;
	ok = *text != NULL && answer_is_ok(*text);
	if (ok)
		free(*text);
	return ok;
}

/* Starts the process for the current question. False: it has none, and its asker was told why. */
static bool
start(struct long_answers *l, struct mono now)
{
	const struct long_question *q = l->current;
	struct long_answer a = nothing();
	struct err e;

	l->changed = false;
	if (answer_process_start(&l->process, l->questions, &q->who, q->text, q->len, now, &e) !=
	    0) {
		log_line(LOG_WARN, "%s", e.text);
		a.text = answer_failure(&e);
		end_current(l, a);
		return false;
	}
	if (answer_length(q->text, q->len) != ANSWER_LONG_CHANGES)
		return true;
	l->changed = change(l, q, &a.text);
	if (l->changed)
		return true;
	answer_process_stop(&l->process);
	end_current(l, a);
	return false;
}

void
long_answers_step(struct long_answers *l, struct mono now)
{
	struct long_answer a = nothing();

	if (l->current != NULL && !still_waits(l->current)) {
		if (l->changed)
			log_line(LOG_WARN,
			    "a report that begins anew had no reader any more: what it would have said is lost");
		answer_process_stop(&l->process);
		end_current(l, nothing());
	}
	if (l->current != NULL)
		switch (answer_process_step(&l->process, now, &a.file)) {
		case ANSWER_RUNS:
			return;
		case ANSWER_DONE:
			end_current(l, a);
			break;
		case ANSWER_FAILED:
			end_current(l, failed(l));
			break;
		}
	while (l->current == NULL && (l->current = take_next(l)) != NULL)
		if (!still_waits(l->current))
			end_current(l, nothing());
		else if (!start(l, now))
			break; /* the next one has to wait for the next step */
}

void
long_answers_forget(struct long_answers *l, const void *door)
{
	struct long_question *q = l->first, *next;

	l->first = NULL;
	if (l->current != NULL && l->current->asker.door == door) {
		answer_process_stop(&l->process);
		end_current(l, nothing());
	}
	for (; q != NULL; q = next) {
		next = q->next;
		q->next = NULL;
		if (q->asker.door == door) {
			tell(q, nothing());
			continue;
		}
		if (l->first == NULL)
			l->first = q;
		else
			l->last->next = q;
		l->last = q;
	}
}

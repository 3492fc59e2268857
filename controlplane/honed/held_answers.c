/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/held_answers.h"

#include <stdlib.h>

struct held_answer {
	struct held_answer *next;
	void *peer;
	char *text;
	struct mono asked;
	bool committed;
	uint64_t put;
};

int
held_answers_add(struct held_answers *l, void *peer, char *text, struct mono now, struct err *e)
{
	struct held_answer *a = calloc(1, sizeof *a);

	if (a == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	*a = (struct held_answer){ .peer = peer, .text = text, .asked = now };
	if (l->first == NULL)
		l->first = a;
	else
		l->last->next = a;
	l->last = a;
	return 0;
}

void
held_answers_committed(struct held_answers *l, uint64_t put)
{
	for (struct held_answer *a = l->first; a != NULL; a = a->next) {
		if (a->committed)
			continue;
		a->committed = true;
		a->put = put;
	}
}

/* The first one. why: it is refused. */
static void
end_first(struct held_answers *l, const char *why)
{
	struct held_answer *a = l->first;

	l->first = a->next;
	if (why == NULL) {
		l->port.give(l->port.of, a->peer, a->text);
	} else {
		l->port.refuse(l->port.of, a->peer, why);
		free(a->text);
	}
	free(a);
}

void
held_answers_step(struct held_answers *l, bool (*has)(const void *feed, uint64_t put),
    const void *feed, struct mono now)
{
	while (l->first != NULL) {
		const struct held_answer *a = l->first;

		if (a->committed && has(feed, a->put))
			end_first(l, NULL);
		else if (mono_since_ns(now, a->asked) >= ANSWER_HELD_NS)
			end_first(l,
			    "it is done, but not stored in the log of the forest within 5 s: if this decider ends now, the one that takes over does not know of it; see hone status and the log of honed");
		else
			return;
	}
}

void
held_answers_end(struct held_answers *l, const char *why)
{
	while (l->first != NULL)
		end_first(l, why);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/search_end.h"

#include <assert.h>

#include "controlplane/search/enabled.h"
#include "controlplane/search/explore.h"
#include "controlplane/search/search_below.h"
#include "controlplane/search/search_functions.h"
#include "controlplane/search/search_hypothesis.h"

static void
withdraw_unsettled(struct search_port *port, struct hypothesis *h, enum reason reason)
{
	if (h != NULL && !hypothesis_settled(h->state))
		hypothesis_withdraw(port, h, reason);
}

void
search_end(struct search_port *port, struct search *s, enum reason reason)
{
	struct search_enabled *x = &s->enabled;

	assert(s->phase != SEARCH_ENDED);
	search_below_stop(port, s, NULL);
	search_functions_stop(port, s);
	while (x->n > 0) {
		withdraw_unsettled(port, x->picks[x->n - 1].hypothesis, REASON_STOPPED);
		disable(port, s, x->n - 1, REASON_STOPPED);
	}
	if (s->exploration.hypothesis != NULL)
		explore_end(port, s);
	withdraw_unsettled(port, s->origin.hypothesis, REASON_STOPPED);
	s->outcome.reason = reason;
	groups_free(s->cycle.groups);
	s->cycle.groups = NULL;
	search_enter(s, SEARCH_ENDED);
}

void
search_end_over_budget(struct search_port *port, struct search *s, uint32_t label)
{
	withdraw_unsettled(port, s->origin.hypothesis, REASON_OVER_BUDGET);
	s->outcome.label = label;
	search_end(port, s, REASON_END_OVER_BUDGET);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/enabled.h"

#include <assert.h>
#include <string.h>

#include "base/array.h"
#include "controlplane/search/narrow.h"
#include "controlplane/search/search_hypothesis.h"

static struct switched
log_of(const struct search_port *port, const struct search *s, const struct pick *pick,
    const char *tracepoint, bool on, enum reason reason)
{
	return (struct switched){ .run = s->diagnosis->run->id,
		.hypothesis = pick->hypothesis->id,
		.cycle = s->diagnosis->run->cycles,
		.on = on,
		.tracepoint = tracepoint,
		.reason = reason,
		.subject = reason == REASON_SHED ? port->shed_by : NULL,
		.when = port->when };
}

int
enable(struct search_port *port, struct search *s, const struct pick *pick, enum reason reason,
    struct err *e)
{
	struct search_enabled *x = &s->enabled;
	char name[LABEL_TEXT_MAX + 1];
	const struct switched log = log_of(
	    port, s, pick, tracepoint_name(port->labels, pick->label, name), true, reason);
	int rc;

	assert(pick->hypothesis != NULL);
	if (!label_set_add(&x->labels, pick->label) || !label_set_add(&x->tried, pick->label))
		return search_no_memory(s, e);
	/* those of the preload layer were counted when they were explored */
	s->diagnosis->run->tracepoints += !plan_wants(port->plan, name) &&
	                                  !preload_label(port->preload, pick->label);
	if (!array_reserve(x->picks, x->cap, x->n + 1))
		return search_no_memory(s, e);
	if ((rc = plan_want(port->plan, name, pick->hypothesis->id, e)) != 0 ||
	    (rc = port->calls->enabled(port->owner, name, e)) != 0)
		return rc;
	x->picks[x->n++] = *pick;
	return forest_switched(port->forest, &log, e);
}

int
enable_candidate(struct search_port *port, struct search *s, uint32_t label, struct err *e)
{
	struct hypothesis *h = hypothesis_new_tracepoint(port, s, label, e);

	if (h == NULL)
		return ERR_MEMORY;
	hypothesis_settle(port, h, HYPOTHESIS_PROBING);
	return enable(port, s, &(struct pick){ label, true, h }, REASON_SPLITS_EDGE, e);
}

void
disable(struct search_port *port, struct search *s, uint32_t at, enum reason reason)
{
	struct search_enabled *x = &s->enabled;
	char name[LABEL_TEXT_MAX + 1];
	struct pick pick;
	struct switched log;

	assert(at < x->n);
	pick = x->picks[at];
	log = log_of(
	    port, s, &pick, tracepoint_name(port->labels, pick.label, name), false, reason);
	plan_release(port->plan, name, pick.hypothesis->id);
	label_set_del(&x->labels, pick.label);
	forest_switched(port->forest, &log, NULL);
	x->n--;
	memmove(&x->picks[at], &x->picks[at + 1], (x->n - at) * sizeof x->picks[0]);
}

void
disable_unneeded(struct search_port *port, struct search *s, enum reason reason)
{
	for (uint32_t i = s->enabled.n; i-- > 0;)
		if (!is_needed(s, s->enabled.picks[i].label))
			disable(port, s, i, reason);
}

bool
is_affordable(const struct search_port *port, const struct search *s, uint32_t label)
{
	return !label_set_has(&s->diagnosis->over_budget, label) &&
	       port->calls->affordable(port->owner, s->diagnosis->type, label);
}

bool
has_fresh(const struct search *s)
{
	for (uint32_t i = 0; i < s->enabled.n; i++)
		if (s->enabled.picks[i].fresh)
			return true;
	return s->exploration.hypothesis != NULL;
}

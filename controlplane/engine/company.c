/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/company.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/search/diagnose.h"

/* The labels at the ends of the edges in which requests wait; how many. */
static uint32_t
find_awaited(uint32_t labels[COMPANY_AWAITED_MAX], const struct request_types *types)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < types->n; i++)
		if (request_type_diagnosed(&types->items[i]))
			n += diagnosis_awaited(
			    types->items[i].diagnosis, labels + n, COMPANY_AWAITED_MAX - n);
	return n;
}

static void
mark_nodes(bool *ret, const struct nodes *nodes, const struct label *label)
{
	char service[LABEL_TEXT_MAX + 1];

	snprintf(service, sizeof service, "%.*s", (int)label->service_len, label->text);
	for (uint32_t i = 0; i < nodes->n; i++)
		ret[i] |= node_has_program(&nodes->items[i], service);
}

static bool
are_recorded(const struct company *c, const struct request_types *types, const struct sampler *s)
{
	for (uint32_t i = 0; i < types->n; i++)
		if ((c->of[i] || request_type_diagnosed(&types->items[i])) &&
		    sampler_share(s, i) < 1)
			return false;
	return true;
}

void
company_partial(struct company *c, const struct thread_history *history)
{
	c->partial = thread_history_arrivals(history);
}

int
company_find(struct company *c, const struct thread_history *history,
    const struct request_types *types, const struct nodes *nodes, const struct sampler *s,
    const struct labels *labels, struct mono now, struct err *e)
{
	uint32_t awaited[COMPANY_AWAITED_MAX], n;
	bool *with;

	if (c->looked.ns != 0 && mono_since_ns(now, c->looked) < COMPANY_EVERY_NS)
		return 0;
	c->looked = now;
	memset(c->of, 0, sizeof c->of);
	c->n = 0;
	if ((n = find_awaited(awaited, types)) == 0)
		return 0;
	if ((with = calloc(nodes->n + 1, sizeof *with)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the company of requests");
	for (uint32_t i = 0; i < n; i++)
		mark_nodes(with, nodes, labels_get(labels, awaited[i]));
	sampler_mark_types(s, with, nodes->n, c->of, types->n);
	free(with);
	for (uint32_t i = 0; i < types->n; i++) {
		c->of[i] &= !request_type_diagnosed(&types->items[i]);
		c->n += c->of[i];
	}
	if (history != NULL && !are_recorded(c, types, s))
		company_partial(c, history);
	return 0;
}

static bool
is_partial(const struct company *c, const struct thread_history *h)
{
	return thread_history_reaches(h, c->partial);
}

enum company_state
company_state(const struct company *c, const struct thread_history *history,
    const struct request_types *types, const struct sampler *s)
{
	if (c->n == 0 || history == NULL)
		return COMPANY_NONE;
	return !is_partial(c, history) && are_recorded(c, types, s) ? COMPANY_KNOWN
	                                                            : COMPANY_COMING;
}

void
company_whole(struct company *c, struct thread_history *history, const struct request_types *types,
    const struct sampler *s, struct mono now)
{
	if (c->n == 0 || history == NULL || !is_partial(c, history) || !are_recorded(c, types, s) ||
	    (c->since.ns != 0 && mono_since_ns(now, c->since) < COMPANY_ANEW_NS))
		return;
	thread_history_clear(history);
	c->since = now;
}

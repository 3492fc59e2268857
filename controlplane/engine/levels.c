/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const char *
levels_held_word(enum levels_held h)
{
	static const char *const words[] = { "", "congestion", "learning", "end" };

	return words[h];
}

void
levels_release(struct levels *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		arena_release(&l->nodes[i].arena);
	free(l->nodes);
	level_labels_release(&l->labels);
	level_rates_release(&l->rates);
	*l = (struct levels){ 0 };
}

int
levels_set(struct levels *l, const char *pattern, uint8_t level, struct err *e)
{
	int rc = level_rules_set(&l->rules, pattern, level, e);

	if (rc == 0) {
		l->version++;
		l->rates.measured = l->rates.warm = false; /* what is on now was not counted yet */
	}
	return rc;
}

static void
rest(struct levels *l, struct mono now)
{
	bool soon = l->rest_ns > 0 &&
	            mono_since_ns(now, l->held_until) < LEVELS_REST_SOON * l->rest_ns;

	if (!soon)
		l->rest_ns = LEVELS_REST_NS;
	else if (l->rest_ns < LEVELS_REST_MOST * LEVELS_REST_NS)
		l->rest_ns *= 2;
	l->holds++;
}

/*
 * 1. At the end of honed nothing is on.
 * 2. Congestion: they are held from the moment when it begins, until it has ended for the rest.
 * 3. Learning.
 */
bool
levels_hold(struct levels *l, bool congested, bool learning, struct mono now)
{
	enum levels_held was = l->held;

	if (was == LEVELS_HELD_END)
		return false;
	if (congested && was != LEVELS_HELD_CONGESTION && l->rules.n > 0)
		rest(l, now);
	if (congested && l->rules.n > 0) {
		l->held = LEVELS_HELD_CONGESTION;
		l->held_until = (struct mono){ now.ns + l->rest_ns };
	} else if (was != LEVELS_HELD_CONGESTION || now.ns >= l->held_until.ns) {
		l->held = learning ? LEVELS_HELD_LEARNING : LEVELS_ON;
	}
	return l->held != was;
}

void
levels_end(struct levels *l)
{
	l->held = LEVELS_HELD_END;
}

static bool
is_same(const struct level_choice *a, const struct level_choice *b)
{
	bool same = a->n == b->n;

	for (uint32_t i = 0; i < a->n && same; i++)
		same = strcmp(a->names[i], b->names[i]) == 0;
	return same;
}

/* True: the node has others now. */
static bool
choose_node(struct level_node *x, const struct levels *l, const struct node *n,
    const struct preload_labels *preload)
{
	struct level_choice choice = { 0 };
	struct arena a = { 0 };
	bool same;

	if (l->rules.n > 0)
		level_choose(&choice, &l->rules, preload, n->binaries, n->nbinaries, &a);
	same = is_same(&choice, &x->choice);
	arena_release(&x->arena);
	x->arena = a;
	x->choice = choice;
	x->programs = n->programs_at;
	x->version = l->version;
	return !same;
}

bool
levels_choose(struct levels *l, const struct nodes *nodes, const struct preload_labels *preload)
{
	bool changed = false;

	if (l->n == nodes->n && l->chosen_programs == nodes->programs &&
	    l->chosen_version == l->version)
		return false;
	if (!array_reserve(l->nodes, l->cap, nodes->n))
		return false;
	for (; l->n < nodes->n; l->n++)
		l->nodes[l->n] = (struct level_node){ 0 };
	for (uint32_t i = 0; i < l->n; i++)
		if (l->nodes[i].programs != nodes->items[i].programs_at ||
		    l->nodes[i].version != l->version)
			changed |= choose_node(&l->nodes[i], l, &nodes->items[i], preload);
	l->choices += changed || l->choices == 0;
	l->chosen_programs = nodes->programs;
	l->chosen_version = l->version;
	return changed;
}

struct level_choice
levels_of(const struct levels *l, uint32_t node)
{
	return l->held == LEVELS_ON && node < l->n ? l->nodes[node].choice
	                                           : (struct level_choice){ 0 };
}

/* Most records of a label come from one node, and choices seldom change: the answer is kept. */
static bool
is_on(const struct levels *l, struct label_level *of, const struct label *label, uint32_t node)
{
	struct level_choice c;
	char name[LABEL_TEXT_MAX + 1];

	if (of->choice == l->choices && of->node == node)
		return of->on;
	c = levels_of(l, node);
	snprintf(name, sizeof name, "%.*s", (int)label->event_len, label->event);
	of->on = level_choice_has(&c, name);
	of->node = node;
	of->choice = l->choices;
	return of->on;
}

int
levels_count(struct levels *l, const struct labels *labels, const struct binaries *binaries,
    const struct trace *t, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < t->nevents && rc == 0 && l->held == LEVELS_ON; i++) {
		const struct event *v = &t->events[i];
		struct label_level *of = level_labels_of(&l->labels, labels, binaries, v->label);

		if (of != NULL && of->level != LOGLEVEL_NONE &&
		    is_on(l, of, labels_get(labels, v->label), v->node))
			rc = level_rates_add(&l->rates, v->node, of->service, of->level, e);
	}
	return rc;
}

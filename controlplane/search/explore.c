/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/explore.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"
#include "controlplane/search/preload_layer.h"
#include "controlplane/search/search_hypothesis.h"

enum { AT_ONCE = 256 };

enum explore_choice
explore_choose(const struct explore_facts *f)
{
	/* 1 */
	if (!f->in_question)
		return EXPLORE_SKIP;
	/* 2 */
	if (f->done || f->seen)
		return EXPLORE_PASS;
	/* 3 */
	if (f->affordable)
		return EXPLORE_ENABLE;
	/* 4 and 5 */
	return f->enabled > 0 ? EXPLORE_FULL : EXPLORE_LEAVE_OUT;
}

/* ---- the service ---- */

struct explored_service {       /* whose tracepoints are explored */
	const struct label *of; /* a label of it */
	struct label_set seen;  /* labels that the space has learned for this request type */
	bool in_layer;          /* in the preload layer, what was learned does not matter */
};
struct tally {            /* of one call of explore() */
	uint32_t number;  /* of the tracepoint at hand, in the order in which agents list them */
	uint32_t enabled; /* in this cycle */
	bool full;
};

static bool
learned_labels(struct label_set *ret, struct search_port *port, uint32_t type)
{
	struct space_export learned;

	if (!space_export(port->space, type, &learned))
		return true;
	for (uint32_t i = 0; i < learned.nplaces; i++)
		if (!label_set_add(ret, learned.places[i].label))
			return false;
	return true;
}

static bool
is_seen(const struct search_port *port, const struct explored_service *x, const char *name)
{
	char text[LABEL_TEXT_MAX + 1];
	int len = snprintf(
	    text, sizeof text, "%.*s/%s", (int)x->of->service_len, x->of->text, name);
	uint32_t label = len < (int)sizeof text ? labels_find(port->labels, text, (size_t)len)
	                                        : LABEL_NONE;

	return label != LABEL_NONE && label_set_has(&x->seen, label);
}

/* The space has learned a tracepoint of that service's own. */
static bool
knows_service(struct search_port *port, const struct explored_service *x)
{
	for (uint32_t w = 0; w < x->seen.nwords; w++)
		for (uint64_t left = x->seen.words[w]; left != 0; left &= left - 1) {
			uint32_t label = w * 64 + (uint32_t)__builtin_ctzll(left);
			const struct label *l = labels_get(port->labels, label);

			if (l->kind == RECORD_POINT && !preload_label(port->preload, label) &&
			    l->service_len == x->of->service_len &&
			    strncmp(l->text, x->of->text, l->service_len) == 0)
				return true;
		}
	return false;
}

/* ---- exploring ---- */

static void
count_over_budget(struct search *s)
{
	if (s->layer.state != LAYER_CLOSED)
		s->layer.over_budget++;
	else
		s->budget.unexplored++;
}

static int
enable_unknown(struct search_port *port, struct search *s, const char *name, struct err *e)
{
	bool in_layer = s->layer.state != LAYER_CLOSED;
	struct diagnosis *d = s->diagnosis;
	struct switched log = { .run = d->run->id,
		.cycle = d->run->cycles,
		.on = true,
		.tracepoint = name,
		.reason = in_layer ? REASON_EXPLORES_PRELOAD : REASON_EXPLORES,
		.when = port->when };
	int rc;

	if (s->exploration.hypothesis == NULL) {
		s->exploration.hypothesis = hypothesis_new_from(port, d, s->at.hypothesis);
		if (s->exploration.hypothesis == NULL)
			return search_no_memory(s, e);
		hypothesis_enter(s->exploration.hypothesis, HYPOTHESIS_PROBING, port->when);
	}
	log.hypothesis = s->exploration.hypothesis->id;
	if (plan_wants(port->plan, name) && !in_layer)
		return 0;
	d->run->tracepoints += !plan_wants(port->plan, name);
	if ((rc = plan_want(port->plan, name, s->exploration.hypothesis->id, e)) != 0 ||
	    (rc = port->calls->enabled(port->owner, name, e)) != 0)
		return rc;
	return forest_switched(port->forest, &log, e);
}

static struct explore_facts
facts_of(const struct search_port *port, const struct search *s, const struct explored_service *x,
    const struct tally *t, const char *name)
{
	struct explore_facts f = { .enabled = t->enabled };

	f.in_question = x->in_layer ? preload_explores(port, s, name)
	                            : !preload_is(port->preload, name);
	f.done = t->number < s->exploration.done;
	f.seen = f.in_question && !x->in_layer && is_seen(port, x, name);
	f.affordable = f.in_question && !f.done && !f.seen &&
	               port->calls->affordable_unknown(port->owner, s->diagnosis->type, name);
	return f;
}

static int
explore_program(struct search_port *port, struct search *s, const struct programs *all,
    const struct program *program, const struct explored_service *x, struct tally *t, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0;
	     i < program->count && t->enabled < s->exploration.at_once && !t->full && rc == 0;
	     i++) {
		const char *name = all->names[program->first + i];
		const struct explore_facts f = facts_of(port, s, x, t, name);
		enum explore_choice choice = explore_choose(&f);

		if (choice == EXPLORE_SKIP)
			continue;
		if (choice == EXPLORE_FULL) {
			t->full = true;
			break;
		}
		t->number++;
		if (!f.done)
			s->exploration.done = t->number;
		if (choice == EXPLORE_LEAVE_OUT)
			count_over_budget(s);
		if (choice == EXPLORE_ENABLE) {
			rc = enable_unknown(port, s, name, e);
			t->enabled++;
		}
	}
	return rc;
}

static int
explore_service(struct search_port *port, struct search *s, const struct explored_service *x,
    struct tally *t, struct err *e)
{
	const struct programs *all;
	int rc = 0;

	for (uint32_t n = 0; (all = port->calls->programs(port->owner, n)) != NULL; n++)
		for (uint32_t i = 0; i < all->nprograms && t->enabled < s->exploration.at_once &&
				     !t->full && rc == 0;
		     i++)
			if (label_of_service(x->of, all->programs[i].service))
				rc = explore_program(port, s, all, &all->programs[i], x, t, e);
	return rc;
}

int
explore(struct search_port *port, struct search *s, struct err *e)
{
	struct exploration *x = &s->exploration;
	struct explored_service service = { .of = labels_get(port->labels, s->at.gap.from_unit),
		.in_layer = s->layer.state != LAYER_CLOSED };
	struct tally t = { 0 };
	int rc;

	assert(x->hypothesis == NULL);
	/* between the ends of two units lies only their link */
	if (s->at.gap.from_unit != s->at.gap.to_unit)
		return 0;
	if (!learned_labels(&service.seen, port, s->diagnosis->type)) {
		label_set_release(&service.seen);
		return search_no_memory(s, e);
	}
	if (!service.in_layer && (x->at_once == 0 || x->was_before_loops) && !x->before_loops &&
	    knows_service(port, &service)) {
		label_set_release(&service.seen);
		return 0;
	}
	x->at_once = x->at_once == 0 ? AT_ONCE : x->at_once;
	x->own |= !service.in_layer;
	x->was_before_loops |= x->before_loops;
	x->done_before = x->done;
	rc = explore_service(port, s, &service, &t, e);
	label_set_release(&service.seen);
	x->traces = 0;
	s->diagnosis->run->cycles += t.enabled > 0;
	if (x->hypothesis != NULL)
		search_set_task(s, TASK_EXPLORE);
	if (x->hypothesis != NULL && (t.enabled == 0 || rc != 0))
		explore_end(port, s);
	forest_touch_run(port->forest, s->diagnosis->run);
	return rc != 0 ? rc : (int)t.enabled;
}

static void
collect_unseen(const struct search_port *port, const struct programs *all,
    const struct explored_service *x, struct texts *unseen)
{
	for (uint32_t i = 0; i < all->nprograms; i++) {
		const struct program *program = &all->programs[i];

		if (!label_of_service(x->of, program->service))
			continue;
		for (uint32_t k = 0; k < program->count; k++) {
			const char *name = all->names[program->first + k];

			if (!preload_is(port->preload, name) && !is_seen(port, x, name))
				texts_intern(unseen, name, strlen(name));
		}
	}
}

/* Of all nodes; they may run the same program. */
static void
collect_unseen_everywhere(
    struct search_port *port, const struct explored_service *x, struct texts *unseen)
{
	const struct programs *all;

	for (uint32_t i = 0; (all = port->calls->programs(port->owner, i)) != NULL; i++)
		collect_unseen(port, all, x, unseen);
}

int
explore_before_loops(struct search_port *port, struct search *s, struct err *e)
{
	struct explored_service x = { .of = labels_get(port->labels, s->at.gap.from_unit) };
	struct texts *unseen;
	uint32_t n;

	if (s->exploration.own || s->layer.state != LAYER_CLOSED ||
	    s->at.gap.from_unit != s->at.gap.to_unit)
		return 0;
	if ((unseen = texts_new()) == NULL || !learned_labels(&x.seen, port, s->diagnosis->type)) {
		texts_free(unseen);
		label_set_release(&x.seen);
		return search_no_memory(s, e);
	}
	collect_unseen_everywhere(port, &x, unseen);
	n = texts_count(unseen);
	texts_free(unseen);
	label_set_release(&x.seen);
	s->exploration.before_loops = n > 0 && n <= AT_ONCE;
	return s->exploration.before_loops;
}

uint32_t
explore_unseen(struct search_port *port, const struct search *s, struct buf *names)
{
	struct explored_service x = { .of = labels_get(port->labels, s->at.gap.from_unit) };
	struct texts *unseen = texts_new();
	uint32_t n, type;
	bool learned = true;

	for (uint32_t i = 0; learned && (type = space_type(port->space, i)) != LABEL_NONE; i++)
		learned = learned_labels(&x.seen, port, type);
	if (unseen != NULL && !s->exploration.own && s->at.gap.from_unit == s->at.gap.to_unit &&
	    learned)
		collect_unseen_everywhere(port, &x, unseen);
	n = unseen != NULL ? texts_count(unseen) : 0;
	for (uint32_t i = 0; i < n && i < UNSEEN_NAMED; i++)
		buf_printf(names, "%s%s", i > 0 ? "\n" : "", texts_get(unseen, i));
	texts_free(unseen);
	label_set_release(&x.seen);
	return n;
}

/* ---- the end of it ---- */

/* why: for the hypothesis; reason: for the log. */
static void
end(struct search_port *port, struct search *s, enum hypothesis_state state, enum reason why,
    enum reason reason)
{
	struct hypothesis *h = s->exploration.hypothesis;

	assert(h != NULL);
	s->exploration.hypothesis = NULL;
	search_set_task(s, TASK_NARROW);
	hypothesis_disable(port, h, reason);
	h->settled_traces = s->exploration.traces;
	h->reason = why;
	hypothesis_settle(port, h, state);
}

void
explore_end(struct search_port *port, struct search *s)
{
	uint32_t *at_once = &s->exploration.at_once;

	*at_once = *at_once < AT_ONCE ? 2 * *at_once : AT_ONCE;
	end(port, s, HYPOTHESIS_NO_HELP, REASON_EXPLORED, REASON_EXPLORED);
}

void
explore_withdraw(struct search_port *port, struct search *s, enum reason reason)
{
	s->exploration.done = s->exploration.done_before;
	end(port, s, HYPOTHESIS_WITHDRAWN, REASON_CONGESTION, reason);
}

void
explore_less(struct search_port *port, struct search *s)
{
	struct exploration *x = &s->exploration;
	uint32_t were = x->done - x->done_before;

	if (x->at_once > were)
		x->at_once = were;
	if (x->at_once > 1) {
		x->at_once /= 2;
		x->done = x->done_before;
	} else {
		count_over_budget(s);
	}
	end(port, s, HYPOTHESIS_WITHDRAWN, REASON_OVER_BUDGET, REASON_OVER_BUDGET);
}

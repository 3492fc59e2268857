/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The space knows no tracepoint of the gap's service for this type, but its programs
 * have some. (Where it knows some, those that it has not seen are rare.) Some at a time go on, a
 * few traces teach the space, and the search goes on with what it then knows.
 */
#include <stdio.h>
#include <string.h>

#include "controlplane/search/search.h"
#include "base/texts.h"

enum { AT_ONCE = 256, TRACES = 50 };

/* All labels that the space has seen for this type. */
static bool
seen_labels(struct label_set *ret, struct search_port *g, uint32_t type)
{
	struct space_export look;

	if (!space_export(g->space, type, &look))
		return true;
	for (uint32_t i = 0; i < look.nplaces; i++)
		if (!label_set_add(ret, look.places[i].label))
			return false;
	return true;
}

struct asked {                  /* what is explored: names of one service, one after the other */
	const struct label *of; /* a label of that service */
	struct label_set seen;
	uint32_t at;
	bool full;
};

/* In question at all: the program's own, or those of one provider of the deeper layer. */
static bool
is_asked(const struct search_port *g, const struct search *s, const char *name)
{
	return s->deep.begun ? deep_of(g, s, name) : !preload_is(g->preload, name);
}

static bool
is_seen(const struct search_port *g, const struct asked *a, const char *name)
{
	char text[LABEL_TEXT_MAX + 1];
	int len = snprintf(
	    text, sizeof text, "%.*s/%s", (int)a->of->service_len, a->of->text, name);
	uint32_t label = len < (int)sizeof text ? labels_find(g->labels, text, (size_t)len)
	                                        : LABEL_NONE;

	return label != LABEL_NONE && label_set_has(&a->seen, label);
}

static int
explore_one(struct search_port *g, struct diagnosis *d, struct search *s, const char *name,
    struct wall when, struct err *e)
{
	struct switched log = { .run = d->run->id,
		.cycle = d->run->cycles,
		.on = true,
		.tracepoint = name,
		.reason = s->deep.begun ? REASON_EXPLORES_PRELOAD : REASON_EXPLORES,
		.when = when };
	int rc;

	if (s->explorer == NULL) {
		if ((s->explorer = hypothesis_from(g, d, s->current, when)) == NULL)
			return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
		hypothesis_enter(s->explorer, HYPOTHESIS_PROBING, when);
	}
	log.hypothesis = s->explorer->id;
	if (plan_wants(g->plan, name) && !s->deep.begun)
		return 0;
	d->run->tracepoints += !plan_wants(g->plan, name);
	if ((rc = plan_want(g->plan, name, s->explorer->id, e)) != 0 ||
	    (rc = g->calls->enabled(g->owner, name, e)) != 0)
		return rc;
	return forest_switched(g->forest, &log, e);
}

/* Those of one program, past what was explored before. */
static int
of_program(struct search_port *g, struct diagnosis *d, struct search *s, const struct programs *all,
    const struct program *p, struct asked *a, uint32_t *on, struct wall when, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < p->count && *on < s->explore_most && rc == 0; i++) {
		const char *name = all->names[p->first + i];
		bool seen;

		if (!is_asked(g, s, name))
			continue;
		seen = !s->deep.begun && is_seen(g, a, name);
		if (a->at < s->explored) {
			a->at++;
			continue;
		}
		if (!seen && *on > 0 && !g->calls->affordable_unknown(g->owner, d->type, name)) {
			a->full = true; /* the others when these are off again */
			return 0;
		}
		s->explored = ++a->at;
		if (seen)
			continue;
		if (*on == 0 && !g->calls->affordable_unknown(g->owner, d->type, name)) {
			++*(s->deep.begun ? &s->deep.dear : &s->unexplored);
			continue;
		}
		rc = explore_one(g, d, s, name, when, e);
		++*on;
	}
	return rc;
}

static int
of_service(struct search_port *g, struct diagnosis *d, struct search *s, struct asked *a,
    uint32_t *on, struct wall when, struct err *e)
{
	int rc = 0;

	const struct programs *all;

	for (uint32_t n = 0; (all = g->calls->programs(g->owner, n)) != NULL; n++) {
		for (uint32_t i = 0;
		     i < all->nprograms && *on < s->explore_most && !a->full && rc == 0; i++)
			if (label_of_service(a->of, all->programs[i].service))
				rc = of_program(g, d, s, all, &all->programs[i], a, on, when, e);
	}
	return rc;
}

static void
unseen_of_node(const struct search_port *g, const struct programs *all, const struct asked *a,
    struct texts *unseen)
{
	for (uint32_t i = 0; i < all->nprograms; i++)
		for (uint32_t k = 0; label_of_service(a->of, all->programs[i].service) &&
				     k < all->programs[i].count;
		     k++) {
			const char *name = all->names[all->programs[i].first + k];

			if (!preload_is(g->preload, name) && !is_seen(g, a, name))
				texts_intern(unseen, name, strlen(name));
		}
}

/* Whether a tracepoint of that service's own was ever seen. */
static bool
knows_service(struct search_port *g, const struct asked *a)
{
	for (uint32_t w = 0; w < a->seen.nwords; w++)
		for (uint64_t left = a->seen.words[w]; left != 0; left &= left - 1) {
			uint32_t label = w * 64 + (uint32_t)__builtin_ctzll(left);
			const struct label *l = labels_get(g->labels, label);

			if (l->kind == RECORD_POINT && !preload_label(g->preload, label) &&
			    l->service_len == a->of->service_len &&
			    strncmp(l->text, a->of->text, l->service_len) == 0)
				return true;
		}
	return false;
}

int
explore(
    struct search_port *g, struct diagnosis *d, struct search *s, struct wall when, struct err *e)
{
	struct asked a = { .of = labels_get(g->labels, s->gap.from_unit) };
	uint32_t on = 0;
	int rc;

	if (s->gap.from_unit != s->gap.to_unit)
		return 0; /* between units lies their link alone */
	if (!seen_labels(&a.seen, g, d->type)) {
		label_set_release(&a.seen);
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	}
	if (!s->deep.begun && s->explore_most == 0 && knows_service(g, &a)) {
		label_set_release(&a.seen);
		return 0;
	}
	s->explore_most = s->explore_most == 0 ? AT_ONCE : s->explore_most;
	s->explored_own |= !s->deep.begun;
	s->explored_before = s->explored;
	rc = of_service(g, d, s, &a, &on, when, e);
	label_set_release(&a.seen);
	s->taught = 0;
	d->run->cycles += on > 0;
	if (s->explorer != NULL && (on == 0 || rc != 0))
		explore_end(g, s, when);
	forest_touch_run(g->forest, d->run);
	return rc != 0 ? rc : (int)on;
}

uint32_t
explore_unseen(struct search_port *g, const struct diagnosis *d, const struct search *s)
{
	struct asked a = { .of = labels_get(g->labels, s->gap.from_unit) };
	struct texts *unseen = texts_new(); /* nodes may run the same program */
	const struct programs *all;
	uint32_t n = 0;

	if (unseen != NULL && !s->explored_own && s->gap.from_unit == s->gap.to_unit &&
	    seen_labels(&a.seen, g, d->type))
		for (uint32_t i = 0; (all = g->calls->programs(g->owner, i)) != NULL; i++)
			unseen_of_node(g, all, &a, unseen);
	n = unseen != NULL ? texts_count(unseen) : 0;
	texts_free(unseen);
	label_set_release(&a.seen);
	return n;
}

bool
explored_enough(const struct search_port *g, const struct search *s, bool late)
{
	return late || (s->taught >= TRACES && g->calls->costs_measured(g->owner));
}

static void
log_off(struct search_port *g, const struct hypothesis *h, enum reason reason, struct wall when)
{
	struct switched log = { .run = h->run,
		.hypothesis = h->id,
		.cycle = h->cycle,
		.reason = reason,
		.subject = reason == REASON_SHED ? g->shed_by : NULL,
		.when = when };
	uint64_t owner;

	for (uint32_t i = 0; (log.tracepoint = plan_at(g->plan, i, &owner)) != NULL; i++)
		if (owner == h->id)
			forest_switched(g->forest, &log, NULL);
}

static void
end(struct search_port *g, struct search *s, enum hypothesis_state state, enum reason state_reason,
    enum reason reason, struct wall when)
{
	struct hypothesis *h = s->explorer;

	s->explorer = NULL;
	log_off(g, h, reason, when);
	plan_release_owner(g->plan, h->id);
	h->settled_traces = s->taught;
	h->reason = state_reason;
	hypothesis_enter(h, state, when);
	forest_touch(g->forest, h);
}

void
explore_end(struct search_port *g, struct search *s, struct wall when)
{
	s->explore_most = s->explore_most < AT_ONCE ? 2 * s->explore_most : AT_ONCE;
	end(g, s, HYPOTHESIS_NO_HELP, REASON_EXPLORED, REASON_EXPLORED, when);
}

void
explore_withdraw(struct search_port *g, struct search *s, enum reason reason, struct wall when)
{
	s->explored = s->explored_before;
	end(g, s, HYPOTHESIS_WITHDRAWN, REASON_CONGESTION, reason, when);
}

void
explore_less(struct search_port *g, struct search *s, struct wall when)
{
	uint32_t were = s->explored - s->explored_before;

	if (s->explore_most > were)
		s->explore_most = were;
	if (s->explore_most > 1) {
		s->explore_most /= 2;
		s->explored = s->explored_before;
	} else {
		++*(s->deep.begun ? &s->deep.dear : &s->unexplored);
	}
	end(g, s, HYPOTHESIS_WITHDRAWN, REASON_OVER_BUDGET, REASON_OVER_BUDGET, when);
}

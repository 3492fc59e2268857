/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Learning: every tracepoint of every provider on, for a while, for all requests;
 * then off again. What that costs each node stays under a budget of its own: fewer
 * requests are probed where it would not. Where even the filters that say no cost
 * too much, or there are more providers than a want can name, the providers take turns
 * in groups; what such turns show is added to what is known, but of what lies between
 * groups they say nothing (space_learn_more()).
 */
#include <stdio.h>
#include <string.h>

#include "controlplane/engine/overhead.h"
#include "controlplane/engine/engine_inside.h"
#include "base/texts.h"

#define SHRINK_NS \
	INT64_C(  \
	    500000000) /* between two steps of the rate while queues are full, or empty again \
	                    */
#define ANSWER_NS \
	INT64_C(30000000000) /* an agent that never answers must not keep everything on \
	                      */

enum { SHRINK_MOST = 64, GROUPS_MOST = 64 };

static int want_group(struct engine *g, struct err *e);
static int version_begin(struct engine *g, const char *name, struct err *e);

/* Of all groups. */
double
learn_left_s(const struct engine *g, struct mono now)
{
	const struct learning *l = &g->learning;
	int64_t each_ns = l->for_ns / l->ngroups,
		left_ns = l->ready ? mono_since_ns(l->until, now) : each_ns;

	return (double)(left_ns + each_ns * (l->ngroups - l->group - 1)) / 1e9;
}

/* Of requests, the least of any type: how much of what is on is paid for. */
double
learn_probed(const struct engine *g)
{
	double least = 1;

	for (uint32_t i = 0; i < g->ntypes; i++)
		if (afford_probed(g, &g->types[i]) < least)
			least = afford_probed(g, &g->types[i]);
	return least;
}

int
engine_learn_as(struct engine *g, int64_t for_ns, const char *name, struct mono now, struct err *e)
{
	int rc;

	if (g->learning.active)
		return err_set(e, ERR_BUSY, "learning already; 'hone status' shows how far it is");
	if (nodes_tracepoints(g, false) == 0)
		return err_set(e, ERR_MISSING,
		    "there is nothing to learn from: no agent has told of a program with "
		    "tracepoints; see 'hone agents'");
	if (g->paused)
		return err_set(e, ERR_BUSY, "not now: %s; try again when the load has gone down",
		    g->paused_why);
	if ((rc = version_begin(g, name, e)) != 0)
		return rc;
	g->learning = (struct learning){ .for_ns = for_ns,
		.since = now,
		.until = { now.ns + for_ns },
		.begun = now,
		.shrink = 1,
		.ngroups = 1 };
	if ((rc = want_group(g, e)) != 0 || (rc = afford_learning(g, true, e)) != 0) {
		plan_release_owner(g->plan, OWNER_LEARN);
		return rc;
	}
	g->learning.active = true;
	nodes_changed(g);
	return afford_step(g, now, e);
}

int
engine_learn(struct engine *g, int64_t for_ns, struct mono now, struct err *e)
{
	return engine_learn_as(g, for_ns, NULL, now, e);
}

/* ---- versions ---- */

bool
under_diagnosis(const struct engine *g)
{
	for (uint32_t i = 0; i < g->ntypes; i++)
		if (g->types[i].diagnosis != NULL && g->types[i].diagnosis->phase != PHASE_ENDED)
			return true;
	return false;
}

/*
 * Other programs, or another name: a space of its own; the former one stays in its
 * file. What was learned before we knew of versions is taken to be of this one, and
 * who says the name says that these programs are of it.
 */
static int
version_begin(struct engine *g, const char *name, struct err *e)
{
	const struct space_version *was = space_version(g->space);
	uint64_t fingerprint = nodes_fingerprint(g);
	char made_up[sizeof was->name], kept[sizeof was->name];
	struct space *fresh;
	int rc;

	if (was->fingerprint == fingerprint && (name == NULL || strcmp(name, was->name) == 0))
		return 0;
	snprintf(made_up, sizeof made_up, "%08x", (unsigned)(fingerprint >> 32));
	if (was->fingerprint == 0 || (name != NULL && strcmp(name, was->name) == 0))
		return space_version_set(
		    g->space, fingerprint, name != NULL ? name : strcpy(kept, was->name), 0, e);
	if (under_diagnosis(g))
		return err_set(e, ERR_BUSY,
		    "the application is another one than was learned: hone stop first, or wait until "
		    "the diagnoses have ended");
	if ((fresh = space_new(g->labels)) == NULL)
		return err_set(e, ERR_MEMORY, "search space: out of memory");
	if ((rc = space_version_set(fresh, fingerprint, name != NULL ? name : made_up, 0, e)) !=
	    0) {
		space_free(fresh);
		return rc;
	}
	engine_space_use(g, fresh);
	return 0;
}

/* ---- what is on ---- */

/* One wildcard for each provider: few rules cost little, however many tracepoints they stand for.
 * Every mutex and every malloc would swamp what is learned: the deep layer is left out. */
static int
want_provider(struct engine *g, struct texts *seen, const char *tracepoint, struct err *e)
{
	const char *colon = strchr(tracepoint, ':');
	uint32_t before = texts_count(seen), number;
	char all[TOGGLE_NAME_MAX + 1];

	if (colon == NULL || preload_is(&g->preload, tracepoint))
		return 0;
	snprintf(all, sizeof all, "%.*s:*", (int)(colon - tracepoint), tracepoint);
	if ((number = texts_intern(seen, all, strlen(all))) == UINT32_MAX)
		return err_set(e, ERR_MEMORY, "learning: out of memory");
	if (number < before || number % g->learning.ngroups != g->learning.group)
		return 0;
	return plan_want(g->plan, all, OWNER_LEARN, e);
}

static int
want_group(struct engine *g, struct err *e)
{
	struct texts *seen = texts_new();
	int rc = seen != NULL ? 0 : err_set(e, ERR_MEMORY, "learning: out of memory");

	for (uint32_t i = 0; i < g->nnodes && rc == 0; i++)
		for (uint32_t k = 0; k < g->nodes[i].programs.nnames && rc == 0; k++)
			rc = want_provider(g, seen, g->nodes[i].programs.names[k], e);
	if (rc == 0)
		g->learning.providers = texts_count(seen);
	texts_free(seen);
	while (rc == 0 && g->learning.providers > g->learning.ngroups * (uint32_t)TOGGLES_MAX) {
		plan_release_owner(
		    g->plan, OWNER_LEARN); /* too many for a want: once more, in more groups */
		g->learning.ngroups *= 2;
		return want_group(g, e);
	}
	return rc;
}

/* The time that is left is shared by the groups that are left. */
static int
next_group(struct engine *g, uint32_t group, struct mono now, struct err *e)
{
	struct learning *l = &g->learning;

	plan_release_owner(g->plan, OWNER_LEARN);
	l->group = group;
	l->ready = false;
	l->since = now;
	l->until = (struct mono){ now.ns + l->for_ns / l->ngroups };
	nodes_changed(g);
	return want_group(g, e) != 0 ? ERR_MEMORY : afford_learning(g, true, e);
}

/* Even the fewest requests cost more than there is: half of the providers at a time, from the first
 * group again. */
static int
split(struct engine *g, struct mono now, struct err *e)
{
	struct learning *l = &g->learning;

	if (!l->ready || mono_since_ns(now, l->since) < 2 * SHRINK_NS ||
	    2 * l->ngroups > l->providers || l->ngroups == GROUPS_MOST)
		return 0;
	for (uint32_t i = 0; i < g->ntypes; i++)
		if (afford_learning_probed(g, &g->types[i]) < AFFORD_PROBED_MIN) {
			l->ngroups *= 2;
			return next_group(g, 0, now, e);
		}
	return 0;
}

/* ---- as time goes by ---- */

/* Full queues halve the rate, again and again, before they end it; empty ones let it up again. */
static void
shrink(struct engine *g, struct mono now)
{
	struct learning *l = &g->learning;

	if (mono_since_ns(now, l->shrunk) < (g->paused ? SHRINK_NS : 4 * SHRINK_NS))
		return;
	if (g->paused && l->shrink * SHRINK_MOST > 1)
		l->shrink /= 2;
	else if (!g->paused && l->shrink < 1)
		l->shrink *= 2;
	else
		return;
	l->shrunk = now;
}

static bool
too_much(const struct engine *g, struct mono now)
{
	return g->paused && !g->rest && g->learning.shrink * SHRINK_MOST <= 1 &&
	       mono_since_ns(now, g->paused_since) > g->o.withdraw_ns;
}

static void
end_by(struct engine *g, const char *by, const char *words)
{
	forest_audit_own(g->forest, by, "off: all tracepoints", 0, words, g->learning.when);
	learn_end(g);
}

/* What was learned by the time it ends stays, whatever ended it. */
int
learn_step(struct engine *g, struct mono now, struct wall when, struct err *e)
{
	struct learning *l = &g->learning;
	int rc = 0;

	if (!l->active)
		return 0;
	l->when = when;
	if (g->rest) { /* what that agent does not record proves nothing; the time counts anew after
		          it */
		l->shrink /= l->ready && l->shrink * SHRINK_MOST > 1 ? 2 : 1;
		l->ready = false;
	} else {
		shrink(g, now);
	}
	if (!l->ready && nodes_done(g) && !g->rest) {
		l->ready = true;
		l->since = now;
		l->until = (struct mono){ now.ns + l->for_ns / l->ngroups };
	}
	if (too_much(g, now))
		end_by(g, "full queues", g->paused_why);
	else if (mono_since_ns(now, l->until) >= (l->ready ? 0 : ANSWER_NS)) {
		if (l->group + 1 < l->ngroups)
			rc = next_group(g, l->group + 1, now, e);
		else
			end_by(g, "learning", "its time is over");
	} else {
		rc = split(g, now, e);
	}
	if (rc != 0)
		end_by(g, "learning", e != NULL ? e->text : "");
	return rc;
}

void
learn_end(struct engine *g)
{
	const struct space_version *v = space_version(g->space);
	char name[sizeof v->name];

	if (!g->learning.active)
		return;
	snprintf(name, sizeof name, "%s", v->name);
	space_version_set(g->space, v->fingerprint, name, g->learning.when.ns, NULL);
	plan_release_owner(g->plan, OWNER_LEARN);
	nodes_changed(g);
	g->learning.active = false;
	g->learning.ended = true;
}

bool
engine_learned(struct engine *g)
{
	bool save = g->learning.ended || g->learned;

	g->learning.ended = g->learned = false;
	return save;
}

/* Only what was seen whole, with everything on, tells what may follow what. */
int
learn_trace(struct engine *g, const struct trace *t, struct err *e)
{
	if (!g->learning.ready || g->rest || !t->probed || t->lossy ||
	    !began_after(g, t, g->learning.since.ns))
		return 0;
	g->learning.traces++;
	return g->learning.ngroups > 1 ? space_learn_more(g->space, t, e)
	                               : space_learn(g->space, t, e);
}

/* ---- from diagnoses ---- */

static uint64_t
seen_key(uint32_t unit, uint32_t label)
{
	return ((uint64_t)unit << 32 | label) + 1;
}

/* What the space knows of the type, for one quick question an event. */
static int
see_again(struct engine *g, struct type *type, struct err *e)
{
	struct space_export look;
	bool ok = true;

	map_release(&type->seen);
	if (space_export(g->space, type->label, &look))
		for (uint32_t i = 0; i < look.nplaces && ok; i++)
			ok = map_put(
			    &type->seen, seen_key(look.places[i].unit, look.places[i].label), type);
	if (!ok)
		return err_set(e, ERR_MEMORY, "search space: out of memory");
	type->seen_of = g->spaces + 1;
	return 0;
}

/* Whether the unit shows a label that is new in its kind; notes what it shows. */
static int
see_unit(
    struct engine *g, struct type *type, const struct trace *t, const struct unit *u, bool *fresh)
{
	uint32_t begin = LABEL_NONE;

	for (uint32_t i = u->first; i < u->first + u->count; i++) {
		uint32_t label = t->events[i].label;
		uint8_t kind = labels_get(g->labels, label)->kind;

		if (begin == LABEL_NONE &&
		    (kind == RECORD_UNIT_BEGIN || kind == RECORD_REQUEST_BEGIN))
			begin = label;
		if (begin == LABEL_NONE || map_get(&type->seen, seen_key(begin, label)) != NULL ||
		    preload_label(&g->preload, label))
			continue;
		*fresh = true;
		if (!map_put(&type->seen, seen_key(begin, label), type))
			return ERR_MEMORY;
	}
	return 0;
}

/* Most traces show nothing new: they are not taught, and cost a look at each event. */
int
learn_new(struct engine *g, struct type *type, const struct trace *t, bool anything, struct err *e)
{
	bool fresh = false;
	int rc = 0;

	if (!t->probed || t->lossy)
		return 0;
	if (type->seen_of != g->spaces + 1 && (rc = see_again(g, type, e)) != 0)
		return rc;
	for (uint32_t i = 0; i < t->nunits; i++)
		if (see_unit(g, type, t, &t->units[i], &fresh) != 0)
			return err_set(e, ERR_MEMORY, "search space: out of memory");
	if (!fresh && !anything)
		return 0;
	g->taught = true;
	return space_learn_more(g->space, t, e);
}

/* Learned by a diagnosis alone, the space is of the programs that are there. */
void
learn_keep(struct engine *g, struct wall when)
{
	const struct space_version *v = space_version(g->space);
	char name[sizeof v->name];

	if (!g->taught)
		return;
	snprintf(name, sizeof name, "%s", v->name);
	space_version_set(g->space, v->fingerprint != 0 ? v->fingerprint : nodes_fingerprint(g),
	    name, when.ns, NULL);
	g->taught = false;
	g->learned = true;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Learning: every tracepoint of every provider on, for a while, for all requests; then off again. */
#include <stdio.h>
#include <string.h>

#include "controlplane/engine_inside.h"

static int want_all(struct engine *g, struct err *e);

int
engine_learn(struct engine *g, int64_t for_ns, struct mono now, struct err *e)
{
	int rc;

	if (g->learning.active)
		return err_set(e, ERR_BUSY, "learning already; 'hone status' shows how far it is");
	if (nodes_tracepoints(g) == 0)
		return err_set(e, ERR_MISSING, "there is nothing to learn from: no agent has told of a program with "
		    "tracepoints; see 'hone agents'");
	if (g->paused)
		return err_set(e, ERR_BUSY, "not now: %s; try again when the load has gone down", g->paused_why);
	if ((rc = want_all(g, e)) != 0) {
		plan_release_owner(g->plan, OWNER_LEARN);
		return rc;
	}
	g->learning = (struct learning){ .active = true, .for_ns = for_ns, .since = now, .until = { now.ns + for_ns } };
	nodes_changed(g);
	return 0;
}

/* One wildcard for each provider: few rules cost little, however many tracepoints they stand for. */
static int
want_all(struct engine *g, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < g->nnodes && rc == 0; i++) {
		const struct programs *p = &g->nodes[i].programs;

		for (uint32_t k = 0; k < p->nnames && rc == 0; k++) {
			const char *colon = strchr(p->names[k], ':');
			char all[TOGGLE_NAME_MAX + 1];

			if (colon == NULL)
				continue;
			snprintf(all, sizeof all, "%.*s:*", (int)(colon - p->names[k]), p->names[k]);
			rc = plan_want(g->plan, all, OWNER_LEARN, e);
		}
	}
	return rc;
}

/* Full queues end it early: what was learned by then stays. */
void
learn_step(struct engine *g, struct mono now)
{
	struct learning *l = &g->learning;

	if (!l->active)
		return;
	if (!l->ready && nodes_done(g)) {
		l->ready = true;
		l->since = now;
		l->until = (struct mono){ now.ns + l->for_ns };
	}
	if (g->paused && mono_since_ns(now, g->paused_since) > g->o.withdraw_ns)
		learn_end(g);
	else if (l->ready && mono_since_ns(now, l->until) >= 0)
		learn_end(g);
	else if (!l->ready && mono_since_ns(now, l->until) >= 30000000000)
		learn_end(g);		/* an agent that never answers must not keep everything on */
}

void
learn_end(struct engine *g)
{
	if (!g->learning.active)
		return;
	plan_release_owner(g->plan, OWNER_LEARN);
	nodes_changed(g);
	g->learning.active = false;
	g->learning.ended = true;
}

bool
engine_learned(struct engine *g)
{
	bool ended = g->learning.ended;

	g->learning.ended = false;
	return ended;
}

/* Only what was seen whole, with everything on, tells what may follow what. */
int
learn_trace(struct engine *g, const struct trace *t, struct err *e)
{
	if (!g->learning.ready || !t->probed || t->lossy || !began_after(g, t, g->learning.since.ns))
		return 0;
	g->learning.traces++;
	return space_learn(g->space, t, e);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Full queues: whether more may go on. On the way from a tracepoint to us a record
 * passes four queues of its agent (wire/agent.h) and our own mailbox; the fullest counts.
 *
 *	          one over pause_fill, or an agent has shed
 *	going on -------------------------------------------> paused
 *	         <-------------------------------------------
 *	          all under resume_fill, and no agent rests
 *
 * The two thresholds lie apart, or a queue that hovers at one would make us flicker.
 *
 * An agent sheds: full to the brim, it has switched off all that was added, by itself.
 * Then it rests: nothing is wanted there for shed_for, and for twice as long each
 * time that it sheds soon after a rest, at most REST_MOST times as long; soon: within
 * REST_FORGET times what it rested last.
 */
#include <stdio.h>
#include <string.h>

#include "controlplane/engine/engine_inside.h"

enum { REST_MOST = 32, REST_FORGET = 4 };

static const char *
percent(char out[16], double share)
{
	snprintf(out, 16, "%.0f %%", share * 100);
	return out;
}

double
node_fill(const struct node *n, enum queue *which)
{
	double fullest = 0;

	*which = QUEUE_RING;
	for (int q = 0; q < QUEUES; q++)
		if (n->status.fill[q] > fullest) {
			fullest = n->status.fill[q];
			*which = (enum queue)q;
		}
	return fullest;
}

void
queues_shed(struct engine *g, struct node *n, struct mono now)
{
	int64_t most_ns = REST_MOST * g->o.shed_ns;
	bool soon = n->rest_ns > 0 && mono_since_ns(now, n->rests_until) < REST_FORGET * n->rest_ns;
	char full[16];

	n->rest_ns = !soon ? g->o.shed_ns : n->rest_ns < most_ns / 2 ? 2 * n->rest_ns : most_ns;
	n->rests = true;
	n->rests_until = (struct mono){ now.ns + n->rest_ns };
	g->sheds++;
	g->rest = true;
	snprintf(g->shed_why, sizeof g->shed_why,
	    "agent %s has let go of its tracepoints: %s %s full", n->name,
	    queue_name(n->status.shed_by), percent(full, n->status.fill[n->status.shed_by]));
	nodes_changed(g);
}

/* Who has gone rests too, but nobody waits for it. */
static void
end_rests(struct engine *g, struct mono now)
{
	g->rest = false;
	for (uint32_t i = 0; i < g->nnodes; i++) {
		struct node *n = &g->nodes[i];

		if (n->rests && now.ns >= n->rests_until.ns) {
			n->rests = false;
			nodes_changed(g);
		}
		g->rest |= n->rests && n->connected;
	}
}

/* In words: the fullest queue, and how many other agents have one that would make us pause. */
static double
fullest(struct engine *g, char *why, size_t size)
{
	double most = g->mailbox_fill, fill;
	const struct node *whose = NULL;
	enum queue which = QUEUE_RING, q;
	uint32_t over = 0;
	char full[16];

	for (uint32_t i = 0; i < g->nnodes; i++) {
		if (!g->nodes[i].connected)
			continue;
		fill = node_fill(&g->nodes[i], &q);
		over += fill > g->o.pause_fill;
		if (fill > most) {
			most = fill;
			which = q;
			whose = &g->nodes[i];
		}
	}
	if (whose == NULL)
		snprintf(why, size, "the controller's mailbox is %s full", percent(full, most));
	else if (over > 1)
		snprintf(why, size, "agent %s: %s %s full, and %u more", whose->name,
		    queue_name(which), percent(full, most), over - 1);
	else
		snprintf(why, size, "agent %s: %s %s full", whose->name, queue_name(which),
		    percent(full, most));
	return most;
}

static void
why_rests(struct engine *g, char *why, size_t size, struct mono now)
{
	int64_t left_ns = 0;

	for (uint32_t i = 0; i < g->nnodes; i++)
		if (g->nodes[i].connected && g->nodes[i].rests &&
		    mono_since_ns(g->nodes[i].rests_until, now) > left_ns)
			left_ns = mono_since_ns(g->nodes[i].rests_until, now);
	snprintf(
	    why, size, "%s; nothing is on there for %.0f s", g->shed_why, (double)left_ns / 1e9);
}

void
queues_watch(struct engine *g, struct mono now)
{
	char why[sizeof g->paused_why];
	double most = fullest(g, why, sizeof why);

	end_rests(g, now);
	if (!g->paused && (g->rest || most > g->o.pause_fill)) {
		g->paused = true;
		g->paused_since = now;
		g->pauses++;
	} else if (g->paused && !g->rest && most < g->o.resume_fill) {
		g->paused = false;
		g->paused_ns += mono_since_ns(now, g->paused_since);
	}
	if (!g->paused)
		return;
	if (g->rest && most <= g->o.pause_fill)
		why_rests(g, why, sizeof why, now);
	memcpy(g->paused_why, why, sizeof why);
}

void
engine_mailbox(struct engine *g, double fill)
{
	g->mailbox_fill = fill;
}

void
engine_queues(const struct engine *g, struct engine_queues *ret)
{
	*ret = (struct engine_queues){ g->paused, g->paused ? g->paused_why : "", g->shed_why,
		g->pauses, g->sheds, g->paused_since, g->paused_ns };
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/queues.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { BACKOFF_MOST = 32, SOON = 4 }; /* times shed_ns; times the last backoff */

void
queues_shed(struct queues *q, struct nodes *nodes, uint32_t node, struct mono now)
{
	struct node *n = &nodes->items[node];
	int64_t most_ns = BACKOFF_MOST * q->limits.shed_ns;
	bool soon = n->backoff_ns > 0 &&
	            mono_since_ns(now, n->backoff_until) < SOON * n->backoff_ns;

	assert(node < nodes->n);
	n->backoff_ns = !soon                         ? q->limits.shed_ns
	                : n->backoff_ns < most_ns / 2 ? 2 * n->backoff_ns
	                                              : most_ns;
	n->backing_off = true;
	n->backoff_until = (struct mono){ now.ns + n->backoff_ns };
	q->sheds++;
	q->backing_off = true;
	snprintf(q->shed_by, sizeof q->shed_by, "%s/%s", n->name, queue_name(n->status.shed_by));
	q->shed = (struct congestion){ .reason = REASON_LOAD_SHED,
		.queue = n->status.shed_by,
		.fill = n->status.fill[n->status.shed_by] };
	strcpy(q->shed.node, n->name);
	nodes_changed(nodes);
}

/* A node without a connected agent may be backing off too; q->backing_off does not include it. */
static void
end_backoffs(struct queues *q, struct nodes *nodes, struct mono now)
{
	q->backing_off = false;
	for (uint32_t i = 0; i < nodes->n; i++) {
		struct node *n = &nodes->items[i];

		if (n->backing_off && now.ns >= n->backoff_until.ns) {
			n->backing_off = false;
			nodes_changed(nodes);
		}
		q->backing_off |= n->backing_off && n->connected;
	}
}

/* Whose ring buffer it is. */
static void
name_program(struct congestion *c, const struct node *n)
{
	bool of_ring = c->queue == QUEUE_RING;

	strcpy(c->program, of_ring ? n->fullest : "");
	c->pid = of_ring ? n->status.fullest_pid : 0;
}

/* The fullest queue, and how many other agents are over pause_fill. */
static struct congestion
find_fullest(const struct queues *q, const struct nodes *nodes)
{
	struct congestion c = { .reason = REASON_MAILBOX_FULL, .fill = q->mailbox_fill };
	enum queue fullest;
	uint32_t over = 0;
	double fill;

	for (uint32_t i = 0; i < nodes->n; i++) {
		if (!nodes->items[i].connected)
			continue;
		fill = node_fill(&nodes->items[i], &fullest);
		over += fill > q->limits.pause_fill;
		if (fill > c.fill) {
			c.reason = REASON_QUEUE_FULL;
			c.queue = fullest;
			c.fill = fill;
			strcpy(c.node, nodes->items[i].name);
			name_program(&c, &nodes->items[i]);
		}
	}
	if (c.reason == REASON_QUEUE_FULL && over > 1)
		c.others = over - 1;
	return c;
}

/* The last agent that shed load, and the time until the last backoff ends. */
static struct congestion
find_backoff(const struct queues *q, const struct nodes *nodes, struct mono now)
{
	struct congestion c = q->shed;
	int64_t left_ns = 0;

	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct node *n = &nodes->items[i];

		if (n->connected && n->backing_off &&
		    mono_since_ns(n->backoff_until, now) > left_ns)
			left_ns = mono_since_ns(n->backoff_until, now);
	}
	c.backoff_s = (double)left_ns / 1e9;
	return c;
}

void
queues_update(struct queues *q, struct nodes *nodes, struct mono now)
{
	struct congestion fullest = find_fullest(q, nodes);

	end_backoffs(q, nodes, now);
	if (!q->paused && (q->backing_off || fullest.fill > q->limits.pause_fill)) {
		q->paused = true;
		q->paused_since = now;
		q->pauses++;
	} else if (q->paused && !q->backing_off && fullest.fill < q->limits.resume_fill) {
		q->paused = false;
		q->paused_ns += mono_since_ns(now, q->paused_since);
	}
	if (!q->paused)
		return;
	q->pause = q->backing_off && fullest.fill <= q->limits.pause_fill
	               ? find_backoff(q, nodes, now)
	               : fullest;
}

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
	nodes->backing_off += !n->backing_off;
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
	for (uint32_t i = 0; i < nodes->n && nodes->backing_off > 0; i++) {
		struct node *n = &nodes->items[i];

		if (n->backing_off && now.ns >= n->backoff_until.ns) {
			n->backing_off = false;
			nodes->backing_off--;
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
	const struct node *n = NULL;
	enum queue fullest;
	uint32_t over = 0;

	for (uint32_t i = 0; i < nodes->n; i++) {
		over += nodes->fill[i] > q->limits.pause_fill;
		if (nodes->fill[i] > c.fill) {
			c.fill = nodes->fill[i];
			n = &nodes->items[i];
		}
	}
	if (n != NULL) {
		node_fill(n, &fullest);
		c.reason = REASON_QUEUE_FULL;
		c.queue = fullest;
		strcpy(c.node, n->name);
		name_program(&c, n);
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

void
queues_status(struct queues *q, struct nodes *nodes, uint32_t node, struct mono now)
{
	double fullest = q->paused ? q->pause.fill : q->limits.pause_fill;

	assert(node < nodes->n);
	if (nodes->fill[node] > fullest || (q->backing_off && !q->paused))
		queues_update(q, nodes, now);
}

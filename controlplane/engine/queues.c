/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/queues.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { BACKOFF_MOST = 32, SOON = 4 }; /* times shed_ns; times the last backoff */

static const char *
percent(char out[16], double share)
{
	snprintf(out, 16, "%.0f %%", share * 100);
	return out;
}

void
queues_shed(struct queues *q, struct nodes *nodes, uint32_t node, struct mono now)
{
	struct node *n = &nodes->items[node];
	int64_t most_ns = BACKOFF_MOST * q->limits.shed_ns;
	bool soon = n->backoff_ns > 0 &&
	            mono_since_ns(now, n->backoff_until) < SOON * n->backoff_ns;
	char full[16];

	assert(node < nodes->n);
	n->backoff_ns = !soon                         ? q->limits.shed_ns
	                : n->backoff_ns < most_ns / 2 ? 2 * n->backoff_ns
	                                              : most_ns;
	n->backing_off = true;
	n->backoff_until = (struct mono){ now.ns + n->backoff_ns };
	q->sheds++;
	q->backing_off = true;
	snprintf(q->shed_by, sizeof q->shed_by, "%s/%s", n->name, queue_name(n->status.shed_by));
	snprintf(q->shed_why, sizeof q->shed_why, "agent %s has shed load: %s %s full", n->name,
	    queue_name(n->status.shed_by), percent(full, n->status.fill[n->status.shed_by]));
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

/* The occupancy of the fullest queue. why: which one, and how many other agents are over
 * pause_fill. */
static double
find_fullest(const struct queues *q, const struct nodes *nodes, char *why, size_t size)
{
	double most = q->mailbox_fill, fill;
	const struct node *whose = NULL;
	enum queue which = QUEUE_RING, fullest;
	uint32_t over = 0;
	char full[16];

	for (uint32_t i = 0; i < nodes->n; i++) {
		if (!nodes->items[i].connected)
			continue;
		fill = node_fill(&nodes->items[i], &fullest);
		over += fill > q->limits.pause_fill;
		if (fill > most) {
			most = fill;
			which = fullest;
			whose = &nodes->items[i];
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
describe_backoff(
    const struct queues *q, const struct nodes *nodes, char *why, size_t size, struct mono now)
{
	int64_t left_ns = 0;

	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct node *n = &nodes->items[i];

		if (n->connected && n->backing_off &&
		    mono_since_ns(n->backoff_until, now) > left_ns)
			left_ns = mono_since_ns(n->backoff_until, now);
	}
	snprintf(why, size, "%s; no tracepoint is added there for %.0f s", q->shed_why,
	    (double)left_ns / 1e9);
}

void
queues_update(struct queues *q, struct nodes *nodes, struct mono now)
{
	char why[sizeof q->paused_why];
	double most = find_fullest(q, nodes, why, sizeof why);

	end_backoffs(q, nodes, now);
	if (!q->paused && (q->backing_off || most > q->limits.pause_fill)) {
		q->paused = true;
		q->paused_since = now;
		q->pauses++;
	} else if (q->paused && !q->backing_off && most < q->limits.resume_fill) {
		q->paused = false;
		q->paused_ns += mono_since_ns(now, q->paused_since);
	}
	if (!q->paused)
		return;
	if (q->backing_off && most <= q->limits.pause_fill)
		describe_backoff(q, nodes, why, sizeof why, now);
	memcpy(q->paused_why, why, sizeof why);
}

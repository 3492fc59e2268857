/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/main/agent_control.h"

#include <stdio.h>
#include <string.h>

#include "agent/main/agent_below.h"
#include "agent/main/agent_probes.h"
#include "agent/main/agent_recorder.h"
#include "wire/frame.h"

#define SAMPLING_LEASE_NS (10 * SECOND)
#define SAMPLING_LEASE_MIN_NS (2 * SECOND) /* it is renewed every second */

void
control_follow_link(struct agent *a)
{
	struct agent_control *c = &a->control;
	struct link_stats link;

	link_stats(a->link, &link);
	if (link.connection != c->connection) {
		c->connection = link.connection;
		reconcile_connected(a->reconcile);
		a->report.due = true;
		agent_log(a, LOG_INFO, "connected to %s", link.url);
	}
	if (!link.connected && link.trouble.code != 0 &&
	    strcmp(link.trouble.text, c->link_trouble) != 0)
		agent_log(a, LOG_WARN, "%s", link.trouble.text);
	snprintf(c->link_trouble, sizeof c->link_trouble, "%s", link.trouble.text);
	c->connected = link.connected;
	c->overrun &= link.connected; /* what it said is not so for ever */
	if (link.heard.ns > c->heard.ns)
		c->heard = link.heard;
}

static void
apply_rates(struct agent *a, const struct want *w, struct mono now)
{
	struct agent_control *c = &a->control;
	struct reconcile_stats state;
	struct mono until = { 0 };
	struct err e = { 0 };

	reconcile_stats(a->reconcile, now, &state);
	if (!state.shed)
		until = state.lease_until;
	rates_apply(a->rates, w, until, &e);
	if (strcmp(e.text, c->rates_trouble) != 0 && e.code != 0)
		agent_log(a, LOG_WARN, "%s", e.text);
	snprintf(c->rates_trouble, sizeof c->rates_trouble, "%s", e.text);
}

void
control_take_want(struct agent *a, struct mono now)
{
	struct agent_control *c = &a->control;
	struct link_want *w = link_take_want(a->link);
	struct err e;

	if (w == NULL)
		return;
	/* It may be of a connection that was not noticed yet. */
	control_follow_link(a);
	if (w->connection != c->connection) {
		link_want_free(w);
		return;
	}
	if (reconcile_want(a->reconcile, &w->want, now, &e) != 0) {
		agent_log(a, LOG_DEBUG, "%s", e.text);
	} else {
		c->has_want = true;
		c->watched = false;
		c->overrun = w->want.overrun;
		for (uint32_t i = 0; i < w->want.nrates; i++)
			c->watched |= w->want.rates[i].probed > 0;
		apply_rates(a, &w->want, now);
		below_want(a, &w->want, now);
		recorder_want(a, &w->want, now);
		if (!c->sampling)
			c->renewed_at.ns = 0;
	}
	link_want_free(w);
}

/*
 * If this agent is stopped, the tracer continues to write until sampling ends. So the lease is the
 * time in which queue.files would fill at the rate since the last renewal, within limits:
 *
 *	lease = files_bytes / ((bytes - renewed_bytes) / seconds)
 */
static int64_t
sampling_lease_ns(const struct agent *a, struct mono now)
{
	const struct agent_control *c = &a->control;
	uint64_t bytes = a->records.stats.bytes;
	double seconds = (double)mono_since_ns(now, c->renewed_at) / 1e9, lease_ns;

	if (c->renewed_at.ns == 0) /* the rate is not known yet */
		return SAMPLING_LEASE_MIN_NS;
	if (bytes <= c->renewed_bytes) /* no bytes were written, or the session is new */
		return SAMPLING_LEASE_NS;
	lease_ns = (double)a->config->files_bytes * seconds / (double)(bytes - c->renewed_bytes) *
	           1e9;
	if (lease_ns > SAMPLING_LEASE_NS)
		return SAMPLING_LEASE_NS;
	return lease_ns < SAMPLING_LEASE_MIN_NS ? SAMPLING_LEASE_MIN_NS : (int64_t)lease_ns;
}

void
control_renew_sampling(struct agent *a, struct mono now)
{
	struct agent_control *c = &a->control;
	bool heard = c->has_want && mono_since_ns(now, c->heard) < a->config->sampling_without_ns;
	bool sampling = heard && !a->queues.files_full;

	if (sampling && mono_since_ns(now, c->renewed_at) >= SECOND) {
		rates_renew(a->rates, (struct mono){ now.ns + sampling_lease_ns(a, now) });
		c->renewed_at = now;
		c->renewed_bytes = a->records.stats.bytes;
	}
	if (!sampling && c->sampling) {
		rates_renew(a->rates, (struct mono){ 0 });
		c->renewed_at.ns = 0;
	}
	if (!heard && c->sampling)
		agent_log(a, LOG_WARN,
		    "no message from the controller for %lld s: requests are not sampled any more",
		    (long long)(a->config->sampling_without_ns / SECOND));
	c->sampling = sampling;
	reconcile_stand(a->reconcile, sampling);
}

void
control_post_done(struct agent *a, struct mono now)
{
	struct buf b = { 0 };
	struct done d;

	if (!a->control.connected || !reconcile_done(a->reconcile, now, probes_exist, a, &d))
		return;
	done_encode(&d, &b);
	link_post(a->link, FRAME_DONE, &b);
	agent_log(a, LOG_DEBUG, "epoch %llu is applied", (unsigned long long)d.epoch);
}

void
control_post_programs(struct agent *a)
{
	struct arena arena = { 0 };
	struct programs p;
	struct buf b = { 0 };
	struct err e;

	if (!a->control.programs_due || inventory_wants_list(a->inventory))
		return;
	if (inventory_programs(a->inventory, &p, &arena, &e) == 0) {
		programs_encode(&p, &b);
		link_post(a->link, FRAME_PROGRAMS, &b);
		a->control.programs_due = false;
	}
	arena_release(&arena);
	reconcile_programs_changed(a->reconcile);
}

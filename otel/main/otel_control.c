/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/main/otel_control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"
#include "wire/toggle.h"

static void
follow_link(struct otel *o)
{
	struct otel_control *c = &o->control;
	struct link_stats link;

	link_stats(o->link, &link);
	if (link.connection != c->connection) {
		c->connection = link.connection;
		c->has_want = false;
		o->report.due = true;
		otel_log(o, LOG_INFO, "connected to %s", o->config->url);
	}
	if (!link.connected && link.trouble.code != 0 && strcmp(link.trouble.text, c->trouble) != 0)
		otel_log(o, LOG_WARN, "%s", link.trouble.text);
	snprintf(c->trouble, sizeof c->trouble, "%s", link.trouble.text);
	c->connected = link.connected;
	if (link.heard.ns > c->heard.ns)
		c->heard = link.heard;
}

static void
take_want(struct otel *o, struct mono now)
{
	struct otel_control *c = &o->control;
	struct link_want *w = link_take_want(o->link);
	struct mono until = now;
	struct err e;

	if (w == NULL)
		return;
	follow_link(o); /* it may be of a connection that was not noticed yet */
	if (w->connection == c->connection) {
		until.ns += w->want.lease_ms < INT64_C(86400000) ? w->want.lease_ms * 1000000
		                                                 : 86400 * SECOND;
		if (otel_source_want(o->source, &w->want, until, &e) != 0)
			otel_log(o, LOG_ERROR, "%s", e.text);
		if (!c->has_want || w->want.epoch != c->epoch) {
			c->since = now;
			c->done_due = true;
		}
		c->has_want = c->had_want = true;
		c->epoch = w->want.epoch;
		c->ntoggles = w->want.ntoggles;
	}
	link_want_free(w);
}

/* A want of an earlier connection holds until the next one comes, or the controller was silent for too long. */
static void
renew_sampling(struct otel *o, struct mono now)
{
	struct otel_control *c = &o->control;
	bool on = c->had_want && mono_since_ns(now, c->heard) < o->config->sampling_without_ns;

	if (!on && c->sampling)
		otel_log(o, LOG_WARN,
		    "no message from the controller for %lld s: requests are not sampled any more",
		    (long long)(o->config->sampling_without_ns / SECOND));
	c->sampling = on;
	otel_source_sample(o->source, on);
}

void
otel_control_turn(struct otel *o, struct mono now)
{
	follow_link(o);
	take_want(o, now);
	renew_sampling(o, now);
}

void
otel_post_done(struct otel *o)
{
	struct otel_control *c = &o->control;
	struct done done = { .epoch = c->epoch, .from_ns = c->since.ns, .failure = "" };
	struct buf b = { 0 };

	if (!c->done_due || !c->connected)
		return;
	done.nresults = c->ntoggles;
	done.results = malloc(c->ntoggles > 0 ? c->ntoggles : 1);
	if (done.results == NULL)
		return;
	memset(done.results, DONE_NO_SUCH, c->ntoggles);
	done_encode(&done, &b);
	free(done.results);
	link_post(o->link, FRAME_DONE, &b);
	c->done_due = false;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/main/otel_control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otel/spans/event_names.h"
#include "wire/agent_messages.h"
#include "wire/frame.h"
#include "wire/toggle.h"

#define SHED_AT 0.9 /* of the memory for spans */

static void
follow_link(struct otel *o)
{
	struct otel_control *c = &o->control;
	struct link_stats link;

	link_stats(o->link, &link);
	if (link.connection != c->connection) {
		c->connection = link.connection;
		c->has_want = false;
		c->done_due = false; /* of what was wanted on the connection before */
		o->report.due = true;
		otel_log(o, LOG_INFO, "connected to %s", link.url);
	}
	if (!link.connected && link.trouble.code != 0 && strcmp(link.trouble.text, c->trouble) != 0)
		otel_log(o, LOG_WARN, "%s", link.trouble.text);
	snprintf(c->trouble, sizeof c->trouble, "%s", link.trouble.text);
	c->connected = link.connected;
	if (link.heard.ns > c->heard.ns)
		c->heard = link.heard;
}

/* False: out of memory, and the former ones stay. */
static bool
keep_toggles(struct otel_control *c, const struct want *w)
{
	struct arena a = { 0 };
	const char **names = arena_calloc(&a, w->ntoggles + 1, sizeof *names);

	for (uint32_t i = 0; names != NULL && i < w->ntoggles; i++) {
		const char *name = w->toggles[i].name;

		if ((names[i] = arena_text(&a, name, strlen(name))) == NULL)
			names = NULL;
	}
	if (names == NULL) {
		arena_release(&a);
		return false;
	}
	arena_release(&c->arena);
	c->arena = a;
	c->toggles = names;
	c->ntoggles = w->ntoggles;
	return true;
}

/* Shed load stays off until the controller, which was told, wants something else. */
static void
want_points(struct otel *o, const struct want *w, struct mono until)
{
	struct otel_control *c = &o->control;
	struct err e;

	c->shed &= c->has_want && w->epoch == c->epoch;
	if (c->shed)
		return;
	if (!keep_toggles(c, w))
		otel_log(o, LOG_ERROR, "no memory for %u tracepoints", w->ntoggles);
	else if (gate_table_want(o->gates, w, until, &e) != 0)
		otel_log(o, LOG_ERROR, "%s", e.text);
	else
		opamp_table_want(o->opamp, w, until);
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
		if (otel_source_want(o->source, &w->want, until, &e) != 0 ||
		    remote_sampling_want(o->rates, &w->want, until, &e) != 0)
			otel_log(o, LOG_ERROR, "%s", e.text);
		want_points(o, &w->want, until);
		if (!c->has_want || w->want.epoch != c->epoch) {
			c->since = now;
			c->done_due = true;
		}
		c->has_want = c->had_want = true;
		c->epoch = w->want.epoch;
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

/* ---- points ---- */

static void
shed(struct otel *o, struct mono now)
{
	struct otel_control *c = &o->control;
	struct gate_table_stats g;
	struct opamp_table_stats opamp;
	const struct want none = { 0 };
	struct err e;

	if (c->shed || otel_source_fill(o->source) < SHED_AT)
		return;
	gate_table_stats(o->gates, &g);
	opamp_table_stats(o->opamp, &opamp);
	if (g.on + opamp.on == 0 || gate_table_want(o->gates, &none, now, &e) != 0)
		return;
	opamp_table_want(o->opamp, &none, now);
	c->shed = true;
	o->report.due = true;
	otel_log(
	    o, LOG_WARN, "the memory for spans is full: %u spans are turned off", g.on + opamp.on);
}

/* Tracepoints of the want may exist only now, or no more. */
static void
recheck(struct otel *o)
{
	struct otel_control *c = &o->control;
	uint64_t changes = gate_table_changes(o->gates) + opamp_table_changes(o->opamp) +
	                   event_names_changes(otel_source_events(o->source));

	c->done_due |= changes != c->places && c->has_want && c->ntoggles > 0;
	c->places = changes;
}

/* Events are always on: to turn one on is to use it. */
static bool
has_tracepoint(const struct otel *o, const char *name)
{
	return gate_table_has(o->gates, name) || opamp_table_has(o->opamp, name) ||
	       event_names_has(otel_source_events(o->source), name);
}

static void
post_done(struct otel *o, struct mono now)
{
	struct otel_control *c = &o->control;
	struct done done = { .epoch = c->epoch, .from_ns = now.ns, .failure = "" };
	struct buf b = { 0 };

	if (!c->done_due || !c->connected || c->shed || !gate_table_confirmed(o->gates) ||
	    !opamp_table_confirmed(o->opamp))
		return;
	done.nresults = c->ntoggles;
	done.results = malloc(c->ntoggles > 0 ? c->ntoggles : 1);
	if (done.results == NULL)
		return;
	for (uint32_t i = 0; i < c->ntoggles; i++)
		done.results[i] = has_tracepoint(o, c->toggles[i]) ? DONE_ON : DONE_NO_SUCH;
	done_encode(&done, &b);
	free(done.results);
	link_post(o->link, FRAME_DONE, &b);
	c->done_due = false;
}

void
otel_control_points(struct otel *o, struct mono now)
{
	shed(o, now);
	gate_table_turn(o->gates, now);
	opamp_table_turn(o->opamp, now);
	remote_sampling_turn(o->rates, now);
	otel_source_share(o->source, gate_table_share(o->gates, now), now);
	recheck(o);
	post_done(o, now);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/agent_links.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/texts.h"
#include "controlplane/engine/parts.h"

#define MS_NS INT64_C(1000000)
enum {
	ASK_FEW = 8,
	ASK_QUICK_MS = 50,
	ASK_MS = 500, /* and longer where there are many: */
	ASK_BUSY_MS =
	    1000, /* an agent with records at most so long; two clocks drift by 0.1 ms in it */
	ASKS_PER_S = 4000,
	CALM_MS = 2000,
	LEFT_OUT_MS = 1000,
};
#define NEVER_NS INT64_MAX

void
agent_links_release(struct agent_links *links)
{
	for (uint32_t i = 0; i < links->n; i++)
		sent_release(&links->items[i].sent);
	free(links->items);
	free(links->times);
	arena_release(&links->scratch);
	texts_free(links->by_name);
	links->by_name = NULL;
	links->items = NULL;
	links->times = NULL;
	links->n = links->cap = links->times_cap = 0;
}

/* The entry of that name; a new one is made. */
static int
link_for(struct agent_links *links, const char *name, uint32_t *tag, struct err *e)
{
	uint32_t i = UINT32_MAX;

	if (links->by_name != NULL || (links->by_name = texts_new()) != NULL)
		i = texts_find(links->by_name, name, strlen(name));
	if (i == UINT32_MAX) {
		if (links->n >= NODES_MAX)
			return err_set(e, ERR_FULL,
			    "%d nodes are the most that one controller takes", NODES_MAX);
		if (links->by_name == NULL ||
		    !array_reserve(links->items, links->cap, links->n + 1) ||
		    !array_reserve(links->times, links->times_cap, links->n + 1) ||
		    (i = texts_intern(links->by_name, name, strlen(name))) == UINT32_MAX)
			return err_set(e, ERR_MEMORY, "the controller is out of memory");
		links->items[i] = (struct agent_link){ 0 };
		links->times[i] = (struct agent_times){ NEVER_NS, NEVER_NS };
		snprintf(links->items[i].name, sizeof links->items[i].name, "%s", name);
		limited_log_init(&links->items[i].log, clock_mono());
		links->n++;
	}
	*tag = i;
	return 0;
}

void
agent_links_joined(struct agent_links *links, const struct mail *m)
{
	struct agent_link *a;
	struct err e;
	uint32_t tag = 0;

	assert(m->kind == MAIL_JOINED);
	if (link_for(links, m->hello->node, &tag, &e) < 0 ||
	    engine_join(links->engine, m->hello->node, m->hello->version, clock_mono(),
		&links->items[tag].node, &e) < 0) {
		limited_log(&links->refusals, clock_mono(), LOG_WARN, "agent %s: refused: %s",
		    m->hello->node, e.text);
		links->port.refuse(links->port.of, m->peer, e.text);
		return;
	}
	a = &links->items[tag];
	links->connected += a->peer == NULL;
	a->peer = m->peer;
	a->sent.at = (struct mono){ 0 };
	links->times[tag] = (struct agent_times){ 0, 0 };
	a->sent.told = false;
	a->nasked = 0;
	a->shed = false;
	engine_clock(links->engine, a->node, NULL, m->hello->clock_ns, m->at);
	limited_log(&a->log, clock_mono(), LOG_INFO, "agent %s (hone-agent %s) connected", a->name,
	    m->hello->version);
	links->port.welcome(links->port.of, m->peer, tag);
}

void
agent_links_left(struct agent_links *links, const struct mail *m)
{
	struct agent_link *a = &links->items[m->tag];
	const struct want *w;

	assert(m->kind == MAIL_LEFT && m->tag < links->n);
	w = engine_want(links->engine, a->node);
	if (w->ntoggles > 0)
		forest_audit_own(links->forest, &(struct audit){ .when = clock_wall(),
						    .actor = ACTOR_LEASE,
						    .action = ACTION_DISABLE_COUNT,
						    .reason = REASON_AGENT_GONE,
						    .node = a->name,
						    .count = w->ntoggles });
	engine_leave(links->engine, a->node, clock_mono());
	links->connected -= a->peer != NULL;
	a->peer = NULL;
	links->times[m->tag] = (struct agent_times){ NEVER_NS, NEVER_NS };
	limited_log(&a->log, clock_mono(), LOG_WARN, "agent %s disconnected: %s", a->name,
	    m->text != NULL && m->text[0] != '\0' ? m->text : "it closed the connection");
}

uint32_t
agent_links_tag(const struct agent_links *links, const char *name)
{
	return links->by_name != NULL ? texts_find(links->by_name, name, strlen(name)) : UINT32_MAX;
}

struct peer *
agent_links_peer(const struct agent_links *links, const char *name)
{
	uint32_t tag = agent_links_tag(links, name);

	return tag != UINT32_MAX ? links->items[tag].peer : NULL;
}

/* ---- the port of the server ---- */

static void
welcome(void *of, struct peer *p, uint32_t tag)
{
	server_welcome(of, p, tag);
}

static void
refuse(void *of, struct peer *p, const char *text)
{
	server_refuse(of, p, text);
}

static void
took(void *of, struct peer *p, uint64_t seq)
{
	server_took(of, p, seq);
}

static void
want(void *of, struct peer *p, const struct buf *payload)
{
	server_want(of, p, payload);
}

static bool
keep(void *of, struct peer *p, const struct buf *payload)
{
	return server_keep(of, p, payload);
}

static void
ask_clock(void *of, struct peer *p)
{
	server_clock(of, p);
}

struct agent_port
agent_port_server(struct server *s)
{
	return (struct agent_port){ s, welcome, refuse, took, want, keep, ask_clock };
}

const char *
agent_links_name(const struct agent_links *links, uint32_t tag)
{
	assert(tag < links->n);
	return links->items[tag].name;
}

/* ---- frames ---- */

/* Whether it has sent no records for CALM_MS. */
static bool
is_calm(const struct agent_links *links, const struct agent_link *a, struct mono now)
{
	struct mono recorded = engine_parts_of(links->engine)->nodes.items[a->node].recorded;

	return mono_since_ns(now, recorded) > CALM_MS * MS_NS;
}

static int
take_records(struct agent_links *links, const struct mail *m, struct err *e)
{
	struct mono now = clock_mono();
	bool was_calm = is_calm(links, &links->items[m->tag], now);
	int rc = engine_batch(links->engine, links->items[m->tag].node, m->data, m->len, now, e);

	if (rc != 0)
		return rc;
	links->port.took(links->port.of, m->peer, m->seq);
	if (was_calm && links->items[m->tag].peer != NULL &&
	    !is_calm(links, &links->items[m->tag], now))
		links->times[m->tag].ask_ns = 0;
	return 0;
}

static int
take_clock(struct agent_links *links, const struct mail *m, struct err *e)
{
	struct agent_link *a = &links->items[m->tag];
	struct clock_echo clock;
	int rc = clock_decode(&clock, m->data, m->len, e);

	if (rc == 0 && engine_clock(links->engine, a->node, &clock, 0, m->at))
		limited_log(&a->log, clock_mono(), LOG_INFO,
		    "agent %s: its clock has jumped; traces that are incomplete now are no evidence",
		    a->name);
	return rc;
}

/* An agent reports that it has shed load in each status until tracepoints may be enabled again; the
 * audit has it once. */
static void
audit_shed(struct agent_links *links, struct agent_link *a, const struct status *s)
{
	if (s->shed && !a->shed)
		forest_audit_own(links->forest, &(struct audit){ .when = clock_wall(),
						    .actor = ACTOR_AGENT,
						    .action = ACTION_DISABLE_NODE,
						    .reason = REASON_CONGESTION,
						    .node = a->name,
						    .cause = REASON_LOAD_SHED,
						    .queue = s->shed_by,
						    .fill = s->fill[s->shed_by] });
	a->shed = s->shed;
}

/* hone-below reads memory of other processes, so the audit has when it did. */
static void
audit_below(struct agent_links *links, struct agent_link *a, const struct status *s)
{
	bool follows = s->below == BELOW_NODE_ACTIVE;

	if (follows != a->follows)
		forest_audit_own(
		    links->forest, &(struct audit){ .when = clock_wall(),
				       .actor = ACTOR_AGENT,
				       .action = follows ? ACTION_FOLLOW : ACTION_UNFOLLOW,
				       .node = a->name });
	a->follows = follows;
}

/* Once for each program, as long as no other one is reported in between. */
static void
audit_quarantine(struct agent_links *links, struct agent_link *a, const struct node_trouble *t)
{
	bool any = t->kind == NODE_TROUBLE_RING_DAMAGED || t->kind == NODE_TROUBLE_RING_POSITIONS ||
	           t->kind == NODE_TROUBLE_RING_STUCK || t->kind == NODE_TROUBLE_OVERRUN ||
	           t->kind == NODE_TROUBLE_CONSUMER;

	if (any && t->pid != a->quarantined)
		forest_audit_own(
		    links->forest, &(struct audit){ .when = clock_wall(),
				       .actor = ACTOR_AGENT,
				       .action = ACTION_QUARANTINE,
				       .node = a->name,
				       .text = t->subject,
				       .pid = t->pid,
				       .uid = t->user != USER_UNKNOWN ? (int64_t)t->user : -1 });
	if (any)
		a->quarantined = t->pid;
}

static int
take_status(struct agent_links *links, const struct mail *m, struct err *e)
{
	struct agent_link *a = &links->items[m->tag];
	struct status status;
	int rc = status_decode(&status, &links->scratch, m->data, m->len, e);

	if (rc != 0)
		return rc;
	engine_status(links->engine, a->node, &status, m->at);
	audit_shed(links, a, &status);
	audit_below(links, a, &status);
	audit_quarantine(links, a, &status.trouble);
	agent_links_log_queues(links);
	return 0;
}

int
agent_links_frame(struct agent_links *links, const struct mail *m, struct err *e)
{
	struct arena *scratch = &links->scratch;
	uint32_t node;
	struct programs programs;
	struct done done;
	struct kept kept;
	int rc;

	assert(m->kind == MAIL_FRAME && m->tag < links->n);
	node = links->items[m->tag].node;
	switch (m->frame) {
	case FRAME_RECORDS:
		rc = take_records(links, m, e);
		break;
	case FRAME_CLOCK:
		rc = take_clock(links, m, e);
		break;
	case FRAME_STATUS:
		rc = take_status(links, m, e);
		break;
	case FRAME_PROGRAMS:
		if ((rc = programs_decode(&programs, scratch, m->data, m->len, e)) == 0)
			rc = engine_programs(links->engine, node, &programs, e);
		break;
	case FRAME_KEPT:
		if ((rc = kept_decode(&kept, scratch, m->data, m->len, e)) == 0)
			rc = engine_kept(links->engine, node, &kept, e);
		break;
	default:
		assert(m->frame == FRAME_DONE);
		if ((rc = done_decode(&done, scratch, m->data, m->len, e)) == 0)
			engine_done(links->engine, node, &done, clock_mono());
	}
	arena_reset(scratch);
	return rc;
}

/* ---- what goes out ---- */

/* As many keeps as the writer takes now; the others wait for the next call. */
static void
send_keeps(struct agent_links *links, struct agent_link *a)
{
	struct keep k;

	while (engine_keep(links->engine, a->node, &k)) {
		struct buf b = { 0 };
		bool taken;

		keep_encode(&k, &b);
		taken = !b.failed && links->port.keep(links->port.of, a->peer, &b);
		buf_release(&b);
		if (!taken)
			return;
		engine_keep_sent(links->engine, a->node, k.number);
	}
}

static void
send_want(struct agent_links *links, uint32_t tag, bool safe, struct mono now)
{
	struct agent_link *a = &links->items[tag];
	const struct buf *payload = sent_due(&a->sent, engine_want(links->engine, a->node), safe,
	    engine_done_epoch(links->engine, a->node), now, &links->scratch);

	if (payload != NULL)
		links->port.want(links->port.of, a->peer, payload);
	links->times[tag].want_ns = sent_renewal(&a->sent).ns;
	arena_reset(&links->scratch);
}

void
agent_links_send(struct agent_links *links, bool safe)
{
	struct mono now = clock_mono();
	uint64_t revision = engine_revision(links->engine);
	/* What could not be sent for its safety, or for lack of memory, is tried again. */
	bool all = revision != links->revision || links->unsafe;
	bool keeps = engine_keeps_due(links->engine);

	for (uint32_t i = 0; i < links->n; i++) {
		if (links->times[i].want_ns == NEVER_NS)
			continue;
		if (all || links->times[i].want_ns <= now.ns)
			send_want(links, i, safe, now);
		if (keeps)
			send_keeps(links, &links->items[i]);
	}
	links->revision = revision;
	links->unsafe = !safe;
}

static int64_t
ask_again_ms(const struct agent_links *links, const struct agent_link *a, struct mono now)
{
	int64_t share_ms = (int64_t)links->connected * 1000 / ASKS_PER_S;
	int64_t busy_ms = 2 * share_ms < ASK_MS        ? ASK_MS
	                  : 2 * share_ms > ASK_BUSY_MS ? ASK_BUSY_MS
	                                               : 2 * share_ms;

	if (a->nasked < ASK_FEW)
		return ASK_QUICK_MS;
	return share_ms > busy_ms && is_calm(links, a, now) ? share_ms : busy_ms;
}

void
agent_links_ask_clocks(struct agent_links *links)
{
	struct mono now = clock_mono();

	for (uint32_t i = 0; i < links->n; i++) {
		struct agent_link *a = &links->items[i];

		if (links->times[i].ask_ns > now.ns)
			continue;
		a->nasked++;
		links->times[i].ask_ns = now.ns + ask_again_ms(links, a, now) * MS_NS;
		links->port.clock(links->port.of, a->peer);
	}
}

void
agent_links_log_queues(struct agent_links *links)
{
	const struct engine_queues *before = &links->reported;
	struct engine_queues q;
	char why[CONGESTION_TEXT_MAX];

	engine_queues(links->engine, &q);
	if (q.sheds > before->sheds)
		log_line(LOG_WARN, "%s", congestion_print(&q.shed, why));
	if (q.pauses > before->pauses)
		log_line(LOG_WARN, "paused: %s", congestion_print(&q.why, why));
	if (before->paused && !q.paused)
		log_line(LOG_INFO, "resumed after a pause of %.1f s",
		    (double)mono_since_ns(clock_mono(), before->since) / 1e9);
	links->reported = q;
}

void
agent_links_log_left_out(struct agent_links *links)
{
	struct mono now = clock_mono();
	char whose[NODE_NAME_MAX + 16];

	if (mono_since_ns(now, links->left_out_at) < LEFT_OUT_MS * MS_NS)
		return;
	links->left_out_at = now;
	for (uint32_t i = 0; i < links->n; i++) {
		if (links->items[i].log.left_out == 0)
			continue;
		snprintf(whose, sizeof whose, "agent %s: ", links->items[i].name);
		limited_log_flush(&links->items[i].log, now, whose);
	}
	limited_log_flush(&links->refusals, now, "agents refused: ");
}

void
agent_links_log_unconfirmed(const struct agent_links *links, int64_t lease_ns)
{
	for (uint32_t i = 0; i < links->n; i++)
		if (links->items[i].peer != NULL)
			log_line(LOG_WARN,
			    "agent %s has not confirmed that its added tracepoints are disabled; their "
			    "lease of %.3g s disables them",
			    links->items[i].name, (double)lease_ns / 1e9);
}

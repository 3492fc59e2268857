/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/gate_role.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/clocks.h"
#include "base/array.h"
#include "base/log.h"
#include "base/systemd.h"
#include "base/texts.h"
#include "controlplane/honed/entrance.h"
#include "controlplane/honed/folders.h"
#include "controlplane/honed/kafka_link.h"
#include "controlplane/relay/events.h"
#include "controlplane/relay/split.h"

#define MS_NS INT64_C(1000000)

enum {
	WAIT_MS = 10, /* for mail, at most, between two steps */
	BURST_MS = 20,
	FLUSH_MS = 50, /* between two messages of records to each partition */
	ASK_FEW = 8,
	ASK_QUICK_MS = 50,
	ASK_MS = 500,
	FLUSH_BYTES = 256 << 10,
	EVENTS_BYTES = 512 << 10,
	WAITING_MAX_BYTES = 32 << 20,
	LINK_TAG_BITS = 14, /* the last ones of a link's number are its tag */
	GATE_NODES_MAX = 1 << LINK_TAG_BITS
};

struct gate_link {            /* of one node; the index is its tag, and its number for clocks */
	struct peer *peer;    /* NULL: not connected */
	uint64_t link;        /* of this connection */
	uint64_t incarnation; /* of its agent */
	char name[NODE_NAME_MAX + 1];
	struct mono asked;
	uint32_t nasked;
};

/* All messages of records that were made at once. */
struct flush {
	uint64_t number;
	uint32_t waiting; /* messages that are not delivered */
	size_t bytes;
	bool failed;
};

struct owed_ack { /* of a batch, in the order of flushes */
	uint64_t flush, link, seq;
	uint32_t tag;
};

struct gate_role {
	const struct config *config;
	struct entrance entrance;
	struct server *server; /* of the entrance */
	struct kafka_link kafka;
	struct split split;
	struct clocks *clocks;
	struct texts *by_name;
	struct gate_link *links;
	uint32_t nlinks, links_cap;
	uint64_t next_link;
	struct flush *flushes; /* [flush_at, nflushes) are not delivered, oldest first */
	uint32_t flush_at, nflushes, flushes_cap;
	struct owed_ack *acks;
	uint32_t ack_at, nacks, acks_cap;
	size_t waiting_bytes;
	uint64_t flush_number;
	struct mono flushed, told;
	struct events_writer events;
	uint64_t event_number, event_before;
	uint64_t records, bytes; /* taken from agents */
	struct leader leader;
	struct relay_numbers orders;
	uint64_t stale; /* messages of orders that were too old */
	struct arena scratch;
	struct limited_log log;
};

/* ---- opening ---- */

int
gate_role_open(struct gate_role **ret, const struct config *c, struct err *e)
{
	static const enum kafka_topic reads[] = { TOPIC_ORDERS };
	struct gate_role *g = calloc(1, sizeof *g);
	int rc;

	if (g == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	g->config = c;
	limited_log_init(&g->log, clock_mono());
	if ((rc = folders_check(c, e)) < 0 || (rc = clocks_new(&g->clocks, e)) < 0 ||
	    (rc = kafka_link_open(&g->kafka, c, NULL, e)) < 0 ||
	    (rc = split_init(&g->split, g->kafka.name, g->kafka.epoch, g->kafka.partitions, e)) <
		0 ||
	    (rc = kafka_link_follow(&g->kafka, reads, 1, e)) < 0 ||
	    (rc = entrance_open(&g->entrance, c, e)) < 0) {
		gate_role_close(g);
		return rc;
	}
	g->server = g->entrance.server;
	log_line(LOG_INFO, "honed %s, gate %s: agents at %s; %u partitions at %s", HONE_VERSION,
	    g->kafka.name, server_url(g->server, DOOR_AGENTS), g->kafka.partitions,
	    c->kafka_brokers);
	*ret = g;
	return 0;
}

void
gate_role_close(struct gate_role *g)
{
	if (g == NULL)
		return;
	entrance_close(&g->entrance);
	kafka_link_close(&g->kafka);
	if (g->split.parts != NULL)
		split_release(&g->split);
	clocks_free(g->clocks);
	texts_free(g->by_name);
	events_release(&g->events);
	relay_numbers_release(&g->orders);
	arena_release(&g->scratch);
	free(g->links);
	free(g->flushes);
	free(g->acks);
	free(g);
}

/* ---- records to the log ---- */

/* Gives the room of what is delivered back, also when something always waits. */
static void
compact(struct gate_role *g)
{
	if (g->flush_at > 64 && g->flush_at > g->nflushes / 2) {
		g->nflushes -= g->flush_at;
		memmove(g->flushes, g->flushes + g->flush_at, g->nflushes * sizeof *g->flushes);
		g->flush_at = 0;
	}
	if (g->ack_at > 1024 && g->ack_at > g->nacks / 2) {
		g->nacks -= g->ack_at;
		memmove(g->acks, g->acks + g->ack_at, g->nacks * sizeof *g->acks);
		g->ack_at = 0;
	}
}

/* Passes on what waits. A message that cannot be put is a gap in its partition; the batches in it are not acknowledged. */
static void
flush_records(struct gate_role *g)
{
	struct flush f = { .number = ++g->flush_number };
	struct buf b = { 0 };
	struct err e;
	bool none;

	g->flushed = clock_mono();
	compact(g);
	if (split_empty(&g->split) || !array_reserve(g->flushes, g->flushes_cap, g->nflushes + 1))
		return;
	for (uint32_t p = 0; p < g->split.n; p++) {
		buf_reset(&b);
		if (split_take(&g->split, p, g->flushed.ns + g->kafka.shift_ns, &b, &none, &e) !=
		    0) {
			limited_log(&g->log, clock_mono(), LOG_ERROR, "%s", e.text);
			f.failed = true;
		} else if (!none) {
			if (kafka_link_put(&g->kafka, TOPIC_RECORDS, p, &b, f.number))
				f.waiting++;
			else
				f.failed = true;
			f.bytes += b.len;
		}
	}
	buf_release(&b);
	g->waiting_bytes += f.bytes;
	g->flushes[g->nflushes++] = f;
}

static void
ack_flush(struct gate_role *g, const struct flush *f)
{
	for (; g->ack_at < g->nacks && g->acks[g->ack_at].flush <= f->number; g->ack_at++) {
		const struct owed_ack *a = &g->acks[g->ack_at];
		const struct gate_link *l = &g->links[a->tag];

		if (l->peer == NULL || l->link != a->link)
			continue;
		if (f->failed)
			server_refuse(
			    g->server, l->peer, "Kafka did not take a batch; send it again");
		else
			server_took(g->server, l->peer, a->seq);
	}
	if (g->ack_at == g->nacks)
		g->ack_at = g->nacks = 0;
}

static void
take_deliveries(struct gate_role *g, int wait_ms)
{
	struct kafka_delivery d;

	for (; g->kafka.calls->delivered(g->kafka.connection, wait_ms, &d); wait_ms = 0) {
		struct flush *f;

		assert(g->flush_at < g->nflushes && d.token >= g->flushes[g->flush_at].number);
		f = &g->flushes[g->flush_at];
		while (f->number != d.token) /* few wait at a time */
			f++;
		f->waiting--;
		if (d.failed) {
			f->failed = true;
			limited_log(&g->log, clock_mono(), LOG_ERROR,
			    "Kafka did not take a message of records: %s", d.why);
		}
	}
	for (; g->flush_at < g->nflushes && g->flushes[g->flush_at].waiting == 0; g->flush_at++) {
		ack_flush(g, &g->flushes[g->flush_at]);
		g->waiting_bytes -= g->flushes[g->flush_at].bytes;
	}
	if (g->flush_at == g->nflushes)
		g->flush_at = g->nflushes = 0;
}

/* A time of our clock on the time base of the log. None is after now, whatever the agent says: by a watermark in the future a shard would believe
 * that all other gates are silent. */
static int64_t
on_log(const struct gate_role *g, int64_t our_ns, int64_t now_ns)
{
	int64_t t_ns = our_ns < now_ns ? our_ns : now_ns;

	t_ns = (int64_t)((uint64_t)t_ns + (uint64_t)g->kafka.shift_ns);
	return t_ns > 0 ? t_ns : 0;
}

/* The node's times to the time base of the log: records in their order, then the watermark. */
static void
map_times(struct gate_role *g, uint32_t node, struct batch *b)
{
	int64_t now_ns = clock_mono().ns;

	for (uint32_t i = 0; i < b->nrecords; i++)
		b->records[i].time_ns = on_log(
		    g, clocks_map(g->clocks, node, b->records[i].time_ns), now_ns);
	b->watermark_ns = on_log(g, clocks_map(g->clocks, node, b->watermark_ns), now_ns);
	for (uint32_t i = 0; i < b->nlosses; i++) {
		b->losses[i].from_ns = on_log(
		    g, clocks_near(g->clocks, node, b->losses[i].from_ns), now_ns);
		b->losses[i].to_ns = on_log(
		    g, clocks_near(g->clocks, node, b->losses[i].to_ns), now_ns);
	}
}

static int
take_records(struct gate_role *g, const struct mail *m, struct err *e)
{
	struct gate_link *l = &g->links[m->tag];
	struct batch b;
	int rc;

	if (split_waiting(&g->split) + m->len > FLUSH_BYTES)
		flush_records(g);
	if ((rc = batch_decode(&b, &g->scratch, m->data, m->len, e)) != 0)
		return rc;
	if (!array_reserve(g->acks, g->acks_cap, g->nacks + 1))
		return err_set(e, ERR_MEMORY, "the gate is out of memory");
	map_times(g, m->tag, &b);
	if ((rc = split_batch(&g->split, l->name, l->incarnation, m->seq, &b, e)) != 0)
		return rc;
	g->acks[g->nacks++] = (struct owed_ack){ g->flush_number + 1, l->link, m->seq, m->tag };
	g->records += b.nrecords;
	g->bytes += m->len;
	return 0;
}

/* ---- events to the decider ---- */

static void
flush_events(struct gate_role *g)
{
	struct relay_head h = { .kind = RELAY_EVENTS,
		.epoch = g->kafka.epoch,
		.number = g->event_number + 1,
		.before = g->event_before,
		.items = g->events.n };
	struct buf b = { 0 };
	struct err e;

	memcpy(h.source, g->kafka.name, sizeof h.source);
	g->told = clock_mono();
	if (events_end(&g->events, &h, g->told.ns, g->records, g->bytes, &b, &e) != 0)
		limited_log(&g->log, clock_mono(), LOG_ERROR, "%s", e.text);
	else
		kafka_link_put(&g->kafka, TOPIC_EVENTS, 0, &b, 0);
	buf_release(&b);
	events_release(
	    &g->events); /* nothing is left of one that failed; the decider sees the gap */
	g->event_number++;
	g->event_before += h.items;
}

static void
tell(struct gate_role *g, enum relay_event_kind kind, uint64_t link, const struct buf *body)
{
	if (g->events.events.len + body->len > EVENTS_BYTES && g->events.n > 0)
		flush_events(g);
	events_add(&g->events, kind, link, body->data, body->len);
}

static void
tell_text(struct gate_role *g, enum relay_event_kind kind, uint64_t link, const char *text)
{
	struct buf b = { .data = (uint8_t *)(uintptr_t)text, .len = strlen(text) };

	tell(g, kind, link, &b);
}

static int
tell_frame(struct gate_role *g, const struct mail *m, struct err *e)
{
	struct buf b = { 0 };
	int rc = 0;

	if (m->len > RELAY_MESSAGE_MAX)
		return err_set(e, ERR_INPUT, "%zu bytes; through a gate %d are possible at most",
		    m->len, RELAY_MESSAGE_MAX);
	buf_u8(&b, (uint8_t)m->frame);
	buf_bytes(&b, m->data, m->len);
	if (b.failed)
		rc = err_set(e, ERR_MEMORY, "the gate is out of memory");
	else
		tell(g, RELAY_FRAME, g->links[m->tag].link, &b);
	buf_release(&b);
	return rc;
}

/* ---- agents ---- */

static int
link_for(struct gate_role *g, const char *name, uint32_t *tag, struct err *e)
{
	uint32_t i = UINT32_MAX;

	if (g->by_name != NULL || (g->by_name = texts_new()) != NULL)
		i = texts_find(g->by_name, name, strlen(name));
	if (i == UINT32_MAX) {
		if (g->nlinks >= GATE_NODES_MAX)
			return err_set(e, ERR_FULL, "%d nodes are the most that one gate takes",
			    GATE_NODES_MAX);
		if (g->by_name == NULL || !array_reserve(g->links, g->links_cap, g->nlinks + 1) ||
		    (i = texts_intern(g->by_name, name, strlen(name))) == UINT32_MAX)
			return err_set(e, ERR_MEMORY, "the gate is out of memory");
		g->links[i] = (struct gate_link){ 0 };
		snprintf(g->links[i].name, sizeof g->links[i].name, "%s", name);
		g->nlinks++;
	}
	*tag = i;
	return clocks_reset(g->clocks, i, e);
}

static void
joined(struct gate_role *g, const struct mail *m)
{
	struct clock_sample s = { INT64_MIN, m->at.ns, m->hello->clock_ns, m->hello->clock_ns };
	struct buf b = { 0 };
	uint32_t tag = 0;
	struct gate_link *l;
	struct err e;

	if (link_for(g, m->hello->node, &tag, &e) < 0) {
		limited_log(&g->log, clock_mono(), LOG_WARN, "agent %s: refused: %s",
		    m->hello->node, e.text);
		server_refuse(g->server, m->peer, e.text);
		return;
	}
	l = &g->links[tag];
	l->peer = m->peer;
	l->incarnation = m->hello->incarnation;
	l->link = ++g->next_link << LINK_TAG_BITS | tag;
	l->asked = (struct mono){ 0 };
	l->nasked = 0;
	clocks_sample(g->clocks, tag, &s);
	limited_log(&g->log, clock_mono(), LOG_INFO, "agent %s (hone-agent %s) connected", l->name,
	    m->hello->version);
	buf_text(&b, l->name, strlen(l->name));
	buf_text(&b, m->hello->version, strlen(m->hello->version));
	tell(g, RELAY_JOINED, l->link, &b);
	buf_release(&b);
	server_welcome(g->server, m->peer, tag);
}

/* Its records that wait are in the log before the message that it has left. */
static void
left(struct gate_role *g, const struct mail *m)
{
	struct gate_link *l = &g->links[m->tag];
	const char *why = m->text != NULL && m->text[0] != '\0' ? m->text
	                                                        : "it closed the connection";
	struct err e;

	if (split_left(&g->split, l->name, &e) != 0)
		limited_log(&g->log, clock_mono(), LOG_ERROR, "%s", e.text);
	tell_text(g, RELAY_LEFT, l->link, why);
	l->peer = NULL;
	limited_log(&g->log, clock_mono(), LOG_WARN, "agent %s disconnected: %s", l->name, why);
}

static int
take_clock(struct gate_role *g, const struct mail *m, struct err *e)
{
	struct gate_link *l = &g->links[m->tag];
	struct clock_echo c;
	struct buf b = { 0 };
	int64_t shift_ns = g->kafka.shift_ns;
	int rc = clock_decode(&c, m->data, m->len, e);
	struct clock_sample s = { c.asked_ns, m->at.ns, c.came_ns, c.went_ns };

	if (rc != 0)
		return rc;
	if (clocks_sample(g->clocks, m->tag, &s)) {
		/* Times before and after do not fit: as in engine_clock(). */
		limited_log(&g->log, clock_mono(), LOG_INFO,
		    "agent %s: its clock has jumped; traces that are incomplete now are no evidence",
		    l->name);
		if ((rc = split_left(&g->split, l->name, e)) != 0)
			return rc;
	}
	buf_int(&b, s.asked_ns + shift_ns);
	buf_int(&b, s.back_ns + shift_ns);
	buf_int(&b, clocks_near(g->clocks, m->tag, s.came_ns) + shift_ns);
	buf_int(&b, clocks_near(g->clocks, m->tag, s.went_ns) + shift_ns);
	tell(g, RELAY_CLOCK, l->link, &b);
	buf_release(&b);
	return 0;
}

static void
take_frame(struct gate_role *g, const struct mail *m)
{
	struct err e = { 0 };
	int rc = m->frame == FRAME_RECORDS ? take_records(g, m, &e)
	         : m->frame == FRAME_CLOCK ? take_clock(g, m, &e)
	                                   : tell_frame(g, m, &e);

	arena_reset(&g->scratch);
	if (rc == 0)
		return;
	limited_log(&g->log, clock_mono(), LOG_WARN, "agent %s: %s: %s", g->links[m->tag].name,
	    frame_kind_name(m->frame), e.text);
	err_prefix(&e, "%s", frame_kind_name(m->frame));
	server_refuse(g->server, m->peer, e.text);
}

static void
take(struct gate_role *g, const struct mail *m)
{
	switch (m->kind) {
	case MAIL_JOINED:
		joined(g, m);
		break;
	case MAIL_LEFT:
		left(g, m);
		break;
	case MAIL_FRAME:
		take_frame(g, m);
		break;
	case MAIL_ASKED:
		server_refuse(g->server, m->peer,
		    "this honed is a gate and answers no questions; ask the decider (kafka.role)");
		break;
	case MAIL_NOTE:
		limited_log(&g->log, clock_mono(), LOG_WARN, "%s", m->text != NULL ? m->text : "?");
		break;
	case MAIL_REFUSED:
		limited_log(
		    &g->log, clock_mono(), LOG_WARN, "refused: %s", m->text != NULL ? m->text : "");
		break;
	}
}

static void
take_mail(struct gate_role *g)
{
	int64_t until_ns = clock_mono().ns + BURST_MS * MS_NS;
	struct mail m;

	for (int wait_ms = WAIT_MS;
	     g->waiting_bytes < WAITING_MAX_BYTES && server_next(g->server, &m, wait_ms);
	     wait_ms = 0) {
		take(g, &m);
		mail_release(&m);
		if (clock_mono().ns > until_ns)
			break;
	}
}

/* ---- orders of the decider ---- */

/* NULL: that connection has ended. */
static struct gate_link *
link_of(struct gate_role *g, uint64_t link)
{
	uint64_t tag = link % GATE_NODES_MAX;
	struct gate_link *l = tag < g->nlinks ? &g->links[tag] : NULL;

	return l != NULL && l->peer != NULL && l->link == link ? l : NULL;
}

static void
obey(struct gate_role *g, const struct relay_order *o)
{
	struct gate_link *l = link_of(g, o->link);
	struct buf payload = { .data = (uint8_t *)(uintptr_t)o->body, .len = o->len };
	char text[256];

	if (l == NULL)
		return;
	switch (o->kind) {
	case RELAY_WANT:
		server_want(g->server, l->peer, &payload);
		break;
	case RELAY_KEEP: /* one that finds the writer busy is lost, as one that Kafka loses */
		server_keep(g->server, l->peer, &payload);
		break;
	default:
		snprintf(text, sizeof text, "%.*s", (int)o->len, (const char *)o->body);
		server_refuse(g->server, l->peer, text);
	}
}

static int
take_orders(struct gate_role *g, const struct kafka_message *m, struct err *e)
{
	struct reader r = reader_of(m->data, m->len);
	struct relay_head h;
	struct relay_gap gap;
	struct relay_order o;
	enum relay_verdict v;
	uint32_t echo, n;
	uint64_t term;
	int64_t beat_ns;
	int rc;

	if ((rc = relay_head_decode(&h, &r, RELAY_ORDERS, e)) != 0 ||
	    (rc = orders_term(&term, &r, e)) != 0)
		return rc;
	if (!leader_take(&g->leader, term, h.epoch))
		return 0;
	v = relay_numbers_take(&g->orders, &h, &gap);
	if (v != RELAY_NEXT && v != RELAY_NEW_RUN)
		return 0;
	if ((rc = orders_open(&r, g->kafka.name, g->kafka.epoch, &echo, &beat_ns, &n, e)) != 0)
		return rc;
	if (echo == UINT32_MAX)
		return 0; /* nothing in it is for this run of this gate */
	if (!order_counts(beat_ns, clock_mono().ns)) {
		if (g->stale++ % 100 == 0)
			limited_log(&g->log, clock_mono(), LOG_WARN,
			    "orders of the decider are dropped, since they are too old");
		return 0;
	}
	for (uint32_t i = 0; i < n && rc == 0; i++)
		if ((rc = orders_next(&o, &r, e)) == 0 && o.echo == echo)
			obey(g, &o);
	return rc;
}

static void
take_kafka(struct gate_role *g)
{
	int64_t until_ns = clock_mono().ns + BURST_MS * MS_NS;
	struct kafka_message m;
	struct err e;

	while (kafka_link_next(&g->kafka, 0, &m) == KAFKA_MESSAGE) {
		if (take_orders(g, &m, &e) != 0)
			limited_log(&g->log, clock_mono(), LOG_ERROR, "%s", e.text);
		g->kafka.calls->release(&m);
		if (clock_mono().ns > until_ns)
			break;
	}
}

static void
ask_clocks(struct gate_role *g)
{
	struct mono now = clock_mono();

	for (uint32_t i = 0; i < g->nlinks; i++) {
		struct gate_link *l = &g->links[i];
		int64_t every_ms = l->nasked < ASK_FEW ? ASK_QUICK_MS : ASK_MS;

		if (l->peer == NULL || mono_since_ns(now, l->asked) < every_ms * MS_NS)
			continue;
		l->asked = now;
		l->nasked++;
		server_clock(g->server, l->peer);
	}
}

/* ---- the loop ---- */

static void
step(struct gate_role *g)
{
	struct mono now;

	take_mail(g);
	take_kafka(g);
	ask_clocks(g);
	now = clock_mono();
	if (mono_since_ns(now, g->flushed) >= FLUSH_MS * MS_NS)
		flush_records(g);
	if (mono_since_ns(now, g->told) >= RELAY_BEAT_NS ||
	    (g->events.n > 0 && mono_since_ns(now, g->told) >= FLUSH_MS * MS_NS))
		flush_events(g);
	take_deliveries(g, g->waiting_bytes >= WAITING_MAX_BYTES ? WAIT_MS : 0);
	limited_log_flush(&g->log, now, "");
	limited_log_flush(&g->kafka.log, now, "");
	systemd_watchdog(now);
}

void
gate_role_run(struct gate_role *g, const atomic_bool *stop)
{
	while (!atomic_load(stop))
		step(g);
	log_line(LOG_INFO, "stopping");
	systemd_notify("STOPPING=1");
	for (uint32_t i = 0; i < g->nlinks; i++)
		if (g->links[i].peer != NULL) {
			struct err e;

			split_left(&g->split, g->links[i].name, &e);
			tell_text(g, RELAY_LEFT, g->links[i].link, "the gate has stopped");
		}
	flush_records(g);
	flush_events(g);
	take_deliveries(g, 100);
	log_line(LOG_INFO, "stopped");
}

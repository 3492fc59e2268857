/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/remote_agents.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "base/log.h"
#include "base/systemd.h"
#include "controlplane/honed/forest_copy.h"
#include "controlplane/relay/events.h"
#include "controlplane/relay/gate_clock.h"

#define MS_NS INT64_C(1000000)
#define LISTEN_NS \
	INT64_C(1500000000) /* for the beat of another decider, before the first own one */
#define SOURCE "decider"

enum {
	END_MS = 2000,
	TRACES_STEP = 2000,
	READ_MS = 250,
	STOOD_STILL_MS = 1000,
	WAIT_MS = 20,
	BURST_MS = 50,
	ORDERS_BYTES = 512 << 10
};
#define COMPARE_NS INT64_C(60000000000)
#define READ_LOG_NS INT64_C(10000000000)
#define BEGIN_AGAIN_NS INT64_C(5000000000)
#define BEGIN_LOST_NS INT64_C(60000000000)
#define ASK_END_NS INT64_C(250000000)

static void flush_orders(struct remote_agents *r);

struct remote_gate {
	char name[RELAY_SOURCE_MAX + 1];
	bool here;
	uint64_t epoch;
	int64_t beat_ns;
	struct mono heard;
	int64_t forgiven_ns; /* of the time since then */
	uint64_t records, bytes;
	struct gate_clock clock;
};

struct remote_agent { /* to the links, its address is a struct peer's */
	uint32_t gate;
	uint64_t link;
	uint32_t tag;
	bool welcome;
	uint64_t kept; /* number of the message with its last KEEP: a gate sends one at a time */
};

struct remote_agents {
	struct kafka_link kafka;
	struct agent_links *links;
	struct row_merge *merge;
	int64_t silent_ns, skew_ns;
	struct remote_gate gates[RELAY_GATES_MAX];
	uint32_t ngates;
	struct map agents; /* struct remote_agent, by agent_key() */
	struct relay_numbers events;
	struct orders_writer orders;
	uint64_t order_number, order_before;
	struct leader leader;
	uint64_t term; /* ours; 0: not taken */
	bool replaced;
	struct mono led;        /* when the leader's last message was read */
	int64_t orders_read;    /* the offset before which all orders were read */
	int64_t orders_end;     /* where the topic ended when that was asked last, */
	struct mono ended;      /* and since when it has been there */
	struct mono told, read; /* when orders were sent, and the log was read */
	uint64_t lost_events, unknown;
	struct forest_copy copy; /* until we lead */
	struct forest_place from;
	bool forest_whole;
	struct forest_feed *feed;
	struct mono compared; /* the clocks of gates, */
	int64_t apart_ns;     /* and by how much they differ, if it is too much */
	struct arena scratch;
};

/* ---- who leads ---- */

static int
take_leader(struct remote_agents *r, const struct kafka_message *m, struct err *e)
{
	struct reader in = reader_of(m->data, m->len);
	struct relay_head h;
	uint64_t term;
	int rc;

	if ((rc = relay_head_decode(&h, &in, RELAY_ORDERS, e)) != 0 ||
	    (rc = orders_term(&term, &in, e)) != 0)
		return rc;
	if (leader_take(&r->leader, term, h.epoch))
		r->led = clock_mono();
	if (r->term != 0 && r->leader.term >= r->term && r->leader.epoch != r->kafka.epoch)
		r->replaced = true;
	return 0;
}

/*
 * Nothing of hone.orders is unread, so a leader that is silent writes nothing. While this decider writes a full state into its copy, or reads an old
 * log of the forest, beats wait behind that. What Kafka has deleted unread does not come any more: so it is enough, too, that nobody has written
 * anything for as long as a leader may be silent.
 */
static int
orders_are_read(struct remote_agents *r, int64_t end, struct mono asked, struct err *e)
{
	if (end != r->orders_end || r->ended.ns == 0) {
		r->orders_end = end;
		r->ended = clock_mono(); /* no earlier than the answer */
	}
	if (end <= r->orders_read || mono_since_ns(asked, r->ended) >= LEADER_SILENT_NS)
		return 0;
	return err_set(e, ERR_BUSY, "orders that another decider has written are still to be read");
}

/* A term that is higher than each that was ever taken, also when none of its messages is read any more: it is over the number of messages in
 * the log, and each decider writes there before the next one asks. ERR_BUSY: read on first. */
static int
take_term(struct remote_agents *r, struct err *e)
{
	struct leader known = r->leader;
	struct mono asked = clock_mono();
	int64_t end;
	int rc = r->kafka.calls->end(
	    r->kafka.connection, r->kafka.topics[TOPIC_ORDERS], 0, END_MS, &end, e);

	if (rc == 0)
		rc = orders_are_read(r, end, asked, e);
	/* Also if the topic of orders was made anew: the forest's terms are known by our own database. */
	if (r->copy.follow.leader.term > known.term)
		known.term = r->copy.follow.leader.term;
	if (rc == 0)
		rc = next_term(&known, end, &r->term, e);
	return rc;
}

/* One message, or none. */
static void
standby_take(struct remote_agents *r, int wait_ms)
{
	struct kafka_message m;
	struct err e;

	if (kafka_link_next(&r->kafka, wait_ms, &m) != KAFKA_MESSAGE)
		return;
	if (kafka_link_is(&r->kafka, TOPIC_ORDERS, &m)) {
		take_leader(r, &m, &e);
		r->orders_read = m.offset + 1;
	} else if (kafka_link_is(&r->kafka, TOPIC_FOREST, &m))
		forest_copy_take(&r->copy, &m, r->term, clock_mono());
	r->kafka.calls->release(&m);
}

/* A copy that is not whole takes over only if no other one does: the state that it begins with takes the place of theirs. Where the log is gone, those
 * whose database has rows of it come before those that have none. */
static int64_t
silence_needed_ns(const struct remote_agents *r)
{
	if (forest_copy_log_is_gone(&r->copy) && !r->copy.of_log)
		return 3 * LEADER_SILENT_NS;
	if (!forest_copy_whole(&r->copy))
		return 2 * LEADER_SILENT_NS;
	return r->leader.term > 0 ? LEADER_SILENT_NS : LISTEN_NS;
}

/* Until nobody leads. ERR_INPUT: there is no higher term. */
static int
wait_for_term(struct remote_agents *r, const atomic_bool *stop, struct err *e)
{
	struct mono began = clock_mono(), asked = { 0 };
	bool told = false;
	int rc = ERR_PEER;

	while ((rc == ERR_PEER || rc == ERR_BUSY) && !atomic_load(stop)) {
		struct mono now = clock_mono();

		standby_take(r, WAIT_MS);
		systemd_watchdog(now);
		if (r->leader.term > 0 && mono_since_ns(now, r->led) < LEADER_SILENT_NS)
			forest_copy_ask(&r->copy, now);
		if (r->leader.term > 0 && !told) {
			log_line(LOG_INFO,
			    "another decider leads (term %llu): this one stands by, and takes over when it has been silent for 5 s, or for 10 s if the copy is not whole, or for 15 s if the log of the forest is gone and its database has nothing of it",
			    (unsigned long long)r->leader.term);
			told = true;
		}
		if (mono_since_ns(now, r->leader.term > 0 ? r->led : began) <
			silence_needed_ns(r) ||
		    mono_since_ns(now, asked) < ASK_END_NS)
			continue;
		asked = clock_mono();
		if ((rc = take_term(r, e)) == ERR_PEER)
			limited_log(&r->kafka.log, now, LOG_WARN, "%s", e->text);
	}
	return rc == ERR_PEER || rc == ERR_BUSY ? 0 : rc;
}

/* Else nobody takes what we would write there. */
static int
term_is_ours(const struct remote_agents *r, struct err *e)
{
	const struct leader *l = &r->copy.follow.leader;

	if (l->term < r->term || (l->term == r->term && l->epoch == r->kafka.epoch))
		return 0;
	return err_set(e, ERR_PEER,
	    "%s has term %llu of another decider, ours is %llu: this one ends, and takes a higher one when it is started anew",
	    r->kafka.topics[TOPIC_FOREST], (unsigned long long)l->term,
	    (unsigned long long)r->term);
}

/*
 * Our term begins in the log of the forest: what is before it there is all that counts.
 *
 *	1. beats, until one of them has come back: then nobody else has this term, and whoever had one before it ends
 *	2. BEGIN, again each 5 s as Kafka may lose it, and all that is before it
 */
static int
end_copy(struct remote_agents *r, const atomic_bool *stop, struct err *e)
{
	struct mono told = clock_mono(), begun = { 0 }, moved = told;
	uint64_t entries = 0;
	int rc;

	while (!r->copy.own_begin && !atomic_load(stop)) {
		struct mono now = clock_mono();

		if (mono_since_ns(now, r->told) >= RELAY_BEAT_NS) {
			r->read = now;
			flush_orders(r);
		}
		standby_take(r, WAIT_MS);
		systemd_watchdog(now);
		if (r->replaced)
			return err_set(
			    e, ERR_PEER, "another decider has taken over: this one ends");
		if ((rc = term_is_ours(r, e)) != 0)
			return rc;
		if (r->leader.term == r->term && r->leader.epoch == r->kafka.epoch &&
		    (begun.ns == 0 || mono_since_ns(now, begun) >= BEGIN_AGAIN_NS) &&
		    forest_feed_begin(&r->kafka, r->term))
			begun = now;
		if (begun.ns == 0 || forest_copy_entries(&r->copy) != entries) {
			entries = forest_copy_entries(&r->copy);
			moved = now;
		} else if (mono_since_ns(now, moved) >= BEGIN_LOST_NS)
			return err_set(e, ERR_PEER,
			    "%s: what this decider writes does not come back, and nothing else has come for 60 s: it ends, so that another one may take over",
			    r->kafka.topics[TOPIC_FOREST]);
		if (mono_since_ns(now, told) < READ_LOG_NS)
			continue;
		told = now;
		log_line(LOG_INFO, "reads the logs: entry %llu of term %llu of the forest",
		    (unsigned long long)r->copy.follow.seen.number,
		    (unsigned long long)r->copy.follow.seen.term);
	}
	r->forest_whole = r->copy.whole_before;
	if (r->forest_whole)
		r->from = r->copy.follow.base;
	if (r->copy.gone_before)
		log_line(LOG_ERROR,
		    "%s has no entry, though %s. This decider goes on with what its own database has, which then takes the place of the others'",
		    r->kafka.topics[TOPIC_FOREST],
		    r->copy.of_log
			? "deciders have led: it was emptied or made anew"
			: "a decider has written to hone.orders: it was emptied or made anew, or that decider ended before it wrote there");
	else if (!r->forest_whole && !atomic_load(stop))
		log_line(LOG_ERROR,
		    "the copy of the forest does not have all that the former decider wrote: diagnoses and what was learned may be missing");
	if (r->copy.own_begin)
		forest_copy_lead(&r->copy, r->term);
	forest_copy_close(&r->copy);
	log_line(LOG_INFO, "decides from here on (term %llu)", (unsigned long long)r->term);
	return 0;
}

int
remote_agents_open(
    struct remote_agents **ret, const struct config *c, const atomic_bool *stop, struct err *e)
{
	static const enum kafka_topic reads[] = { TOPIC_ROWS, TOPIC_EVENTS, TOPIC_ORDERS,
		TOPIC_FOREST };
	struct remote_agents *r = calloc(1, sizeof *r);
	int rc;

	*ret = NULL;
	if (r == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	r->silent_ns = c->silent_after;
	r->skew_ns = c->skew;
	if ((rc = kafka_link_open(&r->kafka, c, NULL, e)) != 0 ||
	    (rc = forest_copy_open(&r->copy, c, &r->kafka, e)) != 0 ||
	    (rc = kafka_link_follow(&r->kafka, reads, 4, e)) != 0 ||
	    /* After it: what was written before is not read. */
	    (rc = r->kafka.calls->end(r->kafka.connection, r->kafka.topics[TOPIC_ORDERS], 0, END_MS,
		 &r->orders_read, e)) != 0)
		goto fail;
	r->copy.led_before = r->orders_read > 0;
	if ((rc = wait_for_term(r, stop, e)) != 0 ||
	    (!atomic_load(stop) && (rc = end_copy(r, stop, e)) != 0))
		goto fail;
	if (atomic_load(stop))
		remote_agents_close(r);
	else
		*ret = r;
	return 0;
fail:
	remote_agents_close(r);
	return rc;
}

void
remote_agents_close(struct remote_agents *r)
{
	size_t at = 0;
	void *a;

	if (r == NULL)
		return;
	forest_copy_close(&r->copy);
	forest_feed_close(r->feed);
	kafka_link_close(&r->kafka);
	row_merge_free(r->merge);
	while ((a = map_next(&r->agents, &at, NULL)) != NULL)
		free(a);
	map_release(&r->agents);
	relay_numbers_release(&r->events);
	orders_release(&r->orders);
	arena_release(&r->scratch);
	free(r);
}

bool
remote_agents_replaced(const struct remote_agents *r)
{
	return r->replaced;
}

/* ---- orders ---- */

/* A decider that stood still may have been replaced, and has not read it yet. */
static bool
may_order(const struct remote_agents *r, struct mono now)
{
	return !r->replaced && mono_since_ns(now, r->read) <= READ_MS * MS_NS;
}

/* Nothing is left of orders that fail, or may not be sent: desired states are sent again, and so is a refusal. */
static void
flush_orders(struct remote_agents *r)
{
	struct relay_head h = { .kind = RELAY_ORDERS,
		.source = SOURCE,
		.epoch = r->kafka.epoch,
		.number = r->order_number + 1,
		.before = r->order_before,
		.items = r->orders.n };
	struct relay_echo echoes[RELAY_GATES_MAX];
	struct buf b = { 0 };
	struct err e;

	for (uint32_t i = 0; i < r->ngates; i++) {
		memcpy(echoes[i].gate, r->gates[i].name, sizeof echoes[i].gate);
		echoes[i].epoch = r->gates[i].epoch;
		echoes[i].beat_ns = r->gates[i].beat_ns;
	}
	r->told = clock_mono();
	if (!may_order(r, r->told)) {
		orders_release(&r->orders);
		return;
	}
	if (orders_end(&r->orders, &h, r->term, echoes, r->ngates, &b, &e) != 0)
		limited_log(&r->kafka.log, r->told, LOG_ERROR, "%s", e.text);
	else
		kafka_link_put(&r->kafka, TOPIC_ORDERS, 0, &b, 0);
	buf_release(&b);
	orders_release(&r->orders);
	r->order_number++;
	r->order_before += h.items;
}

static void
order(struct remote_agents *r, const struct remote_agent *a, enum relay_order_kind kind,
    const void *body, size_t len)
{
	if (r->orders.n > 0 && r->orders.orders.len + len > ORDERS_BYTES)
		flush_orders(r);
	orders_add(&r->orders, a->gate, kind, a->link, body, len);
}

void
remote_agents_send(struct remote_agents *r)
{
	struct mono now = clock_mono();

	/* After a long step, as with a disk that is slow at commits, the log is read before orders and the beat: without beats, another one would take
	 * over. */
	if (!may_order(r, now)) {
		remote_agents_take(r);
		now = clock_mono();
	}
	if (may_order(r, now) && (r->orders.n > 0 || mono_since_ns(now, r->told) >= RELAY_BEAT_NS))
		flush_orders(r);
	if (r->feed != NULL)
		forest_feed_step(r->feed, now);
	limited_log_flush(&r->kafka.log, now, "");
}

/* ---- the port ---- */

static void
welcome(void *of, struct peer *p, uint32_t tag)
{
	struct remote_agent *a = (struct remote_agent *)p;

	(void)of;
	a->tag = tag;
	a->welcome = true;
}

static void
refuse(void *of, struct peer *p, const char *text)
{
	order(of, (struct remote_agent *)p, RELAY_REFUSE, text, strlen(text));
}

/* The gate has acknowledged it. */
static void
took(void *of, struct peer *p, uint64_t seq)
{
	(void)of;
	(void)p;
	(void)seq;
}

static void
want(void *of, struct peer *p, const struct buf *payload)
{
	order(of, (struct remote_agent *)p, RELAY_WANT, payload->data, payload->len);
}

static bool
keep(void *of, struct peer *p, const struct buf *payload)
{
	struct remote_agents *r = of;
	struct remote_agent *a = (struct remote_agent *)p;

	if (a->kept == r->order_number + 1)
		return false;
	order(r, a, RELAY_KEEP, payload->data, payload->len);
	a->kept = r->order_number + 1;
	return true;
}

/* Gates ask for clocks by themselves. */
static void
ask_clock(void *of, struct peer *p)
{
	(void)of;
	(void)p;
}

int
remote_agents_begin(
    struct remote_agents *r, struct agent_links *links, const struct config *c, struct err *e)
{
	const struct row_merge_options o = { .partitions = r->kafka.partitions,
		.wait_ns = c->kafka_wait,
		.memory_max_bytes = (size_t)c->memory_max,
		.shift_ns = -r->kafka.shift_ns };
	int rc;

	links->port = (struct agent_port){ r, welcome, refuse, took, want, keep, ask_clock };
	r->links = links;
	rc = row_merge_new(&r->merge, &o, engine_labels(links->engine), clock_mono(), e);
	return rc == 0 ? forest_feed_open(&r->feed, &r->kafka, c, r->term, &r->from, e) : rc;
}

struct forest_feed *
remote_agents_feed(struct remote_agents *r)
{
	return r->feed;
}

/* ---- gates and agents ---- */

static uint64_t
agent_key(uint32_t gate, uint64_t link)
{
	return (uint64_t)gate << 48 ^ link;
}

/* A new one takes the place of one that is gone, if there are RELAY_GATES_MAX; NULL: all of them are there. */
static struct remote_gate *
gate_for(struct remote_agents *r, const char *name)
{
	uint32_t i = 0;

	for (i = 0; i < r->ngates; i++)
		if (strcmp(r->gates[i].name, name) == 0)
			return &r->gates[i];
	while (i < r->ngates && (r->ngates < RELAY_GATES_MAX || r->gates[i].here))
		i++;
	if (i == RELAY_GATES_MAX)
		return NULL;
	if (i < r->ngates) /* orders that wait name gates by their numbers */
		flush_orders(r);
	else
		r->ngates++;
	r->gates[i] = (struct remote_gate){ 0 };
	snprintf(r->gates[i].name, sizeof r->gates[i].name, "%s", name);
	return &r->gates[i];
}

static void
agent_left(struct remote_agents *r, struct remote_agent *a, const char *why)
{
	struct mail m = { .kind = MAIL_LEFT,
		.peer = (struct peer *)a,
		.tag = a->tag,
		.text = (char *)(uintptr_t)why };

	if (a->welcome)
		agent_links_left(r->links, &m);
	map_take(&r->agents, agent_key(a->gate, a->link));
	free(a);
}

/* All agents of the gate; refused: they are to connect again. */
static void
drop_agents(struct remote_agents *r, uint32_t gate, bool refused, const char *why)
{
	struct remote_agent *a;
	size_t at = 0;

	while ((a = map_next(&r->agents, &at, NULL)) != NULL) {
		if (a->gate != gate)
			continue;
		if (refused)
			order(r, a, RELAY_REFUSE, why, strlen(why));
		agent_left(r, a, why);
	}
}

/* What a gate says while this decider stands still is heard later, so that time is not the gate's silence; of each silence silent_ns at most, so
 * that a gate which is dead is found by a decider whose steps are always slow. */
static void
forgive_gates(struct remote_agents *r, struct mono now)
{
	int64_t still_ns = mono_since_ns(now, r->read);

	if (still_ns < STOOD_STILL_MS * MS_NS)
		return;
	for (uint32_t i = 0; i < r->ngates; i++) {
		struct remote_gate *g = &r->gates[i];
		int64_t left_ns = r->silent_ns - g->forgiven_ns,
			ns = still_ns < left_ns ? still_ns : left_ns;

		g->heard.ns += ns;
		g->forgiven_ns += ns;
	}
}

static void
miss_gates(struct remote_agents *r)
{
	struct mono now = clock_mono();

	for (uint32_t i = 0; i < r->ngates; i++) {
		struct remote_gate *g = &r->gates[i];

		if (!g->here || mono_since_ns(now, g->heard) <= r->silent_ns)
			continue;
		log_line(LOG_WARN, "gate %s has been silent for %.1f s", g->name,
		    (double)mono_since_ns(now, g->heard) / 1e9);
		g->here = false;
		g->records = g->bytes = 0;
		drop_agents(r, i, false, "its gate is silent");
	}
}

/* Tells of the two gates whose clocks are the farthest apart, if they differ. */
static void
compare_clocks(struct remote_agents *r, struct mono now)
{
	const struct remote_gate *first = NULL, *last = NULL; /* by their clocks */
	int64_t first_ns = 0, last_ns = 0, ns;

	if (mono_since_ns(now, r->compared) < COMPARE_NS)
		return;
	r->compared = now;
	r->apart_ns = 0;
	for (uint32_t i = 0; i < r->ngates; i++) {
		if (!r->gates[i].here || !gate_clock_least(&r->gates[i].clock, &ns))
			continue;
		if (first == NULL || ns < first_ns) {
			first = &r->gates[i];
			first_ns = ns;
		}
		if (last == NULL || ns > last_ns) {
			last = &r->gates[i];
			last_ns = ns;
		}
	}
	if (first == NULL || !gate_clocks_differ(first_ns, last_ns, r->skew_ns))
		return;
	r->apart_ns = last_ns - first_ns;
	log_line(LOG_WARN,
	    "the times of day of gates %s and %s seem to differ by %.3f s (%s is ahead), more than analysis.skew: traces over both are wrong; see to NTP there, and restart them",
	    first->name, last->name, (double)r->apart_ns / 1e9, first->name);
}

/* The hello that the gate got, as strictly as the gate takes it. */
static int
joined_hello(struct remote_agents *r, const struct relay_event *x, struct hello *ret, struct err *e)
{
	struct reader in = reader_of(x->body, x->len);
	size_t len, version_len;
	const char *node = read_text(&in, NODE_NAME_MAX, &len),
		   *version = read_text(&in, 255, &version_len);
	struct hello h = { 0 };
	struct buf b = { 0 };
	int rc;

	if (in.failed || reader_left(&in) > 0 || memchr(node, 0, len) != NULL)
		return err_set(e, ERR_INPUT, "log: an agent's name or version is malformed");
	h.node = arena_text(&r->scratch, node, len);
	h.version = arena_text(&r->scratch, version, version_len);
	if (h.node == NULL || h.version == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	hello_encode(&h, &b);
	rc = b.failed ? err_set(e, ERR_MEMORY, "out of memory")
	              : hello_decode(ret, &r->scratch, b.data, b.len, e);
	buf_release(&b);
	return rc;
}

static int
agent_joined(struct remote_agents *r, uint32_t gate, const struct relay_event *x, struct err *e)
{
	struct mail m = { .kind = MAIL_JOINED, .at = clock_mono() };
	struct hello hello;
	struct remote_agent *a, *before;
	int rc = joined_hello(r, x, &hello, e);

	if (rc != 0)
		return rc;
	/* No more certain than the clocks of the gates are. */
	hello.clock_ns = m.at.ns - r->skew_ns;
	if ((before = map_get(&r->agents, agent_key(gate, x->link))) != NULL)
		agent_left(r, before, "it connected again");
	a = calloc(1, sizeof *a);
	if (a == NULL || !map_put(&r->agents, agent_key(gate, x->link), a)) {
		free(a);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	*a = (struct remote_agent){ .gate = gate, .link = x->link };
	/* It is at this gate now, whatever we know of the one before. */
	before = (struct remote_agent *)agent_links_peer(r->links, hello.node);
	if (before != NULL)
		agent_left(r, before, "it connected elsewhere");
	m.peer = (struct peer *)a;
	m.hello = &hello;
	agent_links_joined(r->links, &m);
	return 0;
}

/* A time on the time base of the log, on our clock. False: it is none. */
static bool
read_time(int64_t *ret, struct reader *in, int64_t shift_ns)
{
	int64_t t_ns = read_int(in);

	if (in->failed || t_ns < 0 || t_ns > INT64_MAX / 4)
		return false;
	*ret = t_ns - shift_ns;
	return true;
}

/* As a CLOCK frame that we had asked for; all its times are on our clock, and the offset is 0 within its error. Its error is that of the round trip
 * and that of the clocks of two gates: else a trace over two gates would contradict what is certain of their agents. */
static int
agent_clock(struct remote_agents *r, const struct remote_agent *a, const struct relay_event *x,
    struct err *e)
{
	struct reader in = reader_of(x->body, x->len);
	struct clock_echo c;
	struct mail m = {
		.kind = MAIL_FRAME, .frame = FRAME_CLOCK, .peer = (struct peer *)a, .tag = a->tag
	};
	struct buf b = { 0 };
	int rc;

	if (!read_time(&c.asked_ns, &in, r->kafka.shift_ns) ||
	    !read_time(&m.at.ns, &in, r->kafka.shift_ns) ||
	    !read_time(&c.came_ns, &in, r->kafka.shift_ns) ||
	    !read_time(&c.went_ns, &in, r->kafka.shift_ns))
		return err_set(e, ERR_INPUT, "log: a clock is malformed");
	gate_clock_sample(&r->gates[a->gate].clock, clock_mono().ns - m.at.ns);
	c.asked_ns -= r->skew_ns;
	m.at.ns += r->skew_ns;
	clock_encode(&c, &b);
	m.data = b.data;
	m.len = b.len;
	rc = b.failed ? err_set(e, ERR_MEMORY, "out of memory")
	              : agent_links_frame(r->links, &m, e);
	buf_release(&b);
	return rc;
}

static int
agent_frame(
    struct remote_agents *r, struct remote_agent *a, const struct relay_event *x, struct err *e)
{
	struct mail m = {
		.kind = MAIL_FRAME, .peer = (struct peer *)a, .tag = a->tag, .at = clock_mono()
	};
	int rc;

	if (x->len == 0)
		return err_set(e, ERR_INPUT, "log: a frame is empty");
	m.frame = x->body[0];
	m.data = (uint8_t *)(uintptr_t)x->body + 1;
	m.len = x->len - 1;
	if (m.frame != FRAME_STATUS && m.frame != FRAME_DONE && m.frame != FRAME_PROGRAMS &&
	    m.frame != FRAME_KEPT)
		return err_set(e, ERR_INPUT, "log: a frame of kind %u among events", m.frame);
	if ((rc = agent_links_frame(r->links, &m, e)) == ERR_INPUT) {
		err_prefix(e, "%s", frame_kind_name(m.frame));
		refuse(r, m.peer, e->text);
	}
	return rc;
}

static int
take_event(struct remote_agents *r, uint32_t gate, const struct relay_event *x, struct err *e)
{
	static const char unknown[] = "the decider does not know this agent yet";
	struct remote_agent *a, stranger = { .gate = gate, .link = x->link };
	char why[256];

	if (x->kind == RELAY_JOINED)
		return agent_joined(r, gate, x, e);
	a = map_get(&r->agents, agent_key(gate, x->link));
	if (x->kind == RELAY_LEFT) {
		snprintf(why, sizeof why, "%.*s", (int)x->len, (const char *)x->body);
		if (a != NULL)
			agent_left(r, a, why);
		return 0;
	}
	if (a == NULL) { /* once for each status is enough */
		if (x->kind == RELAY_FRAME && x->len > 0 && x->body[0] == FRAME_STATUS) {
			r->unknown++;
			order(r, &stranger, RELAY_REFUSE, unknown, sizeof unknown - 1);
		}
		return 0;
	}
	if (!a->welcome) /* it was refused, and is going */
		return 0;
	return x->kind == RELAY_CLOCK ? agent_clock(r, a, x, e) : agent_frame(r, a, x, e);
}

static int
take_events(struct remote_agents *r, const struct kafka_message *m, struct err *e)
{
	struct reader in = reader_of(m->data, m->len);
	struct events_message events;
	struct relay_event x;
	struct remote_gate *g;
	struct relay_head h;
	struct relay_gap gap;
	enum relay_verdict v;
	uint32_t gate;
	int rc;

	if ((rc = relay_head_decode(&h, &in, RELAY_EVENTS, e)) != 0 ||
	    (rc = events_open(&events, &in, e)) != 0)
		return rc;
	v = relay_numbers_take(&r->events, &h, &gap);
	if (v == RELAY_OVER)
		limited_log(&r->kafka.log, clock_mono(), LOG_WARN,
		    "gate %s: a run of it that was replaced goes on; do two gates have this kafka.name?",
		    h.source);
	if (v != RELAY_NEXT && v != RELAY_NEW_RUN)
		return 0;
	if ((g = gate_for(r, h.source)) == NULL)
		return err_set(e, ERR_FULL, "gate %s: %d gates are the most that one decider takes",
		    h.source, RELAY_GATES_MAX);
	gate = (uint32_t)(g - r->gates);
	if (!g->here)
		log_line(LOG_INFO, "gate %s is there", g->name);
	if (v == RELAY_NEW_RUN) {
		drop_agents(r, gate, false, "its gate began anew");
		g->clock = (struct gate_clock){ 0 };
	} else if (gap.messages > 0) {
		r->lost_events += gap.messages;
		drop_agents(r, gate, true, "the decider has missed what the gate said");
	}
	g->here = true;
	g->epoch = h.epoch;
	g->beat_ns = events.beat_ns;
	g->heard = clock_mono();
	g->forgiven_ns = 0;
	g->records = events.records;
	g->bytes = events.bytes;
	for (uint32_t i = 0; i < events.n; i++) {
		struct err why;

		if ((rc = events_next(&x, &in, e)) != 0)
			return rc;
		if (take_event(r, gate, &x, &why) != 0)
			limited_log(&r->kafka.log, clock_mono(), LOG_WARN, "gate %s: %s", g->name,
			    why.text);
		arena_reset(&r->scratch);
	}
	return 0;
}

/* ---- rows ---- */

static uint32_t
node_number(void *ctx, const char *name)
{
	const struct agent_links *links = ctx;
	uint32_t tag = agent_links_tag(links, name);

	return tag != UINT32_MAX ? links->items[tag].node : TRACE_NONE;
}

static void
pass_traces(struct remote_agents *r)
{
	struct mono now = clock_mono();
	struct trace *t;
	struct err e;

	for (int i = 0; i < TRACES_STEP; i++) {
		if ((t = row_merge_next(r->merge, now)) != NULL)
			engine_delayed(r->links->engine, now.ns - t->end_ns);
		else if ((t = row_merge_next_incomplete(r->merge)) == NULL)
			break;
		if (engine_take(r->links->engine, t, &e) != 0)
			limited_log(&r->kafka.log, now, LOG_ERROR, "%s", e.text);
	}
}

/* Our own entries come back, too. */
static int
take_ask(struct remote_agents *r, const struct kafka_message *m, struct err *e)
{
	struct forest_entry x;
	struct relay_head h;
	int rc = forest_entry_decode(&h, &x, m->data, m->len, e);

	if (rc == 0 && x.kind == FOREST_ASK)
		forest_feed_asked(r->feed);
	return rc;
}

void
remote_agents_take(struct remote_agents *r)
{
	int64_t until_ns = clock_mono().ns + BURST_MS * MS_NS;
	struct kafka_message m;
	bool drained = true;

	forgive_gates(r, clock_mono());
	while (kafka_link_next(&r->kafka, 0, &m) == KAFKA_MESSAGE) {
		struct err e;
		int rc;

		if (kafka_link_is(&r->kafka, TOPIC_ORDERS, &m))
			rc = take_leader(r, &m, &e);
		else if (kafka_link_is(&r->kafka, TOPIC_EVENTS, &m))
			rc = take_events(r, &m, &e);
		else if (kafka_link_is(&r->kafka, TOPIC_FOREST, &m))
			rc = take_ask(r, &m, &e);
		else
			rc = row_merge_take(
			    r->merge, m.data, m.len, node_number, r->links, clock_mono(), &e);
		if (rc != 0)
			limited_log(&r->kafka.log, clock_mono(), LOG_ERROR, "%s", e.text);
		r->kafka.calls->release(&m);
		if (clock_mono().ns > until_ns) {
			drained = false;
			break;
		}
	}
	r->read = clock_mono();
	if (drained) { /* else beats may wait to be read */
		miss_gates(r);
		compare_clocks(r, r->read);
	}
	pass_traces(r);
}

void
remote_agents_counts(const struct remote_agents *r, struct remote_counts *ret)
{
	*ret = (struct remote_counts){ .agents = (uint32_t)r->agents.count,
		.term = r->term,
		.lost_events = r->lost_events,
		.unknown_agents = r->unknown };
	ret->over = r->events.counts.over;
	for (uint32_t i = 0; i < r->ngates; i++) {
		ret->gates += r->gates[i].here;
		ret->records += r->gates[i].records;
		ret->bytes += r->gates[i].bytes;
	}
	row_merge_counts(r->merge, clock_mono(), &ret->rows);
	forest_feed_counts(r->feed, &ret->forest);
	ret->forest_whole = r->forest_whole;
	ret->apart_ns = r->apart_ns;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a message is: a request, a response, or a further piece of one; and what follows for the contexts of threads.
 *
 *	client sends     SENT        a piece of the last request, if that has no response yet and it is the same context's
 *	server receives  SERVED      a piece of the last request, if none is on its way
 *	server sends     ANSWERED    a piece of the last response, if no request waits for one
 *	client receives  JOINED      a piece of the last response, if none is on its way
 */
#include <string.h>

#include "base/texts.h"
#include "kernel/requests/request_name.h"
#include "kernel/requests/requests_inside.h"

struct tcp_message {
	struct task_thread *t;
	struct tcp_channel *c;
	enum side side; /* of t */
	uint32_t bytes;
	const char *text;
	bool first; /* of this channel, as far as is known */
	struct unit_source at;
};

static const char *
text_of_message(const struct requests *r, uint32_t text)
{
	return text < texts_count(r->names->texts) ? texts_get(r->names->texts, text) : "";
}

/* False: it cannot be used. */
static bool
open_message(struct requests *r, struct tcp_message *m, const struct kernel_event *ev)
{
	if (ev->message.connection >= texts_count(r->names->connections)) {
		r->counts.malformed++;
		return false;
	}
	m->t = thread_of(r, ev->host, ev->tid, ev->pid);
	if (m->t == NULL || m->t->process.generation == 0)
		return false;
	m->t->ran = true;
	m->at = (struct unit_source){ m->t->host, m->t->pid, m->t->tid };
	m->c = channel_of(r, ev->host, ev->message.connection, &m->side);
	if (m->c == NULL)
		return false;
	channel_used(r, m->c, m->side, m->t);
	m->bytes = ev->message.bytes;
	m->text = text_of_message(r, ev->message.text);
	m->first = m->c->sent[0] + m->c->sent[1] + m->c->received[0] + m->c->received[1] == 0 &&
	           m->c->first == NULL && !m->c->unsized[0] && !m->c->unsized[1];
	return true;
}

/* HTTP/1 says who serves. */
static void
note_http(struct tcp_message *m, bool sent)
{
	struct tcp_channel *c = m->c;

	if (http_begins_request(m->text)) {
		c->http = true;
		if (c->server == SIDE_UNKNOWN)
			c->server = sent ? (enum side) !m->side : m->side;
	} else if (http_begins_response(m->text)) {
		*(sent ? &c->http_responses : &c->http_received) = true;
		if (c->server == SIDE_UNKNOWN)
			c->server = sent ? m->side : (enum side) !m->side;
	}
}

static uint32_t
name_of(struct requests *r, const struct tcp_message *m)
{
	struct kernel_end server = channel_end(r, m->c, m->c->server);
	char name[REQUEST_NAME_MAX];

	request_name(name, &server, m->text);
	return type_number(r, name);
}

/* ---- the client sends ---- */

/* Nothing says for which request the thread works; see rules 1, 2 and 4 of requests.h. */
static void
find_context(struct requests *r, struct task_thread *t)
{
	struct task_process *p = handle_pool_get(&r->processes, t->process);

	if (t->known == KNOWN_OUTSIDE || context_unit(r, t) != NULL || p == NULL)
		return;
	if (r->o.rule == RULE_ALL)
		return;
	t->known = KNOWN_NOTHING;
	t->nactive = 0;
	if (!t->receives && p->nopen > 0) {
		worker_resolve(r, t, NULL);
		worker_begin(r, t);
	} else if (t->nopen > 0) {
		r->counts.unattributed++;
		t->doubt_ns = r->now_ns;
	} else if (p->serves) {
		r->counts.background++;
	}
}

static bool
same_context(
    const struct requests *r, const struct tcp_message *m, const struct message_exchange *x)
{
	const struct request_unit *now = context_unit(r, m->t),
				  *then = x->calls != NULL ? unit_of(r, x->calls->caller) : NULL;

	return same_handle(x->client, m->t->pooled.self) && now == then;
}

static void
call_from(struct requests *r, struct message_exchange *x, struct request_unit *u,
    const struct tcp_message *m)
{
	struct exchange_call *call = exchange_call_add(r, x);

	if (call == NULL) {
		u->trace->lossy = true;
		return;
	}
	call->caller = u->pooled.self;
	call->link_id = ++r->last_id;
	call->fork = unit_add(r, u, RECORD_FORK, m->at, x->name, call->link_id);
	if (call->fork != NULL)
		call->fork->expected = channel_recorded(r, m->c, m->c->server);
}

static void
client_sends(struct requests *r, struct tcp_message *m)
{
	struct tcp_channel *c = m->c;
	struct message_exchange *last = c->last, *x;
	uint64_t from = c->sent[m->side];
	bool begins = http_begins_request(m->text);

	find_context(r, m->t);
	c->sent[m->side] += m->bytes;
	c->unsized[m->side] |= m->bytes == 0;
	if (last != NULL && last->state <= EXCHANGE_SERVED && !begins &&
	    (c->http || same_context(r, m, last))) {
		last->asked_to = c->sent[m->side];
		return;
	}
	if (last == NULL || last->state > EXCHANGE_SERVED) /* what was sent has been received */
		c->received[m->side] = from;
	if ((x = exchange_add(r, c)) == NULL)
		return;
	x->pipelined = x != c->first && last->state <= EXCHANGE_SERVED;
	x->asked_from = from;
	x->asked_to = c->sent[m->side];
	x->client = m->t->pooled.self;
	x->name = name_of(r, m);
	for (uint32_t i = 0; m->t->known == KNOWN_UNITS && i < m->t->nactive; i++) {
		struct request_unit *u = unit_of(r, m->t->active[i]);

		if (u != NULL && u->open)
			call_from(r, x, u, m);
	}
	if (c->doubtful)
		exchange_lossy(r, x);
	if (x->calls != NULL && handle_pool_get(&r->traces, m->t->worker) != NULL) {
		x->worker = m->t->worker;
		m->t->outstanding++;
	}
}

/* ---- the server receives ---- */

/* False: there is no room for it. */
static bool
begin_unit(
    struct requests *r, struct tcp_message *m, struct exchange_call *call, struct request_unit *u)
{
	if (u == NULL)
		return false;
	call->served = u->pooled.self;
	unit_open(r, u, m->t);
	context_add(r, m->t, u);
	return true;
}

static bool
is_entry(struct requests *r, const struct tcp_message *m, const struct message_exchange *x)
{
	struct kernel_end peer = channel_end(r, m->c, (enum side) !m->side);
	struct task_process *client = handle_pool_get(&r->processes, m->c->processes[!m->side]);

	if (r->o.gateways != NULL)
		return gateways_match(r->o.gateways, &peer) ||
		       (client != NULL &&
			   gateways_match_process(r->o.gateways, (uint16_t)(client->key >> 32),
			       (uint32_t)client->key));
	return x->calls == NULL && (client == NULL || !client->serves);
}

/* A request that nobody forked begins. */
static bool
serve_entry(struct requests *r, struct tcp_message *m, struct message_exchange *x)
{
	struct exchange_call *call = exchange_call_add(r, x);
	struct request_trace *trace = call != NULL ? trace_begin(r) : NULL;

	if (trace == NULL)
		return false;
	r->counts.requests++;
	if (r->o.gateways == NULL) {
		trace->from = m->c->processes[!m->side];
		trace->on = m->c->pooled.self;
		trace->client_side = (uint8_t)!m->side;
	}
	/* On a connection that began while events were lost, this may be another message than it seems. */
	if (r->nlosses > 0 && r->losses[r->nlosses - 1].to_ns + r->o.hold_ns > r->now_ns)
		trace->lossy = true;
	if (begin_unit(r, m, call, unit_begin(r, trace, RECORD_REQUEST_BEGIN, m->at, x->name, 0)))
		return true;
	r->counts.given_up++;
	trace_drop(r, trace);
	return false;
}

static void
serve(struct requests *r, struct tcp_message *m, struct message_exchange *x)
{
	struct exchange_call *calls = x->calls;
	struct task_process *p = handle_pool_get(&r->processes, m->t->process);
	bool entry = is_entry(r, m, x), begun = false;

	x->state = EXCHANGE_SERVED;
	if (m->c->doubtful)
		exchange_lossy(r, x);
	if (r->o.rule == RULE_CURRENT)
		m->t->nactive = 0;
	if (entry) {
		x->calls = NULL; /* a gateway's own context ends here */
		begun = serve_entry(r, m, x);
		for (struct exchange_call *c = calls, *next; c != NULL; c = next) {
			next = c->next;
			handle_pool_give(&r->calls, c);
		}
	}
	for (struct exchange_call *c = calls; !entry && c != NULL; c = c->next) {
		struct request_unit *u = unit_of(r, c->caller);

		if (u == NULL)
			continue;
		if (c->fork != NULL)
			c->fork->begun = true;
		begun |= begin_unit(r, m, c,
		    unit_begin(r, u->trace, RECORD_UNIT_BEGIN, m->at, x->name, c->link_id));
	}
	if (begun) {
		m->t->receives = true;
		if (p != NULL && !p->serves) {
			p->serves = true;
			if (!map_put(&r->serving, p->name, p->name != 0 ? r : NULL))
				note_failure_of(r, ERR_MEMORY, "no memory for processes");
		}
	} else if (r->o.rule == RULE_CURRENT) {
		m->t->receives = true;
		context_set(m->t, NULL);
		r->counts.outside += calls == NULL;
	}
}

/* The thread goes on with a request that it, or another one, has begun to receive. */
static void
resume(struct requests *r, struct tcp_message *m, const struct message_exchange *x)
{
	struct request_unit *u = x->calls != NULL ? unit_of(r, x->calls->served) : NULL;

	if (r->o.rule == RULE_CURRENT)
		context_set(m->t, u != NULL && u->open ? u : NULL);
}

/* Which requests on their way does this receipt begin? Those that lie before the bytes that were received by now; without sizes one. */
static void
server_receives(struct requests *r, struct tcp_message *m)
{
	struct tcp_channel *c = m->c;
	enum side client = (enum side) !m->side;
	struct message_exchange *x = exchange_in(c, EXCHANGE_SENT), *last = c->last,
				*open = exchange_in(c, EXCHANGE_SERVED), *begun = NULL;
	bool http_piece = c->http && m->text[0] != '\0' && !http_begins_request(m->text);

	worker_resolve(r, m->t, NULL);
	c->received[client] += m->bytes;
	c->unsized[client] |= m->bytes == 0;
	if (!channel_recorded(r, c, client)) {
		if (last != NULL && last->state == EXCHANGE_SERVED &&
		    !http_begins_request(m->text)) {
			resume(r, m, last);
			return;
		}
		if (http_piece && last == NULL)
			r->counts.unsolicited++; /* it began before the recording */
		if ((x = exchange_add(r, c)) == NULL)
			return;
		x->pipelined = x != c->first && last->state == EXCHANGE_SERVED;
		x->name = name_of(r, m);
		serve(r, m, x);
		return;
	}
	for (; x != NULL && x->state == EXCHANGE_SENT; x = x->next) {
		bool sized = !c->unsized[client];

		if (sized ? x->asked_from >= c->received[client]
			  : begun != NULL || (open != NULL && http_piece))
			break;
		if (!sized && open != NULL && !http_begins_request(m->text)) {
			channel_doubt(r, c); /* it may be more of the one before */
		}
		serve(r, m, x);
		if (begun == NULL)
			begun = x;
	}
	if (begun != NULL) {
		if (begun != c->last && r->o.rule == RULE_CURRENT)
			resume(r, m, begun); /* several at once: it begins with the first one */
		return;
	}
	if ((x = exchange_last(c, EXCHANGE_SERVED)) != NULL && x->state == EXCHANGE_SERVED) {
		resume(r, m, x);
		return;
	}
	r->counts.unsolicited++;
	if (r->o.rule == RULE_CURRENT)
		context_set(m->t, NULL);
}

/* ---- the server sends ---- */

/* The request that this response is for. NULL: none waits for one. */
static struct message_exchange *
responds_to(struct requests *r, struct tcp_message *m)
{
	struct request_unit *u = context_unit(r, m->t);
	struct message_exchange *first = exchange_in(m->c, EXCHANGE_SERVED), *x;
	uint32_t n = 0;

	for (x = first; x != NULL; x = x->next) {
		if (x->state != EXCHANGE_SERVED)
			continue;
		n++;
		for (struct exchange_call *c = x->calls; u != NULL && c != NULL; c = c->next)
			if (unit_of(r, c->served) == u)
				return x;
	}
	if (n > 1 && !m->c->http) /* in order, if the protocol is like that */
		channel_doubt(r, m->c);
	return first;
}

/* What workers did may belong to this unit, or to another one than it seemed. */
static void
check_workers(struct requests *r, struct task_thread *t, struct request_unit *u)
{
	struct task_process *p = handle_pool_get(&r->processes, t->process);
	struct request_unit *own = context_unit(r, t);

	if (handle_pool_get(&r->traces, t->worker) != NULL) {
		worker_resolve(r, t, u);
		r->counts.adopted++;
		if (p != NULL)
			p->adopts = true;
	} else if (t->handed && own != NULL && own != u) {
		own->trace->lossy = u->trace->lossy = true;
		r->counts.unattributed++;
	} else if (t->receives && p != NULL && p->nworkers > 0) {
		u->trace->lossy = true;
	}
}

static void
end_units(struct requests *r, struct tcp_message *m, struct message_exchange *x)
{
	for (struct exchange_call *c = x->calls; c != NULL; c = c->next) {
		struct request_unit *u = unit_of(r, c->served);

		if (u == NULL)
			continue;
		if (u->open && r->o.rule == RULE_CURRENT)
			check_workers(r, m->t, u);
		if (!u->open && u->trace->held && u->trace->root != u)
			u->trace->lossy = true; /* rather a response to a request that was lost */
		if (u->open && unit_of(r, m->t->fork_unit) != u)
			fork_ends(r, m->t, r->now_ns);
		unit_end(r, u, m->at);
		unit_close(r, u);
		context_remove(r, m->t, u);
		if (u->trace->root == u)
			trace_hold(r, u->trace);
	}
}

static void
server_sends(struct requests *r, struct tcp_message *m)
{
	struct tcp_channel *c = m->c;
	struct message_exchange *x = NULL, *next;
	uint64_t from = c->sent[m->side];

	c->sent[m->side] += m->bytes;
	c->unsized[m->side] |= m->bytes == 0;
	if (!c->http_responses || http_begins_response(m->text) ||
	    exchange_last(c, EXCHANGE_ANSWERED) == NULL)
		x = responds_to(r, m);
	if (x == NULL && (x = exchange_last(c, EXCHANGE_ANSWERED)) != NULL) {
		if (x->pipelined && !c->http_responses)
			channel_doubt(r, c); /* it may be a piece of an earlier one */
		end_units(r, m, x);
		return;
	}
	if (x == NULL) {
		r->counts.unsolicited++;
		worker_resolve(r, m->t, NULL);
		if (r->o.rule == RULE_CURRENT && context_unit(r, m->t) == NULL)
			context_set(m->t, NULL);
		return;
	}
	if (exchange_in(c, EXCHANGE_ANSWERED) == NULL) /* what was sent before has been received */
		c->received[m->side] = from;
	x->state = EXCHANGE_ANSWERED;
	if (c->doubtful)
		exchange_lossy(r, x);
	x->said_from = from;
	end_units(r, m, x);
	if (r->o.rule == RULE_ALL)
		return;
	m->t->known = KNOWN_NOTHING;
	m->t->nactive = 0;
	m->t->hint = HINT_NONE;
	m->t->handed = false;
	/* The next one that was received with it. */
	if ((next = exchange_in(c, EXCHANGE_SERVED)) != NULL && next->calls != NULL) {
		struct request_unit *u = unit_of(r, next->calls->served);

		if (u != NULL && same_handle(u->thread, m->t->pooled.self))
			context_set(m->t, u);
	}
}

/* ---- the client receives ---- */

static void
join(struct requests *r, const struct tcp_message *m, struct message_exchange *x)
{
	for (struct exchange_call *c = x->calls; c != NULL; c = c->next) {
		struct request_unit *u = unit_of(r, c->caller);

		if (u == NULL || c->fork == NULL)
			continue;
		c->fork->expected |= channel_recorded(r, m->c, m->c->server);
		if (c->join == NULL) {
			c->join = unit_add(r, u, RECORD_JOIN, m->at, x->name, c->link_id);
			if (c->join != NULL)
				c->join->pair = c->fork;
		} else {
			c->join->time_ns = r->now_ns;
		}
	}
	if (x->state != EXCHANGE_JOINED && x->worker.generation != 0 &&
	    same_handle(x->worker, m->t->worker) && m->t->outstanding > 0)
		m->t->outstanding--;
	x->state = EXCHANGE_JOINED;
	if (m->c->doubtful)
		exchange_lossy(r, x);
}

static struct request_unit *
caller_of(const struct requests *r, const struct message_exchange *x)
{
	return x->calls != NULL ? unit_of(r, x->calls->caller) : NULL;
}

/*
 * Either the server greets, as some databases do on a new connection, and the thread goes on with what it did; or the request was sent
 * before the recording began, at the begin of which both are possible.
 */
static void
client_receives_unasked(struct requests *r, struct tcp_message *m)
{
	struct request_unit *u = context_unit(r, m->t);
	bool early = r->now_ns - r->begun_ns < r->o.hold_ns;

	r->counts.unsolicited++;
	if (r->o.rule == RULE_ALL || (m->first && !early))
		return;
	if (m->first && u != NULL)
		u->trace->lossy = true;
	context_set(m->t, NULL);
}

static void
client_receives(struct requests *r, struct tcp_message *m)
{
	struct tcp_channel *c = m->c;
	enum side server = (enum side) !m->side;
	struct message_exchange *x = exchange_in(c, EXCHANGE_ANSWERED), *joined = NULL;
	struct request_unit *u = NULL;

	c->received[server] += m->bytes;
	c->unsized[server] |= m->bytes == 0;
	if (x == NULL && !channel_recorded(r, c, server))
		x = exchange_in(c, EXCHANGE_SENT);
	if (exchange_last(c, EXCHANGE_JOINED) != NULL &&
	    (c->http_received ? !http_begins_response(m->text)
			      : x != NULL && x->state == EXCHANGE_ANSWERED && !c->unsized[server] &&
				    x->said_from >= c->received[server]))
		x = NULL; /* more of the last one */
	if (x != NULL && x->pipelined && c->unsized[server] && !c->http_received)
		channel_doubt(r, c);
	for (; x != NULL && x->state != EXCHANGE_JOINED; x = x->next) {
		bool several = joined != NULL;

		if (several && (x->state != EXCHANGE_ANSWERED || c->unsized[server] ||
				   x->said_from >= c->received[server]))
			break;
		join(r, m, x);
		u = !several || caller_of(r, x) == u ? caller_of(r, x) : NULL;
		joined = x;
	}
	if (joined == NULL && (joined = exchange_last(c, EXCHANGE_JOINED)) != NULL) {
		join(r, m, joined);
		u = caller_of(r, joined);
	}
	if (joined == NULL && (joined = c->first) != NULL) { /* the sending of it is lost */
		exchange_lossy(r, joined);
		join(r, m, joined);
		u = caller_of(r, joined);
	}
	if (joined == NULL)
		client_receives_unasked(r, m);
	else if (r->o.rule == RULE_CURRENT)
		context_set(m->t, u != NULL && u->open ? u : NULL);
}

/* ---- both ---- */

void
messages_send(struct requests *r, const struct kernel_event *ev)
{
	struct tcp_message m;

	if (!open_message(r, &m, ev))
		return;
	note_http(&m, true);
	if (m.c->server == SIDE_UNKNOWN && context_unit(r, m.t) != NULL)
		m.c->server = (enum side) !m.side;
	if (m.c->server == SIDE_UNKNOWN)
		r->counts.outside++;
	else if (m.c->server == m.side)
		server_sends(r, &m);
	else
		client_sends(r, &m);
}

void
messages_receive(struct requests *r, const struct kernel_event *ev)
{
	struct tcp_message m;

	if (!open_message(r, &m, ev))
		return;
	note_http(&m, false);
	if (m.c->server == SIDE_UNKNOWN && m.first)
		m.c->server = m.side;
	if (m.c->server == SIDE_UNKNOWN) {
		r->counts.outside++;
		if (r->o.rule == RULE_CURRENT)
			context_set(m.t, NULL);
	} else if (m.c->server == m.side) {
		server_receives(r, &m);
	} else {
		client_receives(r, &m);
	}
}

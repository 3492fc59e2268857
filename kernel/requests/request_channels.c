/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections, and the requests and responses on them. */
#include <stddef.h>
#include <string.h>

#include "kernel/requests/requests_inside.h"

enum { CLIENT_PORTS_FROM = 32768 }; /* net.ipv4.ip_local_port_range of Linux */

/* ---- exchanges ---- */

static void
free_exchange(struct requests *r, struct message_exchange *x)
{
	for (struct exchange_call *c = x->calls, *next; c != NULL; c = next) {
		next = c->next;
		handle_pool_give(&r->calls, c);
	}
	handle_pool_give(&r->exchanges, x);
}

void
exchange_lossy(struct requests *r, const struct message_exchange *x)
{
	for (const struct exchange_call *c = x->calls; c != NULL; c = c->next) {
		struct request_unit *caller = unit_of(r, c->caller),
				    *served = unit_of(r, c->served);

		if (caller != NULL)
			caller->trace->lossy = true;
		if (served != NULL)
			served->trace->lossy = true;
	}
}

void
channel_doubt(struct requests *r, struct tcp_channel *c)
{
	r->counts.ambiguous++;
	c->doubtful = true;
	for (const struct message_exchange *x = c->first; x != NULL; x = x->next)
		exchange_lossy(r, x);
}

static void
drop_first(struct requests *r, struct tcp_channel *c)
{
	struct message_exchange *x = c->first;

	if (x->state < EXCHANGE_ANSWERED)
		exchange_lossy(r, x);
	c->first = x->next;
	if (c->first == NULL)
		c->last = NULL;
	c->nexchanges--;
	free_exchange(r, x);
}

static void
begin_anew(struct requests *r, struct tcp_channel *c)
{
	while (c->first != NULL)
		drop_first(r, c);
	memset(c->sent, 0, sizeof c->sent);
	memset(c->received, 0, sizeof c->received);
	c->unsized[0] = c->unsized[1] = c->http_responses = c->http_received = c->doubtful = false;
	c->epoch = r->epoch;
	c->begin_ns = r->now_ns;
}

static bool
is_over(const struct requests *r, const struct tcp_channel *c, const struct message_exchange *x)
{
	return x->state == EXCHANGE_JOINED ||
	       (x->state == EXCHANGE_ANSWERED && !channel_recorded(r, c, (enum side) !c->server));
}

static void
forget_place(struct requests *r, struct tcp_channel *c, enum side side)
{
	if (c->places[side] != NO_PLACE && c->places[side] != c->keys[side])
		map_take(&r->channel_of, c->places[side]);
	c->places[side] = NO_PLACE;
}

static void
forget_channel(struct requests *r, struct tcp_channel *c)
{
	while (c->first != NULL)
		drop_first(r, c);
	for (int side = 0; side < 2; side++) {
		forget_place(r, c, (enum side)side);
		map_take(&r->channel_of, c->keys[side]);
	}
	recent_remove(&r->by_channel, &c->recent);
	handle_pool_give(&r->channels, c);
}

/* An item for the connection that was used last: others are forgotten, if there are too many. NULL: it alone has too many, or out of memory,
 * which is noted. */
static void *
take_item(struct requests *r, struct handle_pool *p)
{
	void *item;

	while (p->count >= p->max && r->by_channel.oldest != r->by_channel.newest) {
		forget_channel(r, (struct tcp_channel *)((char *)r->by_channel.oldest -
							 offsetof(struct tcp_channel, recent)));
		r->counts.evicted++;
	}
	if ((item = handle_pool_take(p)) == NULL && p->count < p->max)
		note_failure_of(r, ERR_MEMORY, "no memory for messages");
	r->counts.evicted += item == NULL;
	return item;
}

struct message_exchange *
exchange_add(struct requests *r, struct tcp_channel *c)
{
	struct message_exchange *x;

	/* The last one that is over stays: further pieces of its response may come. */
	while (c->nexchanges >= EXCHANGES_MAX ||
	       (c->nexchanges > 1 && is_over(r, c, c->first) && is_over(r, c, c->first->next)))
		drop_first(r, c);
	if ((x = take_item(r, &r->exchanges)) == NULL)
		return NULL;
	*(c->last != NULL ? &c->last->next : &c->first) = x;
	c->last = x;
	c->nexchanges++;
	return x;
}

struct exchange_call *
exchange_call_add(struct requests *r, struct message_exchange *x)
{
	struct exchange_call *c = take_item(r, &r->calls), **at = &x->calls;

	if (c == NULL)
		return NULL;
	while (*at != NULL)
		at = &(*at)->next;
	*at = c;
	return c;
}

struct message_exchange *
exchange_in(const struct tcp_channel *c, enum exchange_state s)
{
	for (struct message_exchange *x = c->first; x != NULL; x = x->next)
		if (x->state == s)
			return x;
	return NULL;
}

struct message_exchange *
exchange_last(const struct tcp_channel *c, enum exchange_state s)
{
	struct message_exchange *found = NULL;

	for (struct message_exchange *x = c->first; x != NULL; x = x->next)
		if (x->state >= s)
			found = x;
	return found;
}

/* ---- connections ---- */

struct kernel_end
channel_end(const struct requests *r, const struct tcp_channel *c, enum side side)
{
	return kernel_connection(r->names, (uint32_t)c->keys[side]).here;
}

static enum side
server_by_ports(const struct kernel_connection *of)
{
	bool here = of->here.port >= CLIENT_PORTS_FROM, there = of->there.port >= CLIENT_PORTS_FROM;

	return here == there ? SIDE_UNKNOWN : here ? SIDE_B : SIDE_A;
}

static struct tcp_channel *
new_channel(struct requests *r, uint16_t host, uint32_t number, uint64_t key)
{
	struct kernel_connection of = kernel_connection(r->names, number);
	uint64_t reverse = kernel_connection_key(r->names, host, number, true);
	struct tcp_channel *c;

	if (r->channels.count >= r->channels.max) {
		forget_channel(r, (struct tcp_channel *)((char *)r->by_channel.oldest -
							 offsetof(struct tcp_channel, recent)));
		r->counts.evicted++;
	}
	if (reverse == UINT64_MAX || (c = handle_pool_take(&r->channels)) == NULL)
		goto no_memory;
	c->keys[SIDE_A] = key;
	c->keys[SIDE_B] = reverse;
	c->places[SIDE_A] = c->places[SIDE_B] = NO_PLACE;
	c->server = server_by_ports(&of);
	recent_add(&r->by_channel, &c->recent);
	begin_anew(r, c);
	if (map_put(&r->channel_of, key, c) && map_put(&r->channel_of, reverse, c))
		return c;
	forget_channel(r, c);
no_memory:
	note_failure_of(r, ERR_MEMORY, "no memory for connections");
	return NULL;
}

/* A socket that is another one than before on that side, or the first one. False: out of memory, which is noted. */
static bool
take_place(struct requests *r, struct tcp_channel *c, enum side side, uint64_t place)
{
	bool both = r->now_ns - c->last_ns <= r->o.hold_ns; /* in use at the same time */

	if (c->places[side] != NO_PLACE) {
		forget_place(r, c, side);
		if (both) {
			channel_doubt(r, c);
		} else {
			r->counts.reused++;
			forget_place(r, c, (enum side) !side);
		}
		begin_anew(r, c);
		memset(c->processes, 0, sizeof c->processes);
		c->doubtful = both;
	}
	if (!map_put(&r->channel_of, place, c)) {
		note_failure_of(r, ERR_MEMORY, "no memory for connections");
		return false;
	}
	c->places[side] = place;
	return true;
}

/* The channel of a socket that none has noted. */
static struct tcp_channel *
find_channel(struct requests *r, uint16_t host, uint32_t number, uint64_t place, enum side *side)
{
	uint64_t key = kernel_connection_key(r->names, host, number, false);
	struct tcp_channel *c;

	if (key == UINT64_MAX) {
		note_failure_of(r, ERR_MEMORY, "no memory for connections");
		return NULL;
	}
	if ((c = map_get(&r->channel_of, key)) == NULL &&
	    (c = new_channel(r, host, number, key)) == NULL)
		return NULL;
	*side = c->keys[SIDE_A] == key ? SIDE_A : SIDE_B;
	return take_place(r, c, *side, place) ? c : NULL;
}

struct tcp_channel *
channel_of(struct requests *r, uint16_t host, uint32_t number, enum side *side)
{
	uint64_t place = kernel_connection_place(host, number);
	struct tcp_channel *c = map_get(&r->channel_of, place);

	if (c != NULL && (c->places[SIDE_A] == place || c->places[SIDE_B] == place))
		*side = c->places[SIDE_A] == place ? SIDE_A : SIDE_B;
	else if ((c = find_channel(r, host, number, place, side)) == NULL)
		return NULL;
	recent_touch(&r->by_channel, &c->recent);
	if (c->epoch != r->epoch)
		begin_anew(r, c);
	if (c->doubtful && r->now_ns - c->last_ns > r->o.hold_ns)
		c->doubtful = false;
	c->last_ns = r->now_ns;
	return c;
}

void
channel_used(struct requests *r, struct tcp_channel *c, enum side side, struct task_thread *t)
{
	struct task_process *now = handle_pool_get(&r->processes, t->process),
			    *before = handle_pool_get(&r->processes, c->processes[side]);

	if (before != NULL && now != NULL && before != now &&
	    !same_handle(before->parent, now->pooled.self) &&
	    !same_handle(now->parent, before->pooled.self) &&
	    !(now->parent.generation != 0 && same_handle(now->parent, before->parent))) {
		begin_anew(r, c);
		c->processes[!side] = (struct handle){ 0 };
		r->counts.reused++;
	}
	c->processes[side] = t->process;
}

bool
channel_recorded(const struct requests *r, const struct tcp_channel *c, enum side side)
{
	return handle_pool_get(&r->processes, c->processes[side]) != NULL;
}

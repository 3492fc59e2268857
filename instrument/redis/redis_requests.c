/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "instrument/redis/redis_requests.h"

#include "instrument/redis/redis_keys.h"
#include "instrument/redis/redis_loop.h"
#include "instrument/redis/redis_tp.h"

/* Requests whose replies may be pending at the end of an iteration of the loop. Further ones end with
 * their command. */
enum { WAITING_MAX = 1024 };

struct request {
	struct hone_unit unit;
	const struct name *name;
	struct first_key key;
	uint32_t nth; /* in this iteration of the loop */
	uint32_t calls, expired, evicted;
	bool began_here; /* the request began here; else it is a unit of a request */
};

static struct request now; /* the running one, whose unit is on the thread; name NULL: none */
static struct request waiting[WAITING_MAX];
static unsigned nwaiting;

/* Begins a request; false, and no unit on the thread, if it is not sampled, which is known only then. */
static bool
request_from_outside(const struct hone_carrier *c, const char *type)
{
	struct hone_unit unit;

	hone_request_begin(type, c);
	hone_detach(&unit);
	if (!unit.carrier.sampled)
		return false;
	hone_attach(&unit);
	return true;
}

/* Sum of the lengths of all arguments, the name of the command included. */
static uint64_t
bytes_of(struct redis_filtered *f)
{
	uint64_t sum = 0;
	size_t length;

	for (int i = 0, n = api.CommandFilterArgsCount(f); i < n; i++) {
		api.StringPtrLen(api.CommandFilterArgGet(f, i), &length);
		sum += length;
	}
	return sum;
}

bool
request_begins(struct redis_filtered *f, const struct hone_carrier *c, const struct name *name)
{
	struct longest behind;

	if (hone_from_known(c) && !c->sampled)
		return false;
	now = (struct request){
		.name = name, .nth = loop.served, .began_here = !hone_from_known(c)
	};
	if (!now.began_here) {
		hone_unit_begin(c, name->text);
	} else if (!request_from_outside(c, name->type)) {
		now.name = NULL;
		return false;
	}
	if (loop.watched && lttng_ust_tracepoint_enabled(redis, queue)) {
		behind = loop_before();
		lttng_ust_do_tracepoint(redis, queue, longest_name(&behind), behind.ns / 1000,
		    now.nth - 1, loop_awake_us());
	}
	if (lttng_ust_tracepoint_enabled(redis, key))
		key_find(&now.key, f);
	if (lttng_ust_tracepoint_enabled(redis, command_begin))
		lttng_ust_do_tracepoint(
		    redis, command_begin, name->text, api.CommandFilterArgsCount(f), bytes_of(f));
	return true;
}

bool
request_runs(void)
{
	return now.name != NULL;
}

void
request_calls(struct redis_filtered *f, const char *name, size_t length)
{
	if (now.name == NULL)
		return;
	now.calls++;
	if (lttng_ust_tracepoint_enabled(redis, call))
		lttng_ust_do_tracepoint(
		    redis, call, names_find(name, length)->text, api.CommandFilterArgsCount(f));
}

void
request_loses_key(bool evicted)
{
	*(evicted ? &now.evicted : &now.expired) += 1;
}

static void
leave(struct request *r)
{
	if (r->began_here)
		hone_request_end(0);
	else
		hone_unit_end();
}

void
request_command_ends(void)
{
	struct request *w = &waiting[nwaiting];

	if (now.name == NULL)
		return;
	lttng_ust_tracepoint(
	    redis, command_end, now.name->text, now.calls, now.expired, now.evicted, loop.cron);
	if (nwaiting < WAITING_MAX) {
		lttng_ust_tracepoint(redis, reply_begin, now.name->text);
		*w = now;
		hone_detach(&w->unit);
		nwaiting++;
	} else {
		key_forget(&now.key);
		leave(&now);
	}
	now.name = NULL;
}

void
requests_leave(struct redis *redis)
{
	struct longest behind;

	for (struct request *r = waiting; r < waiting + nwaiting; r++) {
		hone_attach(&r->unit);
		key_emit(&r->key, redis);
		if (lttng_ust_tracepoint_enabled(redis, reply_end)) {
			behind = loop_after(r->nth);
			lttng_ust_do_tracepoint(redis, reply_end, longest_name(&behind),
			    behind.ns / 1000, loop.served - r->nth);
		}
		leave(r);
	}
	nwaiting = 0;
}

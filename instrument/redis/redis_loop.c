/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "instrument/redis/redis_loop.h"

#include <time.h>

#include "instrument/redis/redis_tp.h"

/* Between two iterations the loop writes replies, which takes far less than this; after a longer
 * time the loop has slept. */
#define SLEPT_NS 1000000

struct loop loop;

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool
any_enabled(void)
{
	return lttng_ust_tracepoint_enabled(redis, queue) ||
	       lttng_ust_tracepoint_enabled(redis, reply_end) ||
	       lttng_ust_tracepoint_enabled(redis, loop_begin) ||
	       lttng_ust_tracepoint_enabled(redis, loop_end);
}

/* The running command ended at at_ns: keeps it if it is the longest of this iteration. */
static void
end_at(uint64_t at_ns)
{
	if (loop.running != NULL && at_ns - loop.since_ns >= loop.now.ns)
		loop.now = (struct longest){ loop.running, at_ns - loop.since_ns, loop.served };
	loop.running = NULL;
}

void
loop_woke(void)
{
	uint64_t slept_ns = loop.woke_ns;
	bool knew = loop.watched;

	loop.watched = any_enabled();
	loop.cron = loop.closed = false;
	loop.served = 0;
	loop.before = knew ? loop.now : (struct longest){ 0 };
	loop.now = (struct longest){ 0 };
	if (!loop.watched)
		return;
	loop.woke_ns = now_ns();
	loop.away_ns = knew ? loop.woke_ns - slept_ns : UINT64_MAX;
	lttng_ust_tracepoint(redis, loop_begin, knew ? loop.away_ns / 1000 : 0);
}

/* From here until the loop wakes, woke_ns is the time at which it went to sleep. */
void
loop_sleeps(void)
{
	loop.closed = true;
	if (!loop.watched)
		return;
	loop_ends();
	lttng_ust_tracepoint(
	    redis, loop_end, loop.served, longest_name(&loop.now), loop.now.ns / 1000);
	loop.woke_ns = now_ns();
}

void
loop_begins(const char *name, size_t length)
{
	uint64_t at_ns;

	if (loop.watched) {
		at_ns = now_ns();
		end_at(at_ns);
		loop.running = names_find(name, length);
		loop.since_ns = at_ns;
	}
	loop.served++;
}

void
loop_ends(void)
{
	if (loop.running != NULL)
		end_at(now_ns());
}

struct longest
loop_before(void)
{
	return loop.away_ns < SLEPT_NS && loop.before.ns > loop.now.ns ? loop.before : loop.now;
}

struct longest
loop_after(uint32_t nth)
{
	return loop.now.nth > nth ? loop.now : (struct longest){ 0 };
}

/* Not "": babeltrace2 before 2.0.5 shows the previous string of the buffer for an empty one. */
const char *
longest_name(const struct longest *l)
{
	return l->name != NULL ? l->name->text : "none";
}

uint64_t
loop_awake_us(void)
{
	return loop.watched ? (loop.since_ns - loop.woke_ns) / 1000 : 0;
}

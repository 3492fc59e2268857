/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/level_rates.h"

#include "wire/loglevel.h"

struct level_counter {
	uint64_t records;  /* of this window */
	double per_second; /* of the last one */
};

static uint64_t
key_of(uint32_t node, uint32_t service, uint8_t level)
{
	return (uint64_t)node << 32 | (uint64_t)service << 8 | level;
}

void
level_rates_release(struct level_rates *r)
{
	map_release(&r->counters);
	arena_release(&r->arena);
	*r = (struct level_rates){ 0 };
}

void
level_rates_begin(struct level_rates *r, struct mono now)
{
	level_rates_release(r);
	r->since = now;
}

int
level_rates_add(
    struct level_rates *r, uint32_t node, uint32_t service, uint8_t level, struct err *e)
{
	uint64_t key = key_of(node, service, level);
	struct level_counter *c = map_get(&r->counters, key);

	if (c == NULL && r->counters.count < LEVEL_COUNTERS_MAX) {
		c = arena_calloc(&r->arena, 1, sizeof *c);
		if (c == NULL || !map_put(&r->counters, key, c))
			return err_set(e, ERR_MEMORY, "records of log levels: out of memory");
	}
	if (c != NULL)
		c->records++;
	return 0;
}

void
level_rates_step(struct level_rates *r, struct mono now)
{
	double seconds = (double)mono_since_ns(now, r->since) / 1e9;
	struct level_counter *c;

	if (mono_since_ns(now, r->since) < LEVEL_WINDOW_NS)
		return;
	for (size_t at = 0; (c = map_next(&r->counters, &at, NULL)) != NULL;) {
		c->per_second = (double)c->records / seconds;
		c->records = 0;
	}
	r->measured = r->warm;
	r->warm = true;
	r->since = now;
}

bool
level_rates_of(
    const struct level_rates *r, uint32_t node, uint32_t service, uint8_t level, double *per_second)
{
	const struct level_counter *c;

	if (!r->measured)
		return false;
	c = map_get(&r->counters, key_of(node, service, level));
	*per_second = c != NULL ? c->per_second : 0;
	return true;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/link/redial.h"

#include <assert.h>
#include <string.h>

#define BLANKS " \t"

void
redial_init(struct redial *r, uint32_t nurls, int most_ms, uint64_t seed)
{
	assert(nurls > 0);
	*r = (struct redial){ .nurls = nurls, .wait_ms = REDIAL_FIRST_MS, .most_ms = most_ms };
	rng_seed(&r->rng, seed);
}

/* Between half of it and all of it, at least 1 ms. */
static int
some_of(struct redial *r, int ms)
{
	return ms - (int)rng_below(&r->rng, (uint64_t)ms / 2 + 1);
}

int
redial_ended(struct redial *r, bool held, int refused_ms)
{
	int wait_ms;

	/* 1. A good connection has ended: as at the start. */
	if (held) {
		r->at = 0;
		r->wait_ms = REDIAL_FIRST_MS;
		r->refused_ms = 0;
		return some_of(r, refused_ms > 0 ? refused_ms : REDIAL_FIRST_MS);
	}
	if (refused_ms > r->refused_ms)
		r->refused_ms = refused_ms;
	/* 2. The next controller of this round. */
	if (++r->at < r->nurls)
		return some_of(r, REDIAL_FIRST_MS);
	/* 3. The round has ended. */
	wait_ms = r->refused_ms > 0 ? r->refused_ms : r->wait_ms;
	r->at = 0;
	r->refused_ms = 0;
	r->wait_ms = r->wait_ms < r->most_ms / 2 ? 2 * r->wait_ms : r->most_ms;
	return some_of(r, wait_ms > 0 ? wait_ms : 1);
}

uint32_t
redial_words(const char *list)
{
	uint32_t n = 0;

	for (list += strspn(list, BLANKS); *list != '\0'; list += strspn(list, BLANKS)) {
		list += strcspn(list, BLANKS);
		n++;
	}
	return n;
}

bool
redial_url(const char *list, uint32_t i, char url[REDIAL_URL_MAX + 1])
{
	size_t len;

	list += strspn(list, BLANKS);
	for (; i > 0; i--) {
		list += strcspn(list, BLANKS);
		list += strspn(list, BLANKS);
	}
	len = strcspn(list, BLANKS);
	if (len == 0 || len > REDIAL_URL_MAX)
		return false;
	memcpy(url, list, len);
	url[len] = '\0';
	return true;
}

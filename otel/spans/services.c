/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/spans/services.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_table.h"

struct service_seen {
	char name[SERVICE_NAME_MAX + 1];
	char place[SERVICE_PLACE_MAX + 1];
	uint32_t name_len, place_len;
	struct mono seen;
};

struct services {
	struct service_seen *all; /* [SERVICES_MAX] */
	uint32_t n, last;         /* last: of the span before */
	struct hash_table index;
	uint64_t seed, changes, left;
	struct mono looked_at;
};

struct services *
services_new(void)
{
	struct services *s = calloc(1, sizeof *s);

	if (s == NULL || (s->all = calloc(SERVICES_MAX, sizeof *s->all)) == NULL) {
		free(s);
		return NULL;
	}
	s->seed = hash_seed();
	return s;
}

void
services_free(struct services *s)
{
	if (s == NULL)
		return;
	hash_table_release(&s->index);
	free(s->all);
	free(s);
}

static bool
is_it(const struct service_seen *e, const struct span *span)
{
	return e->name_len == span->service.len && e->place_len == span->node.len &&
	       memcmp(e->name, span->service.s, e->name_len) == 0 &&
	       (e->place_len == 0 || memcmp(e->place, span->node.s, e->place_len) == 0);
}

static uint64_t
hash_of(const struct services *s, const char *name, size_t len, const char *place, size_t place_len)
{
	return hash_bytes(hash_bytes(s->seed, name, len), place, place_len);
}

/* What a frame of programs holds, as a name. */
static bool
fits(const struct span *span)
{
	return span->service.len > 0 && span->service.len <= SERVICE_NAME_MAX &&
	       span->node.len <= SERVICE_PLACE_MAX &&
	       memchr(span->service.s, '\0', span->service.len) == NULL;
}

static void
add(struct services *s, const struct span *span, uint64_t hash, struct mono now)
{
	struct service_seen *e = &s->all[s->n];

	if (s->n == SERVICES_MAX || !hash_table_put(&s->index, hash, s->n)) {
		s->left++;
		return;
	}
	*e = (struct service_seen){
		.name_len = span->service.len, .place_len = span->node.len, .seen = now
	};
	memcpy(e->name, span->service.s, e->name_len);
	if (e->place_len > 0)
		memcpy(e->place, span->node.s, e->place_len);
	s->last = s->n++;
	s->changes++;
}

/* Entries are told apart by their hash; two that share it count as one. */
void
services_note(struct services *s, const struct span *span, struct mono now)
{
	uint32_t at = s->last;
	uint64_t hash;

	if (!fits(span)) {
		s->left++;
		return;
	}
	if (at >= s->n || !is_it(&s->all[at], span)) {
		hash = hash_of(s, span->service.s, span->service.len,
		    span->node.len > 0 ? span->node.s : "", span->node.len);
		if ((at = hash_table_find(&s->index, hash)) == HASH_TABLE_NONE) {
			add(s, span, hash, now);
			return;
		}
	}
	s->last = at;
	s->all[at].seen = now;
}

void
services_turn(struct services *s, struct mono now)
{
	uint32_t kept = 0;

	if (mono_since_ns(now, s->looked_at) < INT64_C(1000000000))
		return;
	s->looked_at = now;
	for (uint32_t i = 0; i < s->n; i++)
		if (mono_since_ns(now, s->all[i].seen) < SERVICE_QUIET_NS)
			s->all[kept++] = s->all[i];
	if (kept == s->n)
		return;
	s->n = kept;
	s->last = 0;
	s->changes++;
	hash_table_clear(&s->index); /* its memory stays: all that are kept fit in */
	for (uint32_t i = 0; i < kept; i++) {
		const struct service_seen *e = &s->all[i];

		hash_table_put(
		    &s->index, hash_of(s, e->name, e->name_len, e->place, e->place_len), i);
	}
}

uint64_t
services_changes(const struct services *s)
{
	return s->changes;
}

uint32_t
services_count(const struct services *s)
{
	return s->n;
}

uint64_t
services_left(const struct services *s)
{
	return s->left;
}

bool
services_programs(const struct services *s, struct programs *ret, struct arena *a)
{
	uint32_t room = PROGRAMS_MAX - ret->nprograms, n = s->n < room ? s->n : room;
	struct program *all = arena_calloc(a, (size_t)ret->nprograms + n + 1, sizeof *all);

	if (all == NULL)
		return false;
	if (ret->nprograms > 0)
		memcpy(all, ret->programs, ret->nprograms * sizeof *all);
	for (uint32_t i = 0; i < n; i++)
		all[ret->nprograms + i] = (struct program){ .service = s->all[i].name };
	ret->programs = all;
	ret->nprograms += n;
	return true;
}

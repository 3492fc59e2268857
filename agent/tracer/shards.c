/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/tracer/shards.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/texts.h"

enum { KNOWN_MAX = 256 };

struct rule {      /* by the name's number */
	int shard; /* where it is on, or was last; SHARD_NONE */
	bool on, plain;
};

struct shard {
	bool open;
	uint32_t on, known; /* rules; known: also those that are off now */
};

struct shards {
	uint32_t most, rules_each;
	struct texts *names;
	struct rule *rules;
	uint32_t nrules;
	uint32_t *wild, nwild, wild_cap; /* wildcards that are on */
	struct shard list[SHARDS_MAX + 1];
};

struct shards *
shards_new(uint32_t most, uint32_t rules_each)
{
	struct shards *s = calloc(1, sizeof *s);

	if (s == NULL || (s->names = texts_new()) == NULL) {
		free(s);
		return NULL;
	}
	s->most = most < SHARDS_MAX ? most : SHARDS_MAX;
	s->rules_each = rules_each > 0 ? rules_each : 1;
	s->list[SHARD_BASE].open = true;
	return s;
}

void
shards_free(struct shards *s)
{
	if (s == NULL)
		return;
	texts_free(s->names);
	free(s->rules);
	free(s->wild);
	free(s);
}

void
shards_forget(struct shards *s)
{
	for (uint32_t i = 0; i < s->nrules; i++)
		s->rules[i] = (struct rule){ .shard = SHARD_NONE };
	s->nwild = 0;
	memset(s->list, 0, sizeof s->list);
	s->list[SHARD_BASE].open = true;
}

static const struct rule *
find(const struct shards *s, const char *name)
{
	uint32_t id = texts_find(s->names, name, strlen(name));

	return id < s->nrules ? &s->rules[id] : NULL;
}

static bool
is_wild(const char *name)
{
	return strchr(name, '*') != NULL;
}

static bool
belongs_to_base(const struct shards *s, const char *name)
{
	if (is_wild(name) || glob_matches(SHARDS_ALWAYS_ON, name))
		return true;
	for (uint32_t i = 0; i < s->nwild; i++)
		if (glob_matches(texts_get(s->names, s->wild[i]), name))
			return true;
	return false;
}

static bool
has_room(const struct shards *s, int i)
{
	return s->list[i].open && s->list[i].on < s->rules_each && s->list[i].known < KNOWN_MAX;
}

/* The one with the fewest rules on; empty ones stay for when all others are full. */
static int
least(const struct shards *s, bool room, bool empty)
{
	int best = SHARD_NONE;

	for (int i = 1; i <= (int)s->most; i++) {
		if (!s->list[i].open || (room && !has_room(s, i)) || (!empty && s->list[i].on == 0))
			continue;
		if (best == SHARD_NONE || s->list[i].on < s->list[best].on)
			best = i;
	}
	return best;
}

int
shards_place(struct shards *s, const char *name)
{
	const struct rule *r = find(s, name);
	int best;

	if (r != NULL && r->on)
		return r->shard;
	if (s->most == 0 || belongs_to_base(s, name))
		return SHARD_BASE;
	/* where its rule is already, it is only switched on again */
	if (r != NULL && r->shard > SHARD_BASE && s->list[r->shard].open &&
	    s->list[r->shard].on < s->rules_each)
		return r->shard;
	if ((best = least(s, true, false)) != SHARD_NONE ||
	    (best = least(s, true, true)) != SHARD_NONE)
		return best;
	return shards_vacant(s) != SHARD_NONE ? SHARD_NONE : least(s, false, true);
}

int
shards_where(const struct shards *s, const char *name)
{
	const struct rule *r = find(s, name);

	return r != NULL && r->on ? r->shard : SHARD_NONE;
}

bool
shards_plain(const struct shards *s, const char *name)
{
	const struct rule *r = find(s, name);

	return r != NULL && r->on && r->plain;
}

void
shards_set_plain(struct shards *s, const char *name)
{
	uint32_t id = texts_find(s->names, name, strlen(name));

	if (id < s->nrules)
		s->rules[id].plain = s->rules[id].on;
}

static bool
grow(struct shards *s, uint32_t id)
{
	uint32_t cap = id < 64 ? 64 : id * 2;
	struct rule *rules;

	if (id < s->nrules)
		return true;
	if ((rules = realloc(s->rules, cap * sizeof *rules)) == NULL)
		return false;
	for (uint32_t i = s->nrules; i < cap; i++)
		rules[i] = (struct rule){ .shard = SHARD_NONE };
	s->rules = rules;
	s->nrules = cap;
	return true;
}

static bool
wild_add(struct shards *s, uint32_t id)
{
	uint32_t cap = s->nwild * 2 + 8, *wild;

	if (s->nwild == s->wild_cap) {
		if ((wild = realloc(s->wild, cap * sizeof *wild)) == NULL)
			return false;
		s->wild = wild;
		s->wild_cap = cap;
	}
	s->wild[s->nwild++] = id;
	return true;
}

static void
wild_remove(struct shards *s, uint32_t id)
{
	for (uint32_t i = 0; i < s->nwild; i++)
		if (s->wild[i] == id)
			s->wild[i--] = s->wild[--s->nwild];
}

bool
shards_switched(struct shards *s, const char *name, int shard, bool on)
{
	uint32_t id = texts_intern(s->names, name, strlen(name));
	struct rule *r;

	if (id == UINT32_MAX || !grow(s, id))
		return false;
	r = &s->rules[id];
	if (r->on == on && r->shard == shard)
		return true;
	if (on && is_wild(name) && !wild_add(s, id))
		return false;
	if (!on)
		wild_remove(s, id);
	if (r->on)
		s->list[r->shard].on--;
	s->list[shard].known += on && r->shard != shard;
	s->list[shard].on += on;
	*r = (struct rule){ .shard = shard, .on = on };
	return true;
}

const char *
shards_covered(const struct shards *s, const char *wildcard)
{
	for (uint32_t i = 0; is_wild(wildcard) && i < s->nrules; i++)
		if (s->rules[i].on && s->rules[i].shard != SHARD_BASE &&
		    glob_matches(wildcard, texts_get(s->names, i)))
			return texts_get(s->names, i);
	return NULL;
}

int
shards_vacant(const struct shards *s)
{
	for (int i = 1; i <= (int)s->most; i++)
		if (!s->list[i].open)
			return i;
	return SHARD_NONE;
}

void
shards_opened(struct shards *s, int shard)
{
	s->list[shard] = (struct shard){ .open = true };
}

void
shards_closed(struct shards *s, int shard)
{
	s->list[shard].open = false;
	s->list[shard].on = s->list[shard].known = 0;
	for (uint32_t i = 0; i < s->nrules; i++)
		if (s->rules[i].shard == shard)
			s->rules[i] = (struct rule){ .shard = SHARD_NONE };
}

bool
shards_wants_spare(const struct shards *s)
{
	uint32_t room = 0;

	for (int i = 1; i <= (int)s->most; i++)
		if (has_room(s, i))
			room += s->rules_each - s->list[i].on;
	return room < (s->rules_each + 1) / 2 && shards_vacant(s) != SHARD_NONE;
}

int
shards_to_close(const struct shards *s)
{
	int last = SHARD_NONE, worn = SHARD_NONE;
	uint32_t open = 0;

	for (int i = 1; i <= (int)s->most; i++) {
		if (!s->list[i].open)
			continue;
		if (s->list[i].on > 0)
			return SHARD_NONE;
		open++;
		last = i;
		if (s->list[i].known >= KNOWN_MAX)
			worn = i;
	}
	return worn != SHARD_NONE ? worn : open > 1 ? last : SHARD_NONE;
}

uint32_t
shards_on(const struct shards *s, int shard)
{
	return s->list[shard].on;
}

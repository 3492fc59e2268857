/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/tracer/shards.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/glob.h"
#include "base/texts.h"

/* Rules that a session has seen. LTTng keeps a disabled rule as long as its session lives. */
enum { KNOWN_MAX = 256 };

struct shard_rule { /* by the number of its name */
	int shard;  /* where it is enabled, or was last; SHARD_NONE */
	bool on;
	enum tracer_filter filter;
};

struct shard {
	bool open;
	uint32_t on, known; /* rules; known: disabled ones, too */
};

struct shards {
	uint32_t most, rules_each;
	struct texts *names;
	struct shard_rule *rules;
	uint32_t nrules;
	uint32_t *wild, nwild, wild_cap; /* wildcards that are enabled */
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
		s->rules[i] = (struct shard_rule){ .shard = SHARD_NONE };
	s->nwild = 0;
	memset(s->list, 0, sizeof s->list);
	s->list[SHARD_BASE].open = true;
}

static const struct shard_rule *
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
is_usable(const struct shards *s, int i)
{
	return s->list[i].open && s->list[i].on < s->rules_each && s->list[i].known < KNOWN_MAX;
}

/* The open session with the fewest enabled rules, among those that are usable (if `usable`) and not
 * empty (unless `empty`). */
static int
least(const struct shards *s, bool usable, bool empty)
{
	int best = SHARD_NONE;

	for (int i = 1; i <= (int)s->most; i++) {
		if (!s->list[i].open || (usable && !is_usable(s, i)) ||
		    (!empty && s->list[i].on == 0))
			continue;
		if (best == SHARD_NONE || s->list[i].on < s->list[best].on)
			best = i;
	}
	return best;
}

int
shards_place(struct shards *s, const char *name)
{
	const struct shard_rule *r = find(s, name);
	int best;

	if (r != NULL && r->on)
		return r->shard;
	if (s->most == 0 || belongs_to_base(s, name))
		return SHARD_BASE;
	/* Where the session has its rule already, that is only enabled again. */
	if (r != NULL && r->shard > SHARD_BASE && s->list[r->shard].open &&
	    s->list[r->shard].on < s->rules_each)
		return r->shard;
	/* An empty session is taken last, so that it can be ended. */
	if ((best = least(s, true, false)) != SHARD_NONE ||
	    (best = least(s, true, true)) != SHARD_NONE)
		return best;
	return shards_vacant(s) != SHARD_NONE ? SHARD_NONE : least(s, false, true);
}

int
shards_where(const struct shards *s, const char *name)
{
	const struct shard_rule *r = find(s, name);

	return r != NULL && r->on ? r->shard : SHARD_NONE;
}

enum tracer_filter
shards_filter(const struct shards *s, const char *name)
{
	const struct shard_rule *r = find(s, name);

	return r != NULL && r->on ? r->filter : FILTER_PROBED;
}

void
shards_set_filter(struct shards *s, const char *name, enum tracer_filter filter)
{
	uint32_t id = texts_find(s->names, name, strlen(name));

	if (id < s->nrules && s->rules[id].on && filter > s->rules[id].filter)
		s->rules[id].filter = filter;
}

static bool
rules_reserve(struct shards *s, uint32_t id)
{
	uint32_t cap = s->nrules;

	if (!array_reserve(s->rules, cap, (size_t)id + 1))
		return false;
	while (s->nrules < cap)
		s->rules[s->nrules++] = (struct shard_rule){ .shard = SHARD_NONE };
	return true;
}

static bool
wild_add(struct shards *s, uint32_t id)
{
	if (!array_reserve(s->wild, s->wild_cap, s->nwild + 1))
		return false;
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
	struct shard_rule *r;

	assert(shard >= SHARD_BASE && shard <= (int)s->most && s->list[shard].open);
	if (id == UINT32_MAX || !rules_reserve(s, id))
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
	*r = (struct shard_rule){ .shard = shard, .on = on };
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
	assert(shard > SHARD_BASE && shard <= (int)s->most && !s->list[shard].open);
	s->list[shard] = (struct shard){ .open = true };
}

void
shards_closed(struct shards *s, int shard)
{
	assert(shard > SHARD_BASE && shard <= (int)s->most);
	s->list[shard].open = false;
	s->list[shard].on = s->list[shard].known = 0;
	for (uint32_t i = 0; i < s->nrules; i++)
		if (s->rules[i].shard == shard)
			s->rules[i] = (struct shard_rule){ .shard = SHARD_NONE };
}

bool
shards_wants_spare(const struct shards *s)
{
	uint32_t room = 0;

	for (int i = 1; i <= (int)s->most; i++)
		if (is_usable(s, i))
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
	assert(shard >= SHARD_BASE && shard <= (int)s->most);
	return s->list[shard].on;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/level_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/texts.h"
#include "wire/below.h"
#include "wire/toggle.h"

struct tracepoint_state { /* of a name on the node */
	uint32_t provider;
	uint8_t level; /* the most severe that wants it on; LOGLEVEL_NONE: it is off */
};

struct provider_state {
	uint32_t all, on; /* names */
	uint8_t level;    /* the most severe that is on */
};

struct level_name {
	const char *name;
	uint8_t level;
	uint32_t tracepoints; /* that it stands for */
};

struct level_work {
	struct texts *names, *providers;
	struct tracepoint_state *points;
	struct provider_state *of;
	uint32_t points_cap, of_cap;
};

bool
level_is_eligible(const struct preload_labels *preload, const char *name, uint8_t level)
{
	return level < LOGLEVELS && strncmp(name, "hone:", 5) != 0 && !below_is_probe(name) &&
	       (preload == NULL || !preload_is(preload, name));
}

/* The number of the name, which is counted for its provider when it is new. UINT32_MAX: out of memory. */
static uint32_t
point_of(struct level_work *w, const char *name)
{
	uint32_t id = texts_find(w->names, name, strlen(name)), known, provider;

	if (id != UINT32_MAX)
		return id;
	if (!array_reserve(w->points, w->points_cap, texts_count(w->names) + 1) ||
	    !array_reserve(w->of, w->of_cap, texts_count(w->providers) + 1))
		return UINT32_MAX;
	known = texts_count(w->providers);
	if ((provider = texts_intern(w->providers, name, strcspn(name, ":"))) == UINT32_MAX)
		return UINT32_MAX;
	if (provider == known)
		w->of[provider] = (struct provider_state){ .level = LOGLEVEL_NONE };
	if ((id = texts_intern(w->names, name, strlen(name))) == UINT32_MAX)
		return UINT32_MAX;
	w->points[id] = (struct tracepoint_state){ provider, LOGLEVEL_NONE };
	w->of[provider].all++;
	return id;
}

static bool
take_binary(struct level_work *w, const struct binary *x, uint8_t upto,
    const struct preload_labels *preload)
{
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t id = point_of(w, x->names[i]);
		struct tracepoint_state *p;
		struct provider_state *provider;

		if (id == UINT32_MAX)
			return false;
		p = &w->points[id];
		provider = &w->of[p->provider];
		if (!level_covers(upto, x->levels[i]) ||
		    !level_is_eligible(preload, x->names[i], x->levels[i]))
			continue;
		provider->on += p->level == LOGLEVEL_NONE;
		if (x->levels[i] < p->level)
			p->level = x->levels[i];
		if (p->level < provider->level)
			provider->level = p->level;
	}
	return true;
}

static bool
is_whole(const struct provider_state *p)
{
	return p->on > 1 && p->on == p->all;
}

static int
by_severity(const void *a, const void *b)
{
	const struct level_name *x = a, *y = b;

	return x->level != y->level ? (int)x->level - (int)y->level : strcmp(x->name, y->name);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "provider:*", or NULL: it is too long for a tracepoint, or out of memory. */
static const char *
wildcard(const char *provider, struct arena *a)
{
	char name[TOGGLE_NAME_MAX + 1];
	int len = snprintf(name, sizeof name, "%s:*", provider);

	return len < (int)sizeof name ? arena_text(a, name, (size_t)len) : NULL;
}

/* All that are on, whole providers as one. *n of them; NULL: out of memory. */
static struct level_name *
list_chosen(const struct level_work *w, uint32_t *n, struct arena *a)
{
	uint32_t names = texts_count(w->names), providers = texts_count(w->providers);
	struct level_name *list = arena_calloc(a, (size_t)names + providers + 1, sizeof *list);

	*n = 0;
	for (uint32_t i = 0; list != NULL && i < providers; i++) {
		if (!is_whole(&w->of[i]))
			continue;
		list[*n] = (struct level_name){ wildcard(texts_get(w->providers, i), a),
			w->of[i].level, w->of[i].all };
		if (list[(*n)++].name == NULL)
			return NULL;
	}
	for (uint32_t i = 0; list != NULL && i < names; i++) {
		const char *name = texts_get(w->names, i);

		if (w->points[i].level == LOGLEVEL_NONE || is_whole(&w->of[w->points[i].provider]))
			continue;
		list[*n] = (struct level_name){ arena_text(a, name, strlen(name)),
			w->points[i].level, 1 };
		if (list[(*n)++].name == NULL)
			return NULL;
	}
	return list;
}

bool
level_choose(struct level_choice *ret, const struct level_rules *rules,
    const struct preload_labels *preload, struct binary *const *binaries, uint32_t n,
    struct arena *a)
{
	struct level_work w = { texts_new(), texts_new() };
	bool ok = w.names != NULL && w.providers != NULL;
	struct level_name *list;
	uint32_t count = 0;

	*ret = (struct level_choice){ 0 };
	for (uint32_t i = 0; i < n && ok; i++)
		ok = take_binary(
		    &w, binaries[i], level_rules_of(rules, binaries[i]->service), preload);
	ok = ok && (list = list_chosen(&w, &count, a)) != NULL &&
	     (ret->names = arena_calloc(a, (size_t)count + 1, sizeof *ret->names)) != NULL;
	if (ok) {
		qsort(list, count, sizeof *list, by_severity);
		ret->n = count < LEVEL_NAMES_MAX ? count : LEVEL_NAMES_MAX;
		ret->left_out = count - ret->n;
		for (uint32_t i = 0; i < ret->n; i++) {
			ret->names[i] = list[i].name;
			ret->tracepoints += list[i].tracepoints;
		}
		qsort(ret->names, ret->n, sizeof *ret->names, by_name);
	}
	free(w.points);
	free(w.of);
	texts_free(w.names);
	texts_free(w.providers);
	return ok;
}

bool
level_choice_names(const struct level_choice *c, const char *name)
{
	return c->n > 0 && bsearch(&name, c->names, c->n, sizeof *c->names, by_name) != NULL;
}

bool
level_choice_has(const struct level_choice *c, const char *name)
{
	char all[TOGGLE_NAME_MAX + 1];

	snprintf(all, sizeof all, "%.*s:*", (int)strcspn(name, ":"), name);
	return level_choice_names(c, name) || level_choice_names(c, all);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/healthy_keeper.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "controlplane/engine/parts.h"
#include "controlplane/honed/file_replace.h"

int
healthy_keeper_open(
    struct healthy_keeper *k, struct engine *g, const char *path, const char *beside, struct err *e)
{
	int rc;

	*k = (struct healthy_keeper){ .engine = g };
	if ((rc = file_beside(&k->path, path, beside, HEALTHY_FILE, e)) != 0)
		return rc;
	return access(k->path, F_OK) == 0 ? healthy_store_open(&k->store, k->path, e) : 0;
}

void
healthy_keeper_close(struct healthy_keeper *k)
{
	healthy_store_close(k->store);
	free(k->path);
	*k = (struct healthy_keeper){ 0 };
}

/* ---- profiles ---- */

typedef int (*profile_verb)(struct healthy_keeper *k, const struct watched_type *t,
    const struct healthy_key *of, struct latency_profile *p, struct err *e);

/* Does it to the profile of each watched type and group, until one fails. */
static int
each_profile(struct healthy_keeper *k, profile_verb verb, struct err *e)
{
	struct watcher *w = &engine_parts(k->engine)->watcher;
	int rc = 0;

	for (uint32_t i = 0; i < WATCHED_MAX && rc == 0; i++) {
		struct watched_type *t = w->types[i];

		if (t == NULL || !t->watched)
			continue;
		rc = verb(k, t, &(struct healthy_key){ t->service, t->name, NULL }, &t->all, e);
		for (uint32_t n = 0; n < t->groups.n && rc == 0; n++) {
			struct group_profile *x = t->groups.items[n];

			rc = verb(k, t, &(struct healthy_key){ t->service, t->name, &x->key },
			    &x->profile, e);
		}
	}
	return rc;
}

/* 1: something is to be stored or to be loaded. */
static int
has_work(struct healthy_keeper *k, const struct watched_type *t, const struct healthy_key *of,
    struct latency_profile *p, struct err *e)
{
	(void)k;
	(void)of;
	(void)e;
	return !p->loaded || t->accepted || p->stored != p->added;
}

/* One that came since the last call gets what is stored of it. */
static int
load_new(struct healthy_keeper *k, const struct watched_type *t, const struct healthy_key *of,
    struct latency_profile *p, struct err *e)
{
	if (p->loaded)
		return 0;
	p->loaded = true;
	return p->healthy.n == 0 && !t->accepted
	           ? healthy_store_load(k->store, of,
			 engine_parts(k->engine)->watcher.settings.window_ns, &p->healthy, e)
	           : 0;
}

static int
forget_accepted(struct healthy_keeper *k, const struct watched_type *t,
    const struct healthy_key *of, struct latency_profile *p, struct err *e)
{
	(void)p;
	return t->accepted && of->group == NULL
	           ? healthy_store_forget(k->store, t->service, t->name, e)
	           : 0;
}

/* The newest windows of the ring that are not stored yet. */
static int
store(struct healthy_keeper *k, const struct watched_type *t, const struct healthy_key *of,
    struct latency_profile *p, struct err *e)
{
	const struct healthy_range *h = &p->healthy;
	uint64_t n = p->added - p->stored;
	int rc = 0;

	(void)t;
	if (n > h->n)
		n = h->n;
	for (uint64_t i = n; i > 0 && rc == 0; i--) {
		uint32_t at = (h->next + RANGE_WINDOWS_MAX - (uint32_t)i) % RANGE_WINDOWS_MAX;

		rc = healthy_store_add(k->store, of,
		    engine_parts(k->engine)->watcher.settings.window_ns, &h->windows[at], e);
	}
	return rc;
}

static int
mark_stored(struct healthy_keeper *k, const struct watched_type *t, const struct healthy_key *of,
    struct latency_profile *p, struct err *e)
{
	(void)k;
	(void)t;
	(void)of;
	(void)e;
	p->stored = p->added;
	return 0;
}

static int
store_all(struct healthy_keeper *k, struct watcher *w, struct err *e)
{
	int rc = healthy_store_begin(k->store, e), ended;
	struct err also;

	if (rc < 0)
		return rc;
	if ((rc = each_profile(k, forget_accepted, e)) == 0)
		rc = each_profile(k, store, e);
	ended = healthy_store_end(k->store, rc == 0 ? e : &also);
	if (rc < 0 || ended < 0)
		return rc < 0 ? rc : ended;
	each_profile(k, mark_stored, e);
	for (uint32_t i = 0; i < WATCHED_MAX; i++)
		if (w->types[i] != NULL)
			w->types[i]->accepted = false;
	return 0;
}

void
healthy_keeper_step(struct healthy_keeper *k)
{
	struct watcher *w = &engine_parts(k->engine)->watcher;
	struct err e = { 0 };
	int rc = 0;

	if (each_profile(k, has_work, &e) == 0)
		return;
	if (k->store == NULL)
		rc = healthy_store_open(&k->store, k->path, &e);
	if (rc == 0 && (rc = each_profile(k, load_new, &e)) == 0 &&
	    each_profile(k, has_work, &e) != 0)
		rc = store_all(k, w, &e);
	if (rc < 0 && strcmp(e.text, k->trouble.text) != 0)
		log_line(
		    LOG_ERROR, "%s; what is usual for request types is kept in memory", e.text);
	if (rc < 0 || k->trouble.code != 0)
		k->trouble = rc < 0 ? e : (struct err){ 0 };
}

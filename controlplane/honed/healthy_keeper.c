/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "controlplane/honed/healthy_keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "controlplane/engine/parts.h"

int
healthy_keeper_open(
    struct healthy_keeper *k, struct engine *g, const char *path, const char *beside, struct err *e)
{
	const char *slash = strrchr(beside, '/');
	int folder = slash != NULL ? (int)(slash + 1 - beside) : 0, n;

	*k = (struct healthy_keeper){ .engine = g };
	n = path[0] != '\0' ? asprintf(&k->path, "%s", path)
	                    : asprintf(&k->path, "%.*shealthy.db", folder, beside);
	if (n < 0) {
		k->path = NULL;
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	return access(k->path, F_OK) == 0 ? healthy_store_open(&k->store, k->path, e) : 0;
}

void
healthy_keeper_close(struct healthy_keeper *k)
{
	healthy_store_close(k->store);
	free(k->path);
	*k = (struct healthy_keeper){ 0 };
}

static bool
is_unstored(const struct watched_type *t)
{
	return t->watched && (t->accepted || t->stored != t->added);
}

static bool
is_unloaded(const struct watched_type *t)
{
	return t->watched && !t->loaded;
}

static bool
any(const struct watcher *w, bool (*is)(const struct watched_type *t))
{
	for (uint32_t i = 0; i < WATCHED_MAX; i++)
		if (w->types[i] != NULL && is(w->types[i]))
			return true;
	return false;
}

/* The newest windows of the ring that are not stored yet. */
static int
store_type(struct healthy_keeper *k, struct watched_type *t, int64_t window_ns, struct err *e)
{
	const struct healthy_range *h = &t->healthy;
	uint64_t n = t->added - t->stored;
	int rc = t->accepted ? healthy_store_forget(k->store, t->service, t->name, e) : 0;

	if (n > h->n)
		n = h->n;
	for (uint64_t i = n; i > 0 && rc == 0; i--) {
		uint32_t at = (h->next + RANGE_WINDOWS_MAX - (uint32_t)i) % RANGE_WINDOWS_MAX;

		rc = healthy_store_add(
		    k->store, t->service, t->name, window_ns, &h->windows[at], e);
	}
	return rc;
}

static int
store_all(struct healthy_keeper *k, struct watcher *w, struct err *e)
{
	int rc = healthy_store_begin(k->store, e), ended;
	struct err also;

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < WATCHED_MAX && rc == 0; i++)
		if (w->types[i] != NULL && is_unstored(w->types[i]))
			rc = store_type(k, w->types[i], w->settings.window_ns, e);
	ended = healthy_store_end(k->store, rc == 0 ? e : &also);
	if (rc < 0 || ended < 0)
		return rc < 0 ? rc : ended;
	for (uint32_t i = 0; i < WATCHED_MAX; i++)
		if (w->types[i] != NULL) {
			w->types[i]->stored = w->types[i]->added;
			w->types[i]->accepted = false;
		}
	return 0;
}

/* Types that came since the last call get what is stored of them. */
static int
load_new(struct healthy_keeper *k, struct watcher *w, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < WATCHED_MAX && rc == 0; i++) {
		struct watched_type *t = w->types[i];

		if (t == NULL || !is_unloaded(t))
			continue;
		t->loaded = true;
		if (t->healthy.n == 0)
			rc = healthy_store_load(
			    k->store, t->service, t->name, w->settings.window_ns, &t->healthy, e);
	}
	return rc;
}

void
healthy_keeper_step(struct healthy_keeper *k)
{
	struct watcher *w = &engine_parts(k->engine)->watcher;
	struct err e = { 0 };
	int rc = 0;

	if (!any(w, is_unloaded) && !any(w, is_unstored))
		return;
	if (k->store == NULL)
		rc = healthy_store_open(&k->store, k->path, &e);
	if (rc == 0 && (rc = load_new(k, w, &e)) == 0 && any(w, is_unstored))
		rc = store_all(k, w, &e);
	if (rc < 0 && strcmp(e.text, k->trouble.text) != 0)
		log_line(
		    LOG_ERROR, "%s; what is usual for request types is kept in memory", e.text);
	if (rc < 0 || k->trouble.code != 0)
		k->trouble = rc < 0 ? e : (struct err){ 0 };
}

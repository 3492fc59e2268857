/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/watching.h"

#include <stdio.h>

#include "controlplane/search/diagnose.h"

_Static_assert((int)WATCHED_MAX == (int)TYPES_MAX, "a place for each request type");

int
watching_trace(struct watcher *w, const struct request_type *type, const struct labels *labels,
    const struct trace *t, const struct always_on_path *path, double sampled, struct err *e)
{
	const struct label *l = labels_get(labels, type->label);
	struct watched_type *watched = w->types[type->index];
	char service[LABEL_TEXT_MAX + 1];

	if (w->settings.window_ns == 0)
		return 0;
	if (watched == NULL || watched->label != type->label) {
		snprintf(service, sizeof service, "%.*s", (int)l->service_len, l->text);
		watched = watcher_type(w, type->index, type->label, service, type->name);
		if (watched == NULL)
			return err_set(e, ERR_MEMORY, "out of memory for watching response times");
	}
	return watcher_request(w, watched, path != NULL ? &path->shape.key : NULL, t->begin_ns,
	    t->end_ns - t->begin_ns, sampled > 0 ? 1 / sampled : 1, e);
}

int
watching_step(struct watcher *w, const struct request_types *types, struct mono now,
    struct wall when, struct err *e)
{
	int rc = 0;

	if (w->settings.window_ns == 0 || !watcher_is_due(w, now))
		return 0;
	for (uint32_t i = 0; w->begin.ns != 0 && i < types->n && rc == 0; i++)
		if (w->types[i] != NULL && w->types[i]->label == types->items[i].label)
			rc = watcher_end_window(
			    w, w->types[i], request_type_diagnosed(&types->items[i]), now, e);
	watcher_begin_window(w, now, when);
	return rc;
}

struct alert *
watching_new_alert(struct watcher *w)
{
	for (uint32_t i = 0; i < w->nalerts; i++)
		if (w->alerts[i].self_start == SELF_START_UNDECIDED)
			return &w->alerts[i];
	return NULL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "searchspace/space.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "searchspace/space_inside.h"

struct space *
space_new(const struct labels *labels)
{
	struct space *s = calloc(1, sizeof *s);

	if (s != NULL)
		s->labels = labels;
	return s;
}

void
space_free(struct space *s)
{
	if (s == NULL)
		return;
	for (uint32_t i = 0; i < s->ngraphs; i++) {
		graph_release(s->graphs[i]);
		free(s->graphs[i]);
	}
	free(s->graphs);
	free(s->at);
	free(s->names);
	spans_release(&s->spans);
	free(s);
}

const struct labels *
space_labels(const struct space *s)
{
	return s->labels;
}

/* ---- types ---- */

const struct graph *
space_graph(const struct space *s, uint32_t i)
{
	return i < s->ngraphs ? s->graphs[i] : NULL;
}

uint32_t
space_type(const struct space *s, uint32_t i)
{
	return i < s->ngraphs ? s->graphs[i]->type : LABEL_NONE;
}

struct graph *
space_find(const struct space *s, uint32_t type)
{
	for (uint32_t i = 0; i < s->ngraphs; i++)
		if (s->graphs[i]->type == type)
			return s->graphs[i];
	return NULL;
}

struct graph *
space_graph_of(struct space *s, uint32_t type)
{
	struct graph *g = space_find(s, type);

	if (g != NULL)
		return g;
	if (!array_reserve(s->graphs, s->graphs_cap, s->ngraphs + 1) ||
	    (g = calloc(1, sizeof *g)) == NULL)
		return NULL;
	g->type = type;
	return s->graphs[s->ngraphs++] = g;
}

/* ---- statistics ---- */

static void
add_stats(
    const struct space *s, const struct graph *g, struct label_set *seen, struct space_stats *ret)
{
	uint64_t newest = (g->traces + 9) / 10;

	ret->traces += g->traces;
	ret->places += g->nvertices;
	ret->steps += g->nsteps;
	for (uint32_t i = 0; i < g->nvertices; i++) {
		uint32_t label = g->vertices[i].place.label;

		ret->glimpsed += g->vertices[i].first == 0;
		ret->new_in_last_tenth += g->vertices[i].first > g->traces - newest;
		if (labels_get(s->labels, label)->kind == RECORD_POINT &&
		    !label_set_has(seen, label))
			ret->labels += label_set_add(seen, label);
	}
}

uint64_t
space_traces(const struct space *s, uint32_t type)
{
	const struct graph *g = space_find(s, type);

	return g != NULL ? g->traces : 0;
}

bool
space_stats(const struct space *s, uint32_t type, struct space_stats *ret)
{
	struct label_set seen = { 0 };
	bool any = false;

	*ret = (struct space_stats){ 0 };
	for (uint32_t i = 0; i < s->ngraphs; i++)
		if (type == LABEL_NONE || s->graphs[i]->type == type) {
			add_stats(s, s->graphs[i], &seen, ret);
			any = true;
		}
	label_set_release(&seen);
	return any;
}

/* Places are in the order in which they were learned, so those that one trace alone showed are
 * consecutive (except places that were glimpsed before: such a trace may count twice). */
static void
add_cover(const struct graph *g, double *unseen, uint64_t *showed)
{
	double once = 0, twice = 0, m = (double)g->traces;
	uint64_t last = 0;

	for (uint32_t i = 0; i < g->nvertices; i++) {
		const struct vertex *s = &g->vertices[i];

		if (s->first == 0)
			continue;
		once += s->place.traces == 1;
		twice += s->place.traces == 2;
		if (s->place.traces != 1 || s->first == last)
			continue;
		last = s->first;
		++*showed;
	}
	*unseen += (m - 1) / m * once * (once - 1) / (2 * (twice + 1));
}

bool
space_cover(const struct space *s, uint32_t type, struct space_cover *ret)
{
	uint64_t traces = 0, showed = 0;

	*ret = (struct space_cover){ 0 };
	for (uint32_t i = 0; i < s->ngraphs; i++)
		if ((type == LABEL_NONE || s->graphs[i]->type == type) &&
		    s->graphs[i]->traces > 0) {
			add_cover(s->graphs[i], &ret->unseen, &showed);
			traces += s->graphs[i]->traces;
		}
	if (traces == 0)
		return false;
	ret->next_new = showed < traces ? (double)showed / (double)traces : 1;
	return true;
}

/* ---- versions ---- */

const struct space_version *
space_version(const struct space *s)
{
	return &s->version;
}

int
space_version_set(
    struct space *s, uint64_t fingerprint, const char *name, int64_t learned_ns, struct err *e)
{
	size_t len = strlen(name);

	if (len >= sizeof s->version.name)
		return err_set(e, ERR_INPUT, "%.40s...: a version's name has at most %zu bytes",
		    name, sizeof s->version.name - 1);
	s->version.fingerprint = fingerprint;
	memset(s->version.name, 0, sizeof s->version.name);
	memcpy(s->version.name, name, len);
	if (learned_ns != 0)
		s->version.learned_ns = learned_ns;
	return 0;
}

int
space_merge(struct space *s, const struct space *from, struct err *e)
{
	int rc = 0;

	assert(s != from && s->labels == from->labels);
	for (uint32_t i = 0; i < from->ngraphs && rc == 0; i++) {
		struct graph *into = space_graph_of(s, from->graphs[i]->type);

		rc = into != NULL ? graph_merge(into, from->graphs[i], e)
		                  : err_set(e, ERR_MEMORY,
					"search space: out of "
					"memory");
		if (rc == 0)
			s->version.traces += from->graphs[i]->traces;
	}
	if (rc == 0 && from->version.learned_ns > s->version.learned_ns)
		s->version.learned_ns = from->version.learned_ns;
	return rc;
}

static void
ask_for(const struct space *s, uint32_t label,
    bool (*has)(void *ctx, const char *service, const char *event), void *ctx,
    void (*gone)(void *ctx, uint32_t label))
{
	const struct label *l = labels_get(s->labels, label);
	char service[LABEL_TEXT_MAX + 1], event[LABEL_TEXT_MAX + 1];

	if (l->kind != RECORD_POINT)
		return;
	snprintf(service, sizeof service, "%.*s", (int)l->service_len, l->text);
	snprintf(event, sizeof event, "%.*s", (int)l->event_len, l->event);
	if (!has(ctx, service, event))
		gone(ctx, label);
}

void
space_stale(const struct space *s, bool (*has)(void *ctx, const char *service, const char *event),
    void *ctx, void (*gone)(void *ctx, uint32_t label))
{
	struct label_set seen = { 0 };

	for (uint32_t i = 0; i < s->ngraphs; i++)
		for (uint32_t k = 0; k < s->graphs[i]->nvertices; k++) {
			uint32_t label = s->graphs[i]->vertices[k].place.label;

			if (!label_set_has(&seen, label) && label_set_add(&seen, label))
				ask_for(s, label, has, ctx, gone);
		}
	label_set_release(&seen);
}

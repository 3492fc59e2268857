/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/instrumentation.h"

#include <string.h>

#include "base/texts.h"

#define WINDOW_NS (INSTRUMENTATION_WINDOW_S * INT64_C(1000000000))
/* A pending request counts as open if it is older than this, and than so many times the longest
 * complete request of its type. */
#define OPEN_NS INT64_C(2000000000)
enum { OPEN_TIMES = 10, OPEN_MAX = 4096 };

void
instrumentation_release(struct instrumentation *i)
{
	for (uint32_t w = 0; w < INSTRUMENTATION_WINDOWS; w++)
		place_table_release(&i->windows[w]);
	place_table_release(&i->since_changed);
}

/* The window of that time; cleared, if it was of an earlier one. NULL: that time is over. */
static struct place_table *
window_at(struct instrumentation *i, int64_t time_ns)
{
	int64_t number = time_ns / WINDOW_NS + 1;
	uint32_t at = (uint32_t)(number % INSTRUMENTATION_WINDOWS);

	if (i->number[at] > number)
		return NULL;
	if (i->number[at] < number) {
		place_table_clear(&i->windows[at]);
		i->number[at] = number;
	}
	return &i->windows[at];
}

bool
instrumentation_trace(struct instrumentation *i, const struct trace *t, const struct labels *labels,
    const struct nodes *nodes, struct mono now)
{
	int64_t began_ns = t->begin_ns < now.ns ? t->begin_ns : now.ns;
	struct place_table *w;

	if (i->programs != nodes->programs) {
		place_table_clear(&i->since_changed);
		i->programs = nodes->programs;
	}
	if (!place_table_add(&i->since_changed, t, labels))
		return false;
	if (began_ns < now.ns - (INSTRUMENTATION_WINDOWS - 1) * WINDOW_NS || began_ns < 0 ||
	    (w = window_at(i, began_ns)) == NULL)
		return true;
	return place_table_add(w, t, labels);
}

struct open_requests_look {
	struct place_table *facts;
	struct request_types *types;
	const struct labels *labels;
	struct mono since, now;
	bool failed;
};

static void
count_open(void *ctx, const struct trace *t)
{
	struct open_requests_look *l = ctx;
	const struct request_type *type = request_types_known(l->types, t->type);
	int64_t age_ns = l->now.ns - t->begin_ns;

	if (t->begin_ns < l->since.ns || t->incomplete != INCOMPLETE_NO_END ||
	    (type != NULL && type->sketch->n > 0 && age_ns / OPEN_TIMES < type->sketch->max_ns))
		return;
	l->failed |= !place_table_add(l->facts, t, l->labels);
}

bool
instrumentation_facts(struct place_table *ret, const struct instrumentation *i,
    struct assemble *assemble, struct request_types *types, const struct labels *labels,
    struct mono since, struct mono now)
{
	struct open_requests_look look = { ret, types, labels, since, now, false };
	/* a window that began before it may have requests of programs that run no more */
	int64_t first = (since.ns + WINDOW_NS - 1) / WINDOW_NS + 1;

	for (uint32_t w = 0; w < INSTRUMENTATION_WINDOWS; w++)
		if (i->number[w] >= first && !place_table_merge(ret, &i->windows[w]))
			return false;
	if (!place_table_merge_open(ret, &i->since_changed))
		return false;
	assemble_look_pending(assemble, now.ns - OPEN_NS, OPEN_MAX, count_open, &look);
	return !look.failed;
}

bool
instrumentation_has(const struct instrumentation *i, uint32_t type, const struct labels *labels,
    const char *service)
{
	for (uint32_t w = 0; w < INSTRUMENTATION_WINDOWS; w++)
		for (uint32_t k = 0; k < i->windows[w].n; k++)
			if (i->windows[w].items[k].type == type &&
			    label_of_service(
				labels_get(labels, i->windows[w].items[k].label), service))
				return true;
	return false;
}

static bool
begins_anything(const struct place_table *facts, const struct labels *labels, const char *service)
{
	for (uint32_t i = 0; i < facts->n; i++) {
		const struct place_facts *f = &facts->items[i];

		if ((f->units > 0 || f->requests > 0 || f->headless > 0) &&
		    label_of_service(labels_get(labels, f->label), service))
			return true;
	}
	return false;
}

const char **
instrumentation_idle(const struct nodes *nodes, const struct place_table *facts,
    const struct labels *labels, struct arena *a)
{
	struct texts *seen = texts_new();
	const char **idle = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; seen != NULL && i < nodes->n; i++) {
		const struct programs *p = &nodes->items[i].programs;

		for (uint32_t k = 0; k < p->nprograms && nodes->items[i].connected; k++) {
			const char *service = p->programs[k].service;

			if (!begins_anything(facts, labels, service))
				texts_intern(seen, service, strlen(service));
		}
	}
	if (seen != NULL)
		idle = arena_alloc(a, (texts_count(seen) + 1) * sizeof *idle);
	for (n = 0; idle != NULL && n < texts_count(seen); n++) {
		const char *text = texts_get(seen, n);
		char *copy = arena_alloc(a, strlen(text) + 1);

		if (copy == NULL) {
			idle = NULL;
			break;
		}
		idle[n] = strcpy(copy, text);
	}
	if (idle != NULL)
		idle[n] = NULL;
	texts_free(seen);
	return idle;
}

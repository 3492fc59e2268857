/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The keys of a group, and their values for each request of the reservoir.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/group_inside.h"
#include "analysis/trace_callers.h"
#include "base/texts.h"

enum {
	TEXTS_MAX = 256,
	/* Of these texts, this many may be processes and threads, so that there is room for
	 * others. */
	IDENTITIES_MAX = 128,
	TEXT_BYTES = 48 /* memory of a text beside its bytes */
};

/* Fields that are different for every request or constant: they explain no time. */
static bool
is_identity(const struct label *l, const char *field)
{
	return l->kind != RECORD_POINT &&
	       (trace_callers_of_request(field) || strcmp(field, "via") == 0);
}

void
keys_add(struct group *g, struct key k)
{
	if (g->nkeys < KEYS_MAX)
		g->keys[g->nkeys++] = k;
}

static void
find_label_keys(struct group *g, uint32_t token, const struct label *l)
{
	for (uint32_t f = 0; f < l->nfields; f++)
		if (!is_identity(l, l->fields[f]))
			keys_add(g, (struct key){ KEY_FIELD, VALUE_NONE, token, f });
	/* These are the same for all events of a unit. */
	if (l->kind == RECORD_REQUEST_BEGIN || l->kind == RECORD_UNIT_BEGIN)
		for (uint8_t kind = KEY_NODE; kind <= KEY_THREAD; kind++)
			keys_add(g, (struct key){ kind, VALUE_TEXT, token, 0 });
}

bool
keys_find(struct group_state *p, const struct labels *labels)
{
	struct group *g = &p->group;
	size_t most = SPARE_LOOPS + g->shape.nloops;

	for (uint32_t i = 0; i < g->shape.ntokens; i++)
		most += 3 + labels_get(labels, g->shape.tokens[i])->nfields;
	p->keys_cap = most < KEYS_MAX ? (uint32_t)most : KEYS_MAX;
	if ((g->keys = arena_alloc(&p->arena, p->keys_cap * sizeof *g->keys)) == NULL)
		return false;
	for (uint32_t i = 0; i < g->shape.ntokens; i++)
		find_label_keys(g, i, labels_get(labels, g->shape.tokens[i]));
	for (uint32_t i = 0; i < g->shape.nloops; i++)
		keys_add(g, (struct key){ KEY_ITERATIONS, VALUE_UINT, g->shape.loops[i].first, i });
	return true;
}

/* Accounts for the memory of one more text. false: over the bound. */
static bool
text_room(struct groups *gs, size_t len)
{
	if (gs->o.memory_max_bytes != 0 && gs->bytes + len + TEXT_BYTES > gs->o.memory_max_bytes)
		return false;
	gs->bytes += len + TEXT_BYTES;
	return true;
}

double
keys_text(struct groups *gs, struct group_state *p, const char *s, size_t len, bool identity)
{
	struct texts *texts = p->group.texts;
	uint32_t id = texts_find(texts, s, len);

	if (id == UINT32_MAX && texts_count(texts) < TEXTS_MAX &&
	    (!identity || p->nidentities < IDENTITIES_MAX) && text_room(gs, len)) {
		id = texts_intern(texts, s, len);
		p->nidentities += identity;
	}
	return id != UINT32_MAX ? (double)id : (double)NAN;
}

/* The first value seen sets the type of a key; values of another type are missing. */
static double
field_number(struct groups *gs, struct group_state *p, struct key *k, const struct event *e)
{
	const struct value *v = k->field < e->nvalues ? &e->values[k->field] : NULL;

	if (v == NULL || v->type == VALUE_NONE)
		return (double)NAN;
	if (k->type == VALUE_NONE)
		k->type = v->type;
	if ((v->type == VALUE_TEXT) != (k->type == VALUE_TEXT))
		return (double)NAN;
	switch (v->type) {
	case VALUE_INT:
		return (double)v->i;
	case VALUE_UINT:
		return (double)v->u;
	case VALUE_REAL:
		return isfinite(v->d) ? v->d : (double)NAN;
	default:
		return keys_text(gs, p, v->text, v->len, false);
	}
}

/* Where a unit ran. Unknown processes and threads (0) are missing. */
static double
where_number(
    struct groups *gs, struct group_state *p, uint8_t kind, const struct event *e, const char *node)
{
	uint32_t id = kind == KEY_PROCESS ? e->pid : e->tid;
	char text[256];
	int len;

	if (kind == KEY_NODE)
		return keys_text(gs, p, node, strlen(node), false);
	if (id == 0)
		return (double)NAN;
	len = snprintf(text, sizeof text, "%.200s/%u", node, id);
	return keys_text(gs, p, text, (size_t)len, true);
}

void
keys_read(struct groups *gs, struct group_state *state, double *out, const struct trace *t,
    const struct critpath *p, const struct shape *s, const char *const *node_names)
{
	struct group *g = &state->group;

	for (uint32_t i = 0; i < g->nkeys; i++) {
		struct key *k = &g->keys[i];
		const struct event *e;

		if (k->kind == KEY_ITERATIONS) {
			out[i] = (double)shape_runs(
			    s, g->shape.loops[k->field].first, g->shape.loops[k->field].last);
			continue;
		}
		e = &t->events[p->steps[s->first_step[k->token]].event];
		if (k->kind == KEY_FIELD)
			out[i] = field_number(gs, state, k, e);
		else
			out[i] = where_number(gs, state, k->kind, e, node_names[e->node]);
	}
}

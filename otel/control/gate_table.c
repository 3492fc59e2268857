/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/control/gate_table.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/texts.h"
#include "otel/spans/span_points.h"

struct gate_service {
	char *name;
	struct texts *names; /* of spans, "SCOPE:NAME"; those of all its gates */
	uint32_t gates;
};

struct known_gate {
	char instance[GATE_INSTANCE_MAX + 1];
	struct gate_service *service;
	uint32_t pid;
	struct mono asked;
	uint64_t version; /* in effect there, of this table's; 0: none */
	double
	    share; /* the least of those in effect and offered there since the last confirmation */
	uint64_t spans;
	double on_ns, off_ns;
};

struct gate_table {
	struct gate_table_options o;
	struct known_gate *gates;
	uint32_t n, cap;
	uint64_t version, changes;
	struct texts *wanted; /* names of spans, and "SCOPE:*"; NULL: none */
	double share;
	struct mono until;
	uint32_t nnames;
	uint64_t names_left;
};

struct gate_table *
gate_table_new(const struct gate_table_options *o)
{
	struct gate_table *t = calloc(1, sizeof *t);

	if (t != NULL) {
		t->o = *o;
		t->version = o->version > 0 ? o->version : 1;
	}
	return t;
}

static void
leave_service(struct gate_table *t, struct gate_service *s)
{
	if (--s->gates > 0)
		return;
	t->nnames -= texts_count(s->names);
	texts_free(s->names);
	free(s->name);
	free(s);
}

void
gate_table_free(struct gate_table *t)
{
	if (t == NULL)
		return;
	for (uint32_t i = 0; i < t->n; i++)
		leave_service(t, t->gates[i].service);
	texts_free(t->wanted);
	free(t->gates);
	free(t);
}

/* ---- what is wanted ---- */

/* The length of the span's name in that of a tracepoint: without the ending of one end. 0: it is no tracepoint of a span. */
static size_t
span_name_len(const char *tracepoint)
{
	static const char *const ends[] = { POINT_BEGIN, POINT_END };
	size_t len = strlen(tracepoint);

	if (len > 2 && strcmp(tracepoint + len - 2, ":*") == 0)
		return len;
	for (int i = 0; i < 2; i++) {
		size_t end = strlen(ends[i]);

		if (len > end && strcmp(tracepoint + len - end, ends[i]) == 0 &&
		    point_name_fits(tracepoint, len - end))
			return len - end;
	}
	return 0;
}

static bool
same_texts(const struct texts *a, const struct texts *b)
{
	uint32_t n = a != NULL ? texts_count(a) : 0;

	if (n != (b != NULL ? texts_count(b) : 0))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (texts_find(b, texts_get(a, i), strlen(texts_get(a, i))) == UINT32_MAX)
			return false;
	return true;
}

static void
replace_wanted(struct gate_table *t, struct texts *wanted, double share)
{
	if (same_texts(t->wanted, wanted) && t->share == share) {
		texts_free(wanted);
		return;
	}
	texts_free(t->wanted);
	t->wanted = wanted;
	t->share = share;
	t->version++;
}

/* Gates have one share for all names: that of probed requests, or of sampled ones, which are more, if some name is wanted for these. */
static double
share_of(const struct want *w)
{
	bool sampled = false;
	double share = 0;

	for (uint32_t i = 0; i < w->ntoggles; i++)
		sampled |= w->toggles[i].sampled;
	if (sampled)
		share = w->sampled;
	for (uint32_t i = 0; i < w->nrates; i++)
		share = fmax(share, sampled ? w->rates[i].sampled : w->rates[i].probed);
	return share;
}

int
gate_table_want(struct gate_table *t, const struct want *w, struct mono until, struct err *e)
{
	struct texts *wanted = texts_new();

	for (uint32_t i = 0; wanted != NULL && i < w->ntoggles; i++) {
		size_t len = span_name_len(w->toggles[i].name);

		if (len > 0 && texts_intern(wanted, w->toggles[i].name, len) == UINT32_MAX) {
			texts_free(wanted);
			wanted = NULL;
		}
	}
	if (wanted == NULL)
		return err_set(e, ERR_MEMORY, "no memory for %u tracepoints", w->ntoggles);
	t->until = until;
	replace_wanted(t, wanted, share_of(w));
	return 0;
}

/* Whether a span of that name is wanted. */
static bool
is_wanted(const struct gate_table *t, const char *name)
{
	size_t scope = (size_t)(strchr(name, ':') - name) + 1;
	char all[TOGGLE_NAME_MAX + 1];

	if (t->wanted == NULL || texts_count(t->wanted) == 0)
		return false;
	if (texts_find(t->wanted, name, strlen(name)) != UINT32_MAX)
		return true;
	snprintf(all, sizeof all, "%.*s*", (int)scope, name);
	return texts_find(t->wanted, all, strlen(all)) != UINT32_MAX;
}

/* ---- gates ---- */

static struct known_gate *
find_gate(struct gate_table *t, const char *instance)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (strcmp(t->gates[i].instance, instance) == 0)
			return &t->gates[i];
	return NULL;
}

static struct gate_service *
enter_service(struct gate_table *t, const char *name)
{
	struct gate_service *s;

	for (uint32_t i = 0; i < t->n; i++)
		if (strcmp(t->gates[i].service->name, name) == 0) {
			t->gates[i].service->gates++;
			return t->gates[i].service;
		}
	if ((s = calloc(1, sizeof *s)) == NULL)
		return NULL;
	s->name = strdup(name);
	s->names = texts_new();
	s->gates = 1;
	if (s->name == NULL || s->names == NULL) {
		texts_free(s->names);
		free(s->name);
		free(s);
		return NULL;
	}
	return s;
}

static int
add_gate(
    struct gate_table *t, const struct gate_question *q, struct known_gate **ret, struct err *e)
{
	struct gate_service *s;

	if (t->n == GATES_MAX)
		return err_set(e, ERR_FULL, "%d gates are the most", GATES_MAX);
	if (!array_reserve(t->gates, t->cap, t->n + 1) ||
	    (s = enter_service(t, q->service)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	*ret = &t->gates[t->n++];
	**ret = (struct known_gate){ .service = s, .pid = q->pid };
	snprintf((*ret)->instance, GATE_INSTANCE_MAX + 1, "%s", q->instance);
	t->changes++;
	return 0;
}

/* Its name may become known later than the gate, with the SDK. */
static int
follow_service(struct gate_table *t, struct known_gate *g, const char *name, struct err *e)
{
	struct gate_service *s, *was = g->service;

	if (strcmp(was->name, name) == 0)
		return 0;
	if ((s = enter_service(t, name)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < texts_count(was->names); i++) {
		const char *text = texts_get(was->names, i);
		uint32_t before = texts_count(s->names);

		texts_intern(s->names, text, strlen(text));
		t->nnames += texts_count(s->names) - before;
	}
	g->service = s;
	leave_service(t, was);
	t->changes++;
	return 0;
}

static int
take_names(struct gate_table *t, struct known_gate *g, const struct gate_question *q, struct err *e)
{
	struct texts *names = g->service->names;

	for (uint32_t i = 0; i < q->nnames; i++) {
		size_t len = strlen(q->names[i]);

		if (texts_find(names, q->names[i], len) != UINT32_MAX)
			continue;
		if (texts_count(names) >= GATE_NAMES_OF_ONE || t->nnames >= GATE_NAMES_OF_ALL) {
			t->names_left++;
			continue;
		}
		if (texts_intern(names, q->names[i], len) == UINT32_MAX)
			return err_set(e, ERR_MEMORY, "out of memory");
		t->nnames++;
		t->changes++;
	}
	return 0;
}

static int
list_wanted(const struct gate_table *t, const struct known_gate *g, struct gate_answer *ret,
    struct arena *a, struct err *e)
{
	uint32_t n = texts_count(g->service->names);

	ret->listed = true;
	if ((ret->on = arena_calloc(a, n + 1, sizeof *ret->on)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < n; i++)
		if (is_wanted(t, texts_get(g->service->names, i)))
			ret->on[ret->non++] = texts_get(g->service->names, i);
	return 0;
}

static void
note_state(
    struct gate_table *t, struct known_gate *g, const struct gate_question *q, struct mono now)
{
	g->asked = now;
	g->spans = q->spans;
	g->on_ns = q->on_ns;
	g->off_ns = q->off_ns < q->on_ns ? q->off_ns : q->on_ns;
	if (q->version == t->version)
		g->share = t->share;
	else if (q->version == 0) /* its lease has ended, or it has none yet */
		g->share = 0;
	g->version = q->version;
}

int
gate_table_ask(struct gate_table *t, const struct gate_question *q, struct mono now,
    struct gate_answer *ret, bool *is_new, struct arena *a, struct err *e)
{
	struct known_gate *g;
	bool busy;
	int64_t left_ns;
	int rc;

	gate_table_turn(t, now);
	g = find_gate(t, q->instance);
	*is_new = g == NULL;
	if (g == NULL && (rc = add_gate(t, q, &g, e)) != 0)
		return rc;
	if ((rc = follow_service(t, g, q->service, e)) != 0 || (rc = take_names(t, g, q, e)) != 0)
		return rc;
	note_state(t, g, q, now);
	busy = t->share > 0 || (t->wanted != NULL && texts_count(t->wanted) > 0);
	left_ns = busy ? mono_since_ns(t->until, now) : t->o.lease_ns;
	if (left_ns > t->o.lease_ns)
		left_ns = t->o.lease_ns;
	*ret = (struct gate_answer){ .version = t->version,
		.lease_ms = left_ns > 0 ? left_ns / 1000000 : 0,
		.poll_ms = (busy ? t->o.busy_ns : t->o.idle_ns) / 1000000,
		.share = t->share,
		.again = *is_new && !q->first };
	g->share = fmin(g->share, t->share);
	if (q->version == t->version && q->nnames == 0 && !*is_new)
		return 0;
	return list_wanted(t, g, ret, a, e);
}

void
gate_table_turn(struct gate_table *t, struct mono now)
{
	if (now.ns >= t->until.ns)
		replace_wanted(t, NULL, 0);
	for (uint32_t i = 0; i < t->n;) {
		if (mono_since_ns(now, t->gates[i].asked) < t->o.lease_ns) {
			i++;
			continue;
		}
		leave_service(t, t->gates[i].service);
		t->gates[i] = t->gates[--t->n];
		t->changes++;
	}
}

bool
gate_table_confirmed(const struct gate_table *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->gates[i].version != t->version)
			return false;
	return true;
}

double
gate_table_share(const struct gate_table *t, struct mono now)
{
	double share = 1;

	if (t->n > 0 && now.ns >= t->until.ns)
		return 0;
	for (uint32_t i = 0; i < t->n; i++)
		share = fmin(share, t->gates[i].share);
	return share;
}

/* ---- what is told ---- */

bool
gate_table_has(const struct gate_table *t, const char *name)
{
	size_t len = span_name_len(name);

	for (uint32_t i = 0; i < t->n && len > 0; i++) {
		const struct texts *names = t->gates[i].service->names;

		if (texts_find(names, name, len) != UINT32_MAX)
			return true;
		for (uint32_t k = 0; name[len - 1] == '*' && k < texts_count(names); k++)
			if (strncmp(texts_get(names, k), name, len - 1) == 0)
				return true;
	}
	return false;
}

/* Adds both tracepoints of each span. */
static bool
list_service(struct programs *p, const struct gate_service *s, struct arena *a)
{
	for (uint32_t i = 0; i < texts_count(s->names); i++) {
		const char *name = texts_get(s->names, i);

		for (int end = 0; end < 2; end++) {
			char text[TOGGLE_NAME_MAX + 1];

			snprintf(text, sizeof text, "%s%s", name, end ? POINT_END : POINT_BEGIN);
			if ((p->names[p->nnames] = arena_text(a, text, strlen(text))) == NULL)
				return false;
			p->nnames++;
		}
	}
	return true;
}

int
gate_table_programs(
    const struct gate_table *t, struct programs *ret, struct arena *a, struct err *e)
{
	struct programs p = { 0 };

	p.names = arena_calloc(a, 2 * (size_t)t->nnames + 1, sizeof *p.names);
	p.programs = arena_calloc(a, t->n + 1, sizeof *p.programs);
	if (p.names == NULL || p.programs == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < t->n; i++) {
		const struct known_gate *g = &t->gates[i];
		struct program *to = &p.programs[p.nprograms++];
		uint32_t same = 0;

		while (t->gates[same].service != g->service)
			same++;
		*to = (struct program){ .service = g->service->name, .pid = g->pid };
		to->first = same < i ? p.programs[same].first : p.nnames;
		if (same == i && !list_service(&p, g->service, a))
			return err_set(e, ERR_MEMORY, "out of memory");
		to->count = 2 * texts_count(g->service->names);
	}
	*ret = p;
	return 0;
}

uint64_t
gate_table_changes(const struct gate_table *t)
{
	return t->changes;
}

void
gate_table_stats(const struct gate_table *t, struct gate_table_stats *ret)
{
	uint32_t measured = 0;

	*ret = (struct gate_table_stats){
		.gates = t->n, .names = t->nnames, .names_left = t->names_left
	};
	for (uint32_t i = 0; i < t->n; i++) {
		const struct known_gate *g = &t->gates[i];
		uint32_t same = 0;

		ret->spans += g->spans;
		ret->on_ns += g->on_ns;
		ret->off_ns += g->off_ns;
		measured += g->on_ns > 0;
		while (t->gates[same].service != g->service)
			same++;
		for (uint32_t k = 0; same == i && k < texts_count(g->service->names); k++)
			ret->on += is_wanted(t, texts_get(g->service->names, k));
	}
	if (measured > 0) {
		ret->on_ns /= measured;
		ret->off_ns /= measured;
	}
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/kept_traces.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

static int64_t
took_ns(const struct trace *t)
{
	return t->end_ns - t->begin_ns;
}

static uint64_t
rank_of(const struct trace *t)
{
	return hash_u64(t->id ^ hash_u64(t->id_high));
}

static bool
is_slower(const struct trace *a, const struct trace *b)
{
	if (took_ns(a) != took_ns(b))
		return took_ns(a) > took_ns(b);
	return a->id != b->id ? a->id < b->id : a->id_high < b->id_high;
}

static bool
is_sooner(const struct trace *a, const struct trace *b)
{
	return rank_of(a) < rank_of(b);
}

static void
drop(struct kept_traces *k, struct kept_type *type, struct trace *t)
{
	type->bytes -= t->arena.total_bytes;
	k->bytes -= t->arena.total_bytes;
	trace_free(t);
}

static void
empty(struct kept_traces *k, struct kept_type *type)
{
	while (type->nslow > 0)
		drop(k, type, type->slow[--type->nslow]);
	while (type->nsample > 0)
		drop(k, type, type->sample[--type->nsample]);
}

/* Beyond KEPT_TYPES, the type with the fewest traces gives its place: request types that were replaced in the engine do not stay. */
static struct kept_type *
type_of(struct kept_traces *k, uint32_t type)
{
	struct kept_type *new, *least = NULL;

	for (uint32_t i = 0; i < k->n; i++) {
		struct kept_type *t = k->types[i];

		if (t->type == type)
			return t;
		if (least == NULL || t->nslow + t->nsample < least->nslow + least->nsample)
			least = t;
	}
	if (k->n == KEPT_TYPES) {
		empty(k, least);
		least->type = type;
		return least;
	}
	if (!array_reserve(k->types, k->cap, k->n + 1) || (new = calloc(1, sizeof *new)) == NULL)
		return NULL;
	new->type = type;
	return k->types[k->n++] = new;
}

/* Puts the trace at its place in the list of at most `max`. Returns what does not fit any more: another trace, the trace itself, or NULL. */
static struct trace *
insert(struct trace **list, uint32_t *n, uint32_t max, struct trace *t,
    bool (*before)(const struct trace *, const struct trace *))
{
	struct trace *out = NULL;
	uint32_t at = *n;

	while (at > 0 && before(t, list[at - 1]))
		at--;
	if (at == max)
		return t;
	if (*n == max)
		out = list[--*n];
	memmove(&list[at + 1], &list[at], (*n - at) * sizeof(struct trace *));
	list[at] = t;
	++*n;
	return out;
}

static void
make_room(struct kept_traces *k)
{
	while (k->bytes > KEPT_BYTES) {
		struct kept_type *most = k->types[0];

		for (uint32_t i = 1; i < k->n; i++)
			if (k->types[i]->bytes > most->bytes)
				most = k->types[i];
		if (most->nsample >= most->nslow && most->nsample > 0)
			drop(k, most, most->sample[--most->nsample]);
		else
			drop(k, most, most->slow[--most->nslow]);
	}
}

bool
kept_traces_add(struct kept_traces *k, struct trace *t)
{
	struct kept_type *type;
	struct trace *out;

	if (t->arena.total_bytes > KEPT_BYTES / 16) {
		k->too_large++;
		return false;
	}
	if (t->type == LABEL_NONE || (type = type_of(k, t->type)) == NULL)
		return false;
	/* What is no longer among the slowest may be of the sample. */
	if ((out = insert(type->slow, &type->nslow, KEPT_SLOW, t, is_slower)) != NULL)
		out = insert(type->sample, &type->nsample, KEPT_SAMPLE, out, is_sooner);
	if (out == t)
		return false;
	type->bytes += t->arena.total_bytes;
	k->bytes += t->arena.total_bytes;
	if (out != NULL)
		drop(k, type, out);
	make_room(k);
	return true;
}

void
kept_traces_clear(struct kept_traces *k)
{
	for (uint32_t i = 0; i < k->n; i++) {
		empty(k, k->types[i]);
		free(k->types[i]);
	}
	free(k->types);
	*k = (struct kept_traces){ 0 };
}

static int
by_time(const void *a, const void *b)
{
	const struct trace *const *x = a, *const *y = b;

	return is_slower(*x, *y) ? -1 : is_slower(*y, *x);
}

uint32_t
kept_traces_list(const struct kept_traces *k, uint32_t type, const struct trace ***ret)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->n; i++)
		n += k->types[i]->nslow + k->types[i]->nsample;
	if ((*ret = calloc(n + 1, sizeof(struct trace *))) == NULL)
		return UINT32_MAX;
	n = 0;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct kept_type *t = k->types[i];

		if (type != LABEL_NONE && t->type != type)
			continue;
		for (uint32_t s = 0; s < t->nslow; s++)
			(*ret)[n++] = t->slow[s];
		for (uint32_t s = 0; s < t->nsample; s++)
			(*ret)[n++] = t->sample[s];
	}
	qsort(*ret, n, sizeof(struct trace *), by_time);
	return n;
}

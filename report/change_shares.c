/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mean response time T = sum over groups of w_g m_g (weight, mean). With a bar for the average of both
 * sides, its change is exactly (Kitagawa 1955)
 *
 *	dT = sum_g bar(w_g) dm_g  +  sum_g dw_g (bar(m_g) - bar(T))
 *
 * and dm_g is the sum over the group's edges. The weights add up to 1 on both sides, so subtracting
 * bar(T) leaves the second sum as it is; it makes a group's part of the mix the effect of the group's
 * becoming more or less frequent.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/change_inside.h"
#include "report/change_stats.h"

struct sums { /* state of one change */
	const struct change_options *o;
	double count[SIDES], mean_ms[SIDES], reference_ms, change_ms, z;
	double within_ms, mix_ms;
	json_t *edges, *groups, *index[SIDES];
};

static double
other_count(const json_t *type)
{
	return number_in(json_object_get(type, "other"), "traces");
}

/* Mean over all groups and "other", weighted by their counts. */
static void
mean_of(struct sums *s, enum side side, const json_t *type)
{
	const json_t *g;
	size_t i;

	s->count[side] = other_count(type);
	s->mean_ms[side] = s->count[side] * number_in(json_object_get(type, "other"), "mean_ms");
	json_array_foreach (json_object_get(type, "groups"), i, g) {
		s->count[side] += number_in(g, "count");
		s->mean_ms[side] += number_in(g, "count") * number_in(g, "mean_ms");
	}
	if (s->count[side] > 0)
		s->mean_ms[side] /= s->count[side];
}

/* Groups by their ids. A new reference; NULL: out of memory. */
static json_t *
index_of(const json_t *type)
{
	json_t *index = json_object(), *g;
	size_t i;

	json_array_foreach (json_object_get(type, "groups"), i, g) {
		const char *key = json_string_value(json_object_get(g, "group"));

		if (index != NULL && key != NULL && json_object_set(index, key, g) != 0) {
			json_decref(index);
			return NULL;
		}
	}
	return index;
}

static const json_t *
group_of(const struct sums *s, enum side side, const json_t *key)
{
	return json_is_string(key) ? json_object_get(s->index[side], json_string_value(key)) : NULL;
}

/* A part of the change with its interval and, if the change is not 0, its share. */
static bool
put_part(const struct sums *s, json_t *o, double part_ms, double deviation_ms)
{
	double p = deviation_ms > 0 ? normal_p(part_ms / deviation_ms) : part_ms == 0;

	return json_object_set_new(o, "change_ms", json_real(part_ms)) == 0 &&
	       json_object_set_new(o, "low_ms", json_real(part_ms - s->z * deviation_ms)) == 0 &&
	       json_object_set_new(o, "high_ms", json_real(part_ms + s->z * deviation_ms)) == 0 &&
	       json_object_set_new(o, "p", json_real(p)) == 0 &&
	       json_object_set_new(o, "share",
		   s->change_ms != 0 ? json_real(part_ms / s->change_ms) : json_null()) == 0;
}

static bool
same_text(const json_t *a, const json_t *b, const char *name)
{
	const char *x = json_string_value(json_object_get(a, name)),
		   *y = json_string_value(json_object_get(b, name));

	return x != NULL && y != NULL && strcmp(x, y) == 0;
}

/* Edges between tokens are the same ones in the same order on both sides; edges round loops may be in
 * any order. */
static const json_t *
edge_of(const json_t *group, const json_t *like, size_t at)
{
	const json_t *edges = json_object_get(group, "edges"), *e;
	size_t i;

	if (!json_is_true(json_object_get(like, "loop")))
		return json_array_get(edges, at);
	json_array_foreach (edges, i, e)
		if (json_is_true(json_object_get(e, "loop")) && same_text(e, like, "from") &&
		    same_text(e, like, "to"))
			return e;
	return NULL;
}

/* `now` or `then` may be NULL: a loop that only one side repeated. */
static bool
put_edge(struct sums *s, const json_t *key, size_t at, const json_t *now, const json_t *then,
    double weight, const double *count)
{
	const json_t *any = now != NULL ? now : then;
	double part_ms = weight * (number_in(now, "mean_ms") - number_in(then, "mean_ms"));
	double variance = number_in(now, "variance_ms2") / count[NOW] +
	                  number_in(then, "variance_ms2") / count[THEN];
	json_t *o = json_pack("{s:O, s:o, s:O?, s:O?, s:O?, s:O?, s:f, s:f}", "group", key, "edge",
	    now != NULL ? json_integer((json_int_t)at) : json_null(), "from",
	    json_object_get(any, "from"), "to", json_object_get(any, "to"), "owner",
	    json_object_get(any, "owner"), "owner_service", json_object_get(any, "owner_service"),
	    "mean_ms", number_in(now, "mean_ms"), "mean_then_ms", number_in(then, "mean_ms"));

	return o != NULL && put_part(s, o, part_ms, weight * sqrt(variance)) &&
	       json_array_append_new(s->edges, o) == 0;
}

static bool
put_edges(struct sums *s, const json_t *now, const json_t *then, double weight, const double *count)
{
	const json_t *key = json_object_get(now, "group"), *e;
	bool ok = true;
	size_t i;

	json_array_foreach (json_object_get(now, "edges"), i, e)
		ok = ok && put_edge(s, key, i, e, edge_of(then, e, i), weight, count);
	json_array_foreach (json_object_get(then, "edges"), i, e)
		if (edge_of(now, e, i) == NULL)
			ok = ok && put_edge(s, key, 0, NULL, e, weight, count);
	return ok;
}

/* A group, or with a null id the traces of "other"; one side may be NULL. */
static bool
put_group(
    struct sums *s, const json_t *key, const json_t *now, const json_t *then, const char *counted)
{
	double count[SIDES] = { number_in(now, counted), number_in(then, counted) };
	double mean[SIDES] = { number_in(now, "mean_ms"), number_in(then, "mean_ms") };
	double w[SIDES], within_ms = 0, mix_ms, far_ms, variance = 0;
	json_t *o;

	for (int i = 0; i < SIDES; i++) {
		w[i] = s->count[i] > 0 ? count[i] / s->count[i] : 0;
		variance += s->count[i] > 0 ? w[i] * (1 - w[i]) / s->count[i] : 0;
	}
	if (count[NOW] > 0 && count[THEN] > 0) {
		within_ms = (w[NOW] + w[THEN]) / 2 * (mean[NOW] - mean[THEN]);
		far_ms = (mean[NOW] + mean[THEN]) / 2 - s->reference_ms;
	} else
		far_ms = (count[NOW] > 0 ? mean[NOW] : mean[THEN]) - s->reference_ms;
	mix_ms = (w[NOW] - w[THEN]) * far_ms;
	s->within_ms += within_ms;
	s->mix_ms += mix_ms;
	o = json_pack("{s:O, s:s, s:f, s:f, s:f, s:f, s:f}", "group", key, "state",
	    count[THEN] == 0  ? "appeared"
	    : count[NOW] == 0 ? "vanished"
			      : "both",
	    "part", w[NOW], "part_then", w[THEN], "part_p",
	    variance > 0 ? normal_p((w[NOW] - w[THEN]) / sqrt(variance)) : 1, "within_ms",
	    within_ms, "mix_ms", mix_ms);
	return o != NULL && put_part(s, o, within_ms + mix_ms, fabs(far_ms) * sqrt(variance)) &&
	       json_array_append_new(s->groups, o) == 0 &&
	       (count[NOW] == 0 || count[THEN] == 0 || json_is_null(key) ||
		   put_edges(s, now, then, (w[NOW] + w[THEN]) / 2, count));
}

static bool
put_groups(struct sums *s, const json_t *now, const json_t *then)
{
	const json_t *g;
	json_t *none = json_null();
	bool ok = true;
	size_t i;

	json_array_foreach (json_object_get(now, "groups"), i, g) {
		const json_t *key = json_object_get(g, "group");

		ok = ok && put_group(s, key, g, group_of(s, THEN, key), "count");
	}
	json_array_foreach (json_object_get(then, "groups"), i, g) {
		const json_t *key = json_object_get(g, "group");

		if (group_of(s, NOW, key) == NULL)
			ok = ok && put_group(s, key, NULL, g, "count");
	}
	if (other_count(now) + other_count(then) > 0)
		ok = ok && put_group(s, none, json_object_get(now, "other"),
			       json_object_get(then, "other"), "traces");
	return ok;
}

static int
compare_parts(const void *a, const void *b)
{
	double x = fabs(number_in(*(json_t *const *)a, "change_ms"));
	double y = fabs(number_in(*(json_t *const *)b, "change_ms"));

	return (x < y) - (x > y);
}

/* Keeps the largest parts, and as "..._rest_ms" the sum of the others. Takes ownership of `all`. */
static bool
put_largest(json_t *into, const char *name, json_t *all, uint32_t max)
{
	size_t n = json_array_size(all), i;
	json_t **parts = calloc(n + 1, sizeof *parts), *list = json_array();
	bool ok = parts != NULL && list != NULL;
	double rest_ms = 0;
	char rest[32];

	for (i = 0; ok && i < n; i++)
		parts[i] = json_array_get(all, i);
	if (ok)
		qsort(parts, n, sizeof *parts, compare_parts);
	for (i = 0; ok && i < n; i++)
		if (i < max)
			ok = json_array_append(list, parts[i]) == 0;
		else
			rest_ms += number_in(parts[i], "change_ms");
	snprintf(rest, sizeof rest, "%s_rest_ms", name);
	ok = json_object_set_new(into, name, list) == 0 && ok &&
	     json_object_set_new(into, rest, json_real(rest_ms)) == 0;
	free(parts);
	json_decref(all);
	return ok;
}

static double
deviation_ms(const struct sums *s, enum side side, const json_t *type)
{
	double d = number_in(type, "cv") * number_in(type, "mean_ms");

	return s->count[side] > 0 ? d / sqrt(s->count[side]) : 0;
}

int
shares_put(json_t *into, const json_t *now, const json_t *then, const struct change_options *o,
    struct err *e)
{
	struct sums s = {
		.o = o, .edges = json_array(), .groups = json_array(), .z = normal_z(o->confidence)
	};
	bool ok = s.edges != NULL && s.groups != NULL;

	s.index[NOW] = index_of(now);
	s.index[THEN] = index_of(then);
	ok = ok && s.index[NOW] != NULL && s.index[THEN] != NULL;
	mean_of(&s, NOW, now);
	mean_of(&s, THEN, then);
	s.reference_ms = (s.mean_ms[NOW] + s.mean_ms[THEN]) / 2;
	s.change_ms = s.mean_ms[NOW] - s.mean_ms[THEN];
	ok = ok && put_groups(&s, now, then);
	ok = ok &&
	     json_object_set_new(
		 into, "count", json_integer((json_int_t)fmin(s.count[NOW], 1e18))) == 0 &&
	     json_object_set_new(
		 into, "count_then", json_integer((json_int_t)fmin(s.count[THEN], 1e18))) == 0 &&
	     json_object_set_new(into, "mean_ms", json_real(s.mean_ms[NOW])) == 0 &&
	     json_object_set_new(into, "mean_then_ms", json_real(s.mean_ms[THEN])) == 0 &&
	     json_object_set_new(into, "within_ms", json_real(s.within_ms)) == 0 &&
	     json_object_set_new(into, "mix_ms", json_real(s.mix_ms)) == 0 &&
	     put_part(&s, into, s.change_ms,
		 hypot(deviation_ms(&s, NOW, now), deviation_ms(&s, THEN, then)));
	ok = put_largest(into, "edges", s.edges, o->list_max) && ok;
	ok = put_largest(into, "groups", s.groups, o->list_max) && ok;
	json_decref(s.index[NOW]);
	json_decref(s.index[THEN]);
	return ok ? 0 : err_set(e, ERR_MEMORY, "out of memory for shares of change");
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/change_inside.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/texts.h"

enum { CALLS_MAX = 1 << 20 }; /* distinct calls of a request type in a document */

double
number_in(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

static uint64_t
count_of(const json_t *v)
{
	double n = json_number_value(v);

	return n > 0 && n < UINT32_MAX ? (uint64_t)n : n > 0 ? UINT32_MAX : 0;
}

static uint32_t
text_of(struct pair *p, const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	return json_is_string(v)
	           ? texts_intern(p->texts, json_string_value(v), json_string_length(v))
	           : PROFILE_NONE;
}

static bool
read_times(struct pair *p, struct call_times **ret, const json_t *o, const char *what)
{
	char calls[32], mean[32], buckets[32];
	const json_t *list, *b;
	size_t i;

	snprintf(calls, sizeof calls, "%s_calls", what);
	snprintf(mean, sizeof mean, "%s_mean_ms", what);
	snprintf(buckets, sizeof buckets, "%s_buckets", what);
	list = json_object_get(o, buckets);
	if (!json_is_array(list))
		return true;
	if ((*ret = arena_calloc(p->arena, 1, sizeof **ret)) == NULL)
		return false;
	(*ret)->n = count_of(json_object_get(o, calls));
	(*ret)->mean_ms = number_in(o, mean);
	json_array_foreach (list, i, b) {
		json_int_t at = json_integer_value(json_array_get(b, 0)),
			   n = json_integer_value(json_array_get(b, 1));

		if (at >= 0 && at < PROFILE_BUCKETS && n > 0 && n <= UINT32_MAX)
			(*ret)->buckets[at] = (uint32_t)n;
	}
	return true;
}

static uint64_t
hash_numbers(uint32_t a, uint32_t b, uint32_t c)
{
	return hash_u64(hash_u64((uint64_t)a << 32 | b) ^ c);
}

/* Returns the number of the call, adding the call if it is new; -1: out of memory. */
static int64_t
call_of(struct pair *p, const json_t *o, uint32_t parent)
{
	uint32_t label = text_of(p, o, "operation"), far = text_of(p, o, "far");
	uint64_t hash = hash_numbers(parent, label, far);
	const struct hash_slot *s;

	for (s = hash_table_first(&p->call_index, hash); s != NULL;
	     s = hash_table_next(&p->call_index, s)) {
		const struct call *c = &p->calls[s->entry];

		if (c->parent == parent && c->label == label && c->far == far)
			return s->entry;
	}
	if (!array_reserve(p->calls, p->calls_cap, p->ncalls + 1) ||
	    !hash_table_put(&p->call_index, hash, p->ncalls))
		return -1;
	p->calls[p->ncalls] = (struct call){
		.parent = parent,
		.label = label,
		.far = far,
		.service = text_of(p, o, "service"),
	};
	p->calls[p->ncalls].far_service = far != PROFILE_NONE ? text_of(p, o, "far_service")
	                                                      : p->calls[p->ncalls].service;
	return p->ncalls++;
}

/* The same for a step. */
static int64_t
step_of(struct pair *p, uint32_t call, uint32_t after, uint32_t then)
{
	uint64_t hash = hash_numbers(call, after, then);
	const struct hash_slot *s;

	for (s = hash_table_first(&p->step_index, hash); s != NULL;
	     s = hash_table_next(&p->step_index, s)) {
		const struct onward *step = &p->steps[s->entry];

		if (step->call == call && step->after == after && step->then == then)
			return s->entry;
	}
	if (!array_reserve(p->steps, p->steps_cap, p->nsteps + 1) ||
	    !hash_table_put(&p->step_index, hash, p->nsteps))
		return -1;
	p->steps[p->nsteps] = (struct onward){ .call = call, .after = after, .then = then };
	return p->nsteps++;
}

/* Translates a call's number from the document's to the pair's; null becomes PROFILE_NONE. False: the
 * document has no call of that number. */
static bool
number_of(uint32_t *ret, const json_t *v, const uint32_t *numbers, size_t n)
{
	*ret = PROFILE_NONE;
	if (v == NULL || json_is_null(v))
		return true;
	if (!json_is_integer(v) || json_integer_value(v) < 0 || (size_t)json_integer_value(v) >= n)
		return false;
	*ret = numbers[json_integer_value(v)];
	return true;
}

static int
read_call(
    struct pair *p, enum side side, const json_t *o, uint32_t *numbers, size_t i, struct err *e)
{
	uint32_t parent;
	int64_t n;

	if (!json_is_string(json_object_get(o, "operation")) ||
	    !json_is_string(json_object_get(o, "service")) ||
	    (json_is_string(json_object_get(o, "far")) &&
		!json_is_string(json_object_get(o, "far_service"))) ||
	    !number_of(&parent, json_object_get(o, "parent"), numbers, i))
		return err_set(e, ERR_INPUT,
		    "operation %zu: without its name or service, or not after its caller", i);
	if ((n = call_of(p, o, parent)) < 0)
		return err_set(e, ERR_MEMORY, "out of memory for a document's operations");
	numbers[i] = (uint32_t)n;
	p->calls[n].traces[side] += count_of(json_object_get(o, "traces"));
	p->calls[n].calls[side] += count_of(json_object_get(o, "calls"));
	if (!read_times(p, &p->calls[n].self[side], o, "self") ||
	    !read_times(p, &p->calls[n].way[side], o, "way"))
		return err_set(e, ERR_MEMORY, "out of memory for a document's times");
	return 0;
}

static int
read_steps(struct pair *p, enum side side, const json_t *list, const uint32_t *numbers, size_t i,
    size_t n, struct err *e)
{
	uint32_t after, then;
	const json_t *s;
	size_t k;
	int64_t at;

	json_array_foreach (list, k, s) {
		if (!number_of(&after, json_array_get(s, 0), numbers, n) ||
		    !number_of(&then, json_array_get(s, 1), numbers, n))
			return err_set(
			    e, ERR_INPUT, "operation %zu: goes on to one that is not there", i);
		if ((at = step_of(p, numbers[i], after, then)) < 0)
			return err_set(e, ERR_MEMORY, "out of memory for a document's operations");
		p->steps[at].count[side] += count_of(json_array_get(s, 2));
	}
	return 0;
}

/* ---- slices of time ---- */

static bool
add_counted(struct pair *p, enum slice_what what, uint32_t of, json_int_t bucket, json_int_t count)
{
	if (bucket < 0 || bucket >= PROFILE_BUCKETS || count <= 0 || count > UINT32_MAX)
		return true;
	if (!array_reserve(p->counted, p->counted_cap, p->ncounted + 1))
		return false;
	p->counted[p->ncounted++] = (struct counted){
		.what = what, .of = of, .bucket = (uint32_t)bucket, .count = (uint32_t)count
	};
	return true;
}

/* [[bucket, count]..] of a call. */
static bool
read_counted(struct pair *p, enum slice_what what, uint32_t of, const json_t *buckets)
{
	const json_t *b;
	bool ok = true;
	size_t i;

	json_array_foreach (buckets, i, b)
		ok = ok && add_counted(p, what, of, json_integer_value(json_array_get(b, 0)),
			       json_integer_value(json_array_get(b, 1)));
	return ok;
}

/* What a slice counts of calls: [[call, [[bucket, count]..]]..]. A call that the document does not have
 * is passed over. */
static bool
read_subjects(
    struct pair *p, enum slice_what what, const json_t *list, const uint32_t *numbers, size_t n)
{
	const json_t *v;
	uint32_t of;
	bool ok = true;
	size_t i;

	json_array_foreach (list, i, v)
		if (number_of(&of, json_array_get(v, 0), numbers, n) && of != PROFILE_NONE)
			ok = ok && read_counted(p, what, of, json_array_get(v, 1));
	return ok;
}

/* [[call, after, then, count]..] */
static bool
read_next(struct pair *p, const json_t *list, const uint32_t *numbers, size_t n)
{
	uint32_t call, after, then;
	const json_t *v;
	int64_t step;
	bool ok = true;
	size_t i;

	json_array_foreach (list, i, v) {
		if (!number_of(&call, json_array_get(v, 0), numbers, n) || call == PROFILE_NONE ||
		    !number_of(&after, json_array_get(v, 1), numbers, n) ||
		    !number_of(&then, json_array_get(v, 2), numbers, n))
			continue;
		ok = ok && (step = step_of(p, call, after, then)) >= 0 &&
		     add_counted(p, SLICE_STEP, (uint32_t)step, 0,
			 json_integer_value(json_array_get(v, 3)));
	}
	return ok;
}

/* Adds the response times of a slice to those of the side; returns how many there are. */
static double
read_totals(struct pair *p, enum side side, const json_t *buckets)
{
	const json_t *b;
	double all = 0;
	size_t i;

	json_array_foreach (buckets, i, b) {
		json_int_t at = json_integer_value(json_array_get(b, 0)),
			   n = json_integer_value(json_array_get(b, 1));

		if (at < 0 || at >= PROFILE_BUCKETS || n <= 0 ||
		    n > UINT32_MAX - p->total[side][at])
			continue;
		p->total[side][at] += (uint32_t)n;
		all += (double)n;
	}
	return all;
}

static bool
read_slice(struct pair *p, enum side side, const json_t *o, double length_ms,
    const uint32_t *numbers, size_t n)
{
	struct slice s = { .begin_ms = number_in(o, "begin_ms"), .first = p->ncounted };

	s.requests = read_totals(p, side, json_object_get(o, "total_buckets"));
	p->begin_ms[side] = p->timed[side] ? fmin(p->begin_ms[side], s.begin_ms) : s.begin_ms;
	p->end_ms[side] = p->timed[side] ? fmax(p->end_ms[side], s.begin_ms + length_ms)
	                                 : s.begin_ms + length_ms;
	p->timed[side] = true;
	if (side == NOW) /* only its times matter */
		return true;
	if (!array_reserve_max(p->slices, p->slices_cap, p->nslices + 1, SLICES_MAX) ||
	    !read_subjects(p, SLICE_CALLS, json_object_get(o, "calls"), numbers, n) ||
	    !read_subjects(p, SLICE_SELF, json_object_get(o, "self_buckets"), numbers, n) ||
	    !read_subjects(p, SLICE_WAY, json_object_get(o, "way_buckets"), numbers, n) ||
	    !read_next(p, json_object_get(o, "next"), numbers, n))
		return false;
	s.ncounted = p->ncounted - s.first;
	p->slices[p->nslices++] = s;
	return true;
}

static int
read_slices(struct pair *p, enum side side, const json_t *type, const uint32_t *numbers, size_t n,
    struct err *e)
{
	const json_t *list = json_object_get(type, "slices"), *o;
	double length_ms = number_in(type, "slice_ms");
	size_t i;

	if (json_array_size(list) > SLICES_MAX)
		return err_set(e, ERR_INPUT, "%zu slices of time: more than %d",
		    json_array_size(list), SLICES_MAX);
	json_array_foreach (list, i, o)
		if (length_ms > 0 && json_is_number(json_object_get(o, "begin_ms")) &&
		    !read_slice(p, side, o, length_ms, numbers, n))
			return err_set(e, ERR_MEMORY, "out of memory for slices of time");
	return 0;
}

int
pair_read(struct pair *p, enum side side, const json_t *type, struct err *e)
{
	const json_t *list = json_object_get(type, "operations"), *o;
	size_t n = json_array_size(list), i;
	uint32_t *numbers;
	int rc = 0;

	if (n > CALLS_MAX)
		return err_set(
		    e, ERR_INPUT, "%zu operations of one type: more than %d", n, CALLS_MAX);
	if ((numbers = arena_alloc(p->arena, (n + 1) * sizeof *numbers)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for a document's operations");
	p->traces[side] = number_in(type, "operations_traces");
	json_array_foreach (list, i, o)
		if ((rc = read_call(p, side, o, numbers, i, e)) != 0)
			return rc;
	json_array_foreach (list, i, o)
		if ((rc = read_steps(p, side, json_object_get(o, "next"), numbers, i, n, e)) != 0)
			return rc;
	return read_slices(p, side, type, numbers, n, e);
}

struct placed {
	struct onward step;
	uint32_t was;
};

static int
compare_steps(const void *a, const void *b)
{
	const struct onward *x = &((const struct placed *)a)->step,
			    *y = &((const struct placed *)b)->step;

	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	if (x->after != y->after)
		return x->after < y->after ? -1 : 1;
	return (x->then > y->then) - (x->then < y->then);
}

bool
pair_sort(struct pair *p)
{
	struct placed *all = malloc((p->nsteps + 1) * sizeof *all);

	p->step_at = arena_alloc(p->arena, (p->nsteps + 1) * sizeof *p->step_at);
	if (all == NULL || p->step_at == NULL) {
		free(all);
		return false;
	}
	for (uint32_t i = 0; i < p->nsteps; i++)
		all[i] = (struct placed){ p->steps[i], i };
	qsort(all, p->nsteps, sizeof *all, compare_steps);
	for (uint32_t i = 0; i < p->nsteps; i++) {
		p->steps[i] = all[i].step;
		p->step_at[all[i].was] = i;
	}
	free(all);
	return true;
}

void
pair_release(struct pair *p)
{
	free(p->calls);
	free(p->steps);
	free(p->slices);
	free(p->counted);
	hash_table_release(&p->call_index);
	hash_table_release(&p->step_index);
	*p = (struct pair){ 0 };
}

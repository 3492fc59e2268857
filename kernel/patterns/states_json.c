/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/patterns/states_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "kernel/patterns/mine.h"

/* ---- writing ---- */

/* Bytes beyond ASCII become '?': JSON takes UTF-8 only. */
static json_t *
text_of(const char *s, size_t len)
{
	json_t *j = json_stringn(s, len);
	char *copy;

	if (j != NULL || (copy = malloc(len + 1)) == NULL)
		return j;
	for (size_t i = 0; i < len; i++)
		copy[i] = s[i];
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)copy[i] >= 128)
			copy[i] = '?';
	j = json_stringn(copy, len);
	free(copy);
	return j;
}

static json_t *
hash_json(struct hash128 h)
{
	char text[33];

	snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, h.a, h.b);
	return json_string(text);
}

/* What a measure usually is: [mean in ns or how often, mean, below, above of limits.h, rare, low, high, low_one, high_one]. */
static json_t *
measure_json(const struct states_place *p, uint32_t m)
{
	const struct limit *l = &p->limits.list[m];

	return json_pack("[f, f, f, f, i, i, i, i, i]", p->means[m], l->mean, l->below, l->above,
	    (int)l->rare, (int)l->low, (int)l->high, (int)l->low_one, (int)l->high_one);
}

static json_t *
pattern_json(const struct states_place *p, const struct states_pattern *q)
{
	struct buf text = { 0 };
	char states[MINE_LENGTH_MAX + 1], looped[MINE_LENGTH_MAX + 1];
	json_t *times = json_array(), *ret;

	for (uint32_t i = 0; i < q->len; i++) {
		states[i] = state_letter((enum below_state)q->states[i]);
		looped[i] = q->looped[i] ? '+' : '-';
		json_array_append_new(times, measure_json(p, q->measure + i));
	}
	states_pattern_text(&text, q);
	ret = json_pack("{s:s%, s:s%, s:s%, s:i, s:o}", "pattern", (const char *)text.data,
	    text.len, "states", states, (size_t)q->len, "looped", looped, (size_t)q->len, "support",
	    (int)q->support, "times", times);
	buf_release(&text);
	return ret;
}

static json_t *
interval_json(const struct states_place *p, uint32_t number)
{
	const struct states_interval *in = &p->intervals[number];
	json_t *states = json_object(), *patterns = json_array();

	for (unsigned s = 0; s < BELOW_STATES && p->limits.samples > 0; s++) {
		uint32_t m = states_measure(number, (enum below_state)s);

		if (p->means[m] > 0)
			json_object_set_new(states, below_state_word((enum below_state)s),
			    json_pack("{s:o, s:o}", "time", measure_json(p, m), "count",
				measure_json(p, m + 1)));
	}
	for (uint32_t k = 0; k < in->npatterns; k++)
		json_array_append_new(patterns, pattern_json(p, &in->patterns[k]));
	return json_pack("{s:i, s:b, s:o, s:o}", "interval", (int)number, "coarse", in->coarse,
	    "states", states, "patterns", patterns);
}

static json_t *
place_json(const struct states_place *p)
{
	json_t *intervals = json_array(), *j;

	for (uint32_t i = 0; i < p->nintervals; i++) {
		j = interval_json(p, i);
		if (json_object_size(json_object_get(j, "states")) > 0 ||
		    json_array_size(json_object_get(j, "patterns")) > 0)
			json_array_append_new(intervals, j);
		else
			json_decref(j);
	}
	j = json_pack("{s:o, s:I, s:i, s:I, s:i, s:I, s:f, s:f, s:i, s:i, s:[f, f], s:o}", "name",
	    text_of(p->name, strlen(p->name)), "parent",
	    p->parent == OPERATION_NONE ? (json_int_t)-1 : (json_int_t)p->parent, "slot",
	    (int)p->slot, "slots", (json_int_t)p->nslots, "samples", (int)p->limits.samples,
	    "operations", (json_int_t)p->operations, "own_ns", p->own_ns, "resolution_ns",
	    p->resolution_ns, "outside", (int)p->limits.outside, "measures",
	    (int)p->limits.nmeasures, "k", p->limits.k[0], p->limits.k[1], "intervals", intervals);
	return j;
}

static json_t *
counts_json(const struct states_counts *c)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "malformed", (json_int_t)c->malformed,
	    "unknown", (json_int_t)c->unknown, "types_over", (json_int_t)c->types_over, "not_kept",
	    (json_int_t)c->not_kept, "coarse", (json_int_t)c->coarse, "patterns_over",
	    (json_int_t)c->patterns_over);
}

json_t *
states_json(const struct states_baseline *b, const char *made)
{
	json_t *types = json_array();

	for (uint32_t i = 0; i < b->ntypes; i++) {
		const struct states_type *t = &b->types[i];
		json_t *places = json_array();

		for (uint32_t k = 0; k < t->nplaces; k++)
			json_array_append_new(places, place_json(&t->places[k]));
		json_array_append_new(
		    types, json_pack("{s:o, s:I, s:o}", "type", hash_json(t->type), "requests",
			       (json_int_t)t->requests, "operations", places));
	}
	return json_pack("{s:s, s:i, s:s*, s:I, s:f, s:i, s:o, s:o}", "document", STATES_DOCUMENT,
	    "version", STATES_VERSION, "made", made, "requests", (json_int_t)b->requests, "support",
	    b->support, "gap_max", (int)b->gap_max, "counts", counts_json(&b->counts), "types",
	    types);
}

/* ---- reading ---- */

struct states_input {
	const char *name;
	struct err *e;
	struct arena *a;
};

static int
malformed(const struct states_input *in, const char *what)
{
	return err_set(
	    in->e, ERR_INPUT, "%s: a baseline of states with %s out of range", in->name, what);
}

static int
out_of_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "out of memory");
}

static bool
number(double *ret, const json_t *j, double least, double most)
{
	*ret = json_number_value(j);
	return json_is_number(j) && isfinite(*ret) && *ret >= least && *ret <= most;
}

static bool
integer(uint32_t *ret, const json_t *j, uint32_t most)
{
	json_int_t v = json_integer_value(j);

	*ret = (uint32_t)v;
	return json_is_integer(j) && v >= 0 && v <= (json_int_t)most;
}

static bool
read_measure(struct states_place *p, uint32_t m, const json_t *j)
{
	struct limit *l = &p->limits.list[m];
	uint32_t rare, n = p->limits.samples;
	bool ok = json_is_array(j) && json_array_size(j) == 9 &&
	          number(&p->means[m], json_array_get(j, 0), 0, 1e18) &&
	          number(&l->mean, json_array_get(j, 1), 0, 100) &&
	          number(&l->below, json_array_get(j, 2), 1e-6, 100) &&
	          number(&l->above, json_array_get(j, 3), 1e-6, 100) &&
	          integer(&rare, json_array_get(j, 4), 1) &&
	          integer(&l->low, json_array_get(j, 5), n) &&
	          integer(&l->high, json_array_get(j, 6), n) &&
	          integer(&l->low_one, json_array_get(j, 7), n) &&
	          integer(&l->high_one, json_array_get(j, 8), n);

	l->rare = ok && rare == 1;
	return ok;
}

static int
read_pattern(struct states_place *p, struct states_pattern *q, uint32_t *measure, const json_t *j,
    const struct states_input *in)
{
	const char *states = json_string_value(json_object_get(j, "states"));
	const char *looped = json_string_value(json_object_get(j, "looped"));
	const json_t *times = json_object_get(j, "times");
	size_t len = states != NULL ? strlen(states) : 0;
	uint8_t *s;
	bool *l;

	if (len == 0 || len > MINE_LENGTH_MAX || looped == NULL || strlen(looped) != len ||
	    !json_is_array(times) || json_array_size(times) != len ||
	    len > p->limits.nmeasures - *measure ||
	    !integer(
		&q->support, json_object_get(j, "support"), p->limits.samples > 0 ? INT32_MAX : 0))
		return malformed(in, "a pattern");
	if ((s = arena_alloc(in->a, len)) == NULL ||
	    (l = arena_alloc(in->a, len * sizeof *l)) == NULL)
		return out_of_memory(in->e);
	q->states = s;
	q->looped = l;
	q->len = (uint32_t)len;
	q->measure = *measure;
	for (uint32_t i = 0; i < q->len; i++) {
		enum below_state state = letter_state(states[i]);

		if (state == BELOW_STATES || (looped[i] != '+' && looped[i] != '-'))
			return malformed(in, "a pattern");
		s[i] = (uint8_t)state;
		l[i] = looped[i] == '+';
		if (!read_measure(p, (*measure)++, json_array_get(times, i)))
			return malformed(in, "times of a pattern");
	}
	return 0;
}

static int
read_interval(
    struct states_place *p, uint32_t *measure, const json_t *j, const struct states_input *in)
{
	const json_t *states = json_object_get(j, "states"),
		     *patterns = json_object_get(j, "patterns");
	struct states_interval *to;
	const json_t *v;
	const char *word;
	uint32_t number_of, i = 0;
	int rc = 0;

	if (!integer(&number_of, json_object_get(j, "interval"), p->nintervals - 1) ||
	    !json_is_object(states) || !json_is_array(patterns) ||
	    json_array_size(patterns) > STATES_PATTERNS_MAX ||
	    (to = &p->intervals[number_of])->patterns != NULL)
		return malformed(in, "an interval");
	to->coarse = json_is_true(json_object_get(j, "coarse"));
	json_object_foreach ((json_t *)(uintptr_t)states, word, v) {
		enum below_state s = BELOW_STATES;
		uint32_t m;

		for (unsigned k = 0; k < BELOW_STATES; k++)
			if (strcmp(word, below_state_word((enum below_state)k)) == 0)
				s = (enum below_state)k;
		m = states_measure(number_of, s);
		if (s == BELOW_STATES || !read_measure(p, m, json_object_get(v, "time")) ||
		    !read_measure(p, m + 1, json_object_get(v, "count")))
			return malformed(in, "a state");
	}
	to->npatterns = (uint32_t)json_array_size(patterns);
	to->patterns = arena_calloc(in->a, (size_t)to->npatterns + 1, sizeof *to->patterns);
	if (to->patterns == NULL)
		return out_of_memory(in->e);
	for (; i < to->npatterns && rc == 0; i++)
		rc = read_pattern(p, &to->patterns[i], measure, json_array_get(patterns, i), in);
	return rc;
}

/* A measure that is not in the document was never anything but 0. */
static void
set_zero(struct states_place *p)
{
	for (uint32_t m = 0; m < p->limits.nmeasures; m++) {
		double floor = states_floor(
		    0, p->resolution_ns, m % 2 == 1 && m < 2 * BELOW_STATES * p->nintervals);

		p->limits.list[m] = (struct limit){ .below = floor, .above = floor, .rare = true };
	}
}

static int
read_place(struct states_place *p, const struct states_place *places, uint32_t number_of,
    const json_t *j, const struct states_input *in)
{
	const json_t *name = json_object_get(j, "name"), *parent = json_object_get(j, "parent"),
		     *k = json_object_get(j, "k"), *intervals = json_object_get(j, "intervals"), *v;
	json_int_t operations = json_integer_value(json_object_get(j, "operations"));
	uint32_t measure;
	size_t i;
	int rc;

	p->parent = OPERATION_NONE;
	if (!json_is_string(name) ||
	    (number_of == 0 ? json_integer_value(parent) != -1
			    : !integer(&p->parent, parent, number_of - 1)) ||
	    !integer(&p->slot, json_object_get(j, "slot"), OPERATIONS_MAX) ||
	    !integer(&p->nslots, json_object_get(j, "slots"), OPERATIONS_MAX) ||
	    (number_of > 0 && p->slot >= places[p->parent].nslots) || operations < 0)
		return malformed(in, "an operation");
	p->nintervals = states_intervals(p->nslots);
	p->operations = (uint64_t)operations;
	if (!integer(&p->limits.samples, json_object_get(j, "samples"), STATES_SAMPLES_MAX) ||
	    (p->limits.samples > 0 && p->limits.samples < LIMITS_SAMPLES_MIN) ||
	    !integer(&p->limits.outside, json_object_get(j, "outside"), p->limits.samples) ||
	    !integer(&p->limits.nmeasures, json_object_get(j, "measures"), STATES_MEASURES_MAX) ||
	    p->limits.nmeasures < (p->limits.samples > 0 ? 2 * BELOW_STATES * p->nintervals : 0) ||
	    !number(&p->own_ns, json_object_get(j, "own_ns"), 0, 1e18) ||
	    !number(&p->resolution_ns, json_object_get(j, "resolution_ns"), 1, 1e18) ||
	    !json_is_array(k) || json_array_size(k) != 2 ||
	    !number(&p->limits.k[0], json_array_get(k, 0), 0, 1e6) ||
	    !number(&p->limits.k[1], json_array_get(k, 1), 0, 1e6) || !json_is_array(intervals))
		return malformed(in, "limits of an operation");
	if (p->limits.samples == 0)
		p->limits.nmeasures = 0;
	if ((p->name = arena_text(in->a, json_string_value(name), json_string_length(name))) ==
		NULL ||
	    (p->intervals = arena_calloc(in->a, p->nintervals, sizeof *p->intervals)) == NULL ||
	    (p->means = arena_calloc(in->a, (size_t)p->limits.nmeasures + 1, sizeof *p->means)) ==
		NULL ||
	    (p->limits.list = arena_calloc(
		 in->a, (size_t)p->limits.nmeasures + 1, sizeof *p->limits.list)) == NULL)
		return out_of_memory(in->e);
	set_zero(p);
	measure = 2 * BELOW_STATES * p->nintervals;
	if (p->limits.samples == 0)
		return 0;
	json_array_foreach (intervals, i, v)
		if ((rc = read_interval(p, &measure, v, in)) != 0)
			return rc;
	return measure == p->limits.nmeasures ? 0 : malformed(in, "the number of measures");
}

/* 32 hexadecimal digits. */
static bool
read_hash(struct hash128 *ret, const json_t *j)
{
	const char *text = json_string_value(j);

	*ret = (struct hash128){ 0 };
	if (text == NULL || strlen(text) != 32)
		return false;
	for (uint32_t i = 0; i < 32; i++) {
		const char *at = strchr("0123456789abcdef", text[i]);
		uint64_t *half = i < 16 ? &ret->a : &ret->b;

		if (at == NULL)
			return false;
		*half = *half << 4 | (uint64_t)(at - "0123456789abcdef");
	}
	return true;
}

static int
read_type(struct states_type *t, const json_t *j, const struct states_input *in)
{
	const json_t *places = json_object_get(j, "operations"), *v;
	json_int_t requests = json_integer_value(json_object_get(j, "requests"));
	size_t i;
	int rc;

	if (!read_hash(&t->type, json_object_get(j, "type")) || requests < 0 ||
	    !json_is_array(places) || json_array_size(places) == 0 ||
	    json_array_size(places) > OPERATIONS_MAX)
		return malformed(in, "a type of requests");
	t->requests = (uint64_t)requests;
	t->nplaces = (uint32_t)json_array_size(places);
	if ((t->places = arena_calloc(in->a, t->nplaces, sizeof *t->places)) == NULL)
		return out_of_memory(in->e);
	json_array_foreach (places, i, v)
		if ((rc = read_place(&t->places[i], t->places, (uint32_t)i, v, in)) != 0)
			return rc;
	return 0;
}

bool
states_is(const json_t *document)
{
	const char *what = json_string_value(json_object_get(document, "document"));

	return what != NULL && strcmp(what, STATES_DOCUMENT) == 0;
}

int
states_check(const json_t *document, const char *name, struct err *e)
{
	const json_t *version = json_object_get(document, "version");

	if (!states_is(document))
		return err_set(e, ERR_INPUT,
		    "%s: is no baseline of states; hone baseline save --states makes one", name);
	if (!json_is_integer(version) || json_integer_value(version) != STATES_VERSION)
		return err_set(e, ERR_VERSION,
		    "%s: a baseline of states of version %lld, this hone reads version %d", name,
		    (long long)json_integer_value(version), STATES_VERSION);
	return 0;
}

int
states_read(struct states_baseline **ret, const json_t *document, const char *name, struct err *e)
{
	const json_t *types = json_object_get(document, "types"), *v;
	json_int_t requests = json_integer_value(json_object_get(document, "requests"));
	struct states_baseline *b;
	struct states_input in = { .name = name, .e = e };
	size_t i;
	int rc;

	if ((rc = states_check(document, name, e)) != 0)
		return rc;
	if ((b = calloc(1, sizeof *b)) == NULL)
		return out_of_memory(e);
	in.a = &b->arena;
	if (requests < 0 || !number(&b->support, json_object_get(document, "support"), 1e-9, 1) ||
	    !integer(&b->gap_max, json_object_get(document, "gap_max"), MINE_GAP_MAX) ||
	    !json_is_array(types) || json_array_size(types) > STATES_TYPES_MAX)
		rc = malformed(&in, "its options");
	b->requests = (uint64_t)requests;
	if (rc == 0 &&
	    (b->types = arena_calloc(in.a, json_array_size(types) + 1, sizeof *b->types)) == NULL)
		rc = out_of_memory(e);
	if (rc == 0)
		json_array_foreach (types, i, v) {
			if ((rc = read_type(&b->types[b->ntypes], v, &in)) != 0)
				break;
			b->ntypes++;
		}
	if (rc == 0) {
		*ret = b;
		return 0;
	}
	states_baseline_free(b);
	return rc;
}

/* ---- the comparison ---- */

/* The name of the operation in a slot of the place; null: there is none. */
static json_t *
below_json(const struct states_place *p, const struct states_type *t, uint32_t slot)
{
	for (uint32_t i = 0; i < t->nplaces && slot < p->nslots; i++)
		if (t->places[i].parent < t->nplaces && &t->places[t->places[i].parent] == p &&
		    t->places[i].slot == slot)
			return text_of(t->places[i].name, strlen(t->places[i].name));
	return json_null();
}

static json_t *
finding_json(const struct states_finding *f, const struct states_place_change *p,
    const struct states_type *t)
{
	struct buf text = { 0 };
	json_t *j;
	uint32_t i = f->interval;

	if (f->pattern != NULL)
		states_pattern_text(&text, f->pattern);
	j = json_pack("{s:s, s:s, s:i, s:s, s:b, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "state",
	    below_state_word(f->state), "resource", state_resource(f->state), "interval",
	    (int)f->interval, "measure",
	    f->absent     ? "absent"
	    : f->is_count ? "count"
			  : "time",
	    "more", f->more, "operations", (int)f->operations, "of", (int)p->operations, "chance",
	    f->chance, "mean", f->mean, "usual", f->usual, "low", f->low, "high", f->high,
	    "excess_ns", f->excess_ns);
	json_object_set_new(j, "cost_ns", json_real(f->cost_ns));
	json_object_set_new(j, "sigmas", json_integer(f->sigmas));
	/* 2i is behind slot i - 1 and before slot i; 2i + 1 lies between the operations of slot i */
	json_object_set_new(
	    j, "after", below_json(p->place, t, i > 0 ? (i + 1) / 2 - 1 : UINT32_MAX));
	json_object_set_new(j, "before", below_json(p->place, t, i / 2));
	if (f->pattern != NULL)
		json_object_set_new(j, "pattern", json_stringn((const char *)text.data, text.len));
	if (f->pattern != NULL && !f->absent)
		json_object_set_new(j, "position", json_integer(f->position));
	buf_release(&text);
	return j;
}

static json_t *
example_json(const struct states_example *x)
{
	char id[33];

	if (x->id_high != 0)
		snprintf(id, sizeof id, "%016" PRIx64 "%016" PRIx64, x->id_high, x->id);
	else
		snprintf(id, sizeof id, "%016" PRIx64, x->id);
	return json_pack("{s:s, s:I, s:i, s:s, s:f, s:f}", "request", id, "begin_ns",
	    (json_int_t)x->begin_ns, "interval", (int)x->interval, "state",
	    below_state_word(x->state), "ns", x->ns, "usual_ns", x->usual_ns);
}

static json_t *
place_change_json(const struct states_type_change *t, const struct states_place_change *p)
{
	json_t *findings = json_array(), *examples = json_array(), *path = json_array();

	for (uint32_t at = p->place->parent; at != OPERATION_NONE; at = t->type->places[at].parent)
		json_array_insert_new(
		    path, 0, text_of(t->type->places[at].name, strlen(t->type->places[at].name)));
	for (uint32_t i = 0; i < p->nfindings; i++)
		json_array_append_new(findings, finding_json(&p->findings[i], p, t->type));
	for (uint32_t i = 0; i < p->nexamples; i++)
		json_array_append_new(examples, example_json(&p->examples[i]));
	return json_pack("{s:o, s:o, s:o, s:i, s:i, s:i, s:i, s:i, s:f, s:i, s:o, s:o}", "type",
	    hash_json(t->type->type), "name", text_of(p->place->name, strlen(p->place->name)),
	    "below", path, "height", (int)p->height, "samples", (int)p->place->limits.samples,
	    "operations", (int)p->operations, "outside", (int)p->outside, "explained",
	    (int)p->explained, "chance", p->chance, "intervals", (int)p->place->nintervals,
	    "findings", findings, "examples", examples);
}

struct listed {
	const struct states_type_change *type;
	const struct states_place_change *place;
	uint32_t order;
};

/* What its first finding costs: the time by which operations differ from what is usual. */
static double
cost_of(const struct states_place_change *p)
{
	return p->nfindings > 0 ? p->findings[0].cost_ns : -1;
}

/* Whether its first finding is that it takes less. */
static bool
saves(const struct states_place_change *p)
{
	return p->nfindings > 0 && !p->findings[0].more;
}

/* What became slower is what a reader looks for: what saves time comes behind it. */
static int
costliest_first(const void *x, const void *y)
{
	const struct listed *a = x, *b = y;
	double p = cost_of(a->place), q = cost_of(b->place);

	if (p >= 0 && q >= 0 && saves(a->place) != saves(b->place))
		return saves(a->place) ? 1 : -1;
	if (p != q)
		return p > q ? -1 : 1;

	if (a->place->height != b->place->height)
		return a->place->height < b->place->height ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* Those with findings first, slower ones before faster ones, by their cost; then what calls no others. */
static json_t *
operations_json(const struct states_comparison *c)
{
	json_t *ret = json_array();
	struct listed *list;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->ntypes; i++)
		n += c->types[i].type->nplaces;
	if ((list = calloc((size_t)n + 1, sizeof *list)) == NULL) {
		json_decref(ret);
		return NULL;
	}
	n = 0;
	for (uint32_t i = 0; i < c->ntypes; i++)
		for (uint32_t k = 0; k < c->types[i].type->nplaces; k++, n++)
			list[n] = (struct listed){ &c->types[i], &c->types[i].places[k], n };
	qsort(list, n, sizeof *list, costliest_first);
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(ret, place_change_json(list[i].type, list[i].place));
	free(list);
	return ret;
}

json_t *
states_comparison_json(const struct states_comparison *c, const char *baseline)
{
	json_t *operations = operations_json(c), *news = json_array();

	for (uint32_t i = 0; i < c->nnews; i++)
		json_array_append_new(news,
		    json_pack("{s:o, s:o, s:i, s:I}", "type", hash_json(c->news[i].type), "name",
			text_of(c->news[i].name, strlen(c->news[i].name)), "operations",
			(int)c->news[i].operations, "requests", (json_int_t)c->news[i].requests));
	return json_pack("{s:s, s:i, s:s*, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:o}",
	    "document", "hone.states-comparison", "version", STATES_VERSION, "baseline", baseline,
	    "requests", (json_int_t)c->requests, "requests_new", (json_int_t)c->requests_new,
	    "compared", (json_int_t)c->operations, "outside", (json_int_t)c->outside, "explained",
	    (json_int_t)c->explained, "too_few", (json_int_t)c->too_few, "machine", c->machine,
	    "machine_most", c->machine_most, "counts", counts_json(&c->counts), "operations",
	    operations, "types_new", news);
}

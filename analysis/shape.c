/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folding. A path is a row of items, at first its labels. The shortest body that
 * is there twice in a row, of 1 item, 2, up to 64, is folded wherever it is so,
 * from left to right and each as long as it goes; each such stretch becomes one item,
 * a loop. Then again from 1 item up, since loops are items of other loops, until
 * nothing folds. So inner loops fold before those around them, and a loop begins
 * where its first whole repeat begins: A B A B A is ( A B )+ A. Two loops are equal
 * when their bodies are, however often each went round; a body that ran once is
 * no loop.
 */
#include <string.h>

#include "analysis/group.h"

enum { BODY_MAX = 64 };

struct item {
	uint64_t value;		/* a label, or for a loop a hash of its tokens: equal ones are compared in full */
	uint32_t at, len;	/* its tokens */
};

struct row {
	uint32_t *tokens;
	uint32_t *refs;		/* of a label: the first step on it; of SHAPE_OPEN: how often it went round */
	struct item *items;
	uint32_t ntokens, nitems;
};

struct fold {
	struct row now, next;
	uint32_t *owner;	/* of each step: an earlier step on the same token, or itself */
};

static bool
row_alloc(struct row *r, uint32_t nsteps, struct arena *a)
{
	/* A loop has two brackets and at least as many fewer labels than steps, and no loop is all of another's
	 * body: three tokens for each step are never reached. */
	r->tokens = arena_alloc(a, 3 * (size_t)nsteps * sizeof *r->tokens);
	r->refs = arena_alloc(a, 3 * (size_t)nsteps * sizeof *r->refs);
	r->items = arena_alloc(a, nsteps * sizeof *r->items);
	return r->tokens != NULL && r->refs != NULL && r->items != NULL;
}

/* Are the k items at i the same as the k items after them? */
static bool
repeats(const struct row *r, uint32_t i, uint32_t k)
{
	const struct item *last = &r->items[i + 2 * k - 1];
	uint32_t a = r->items[i].at, b = r->items[i + k].at, end = last->at + last->len;

	return b - a == end - b && memcmp(&r->tokens[a], &r->tokens[b], (b - a) * sizeof *r->tokens) == 0;
}

static void
append_token(struct row *r, uint32_t token, uint32_t ref)
{
	r->tokens[r->ntokens] = token;
	r->refs[r->ntokens++] = ref;
}

static void
append_item(struct row *to, const struct row *from, uint32_t i)
{
	const struct item *it = &from->items[i];

	to->items[to->nitems++] = (struct item){ it->value, to->ntokens, it->len };
	memcpy(&to->tokens[to->ntokens], &from->tokens[it->at], it->len * sizeof *to->tokens);
	memcpy(&to->refs[to->ntokens], &from->refs[it->at], it->len * sizeof *to->refs);
	to->ntokens += it->len;
}

static uint64_t
loop_value(const uint32_t *tokens, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++)
		h = (h ^ tokens[i]) * UINT64_C(0x9e3779b97f4a7c15), h ^= h >> 29;
	return h | UINT64_C(1) << 63;	/* no label */
}

/* The k items at i, `times` times over, become one loop of the next row. */
static void
append_loop(struct fold *f, uint32_t i, uint32_t k, uint32_t times)
{
	const struct row *r = &f->now;
	struct row *to = &f->next;
	uint32_t at = r->items[i].at, len = r->items[i + k].at - at, first = to->ntokens;

	append_token(to, SHAPE_OPEN, times);
	for (uint32_t j = 0; j < len; j++) {
		uint32_t ref = r->refs[at + j];

		for (uint32_t n = 1; n < times; n++) {
			if (r->tokens[at + j] == SHAPE_OPEN)
				ref += r->refs[at + n * len + j];
			else if (r->tokens[at + j] != SHAPE_CLOSE)
				f->owner[r->refs[at + n * len + j]] = ref;
		}
		append_token(to, r->tokens[at + j], ref);
	}
	append_token(to, SHAPE_CLOSE, 0);
	to->items[to->nitems++] = (struct item){ loop_value(&to->tokens[first], len + 2), first, len + 2 };
}

/* Is there anything to fold with bodies of k items? Nearly always not, and then nothing is moved. */
static bool
any_repeat(const struct row *r, uint32_t k)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i + k < r->nitems; i++) {
		run = r->items[i].value == r->items[i + k].value ? run + 1 : 0;
		if (run == k)
			return true;
	}
	return false;
}

/* How many times in a row the k items at i are there. *differs: the first item from i on that is not like the one
 * k after it; it only moves on, so a whole row is compared once. */
static uint32_t
count_times(const struct row *r, uint32_t i, uint32_t k, uint32_t *differs)
{
	uint32_t times = 1, most;

	if (*differs < i)
		*differs = i;
	while (*differs + k < r->nitems && r->items[*differs].value == r->items[*differs + k].value)
		++*differs;
	for (most = (*differs - i) / k + 1; times < most && repeats(r, i, k); times++)
		i += k;
	return times;
}

static bool
fold_bodies(struct fold *f, uint32_t k)
{
	struct row swap, *r = &f->now;
	uint32_t times, differs = 0, before = r->nitems;

	if (!any_repeat(r, k))
		return false;
	f->next.ntokens = f->next.nitems = 0;
	for (uint32_t i = 0; i < before; i += times > 1 ? times * k : 1) {
		times = count_times(r, i, k, &differs);
		if (times > 1)
			append_loop(f, i, k, times);
		else
			append_item(&f->next, r, i);
	}
	swap = f->now;
	f->now = f->next;
	f->next = swap;
	return f->now.nitems < before;
}

static int
fold_path(struct fold *f, const struct critpath *p, struct arena *a, struct err *e)
{
	f->owner = arena_alloc(a, p->nsteps * sizeof *f->owner);
	if (f->owner == NULL || !row_alloc(&f->now, p->nsteps, a) || !row_alloc(&f->next, p->nsteps, a))
		return err_set(e, ERR_MEMORY, "no memory for the shape of %u steps", p->nsteps);
	f->now.nitems = f->now.ntokens = p->nsteps;
	for (uint32_t i = 0; i < p->nsteps; i++) {
		f->now.tokens[i] = p->steps[i].label;
		f->now.refs[i] = f->owner[i] = i;
		f->now.items[i] = (struct item){ p->steps[i].label, i, 1 };
	}
	for (uint32_t k = 1; k <= BODY_MAX && 2 * k <= f->now.nitems; k++)
		if (fold_bodies(f, k))
			k = 0;
	for (uint32_t i = 0; i < p->nsteps; i++)	/* owners come first */
		f->owner[i] = f->owner[f->owner[i]];
	return 0;
}

/* ---- from tokens to edges ---- */

struct edges {
	uint32_t *in;		/* [ntokens]: the edge from the label before it */
	uint32_t *back;		/* [ntokens]: of a label that ends loops: the first of the edges back */
};

static void
add_edge(struct shape *s, const struct critpath *p, uint32_t from, uint32_t to)
{
	const struct step *a = &p->steps[s->first_step[from]], *b = &p->steps[s->first_step[to]];

	s->edges[s->nedges++] = (struct shape_edge){ a->label, b->label, a->unit_label, b->unit_label, from, to };
}

/* In the order in which one reads: into a label, then, at a bracket, back to the loop's first label. `open` is
 * room for a stack of the loops' first labels. */
static void
lay_edges(struct shape *s, const struct critpath *p, struct edges *x, uint32_t *open)
{
	uint32_t last = TRACE_NONE, depth = 0, entered = 0;

	for (uint32_t i = 0; i < s->ntokens; i++) {
		x->in[i] = x->back[i] = TRACE_NONE;
		if (s->tokens[i] == SHAPE_OPEN) {
			depth++;
		} else if (s->tokens[i] == SHAPE_CLOSE) {
			if (x->back[last] == TRACE_NONE)
				x->back[last] = s->nedges;
			add_edge(s, p, last, open[--depth]);
			entered = depth;
		} else {
			for (; entered < depth; entered++)
				open[entered] = i;
			x->in[i] = s->nedges;
			if (last != TRACE_NONE)
				add_edge(s, p, last, i);
			last = i;
		}
	}
}

/* Gives each stretch of the path to its edge. */
static void
add_times(struct shape *s, const struct critpath *p, const struct fold *f, const struct edges *x,
    const uint32_t *token_of)
{
	for (uint32_t i = 1; i < p->nsteps; i++) {
		uint32_t from = token_of[f->owner[i - 1]], to = token_of[f->owner[i]], edge = x->in[to];

		if (from >= to || s->edges[edge].from_token != from)
			for (edge = x->back[from]; s->edges[edge].to_token != to;)
				edge++;
		s->times_ns[edge] += p->steps[i].time_ns - p->steps[i - 1].time_ns;
	}
}

static int
take_tokens(struct shape *ret, const struct fold *f, uint32_t *token_of, struct arena *a)
{
	const struct row *r = &f->now;

	ret->ntokens = r->ntokens;
	ret->tokens = r->tokens;
	ret->nloops = 0;
	ret->first_step = r->refs;
	ret->iterations = arena_alloc(a, (r->ntokens / 3 + 1) * sizeof *ret->iterations);
	if (ret->iterations == NULL)
		return -1;
	for (uint32_t i = 0; i < r->ntokens; i++) {
		if (r->tokens[i] == SHAPE_OPEN)
			ret->iterations[ret->nloops++] = r->refs[i];
		if (r->tokens[i] == SHAPE_OPEN || r->tokens[i] == SHAPE_CLOSE)
			ret->first_step[i] = TRACE_NONE;
		else
			token_of[r->refs[i]] = i;
	}
	return 0;
}

static struct hash128
shape_key(const struct shape *s, const struct labels *labels, struct hash128 *room)
{
	for (uint32_t i = 0; i < s->ntokens; i++)
		room[i] = s->tokens[i] >= SHAPE_CLOSE ? (struct hash128){ s->tokens[i], 0 } :
		    labels_hash(labels, s->tokens[i]);
	return hash_bytes128(0, room, s->ntokens * sizeof *room);
}

int
shape_of(struct shape *ret, const struct critpath *p, const struct labels *labels, struct arena *a, struct err *e)
{
	struct fold f = { 0 };
	struct edges x;
	struct hash128 *room;
	uint32_t *token_of, *open, n, nedges;
	int rc;

	*ret = (struct shape){ 0 };
	if ((rc = fold_path(&f, p, a, e)) != 0)
		return rc;
	n = f.now.ntokens;
	nedges = n;	/* one into each label but the first, one back for each loop: fewer than tokens */
	token_of = arena_alloc(a, p->nsteps * sizeof *token_of);
	open = arena_alloc(a, n * sizeof *open);
	x.in = arena_alloc(a, n * sizeof *x.in);
	x.back = arena_alloc(a, n * sizeof *x.back);
	room = arena_alloc(a, n * sizeof *room);
	ret->edges = arena_alloc(a, nedges * sizeof *ret->edges);
	ret->times_ns = arena_calloc(a, nedges, sizeof *ret->times_ns);
	if (token_of == NULL || open == NULL || x.in == NULL || x.back == NULL || room == NULL ||
	    ret->edges == NULL || ret->times_ns == NULL || take_tokens(ret, &f, token_of, a) != 0)
		return err_set(e, ERR_MEMORY, "no memory for a shape of %u tokens", n);
	lay_edges(ret, p, &x, open);
	add_times(ret, p, &f, &x, token_of);
	ret->key = shape_key(ret, labels, room);
	return 0;
}

/* ---- printed ---- */

static uint32_t
count_labels(const struct shape *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->ntokens; i++)
		n += s->tokens[i] < SHAPE_CLOSE;
	return n;
}

/* The labels that are shown: the first `head`, and those from `tail` on. A bracket is shown when its loop has one
 * of them. */
struct cut {
	uint32_t head, tail;
};

static bool
shows(struct cut c, uint32_t from, uint32_t to)
{
	return from < to && (from < c.head || to > c.tail);
}

/* How many labels lie between the bracket at i and its other half. */
static uint32_t
labels_inside(const struct shape *s, uint32_t i)
{
	uint32_t n = 0, depth = 0, other = s->tokens[i] == SHAPE_OPEN ? 1 : UINT32_MAX;

	do {
		depth += s->tokens[i] == SHAPE_OPEN;
		depth -= s->tokens[i] == SHAPE_CLOSE;
		n += s->tokens[i] < SHAPE_CLOSE;
		i += other;
	} while (depth != 0);
	return n;
}

void
shape_print(const struct shape *s, const struct labels *labels, uint32_t max, struct buf *out)
{
	uint32_t all = count_labels(s), seen = 0;
	struct cut c = { all <= max ? all : (max + 1) / 2, all <= max ? 0 : all - max / 2 };
	const char *between = "";

	for (uint32_t i = 0; i < s->ntokens; i++) {
		uint32_t token = s->tokens[i];

		if (token == SHAPE_OPEN && shows(c, seen, seen + labels_inside(s, i))) {
			buf_printf(out, "%s( ", between);
			between = "";
		} else if (token == SHAPE_CLOSE && shows(c, seen - labels_inside(s, i), seen)) {
			buf_printf(out, " )+");
			between = " -> ";
		} else if (token < SHAPE_CLOSE) {
			if (shows(c, seen, seen + 1))
				buf_printf(out, "%s%s", between, labels_get(labels, token)->text);
			else if (seen == c.head)
				buf_printf(out, "%s...", between);
			if (shows(c, seen, seen + 1) || seen == c.head)
				between = " -> ";
			seen++;
		}
	}
}

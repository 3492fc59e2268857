/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folding. The path is read from its begin to its end into a row of tokens without repetition.
 * As soon as its last k tokens equal the k tokens before them, the shortest such k first, they
 * are another iteration of a loop, if both begin and end within one call: they are removed, and
 * their times are added to the iteration before, including inner loops.
 *
 *	A B C   B C ->  A ( B C )+	read B, C: the row ends in B C B C
 *
 * Every token is added once and removed at most once, so apart from the search for repetitions
 * the cost is O(steps) for every path. The search visits the earlier tokens with the same hash,
 * up to BODY_MAX tokens back.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/critpath.h"

enum { BODY_MAX = 64, NOWHERE = UINT32_MAX };

struct token {
	uint64_t word;      /* label and bin */
	uint32_t step;      /* the first step on it */
	uint32_t same_slot; /* the previous token with the same hash, or NOWHERE */
	uint32_t loops;     /* the first of the loops that end here, or NOWHERE */
	uint32_t passes;    /* of the edge from the previous token */
	uint32_t within;    /* the call before that step */
	int64_t time_ns;    /* of that edge */
};

struct row_loop {
	uint32_t first;
	uint32_t next; /* next loop that ends at the same token */
	uint32_t step; /* the first step that went back */
	uint32_t passes;
	int64_t time_ns;
};

struct fold {
	struct token *row;
	uint32_t n;
	struct row_loop *loops;
	uint32_t nloops; /* created so far; some were merged into others */
	uint32_t *slots, mask;
	/* Of each step the token that it is on, as the next step on that token and the last one: a round that is merged
	 * takes its steps along. NULL: not wanted. */
	uint32_t *next_step, *last_step;
};

static int
fold_begin(struct fold *f, uint32_t nsteps, struct arena *a)
{
	uint32_t cap = 16;

	while (cap < nsteps)
		cap *= 2;
	f->mask = cap - 1;
	f->row = arena_alloc(a, nsteps * sizeof *f->row);
	f->loops = arena_alloc(a, nsteps * sizeof *f->loops);
	f->slots = arena_alloc(a, cap * sizeof *f->slots);
	if (f->row == NULL || f->loops == NULL || f->slots == NULL)
		return ERR_MEMORY;
	memset(f->slots, 255, cap * sizeof *f->slots);
	return 0;
}

static inline uint32_t *
slot_of(const struct fold *f, uint64_t word)
{
	return &f->slots[(word * UINT64_C(0x9e3779b97f4a7c15) >> 32) & f->mask];
}

/* Whether the last k tokens equal the k tokens before them, and both iterations begin and end within
 * one call. `next`: the call behind the last token. */
static bool
is_round(const struct fold *f, uint32_t k, uint32_t next)
{
	const struct token *last = &f->row[f->n - 1];

	if (f->n < 2 * k || f->row[f->n - 2 * k].within != next || f->row[f->n - k].within != next)
		return false;
	for (uint32_t i = 0; i < k; i++)
		if (last[-(int64_t)i].word != last[-(int64_t)i - (int64_t)k].word)
			return false;
	return true;
}

/* Whether a loop begins in the previous iteration and ends in the last one. With both
 * iterations merged it would lead forward over tokens that it never passed: the two loops cross
 * in a way that one row of tokens cannot express, and stay unfolded. */
static bool
is_crossed(const struct fold *f, uint32_t k)
{
	uint32_t middle = f->n - k;

	for (uint32_t i = middle; i < f->n; i++)
		for (uint32_t l = f->row[i].loops; l != NOWHERE; l = f->loops[l].next)
			if (f->loops[l].first < middle && i - k < f->loops[l].first)
				return true;
	return false;
}

/* Attaches loop `l` to its last token `last`; if that token has a loop with the same first
 * token, merges both. */
static void
give_loop(struct fold *f, uint32_t last, uint32_t l)
{
	struct row_loop *it = &f->loops[l];
	uint32_t same = f->row[last].loops;

	while (same != NOWHERE && f->loops[same].first != it->first)
		same = f->loops[same].next;
	if (same == NOWHERE) {
		it->next = f->row[last].loops;
		f->row[last].loops = l;
		return;
	}
	f->loops[same].passes += it->passes;
	f->loops[same].time_ns += it->time_ns;
	if (it->step < f->loops[same].step)
		f->loops[same].step = it->step;
}

/* Merges the last k tokens into the k before them. The edge between the two iterations becomes
 * the edge back. */
static void
take_round(struct fold *f, uint32_t k)
{
	uint32_t middle = f->n - k, back = f->nloops++;

	assert(k > 0 && f->n >= 2 * k);
	f->loops[back] = (struct row_loop){ .first = middle - k,
		.step = f->row[middle].step,
		.passes = f->row[middle].passes,
		.time_ns = f->row[middle].time_ns };
	for (uint32_t i = middle; i < f->n; i++) {
		struct token *to = &f->row[i - k];

		if (i > middle) {
			to->passes += f->row[i].passes;
			to->time_ns += f->row[i].time_ns;
		}
		if (f->next_step != NULL) {
			f->next_step[f->last_step[i - k]] = f->row[i].step;
			f->last_step[i - k] = f->last_step[i];
		}
		for (uint32_t l = f->row[i].loops, next; l != NOWHERE; l = next) {
			next = f->loops[l].next;
			if (f->loops[l].first >= middle)
				f->loops[l].first -= k;
			give_loop(f, i - k, l);
		}
	}
	give_loop(f, middle - 1, back);
	while (f->n > middle) {
		f->n--;
		*slot_of(f, f->row[f->n].word) = f->row[f->n].same_slot;
	}
}

static void
read_step(struct fold *f, const struct critpath *p, uint32_t step)
{
	const struct step *s = &p->steps[step];
	uint64_t word = (uint64_t)s->bin << 32 | s->label;
	uint32_t *slot = slot_of(f, word), at = f->n++, before = *slot,
		 next = p->steps[step + 1 < p->nsteps ? step + 1 : 0].within;

	f->row[at] = (struct token){ word, step, before, NOWHERE, at > 0, s->within,
		step > 0 ? s->time_ns - s[-1].time_ns : 0 };
	*slot = at;
	if (f->next_step != NULL) {
		f->next_step[step] = NOWHERE;
		f->last_step[at] = step;
	}
	for (; before != NOWHERE && at - before <= BODY_MAX; before = f->row[before].same_slot)
		if (f->row[before].word == word && is_round(f, at - before, next) &&
		    !is_crossed(f, at - before)) {
			take_round(f, at - before);
			return;
		}
}

static int
fold_path(struct fold *f, const struct critpath *p, struct arena *a)
{
	if (fold_begin(f, p->nsteps, a) != 0)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < p->nsteps; i++)
		read_step(f, p, i);
	return 0;
}

/* ---- from the row to the shape ---- */

struct folded_loop {
	uint32_t first, last, loop;
};

static int
inner_first(const void *a, const void *b)
{
	const struct folded_loop *x = a, *y = b;
	uint32_t x_len = x->last - x->first, y_len = y->last - y->first;

	return x_len != y_len ? (x_len > y_len) - (x_len < y_len)
	                      : (x->first > y->first) - (x->first < y->first);
}

static struct folded_loop *
find_loops(const struct fold *f, uint32_t *n, struct arena *a)
{
	struct folded_loop *found = arena_alloc(a, (f->nloops + 1) * sizeof *found);

	*n = 0;
	for (uint32_t i = 0; found != NULL && i < f->n && f->nloops > 0; i++)
		for (uint32_t l = f->row[i].loops; l != NOWHERE; l = f->loops[l].next)
			found[(*n)++] = (struct folded_loop){ f->loops[l].first, i, l };
	if (*n > 1)
		qsort(found, *n, sizeof *found, inner_first);
	return found;
}

static bool
shape_room(struct shape *s, struct arena *a)
{
	s->tokens = arena_alloc(a, s->ntokens * sizeof *s->tokens);
	s->bins = arena_alloc(a, s->ntokens * sizeof *s->bins);
	s->first_step = arena_alloc(a, s->ntokens * sizeof *s->first_step);
	s->edges = arena_alloc(a, s->nedges * sizeof *s->edges);
	s->times_ns = arena_alloc(a, s->nedges * sizeof *s->times_ns);
	s->passes = arena_alloc(a, s->nedges * sizeof *s->passes);
	s->loops = arena_alloc(a, s->nloops * sizeof *s->loops);
	s->iterations = arena_alloc(a, s->nloops * sizeof *s->iterations);
	return s->tokens != NULL && s->bins != NULL && s->first_step != NULL && s->edges != NULL &&
	       s->times_ns != NULL && s->passes != NULL && s->loops != NULL &&
	       s->iterations != NULL;
}

/* Describes the edge by the step at which the path first reached its end. */
static void
put_edge(struct shape *s, uint32_t edge, const struct critpath *p, uint32_t step, uint32_t from,
    uint32_t to)
{
	const struct step *before = &p->steps[step - 1], *at = &p->steps[step];

	s->edges[edge] = (struct shape_edge){ before->label, at->label, before->unit_label,
		at->unit_label, at->owner, from, to };
}

static void
put_tokens(struct shape *s, const struct fold *f, const struct critpath *p)
{
	for (uint32_t i = 0; i < s->ntokens; i++) {
		const struct token *t = &f->row[i];

		s->tokens[i] = (uint32_t)t->word;
		s->bins[i] = (uint32_t)(t->word >> 32);
		s->first_step[i] = t->step;
		if (i == 0)
			continue;
		put_edge(s, i - 1, p, t->step, i - 1, i);
		s->times_ns[i - 1] = t->time_ns;
		s->passes[i - 1] = t->passes;
	}
}

static void
put_loops(struct shape *s, const struct fold *f, const struct critpath *p,
    const struct folded_loop *found)
{
	for (uint32_t i = 0; i < s->nloops; i++) {
		const struct row_loop *l = &f->loops[found[i].loop];
		uint32_t edge = s->ntokens - 1 + i;

		s->loops[i] = (struct shape_loop){ found[i].first, found[i].last, edge };
		put_edge(s, edge, p, l->step, found[i].last, found[i].first);
		s->times_ns[edge] = l->time_ns;
		s->passes[edge] = l->passes;
	}
}

/* As shape_runs(), for all loops at once: of loops with the same first token the longest comes
 * first. */
static void
count_iterations(struct shape *s, uint64_t *came)
{
	for (uint32_t i = 0; i < s->ntokens; i++)
		came[i] = i > 0 ? s->passes[i - 1] : 1;
	for (uint32_t i = s->nloops; i-- > 0;) {
		came[s->loops[i].first] += s->passes[s->loops[i].edge];
		s->iterations[i] = came[s->loops[i].first];
	}
}

uint64_t
shape_runs(const struct shape *s, uint32_t first, uint32_t last)
{
	uint64_t runs = first > 0 ? s->passes[first - 1] : 1;

	assert(first <= last && last < s->ntokens);
	for (uint32_t i = 0; i < s->nloops; i++)
		if (s->loops[i].first == first && s->loops[i].last >= last)
			runs += s->passes[s->loops[i].edge];
	return runs;
}

/* Hashes the tokens. Tokens are compared by hashes of their texts; group.c detects two shapes
 * with the same key. */
static struct hash128
shape_key(const struct shape *s, const struct labels *labels, uint64_t *words)
{
	for (uint32_t i = 0; i < s->ntokens; i++) {
		words[i] = labels_hash(labels, s->tokens[i]).a;
		if (s->bins[i] != BIN_NONE)
			words[i] = hash_u64(words[i] ^ s->bins[i]);
	}
	return hash_bytes128(0, words, s->ntokens * sizeof *words);
}

int
shape_of(struct shape *ret, const struct critpath *p, const struct labels *labels, struct arena *a,
    struct err *e)
{
	struct fold f = { 0 };
	struct folded_loop *found;
	uint64_t *words;

	*ret = (struct shape){ 0 };
	if (fold_path(&f, p, a) != 0 || (found = find_loops(&f, &ret->nloops, a)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory for the shape of %u steps", p->nsteps);
	ret->ntokens = f.n;
	ret->nedges = f.n - 1 + ret->nloops;
	if (!shape_room(ret, a) || (words = arena_alloc(a, f.n * sizeof *words)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory for a shape of %u labels", f.n);
	put_tokens(ret, &f, p);
	put_loops(ret, &f, p, found);
	count_iterations(ret, words);
	ret->key = shape_key(ret, labels, words);
	return 0;
}

/* The loops' edge from one token back to another one. */
static uint32_t
edge_back(const struct shape *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < s->nloops; i++)
		if (s->loops[i].last == from && s->loops[i].first == to)
			return s->loops[i].edge;
	return UINT32_MAX;
}

int
shape_edges_of_steps(
    uint32_t **ret, const struct critpath *p, const struct shape *s, struct arena *a, struct err *e)
{
	uint32_t *of = arena_alloc(a, p->nsteps * sizeof *of), before, at;
	struct fold f = { .next_step = arena_alloc(a, p->nsteps * sizeof *f.next_step),
		.last_step = arena_alloc(a, p->nsteps * sizeof *f.last_step) };

	if (of == NULL || f.next_step == NULL || f.last_step == NULL || fold_path(&f, p, a) != 0)
		return err_set(e, ERR_MEMORY, "no memory for the edges of %u steps", p->nsteps);
	assert(f.n == s->ntokens);
	for (uint32_t t = 0; t < f.n; t++)
		for (uint32_t i = f.row[t].step; i != NOWHERE; i = f.next_step[i])
			of[i] = t;
	before = of[0];
	of[0] = UINT32_MAX;
	for (uint32_t i = 1; i < p->nsteps; i++, before = at) {
		at = of[i];
		of[i] = at == before + 1 ? before : edge_back(s, before, at);
		assert(of[i] != UINT32_MAX);
	}
	*ret = of;
	return 0;
}

bool
shape_exact(const struct shape *s, const struct trace *t)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < s->nedges; i++)
		sum += s->times_ns[i];
#ifdef HONE_DEBUG
	assert(sum == t->end_ns - t->begin_ns);
#endif
	return sum == t->end_ns - t->begin_ns;
}

/* ---- text ---- */

/* The labels that are printed: the first `head`, and those from `tail` on. A bracket is printed
 * if its loop contains one of them. */
struct shown_range {
	uint32_t head, tail;
};

static bool
shows(struct shown_range c, uint32_t from, uint32_t to)
{
	return from < to && (from < c.head || to > c.tail);
}

static uint32_t
brackets(const struct shape *s, uint32_t token, struct shown_range c, bool closing)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nloops; i++)
		n += (closing ? s->loops[i].last : s->loops[i].first) == token &&
		     shows(c, s->loops[i].first, s->loops[i].last + 1);
	return n;
}

uint32_t
shape_opens(const struct shape *s, uint32_t token)
{
	return brackets(s, token, (struct shown_range){ UINT32_MAX, 0 }, false);
}

uint32_t
shape_closes(const struct shape *s, uint32_t token)
{
	return brackets(s, token, (struct shown_range){ UINT32_MAX, 0 }, true);
}

void
shape_print(const struct shape *s, const struct labels *labels, uint32_t max, struct buf *out)
{
	uint32_t all = s->ntokens;
	struct shown_range c = { all <= max ? all : max / 2 + max % 2,
		all <= max ? 0 : all - max / 2 };
	const char *between = "";

	for (uint32_t i = 0; i < all; i++) {
		for (uint32_t n = brackets(s, i, c, false); n > 0; n--, between = "")
			buf_printf(out, "%s( ", between);
		if (shows(c, i, i + 1))
			buf_printf(out, "%s%s", between, labels_get(labels, s->tokens[i])->text);
		else if (i == c.head)
			buf_printf(out, "%s...", between);
		if (shows(c, i, i + 1) || i == c.head)
			between = " -> ";
		for (uint32_t n = brackets(s, i, c, true); n > 0; n--, between = " -> ")
			buf_printf(out, " )+");
	}
}

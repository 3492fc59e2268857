/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "analysis/differential.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "base/hash.h"
#include "base/hash_table.h"
#include "base/rng.h"
#include "base/texts.h"

enum { KINDS = 3 };

struct had { /* what a request has of an item */
	uint32_t item;
	double ns;
};

struct compared_item {
	enum difference_of of;
	uint32_t state, text; /* text: of `names` */
	uint32_t at;          /* into the had of the request `request` */
	uint32_t request;     /* the last that has it, counted from 1 */
	uint64_t part;        /* the last part that it was counted in, from 1 */
	double sum, squares;  /* over all requests */
	double slow_sum, slow_squares;
	double t; /* difference in standard errors */
	uint32_t has, slow_has, larger;
};

struct comparison {
	struct texts *names; /* kind and function */
	struct compared_item *items;
	uint32_t nitems, left_out, *item_of; /* by number of the name */
	struct had **had;                    /* [n], by request */
	uint32_t *nhad;
	uint32_t n, nslow;
};

/* ---- from stacks to items ---- */

/* The next entry of a folded stack. False: there is none. *at moves behind it. */
static bool
next_entry(const char **at, const char *end, const char **entry, size_t *len)
{
	const char *stop;

	if (*at >= end)
		return false;
	stop = memchr(*at, ';', (size_t)(end - *at));
	*entry = *at;
	*len = (size_t)((stop != NULL ? stop : end) - *at);
	*at = stop != NULL ? stop + 1 : end;
	return true;
}

/* The function of an entry, without its line. */
static size_t
function_len(const char *entry, size_t len)
{
	const char *at = memmem(entry, len, "() at ", 6);

	return at != NULL && at > entry ? (size_t)(at - entry) : len;
}

static bool
is_left_out_mark(const char *entry, size_t len)
{
	return len == 3 && memcmp(entry, "...", 3) == 0;
}

/* The item of this name; UINT32_MAX: it does not fit, or memory ran out (*failed). */
static uint32_t
item_named(struct comparison *c, enum difference_of of, const char *name, size_t len, bool *failed)
{
	char key[300];
	uint32_t text, before = texts_count(c->names);

	len = len < sizeof key - 1 ? len : sizeof key - 1;
	key[0] = (char)('0' + of);
	memcpy(key + 1, name, len);
	text = texts_find(c->names, key, len + 1);
	if (text != UINT32_MAX)
		return c->item_of[text];
	if (before == DIFFERENTIAL_ITEMS_MAX) {
		c->left_out++;
		return UINT32_MAX;
	}
	if ((text = texts_intern(c->names, key, len + 1)) == UINT32_MAX) {
		*failed = true;
		return UINT32_MAX;
	}
	c->item_of[text] = c->nitems;
	c->items[c->nitems] = (struct compared_item){ .of = of, .text = text };
	return c->nitems++;
}

static void
add(struct comparison *c, uint32_t request, uint64_t part, uint32_t item, double ns)
{
	struct compared_item *i = &c->items[item];

	if (i->part == part) /* a recursive function has the part once */
		return;
	i->part = part;
	if (i->request != request + 1) {
		i->request = request + 1;
		i->at = c->nhad[request]++;
		c->had[request][i->at] = (struct had){ item, 0 };
	}
	c->had[request][i->at].ns += ns;
}

static bool
add_part(struct comparison *c, uint32_t request, uint64_t number, const struct request_part *p)
{
	const char *at = p->folded, *end = p->folded != NULL ? p->folded + p->len : NULL;
	const char *entry, *innermost = NULL;
	uint32_t state = p->state < DIFFERENTIAL_STATES_MAX ? p->state
	                                                    : DIFFERENTIAL_STATES_MAX - 1,
		 item;
	char name = (char)('A' + state);
	bool failed = false;
	double ns = (double)p->ns;
	size_t len, innermost_len = 0;

	if ((item = item_named(c, DIFFERENCE_STATE, &name, 1, &failed)) != UINT32_MAX) {
		c->items[item].state = state;
		add(c, request, number, item, ns);
	}
	for (int depth = 0;
	     at != NULL && depth < DIFFERENTIAL_DEPTH_MAX && next_entry(&at, end, &entry, &len);
	     depth++) {
		if (len == 0 || is_left_out_mark(entry, len))
			continue;
		innermost = entry;
		innermost_len = function_len(entry, len);
		item = item_named(c, DIFFERENCE_INCLUSIVE, entry, innermost_len, &failed);
		if (item != UINT32_MAX)
			add(c, request, number, item, ns);
	}
	if (innermost != NULL && (item = item_named(c, DIFFERENCE_SELF, innermost, innermost_len,
				      &failed)) != UINT32_MAX)
		add(c, request, number, item, ns);
	return !failed;
}

static uint32_t
entries_of(const struct request_parts *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		const char *at = r->parts[i].folded,
			   *end = at != NULL ? at + r->parts[i].len : NULL;

		n += 2; /* its state, and a self time */
		for (uint32_t depth = 1; at != NULL && at < end && depth <= DIFFERENTIAL_DEPTH_MAX;
		     depth++) {
			at = memchr(at, ';', (size_t)(end - at));
			at = at != NULL ? at + 1 : NULL;
			n++;
		}
	}
	return n;
}

static int
collect(struct comparison *c, const struct request_parts *requests, uint32_t n, struct arena *a)
{
	uint64_t number = 0;

	c->n = n;
	c->items = arena_calloc(a, DIFFERENTIAL_ITEMS_MAX, sizeof *c->items);
	c->item_of = arena_calloc(a, DIFFERENTIAL_ITEMS_MAX, sizeof *c->item_of);
	c->had = arena_calloc(a, n, sizeof *c->had);
	c->nhad = arena_calloc(a, n, sizeof *c->nhad);
	if (c->names == NULL || c->items == NULL || c->item_of == NULL || c->had == NULL ||
	    c->nhad == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t most = entries_of(&requests[i]);

		c->nslow += requests[i].slow;
		if ((c->had[i] = arena_alloc(a, (most + 1) * sizeof **c->had)) == NULL)
			return ERR_MEMORY;
		for (uint32_t k = 0; k < requests[i].count; k++)
			if (!add_part(c, i, ++number, &requests[i].parts[k]))
				return ERR_MEMORY;
	}
	return 0;
}

/* ---- how much they differ ---- */

static double
mean_of_slow(const struct comparison *c, const struct compared_item *i)
{
	return i->slow_sum / c->nslow;
}

static double
mean_of_usual(const struct comparison *c, const struct compared_item *i)
{
	return (i->sum - i->slow_sum) / (c->n - c->nslow);
}

/* The difference in standard errors of the pooled variance, which no division of the requests changes. */
static double
standardised(const struct comparison *c, const struct compared_item *i)
{
	double mean = i->sum / c->n, variance = i->squares / c->n - mean * mean, nslow = c->nslow,
	       nusual = c->n - c->nslow;

	/* Below, it is the rounding error of equal values. */
	if (variance <= 1e-12 * i->squares / c->n)
		return 0;
	return (mean_of_slow(c, i) - mean_of_usual(c, i)) /
	       sqrt(variance * (1 / nslow + 1 / nusual));
}

static void
add_slow(struct comparison *c, uint32_t request)
{
	for (uint32_t k = 0; k < c->nhad[request]; k++) {
		struct had *h = &c->had[request][k];

		c->items[h->item].slow_sum += h->ns;
	}
}

/* How often a random division has a larger difference of the same kind. */
static int
count_larger(struct comparison *c, uint32_t rounds, uint64_t seed, struct arena *a)
{
	uint32_t *order = arena_alloc(a, c->n * sizeof *order);
	double *sums = arena_alloc(a, ((size_t)c->nitems + 1) * sizeof *sums);
	struct rng rng;

	if (order == NULL || sums == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < c->n; i++)
		order[i] = i;
	for (uint32_t i = 0; i < c->nitems; i++)
		sums[i] = c->items[i].slow_sum;
	rng_seed(&rng, seed);
	for (uint32_t round = 0; round < rounds; round++) {
		double most[KINDS] = { 0 };

		for (uint32_t i = 0; i < c->nitems; i++)
			c->items[i].slow_sum = 0;
		for (uint32_t i = 0; i < c->nslow; i++) { /* Fisher and Yates, as far as needed */
			uint32_t at = i + (uint32_t)rng_below(&rng, c->n - i), other = order[at];

			order[at] = order[i];
			order[i] = other;
			add_slow(c, other);
		}
		for (uint32_t i = 0; i < c->nitems; i++)
			most[c->items[i].of] = fmax(
			    most[c->items[i].of], fabs(standardised(c, &c->items[i])));
		for (uint32_t i = 0; i < c->nitems;
		     i++) /* 1e-9: equal divisions count, whatever the order of sums */
			c->items[i].larger += most[c->items[i].of] >=
			                      fabs(c->items[i].t) * (1 - 1e-9);
	}
	for (uint32_t i = 0; i < c->nitems; i++)
		c->items[i].slow_sum = sums[i];
	return 0;
}

/* B. L. Welch, "The generalization of Student's problem when several different population variances are involved",
 * Biometrika 34, 1947. */
static struct interval
welch(const struct comparison *c, const struct compared_item *i, double confidence)
{
	double n1 = c->nslow, n2 = c->n - c->nslow, m1 = mean_of_slow(c, i),
	       m2 = mean_of_usual(c, i);
	double v1 = fmax(0, (i->slow_squares - n1 * m1 * m1) / (n1 - 1)) / n1,
	       v2 = fmax(0, (i->squares - i->slow_squares - n2 * m2 * m2) / (n2 - 1)) / n2;
	double df = v1 + v2 > 0 ? (v1 + v2) * (v1 + v2) / (v1 * v1 / (n1 - 1) + v2 * v2 / (n2 - 1))
	                        : 1;
	double reach = v1 + v2 > 0 ? gsl_cdf_tdist_Pinv(0.5 + confidence / 2, df) * sqrt(v1 + v2)
	                           : 0;

	return (struct interval){ m1 - m2 - reach, m1 - m2 + reach };
}

static int
by_difference(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;
	double dx = x->slow_ns - x->usual_ns, dy = y->slow_ns - y->usual_ns;

	if (dx != dy)
		return dx < dy ? 1 : -1;
	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	if (x->of == DIFFERENCE_STATE)
		return (x->state > y->state) - (x->state < y->state);
	return strcmp(x->function, y->function);
}

static int
report(struct differential *ret, struct comparison *c, double confidence, uint32_t rounds,
    struct arena *a)
{
	if ((ret->items = arena_calloc(a, (size_t)c->nitems + 1, sizeof *ret->items)) == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < c->nitems; i++) {
		const struct compared_item *from = &c->items[i];
		struct difference *to = &ret->items[i];

		*to = (struct difference){ .of = from->of,
			.state = from->state,
			.slow_ns = mean_of_slow(c, from),
			.usual_ns = mean_of_usual(c, from),
			.more_ns = welch(c, from, confidence),
			.p = (1.0 + from->larger) / (1.0 + rounds),
			.slow = from->slow_has,
			.usual = from->has - from->slow_has };
		if (from->of != DIFFERENCE_STATE) {
			const char *text = texts_get(c->names, from->text) + 1;

			if ((to->function = arena_text(a, text, strlen(text))) == NULL)
				return ERR_MEMORY;
		}
	}
	ret->count = c->nitems;
	ret->left_out = c->left_out;
	qsort(ret->items, ret->count, sizeof *ret->items, by_difference);
	return 0;
}

int
differential_of(struct differential *ret, const struct request_parts *requests, uint32_t n,
    double confidence, uint32_t rounds, uint64_t seed, struct arena *a, struct err *e)
{
	struct comparison c = { .names = texts_new() };
	int rc;

	*ret = (struct differential){ .confidence = confidence };
	/* 1. What each request has of each item. */
	if ((rc = collect(&c, requests, n, a)) != 0)
		goto done;
	ret->nslow = c.nslow;
	ret->nusual = n - c.nslow;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < requests[i].count; k++)
			*(requests[i].slow ? &ret->slow_ns
					   : &ret->usual_ns) += (double)requests[i].parts[k].ns;
	ret->slow_ns /= ret->nslow > 0 ? ret->nslow : 1;
	ret->usual_ns /= ret->nusual > 0 ? ret->nusual : 1;
	if (ret->nslow < DIFFERENTIAL_SLOW_MIN || ret->nusual < DIFFERENTIAL_SLOW_MIN)
		goto done;
	/* 2. Sums over slow requests and over all. */
	for (uint32_t r = 0; r < n; r++)
		for (uint32_t k = 0; k < c.nhad[r]; k++) {
			struct compared_item *i = &c.items[c.had[r][k].item];
			double ns = c.had[r][k].ns;

			i->sum += ns;
			i->squares += ns * ns;
			i->has++;
			i->slow_sum += requests[r].slow ? ns : 0;
			i->slow_squares += requests[r].slow ? ns * ns : 0;
			i->slow_has += requests[r].slow;
		}
	for (uint32_t i = 0; i < c.nitems; i++)
		c.items[i].t = standardised(&c, &c.items[i]);
	/* 3. What chance does; 4. the result. */
	if ((rc = count_larger(&c, rounds, seed, a)) == 0)
		rc = report(ret, &c, confidence, rounds, a);
done:
	texts_free(c.names);
	return rc != 0 ? err_set(e, rc, "out of memory while slow requests were compared") : 0;
}

/* ---- the tree ---- */

/* The child of a node with this text; `parent` if it does not fit. UINT32_MAX: out of memory. */
static uint32_t
child(struct difference_node *nodes, uint32_t *count, struct hash_table *index, uint32_t parent,
    const char *text, size_t len, struct arena *a)
{
	uint64_t hash = hash_bytes(hash_u64(parent), text, len);

	for (struct hash_slot *s = hash_table_first(index, hash); s != NULL;
	     s = hash_table_next(index, s))
		if (nodes[s->entry].parent == parent && strlen(nodes[s->entry].text) == len &&
		    memcmp(nodes[s->entry].text, text, len) == 0)
			return s->entry;
	if (*count == DIFFERENTIAL_NODES_MAX)
		return parent;
	nodes[*count] = (struct difference_node){ arena_text(a, text, len), parent, 0, 0 };
	if (nodes[*count].text == NULL || !hash_table_put(index, hash, *count))
		return UINT32_MAX;
	return (*count)++;
}

/* Adds a part at its entries and at its leaf. False: out of memory. */
static bool
add_to_tree(struct difference_node *nodes, uint32_t *count, struct hash_table *index,
    const struct request_part *p, bool slow, const char *leaf, struct arena *a)
{
	const char *at = p->folded, *end = at != NULL ? at + p->len : NULL, *entry;
	uint32_t node = 0, below;
	size_t len;

	for (int depth = 0;; depth++) {
		*(slow ? &nodes[node].slow_ns : &nodes[node].usual_ns) += (double)p->ns;
		if (at == NULL || depth >= DIFFERENTIAL_DEPTH_MAX ||
		    !next_entry(&at, end, &entry, &len)) {
			if (leaf == NULL)
				return true;
			entry = leaf;
			len = strlen(leaf);
			leaf = NULL;
			at = NULL;
		}
		below = child(nodes, count, index, node, entry, len, a);
		if (below == UINT32_MAX || below == node) /* it does not fit */
			return below == node;
		node = below;
	}
}

int
differential_tree(struct difference_node **ret, uint32_t *count,
    const struct request_parts *requests, uint32_t n, const char *const *leaves, struct arena *a,
    struct err *e)
{
	struct difference_node *nodes = arena_calloc(a, DIFFERENTIAL_NODES_MAX, sizeof *nodes);
	struct hash_table index = { 0 };
	double many[2] = { 0 };
	bool all = nodes != NULL && hash_table_in_arena(&index, a, DIFFERENTIAL_NODES_MAX);

	*count = 0;
	if (all)
		nodes[(*count)++].text = "";
	for (uint32_t r = 0; r < n; r++) {
		many[requests[r].slow]++;
		for (uint32_t k = 0; k < requests[r].count && all; k++) {
			const struct request_part *p = &requests[r].parts[k];
			const char *leaf = leaves != NULL && p->state < DIFFERENTIAL_STATES_MAX
			                       ? leaves[p->state]
			                       : NULL;

			all = add_to_tree(nodes, count, &index, p, requests[r].slow, leaf, a);
		}
	}
	if (!all)
		return err_set(e, ERR_MEMORY, "out of memory while stacks were counted");
	for (uint32_t i = 0; i < *count; i++) {
		nodes[i].slow_ns /= many[true] > 0 ? many[true] : 1;
		nodes[i].usual_ns /= many[false] > 0 ? many[false] : 1;
	}
	*ret = nodes;
	return 0;
}

/* The parents of nodes that were kept are at or before them. */
static uint32_t
shorten_tree(struct difference_node *tree, uint32_t count, double share_min)
{
	double least = share_min * fmax(tree[0].slow_ns, tree[0].usual_ns);
	uint32_t kept = 0;

	for (uint32_t i = 0, was[DIFFERENTIAL_NODES_MAX]; i < count; i++) {
		struct difference_node x = tree[i];
		uint32_t parent = i > 0 ? was[x.parent] : 0;

		was[i] = UINT32_MAX;
		if (i > 0 && (parent == UINT32_MAX || fmax(x.slow_ns, x.usual_ns) < least))
			continue;
		x.parent = parent;
		was[i] = kept;
		tree[kept++] = x;
	}
	return kept;
}

void
differential_shorten(struct differential *d, struct difference_node *tree, uint32_t *count,
    double p_max, uint32_t self, uint32_t inclusive, double share_min)
{
	uint32_t left[] = { [DIFFERENCE_STATE] = UINT32_MAX,
		[DIFFERENCE_SELF] = self,
		[DIFFERENCE_INCLUSIVE] = inclusive };
	uint32_t kept = 0;

	assert(*count <= DIFFERENTIAL_NODES_MAX);
	for (uint32_t i = 0; i < d->count; i++) {
		const struct difference *x = &d->items[i];

		if ((x->of == DIFFERENCE_STATE || x->p <= p_max) && left[x->of] > 0) {
			left[x->of]--;
			d->items[kept++] = *x;
		}
	}
	d->count = kept;
	if (*count > 0)
		*count = shorten_tree(tree, *count, share_min);
}

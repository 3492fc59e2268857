/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/patterns/mine.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/hash_map.h"

/*
 * Each sequence has words of its own, and behind its last item at least gap_max + 1 places without one, so that a shift of all words at
 * once never brings a place into the next sequence.
 */
struct word_span {
	uint32_t first, count; /* words */
	uint64_t weight;
};

struct looked_pattern { /* a pattern that was looked at */
	uint64_t ends_b;
	const uint8_t *items;
	uint32_t len;
	struct looked_pattern *next; /* of those with the same ends_a */
};

struct extension {
	uint8_t item;
	uint64_t support, near; /* near: without more than gap_min others between */
};

struct miner {
	const struct mine_options *o;
	struct arena *a;
	struct err *e;
	struct word_span *spans;
	uint32_t nspans, words;
	uint64_t *at[MINE_ITEMS];     /* places of the item; NULL: there is none */
	uint64_t *behind[MINE_ITEMS]; /* places before which it is, with a gap that is allowed */
	uint64_t *reach, *starts, *shifted;
	uint64_t **ends; /* by length of the pattern */
	uint32_t nends;
	uint64_t least, work, work_max;
	uint32_t nodes, nodes_max;
	struct map seen; /* struct looked_pattern, by ends_a */
	uint8_t pattern[MINE_LENGTH_MAX];
	uint32_t len;
	struct mined *found;
	uint32_t nfound, found_cap;
};

/* ---- sets of places ---- */

static uint64_t *
set_new(struct miner *m)
{
	return arena_calloc(m->a, m->words, sizeof(uint64_t));
}

/* ret |= set, each place moved up by n, 1 to 32. */
static void
add_up(struct miner *m, uint64_t *ret, const uint64_t *set, uint32_t n)
{
	uint64_t carry = 0;

	for (uint32_t i = 0; i < m->words; i++) {
		ret[i] |= set[i] << n | carry;
		carry = set[i] >> (64 - n);
	}
	m->work += m->words;
}

static void
add_down(struct miner *m, uint64_t *ret, const uint64_t *set, uint32_t n)
{
	uint64_t carry = 0;

	for (uint32_t i = m->words; i-- > 0;) {
		ret[i] |= set[i] >> n | carry;
		carry = set[i] << (64 - n);
	}
	m->work += m->words;
}

/* The places that can follow those of the set. */
static void
after(struct miner *m, uint64_t *ret, const uint64_t *set)
{
	memset(ret, 0, m->words * sizeof *ret);
	for (uint32_t g = m->o->gap_min; g <= m->o->gap_max; g++)
		add_up(m, ret, set, g + 1);
}

static uint64_t
support_of(struct miner *m, const uint64_t *x, const uint64_t *y)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < m->nspans; i++) {
		uint64_t any = 0;

		for (uint32_t k = 0; k < m->spans[i].count; k++)
			any |= x[m->spans[i].first + k] & y[m->spans[i].first + k];
		sum += any != 0 ? m->spans[i].weight : 0;
	}
	m->work += m->words;
	return sum;
}

static bool
all_in(struct miner *m, const uint64_t *x, const uint64_t *y)
{
	uint32_t i = 0;

	while (i < m->words && (x[i] & ~y[i]) == 0)
		i++;
	m->work += i + 1;
	return i == m->words;
}

/* ---- growing ---- */

/* Where occurrences of the pattern begin. */
static void
find_starts(struct miner *m)
{
	memcpy(m->starts, m->ends[m->len], m->words * sizeof *m->starts);
	for (uint32_t k = m->len - 1; k-- > 0;) {
		memset(m->shifted, 0, m->words * sizeof *m->shifted);
		for (uint32_t g = m->o->gap_min; g <= m->o->gap_max; g++)
			add_down(m, m->shifted, m->starts, g + 1);
		for (uint32_t i = 0; i < m->words; i++)
			m->starts[i] = m->shifted[i] & m->at[m->pattern[k]][i];
	}
}

/* Remembers the pattern. *ret: whether a longer one that contains it ends at the same places. */
static int
dominated(bool *ret, struct miner *m)
{
	struct hash128 h = hash_bytes128(1, m->ends[m->len], m->words * sizeof(uint64_t));
	struct looked_pattern *first = map_get(&m->seen, h.a), *n;

	*ret = false;
	for (n = first; n != NULL && !*ret; n = n->next) {
		m->work += 1 + n->len / 8;
		*ret = n->ends_b == h.b && n->len > m->len &&
		       mine_within(m->pattern, m->len, n->items, n->len);
	}
	if ((n = arena_alloc(m->a, sizeof *n)) == NULL ||
	    (n->items = arena_copy(m->a, m->pattern, m->len)) == NULL)
		return ERR_MEMORY;
	n->ends_b = h.b;
	n->len = m->len;
	n->next = first;
	m->work += m->words;
	return map_put(&m->seen, h.a, n) ? 0 : ERR_MEMORY;
}

static int
keep(struct miner *m, uint64_t support)
{
	const uint8_t *copy = arena_copy(m->a, m->pattern, m->len);

	if (copy == NULL || !array_reserve(m->found, m->found_cap, m->nfound + 1))
		return ERR_MEMORY;
	m->found[m->nfound++] = (struct mined){ copy, m->len, support };
	return 0;
}

static int
make_room(struct miner *m)
{
	if (m->nodes++ == m->nodes_max || m->work > m->work_max)
		return err_set(m->e, ERR_FULL,
		    "closed patterns of %u sequences: over %u patterns or %llu steps of work",
		    m->nspans, m->nodes_max, (unsigned long long)m->work_max);
	for (; m->nends <= m->len + 1; m->nends++)
		if ((m->ends[m->nends] = set_new(m)) == NULL)
			return err_set(m->e, ERR_MEMORY, "out of memory");
	return 0;
}

/* The items with which the pattern goes on often enough, and whether none of them keeps its support. Those that follow most often without a
 * hole come first: what grows from them is known when what leaves out an item is looked at, and that is then dominated. */
static uint32_t
extensions(struct miner *m, uint64_t support, struct extension ret[MINE_ITEMS], bool *closed)
{
	uint64_t *next = m->ends[m->len + 1];
	uint32_t n = 0, k;

	after(m, m->reach, m->ends[m->len]);
	memset(m->shifted, 0, m->words * sizeof *m->shifted);
	add_up(m, m->shifted, m->ends[m->len], m->o->gap_min + 1);
	for (unsigned x = 0; x < MINE_ITEMS && m->len < MINE_LENGTH_MAX; x++) {
		struct extension new = { .item = (uint8_t)x };

		if (m->at[x] == NULL)
			continue;
		for (uint32_t i = 0; i < m->words; i++)
			next[i] = m->reach[i] & m->at[x][i];
		new.support = support_of(m, next, next);
		*closed = *closed && new.support < support;
		if (new.support < m->least)
			continue;
		new.near = support_of(m, m->shifted, m->at[x]);
		for (k = n++; k > 0 && ret[k - 1].near < new.near; k--)
			ret[k] = ret[k - 1];
		ret[k] = new;
	}
	return n;
}

/* The pattern of length m->len ends at m->ends[m->len]. */
static int
grow(struct miner *m, uint64_t support)
{
	struct extension list[MINE_ITEMS];
	bool closed = true, skip;
	uint32_t n;
	int rc;

	if ((rc = make_room(m)) != 0)
		return rc;
	if (dominated(&skip, m) != 0)
		return err_set(m->e, ERR_MEMORY, "out of memory");
	if (skip)
		return 0;
	find_starts(m);
	for (unsigned x = 0; x < MINE_ITEMS; x++) {
		if (m->at[x] == NULL)
			continue;
		if (all_in(m, m->starts, m->behind[x]))
			return 0;
		closed = closed && support_of(m, m->starts, m->behind[x]) < support;
	}
	n = extensions(m, support, list, &closed);
	for (uint32_t k = 0; k < n; k++) {
		uint64_t *next = m->ends[m->len + 1];

		after(m, m->reach, m->ends[m->len]);
		for (uint32_t i = 0; i < m->words; i++)
			next[i] = m->reach[i] & m->at[list[k].item][i];
		m->pattern[m->len++] = list[k].item;
		rc = grow(m, list[k].support);
		m->len--;
		if (rc != 0)
			return rc;
	}
	return closed && keep(m, support) != 0 ? err_set(m->e, ERR_MEMORY, "out of memory") : 0;
}

/* ---- the result ---- */

static int
best_first(const void *x, const void *y)
{
	const struct mined *a = x, *b = y;

	if (a->support != b->support)
		return a->support > b->support ? -1 : 1;
	if (a->len != b->len)
		return a->len > b->len ? -1 : 1;
	return memcmp(a->items, b->items, a->len);
}

/* Leaves out what a longer pattern of the same support contains. Those before it are as long or longer. */
static int
filter(struct miner *m)
{
	uint32_t kept = 0, same = 0;

	if (m->nfound > 0)
		qsort(m->found, m->nfound, sizeof *m->found, best_first);
	for (uint32_t i = 0; i < m->nfound; i++) {
		struct mined p = m->found[i];
		bool inside = false;

		if (kept > 0 && m->found[kept - 1].support != p.support)
			same = kept;
		for (uint32_t k = same; k < kept && !inside; k++) {
			inside = mine_within(p.items, p.len, m->found[k].items, m->found[k].len);
			m->work += 1 + m->found[k].len / 8;
		}
		if (m->work > m->work_max)
			return err_set(m->e, ERR_FULL,
			    "closed patterns of %u sequences: over %llu steps of work", m->nspans,
			    (unsigned long long)m->work_max);
		if (!inside)
			m->found[kept++] = p;
	}
	m->nfound = kept;
	return 0;
}

static int
lay_out(struct miner *m, const struct mine_sequence *s, uint32_t n)
{
	uint64_t words = 0;

	if ((m->spans = arena_calloc(m->a, n > 0 ? n : 1, sizeof *m->spans)) == NULL)
		return err_set(m->e, ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < n; i++) {
		if (s[i].len > MINE_LENGTH_MAX || s[i].weight == 0 ||
		    s[i].weight > UINT64_MAX / 4 / n)
			return err_set(m->e, ERR_INPUT,
			    "sequence %u: its length or weight is out of range", i);
		m->spans[i] = (struct word_span){ (uint32_t)words,
			(s[i].len + m->o->gap_max + 64) / 64, s[i].weight };
		words += m->spans[i].count;
		if (words > UINT32_MAX / 2)
			return err_set(m->e, ERR_FULL, "too many sequences: %u", n);
	}
	m->words = (uint32_t)words;
	m->nspans = n;
	return 0;
}

static int
fill(struct miner *m, const struct mine_sequence *s)
{
	for (uint32_t i = 0; i < m->nspans; i++)
		for (uint32_t k = 0; k < s[i].len; k++) {
			uint8_t x = s[i].items[k];

			if (x >= MINE_ITEMS)
				return err_set(
				    m->e, ERR_INPUT, "sequence %u: item %u is out of range", i, x);
			if (m->at[x] == NULL && (m->at[x] = set_new(m)) == NULL)
				return err_set(m->e, ERR_MEMORY, "out of memory");
			m->at[x][m->spans[i].first + k / 64] |= UINT64_C(1) << (k % 64);
		}
	for (unsigned x = 0; x < MINE_ITEMS; x++) {
		if (m->at[x] == NULL)
			continue;
		if ((m->behind[x] = set_new(m)) == NULL)
			return err_set(m->e, ERR_MEMORY, "out of memory");
		after(m, m->behind[x], m->at[x]);
	}
	return 0;
}

static int
mine(struct miner *m, const struct mine_sequence *s, uint32_t n)
{
	uint64_t support;
	int rc;

	if ((rc = lay_out(m, s, n)) != 0 || (rc = fill(m, s)) != 0)
		return rc;
	m->reach = set_new(m);
	m->starts = set_new(m);
	m->shifted = set_new(m);
	m->ends = arena_calloc(m->a, MINE_LENGTH_MAX + 2, sizeof *m->ends);
	if (m->reach == NULL || m->starts == NULL || m->shifted == NULL || m->ends == NULL)
		return err_set(m->e, ERR_MEMORY, "out of memory");
	for (unsigned x = 0; x < MINE_ITEMS; x++) {
		if (m->at[x] == NULL || (support = support_of(m, m->at[x], m->at[x])) < m->least)
			continue;
		m->len = 0;
		if ((rc = make_room(m)) != 0)
			return rc;
		m->nodes--;
		memcpy(m->ends[1], m->at[x], m->words * sizeof(uint64_t));
		m->pattern[0] = (uint8_t)x;
		m->len = 1;
		if ((rc = grow(m, support)) != 0)
			return rc;
	}
	return filter(m);
}

/* The least weight that is at least this share: without the rounding error of support * weight. */
static uint64_t
least_of(double support, uint64_t weight)
{
	double exact = support * (double)weight;
	uint64_t least = (uint64_t)exact;

	least += exact - (double)least > 1e-9 * exact;
	return least > 0 ? least : 1;
}

int
mine_closed(struct mine_result *ret, const struct mine_sequence *sequences, uint32_t n,
    const struct mine_options *o, struct arena *a, struct err *e)
{
	struct miner m = { .o = o, .a = a, .e = e };
	int rc;

	*ret = (struct mine_result){ 0 };
	if (o->gap_min > o->gap_max || o->gap_max > MINE_GAP_MAX || !(o->support > 0) ||
	    o->support > 1)
		return err_set(e, ERR_INPUT,
		    "closed patterns: gaps %u to %u, support %g: out of range", o->gap_min,
		    o->gap_max, o->support);
	for (uint32_t i = 0; i < n; i++)
		ret->weight += sequences[i].weight;
	m.least = least_of(o->support, ret->weight);
	m.work_max = o->work_max > 0 ? o->work_max : MINE_WORK_MAX;
	m.nodes_max = o->nodes_max > 0 ? o->nodes_max : MINE_NODES_MAX;
	rc = mine(&m, sequences, n);
	ret->work = m.work;
	ret->nodes = m.nodes;
	if (rc == 0 && m.nfound > 0 &&
	    (ret->patterns = arena_copy(a, m.found, m.nfound * sizeof *m.found)) == NULL)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	if (rc == 0)
		ret->n = m.nfound;
	free(m.found);
	map_release(&m.seen);
	return rc;
}

bool
mine_within(const uint8_t *a, uint32_t a_len, const uint8_t *b, uint32_t b_len)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < b_len && k < a_len; i++)
		k += b[i] == a[k];
	return k == a_len;
}

/* can[k][i]: the pattern from its item k on can begin at i. */
bool
mine_match(uint32_t *at, const uint8_t *pattern, uint32_t pattern_len, const uint8_t *items,
    uint32_t len, uint32_t gap_min, uint32_t gap_max)
{
	static _Thread_local uint64_t can[MINE_LENGTH_MAX][(MINE_LENGTH_MAX + 63) / 64];
	uint32_t from = 0, to = len;

	if (pattern_len == 0 || pattern_len > len || len > MINE_LENGTH_MAX)
		return false;
	for (uint32_t k = pattern_len; k-- > 0;) {
		memset(can[k], 0, sizeof can[k]);
		for (uint32_t i = 0; i < len; i++) {
			bool yes = items[i] == pattern[k];

			if (yes && k + 1 < pattern_len) {
				yes = false;
				for (uint32_t g = gap_min; g <= gap_max && i + g + 1 < len && !yes;
				     g++)
					yes = can[k + 1][(i + g + 1) / 64] >> ((i + g + 1) % 64) &
					      1;
			}
			can[k][i / 64] |= (uint64_t)yes << (i % 64);
		}
	}
	for (uint32_t k = 0; k < pattern_len; k++) {
		uint32_t i = from;

		while (i < to && i < len && !(can[k][i / 64] >> (i % 64) & 1))
			i++;
		if (i >= to || i >= len)
			return false; /* only of the first item: it does not occur */
		at[k] = i;
		from = i + gap_min + 1;
		to = i + gap_max + 2;
	}
	return true;
}

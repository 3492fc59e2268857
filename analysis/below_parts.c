/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/below_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/texts.h"

enum { SLOW_OF = 4 };                   /* the slowest of so many */
static const double COMMON_PART = 0.95; /* of the stacks */

struct kept_part {
	uint32_t key;
	int64_t ns;
};

struct kept_request {
	int64_t total_ns;
	uint32_t first, count; /* of `parts` */
};

struct below_parts {
	struct texts
	    *keys; /* the state as a letter, and the stack; first the states without a stack */
	uint32_t entries_of[BELOW_STACKS_MAX]; /* by key: of its stack, and 2 */
	uint32_t at[BELOW_STACKS_MAX]; /* by key: its part in the last request that has it */
	struct kept_part *parts;
	uint32_t nparts, cap, entries;
	struct kept_request requests[BELOW_PARTS_REQUESTS_MAX];
	uint32_t n;
};

static bool
key_of(
    uint32_t *ret, struct below_parts *p, enum below_state state, const char *stack, uint32_t len)
{
	uint32_t known = texts_count(p->keys);
	struct buf text = { 0 };
	bool kept;

	buf_u8(&text, (uint8_t)('A' + state));
	buf_bytes(&text, stack, len);
	kept = !text.failed;
	if (kept && known == BELOW_STACKS_MAX) {
		*ret = texts_find(p->keys, (const char *)text.data, text.len);
		if (*ret == UINT32_MAX)
			*ret = state;
	} else if (kept) {
		kept = (*ret = texts_intern(p->keys, (const char *)text.data, text.len)) !=
		       UINT32_MAX;
	}
	buf_release(&text);
	if (!kept || *ret < known)
		return kept;
	p->entries_of[*ret] = len > 0 ? 3 : 2;
	for (uint32_t i = 0; i < len; i++)
		p->entries_of[*ret] += stack[i] == ';';
	return true;
}

struct below_parts *
below_parts_new(void)
{
	struct below_parts *p = calloc(1, sizeof *p);
	bool all = p != NULL && (p->keys = texts_new()) != NULL;
	uint32_t key;

	for (unsigned s = 0; s < BELOW_STATES && all; s++)
		all = key_of(&key, p, (enum below_state)s, "", 0);
	if (all)
		return p;
	below_parts_free(p);
	return NULL;
}

void
below_parts_free(struct below_parts *p)
{
	if (p == NULL)
		return;
	texts_free(p->keys);
	free(p->parts);
	free(p);
}

static bool
add_part(struct below_parts *p, struct kept_request *r, const struct below_part *x)
{
	uint32_t key, at;

	if (!key_of(&key, p, x->state, x->stack, x->stack_len))
		return false;
	at = p->at[key];
	if (at < r->first || at >= p->nparts || p->parts[at].key != key) {
		if (!array_reserve(p->parts, p->cap, p->nparts + 1))
			return false;
		at = p->at[key] = p->nparts++;
		p->parts[at] = (struct kept_part){ .key = key };
		p->entries += p->entries_of[key];
	}
	p->parts[at].ns += x->ns;
	return true;
}

bool
below_parts_add(
    struct below_parts *p, int64_t total_ns, const struct below_time *times, uint32_t ntimes)
{
	struct kept_request *r = &p->requests[p->n];
	uint32_t entries = p->entries;

	if (p->n == BELOW_PARTS_REQUESTS_MAX)
		return true;
	*r = (struct kept_request){ .total_ns = total_ns, .first = p->nparts };
	for (uint32_t i = 0; i < ntimes; i++)
		for (uint32_t k = 0; k < times[i].nparts && p->entries <= BELOW_ENTRIES_MAX; k++)
			if (!add_part(p, r, &times[i].parts[k]))
				return false;
	if (p->entries > BELOW_ENTRIES_MAX) {
		p->nparts = r->first;
		p->entries = entries;
		return true;
	}
	r->count = p->nparts - r->first;
	p->n++;
	return true;
}

/* ---- the comparison ---- */

static int
longest_first(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return *a != *b ? (*a < *b ? 1 : -1) : 0;
}

/* The least response time of a slow request, and how many are slow that have just this one. False: out of memory. */
static bool
find_slow(int64_t *from_ns, uint32_t *just, const struct below_parts *p, int64_t slow_over_ns,
    struct arena *a)
{
	int64_t *totals = arena_alloc(a, (p->n + 1) * sizeof *totals);
	uint32_t n = 0, over = 0;

	if (totals == NULL)
		return false;
	for (uint32_t i = 0; i < p->n; i++)
		totals[i] = p->requests[i].total_ns;
	qsort(totals, p->n, sizeof *totals, longest_first);
	while (slow_over_ns > 0 && over < p->n && totals[over] > slow_over_ns)
		over++;
	n = p->n / SLOW_OF > DIFFERENTIAL_SLOW_MIN ? p->n / SLOW_OF : DIFFERENTIAL_SLOW_MIN;
	n = over >= DIFFERENTIAL_SLOW_MIN ? over : n;
	n = n < p->n ? n : p->n;
	*from_ns = n > 0 ? totals[n - 1] : 0;
	*just = 0;
	while (*just < n && totals[n - 1 - *just] == *from_ns)
		(*just)++;
	return true;
}

/* Where a stack has this entry; NULL: nowhere. */
static const char *
entry_in(const char *stack, const char *entry, size_t len)
{
	for (const char *at = stack; *at != '\0';) {
		size_t n = strcspn(at, ";");

		if (n == len && memcmp(at, entry, n) == 0)
			return at;
		at += n + (at[n] == ';');
	}
	return NULL;
}

/* How many parts have each key; NULL: out of memory. */
static uint32_t *
count_parts(const struct below_parts *p, struct arena *a)
{
	uint32_t *uses = arena_calloc(a, BELOW_STACKS_MAX, sizeof *uses);

	for (uint32_t i = 0; uses != NULL && i < p->nparts; i++)
		uses[p->parts[i].key]++;
	return uses;
}

/* The outermost entry, of the commonest stack, that nearly all stacks have; *len is 0: there is none. */
static const char *
common_entry(size_t *len, const struct below_parts *p, const uint32_t *uses)
{
	uint32_t n = texts_count(p->keys), commonest = BELOW_STATES, all = 0;
	const char *at;

	*len = 0;
	for (uint32_t k = BELOW_STATES; k < n; k++) {
		all += uses[k];
		commonest = uses[k] > uses[commonest] ? k : commonest;
	}
	if (all == 0)
		return NULL;
	for (at = texts_get(p->keys, commonest) + 1; *at != '\0'; at += *len + (at[*len] == ';')) {
		uint32_t have = 0;

		*len = strcspn(at, ";");
		for (uint32_t k = BELOW_STATES; k < n; k++)
			if (uses[k] > 0 && entry_in(texts_get(p->keys, k) + 1, at, *len) != NULL)
				have += uses[k];
		if (have >= COMMON_PART * all)
			return at;
	}
	*len = 0;
	return NULL;
}

/* Of all requests, in the arena; those that came first are slow where too many have the same response time. NULL: out of memory. */
static struct request_parts *
requests_of(const struct below_parts *p, int64_t from_ns, uint32_t just, struct arena *a)
{
	struct request_parts *requests = arena_alloc(a, (p->n + 1) * sizeof *requests);
	struct request_part *parts = arena_alloc(a, (p->nparts + 1) * sizeof *parts);
	uint32_t *uses = count_parts(p, a);
	const char *common;
	size_t common_len;

	if (requests == NULL || parts == NULL || uses == NULL)
		return NULL;
	common = common_entry(&common_len, p, uses);
	for (uint32_t i = 0; i < p->nparts; i++) {
		const char *key = texts_get(p->keys, p->parts[i].key);
		const char *from = common != NULL ? entry_in(key + 1, common, common_len) : NULL;

		from = from != NULL ? from : key + 1;
		parts[i] = (struct request_part){ .folded = from,
			.len = strlen(from),
			.state = (uint32_t)(key[0] - 'A'),
			.ns = p->parts[i].ns };
	}
	for (uint32_t i = 0; i < p->n; i++) {
		const struct kept_request *r = &p->requests[i];
		bool slow = r->total_ns > from_ns;

		if (r->total_ns == from_ns && just > 0) {
			just--;
			slow = true;
		}
		requests[i] = (struct request_parts){ &parts[r->first], r->count, slow };
	}
	return requests;
}

/* What waits have at the end of their stacks, so that the tree tells them from time on a CPU. */
static const char *const leaves[DIFFERENTIAL_STATES_MAX] = {
#define STATE(name, number, word, text) \
	[BELOW_##name] = BELOW_##name == BELOW_RUNNING ? NULL : "[" word "]",
#include "wire/below_states.tbl.h"
#undef STATE
};

int
below_parts_compare(struct differential *ret, struct difference_node **tree, uint32_t *count,
    const struct below_parts *p, int64_t slow_over_ns, double confidence, uint32_t rounds,
    uint64_t seed, struct arena *a, struct err *e)
{
	struct request_parts *requests;
	int64_t from_ns;
	uint32_t just;
	int rc;

	*ret = (struct differential){ 0 };
	*count = 0;
	if (p->n == 0)
		return 0;
	if (!find_slow(&from_ns, &just, p, slow_over_ns, a) ||
	    (requests = requests_of(p, from_ns, just, a)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the parts of %u requests", p->n);
	if ((rc = differential_of(ret, requests, p->n, confidence, rounds, seed, a, e)) != 0)
		return rc;
	ret->slow_from_ns = (double)from_ns;
	return differential_tree(tree, count, requests, p->n, leaves, a, e);
}

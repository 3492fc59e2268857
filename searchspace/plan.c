/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "searchspace/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct claim { /* one owner's claim of one tracepoint */
	char *tracepoint;
	uint64_t owner, order;
};

/* Sorted by tracepoint, then by time. There are tens of claims, so arrays are fast enough. */
struct plan {
	struct claim *claims;
	uint32_t n, cap;
	uint64_t version, order;
};

struct plan *
plan_new(void)
{
	return calloc(1, sizeof(struct plan));
}

void
plan_free(struct plan *p)
{
	if (p == NULL)
		return;
	plan_clear(p);
	free(p->claims);
	free(p);
}

/* Index of the first claim of this tracepoint, or where it would be inserted. O(log n). */
static uint32_t
first_claim(const struct plan *p, const char *tracepoint)
{
	uint32_t low = 0, high = p->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (strcmp(p->claims[mid].tracepoint, tracepoint) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool
same(const struct plan *p, uint32_t i, const char *tracepoint)
{
	return i < p->n && strcmp(p->claims[i].tracepoint, tracepoint) == 0;
}

int
plan_want(struct plan *p, const char *tracepoint, uint64_t owner, struct err *e)
{
	uint32_t first = first_claim(p, tracepoint), at;
	char *copy;

	for (at = first; same(p, at, tracepoint); at++)
		if (p->claims[at].owner == owner)
			return 0;
	if (!array_reserve(p->claims, p->cap, p->n + 1) || (copy = strdup(tracepoint)) == NULL)
		return err_set(e, ERR_MEMORY, "plan: out of memory");
	memmove(&p->claims[at + 1], &p->claims[at], (p->n - at) * sizeof p->claims[0]);
	p->claims[at] = (struct claim){ copy, owner, p->order++ };
	p->n++;
	p->version += at == first; /* not wanted before */
	return 0;
}

static void
drop(struct plan *p, uint32_t i)
{
	bool alone = !(i > 0 && same(p, i - 1, p->claims[i].tracepoint)) &&
	             !same(p, i + 1, p->claims[i].tracepoint);

	assert(i < p->n);
	free(p->claims[i].tracepoint);
	p->n--;
	memmove(&p->claims[i], &p->claims[i + 1], (p->n - i) * sizeof p->claims[0]);
	p->version += alone;
}

void
plan_release(struct plan *p, const char *tracepoint, uint64_t owner)
{
	for (uint32_t i = first_claim(p, tracepoint); same(p, i, tracepoint); i++)
		if (p->claims[i].owner == owner) {
			drop(p, i);
			return;
		}
}

void
plan_release_owner(struct plan *p, uint64_t owner)
{
	for (uint32_t i = p->n; i > 0; i--)
		if (p->claims[i - 1].owner == owner)
			drop(p, i - 1);
}

void
plan_clear(struct plan *p)
{
	while (p->n > 0)
		drop(p, p->n - 1);
}

bool
plan_wants(const struct plan *p, const char *tracepoint)
{
	return same(p, first_claim(p, tracepoint), tracepoint);
}

uint32_t
plan_count(const struct plan *p)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->n; i++)
		count += i == 0 || !same(p, i - 1, p->claims[i].tracepoint);
	return count;
}

const char *
plan_at(const struct plan *p, uint32_t i, uint64_t *owner)
{
	for (uint32_t k = 0; k < p->n; k++)
		if ((k == 0 || !same(p, k - 1, p->claims[k].tracepoint)) && i-- == 0) {
			*owner = p->claims[k].owner;
			return p->claims[k].tracepoint;
		}
	return NULL;
}

uint64_t
plan_version(const struct plan *p)
{
	return p->version;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cuts at spans. Both ends of a span give its duration, as no single point does. The cuts are
 * at equal distances in the row of candidates; cut i is the span that contains its position:
 *
 *	a (b c) d (e f g (h i) j) (k l m n) o      position of the only cut: |
 *	                  |                        cut: (e ... j)
 *
 * A span larger than a part is not cut at, since most positions of the cause would still be
 * inside it, but entered. So nested spans of almost equal size do not cost a cycle each. If the
 * outermost spans are no larger than a part, the cuts are at those. Single points follow when
 * no span is left.
 */
#include <assert.h>

#include "searchspace/strategy_propose.h"

/* The other end if this begins a span within candidates[..end); otherwise i. */
static uint32_t
end_of(const struct candidate *candidates, uint32_t i, uint32_t end)
{
	uint32_t partner = candidates[i].partner;

	return partner != UINT32_MAX && partner > i && partner < end ? partner : i;
}

static uint32_t
distance(uint32_t begin, uint32_t end, uint32_t position)
{
	return position < begin ? begin - position : position > end ? position - end : 0;
}

static bool
is_picked(const uint32_t *picked, uint32_t n, uint32_t i)
{
	for (uint32_t j = 0; j < n; j++)
		if (picked[j] == i)
			return true;
	return false;
}

/* The outermost span in candidates[begin..end) that is nearest to the position and not picked,
 * or UINT32_MAX; at equal distance the one that more traces pass. */
static uint32_t
nearest(const struct candidate *candidates, uint32_t begin, uint32_t end, uint32_t position,
    const uint32_t *picked, uint32_t npicked)
{
	uint32_t best = UINT32_MAX, least = UINT32_MAX, last;

	for (uint32_t i = begin; i < end; i = last + 1) {
		uint32_t far;

		last = end_of(candidates, i, end);
		if (last == i || is_picked(picked, npicked, i))
			continue;
		far = distance(i, last, position);
		if (far < least || (far == least && candidates[i].share > candidates[best].share)) {
			best = i;
			least = far;
		}
	}
	return best;
}

/* The span to cut at for this position: enters larger ones, as long as there are spans in
 * them. */
static uint32_t
span_at(const struct candidate *candidates, uint32_t n, uint32_t part, uint32_t position,
    const uint32_t *picked, uint32_t npicked)
{
	uint32_t begin = 0, end = n, best = UINT32_MAX, next;

	while ((next = nearest(candidates, begin, end, position, picked, npicked)) != UINT32_MAX) {
		best = next;
		begin = best + 1;
		end = candidates[best].partner;
		if (distance(begin - 1, end, position) > 0 || end - begin + 2 <= part)
			break;
	}
	return best;
}

static void
insert(uint32_t *picked, uint32_t n, uint32_t i)
{
	for (; n > 0 && picked[n - 1] > i; n--)
		picked[n] = picked[n - 1];
	picked[n] = i;
}

uint32_t
strategy_hierarchical(const struct candidate *candidates, uint32_t n, const struct gap_time *gap,
    uint32_t k, struct rng *rng, uint32_t *picked)
{
	uint32_t count = 0, cuts = k < n ? k : n;

	assert(k >= 1);
	for (uint32_t i = 0; i < cuts; i++) {
		uint32_t position = (uint32_t)((uint64_t)(n - 1) * (i + 1) / (cuts + 1));
		uint32_t span = span_at(candidates, n, n / (cuts + 1), position, picked, count);

		if (span == UINT32_MAX)
			break;
		insert(picked, count++, span);
		if (!is_picked(picked, count, candidates[span].partner))
			insert(picked, count++, candidates[span].partner);
	}
	return count > 0 ? count : strategy_flat(candidates, n, gap, k, rng, picked);
}

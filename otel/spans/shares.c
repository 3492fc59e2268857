/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/spans/shares.h"

#include <math.h>

void
shares_add(struct shares *s, double share, int64_t from_ns)
{
	if (s->n > 0 && s->items[(s->n - 1) % SHARES_KEPT].share == share)
		return;
	s->items[s->n % SHARES_KEPT].from_ns = from_ns;
	s->items[s->n % SHARES_KEPT].share = share;
	s->n++;
	if (s->n == 2 * SHARES_KEPT) /* so that it does not overflow */
		s->n = SHARES_KEPT;
}

double
shares_least(const struct shares *s, int64_t begin_ns, int64_t end_ns)
{
	double least = 1;

	for (uint32_t k = 1; k <= s->n && k <= SHARES_KEPT; k++) { /* from the newest back */
		uint32_t at = (s->n - k) % SHARES_KEPT;

		if (s->items[at].from_ns <= end_ns)
			least = fmin(least, s->items[at].share);
		if (s->items[at].from_ns <= begin_ns)
			return least;
	}
	return 0;
}

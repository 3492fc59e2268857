/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/presence.h"

#include <math.h>
#include <string.h>

/* Two slices become one. */
static void
double_slices(struct presence *p)
{
	for (uint32_t i = 0; i < PRESENCE_SLICES; i++) {
		uint32_t into = i / 2;

		if (i == into)
			continue;
		if (i % 2 == 0)
			memset(&p->slices[into], 0, sizeof p->slices[into]);
		p->slices[into].requests += p->slices[i].requests;
		p->slices[into].squares += p->slices[i].squares;
		memset(&p->slices[i], 0, sizeof p->slices[i]);
	}
	p->slice_ns *= 2;
	p->n = (p->n + 1) / 2;
}

void
presence_add(struct presence *p, int64_t at_ns, double deviation_ns)
{
	int64_t at;

	at_ns = at_ns > 0 ? at_ns : 0;
	if (p->slice_ns == 0)
		p->slice_ns = PRESENCE_SLICE_NS;
	while ((at = at_ns / p->slice_ns) >= PRESENCE_SLICES)
		double_slices(p);
	if (p->n <= at)
		p->n = (uint32_t)at + 1;
	p->slices[at].requests++;
	p->slices[at].squares += deviation_ns * deviation_ns;
}

/* Mean square of the requests of slices [from, to); *n: how many these are. */
static double
mean_square(const struct presence *p, uint32_t from, uint32_t to, uint64_t *n)
{
	double squares = 0;

	*n = 0;
	for (uint32_t i = from; i < to; i++) {
		*n += p->slices[i].requests;
		squares += p->slices[i].squares;
	}
	return *n > 0 ? squares / (double)*n : 0;
}

struct presence_state
presence_look(const struct presence *p, int64_t now_ns)
{
	struct presence_state ret = { 0 };
	uint32_t first = UINT32_MAX, last = 0, pause = 0;
	double all, before, after, quiet_ns;
	uint64_t n, nafter;

	/* 1 */
	all = mean_square(p, 0, p->n, &n);
	for (uint32_t i = 0; i < p->n && all > 0; i++) {
		if (p->slices[i].requests == 0 ||
		    p->slices[i].squares < all / 2 * (double)p->slices[i].requests)
			continue;
		if (first == UINT32_MAX)
			first = i;
		else if (i - last - 1 > pause)
			pause = i - last - 1;
		last = i;
	}
	if (first == UINT32_MAX)
		return ret;
	ret.seen = true;
	ret.from_ns = first * p->slice_ns;
	ret.to_ns = (last + 1) * p->slice_ns;
	/* 2 */
	before = mean_square(p, first, last + 1, &n);
	after = mean_square(p, last + 1, p->n, &nafter);
	quiet_ns = fmax(
	    (double)PRESENCE_QUIET_NS, PRESENCE_QUIET_GAPS * (double)pause * (double)p->slice_ns);
	ret.quiet = nafter >= PRESENCE_QUIET_REQUESTS && (double)(now_ns - ret.to_ns) >= quiet_ns &&
	            after < PRESENCE_GONE_MAX * before;
	return ret;
}

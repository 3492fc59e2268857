/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/want_sender.h"

#include <stdlib.h>
#include <string.h>

#define RENEW_NS INT64_C(900000000) /* under a second with the loop's own step */

void
sent_release(struct sent *s)
{
	buf_release(&s->payload);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct toggle *)a)->name, ((const struct toggle *)b)->name);
}

static bool
adds_nothing(const struct sent *s, const struct want *w, struct arena *a)
{
	struct want was = { 0 };

	if (w->ntoggles == 0)
		return true;
	if (!s->any || want_decode(&was, a, s->payload.data, s->payload.len, NULL) < 0 ||
	    was.ntoggles == 0)
		return false;
	qsort(was.toggles, was.ntoggles, sizeof *was.toggles, by_name);
	for (uint32_t i = 0; i < w->ntoggles; i++)
		if (bsearch(&w->toggles[i], was.toggles, was.ntoggles, sizeof *was.toggles,
			by_name) == NULL)
			return false;
	return true;
}

static bool
take_over(struct sent *s, const struct want *w)
{
	struct buf b = { 0 };

	want_encode(w, &b);
	if (b.failed) {
		buf_release(&b);
		return false;
	}
	buf_release(&s->payload);
	s->payload = b;
	s->epoch = w->epoch;
	s->any = true;
	return true;
}

bool
sent_due(struct sent *s, const struct want *w, bool safe, struct mono now, struct arena *scratch)
{
	bool fresh = !s->any || s->epoch != w->epoch;

	if (fresh && (safe || adds_nothing(s, w, scratch)))
		fresh = take_over(s, w);
	else
		fresh = false;
	if (!s->any || (!fresh && mono_since_ns(now, s->at) < RENEW_NS))
		return false;
	s->at = now;
	return true;
}

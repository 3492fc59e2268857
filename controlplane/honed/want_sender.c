/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/want_sender.h"

#include <stdlib.h>
#include <string.h>

/* With the interval of the main loop, less than one second. */
#define RENEW_NS INT64_C(900000000)

void
sent_release(struct sent *s)
{
	buf_release(&s->payload);
	buf_release(&s->renewal);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct toggle *)a)->name, ((const struct toggle *)b)->name);
}

/* Whether each program that w looks below is also in `was`. At most WANT_BELOW_MAX each. */
static bool
looks_no_further(const struct want *was, const struct want *w)
{
	for (uint32_t i = 0; i < w->nbelow; i++) {
		bool found = false;

		for (uint32_t j = 0; j < was->nbelow && !found; j++)
			found = strcmp(w->below[i], was->below[j]) == 0;
		if (!found)
			return false;
	}
	return true;
}

/* The same of the names for the flight recorder. */
static bool
records_no_more(const struct want *was, const struct want *w)
{
	for (uint32_t i = 0; i < w->nrecorder; i++) {
		bool found = false;

		for (uint32_t j = 0; j < was->nrecorder && !found; j++)
			found = strcmp(w->recorder[i], was->recorder[j]) == 0;
		if (!found)
			return false;
	}
	return true;
}

/* Of toggles in the order of their names: whether `t` is among them, for as many requests. */
static bool
has_toggle(const struct want *was, const struct toggle *t)
{
	const struct toggle *same = bsearch(
	    t, was->toggles, was->ntoggles, sizeof *was->toggles, by_name);

	return same != NULL && (same->sampled || !t->sampled);
}

/* Whether each tracepoint in w, each program to look below and each name for the recorder is also in `was`, whose toggles are sorted. O(n log n). */
static bool
is_within(const struct want *w, const struct want *was)
{
	if ((w->ntoggles > 0 && was->ntoggles == 0) || !looks_no_further(was, w) ||
	    !records_no_more(was, w))
		return false;
	for (uint32_t i = 0; i < w->ntoggles; i++)
		if (!has_toggle(was, &w->toggles[i]))
			return false;
	return true;
}

/* With its toggles sorted, in the arena. False: out of memory. */
static bool
sort_toggles(struct want *w, struct arena *a)
{
	if (w->ntoggles == 0)
		return true;
	if ((w->toggles = arena_copy(a, w->toggles, w->ntoggles * sizeof *w->toggles)) == NULL)
		return false;
	qsort(w->toggles, w->ntoggles, sizeof *w->toggles, by_name);
	return true;
}

/* How w differs from the WANT that was sent last. What cannot be compared counts as both. */
static void
compare(const struct sent *s, const struct want *w, struct arena *a, bool *adds, bool *removes)
{
	struct want was = { 0 }, now = *w;

	*adds = w->ntoggles > 0 || w->nbelow > 0 || w->nrecorder > 0;
	*removes = false;
	if (!s->any)
		return;
	if (want_decode(&was, a, s->payload.data, s->payload.len, NULL) < 0 ||
	    !sort_toggles(&was, a) || !sort_toggles(&now, a)) {
		*removes = true;
		return;
	}
	*adds = !is_within(w, &was);
	*removes = !is_within(&was, &now);
}

/* Makes w the payload. False: out of memory, and the payload is unchanged. */
static bool
encode(struct sent *s, const struct want *w)
{
	struct buf b = { 0 };

	want_encode(w, &b);
	if (b.failed) {
		buf_release(&b);
		return false;
	}
	buf_release(&s->payload);
	s->payload = b;
	s->lease_ms = w->lease_ms;
	s->epoch = w->epoch;
	s->any = true;
	return true;
}

/* Without memory for it: the whole one. */
static const struct buf *
renew(struct sent *s)
{
	buf_reset(&s->renewal);
	want_encode(&(struct want){ .renews = true, .epoch = s->epoch, .lease_ms = s->lease_ms },
	    &s->renewal);
	return s->renewal.failed ? &s->payload : &s->renewal;
}

struct mono
sent_renewal(const struct sent *s)
{
	return (struct mono){ s->any ? s->at.ns + RENEW_NS : 0 };
}

const struct buf *
sent_due(struct sent *s, const struct want *w, bool safe, uint64_t confirmed, struct mono now,
    struct arena *scratch)
{
	bool changed = !s->any || s->epoch != w->epoch, adds = false, removes = false;

	if (changed && !safe)
		compare(s, w, scratch, &adds, &removes);
	if (adds && removes)
		return NULL; /* what is not wanted any more ends with its lease */
	changed = changed && !adds && encode(s, w);
	if (!s->any || (!changed && mono_since_ns(now, s->at) < RENEW_NS))
		return NULL;
	s->at = now;
	if (!changed && s->told && confirmed == s->epoch)
		return renew(s);
	s->told = true;
	return &s->payload;
}

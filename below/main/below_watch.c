/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/below_watch.h"

int
watch_open(struct below_watch *ret, const struct observer_options *o, struct err *e)
{
	struct err why;

	*ret = (struct below_watch){ 0 };
	if ((o->without & WATCH_WITHOUT_BPF) != 0)
		err_set(&why, ERR_MISSING, "BPF is switched off");
	else if (observer_open(&ret->observer, o, &why) == 0)
		return 0;
	return looks_open(&ret->looks, why.text, e);
}

void
watch_close(struct below_watch *w)
{
	observer_close(w->observer);
	looks_close(w->looks);
	*w = (struct below_watch){ 0 };
}

bool
watch_is_open(const struct below_watch *w)
{
	return w->observer != NULL || w->looks != NULL;
}

struct below_can
watch_can(const struct below_watch *w)
{
	return w->observer != NULL ? observer_can(w->observer) : looks_can(w->looks);
}

int
watch_follow(struct below_watch *w, pid_t pid, const struct below_follow *f, struct err *e)
{
	return w->observer != NULL ? observer_follow(w->observer, pid, f, e)
	                           : looks_follow(w->looks, pid, f, e);
}

void
watch_unfollow(struct below_watch *w, pid_t pid)
{
	if (w->observer != NULL)
		observer_unfollow(w->observer, pid);
	else
		looks_unfollow(w->looks, pid);
}

int
watch_probe(struct below_watch *w, const struct below_probe *probe, struct err *e)
{
	return w->observer != NULL
	           ? observer_probe(w->observer, probe, e)
	           : err_set(e, ERR_MISSING,
			 "probes in the code need BPF, which is not permitted here");
}

void
watch_list(struct below_watch *w, pid_t pid, below_take *take, void *of)
{
	const struct below_message none = { .kind = BELOW_LISTED,
		.listed = { .pid = (uint32_t)pid, .last = true, .names = "" } };

	if (w->observer != NULL)
		observer_list(w->observer, pid, take, of);
	else
		take(of, &none);
}

void
watch_apply(struct below_watch *w, below_take *take, void *of)
{
	if (w->observer != NULL)
		observer_apply(w->observer, take, of);
}

int64_t
watch_wait_ns(const struct below_watch *w, int64_t most_ns)
{
	int64_t ns = w->looks != NULL ? mono_since_ns(looks_due(w->looks), clock_mono()) : most_ns;

	return ns < 0 ? 0 : ns < most_ns ? ns : most_ns;
}

void
watch_turn(struct below_watch *w, below_take *take, void *of)
{
	if (w->looks != NULL)
		looks_round(w->looks, take, of);
}

void
watch_read(struct below_watch *w, bool last, below_take *take, void *of)
{
	if (w->observer != NULL)
		observer_read(w->observer, take, of);
	else
		looks_mark(w->looks, last, take, of);
}

uint64_t
watch_reader_cpu_ns(const struct below_watch *w)
{
	return w->observer != NULL ? observer_reader_cpu_ns(w->observer)
	       : w->looks != NULL  ? looks_reader_cpu_ns(w->looks)
	                           : 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/spend.h"

#include <math.h>
#include <string.h>

/* The weight of a window relative to the next later one. */
#define FADE 0.8
/* The weight, in windows, of the initial assumption that zero records have zero cost. */
#define ORIGIN 0.1

const char *
spender_name(enum spender s)
{
	static const char *const NAMES[SPENDERS] = { "programs", "agent", "tracer" };

	return NAMES[s];
}

double
outlay_core(const struct outlay *p)
{
	return p->core[SPEND_PROGRAMS] + p->core[SPEND_AGENT] + p->core[SPEND_TRACER];
}

double
outlay_steady_core(const struct outlay *p)
{
	return outlay_core(p) - p->once;
}

/* How much a total has increased. A total that has decreased began again from 0. */
static double
increase(double now, double before)
{
	return now >= before ? now - before : now;
}

/* The costs per second between two totals that are `seconds` apart. */
static struct outlay
outlay_of(const struct spent *from, const struct spent *to, double seconds)
{
	struct outlay p = { .bytes = (to->bytes - from->bytes) / seconds,
		.records = (to->records - from->records) / seconds,
		.fixed = (to->fixed_ns - from->fixed_ns) / seconds / 1e9,
		.below = (to->below_ns - from->below_ns) / seconds / 1e9,
		.once = (to->once_ns - from->once_ns) / seconds / 1e9 };

	for (int i = 0; i < SPENDERS; i++)
		p.core[i] = (to->cpu_ns[i] - from->cpu_ns[i]) / seconds / 1e9;
	return p;
}

static void
smooth(struct outlay *now, const struct outlay *p, double weight)
{
	for (int i = 0; i < SPENDERS; i++)
		now->core[i] += weight * (p->core[i] - now->core[i]);
	now->fixed += weight * (p->fixed - now->fixed);
	now->below += weight * (p->below - now->below);
	now->once += weight * (p->once - now->once);
	now->bytes += weight * (p->bytes - now->bytes);
	now->records += weight * (p->records - now->records);
}

void
spend_status(
    struct spend *s, const struct status *st, double record_ns, double rejected, struct mono now)
{
	double seconds = (double)mono_since_ns(now, s->at) / 1e9, records, dropped, inherent,
	       recorder;
	double daemons_ns, below_ns, once_ns;
	struct spent before = s->all;
	struct outlay p;

	if (!s->known) {
		s->known = true;
		s->last = *st;
		s->since = s->at = s->marked = now;
		return;
	}
	if (seconds <= 0)
		return; /* the next status covers both */
	records = increase((double)st->records, (double)s->last.records);
	dropped = increase((double)st->dropped, (double)s->last.dropped);
	inherent = fmin(increase((double)st->inherent, (double)s->last.inherent), records);
	recorder = increase((double)st->recorder_records, (double)s->last.recorder_records);
	s->all.records += records;
	s->all.fixed_ns += (increase((double)st->mapped, (double)s->last.mapped) + recorder) *
	                   record_ns;
	s->all.bytes += increase((double)st->sent_bytes, (double)s->last.sent_bytes);
	s->all.cpu_ns[SPEND_PROGRAMS] += (records - inherent + dropped + recorder) * record_ns +
	                                 rejected * seconds * 1e9;
	s->all.cpu_ns[SPEND_AGENT] += 1e3 * increase((double)st->cpu_us, (double)s->last.cpu_us);
	s->all.cpu_ns[SPEND_TRACER] += 1e3 * increase((double)st->tracer_cpu_us,
						 (double)s->last.tracer_cpu_us);
	daemons_ns = s->all.cpu_ns[SPEND_AGENT] - before.cpu_ns[SPEND_AGENT] +
	             s->all.cpu_ns[SPEND_TRACER] - before.cpu_ns[SPEND_TRACER];
	once_ns = 1e3 * increase((double)st->switch_cpu_us, (double)s->last.switch_cpu_us);
	once_ns = fmin(once_ns, daemons_ns);
	below_ns = 1e3 * increase((double)st->below_cpu_us, (double)s->last.below_cpu_us);
	below_ns = fmin(below_ns, daemons_ns - once_ns);
	s->all.once_ns += once_ns;
	s->all.below_ns += below_ns;
	p = outlay_of(&before, &s->all, seconds);
	smooth(
	    &s->now, &p, s->at.ns == s->since.ns ? 1 : 1 - exp(-seconds * 1e9 / SPEND_SMOOTH_NS));
	s->last = *st;
	s->last.trouble = (struct node_trouble){ 0 }; /* its texts belong to the caller */
	s->at = now;
}

void
spend_mark(struct spend *s)
{
	s->mark = s->all;
	s->marked = s->at;
}

bool
spend_window(const struct spend *s, struct outlay *ret)
{
	double seconds = (double)mono_since_ns(s->at, s->marked) / 1e9;

	if (!s->known || seconds <= 0)
		return false;
	*ret = outlay_of(&s->mark, &s->all, seconds);
	return true;
}

/*
 * Adds a window to the line. The means fade with each window, the sums for the slope only as far as
 * windows differ: equal windows contain no information about the slope and must not erase it. The
 * line begins with ORIGIN windows at (0, 0), so after one window the cost is proportional to the
 * records. Windows of many times the records, as while learning, weigh no more than if they had differed by as many as there are
 * now: a record may cost less where a request has many, and others have to be able to correct that.
 */
static void
line_add(struct spend_line *l, double x, double y)
{
	double before = l->n > 0 ? FADE * l->n : ORIGIN, dx = x - l->x, dy = y - l->y;
	double apart = before / (before + 1) * dx * dx,
	       keep = l->xx > 0 ? l->xx / (l->xx + apart) : 0;

	l->n = before + 1;
	l->x += dx / l->n;
	l->y += dy / l->n;
	l->xx = keep * l->xx + apart;
	l->xy = keep * l->xy + before / l->n * dx * dy;
	if (l->xx > l->x * l->x) {
		l->xy *= l->x * l->x / l->xx;
		l->xx = l->x * l->x;
	}
}

/* What of it may follow the number of records. */
static double
daemons(const struct outlay *p)
{
	return p->core[SPEND_AGENT] + p->core[SPEND_TRACER] - p->below - p->once;
}

void
spend_learn(struct spend *s, const struct outlay *window)
{
	line_add(&s->cpu_line, window->records, daemons(window));
	line_add(&s->bytes_line, window->records, window->bytes);
}

/* The value of the line at 0 records per second, within 0 and most. */
static double
line_at_0(const struct spend_line *l, double most)
{
	double slope = l->xx > 0 ? fmax(l->xy / l->xx, 0) : 0;

	return fmin(fmax(l->y - slope * l->x, 0), most);
}

double
spend_idle_core(const struct spend *s, const struct outlay *window)
{
	return line_at_0(&s->cpu_line, daemons(window)) + window->fixed;
}

double
spend_idle_bytes(const struct spend *s, const struct outlay *window)
{
	return line_at_0(&s->bytes_line, window->bytes);
}

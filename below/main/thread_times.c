/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/thread_times.h"

#define BEFORE_MAX_NS INT64_C(1000000000) /* unknown time before a unit was seen */
#define ON_MAX_NS INT64_C(100000000)      /* on CPUs, until that is handed on */
/* The kernel's count of a thread that runs may be so old: a tick of 100 Hz, and some more. */
#define TICK_NS INT64_C(12000000)

struct sink {
	const struct thread_times *t;
	below_take *take;
	void *of;
};

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void
put_wait(const struct sink *to, const struct thread_look *l, enum below_state state,
    int64_t begin_ns, int64_t woken_ns, int64_t end_ns)
{
	struct below_message m = { .kind = BELOW_WAIT };

	if (end_ns <= begin_ns)
		return;
	m.wait = (struct below_wait){ .pid = to->t->pid,
		.tid = to->t->tid,
		.trace_id = l->trace_id,
		.unit_id = l->unit_id,
		.begin_ns = begin_ns,
		.woken_ns = woken_ns,
		.end_ns = end_ns,
		.state = (uint8_t)state,
		.owner_state = BELOW_UNKNOWN };
	if (l->asleep && state == l->state) {
		m.wait.place = l->place;
		m.wait.lock = l->lock;
		m.wait.owner_tid = l->owner_tid;
		m.wait.owner_state = (uint8_t)l->owner_state;
		m.wait.owner_place = l->owner_place;
	}
	to->take(to->of, &m);
}

static void
put_unknown(const struct sink *to, const struct thread_look *l, int64_t begin_ns, int64_t end_ns)
{
	struct thread_look nothing = { .trace_id = l->trace_id, .unit_id = l->unit_id };

	put_wait(to, &nothing, BELOW_UNKNOWN, begin_ns, end_ns, end_ns);
}

/* The running time, in equal parts at the looks in it, or one at its end. */
static void
put_samples(const struct sink *to, int64_t begin_ns, int64_t end_ns)
{
	const struct thread_times *t = to->t;
	struct below_message m = { .kind = BELOW_SAMPLE };
	int64_t left_ns = end_ns - begin_ns, n = 0;

	if (left_ns <= 0)
		return;
	for (uint32_t i = 0; i < t->non; i++)
		n += t->on[i] >= begin_ns && t->on[i] <= end_ns;
	m.sample = (struct below_sample){ .pid = t->pid,
		.tid = t->tid,
		.trace_id = t->last.trace_id,
		.unit_id = t->last.unit_id,
		.time_ns = end_ns,
		.weight_ns = left_ns };
	for (uint32_t i = 0; i < t->non; i++)
		if (t->on[i] >= begin_ns && t->on[i] <= end_ns) {
			m.sample.time_ns = t->on[i];
			m.sample.weight_ns = left_ns / n;
			left_ns -= left_ns / n--;
			to->take(to->of, &m);
		}
	if (left_ns == end_ns - begin_ns)
		to->take(to->of, &m);
}

/* The time on CPUs and ready, [begin, end): it was ready first, then slept unseen, then ran. The wait before it ends with it. */
static void
put_on(const struct sink *to, int64_t begin_ns, int64_t end_ns, int64_t ready_ns, int64_t unseen_ns)
{
	const struct thread_times *t = to->t;
	int64_t ready_to_ns = begin_ns + least(ready_ns, end_ns - begin_ns);
	int64_t unseen_to_ns = least(ready_to_ns + most(unseen_ns, 0), end_ns);

	if (t->has_sleep)
		put_wait(to, &t->sleep, t->sleep.state, t->begin_ns, begin_ns, ready_to_ns);
	else
		put_wait(to, &t->last, BELOW_READY, begin_ns, begin_ns, ready_to_ns);
	put_unknown(to, &t->last, ready_to_ns, unseen_to_ns);
	put_samples(to, unseen_to_ns, end_ns);
}

static void
begin_sleep(struct thread_times *t, const struct thread_look *l, int64_t begin_ns)
{
	t->has_sleep = true;
	t->begin_ns = begin_ns;
	t->sleep = t->base = *l;
	t->non = 0;
}

static void
begin_on(struct thread_times *t, const struct thread_look *l)
{
	t->has_sleep = false;
	t->base = *l;
	t->on[0] = l->time_ns;
	t->non = 1;
}

/* It sleeps again, so the kernel's counts are exact; of the first look in a unit, which saw it on a CPU, they may be a tick old. */
static void
sleep_again(struct thread_times *t, const struct thread_look *l, const struct sink *to)
{
	int64_t from_ns = t->base.time_ns, to_ns = l->time_ns, slack_ns, before_ns, after_ns;
	int64_t ready_ns = (int64_t)(l->ready_ns - t->base.ready_ns);
	int64_t on_ns = ready_ns + (int64_t)(l->run_ns - t->base.run_ns);
	int64_t low_ns = t->non > 0 ? t->on[0] : from_ns + (to_ns - from_ns) / 2;
	int64_t high_ns = t->non > 0 ? t->on[t->non - 1] : low_ns;

	on_ns = least(on_ns, to_ns - from_ns);
	slack_ns = most(on_ns - (high_ns - low_ns), 0);
	before_ns = least(slack_ns / 2, low_ns - from_ns);
	after_ns = least(slack_ns - before_ns, to_ns - high_ns);
	before_ns = least(slack_ns - after_ns, low_ns - from_ns);
	put_on(to, low_ns - before_ns, high_ns + after_ns, ready_ns, high_ns - low_ns - on_ns);
	begin_sleep(t, l, high_ns + after_ns);
}

/* It was on CPUs or ready until this look, which is the last one; of a thread that runs the counts may be a tick old. */
static void
put_on_until(struct thread_times *t, const struct thread_look *l, const struct sink *to)
{
	int64_t begin_ns = t->has_sleep ? t->base.time_ns + (t->on[0] - t->base.time_ns) / 2
	                                : t->base.time_ns;
	int64_t ready_ns = (int64_t)(l->ready_ns - t->base.ready_ns);
	int64_t run_ns = (int64_t)(l->run_ns - t->base.run_ns);
	int64_t on_ns = l->time_ns - begin_ns;

	if (run_ns == 0 && l->turns == t->base.turns && on_ns > TICK_NS)
		ready_ns = on_ns; /* it would have been counted */
	put_on(to, begin_ns, l->time_ns, ready_ns, on_ns - ready_ns - run_ns - TICK_NS);
}

static void
leave_unit(struct thread_times *t, int64_t at_ns, const struct sink *to)
{
	const struct thread_look *l = &t->last;

	if (t->non > 0)
		put_on_until(t, l, to);
	else if (t->has_sleep)
		put_wait(to, &t->sleep, t->sleep.state, t->begin_ns, l->time_ns, l->time_ns);
	put_unknown(to, l, l->time_ns, at_ns);
	t->has_sleep = false;
	t->non = 0;
}

static void
enter_unit(struct thread_times *t, const struct thread_look *l, const struct sink *to)
{
	if (t->last.time_ns != 0)
		put_unknown(to, l, most(t->last.time_ns, l->time_ns - BEFORE_MAX_NS), l->time_ns);
	if (l->asleep)
		begin_sleep(t, l, l->time_ns);
	else
		begin_on(t, l);
}

static void
stay_in_unit(struct thread_times *t, const struct thread_look *l, const struct sink *to)
{
	if (l->asleep && t->has_sleep && l->turns == t->base.turns) {
		t->base = *l;
		t->non = 0; /* it had been woken, and slept on */
	} else if (l->asleep) {
		sleep_again(t, l, to);
	} else {
		t->on[t->non++] = l->time_ns;
		if (t->non == THREAD_TIMES_LOOKS_MAX || l->time_ns - t->on[0] > ON_MAX_NS) {
			put_on_until(t, l, to);
			begin_on(t, l);
		}
	}
}

static bool
same_unit(const struct thread_look *a, const struct thread_look *b)
{
	return a->inside && b->inside && a->trace_id == b->trace_id && a->unit_id == b->unit_id;
}

bool
thread_times_sleeps_on(const struct thread_times *t, const struct thread_look *l)
{
	return t->has_sleep && t->non == 0 && same_unit(&t->last, l) && l->turns == t->base.turns;
}

void
thread_times_look(struct thread_times *t, const struct thread_look *l, below_take *take, void *of)
{
	const struct sink to = { t, take, of };

	if (same_unit(&t->last, l)) {
		stay_in_unit(t, l, &to);
	} else {
		if (t->last.inside)
			leave_unit(t, l->time_ns, &to);
		if (l->inside)
			enter_unit(t, l, &to);
	}
	t->last = *l;
}

void
thread_times_end(struct thread_times *t, below_take *take, void *of)
{
	const struct sink to = { t, take, of };

	if (t->last.inside)
		leave_unit(t, t->last.time_ns, &to);
	t->last.inside = false;
}

int64_t
thread_times_open_ns(const struct thread_times *t)
{
	return t->last.inside ? t->base.time_ns : INT64_MAX;
}

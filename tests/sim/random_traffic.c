/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plays applications of services with threads as a discrete-event simulation. A unit of a request
 * waits in the queue of its process until a thread is free, in the order of arrival. A thread of a pool
 * stays with its unit until that ends; the one thread of an event loop runs other units, also of other
 * request types, while one waits for a call or sleeps. So requests delay each other as they do in real
 * programs, and neighbouring response times are correlated.
 *
 * State of a task (a unit that is played):
 *
 *	QUEUED --thread free--> RUNNING --call, event loop--> WAITING --answer--> QUEUED
 *	                        RUNNING --call, pool--> HOLDING --answer--> RUNNING
 *	                        RUNNING --sleep--> ASLEEP --(loop) QUEUED, (pool) RUNNING
 *	                        RUNNING --end--> freed
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/random.h"

enum { FRAMES_MAX = 8, WIRE_NS = 30000, STEP_NS = 500, WARM_UP = 300 };
enum state { QUEUED, RUNNING, WAITING, HOLDING, ASLEEP };
enum due_kind { DUE_REQUEST, DUE_ARRIVES, DUE_RUNS, DUE_ANSWER };

/* Time is accounted for by place, to see whether one stands out: waits of a unit for a thread, sleeps, stretches,
 * and the cause. */
enum {
	PLACE_SLEEP = UNITS_MAX,
	PLACE_CAUSE = PLACE_SLEEP + SLEEPS_MAX,
	PLACE_STRETCH,
	PLACES = PLACE_STRETCH + 400
};

struct going { /* a request */
	uint64_t trace;
	int type, tasks; /* tasks: not ended yet */
	bool recorded, probed;
	int64_t begun_ns, ended_ns;
	int keys[KEYS_MAX];
	uint32_t took;
	double *at_ns; /* [PLACES], only of dry requests */
	struct going *next_free;
};
struct frame {
	const struct block *block;
	int at, round, rounds;
};
struct task {
	struct task *next; /* in a queue, or free */
	struct task *parent;
	struct going *request;
	enum state state;
	int unit, replica, child; /* child: number in the parent's call */
	int thread;               /* -1: none; since held_ns */
	int64_t held_ns;
	uint64_t id, link;
	int64_t queued_ns;
	bool begun;
	struct frame frames[FRAMES_MAX];
	int depth;
	/* the call that it is in */
	bool calling;
	uint64_t links[CALLS_MAX];
	int back[CALLS_MAX], nback, joined;
};
struct due {
	int64_t at_ns;
	uint64_t number; /* order of creation */
	enum due_kind kind;
	int what; /* DUE_REQUEST: type; DUE_ANSWER: child */
	struct task *task;
};
struct process {
	struct task *first, **last;
	int threads;
	uint32_t free; /* bit set of threads */
	double busy_ns,
	    held_ns; /* sums over threads; held: by units that work, sleep or wait for answers */
	/* stalls, in order */
	int64_t *stall_ns, *until_ns;
	size_t nstalls, room;
	struct rng stall_rng;
};
struct traffic {
	struct rng rng;
	int64_t now_ns;
	uint64_t numbers, ids;
	struct due *heap;
	size_t nheap, room;
	struct process processes[SERVICES_MAX][REPLICAS_MAX];
	struct task *free_tasks;
	struct going *free_requests;
	struct arena arena;
	bool dry, faulty;
	/* sums over dry requests: response time t, time x of each place */
	double n, sum, sum2, x[PLACES], xt[PLACES], limit;
};

static void task_run(struct made *m, struct task *k);

/* ---- events ---- */

static bool
before(const struct due *a, const struct due *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

static void
due_at(struct traffic *t, int64_t at_ns, enum due_kind kind, struct task *k, int what)
{
	size_t i;
	struct due e = { at_ns, t->numbers++, kind, what, k };

	if (t->nheap == t->room) {
		t->room = t->room > 0 ? 2 * t->room : 256;
		if ((t->heap = realloc(t->heap, t->room * sizeof t->heap[0])) == NULL)
			stage_die("out of memory", "events");
	}
	for (i = t->nheap++; i > 0 && before(&e, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
		t->heap[i] = t->heap[(i - 1) / 2];
	t->heap[i] = e;
}

static struct due
due_take(struct traffic *t)
{
	struct due first = t->heap[0], e = t->heap[--t->nheap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < t->nheap) {
		if (child + 1 < t->nheap && before(&t->heap[child + 1], &t->heap[child]))
			child++;
		if (!before(&t->heap[child], &e))
			break;
		t->heap[i] = t->heap[child];
		i = child;
	}
	t->heap[i] = e;
	return first;
}

/* ---- processes that stand still ---- */

/* Stalls of the process up to that time are drawn. */
static void
stalls_until(struct made *m, int service, int replica, int64_t at_ns)
{
	struct process *p = &m->traffic->processes[service][replica];
	const struct cause *c = &m->causes[0];

	if (!m->traffic->faulty || m->ncauses == 0 || c->stall_s <= 0 || c->within != service ||
	    c->bad != replica)
		return;
	while (p->nstalls == 0 || p->stall_ns[p->nstalls - 1] <= at_ns) {
		int64_t last_ns = p->nstalls > 0 ? p->until_ns[p->nstalls - 1] : START_NS;

		if (p->nstalls == p->room) {
			p->room = p->room > 0 ? 2 * p->room : 64;
			p->stall_ns = realloc(p->stall_ns, p->room * sizeof p->stall_ns[0]);
			p->until_ns = realloc(p->until_ns, p->room * sizeof p->until_ns[0]);
			if (p->stall_ns == NULL || p->until_ns == NULL)
				stage_die("out of memory", "stalls");
		}
		p->stall_ns[p->nstalls] = last_ns +
		                          (int64_t)exponential(&p->stall_rng, c->stall_s * 1e9) + 1;
		p->until_ns[p->nstalls] = p->stall_ns[p->nstalls] +
		                          (int64_t)lognormal(&p->stall_rng, c->ns, 0.1);
		p->nstalls++;
	}
}

/* The time at which work of that duration ends that a thread of the process begins then. */
static int64_t
works_until(struct made *m, int service, int replica, int64_t at_ns, double ns)
{
	struct process *p = &m->traffic->processes[service][replica];
	int64_t end_ns = at_ns + (int64_t)ns;

	stalls_until(m, service, replica, end_ns);
	for (size_t i = p->nstalls; i-- > 0 && p->until_ns[i] > at_ns;)
		if (i == 0 || p->until_ns[i - 1] <= at_ns) { /* the first that matters */
			for (; i < p->nstalls && p->stall_ns[i] <= end_ns; i++) {
				int64_t from_ns = p->stall_ns[i] > at_ns ? p->stall_ns[i] : at_ns;

				end_ns += p->until_ns[i] - from_ns;
				stalls_until(m, service, replica, end_ns);
			}
			break;
		}
	return end_ns;
}

/* ---- records ---- */

static void
record(struct made *m, const struct task *k, uint32_t label, uint64_t link, int64_t value,
    int64_t at_ns)
{
	const struct unit_made *u = &m->units[k->unit];

	if (m->traffic->dry || !k->request->recorded)
		return;
	stage_emit(&m->stage, m->nodes[u->service][k->replica],
	    &(struct stage_record){ .time_ns = at_ns,
		.trace = k->request->trace,
		.unit = k->id,
		.link = link,
		.value = value,
		.label = label,
		.tid = (uint32_t)k->thread + 1 });
}

/* The enabled points of a stretch whose times are multiplied by that. */
static void
record_points(
    struct made *m, const struct task *k, const struct stretch *s, double times, int64_t at_ns)
{
	const struct unit_made *u = &m->units[k->unit];
	const struct on *on = &s->on[k->replica];
	const struct replica *r;

	if (m->traffic->dry || !k->request->probed)
		return; /* without nodes */
	r = m->nodes[u->service][k->replica]->ctx;
	for (uint32_t i = 0; i < (r->all ? s->n : on->n); i++) {
		const struct point *p = &m->points[r->all ? s->first + i : on->points[i]];

		record(m, k, p->label, 0, p->key >= 0 ? k->request->keys[p->key] : 0,
		    works_until(m, u->service, k->replica, at_ns, p->offset_ns * times));
	}
}

static void
account(struct made *m, const struct task *k, int place, double ns)
{
	if (m->traffic->dry && place < PLACES)
		k->request->at_ns[place] += ns;
}

/* ---- tasks ---- */

static struct process *
process_of(struct made *m, const struct task *k)
{
	return &m->traffic->processes[m->units[k->unit].service][k->replica];
}

static struct task *
task_new(struct made *m, struct going *g, int unit, int replica, struct task *parent)
{
	struct traffic *t = m->traffic;
	struct task *k = t->free_tasks;

	if (k != NULL)
		t->free_tasks = k->next;
	else if ((k = arena_calloc(&t->arena, 1, sizeof *k)) == NULL)
		stage_die("out of memory", "tasks");
	*k = (struct task){ .parent = parent,
		.request = g,
		.unit = unit,
		.replica = replica,
		.thread = -1,
		.id = ++t->ids };
	k->frames[k->depth++] = (struct frame){ &m->units[unit].block, 0, 0, 1 };
	g->tasks++;
	return k;
}

/* Queued tasks get the free threads. */
static void
give_threads(struct made *m, struct process *p, int service, int replica)
{
	struct traffic *t = m->traffic;

	while (p->free != 0 && p->first != NULL) {
		struct task *k = p->first;

		if ((p->first = k->next) == NULL)
			p->last = &p->first;
		k->thread = __builtin_ctz(p->free);
		p->free &= p->free - 1;
		k->held_ns = t->now_ns;
		k->state = RUNNING;
		due_at(t, works_until(m, service, replica, t->now_ns, 1), DUE_RUNS, k, 0);
	}
}

static void
queue(struct made *m, struct task *k)
{
	struct process *p = process_of(m, k);

	k->state = QUEUED;
	k->queued_ns = m->traffic->now_ns;
	k->next = NULL;
	*p->last = k;
	p->last = &k->next;
	give_threads(m, p, m->units[k->unit].service, k->replica);
}

static void
release_thread(struct made *m, struct task *k)
{
	struct process *p = process_of(m, k);

	p->free |= UINT32_C(1) << k->thread;
	p->held_ns += (double)(m->traffic->now_ns - k->held_ns);
	k->thread = -1;
	give_threads(m, p, m->units[k->unit].service, k->replica);
}

static void
count_request(struct traffic *t, const struct going *g)
{
	double total_ns = (double)(g->ended_ns - g->begun_ns);

	if (t->limit-- > TRAFFIC_REQUESTS)
		return; /* while the queues fill */
	t->n++;
	t->sum += total_ns;
	t->sum2 += total_ns * total_ns;
	for (int i = 0; i < PLACES; i++) {
		t->x[i] += g->at_ns[i];
		t->xt[i] += g->at_ns[i] * total_ns;
	}
}

static void
remember_request(struct made *m, const struct going *g)
{
	struct went *w = arena_calloc(&m->arena, 1, sizeof *w);

	if (w == NULL)
		stage_die("out of memory", "ways of traces");
	w->took = g->took;
	if (!map_put(&m->path_of, g->trace, w))
		stage_die("out of memory", "ways of traces");
}

static void
task_end(struct made *m, struct task *k, int64_t at_ns)
{
	struct traffic *t = m->traffic;
	struct going *g = k->request;

	record(m, k, m->units[k->unit].end, k->link, 0, at_ns);
	if (k->parent == NULL) {
		g->ended_ns = at_ns;
		if (t->dry && g->type == 0)
			count_request(t, g);
		else if (!m->learning && g->type == 0 && g->recorded)
			remember_request(m, g);
	} else {
		due_at(t, at_ns + WIRE_NS, DUE_ANSWER, k->parent, k->child);
	}
	release_thread(m, k);
	k->next = t->free_tasks;
	t->free_tasks = k;
	if (--g->tasks == 0) {
		g->next_free = t->free_requests;
		t->free_requests = g;
	}
}

/* Forks; returns when the last fork is recorded. */
static int64_t
task_calls(struct made *m, struct task *k, const struct seg *s, int64_t at_ns)
{
	struct traffic *t = m->traffic;

	k->calling = true;
	k->nback = k->joined = 0;
	for (int i = 0; i < s->what; i++, at_ns += 2000) {
		const struct unit_made *u = &m->units[s->unit[i]];
		int replica = (int)rng_below(&t->rng, (uint64_t)m->replicas[u->service]);
		struct task *child = task_new(
		    m, k->request, s->unit[i], s->shards ? i : replica, k);

		child->child = i;
		child->link = k->links[i] = ++t->ids;
		record(m, k, u->fork[m->units[k->unit].service], child->link, 0, at_ns);
		due_at(t, at_ns + WIRE_NS, DUE_ARRIVES, child, 0);
	}
	return at_ns;
}

/* Joins those that are back. Returns whether all are. */
static bool
task_joins(struct made *m, struct task *k, const struct seg *s, int64_t *at_ns)
{
	for (; k->joined < k->nback; k->joined++, *at_ns += STEP_NS) {
		int child = k->back[k->joined];

		record(m, k, m->units[s->unit[child]].join[m->units[k->unit].service],
		    k->links[child], 0, *at_ns);
	}
	k->calling = k->joined < s->what;
	return !k->calling;
}

static bool
taken(const struct made *m, struct rng *r, double share)
{
	if (m->learning && share < 0.25)
		share = 0.25; /* tests that cover an application also take its rare branches */
	return rng_unit(r) < share;
}

/* The time that the cause adds; 0: not this time. */
static double
cause_ns(struct made *m, struct task *k, const struct cause *c)
{
	if (!m->traffic->faulty || (c->bad >= 0 && k->replica != c->bad) ||
	    (c->share < 1 && !taken(m, &m->traffic->rng, c->share)))
		return 0;
	k->request->took |= 1;
	return lognormal(&m->traffic->rng, c->ns, c->sd_ns / c->ns);
}

static double
work_factor(const struct made *m, int service)
{
	const struct cause *c = &m->causes[0];

	return m->services[service].scale *
	       (m->traffic->faulty && m->ncauses > 0 && c->waits_of == service && c->overload > 0
		       ? c->overload
		       : 1);
}

/* What the segment takes, as work or asleep, at place; and what it records. 0: nothing. */
static double
seg_takes(struct made *m, struct task *k, const struct seg *s, int64_t at_ns, bool *works)
{
	struct traffic *t = m->traffic;
	double ns = 0;

	*works = true;
	if (s->kind == SEG_STRETCH) {
		const struct stretch *x = &m->stretches[s->what];
		double times = noise(&t->rng, x->sigma * m->sigma, m->heavy) *
		               work_factor(m, m->units[k->unit].service);

		record_points(m, k, x, times, at_ns);
		ns = x->mean_ns * times;
		account(m, k, PLACE_STRETCH + s->what, ns);
	} else if (s->kind == SEG_SLEEP) {
		*works = false;
		ns = lognormal(&t->rng, m->sleeps[s->what].ns, m->sleeps[s->what].cv);
		account(m, k, PLACE_SLEEP + s->what, ns);
	} else if (s->kind == SEG_CAUSE) {
		ns = cause_ns(m, k, &m->causes[s->what]);
		*works = m->causes[s->what].works || ns <= 0;
		account(m, k, PLACE_CAUSE, ns);
	}
	return ns;
}

/* The block behind a branch or loop; false where the request does not go there. */
static bool
enter(struct made *m, struct task *k, const struct seg *s)
{
	struct rng *r = &m->traffic->rng;
	int rounds = 1;

	if (s->kind == SEG_BRANCH &&
	    ((s->planted && !m->traffic->faulty) || !taken(m, r, s->share)))
		return false;
	if (s->kind == SEG_LOOP)
		rounds = s->low + (int)rng_below(r, (uint64_t)(s->high - s->low + 1));
	if (rounds == 0)
		return false;
	if (k->depth == FRAMES_MAX)
		stage_die("blocks are nested too deeply", m->units[k->unit].name);
	k->frames[k->depth++] = (struct frame){ &s->body, 0, 0, rounds };
	return true;
}

/* Runs a task that has a thread, until it works, waits or ends. */
static void
task_run(struct made *m, struct task *k)
{
	struct traffic *t = m->traffic;
	int service = m->units[k->unit].service;
	bool loop = m->services[service].loop;
	int64_t at_ns = t->now_ns;

	if (k->queued_ns > 0 && (k->begun || k->parent != NULL))
		account(m, k, k->unit, (double)(at_ns - k->queued_ns));
	k->queued_ns = 0;
	if (!k->begun) {
		k->begun = true;
		if (k->parent == NULL)
			k->request->begun_ns = at_ns;
		record(m, k, m->units[k->unit].begin, k->link,
		    k->parent == NULL && k->request->probed, at_ns);
		at_ns += STEP_NS;
	}
	for (;;) {
		struct frame *f = &k->frames[k->depth - 1];
		const struct seg *s = &f->block->segs[f->at];
		bool works;
		double ns;

		if (f->at == f->block->nsegs) {
			f->at = 0;
			if (++f->round < f->rounds)
				continue;
			if (--k->depth == 0) {
				task_end(m, k, at_ns);
				return;
			}
			k->frames[k->depth - 1].at++;
		} else if (s->kind == SEG_CALL) {
			if (!k->calling)
				at_ns = task_calls(m, k, s, at_ns);
			else if (task_joins(m, k, s, &at_ns)) {
				f->at++;
				continue;
			}
			k->state = loop ? WAITING : HOLDING;
			if (loop)
				release_thread(m, k);
			return;
		} else if (s->kind == SEG_BRANCH || s->kind == SEG_LOOP) {
			if (!enter(m, k, s))
				f->at++;
		} else {
			f->at++;
			if ((ns = seg_takes(m, k, s, at_ns, &works)) <= 0)
				continue;
			if (works) {
				int64_t end_ns = works_until(m, service, k->replica, at_ns, ns + 1);

				process_of(m, k)->busy_ns += (double)(end_ns - at_ns);
				due_at(t, end_ns, DUE_RUNS, k, 0);
				return;
			}
			k->state = ASLEEP;
			due_at(t, at_ns + (int64_t)ns + 1, loop ? DUE_ARRIVES : DUE_RUNS, k, 0);
			if (loop)
				release_thread(m, k);
			return;
		}
	}
}

static void
answer(struct made *m, struct task *k, int child)
{
	k->back[k->nback++] = child;
	if (k->state == WAITING) {
		queue(m, k);
	} else if (k->state == HOLDING) {
		k->state = RUNNING;
		due_at(m->traffic,
		    works_until(m, m->units[k->unit].service, k->replica, m->traffic->now_ns, 1),
		    DUE_RUNS, k, 0);
	}
}

/* ---- requests ---- */

static void
request_begins(struct made *m, int type, int64_t at_ns)
{
	struct traffic *t = m->traffic;
	const struct unit_made *u = &m->units[m->types[type]];
	struct going *g = t->free_requests;
	int replica = (int)rng_below(&t->rng, (uint64_t)m->replicas[u->service]);
	double *places;

	if (g != NULL)
		t->free_requests = g->next_free;
	else if ((g = arena_calloc(&t->arena, 1, sizeof *g)) == NULL ||
		 (g->at_ns = arena_calloc(&t->arena, PLACES, sizeof *g->at_ns)) == NULL)
		stage_die("out of memory", "requests");
	places = g->at_ns;
	*g = (struct going){ .type = type, .trace = rng_next(&t->rng) | 1, .at_ns = places };
	if (t->dry) {
		memset(places, 0, PLACES * sizeof *places);
	} else {
		struct stage_rate rate = stage_rate(m->nodes[u->service][replica], u->name);

		g->recorded = rng_unit(&t->rng) < rate.sampled;
		g->probed = g->recorded && rng_unit(&t->rng) < rate.probed;
	}
	for (int i = 0; i < m->nkeys; i++)
		g->keys[i] = 1 + (int)rng_below(&t->rng, (uint64_t)m->key_high[i]);
	due_at(t, at_ns, DUE_ARRIVES, task_new(m, g, m->types[type], replica, NULL), 0);
}

static void
advance(void *made, int64_t until_ns)
{
	struct made *m = made;
	struct traffic *t = m->traffic;

	while (t->nheap > 0 && t->heap[0].at_ns < until_ns) {
		struct due e = due_take(t);

		t->now_ns = e.at_ns;
		if (e.kind == DUE_ARRIVES)
			queue(m, e.task);
		else if (e.kind == DUE_RUNS)
			task_run(m, e.task);
		else if (e.kind == DUE_ANSWER)
			answer(m, e.task, e.what);
		else {
			request_begins(m, e.what, t->now_ns);
			due_at(t,
			    t->now_ns + (int64_t)exponential(&t->rng, 1e9 / m->type_rate[e.what]),
			    DUE_REQUEST, NULL, e.what);
		}
	}
	t->now_ns = until_ns;
}

static void
arrives(void *made, int64_t at_ns)
{
	struct made *m = made;

	m->traffic->faulty = m->faulty;
	request_begins(m, 0, at_ns);
}

/* ---- all of it ---- */

static struct traffic *
traffic_new(struct made *m, uint64_t seed)
{
	struct traffic *t = calloc(1, sizeof *t);

	if (t == NULL)
		stage_die("out of memory", "traffic");
	rng_seed(&t->rng, hash_u64(seed));
	t->now_ns = START_NS;
	t->ids = seed << 32;
	for (int i = 0; i < m->nservices; i++)
		for (int k = 0; k < m->replicas[i]; k++) {
			struct process *p = &t->processes[i][k];

			p->last = &p->first;
			p->threads = m->services[i].loop ? 1 : m->services[i].threads;
			p->free = (UINT32_C(1) << p->threads) - 1;
			rng_seed(&p->stall_rng, hash_u64(seed) + (uint64_t)(i * REPLICAS_MAX + k));
		}
	for (int i = 1; i < m->ntypes; i++)
		due_at(t, t->now_ns + (int64_t)exponential(&t->rng, 1e9 / m->type_rate[i]),
		    DUE_REQUEST, NULL, i);
	return t;
}

void
traffic_free(struct traffic *t)
{
	if (t == NULL)
		return;
	for (int i = 0; i < SERVICES_MAX; i++)
		for (int k = 0; k < REPLICAS_MAX; k++) {
			free(t->processes[i][k].stall_ns);
			free(t->processes[i][k].until_ns);
		}
	free(t->heap);
	arena_release(&t->arena);
	free(t);
}

/* Requests wait for the threads of this service because of the cause. */
static bool
is_of_cause(const struct made *m, int service)
{
	const struct cause *c = &m->causes[0];

	return m->ncauses > 0 && (service == c->waits_of || service == m->units[c->unit].service);
}

static void
sums_to_result(const struct made *m, struct traffic_result *ret)
{
	const struct traffic *t = m->traffic;

	*ret = (struct traffic_result){ .n = t->n, .mean_ns = t->sum / t->n };
	ret->variance = (t->sum2 - t->sum * t->sum / t->n) / (t->n - 1);
	ret->cv = sqrt(ret->variance) / ret->mean_ns;
	for (int i = 0; i < PLACES; i++) {
		double cov = (t->xt[i] - t->x[i] * t->sum / t->n) / (t->n - 1);

		if (i == PLACE_CAUSE)
			ret->cause_share = cov / ret->variance;
		else if (i < m->nunits)
			ret->wait_share[m->units[i].service] += cov / ret->variance;
		else
			ret->most_share = fmax(ret->most_share, cov / ret->variance);
	}
	for (int i = 0; i < m->nservices; i++)
		if (!is_of_cause(m, i))
			ret->most_share = fmax(ret->most_share, ret->wait_share[i]);
	for (int i = 0; i < m->nservices; i++)
		for (int k = 0; k < m->replicas[i]; k++) {
			const struct process *p = &t->processes[i][k];
			double all_ns = (double)(t->now_ns - START_NS) * p->threads *
			                m->replicas[i];

			ret->load[i] += p->busy_ns / all_ns;
			ret->held[i] += p->held_ns / all_ns;
		}
}

void
traffic_dry(struct made *m, bool faulty, struct traffic_result *ret)
{
	struct traffic *t = traffic_new(m, m->seed + 1);
	double gap_ns = 1e9 / m->rate;
	int64_t at_ns = START_NS, most_ns;

	m->traffic = t;
	t->dry = true;
	t->faulty = faulty;
	t->limit = TRAFFIC_REQUESTS + WARM_UP;
	most_ns = at_ns + (int64_t)(4 * t->limit * gap_ns); /* a queue may grow without end */
	while (t->limit > 0 && at_ns < most_ns) {
		at_ns += (int64_t)exponential(&t->rng, gap_ns);
		request_begins(m, 0, at_ns);
		advance(m, at_ns);
	}
	sums_to_result(m, ret);
	m->traffic = NULL;
	traffic_free(t);
}

void
traffic_begin(struct made *m)
{
	m->traffic = traffic_new(m, m->seed);
	m->stage.request = arrives;
	m->stage.irregular = true; /* as in traffic_dry() */
	m->stage.advance = advance;
	m->stage.obeyed = play_obeyed;
}

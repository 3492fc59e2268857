/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/stage.h"
#include "controlplane/search/worth.h"

enum { BATCH_MOST = 60000 };

static void node_clock(struct stage *s, struct stage_node *n, bool first);
static void node_tell(struct stage *s, struct stage_node *n);
static void node_status(struct stage *s, struct stage_node *n);
static void node_obey(struct stage *s, struct stage_node *n);

void
stage_die(const char *what, const char *with)
{
	printf("Bail out! %s: %s\n", what, with);
	fflush(stdout);
	_Exit(1);
}

struct engine_options
stage_options(uint64_t seed)
{
	return (struct engine_options){
		.conditions = { 0.10, 0.95, 30, 0.95 },
		.seed = seed,
		.memory_max_bytes = 512 << 20,
		.skew_ns = 5 * MS,
		.patience_ns = 30000000000,
		.order_ns = 250 * MS,
		.open_ns = 2000 * MS,
		.late_ends_ns = 500 * MS,
		.groups_max = 500,
		.samples_max = 512,
		.tracepoints_per_cycle = 3,
		.searches_max = 4,
		.effort_cycles = 64,
		.budget_share = 0.01,
		.effect_min = WORTH_EFFECT_MIN,
		.causes_max = 3,
		.isolate_min = 0.3,
		.explain_min = 0.5,
		.pause_fill = 0.5,
		.resume_fill = 0.35,
		.withdraw_ns = 5000000000,
		.shed_ns = 3000000000,
		.cycle_max_ns = 20000000000,
		.sampled = 1,
		.lease_ns = 5000000000,
	};
}

static void *
must(void *p)
{
	if (p == NULL)
		stage_die("out of memory", "stage");
	return p;
}

struct stage_node *
stage_node(struct stage *s, const char *service, const char *name)
{
	struct stage_node *n = must(calloc(1, sizeof *n));

	if (s->nnodes == STAGE_NODES_MAX)
		stage_die("too many nodes", name);
	s->nodes[s->nnodes++] = n;
	snprintf(n->name, sizeof n->name, "%s", name);
	snprintf(n->service, sizeof n->service, "%s", service);
	n->has = must(texts_new());
	return n;
}

struct stage_node *
stage_node_named(const struct stage *s, const char *name)
{
	for (int i = 0; i < s->nnodes; i++)
		if (strcmp(s->nodes[i]->name, name) == 0)
			return s->nodes[i];
	return NULL;
}

void
stage_has(struct stage_node *n, const char *tracepoint)
{
	texts_intern(n->has, tracepoint, strlen(tracepoint));
}

void
stage_open(struct stage *s, const struct engine_options *o, uint64_t seed)
{
	struct err e;

	rng_seed(&s->rng, seed);
	rng_seed(&s->wire_rng, seed);
	s->now_ns = START_NS;
	s->begun_ns = INT64_MAX;
	s->owed = 0;
	s->requests = 0;
	s->next_id = seed << 32;
	s->forest = must(forest_new());
	if (s->labels == NULL)
		s->labels = must(texts_new());
	if (engine_new(&s->g, o, s->forest, &e) != 0)
		stage_die("engine", e.text);
	for (int i = 0; i < s->nnodes; i++) {
		struct stage_node *n = s->nodes[i];

		n->epoch = 0;
		n->on = n->sheds = 0;
		n->shed = false;
		n->nrecords = 0;
		n->sampled = n->sampled_others = 1;
		n->probed = 0;
		n->nrates = 0;
		n->told_ns = n->asked_ns = n->status_ns = 0;
		n->told = n->sent_bytes = 0;
		n->nrecorder = 0;
		n->ring_at = 0;
		n->cpu_ns = 0;
		if (engine_join(s->g, n->name, "sim", (struct mono){ s->now_ns }, &n->number, &e) !=
		    0)
			stage_die("join", e.text);
		node_clock(s, n, true);
		stage_programs(s, n);
	}
}

void
stage_close(struct stage *s)
{
	engine_free(s->g);
	forest_free(s->forest);
	s->g = NULL;
	s->forest = NULL;
}

void
stage_release(struct stage *s)
{
	for (int i = 0; i < s->nnodes; i++) {
		free(s->nodes[i]->records);
		free(s->nodes[i]->ring);
		texts_free(s->nodes[i]->has);
		free(s->nodes[i]);
	}
	texts_free(s->labels);
	free(s->label);
	s->nnodes = 0;
	s->labels = NULL;
	s->label = NULL;
	s->label_room = 0;
}

/* ---- records ---- */

uint32_t
stage_label(struct stage *s, enum record_kind kind, const char *text, const char *field)
{
	uint32_t was, n;

	if (s->labels == NULL)
		s->labels = must(texts_new());
	was = texts_count(s->labels);
	n = texts_intern(s->labels, text, strlen(text));
	if (n < was)
		return n;
	if (n >= s->label_room) {
		s->label_room = s->label_room > 0 ? 2 * s->label_room : 256;
		s->label = must(realloc(s->label, s->label_room * sizeof *s->label));
	}
	s->label[n] = (struct stage_label){ .kind = (uint8_t)kind, .field = field };
	return n;
}

void
stage_emit(struct stage *s, struct stage_node *n, const struct stage_record *r)
{
	if (n->nrecords == n->room) {
		n->room = n->room > 0 ? 2 * n->room : 256;
		n->records = must(realloc(n->records, n->room * sizeof *n->records));
	}
	n->records[n->nrecords] = *r;
	n->records[n->nrecords++].seq = s->seq++;
}

bool
stage_is_recorded(const struct stage_node *n, const char *name)
{
	size_t len = strcspn(name, ":");

	for (uint32_t i = 0; i < n->nrecorder; i++)
		if (strncmp(n->recorder[i], name, len) == 0 &&
		    strcmp(n->recorder[i] + len, ":*") == 0)
			return true;
	return false;
}

void
stage_record_passed(struct stage *s, struct stage_node *n, const struct stage_record *r)
{
	if (n->ring == NULL)
		n->ring = must(calloc(STAGE_RING, sizeof *n->ring));
	n->ring[n->ring_at % STAGE_RING] = *r;
	n->ring[n->ring_at++ % STAGE_RING].seq = s->seq++;
}

static int
by_time(const void *x, const void *y)
{
	const struct stage_record *a = x, *b = y;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (int32_t)(a->seq - b->seq) < 0 ? -1 : 1;
}

/* ---- an agent ---- */

void
stage_programs(struct stage *s, struct stage_node *n)
{
	uint32_t count = texts_count(n->has);
	const char **list = must(malloc((count + 1) * sizeof *list));
	struct program one = { n->service, 1, 0, count };
	struct programs p = { .nprograms = 1, .programs = &one, .nnames = count, .names = list };
	struct err e;

	for (uint32_t i = 0; i < count; i++)
		list[i] = texts_get(n->has, i);
	if (engine_programs(s->g, n->number, &p, &e) != 0)
		stage_die("programs", e.text);
	free(list);
}

/* The time of the node's own clock at the true time. */
static int64_t
its_clock(const struct stage *s, const struct stage_node *n, int64_t at_ns)
{
	int64_t its_ns = at_ns + n->ahead_ns +
	                 (int64_t)((double)(at_ns - START_NS) * n->drift_ppm / 1e6);

	return s->begun_ns != INT64_MAX && at_ns - s->begun_ns >= n->step_at_ns
	           ? its_ns + n->step_ns
	           : its_ns;
}

/* Delay of a message between agent and controller, ns: mostly short, sometimes long. */
static int64_t
way_ns(struct stage *s)
{
	int64_t ns = 30000 + (int64_t)rng_below(&s->wire_rng, 100000);

	return rng_unit(&s->wire_rng) < 0.1 ? 100 * ns : ns;
}

/* The controller asks for the node's clock, as honed does. first: with the hello. */
static void
node_clock(struct stage *s, struct stage_node *n, bool first)
{
	int64_t came_ns, back_ns;
	struct clock_echo answer;

	if (!s->has_clocks || (!first && s->now_ns - n->asked_ns < 500 * MS))
		return;
	came_ns = s->now_ns + way_ns(s);
	back_ns = came_ns + way_ns(s);
	answer = (struct clock_echo){ s->now_ns, its_clock(s, n, came_ns),
		its_clock(s, n, came_ns) };
	n->asked_ns = s->now_ns;
	engine_clock(
	    s->g, n->number, first ? NULL : &answer, answer.went_ns, (struct mono){ back_ns });
}

/* The label's number in the batch being made. */
static uint32_t
number_in(struct stage *s, struct batch_writer *w, uint32_t label)
{
	struct stage_label *l = &s->label[label];
	const char *text = texts_get(s->labels, label);

	if (l->batch != s->batches) {
		l->batch = s->batches;
		l->number = batch_label(
		    w, l->kind, text, strlen(text), &l->field, l->field != NULL);
	}
	return l->number;
}

static void
write_record(struct stage *s, const struct stage_node *n, struct batch_writer *w,
    const struct stage_record *r)
{
	struct value value = { .type = VALUE_INT, .i = r->value };
	struct record out = {
		.trace_id = r->trace,
		.unit_id = r->unit,
		.link_id = r->link,
		.time_ns = its_clock(s, n, r->time_ns),
		.label = number_in(s, w, r->label),
		.pid = 1,
		.tid = r->tid > 0 ? r->tid : 1,
		.nvalues = s->label[r->label].field != NULL,
		.values = &value,
	};

	batch_record(w, &out);
}

/* Sends records[0..count) and the watermark, a true time. */
static void
send_batch(struct stage *s, struct stage_node *n, size_t from, size_t count, int64_t watermark_ns,
    const struct loss *loss)
{
	struct batch_writer w = { 0 };
	struct buf out = { 0 };
	struct err e;

	s->batches++;
	batch_begin(&w);
	for (size_t i = from; i < from + count; i++)
		write_record(s, n, &w, &n->records[i]);
	if (loss != NULL)
		batch_loss(&w, loss);
	if (batch_end(&w, its_clock(s, n, watermark_ns), &out, &e) != 0 ||
	    engine_batch(s->g, n->number, out.data, out.len, (struct mono){ s->now_ns + MS }, &e) !=
		0)
		stage_die("batch", e.text);
	n->told += count;
	n->sent_bytes += out.len;
	n->cpu_ns += n->record_cpu_ns * (double)count;
	batch_release(&w);
	buf_release(&out);
}

/* Sometimes the newest of the ready records are lost: those of the last 10 ms, at most
 * lose_count. Returns the number of records that remain. */
static size_t
lose(const struct stage *s, struct stage_node *n, size_t ready, int64_t until_ns, struct loss *loss)
{
	size_t gone = 0;

	*loss = (struct loss){ .reason = LOSS_RING,
		.from_ns = its_clock(s, n, until_ns - 10 * MS),
		.to_ns = its_clock(s, n, until_ns) };
	if (n->lose_count == 0 || (double)(s->now_ns - n->told_ns) <= n->lose_every_s * 1e9)
		return ready;
	n->told_ns = s->now_ns;
	for (size_t i = ready; i-- > 0 && gone < (size_t)n->lose_count &&
			       n->records[i].time_ns > until_ns - 10 * MS;) {
		if (n->lose_label != 0 && n->records[i].label + 1 != n->lose_label)
			continue;
		if (s->lost != NULL)
			s->lost(s->app, n, &n->records[i]);
		memmove(&n->records[i], &n->records[i + 1],
		    (n->nrecords - i - 1) * sizeof n->records[0]);
		n->nrecords--;
		gone++;
	}
	loss->count = gone;
	return ready - gone;
}

/* Sends the records whose time has come to the controller as batches; the others wait. */
static void
node_tell(struct stage *s, struct stage_node *n)
{
	int64_t until_ns = s->now_ns - n->late_ns, before_ns = until_ns - TICK_NS;
	size_t ready = 0, sent = 0;
	struct loss loss;

	if (n->nrecords > 0)
		qsort(n->records, n->nrecords, sizeof n->records[0], by_time);
	while (ready < n->nrecords && n->records[ready].time_ns <= until_ns)
		ready++;
	ready = lose(s, n, ready, until_ns, &loss);
	for (; ready - sent > BATCH_MOST; sent += BATCH_MOST)
		send_batch(s, n, sent, BATCH_MOST, before_ns, NULL);
	send_batch(s, n, sent, ready - sent, until_ns, loss.count > 0 ? &loss : NULL);
	if (ready > 0)
		memmove(
		    n->records, &n->records[ready], (n->nrecords - ready) * sizeof n->records[0]);
	n->nrecords -= ready;
}

/* The agent sheds load by itself, at once, without asking the controller. */
static void
node_sheds(struct stage *s, struct stage_node *n)
{
	static const struct want NOTHING = { 0 };

	n->shed = true;
	n->sheds++;
	n->on = 0;
	n->probed = 0;
	n->nrates = 0;
	if (s->obeyed != NULL)
		s->obeyed(s->app, n, &NOTHING);
}

/* The status is sent at least once a second; with every tick while queues may be full; twice a
 * second if the agent reports its cost. */
static void
node_status(struct stage *s, struct stage_node *n)
{
	double at_s = (double)(s->now_ns - s->begun_ns) / 1e9;
	struct status status = { .tracer_ok = true, .programs = 1, .epoch = n->epoch };
	bool costs = n->idle_core > 0 || n->record_cpu_ns > 0;

	if ((s->begun_ns == INT64_MAX && !costs && !s->has_recorders) ||
	    (n->fill <= 0 && s->now_ns - n->status_ns < (costs ? 500 : 1000) * (int64_t)MS))
		return;
	n->cpu_ns += n->idle_core * (double)(n->status_ns > 0 ? s->now_ns - n->status_ns : 0);
	n->status_ns = s->now_ns;
	status.cpu_us = (int64_t)(n->cpu_ns / 2e3);
	status.tracer_cpu_us = (int64_t)(n->cpu_ns / 2e3);
	status.records = n->told;
	status.sent_bytes = n->sent_bytes;
	status.record_ns = n->record_ns;
	status.rejected_ns = n->rejected_ns;
	status.recorder = n->nrecorder;
	status.recorder_bytes = n->nrecorder > 0 ? STAGE_RING * 40 : 0;
	status.fill[QUEUE_RING] = at_s >= n->fill_from_s && at_s < n->fill_from_s + n->fill_for_s
	                              ? n->fill
	                              : 0.05;
	if (status.fill[QUEUE_RING] >= SHED && n->on > 0)
		node_sheds(s, n);
	status.shed = n->shed;
	status.added = n->on;
	engine_status(s->g, n->number, &status, (struct mono){ s->now_ns });
}

static bool
has(const struct stage_node *n, const char *toggle)
{
	size_t len = strlen(toggle);

	return (len > 2 && strcmp(toggle + len - 2, ":*") == 0) ||
	       texts_find(n->has, toggle, len) != UINT32_MAX;
}

/* What the flight recorder has of a trace: records of it, or that it was overwritten. */
static void
answer_keep(struct stage *s, struct stage_node *n, const struct keep *k)
{
	size_t held = n->ring_at < STAGE_RING ? n->ring_at : STAGE_RING;
	struct kept answer = { .number = k->number,
		.trace_id = k->trace_id,
		.result = KEPT_READ,
		.rings = 1,
		.failure = "" };
	struct batch_writer w = { 0 };
	struct buf out = { 0 };
	struct err e;

	s->batches++;
	batch_begin(&w);
	for (size_t i = n->ring_at - held; i < n->ring_at; i++) {
		const struct stage_record *r = &n->ring[i % STAGE_RING];

		if (i == n->ring_at - held)
			answer.overwritten = held == STAGE_RING &&
			                     its_clock(s, n, r->time_ns) > k->from_ns;
		if (r->trace == k->trace_id)
			write_record(s, n, &w, r);
	}
	if (batch_end(&w, its_clock(s, n, s->now_ns), &out, &e) != 0)
		stage_die("kept", e.text);
	answer.batch = out.data;
	answer.batch_len = out.len;
	if (engine_kept(s->g, n->number, &answer, &e) != 0)
		stage_die("kept", e.text);
	batch_release(&w);
	buf_release(&out);
}

static void
node_keeps(struct stage *s, struct stage_node *n)
{
	struct keep k;

	while (s->has_recorders && engine_keep(s->g, n->number, &k)) {
		engine_keep_sent(s->g, n->number, k.number);
		answer_keep(s, n, &k);
	}
}

static void
obey_recorder(struct stage *s, struct stage_node *n, const struct want *w)
{
	n->nrecorder = 0;
	for (uint32_t i = 0; i < w->nrecorder && i < 16 && s->has_recorders; i++)
		snprintf(n->recorder[n->nrecorder++], sizeof n->recorder[0], "%s", w->recorder[i]);
	if (n->nrecorder == 0)
		n->ring_at = 0;
}

static void
node_obey(struct stage *s, struct stage_node *n)
{
	const struct want *w = engine_want(s->g, n->number);
	uint8_t *results;

	if (w->epoch == n->epoch)
		return;
	results = must(calloc(w->ntoggles + 1, 1));
	for (uint32_t i = 0; i < w->ntoggles; i++)
		results[i] = has(n, w->toggles[i].name) ? DONE_ON : DONE_NO_SUCH;
	n->epoch = w->epoch;
	n->on = w->ntoggles;
	n->shed = false;
	obey_recorder(s, n, w);
	n->sampled = w->sampled;
	n->probed = 0;
	n->sampled_others = w->sampled;
	n->nrates = 0;
	for (uint32_t i = 0; i < w->nrates; i++) {
		n->sampled = w->rates[i].sampled; /* of applications with one request type */
		n->probed = w->rates[i].probed;
		if (n->nrates == STAGE_TYPES_MAX)
			stage_die("too many request types", w->rates[i].request_type);
		n->rates[n->nrates] = (struct stage_rate){ .sampled = n->sampled,
			.probed = n->probed };
		snprintf(n->rates[n->nrates].type, sizeof n->rates[0].type, "%s",
		    w->rates[i].request_type);
		n->nrates++;
	}
	if (s->obeyed != NULL)
		s->obeyed(s->app, n, w);
	engine_done(s->g, n->number,
	    &(struct done){ .epoch = w->epoch,
		.from_ns = its_clock(s, n, s->now_ns + 3 * MS),
		.nresults = w->ntoggles,
		.results = results,
		.failure = "" },
	    (struct mono){ s->now_ns + 3 * MS });
	free(results);
}

/* ---- kill and restart of an agent ---- */

static void
node_gone(struct stage *s, struct stage_node *n)
{
	static const struct want NOTHING = { 0 };

	n->gone = true;
	n->shed = false;
	n->epoch = 0;
	n->on = 0;
	n->sampled = n->sampled_others = 1;
	n->probed = 0;
	n->nrates = 0;
	engine_leave(s->g, n->number, (struct mono){ s->now_ns });
	if (s->obeyed != NULL)
		s->obeyed(s->app, n, &NOTHING);
}

static void
node_back(struct stage *s, struct stage_node *n)
{
	struct err e;

	n->gone = false;
	if (engine_join(s->g, n->name, "sim", (struct mono){ s->now_ns }, &n->number, &e) != 0)
		stage_die("join", e.text);
	node_clock(s, n, true);
	stage_programs(s, n);
}

/* Records that its application makes while the agent is down are lost. */
static void
node_lives(struct stage *s, struct stage_node *n)
{
	double at_s = (double)(s->now_ns - s->begun_ns) / 1e9;
	bool gone = s->begun_ns != INT64_MAX && n->gone_for_s > 0 && at_s >= n->gone_from_s &&
	            at_s < n->gone_from_s + n->gone_for_s;

	if (gone && !n->gone)
		node_gone(s, n);
	else if (!gone && n->gone)
		node_back(s, n);
	if (gone)
		n->nrecords = 0;
}

/* ---- time ---- */

/* CPU time of this thread, so that other load on the machine is not measured. */
static int64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* One step of the engine: from the received batches to the desired states. */
static void
step(struct stage *s)
{
	int64_t begun_ns = cpu_ns();
	bool decided = false;
	struct err e;

	if (engine_step(
		s->g, (struct mono){ s->now_ns + 2 * MS }, (struct wall){ s->now_ns }, &e) != 0)
		stage_die("step", e.text);
	for (int i = 0; i < s->nnodes; i++)
		decided |= !s->nodes[i]->gone &&
		           engine_want(s->g, s->nodes[i]->number)->epoch != s->nodes[i]->epoch;
	if (s->decisions != NULL)
		sketch_add(decided ? s->decisions : s->steps, cpu_ns() - begun_ns);
}

/* Requests that arrive in a tick. Those of a Poisson process (Knuth, The Art of Computer Programming 2,
 * 3.4.1): how many uniform numbers have a product above exp(-mean). */
static double
arrivals(struct stage *s)
{
	double mean = s->rate * TICK_NS / 1e9, n = 0;

	if (!s->irregular)
		return mean;
	for (double product = rng_unit(&s->rng); product > exp(-mean); n++)
		product *= rng_unit(&s->rng);
	return n;
}

void
stage_tick(struct stage *s)
{
	for (s->owed += arrivals(s); s->owed >= 1; s->owed -= 1, s->requests++)
		s->request(s->app, s->now_ns + (int64_t)rng_below(&s->rng, TICK_NS));
	if (s->advance != NULL)
		s->advance(s->app, s->now_ns + TICK_NS);
	s->now_ns += TICK_NS;
	for (int i = 0; i < s->nnodes; i++) {
		node_lives(s, s->nodes[i]);
		if (s->nodes[i]->gone)
			continue;
		node_clock(s, s->nodes[i], false);
		node_tell(s, s->nodes[i]);
		node_status(s, s->nodes[i]);
	}
	step(s);
	for (int i = 0; i < s->nnodes; i++)
		if (!s->nodes[i]->gone) {
			node_keeps(s, s->nodes[i]);
			node_obey(s, s->nodes[i]);
		}
}

struct stage_rate
stage_rate(const struct stage_node *n, const char *type)
{
	for (uint32_t i = 0; i < n->nrates; i++)
		if (strcmp(n->rates[i].type, type) == 0)
			return n->rates[i];
	return (struct stage_rate){ .sampled = n->sampled_others };
}

void
stage_learn(struct stage *s, double seconds)
{
	struct err e;

	for (int64_t until = s->now_ns + 1000 * (int64_t)MS; s->now_ns < until;)
		stage_tick(s);
	if (seconds <= 0)
		return;
	if (engine_learn(s->g, (int64_t)(seconds * 1e9), (struct mono){ s->now_ns }, &e) != 0)
		stage_die("learn", e.text);
	while (!engine_learned(s->g))
		stage_tick(s);
}

struct run *
stage_diagnose(struct stage *s, const char *type, const struct start_options *o, double seconds_max,
    void (*watch)(void *app), bool *quiet)
{
	struct run *r;
	struct err e;
	uint64_t id;

	s->begun_ns = s->now_ns;
	s->requests = 0;
	if (engine_start(s->g, type, o, (struct mono){ s->now_ns }, (struct wall){ s->now_ns }, &id,
		&e) != 0)
		stage_die("start", e.text);
	r = forest_run(s->forest, id);
	while (r->state == RUN_ACTIVE && (double)(s->now_ns - s->begun_ns) < seconds_max * 1e9) {
		stage_tick(s);
		if (watch != NULL)
			watch(s->app);
	}
	*quiet = false;
	for (int i = 0; i < 100 && !*quiet; i++) {
		stage_tick(s);
		*quiet = engine_quiet(s->g);
	}
	return r;
}

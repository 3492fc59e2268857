/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plays an application described in a text file through the real engine on a
 * fake clock, and checks what the diagnosis ends with. Prints TAP.
 *
 *	rate 300                        requests a second
 *	learn 5                         seconds with everything on
 *	unit SERVICE NAME               a unit's program follows; the first unit is the request, NAME its type
 *	  point EVENT [KEY]             a tracepoint, with a field of that key's value
 *	  work MEAN_MS SD_MS            takes time
 *	  slow SHARE MEAN_MS SD_MS      takes that much longer in a share of requests, once the fault is on
 *	  slow-at NODE MEAN_MS SD_MS    takes that much longer on that node, once the fault is on
 *	  per KEY MS                    takes MS for each of the key, once the fault is on
 *	  call UNIT ... ;               hands on to each, at the same time, and waits for all
 *	  send UNIT                     hands on, waits for nothing
 *	  maybe SHARE ... ;             a branch
 *	  loop KEY ... ;                as often as the key says
 *	key NAME LOW HIGH               drawn for each request
 *	node SERVICE NAME NAME...       replicas (else one node of the service's name)
 *	fill NODE SHARE FROM_S FOR_S    its queues, counted from the start of the diagnosis
 *	lose NODE COUNT EVERY_S         it tells of lost records now and then
 *	clock NODE OFFSET_S DRIFT_PPM [STEP_MS AT_S]   its clock is so far ahead and runs so much too fast; and jumps
 *	                                ahead, counted from the start of the diagnosis
 *	wire SHARE MEAN_MS SD_MS        the way to a called unit takes so long in a share of calls, once the fault is on
 *	expect found|not-found|paused
 *	from LABEL / to LABEL           any of them is right
 *	key-is TEXT
 *	used-max N
 *	moved-max N                     so many steps of critical paths came before their causes, at most
 *	seeds N
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/engine_inside.h"

enum { MS = 1000000, MAX = 64, OPS = 512, TICK_NS = 20 * MS };
#define START_NS INT64_C(1000000000000)
enum op_kind { OP_POINT, OP_WORK, OP_SLOW, OP_SLOW_AT, OP_PER, OP_CALL, OP_SEND, OP_MAYBE, OP_LOOP, OP_END };

struct op {
	enum op_kind kind;
	char name[48], key[24];
	double a, b, c;
	int unit[4], nunits;
};
struct unit_text {
	char service[24], name[48];
	struct op ops[OPS];
	int nops;
};
struct node_sim {
	char name[24], service[24];
	uint32_t number;
	struct record records[65536];
	struct value values[65536];
	int nrecords;
	uint64_t epoch;
	char on[64][TOGGLE_NAME_MAX + 1];
	int non;
	bool probed;		/* the type is probed, by its want */
	int64_t ahead_ns, step_ns, step_at_ns, asked_ns;	/* its clock; step_at: after the start of the diagnosis */
	double drift_ppm;
	int64_t told_ns;
};
struct app {
	double rate, learn_s, wire_share, wire_ms, wire_sd_ms, fill, fill_from_s, fill_for_s, lose_every_s;
	char fill_node[24], lose_node[24], expect[16], from[8][160], to[8][160], key_is[96];
	int lose_count, nfrom, nto, used_max, moved_max, seeds;
	struct unit_text units[MAX];
	struct { char name[24]; double low, high; } keys[16];
	struct node_sim *nodes[MAX];
	int nunits, nkeys, nnodes;
	/* while it runs */
	struct engine *g;
	struct rng rng, wire_rng;	/* wire_rng: of what the controller and agents say to each other */
	int64_t begun_ns;		/* the diagnosis; INT64_MAX: not yet */
	bool has_clocks;
	bool fault;
	char labels[1024][200];
	struct batch_label table[1024];
	const char *fields[1024][1];
	uint32_t nlabels;
	double value[16];
	uint64_t next_id;
	bool was_paused;
	uint32_t on_most;
};

static void
die(const char *what, const char *with)
{
	printf("Bail out! %s: %s\n", what, with);
	exit(1);
}

/* ---- reading ---- */

static int
unit_number(struct app *a, const char *name)
{
	for (int i = 0; i < a->nunits; i++)
		if (strcmp(a->units[i].name, name) == 0)
			return i;
	die("no such unit (define units before those that call them, but the request first as 'request')", name);
	return -1;
}

static struct node_sim *
node_add(struct app *a, const char *service, const char *name)
{
	struct node_sim *n = a->nodes[a->nnodes++] = calloc(1, sizeof *n);

	snprintf(n->name, sizeof n->name, "%s", name);
	snprintf(n->service, sizeof n->service, "%s", service);
	return n;
}

/* A node that is to have a clock of its own: of a `node` line above, or one by the service's name. */
static struct node_sim *
node_named(struct app *a, const char *name)
{
	for (int i = 0; i < a->nnodes; i++)
		if (strcmp(a->nodes[i]->name, name) == 0)
			return a->nodes[i];
	return node_add(a, name, name);
}

static void
op_read(struct app *a, struct unit_text *u, char *word[], int n)
{
	static const char *const NAMES[] = { "point", "work", "slow", "slow-at", "per", "call", "send", "maybe", "loop", ";" };
	struct op *o = &u->ops[u->nops++];
	size_t kind = 0;

	while (kind < OP_END + 1 && strcmp(NAMES[kind], word[0]) != 0)
		kind++;
	if (kind == OP_END + 1 || u->nops == OPS)
		die("not understood", word[0]);
	*o = (struct op){ .kind = (enum op_kind)kind };
	if (kind == OP_POINT || kind == OP_PER || kind == OP_LOOP || kind == OP_SLOW_AT)
		snprintf(kind == OP_POINT ? o->name : o->key, 24, "%s", word[1]);
	if (kind == OP_POINT && n > 2)
		snprintf(o->key, sizeof o->key, "%s", word[2]);
	if (kind == OP_WORK || kind == OP_SLOW || kind == OP_MAYBE) {
		o->a = atof(word[1]);
		o->b = n > 2 ? atof(word[2]) : 0;
		o->c = n > 3 ? atof(word[3]) : 0;
	}
	if (kind == OP_PER)
		o->a = atof(word[2]);
	if (kind == OP_SLOW_AT) {
		o->b = atof(word[2]);
		o->c = atof(word[3]);
	}
	if (kind == OP_CALL || kind == OP_SEND)
		for (int i = 1; i < n && i <= 4; i++)
			o->unit[o->nunits++] = unit_number(a, word[i]);
}

static void
line_read(struct app *a, char *word[], int n, struct unit_text **u)
{
	const char *w = word[0];

	if (strcmp(w, "rate") == 0)
		a->rate = atof(word[1]);
	else if (strcmp(w, "learn") == 0)
		a->learn_s = atof(word[1]);
	else if (strcmp(w, "unit") == 0) {
		*u = &a->units[a->nunits++];
		snprintf((*u)->service, sizeof (*u)->service, "%s", word[1]);
		snprintf((*u)->name, sizeof (*u)->name, "%s", word[2]);
	} else if (strcmp(w, "key") == 0) {
		snprintf(a->keys[a->nkeys].name, 24, "%s", word[1]);
		a->keys[a->nkeys].low = atof(word[2]);
		a->keys[a->nkeys++].high = atof(word[3]);
	} else if (strcmp(w, "node") == 0) {
		for (int i = 2; i < n; i++)
			node_add(a, word[1], word[i]);
	} else if (strcmp(w, "fill") == 0) {
		snprintf(a->fill_node, sizeof a->fill_node, "%s", word[1]);
		a->fill = atof(word[2]);
		a->fill_from_s = atof(word[3]);
		a->fill_for_s = atof(word[4]);
	} else if (strcmp(w, "lose") == 0) {
		snprintf(a->lose_node, sizeof a->lose_node, "%s", word[1]);
		a->lose_count = atoi(word[2]);
		a->lose_every_s = atof(word[3]);
	} else if (strcmp(w, "clock") == 0) {
		struct node_sim *clock = node_named(a, word[1]);

		a->has_clocks = true;
		clock->ahead_ns = (int64_t)(atof(word[2]) * 1e9);
		clock->drift_ppm = atof(word[3]);
		clock->step_ns = n > 5 ? (int64_t)(atof(word[4]) * 1e6) : 0;
		clock->step_at_ns = n > 5 ? (int64_t)(atof(word[5]) * 1e9) : 0;
	} else if (strcmp(w, "wire") == 0) {
		a->wire_share = atof(word[1]);
		a->wire_ms = atof(word[2]);
		a->wire_sd_ms = atof(word[3]);
	} else if (strcmp(w, "expect") == 0)
		snprintf(a->expect, sizeof a->expect, "%s", word[1]);
	else if (strcmp(w, "from") == 0)
		snprintf(a->from[a->nfrom++], 160, "%s", word[1]);
	else if (strcmp(w, "to") == 0)
		snprintf(a->to[a->nto++], 160, "%s", word[1]);
	else if (strcmp(w, "key-is") == 0)
		snprintf(a->key_is, sizeof a->key_is, n > 3 ? "%s %s %s" : "%s", word[1], word[2], word[3]);
	else if (strcmp(w, "used-max") == 0)
		a->used_max = atoi(word[1]);
	else if (strcmp(w, "moved-max") == 0)
		a->moved_max = atoi(word[1]);
	else if (strcmp(w, "seeds") == 0)
		a->seeds = atoi(word[1]);
	else if (*u != NULL)
		op_read(a, *u, word, n);
	else
		die("not understood", w);
}

static struct app *
app_read(const char *path)
{
	struct app *a = calloc(1, sizeof *a);
	struct unit_text *u = NULL;
	FILE *f = fopen(path, "r");
	char line[400], *word[12], *save;

	if (f == NULL)
		die("cannot read", path);
	a->rate = 300;
	a->learn_s = 5;
	a->seeds = 3;
	a->used_max = a->moved_max = -1;
	while (fgets(line, sizeof line, f) != NULL) {
		int n = 0;

		line[strcspn(line, "#\n")] = '\0';
		for (char *w = strtok_r(line, " \t", &save); w != NULL && n < 12; w = strtok_r(NULL, " \t", &save))
			word[n++] = w;
		if (n > 0)
			line_read(a, word, n, &u);
	}
	fclose(f);
	for (int i = 0; i < a->nunits; i++) {
		bool have = false;

		for (int k = 0; k < a->nnodes; k++)
			have |= strcmp(a->nodes[k]->service, a->units[i].service) == 0;
		if (!have)
			node_add(a, a->units[i].service, a->units[i].service);
	}
	return a;
}

/* ---- playing ---- */

static double
key_value(struct app *a, const char *key)
{
	for (int i = 0; i < a->nkeys; i++)
		if (strcmp(a->keys[i].name, key) == 0)
			return a->value[i];
	die("no such key", key);
	return 0;
}

static uint32_t
label_number(struct app *a, enum record_kind kind, const char *text, const char *field)
{
	for (uint32_t i = 0; i < a->nlabels; i++)
		if (strcmp(a->labels[i], text) == 0)
			return i;
	snprintf(a->labels[a->nlabels], sizeof a->labels[0], "%s", text);
	a->fields[a->nlabels][0] = field;
	a->table[a->nlabels] = (struct batch_label){ .kind = (uint8_t)kind, .text = a->labels[a->nlabels],
		.len = (uint32_t)strlen(text), .nfields = field != NULL, .fields = a->fields[a->nlabels] };
	return a->nlabels++;
}

struct place_sim {		/* where a record is made */
	struct node_sim *node;
	const char *service;
	uint64_t trace, unit, link;
	bool probed;
};

static void
emit(struct app *a, const struct place_sim *p, enum record_kind kind, const char *event, const char *name,
    const char *field, double value, int64_t at_ns)
{
	struct node_sim *n = p->node;
	struct record *r = &n->records[n->nrecords];
	char text[200];

	if (n->nrecords == 65536)
		die("too many records in flight", n->name);
	snprintf(text, sizeof text, name != NULL ? "%s/%s(%s)" : "%s/%s", p->service, event, name);
	if (field != NULL) {
		n->values[n->nrecords] = (struct value){ .type = VALUE_INT, .i = (int64_t)value };
		r->nvalues = 1;
	} else {
		r->nvalues = 0;
	}
	r->values = &n->values[n->nrecords];
	r->trace_id = p->trace;
	r->unit_id = p->unit;
	r->link_id = kind == RECORD_POINT ? 0 : p->link;
	r->time_ns = at_ns;
	r->pid = r->tid = 1;
	r->label = label_number(a, kind, text, field);
	n->nrecords++;
}

static bool
is_on(const struct node_sim *n, const char *service, const char *event)
{
	char one[TOGGLE_NAME_MAX + 1], all[TOGGLE_NAME_MAX + 1];

	snprintf(one, sizeof one, "%s:%s", service, event);
	snprintf(all, sizeof all, "%s:*", service);
	for (int i = 0; i < n->non; i++)
		if (strcmp(n->on[i], one) == 0 || strcmp(n->on[i], all) == 0)
			return true;
	return false;
}

static struct node_sim *
node_for(struct app *a, const char *service)
{
	struct node_sim *of[MAX];
	uint64_t n = 0;

	for (int i = 0; i < a->nnodes; i++)
		if (strcmp(a->nodes[i]->service, service) == 0)
			of[n++] = a->nodes[i];
	return of[rng_below(&a->rng, n)];
}

static int64_t play(struct app *a, struct place_sim *p, const struct unit_text *u, int from, int *end, bool doing, int64_t at_ns);

static int64_t
play_unit(struct app *a, const struct place_sim *by, int unit, uint64_t link, int64_t at_ns)
{
	const struct unit_text *u = &a->units[unit];
	struct place_sim p = { node_for(a, u->service), u->service, by->trace, ++a->next_id, link, by->probed };
	int end;

	emit(a, &p, RECORD_UNIT_BEGIN, "hone:unit_begin", u->name, NULL, 0, at_ns);
	at_ns = play(a, &p, u, 0, &end, true, at_ns + 20000);
	p.link = link;
	emit(a, &p, RECORD_UNIT_END, "hone:unit_end", u->name, NULL, 0, at_ns);
	return at_ns;
}

static int64_t
spend(struct app *a, double mean_ms, double sd_ms)
{
	double ms = mean_ms + sd_ms * rng_normal(&a->rng);

	return (int64_t)((ms > mean_ms / 10 ? ms : mean_ms / 10) * MS);
}

static int64_t
call_all(struct app *a, struct place_sim *p, const struct op *o, int64_t at_ns)
{
	uint64_t link[4];
	int64_t back[4], wire_ns;

	for (int i = 0; i < o->nunits; i++) {
		p->link = link[i] = ++a->next_id;
		emit(a, p, RECORD_FORK, "hone:fork", a->units[o->unit[i]].name, NULL, 0, at_ns);
		wire_ns = 100000;
		if (a->fault && rng_unit(&a->rng) < a->wire_share)
			wire_ns += spend(a, a->wire_ms, a->wire_sd_ms);
		back[i] = play_unit(a, p, o->unit[i], link[i], at_ns + wire_ns) + 100000;
		at_ns += 10000;
	}
	for (int i = 0; i < o->nunits && o->kind == OP_CALL; i++) {
		at_ns = back[i] > at_ns ? back[i] : at_ns + 1000;
		p->link = link[i];
		emit(a, p, RECORD_JOIN, "hone:join", a->units[o->unit[i]].name, NULL, 0, at_ns);
	}
	p->link = 0;
	return at_ns;
}

/* Runs ops until the end of the block; *end: just past it. Not doing: only finds the end. */
static int64_t
play(struct app *a, struct place_sim *p, const struct unit_text *u, int from, int *end, bool doing, int64_t at_ns)
{
	int i;

	for (i = from; i < u->nops && u->ops[i].kind != OP_END; i++) {
		const struct op *o = &u->ops[i];

		if (o->kind == OP_MAYBE || o->kind == OP_LOOP) {
			int times = o->kind == OP_LOOP ? (int)key_value(a, o->key) : rng_unit(&a->rng) < o->a;
			int next = i;

			play(a, p, u, i + 1, &next, false, 0);
			for (int k = 0; k < times && doing; k++)
				at_ns = play(a, p, u, i + 1, &next, true, at_ns);
			i = next - 1;
		} else if (doing) {
			if (o->kind == OP_POINT && p->probed && is_on(p->node, u->service, o->name)) {
				char event[80];

				snprintf(event, sizeof event, "%s:%s", u->service, o->name);
				emit(a, p, RECORD_POINT, event, NULL, o->key[0] != '\0' ? o->key : NULL,
				    o->key[0] != '\0' ? key_value(a, o->key) : 0, at_ns);
			} else if (o->kind == OP_WORK) {
				at_ns += spend(a, o->a, o->b);
			} else if (o->kind == OP_SLOW && a->fault && rng_unit(&a->rng) < o->a) {
				at_ns += spend(a, o->b, o->c);
			} else if (o->kind == OP_SLOW_AT && a->fault && strcmp(p->node->name, o->key) == 0) {
				at_ns += spend(a, o->b, o->c);
			} else if (o->kind == OP_PER && a->fault) {
				at_ns += (int64_t)(key_value(a, o->key) * o->a * MS);
			} else if (o->kind == OP_CALL || o->kind == OP_SEND) {
				at_ns = call_all(a, p, o, at_ns);
			}
			at_ns += 100;
		}
	}
	*end = i + 1;
	return at_ns;
}

static void
request(struct app *a, int64_t at_ns)
{
	const struct unit_text *u = &a->units[a->nunits - 1];	/* the last: all that it calls is defined above it */
	struct place_sim p = { node_for(a, u->service), u->service, rng_next(&a->rng) | 1, ++a->next_id, 0, false };
	int end;

	p.probed = p.node->probed;
	for (int i = 0; i < a->nkeys; i++)
		a->value[i] = floor(a->keys[i].low + rng_unit(&a->rng) * (a->keys[i].high - a->keys[i].low + 1));
	emit(a, &p, RECORD_REQUEST_BEGIN, "hone:request_begin", u->name, "probed", p.probed, at_ns);
	at_ns = play(a, &p, u, 0, &end, true, at_ns + 1000);
	emit(a, &p, RECORD_REQUEST_END, "hone:request_end", u->name, NULL, 0, at_ns);
}

static int
by_time(const void *x, const void *y)
{
	const struct record *a = x, *b = y;

	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* What the node's own clock says when it is now_ns. */
static int64_t
its_clock(const struct app *a, const struct node_sim *n, int64_t now_ns)
{
	int64_t its_ns = now_ns + n->ahead_ns + (int64_t)((double)(now_ns - START_NS) * n->drift_ppm / 1e6);

	return a->begun_ns != INT64_MAX && now_ns - a->begun_ns >= n->step_at_ns ? its_ns + n->step_ns : its_ns;
}

/* A way between agent and controller: mostly quick, now and then not. */
static int64_t
way_ns(struct app *a)
{
	int64_t ns = 30000 + (int64_t)rng_below(&a->wire_rng, 100000);

	return rng_unit(&a->wire_rng) < 0.1 ? 100 * ns : ns;
}

/* The controller asks for the node's clock, as honed does. First: the hello. */
static void
node_clock(struct app *a, struct node_sim *n, int64_t now_ns, bool first)
{
	int64_t came_ns = now_ns + way_ns(a), back_ns = came_ns + way_ns(a);
	struct clock_echo answer = { now_ns, its_clock(a, n, came_ns), its_clock(a, n, came_ns) };

	if (!a->has_clocks || (!first && now_ns - n->asked_ns < 500 * MS))
		return;
	n->asked_ns = now_ns;
	engine_clock(a->g, n->number, first ? NULL : &answer, answer.went_ns, (struct mono){ back_ns });
}

/* What has happened on the node by now goes to the controller as a batch; what has not waits. */
static void
node_tell(struct app *a, struct node_sim *n, int64_t now_ns, int64_t begun_ns)
{
	struct batch_writer w = { 0 };
	struct buf out = { 0 };
	struct record kept[4096];
	struct value kept_values[4096];
	int ready = 0, left = 0;
	struct err e;

	qsort(n->records, (size_t)n->nrecords, sizeof n->records[0], by_time);
	batch_begin(&w);
	for (uint32_t i = 0; i < a->nlabels; i++)
		batch_label(&w, a->table[i].kind, a->table[i].text, a->table[i].len, a->table[i].fields, a->table[i].nfields);
	for (; ready < n->nrecords && n->records[ready].time_ns <= now_ns; ready++) {
		n->records[ready].time_ns = its_clock(a, n, n->records[ready].time_ns);
		batch_record(&w, &n->records[ready]);
	}
	if (a->lose_count > 0 && strcmp(a->lose_node, n->name) == 0 &&
	    (double)(now_ns - n->told_ns) > a->lose_every_s * 1e9) {
		n->told_ns = now_ns;
		batch_loss(&w, &(struct loss){ LOSS_RING, (uint64_t)a->lose_count,
			its_clock(a, n, now_ns - 10 * MS), its_clock(a, n, now_ns) });
	}
	if (batch_end(&w, its_clock(a, n, now_ns), &out, &e) != 0 ||
	    engine_batch(a->g, n->number, out.data, out.len, (struct mono){ now_ns + MS }, &e) != 0)
		die("batch", e.text);
	for (int i = ready; i < n->nrecords; i++, left++) {
		if (left == 4096)
			die("too many records in flight", n->name);
		kept[left] = n->records[i];
		if (kept[left].nvalues > 0)
			kept_values[left] = *kept[left].values;
		kept[left].values = NULL;
	}
	n->nrecords = left;
	for (int i = 0; i < left; i++) {
		n->records[i] = kept[i];
		n->values[i] = kept_values[i];
		n->records[i].values = &n->values[i];
	}
	batch_release(&w);
	buf_release(&out);
	if (begun_ns != 0 && strcmp(n->name, a->fill_node) == 0) {
		double s = (double)(now_ns - begun_ns) / 1e9;
		struct status status = { .trouble = "", .tracer_ok = true, .lost = { 0 } };

		status.fill[QUEUE_RING] = s >= a->fill_from_s && s < a->fill_from_s + a->fill_for_s ? a->fill : 0.05;
		engine_status(a->g, n->number, &status, (struct mono){ now_ns });
	}
}

static void
node_obey(struct app *a, struct node_sim *n, int64_t now_ns)
{
	const struct want *w = engine_want(a->g, n->number);
	uint8_t results[64] = { 0 };
	const struct done d = { .epoch = w->epoch, .from_ns = now_ns, .nresults = w->ntoggles, .results = results,
		.failure = "" };

	if (w->ntoggles > a->on_most)
		a->on_most = w->ntoggles;
	if (w->epoch == n->epoch)
		return;
	n->epoch = w->epoch;
	n->non = 0;
	for (uint32_t i = 0; i < w->ntoggles && i < 64; i++)
		snprintf(n->on[n->non++], sizeof n->on[0], "%s", w->toggles[i].name);
	n->probed = false;
	for (uint32_t i = 0; i < w->nrates; i++)
		n->probed |= w->rates[i].probed > 0;
	engine_done(a->g, n->number, &d, (struct mono){ now_ns });
}

static void
node_programs(struct app *a, struct node_sim *n)
{
	static char names[OPS][80];
	const char *list[OPS];
	struct program one = { n->service, 1, 0, 0 };
	struct programs p = { .nprograms = 1, .programs = &one, .names = list };
	struct err e;

	for (int u = 0; u < a->nunits; u++)
		for (int i = 0; i < a->units[u].nops && strcmp(a->units[u].service, n->service) == 0; i++)
			if (a->units[u].ops[i].kind == OP_POINT) {
				snprintf(names[p.nnames], sizeof names[0], "%s:%s", n->service, a->units[u].ops[i].name);
				list[p.nnames] = names[p.nnames];
				p.nnames++;
			}
	one.count = p.nnames;
	if (engine_programs(a->g, n->number, &p, &e) != 0)
		die("programs", e.text);
}

/* One tick of everything. */
static void
tick(struct app *a, int64_t *now_ns, double *owed, int64_t begun_ns)
{
	struct err e;

	for (*owed += a->rate * TICK_NS / 1e9; *owed >= 1; *owed -= 1)
		request(a, *now_ns + (int64_t)rng_below(&a->rng, TICK_NS));
	*now_ns += TICK_NS;
	for (int i = 0; i < a->nnodes; i++) {
		node_clock(a, a->nodes[i], *now_ns, false);
		node_tell(a, a->nodes[i], *now_ns, begun_ns);
	}
	if (engine_step(a->g, (struct mono){ *now_ns + 2 * MS }, (struct wall){ *now_ns }, &e) != 0)
		die("step", e.text);
	for (int i = 0; i < a->nnodes; i++)
		node_obey(a, a->nodes[i], *now_ns + 3 * MS);
}

static bool
one_of(const char *text, char (*of)[160], int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(text, of[i]) == 0)
			return true;
	return n == 0;
}

static bool
judge(struct app *a, const struct diagnosis *d, bool quiet, char *why, size_t size)
{
	const struct run *r = d->run;
	const struct verdict *v = forest_verdict(a->g->forest, r->id, 1);
	bool found = r->state == RUN_FOUND && v != NULL;
	bool want_found = strcmp(a->expect, "not-found") != 0;
	struct assemble_counts n;
	uint64_t jumps = 0;

	assemble_counts(a->g->assemble, &n);
	for (int i = 0; i < a->nnodes; i++) {
		struct clock_look look;

		clocks_look(a->g->clocks, a->nodes[i]->number, INT64_MAX / 4, &look);
		jumps += look.steps;
	}
	snprintf(why, size, "%s; %u cycles, %u of %u tracepoints; %s%s%s; %llu moved, %llu traces lossy, %llu clocks jumped",
	    run_word(r->state), r->cycles, r->tracepoints,
	    r->tracepoints_all, r->words != NULL ? r->words : "", quiet ? "" : " (NOT QUIET)",
	    strcmp(a->expect, "paused") == 0 && !a->was_paused ? " (NEVER PAUSED)" : "",
	    (unsigned long long)a->g->moved, (unsigned long long)n.lossy, (unsigned long long)jumps);
	for (int i = 0; i < a->nnodes; i++)
		jumps -= a->nodes[i]->step_ns != 0;
	if (jumps != 0)
		return false;
	if (a->moved_max >= 0 && a->g->moved > (uint64_t)a->moved_max)
		return false;
	if (!quiet || found != want_found || (strcmp(a->expect, "paused") == 0 && !a->was_paused))
		return false;
	if (!found)
		return true;
	return one_of(v->from, a->from, a->nfrom) && one_of(v->to, a->to, a->nto) &&
	    (a->key_is[0] == '\0' || (strcmp(v->key, a->key_is) == 0)) &&
	    (a->used_max < 0 || (int)r->tracepoints <= a->used_max);
}

static bool
run_once(struct app *a, uint64_t seed, char *why, size_t size)
{
	struct engine_options o = {
		.conditions = { 0.10, 0.95, 30, 0.95 }, .seed = seed, .memory_max_bytes = 64 << 20, .skew_ns = 5 * MS,
		.patience_ns = 30000000000, .groups_max = 500, .samples_max = 512, .tracepoints_per_cycle = 3,
		.isolate_min = 0.3, .explain_min = 0.5, .pause_fill = 0.5, .resume_fill = 0.35,
		.withdraw_ns = 5000000000, .cycle_max_ns = 20000000000, .sampled = 1, .lease_ns = 5000000000,
	};
	struct forest *f = forest_new();
	int64_t now_ns = START_NS, begun_ns = 0;
	double owed = 0;
	struct err e;
	uint64_t run;
	struct diagnosis *d;
	bool right, quiet = false;

	rng_seed(&a->rng, seed);
	rng_seed(&a->wire_rng, seed);
	a->begun_ns = INT64_MAX;
	a->fault = a->was_paused = false;
	a->nlabels = 0;
	a->next_id = seed << 32;
	if (engine_new(&a->g, &o, f, &e) != 0)
		die("engine", e.text);
	for (int i = 0; i < a->nnodes; i++) {
		struct node_sim *n = a->nodes[i];

		n->epoch = 0;
		n->nrecords = n->non = 0;
		n->probed = false;
		if (engine_join(a->g, n->name, "sim", (struct mono){ now_ns }, &n->number, &e) != 0)
			die("join", e.text);
		node_clock(a, n, now_ns, true);
		node_programs(a, n);
	}
	while (now_ns < START_NS + 1000 * (int64_t)MS)
		tick(a, &now_ns, &owed, 0);
	if (engine_learn(a->g, (int64_t)(a->learn_s * 1e9), (struct mono){ now_ns }, &e) != 0)
		die("learn", e.text);
	while (a->g->learning.active)
		tick(a, &now_ns, &owed, 0);
	a->fault = true;
	begun_ns = a->begun_ns = now_ns;
	if (engine_start(a->g, a->units[a->nunits - 1].name, &(struct start_options){ 0 }, (struct mono){ now_ns },
	    (struct wall){ now_ns }, &run, &e) != 0)
		die("start", e.text);
	d = a->g->types[0].diagnosis;
	while (d->phase != PHASE_ENDED && now_ns - begun_ns < 300000000000) {
		tick(a, &now_ns, &owed, begun_ns);
		a->was_paused |= a->g->paused;
	}
	for (int i = 0; i < 100 && !quiet; i++) {
		tick(a, &now_ns, &owed, begun_ns);
		quiet = engine_quiet(a->g);
	}
	right = judge(a, d, quiet, why, size);
	engine_free(a->g);
	forest_free(f);
	return right;
}

int
main(int argc, char **argv)
{
	struct app *a;
	char why[1400];
	int bad = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: sim FILE.sim\n");
		return 2;
	}
	a = app_read(argv[1]);
	printf("1..%d\n", a->seeds);
	for (int s = 1; s <= a->seeds; s++) {
		bool right = run_once(a, (uint64_t)s, why, sizeof why);

		printf("%sok %d - %s, seed %d\n# %s\n", right ? "" : "not ", s, argv[1], s, why);
		bad += !right;
	}
	for (int i = 0; i < a->nnodes; i++)
		free(a->nodes[i]);
	free(a);
	return bad > 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plays an application that a text file describes through the real engine on a fake clock, and
 * checks the result of the diagnosis. Prints TAP.
 *
 * 	rate 300                        requests a second
 * 	learn 5                         seconds of learning with all tracepoints enabled; 0: no learning
 * 	unit SERVICE NAME               a unit's program follows; the first unit is the request, NAME its type
 * 	  point EVENT [KEY]             a tracepoint, with a field of that key's value; of the service's provider, or
 * 	                                PROVIDER:EVENT
 * 	  work MEAN_MS SD_MS            takes time
 * 	  slow SHARE MEAN_MS SD_MS      takes that much longer in a share of requests, while the fault is active
 * 	  slow-each EVERY MEAN_MS SD_MS takes that much longer in one of so many requests, while the fault is active
 * 	  slow-at NODE MEAN_MS SD_MS [SHARE]   takes that much longer on that node, in a share of these requests, while the fault is
 * 	                                active
 * 	  per KEY MS                    takes MS for each unit of the key's value, while the fault is active
 * 	  call UNIT ... ;               forks all of them at the same time and joins all
 * 	  send UNIT                     forks, does not join
 * 	  maybe SHARE ... ;             a branch
 * 	  fault SHARE ... ;             a branch that is taken only while the fault is active
 * 	  else ... ;                    taken if the branch before it was not
 * 	  loop KEY ... ;                as many iterations as the key's value
 * 	key NAME LOW HIGH               drawn for each request
 * 	node SERVICE NAME NAME...       replicas (without this line one node, named like the service)
 * 	fill NODE SHARE FROM_S FOR_S    occupancy of its queues, from FROM_S after the start of the diagnosis
 * 	late NODE SECONDS               it sends each record and its watermark that much later
 * 	lose NODE COUNT EVERY_S         it loses COUNT records about every EVERY_S, and reports that
 * 	clock NODE OFFSET_S DRIFT_PPM [STEP_MS AT_S]   offset and drift of its clock; a jump ahead AT_S after the start
 * 	                                of the diagnosis
 * 	wire SHARE MEAN_MS SD_MS        network delay to a called unit in a share of calls, while the fault is active
 * 	budget SHARE [RECORD_NS REJECTED_NS]   overhead budget of each node, as a share of one core; cost of a record that
 * 	                                the filter keeps or rejects (default 150 and 40). No node may exceed it: by the
 * 	                                controller's sums at any time, and by its actual cost in any 5 s, within sampling error
 * 	effect SHARE                    the least effect that is worth mending
 * 	ignore PATTERN...               excluded waits
 * 	bin RULE...                     bins of requests
 * 	deep PATTERN...                 providers of the preload layer: some of their tracepoints are enabled, and after that
 * 	                                none of the program's own
 * 	has SERVICE PROVIDER:EVENT...   tracepoints that it can enable and never passes
 * 	tail QUANTILE                   the operator asks for this tail
 * 	baseline                        before the fault, the operator says that the type is healthy
 * 	burst FROM_S FOR_S [EVERY_S]    the fault is active only then, after the start of the diagnosis; again every EVERY_S
 * 	recorder                        nodes can have flight recorders
 * 	always                          these are always on
 * 	ends-late SHARE MEAN_MS SD_MS   a share of called units record their end that much after their answer
 * 	stall EVERY MEAN_MS SD_MS       the machine stops each EVERY-th request that much longer, at a random moment of its work,
 * 	                                while the fault is active
 * 	past FOR_S AGO_S                the fault is active only before the diagnosis, for so long, and ended AGO_S before it
 * 	expect found|unsure|not-found|not-sure|paused|gone      not-sure: unsure, or not found
 * 	expect not-found REASON                                 with the word of this reason (forest/reasons.tbl.h)
 * 	from LABEL / to LABEL           each may occur several times; any of them is right
 * 	key-is TEXT
 * 	kind WORD                       of the first verdict
 * 	verdicts N                      exactly N verdicts, all right, none twice
 * 	claim FIELD VALUE [VALUE]       of the first verdict: over-budget N; preload KIND; preload-edge FROM TO; call NAME;
 * 	                                object NAME SHARE (at least); position N OF; loop-back; unlearned N SERVICE; unsure;
 * 	                                share LEAST [MOST]; passing MOST (share of the requests that pass the edge);
 * 	                                tail QUANTILE; tail-has KEY VALUE (KEY is a part of its name; also of few requests that
 * 	                                are slow in the edge); captured LEAST [P]
 * 	                                (outliers, and the most that p may be)
 * 	over-max N                      in at most N periods of 5 s a node may exceed its budget, because the rates of the
 * 	                                tracepoints were unknown
 * 	probed-max SHARE                the probed share fell below SHARE at some time
 * 	used-max N
 * 	early-min N                     at least N traces did not wait for all nodes
 * 	moved-max N                     at most N steps of critical paths came before their causes
 * 	seeds N
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/engine/overhead.h"
#include "controlplane/engine/engine.h"
#include "controlplane/engine/parts.h"
#include "tests/sim/stage.h"

enum { MAX = 64, OPS = 512, FULL_NAME = 80 };
#define WINDOW_NS INT64_C(5000000000)
#define CHANCE 0.25 /* tolerance: probed requests are a random sample, some hundred in a window */
enum op_kind {
	OP_POINT,
	OP_WORK,
	OP_SLOW,
	OP_SLOW_EACH,
	OP_SLOW_AT,
	OP_PER,
	OP_CALL,
	OP_SEND,
	OP_MAYBE,
	OP_FAULT,
	OP_ELSE,
	OP_LOOP,
	OP_END
};

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
struct node_sim { /* enabled tracepoints of a node */
	char on[64][TOGGLE_NAME_MAX + 1];
	int non;
	uint64_t kept, rejected; /* passes of enabled tracepoints in this window */
};
struct app {
	struct stage stage;
	double learn_s, wire_share, wire_ms, wire_sd_ms, fill, fill_from_s, fill_for_s,
	    lose_every_s;
	char fill_node[24], lose_node[24], expect[16], expect_reason[24], from[8][160], to[8][160],
	    key_is[96], kind[16];
	double tail; /* 0: none is asked for */
	bool always;
	double stall_ms, stall_sd_ms, past_for, past_ago;
	double ends_late, ends_late_ms, ends_late_sd_ms;
	int stall_every;
	double
	    stall_at; /* of this request: after so much of its mean work; below 0: it is not stopped */
	bool baseline;
	double burst_from, burst_for, burst_every; /* burst_for 0: the fault is always active */
	bool acts;                                 /* the fault is, for this request */
	double budget, record_ns, rejected_ns, probed_max, effect_min;
	struct {
		char field[24], value[2][96];
	} claims[8];
	int nclaims;
	char ignore[160], bins[160], deep[160];
	int over_max, overs;
	int lose_count, nfrom, nto, used_max, moved_max, early_min, seeds, verdicts;
	struct unit_text units[MAX];
	struct {
		char name[24];
		double low, high;
	} keys[16];
	int nunits, nkeys;
	/* while it runs */
	bool fault;
	double value[16];
	bool was_paused, was_deep,
	    was_late; /* late: a tracepoint of the program was enabled after one of the preload layer */
	double spent, reckoned,
	    probed_least; /* the highest overhead of any node, as a share of one core: in a window, by the controller's sums */
	int64_t window_ns;
};

/* ---- reading ---- */

static int
unit_number(struct app *a, const char *name)
{
	for (int i = 0; i < a->nunits; i++)
		if (strcmp(a->units[i].name, name) == 0)
			return i;
	stage_die(
	    "no such unit (define units before those that call them, but the request first as 'request')",
	    name);
	return -1;
}

static struct stage_node *
node_add(struct app *a, const char *service, const char *name)
{
	struct stage_node *n = stage_node(&a->stage, service, name);

	n->ctx = calloc(1, sizeof(struct node_sim));
	return n;
}

/* A node with its own clock: declared by a `node` line above, or named like its service. */
static struct stage_node *
node_named(struct app *a, const char *name)
{
	struct stage_node *n = stage_node_named(&a->stage, name);

	return n != NULL ? n : node_add(a, name, name);
}

static void
op_read(struct app *a, struct unit_text *u, char *word[], int n)
{
	static const char *const NAMES[] = { "point", "work", "slow", "slow-each", "slow-at", "per",
		"call", "send", "maybe", "fault", "else", "loop", ";" };
	struct op *o = &u->ops[u->nops++];
	size_t kind = 0;

	while (kind < OP_END + 1 && strcmp(NAMES[kind], word[0]) != 0)
		kind++;
	if (kind == OP_END + 1 || u->nops == OPS)
		stage_die("not understood", word[0]);
	*o = (struct op){ .kind = (enum op_kind)kind };
	if (kind == OP_POINT || kind == OP_PER || kind == OP_LOOP || kind == OP_SLOW_AT)
		snprintf(kind == OP_POINT ? o->name : o->key,
		    kind == OP_POINT ? sizeof o->name : sizeof o->key, "%s", word[1]);
	if (kind == OP_POINT && n > 2)
		snprintf(o->key, sizeof o->key, "%s", word[2]);
	if (kind == OP_WORK || kind == OP_SLOW || kind == OP_SLOW_EACH || kind == OP_MAYBE ||
	    kind == OP_FAULT) {
		o->a = atof(word[1]);
		o->b = n > 2 ? atof(word[2]) : 0;
		o->c = n > 3 ? atof(word[3]) : 0;
	}
	if (kind == OP_PER)
		o->a = atof(word[2]);
	if (kind == OP_SLOW_AT) {
		o->b = atof(word[2]);
		o->c = atof(word[3]);
		o->a = n > 4 ? atof(word[4]) : 1;
	}
	if (kind == OP_CALL || kind == OP_SEND)
		for (int i = 1; i < n && i <= 4; i++)
			o->unit[o->nunits++] = unit_number(a, word[i]);
}

/* All words except the first. */
static void
join(char *to, size_t size, char *word[], int n)
{
	for (int i = 1; i < n; i++)
		snprintf(to + strlen(to), size - strlen(to), "%s%s", i > 1 ? " " : "", word[i]);
}

static void
line_read(struct app *a, char *word[], int n, struct unit_text **u)
{
	const char *w = word[0];

	if (strcmp(w, "rate") == 0)
		a->stage.rate = atof(word[1]);
	else if (strcmp(w, "learn") == 0)
		a->learn_s = atof(word[1]);
	else if (strcmp(w, "unit") == 0) {
		*u = &a->units[a->nunits++];
		snprintf((*u)->service, sizeof((*u)->service), "%s", word[1]);
		snprintf((*u)->name, sizeof((*u)->name), "%s", word[2]);
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
	} else if (strcmp(w, "late") == 0) {
		node_named(a, word[1])->late_ns = (int64_t)(atof(word[2]) * 1e9);
	} else if (strcmp(w, "lose") == 0) {
		snprintf(a->lose_node, sizeof a->lose_node, "%s", word[1]);
		a->lose_count = atoi(word[2]);
		a->lose_every_s = atof(word[3]);
	} else if (strcmp(w, "clock") == 0) {
		struct stage_node *clock = node_named(a, word[1]);

		a->stage.has_clocks = true;
		clock->ahead_ns = (int64_t)(atof(word[2]) * 1e9);
		clock->drift_ppm = atof(word[3]);
		clock->step_ns = n > 5 ? (int64_t)(atof(word[4]) * 1e6) : 0;
		clock->step_at_ns = n > 5 ? (int64_t)(atof(word[5]) * 1e9) : 0;
	} else if (strcmp(w, "budget") == 0) {
		a->budget = atof(word[1]);
		a->record_ns = n > 2 ? atof(word[2]) : a->record_ns;
		a->rejected_ns = n > 3 ? atof(word[3]) : a->rejected_ns;
	} else if (strcmp(w, "effect") == 0) {
		a->effect_min = atof(word[1]);
	} else if (strcmp(w, "probed-max") == 0) {
		a->probed_max = atof(word[1]);
	} else if (strcmp(w, "over-max") == 0) {
		a->over_max = atoi(word[1]);
	} else if (strcmp(w, "claim") == 0 && n > 1 && a->nclaims < 8) {
		snprintf(a->claims[a->nclaims].field, sizeof a->claims[0].field, "%s", word[1]);
		for (int i = 2; i < n && i < 4; i++)
			snprintf(a->claims[a->nclaims].value[i - 2], sizeof a->claims[0].value[0],
			    "%s", word[i]);
		a->nclaims++;
	} else if (strcmp(w, "ignore") == 0) {
		join(a->ignore, sizeof a->ignore, word, n);
	} else if (strcmp(w, "bin") == 0) {
		join(a->bins, sizeof a->bins, word, n);
	} else if (strcmp(w, "deep") == 0) {
		join(a->deep, sizeof a->deep, word, n);
	} else if (strcmp(w, "has") == 0) {
		for (int i = 2; i < n; i++)
			stage_has(node_named(a, word[1]), word[i]);
	} else if (strcmp(w, "wire") == 0) {
		a->wire_share = atof(word[1]);
		a->wire_ms = atof(word[2]);
		a->wire_sd_ms = atof(word[3]);
	} else if (strcmp(w, "burst") == 0) {
		a->burst_from = atof(word[1]);
		a->burst_for = atof(word[2]);
		a->burst_every = n > 3 ? atof(word[3]) : 0;
	} else if (strcmp(w, "expect") == 0) {
		snprintf(a->expect, sizeof a->expect, "%s", word[1]);
		snprintf(a->expect_reason, sizeof a->expect_reason, "%s", n > 2 ? word[2] : "");
	} else if (strcmp(w, "from") == 0)
		snprintf(a->from[a->nfrom++], 160, "%s", word[1]);
	else if (strcmp(w, "to") == 0)
		snprintf(a->to[a->nto++], 160, "%s", word[1]);
	else if (strcmp(w, "key-is") == 0)
		join(a->key_is, sizeof a->key_is, word, n);
	else if (strcmp(w, "kind") == 0)
		snprintf(a->kind, sizeof a->kind, "%s", word[1]);
	else if (strcmp(w, "verdicts") == 0)
		a->verdicts = atoi(word[1]);
	else if (strcmp(w, "used-max") == 0)
		a->used_max = atoi(word[1]);
	else if (strcmp(w, "moved-max") == 0)
		a->moved_max = atoi(word[1]);
	else if (strcmp(w, "early-min") == 0)
		a->early_min = atoi(word[1]);
	else if (strcmp(w, "recorder") == 0)
		a->stage.has_recorders = true;
	else if (strcmp(w, "always") == 0)
		a->always = true;
	else if (strcmp(w, "ends-late") == 0) {
		a->ends_late = atof(word[1]);
		a->ends_late_ms = atof(word[2]);
		a->ends_late_sd_ms = atof(word[3]);
	} else if (strcmp(w, "stall") == 0) {
		a->stall_every = atoi(word[1]);
		a->stall_ms = atof(word[2]);
		a->stall_sd_ms = atof(word[3]);
	} else if (strcmp(w, "past") == 0) {
		a->past_for = atof(word[1]);
		a->past_ago = atof(word[2]);
	} else if (strcmp(w, "baseline") == 0)
		a->baseline = true;
	else if (strcmp(w, "tail") == 0)
		a->tail = atof(word[1]);
	else if (strcmp(w, "seeds") == 0)
		a->seeds = atoi(word[1]);
	else if (*u != NULL)
		op_read(a, *u, word, n);
	else
		stage_die("not understood", w);
}

/* The label of a point: its service's provider, unless the point names one. */
static void
full_name(char name[FULL_NAME], const char *service, const char *event)
{
	snprintf(name, FULL_NAME, "%s%s%s", strchr(event, ':') != NULL ? "" : service,
	    strchr(event, ':') != NULL ? "" : ":", event);
}

static void
node_has(struct stage_node *n, const struct unit_text *u)
{
	char name[FULL_NAME];

	for (int i = 0; i < u->nops; i++)
		if (u->ops[i].kind == OP_POINT) {
			full_name(name, u->service, u->ops[i].name);
			stage_has(n, name);
		}
}

/* Nodes of services without a `node` line; each node's tracepoints and faults. */
static void
app_nodes(struct app *a)
{
	for (int i = 0; i < a->nunits; i++) {
		bool have = false;

		for (int k = 0; k < a->stage.nnodes; k++)
			have |= strcmp(a->stage.nodes[k]->service, a->units[i].service) == 0;
		if (!have)
			node_add(a, a->units[i].service, a->units[i].service);
	}
	for (int k = 0; k < a->stage.nnodes; k++) {
		struct stage_node *n = a->stage.nodes[k];

		for (int u = 0; u < a->nunits; u++)
			if (strcmp(a->units[u].service, n->service) == 0)
				node_has(n, &a->units[u]);
		n->record_ns = a->record_ns;
		n->rejected_ns = a->rejected_ns;
		if (strcmp(n->name, a->fill_node) == 0) {
			n->fill = a->fill;
			n->fill_from_s = a->fill_from_s;
			n->fill_for_s = a->fill_for_s;
		}
		if (strcmp(n->name, a->lose_node) == 0) {
			n->lose_count = a->lose_count;
			n->lose_every_s = a->lose_every_s;
		}
	}
}

static struct app *
app_read(const char *path)
{
	struct app *a = calloc(1, sizeof *a);
	struct unit_text *u = NULL;
	FILE *f = fopen(path, "r");
	char line[400], *word[12], *save;

	if (f == NULL)
		stage_die("cannot read", path);
	a->stage.rate = 300;
	a->learn_s = 5;
	a->seeds = 3;
	a->used_max = a->moved_max = -1;
	a->budget = 0.01;
	a->record_ns = 150;
	a->rejected_ns = 40;
	a->probed_max = 1;
	while (fgets(line, sizeof line, f) != NULL) {
		int n = 0;

		line[strcspn(line, "#\n")] = '\0';
		for (char *w = strtok_r(line, " \t", &save); w != NULL && n < 12;
		     w = strtok_r(NULL, " \t", &save))
			word[n++] = w;
		if (n > 0)
			line_read(a, word, n, &u);
	}
	fclose(f);
	app_nodes(a);
	return a;
}
/* ---- playing ---- */

static double
key_value(struct app *a, const char *key)
{
	for (int i = 0; i < a->nkeys; i++)
		if (strcmp(a->keys[i].name, key) == 0)
			return a->value[i];
	stage_die("no such key", key);
	return 0;
}

struct place_sim { /* the node on which a record is made */
	struct stage_node *node;
	const char *service;
	uint64_t trace, unit, link;
	bool probed;
};

static void
emit(struct app *a, const struct place_sim *p, enum record_kind kind, const char *event,
    const char *name, const char *field, double value, int64_t at_ns)
{
	char text[200];

	snprintf(text, sizeof text, name != NULL ? "%s/%s(%s)" : "%s/%s", p->service, event, name);
	stage_emit(&a->stage, p->node,
	    &(struct stage_record){ .time_ns = at_ns,
		.trace = p->trace,
		.unit = p->unit,
		.link = kind == RECORD_POINT ? 0 : p->link,
		.value = (int64_t)value,
		.label = stage_label(&a->stage, kind, text, field) });
}

static bool
is_on(const struct stage_node *node, const char *service, const char *event)
{
	const struct node_sim *n = node->ctx;
	char one[FULL_NAME], all[FULL_NAME + 2];

	full_name(one, service, event);
	snprintf(all, sizeof all, "%.*s:*", (int)strcspn(one, ":"), one);
	for (int i = 0; i < n->non; i++)
		if (strcmp(n->on[i], one) == 0 || strcmp(n->on[i], all) == 0)
			return true;
	return false;
}

/* An enabled tracepoint fires: its filter keeps or rejects the record. */
static bool
passes(struct place_sim *p, const char *event)
{
	struct node_sim *n = p->node->ctx;

	if (!is_on(p->node, p->service, event))
		return false;
	n->kept += p->probed;
	n->rejected += !p->probed;
	return p->probed;
}

/* The same record, in the node's flight recorder: that has the requests that are not probed, too. */
static void
pass_recorder(struct app *a, const struct place_sim *p, const char *event, int64_t at_ns)
{
	char full[FULL_NAME], text[200];

	full_name(full, p->service, event);
	if (!stage_is_recorded(p->node, full))
		return;
	snprintf(text, sizeof text, "%s/%s", p->service, full);
	stage_record_passed(&a->stage, p->node,
	    &(struct stage_record){ .time_ns = at_ns,
		.trace = p->trace,
		.unit = p->unit,
		.label = stage_label(&a->stage, RECORD_POINT, text, NULL) });
}

static struct stage_node *
node_for(struct app *a, const char *service)
{
	struct stage_node *of[MAX];
	uint64_t n = 0;

	for (int i = 0; i < a->stage.nnodes; i++)
		if (strcmp(a->stage.nodes[i]->service, service) == 0)
			of[n++] = a->stage.nodes[i];
	return of[rng_below(&a->stage.rng, n)];
}

static int64_t
spend(struct app *a, double mean_ms, double sd_ms)
{
	double ms = mean_ms + sd_ms * rng_normal(&a->stage.rng);

	return (int64_t)((ms > mean_ms / 10 ? ms : mean_ms / 10) * MS);
}

static int64_t play(struct app *a, struct place_sim *p, const struct unit_text *u, int from,
    int *end, bool doing, int64_t at_ns);

static int64_t
play_unit(struct app *a, const struct place_sim *by, int unit, uint64_t link, int64_t at_ns)
{
	const struct unit_text *u = &a->units[unit];
	struct place_sim p = { node_for(a, u->service), u->service, by->trace, ++a->stage.next_id,
		link, by->probed };
	int64_t late_ns = 0;
	int end;

	emit(a, &p, RECORD_UNIT_BEGIN, "hone:unit_begin", u->name, NULL, 0, at_ns);
	at_ns = play(a, &p, u, 0, &end, true, at_ns + 20000);
	p.link = link;
	if (a->ends_late > 0 && rng_unit(&a->stage.rng) < a->ends_late)
		late_ns = spend(a, a->ends_late_ms, a->ends_late_sd_ms);
	emit(a, &p, RECORD_UNIT_END, "hone:unit_end", u->name, NULL, 0, at_ns + late_ns);
	return at_ns;
}

static int64_t
call_all(struct app *a, struct place_sim *p, const struct op *o, int64_t at_ns)
{
	uint64_t link[4];
	int64_t back[4], wire_ns;

	for (int i = 0; i < o->nunits; i++) {
		p->link = link[i] = ++a->stage.next_id;
		emit(a, p, RECORD_FORK, "hone:fork", a->units[o->unit[i]].name, NULL, 0, at_ns);
		wire_ns = 100000;
		if (a->acts && rng_unit(&a->stage.rng) < a->wire_share)
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

/* One in `every` requests, those in the middle between its multiples. */
static bool
is_nth(const struct app *a, int every)
{
	return every > 0 && (int)(a->stage.requests % (uint64_t)every) == every / 2;
}

/* Runs ops to the end of the block; *end: the op after it. Without `doing`, it only finds the
 * end. */
static int64_t
play(struct app *a, struct place_sim *p, const struct unit_text *u, int from, int *end, bool doing,
    int64_t at_ns)
{
	bool taken = false;
	int i;

	for (i = from; i < u->nops && u->ops[i].kind != OP_END; i++) {
		const struct op *o = &u->ops[i];

		if (o->kind == OP_MAYBE || o->kind == OP_FAULT || o->kind == OP_ELSE ||
		    o->kind == OP_LOOP) {
			int times = !doing               ? 0
			            : o->kind == OP_LOOP ? (int)key_value(a, o->key)
			            : o->kind == OP_ELSE ? !taken
			                                 : (o->kind != OP_FAULT || a->acts) &&
			                                       rng_unit(&a->stage.rng) < o->a;
			int next = i;

			taken = times > 0;
			play(a, p, u, i + 1, &next, false, 0);
			for (int k = 0; k < times && doing; k++)
				at_ns = play(a, p, u, i + 1, &next, true, at_ns);
			i = next - 1;
		} else if (doing) {
			if (o->kind == OP_POINT)
				pass_recorder(a, p, o->name, at_ns);
			if (o->kind == OP_POINT && passes(p, o->name)) {
				char event[FULL_NAME];

				full_name(event, u->service, o->name);
				emit(a, p, RECORD_POINT, event, NULL,
				    o->key[0] != '\0' ? o->key : NULL,
				    o->key[0] != '\0' ? key_value(a, o->key) : 0, at_ns);
			} else if (o->kind == OP_WORK) {
				at_ns += spend(a, o->a, o->b);
				if (a->stall_at >= 0 && a->stall_at < o->a)
					at_ns += spend(a, a->stall_ms, a->stall_sd_ms);
				a->stall_at -= o->a;
			} else if (o->kind == OP_SLOW && a->acts &&
				   rng_unit(&a->stage.rng) < o->a) {
				at_ns += spend(a, o->b, o->c);
			} else if (o->kind == OP_SLOW_EACH && a->acts && is_nth(a, (int)o->a)) {
				at_ns += spend(a, o->b, o->c);
			} else if (o->kind == OP_SLOW_AT && a->acts &&
				   strcmp(p->node->name, o->key) == 0 &&
				   (o->a >= 1 || rng_unit(&a->stage.rng) < o->a)) {
				at_ns += spend(a, o->b, o->c);
			} else if (o->kind == OP_PER && a->acts) {
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

static bool
acts_at(const struct app *a, int64_t at_ns)
{
	double since_s = (double)(at_ns - a->stage.begun_ns) / 1e9 - a->burst_from;

	if (!a->fault || a->burst_for <= 0)
		return a->fault;
	if (a->burst_every > 0 && since_s > 0)
		since_s = fmod(since_s, a->burst_every);
	return since_s >= 0 && since_s < a->burst_for;
}

static double
mean_work(const struct app *a)
{
	double ms = 0;

	for (int i = 0; i < a->nunits; i++)
		for (int k = 0; k < a->units[i].nops; k++)
			ms += a->units[i].ops[k].kind == OP_WORK ? a->units[i].ops[k].a : 0;
	return ms;
}

static void
request(void *app, int64_t at_ns)
{
	struct app *a = app;
	const struct unit_text
	    *u = &a->units[a->nunits -
			   1]; /* the last unit: all units that it calls are defined above it */
	struct place_sim p = { node_for(a, u->service), u->service, rng_next(&a->stage.rng) | 1,
		++a->stage.next_id, 0, false };
	int end;

	a->acts = acts_at(a, at_ns);
	a->stall_at = a->acts && is_nth(a, a->stall_every) ? rng_unit(&a->stage.rng) * mean_work(a)
	                                                   : -1;
	p.probed = rng_unit(&a->stage.rng) < p.node->probed;
	for (int i = 0; i < a->nkeys; i++)
		a->value[i] = floor(a->keys[i].low + rng_unit(&a->stage.rng) *
							 (a->keys[i].high - a->keys[i].low + 1));
	emit(a, &p, RECORD_REQUEST_BEGIN, "hone:request_begin", u->name, "probed", p.probed, at_ns);
	at_ns = play(a, &p, u, 0, &end, true, at_ns + 1000);
	emit(a, &p, RECORD_REQUEST_END, "hone:request_end", u->name, NULL, 0, at_ns);
}

static bool
one_on(const struct node_sim *n, const char *name)
{
	for (int i = 0; i < n->non; i++)
		if (strcmp(n->on[i], name) == 0)
			return true;
	return false;
}

static void
obeyed(void *app, struct stage_node *node, const struct want *w)
{
	struct node_sim *n = node->ctx;

	struct app *a = app;

	for (uint32_t i = 0; i < w->ntoggles && a->fault; i++) {
		bool deep = strncmp(w->toggles[i].name, "lttng_ust_", 10) == 0;

		a->was_deep |= deep;
		a->was_late |= !deep && a->was_deep && !one_on(n, w->toggles[i].name);
	}
	n->non = 0;
	for (uint32_t i = 0; i < w->ntoggles && i < 64; i++)
		snprintf(n->on[n->non++], sizeof n->on[0], "%s", w->toggles[i].name);
}

/* The nodes' overhead: by the controller's sums now, and by the tracepoints that fired in the
 * window that ends. */
static void
look_at_spending(struct app *a)
{
	const struct stage *s = &a->stage;
	bool ends = s->now_ns - a->window_ns >= WINDOW_NS;

	for (int i = 0; i < s->nnodes; i++) {
		struct node_sim *n = s->nodes[i]->ctx;
		double ns = (double)n->kept * a->record_ns + (double)n->rejected * a->rejected_ns;

		a->reckoned = fmax(
		    a->reckoned, overhead_spent(engine_parts(s->g)->overhead, s->nodes[i]->number));
		if (s->nodes[i]->probed > 0)
			a->probed_least = fmin(a->probed_least, s->nodes[i]->probed);
		if (ends) {
			a->spent = fmax(a->spent, ns / (double)(s->now_ns - a->window_ns));
			a->overs += ns / (double)(s->now_ns - a->window_ns) >
			            a->budget * (1 + CHANCE);
			n->kept = n->rejected = 0;
		}
	}
	if (ends)
		a->window_ns = s->now_ns;
}

static void
spending_begins(struct app *a)
{
	for (int i = 0; i < a->stage.nnodes; i++) {
		struct node_sim *n = a->stage.nodes[i]->ctx;

		n->kept = n->rejected = 0;
	}
	a->spent = a->reckoned = a->overs = 0;
	a->probed_least = 1;
	a->window_ns = a->stage.now_ns;
}

static void
watch(void *app)
{
	struct app *a = app;

	a->was_paused |= engine_parts(a->stage.g)->queues.paused;
	look_at_spending(a);
}

static bool
one_of(const char *text, char (*of)[160], int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(text, of[i]) == 0)
			return true;
	return n == 0;
}

/* Each verdict names one of the expected edges, each edge at most once. */
static bool
all_right(const struct app *a, uint64_t run)
{
	const struct verdict *v;
	uint32_t n = 0;
	char seen[8] = { 0 };

	for (; (v = forest_verdict(a->stage.forest, run, n + 1)) != NULL; n++) {
		int at = 0;

		while (at < a->nfrom &&
		       (strcmp(a->from[at], v->from) != 0 || strcmp(a->to[at], v->to) != 0))
			at++;
		if (at == a->nfrom || seen[at]++ > 0)
			return false;
	}
	return n == (uint32_t)a->verdicts;
}

static bool
holds(const struct verdict *v, const char *field, const char *a, const char *b)
{
	if (strcmp(field, "over-budget") == 0)
		return v->over_budget == (uint32_t)atoi(a);
	if (strcmp(field, "preload") == 0)
		return strcmp(preload_word(v->preload), strcmp(a, "none") == 0 ? "" : a) == 0;
	if (strcmp(field, "preload-edge") == 0)
		return strcmp(v->above_from, a) == 0 && strcmp(v->above_to, b) == 0;
	if (strcmp(field, "call") == 0)
		return strcmp(v->call, a) == 0;
	if (strcmp(field, "object") == 0)
		return strcmp(v->object, a) == 0 && v->object_share >= atof(b);
	if (strcmp(field, "position") == 0)
		return v->position == (uint32_t)atoi(a) && v->positions == (uint32_t)atoi(b);
	if (strcmp(field, "loop-back") == 0)
		return v->loop_back;
	if (strcmp(field, "unlearned") == 0)
		return v->unlearned == (uint32_t)atoi(a) && strcmp(v->unlearned_service, b) == 0;
	if (strcmp(field, "captured") == 0) /* at least so many outliers, and p at most */
		return v->kind == VERDICT_CAPTURED && v->tail_requests >= (uint64_t)atoi(a) &&
		       (b[0] == '\0' || v->tail_p <= atof(b));
	if (strcmp(field, "unsure") == 0)
		return !verdict_sure(v);
	if (strcmp(field, "share") == 0)
		return v->share >= atof(a) && (b[0] == '\0' || v->share <= atof(b));
	if (strcmp(field, "passing") == 0)
		return v->passing > 0 && (double)v->passing <= atof(a) * (double)v->traces;
	if (strcmp(field, "tail") == 0)
		return v->problem == PROBLEM_TAIL && fabs(v->tail_quantile - atof(a)) < 1e-9;
	if (strcmp(field, "tail-has") == 0)
		return strstr(v->tail_key, a) != NULL && strcmp(v->tail_value, b) == 0;
	stage_die("no such claim", field);
	return false;
}

static bool
claims_hold(const struct app *a, const struct verdict *v)
{
	for (int i = 0; i < a->nclaims; i++)
		if (v == NULL ||
		    !holds(v, a->claims[i].field, a->claims[i].value[0], a->claims[i].value[1]))
			return false;
	return true;
}

/* The printed outcome of a run: its first verdict's edge, or why it has none. */
static const char *
outcome_of(const struct run *r, const struct verdict *v, char *text, size_t size)
{
	if (v == NULL)
		snprintf(text, size, "%s %s", reason_word(r->reason),
		    r->subject != NULL ? r->subject : "");
	else
		snprintf(text, size,
		    "%s: %.0f %% (%.0f to %.0f %%) of the %s of %llu traces between %s and %s, "
		    "effective %.0f, key %s, preload %s %s %s, position %u of %u%s, unlearned %u %s, over "
		    "budget %u and %u; tail %s = %s",
		    verdict_word(v->kind), v->share * 100, v->share_low * 100, v->share_high * 100,
		    v->by_latency                ? "latency"
		    : v->problem == PROBLEM_TAIL ? "tail"
						 : "variance",
		    (unsigned long long)v->traces, v->from, v->to, v->effective_traces, v->key,
		    preload_word(v->preload), v->call, v->object, v->position, v->positions,
		    v->loop_back ? " (loop back)" : "", v->unlearned, v->unlearned_service,
		    v->over_budget, v->preload_over_budget, v->tail_key, v->tail_value);
	return text;
}

/* It says that the problem has stopped, and when it was there: to a slice before and after; from few outliers, within that time. */
static bool
is_gone(const struct app *a, const struct run *r, const struct verdict *v)
{
	double from_s = (double)(r->problem_from.ns - r->begun.ns) / 1e9,
	       to_s = (double)(r->problem_to.ns - r->begun.ns) / 1e9;

	if (v != NULL && v->kind == VERDICT_CAPTURED && a->past_for > 0)
		return r->state == RUN_GONE && from_s >= -a->past_for - a->past_ago &&
		       to_s <= 1 - a->past_ago && r->subject[0] != '\0';
	if (v != NULL && v->kind == VERDICT_CAPTURED)
		return r->state == RUN_GONE && from_s >= a->burst_from &&
		       to_s <= a->burst_from + a->burst_for + 1 && r->subject[0] != '\0';
	return r->state == RUN_GONE && r->reason == REASON_PROBLEM_STOPPED &&
	       fabs(from_s - a->burst_from) <= 0.6 &&
	       fabs(to_s - a->burst_from - a->burst_for) <= 0.6 && r->subject[0] != '\0';
}

static bool
judge(struct app *a, const struct run *r, bool quiet, char *why, size_t size)
{
	const struct verdict *v = forest_verdict(a->stage.forest, r->id, 1);
	bool found = r->state == RUN_FOUND && v != NULL;
	bool want_unsure = strcmp(a->expect, "unsure") == 0,
	     want_gone = strcmp(a->expect, "gone") == 0,
	     either = strcmp(a->expect, "not-sure") == 0,
	     want_found = strcmp(a->expect, "not-found") != 0 && !want_unsure && !want_gone &&
	                  !either;
	struct assemble_counts n;
	uint64_t jumps = 0;
	char outcome[900];

	assemble_counts(engine_parts(a->stage.g)->assemble, &n);
	for (int i = 0; i < a->stage.nnodes; i++) {
		struct clock_state look;

		clocks_state(engine_parts(a->stage.g)->clocks, a->stage.nodes[i]->number,
		    INT64_MAX / 4, &look);
		jumps += look.steps;
	}
	snprintf(why, size,
	    "%s; %u cycles, %u of %u tracepoints; %s%s%s; %llu moved, %llu traces lossy, %llu clocks jumped; "
	    "spent %.4f %% of %.4f %%, reckoned %.4f %%, probed %.3f",
	    run_word(r->state), r->cycles, r->tracepoints, r->tracepoints_all,
	    outcome_of(r, v, outcome, sizeof outcome), quiet ? "" : " (NOT QUIET)",
	    strcmp(a->expect, "paused") == 0 && !a->was_paused ? " (NEVER PAUSED)" : "",
	    (unsigned long long)engine_parts(a->stage.g)->diagnosed.moved,
	    (unsigned long long)n.lossy, (unsigned long long)jumps, a->spent * 100, a->budget * 100,
	    a->reckoned * 100, a->probed_least);
	for (int i = 0; i < a->stage.nnodes; i++)
		jumps -= a->stage.nodes[i]->step_ns != 0;
	if (jumps != 0 || (a->over_max == 0 && a->reckoned > a->budget * (1 + 1e-9)) ||
	    a->overs > a->over_max)
		return false;
	if (a->was_late || a->was_deep != (a->deep[0] != '\0'))
		return false;
	if (a->probed_least > a->probed_max || !claims_hold(a, v))
		return false;
	if (n.early < (uint64_t)a->early_min)
		return false;
	if (a->moved_max >= 0 && engine_parts(a->stage.g)->diagnosed.moved > (uint64_t)a->moved_max)
		return false;
	if (!quiet || found != want_found || (!either && (r->state == RUN_UNSURE) != want_unsure) ||
	    (want_gone && !is_gone(a, r, v)) ||
	    (strcmp(a->expect, "paused") == 0 && !a->was_paused))
		return false;
	if (a->expect_reason[0] != '\0' && strcmp(reason_word(r->reason), a->expect_reason) != 0)
		return false;
	if (a->used_max >= 0 && (int)r->tracepoints > a->used_max)
		return false;
	if (!found && (v == NULL || a->kind[0] == '\0'))
		return true;
	if (a->kind[0] != '\0' && strcmp(verdict_word(v->kind), a->kind) != 0)
		return false;
	if (a->verdicts > 0 && !all_right(a, r->id))
		return false;
	return one_of(v->from, a->from, a->nfrom) && one_of(v->to, a->to, a->nto) &&
	       (a->key_is[0] == '\0' || strcmp(v->key, a->key_is) == 0);
}

/* The fault before the diagnosis, and after it nothing of it. */
static void
play_past(struct app *a)
{
	for (int64_t until_ns = a->stage.now_ns + (int64_t)((a->past_for + a->past_ago) * 1e9),
		     from_ns = a->stage.now_ns;
	     a->stage.now_ns < until_ns; stage_tick(&a->stage))
		a->fault = a->stage.now_ns < from_ns + (int64_t)(a->past_for * 1e9);
}

static bool
run_once(struct app *a, uint64_t seed, char *why, size_t size)
{
	struct engine_options o = stage_options(seed);
	const struct run *r;
	bool right, quiet;

	a->fault = a->was_paused = a->was_deep = a->was_late = false;
	o.budget_share = a->budget;
	o.effect_min = a->effect_min > 0 ? a->effect_min : o.effect_min;
	o.ignore = a->ignore;
	o.bins = a->bins;
	o.deep = a->deep;
	o.recorder_always = a->always;
	stage_open(&a->stage, &o, seed);
	stage_learn(&a->stage, a->learn_s);
	if (a->baseline && stage_diagnose(&a->stage, a->units[a->nunits - 1].name,
			       &(struct start_options){ .healthy = true }, 300, NULL, &quiet)
				   ->state != RUN_BASELINE)
		stage_die("baseline", "none was kept");
	play_past(a);
	spending_begins(a);
	a->fault = a->past_for <= 0;
	r = stage_diagnose(&a->stage, a->units[a->nunits - 1].name,
	    &(struct start_options){ .tail_quantile = a->tail }, 300, watch, &quiet);
	right = judge(a, r, quiet, why, size);
	stage_close(&a->stage);
	return right;
}

int
main(int argc, char **argv)
{
	struct app *a;
	char why[1400];
	int bad = 0;

	if (argc != 2 && !(argc == 4 && strcmp(argv[1], "--seeds") == 0)) {
		fprintf(stderr, "usage: sim [--seeds MOST] FILE.sim\n");
		return 2;
	}
	a = app_read(argv[argc - 1]);
	if (argc == 4 && a->seeds > atoi(argv[2]))
		a->seeds = atoi(argv[2]);
	a->stage.app = a;
	a->stage.request = request;
	a->stage.obeyed = obeyed;
	printf("1..%d\n", a->seeds);
	for (int s = 1; s <= a->seeds; s++) {
		bool right = run_once(a, (uint64_t)s, why, sizeof why);

		printf("%sok %d - %s, seed %d\n# %s\n", right ? "" : "not ", s, argv[argc - 1], s,
		    why);
		bad += !right;
	}
	for (int i = 0; i < a->stage.nnodes; i++)
		free(a->stage.nodes[i]->ctx);
	stage_release(&a->stage);
	free(a);
	return bad > 0;
}

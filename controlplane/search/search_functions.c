/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/search_functions.h"

#include <stdio.h>
#include <string.h>

#include "analysis/function_times.h"
#include "analysis/part_shares.h"
#include "controlplane/search/functions.h"
#include "controlplane/search/search_below.h"
#include "controlplane/search/search_hypothesis.h"
#include "wire/toggle.h"

enum { FOUND_MAX = 8, ROWS_MAX = 512, ROUNDS = 800, ROUNDS_TREE = 19 };
/* At most so often the requests of one step are looked at (timed()). */
enum { LOOKS_MAX = (ROWS_MAX + FUNCTIONS_TIMED - 1) / FUNCTIONS_TIMED };

struct tried_function {
	uint32_t node; /* of the tree */
	char name[FUNCTION_NAME_MAX + 1];
	struct function_labels labels;
	uint64_t calls, torn; /* calls, and requests with a torn one, in this step */
};

struct found_function {
	char name[FUNCTION_NAME_MAX + 1];
	double calls; /* of a request */
	bool timed;
	struct edge_share share;
	double of_edge;
};

struct function_row {
	int64_t total_ns;
	double parts_ns[1 + FUNCTIONS_AT_ONCE]; /* of the edge, of each function */
};

struct function_search {
	bool gathers, timing; /* timing: ends are on, too */
	bool whole;           /* both ends of a call were seen in this step */
	struct hypothesis *hypothesis;
	struct difference_node *tree; /* of what was seen in the edge; in search.functions_kept */
	uint32_t count;
	bool *tried; /* [count] */
	uint32_t at; /* functions below this node are next */
	struct tried_function now[FUNCTIONS_AT_ONCE];
	uint32_t n, steps;
	struct function_row rows[ROWS_MAX]; /* of this step */
	uint32_t nrows, enough; /* so many tell what there is to tell, or whether more are needed */
	struct mono begun, stepped;
	struct found_function found[FOUND_MAX];
	uint32_t nfound;
};

bool
search_functions_gather(const struct search *s)
{
	return s->functions != NULL && s->functions->gathers;
}

struct mono
search_functions_stepped(const struct search *s)
{
	return s->functions->stepped;
}

/* ---- probes ---- */

static int
want(struct search_port *port, struct search *s, const char *name, struct err *e)
{
	const struct hypothesis *h = s->functions->hypothesis;
	struct run *run = s->diagnosis->run;
	const struct switched log = { .run = run->id,
		.hypothesis = h->id,
		.cycle = run->cycles,
		.on = true,
		.tracepoint = name,
		.reason = REASON_EXPLORES_FUNCTIONS,
		.when = port->when };
	int rc;

	run->tracepoints += !plan_wants(port->plan, name);
	if ((rc = plan_want(port->plan, name, h->id, e)) != 0 ||
	    (rc = port->calls->enabled(port->owner, name, e)) != 0)
		return rc;
	return forest_switched(port->forest, &log, e);
}

/* "func.shop-cart:flush_log_start" */
static void
name_of(char ret[TOGGLE_NAME_MAX + 1], const struct search *s, const struct tried_function *x,
    const char *end)
{
	snprintf(ret, TOGGLE_NAME_MAX + 1, BELOW_FUNC "%.*s:%s%s",
	    TOGGLE_NAME_MAX - FUNCTION_NAME_MAX - 16, s->below.service, x->name, end);
}

static int
want_end(struct search_port *port, struct search *s, const struct tried_function *x,
    const char *end, struct err *e)
{
	char name[TOGGLE_NAME_MAX + 1];

	name_of(name, s, x, end);
	return want(port, s, name, e);
}

static bool
is_end_affordable(const struct search_port *port, const struct search *s,
    const struct tried_function *x, const char *end)
{
	char name[TOGGLE_NAME_MAX + 1];

	name_of(name, s, x, end);
	return port->calls->affordable_unknown(port->owner, s->diagnosis->type, name);
}

/* ---- steps ---- */

static int
step_begin(struct search_port *port, struct search *s, bool timing, struct err *e)
{
	struct function_search *f = s->functions;
	int rc = 0;

	hypothesis_disable(port, f->hypothesis, REASON_EXPLORED);
	f->timing = timing;
	f->whole = false;
	f->nrows = 0;
	f->enough = timing ? FUNCTIONS_TIMED : FUNCTIONS_COUNTED;
	f->stepped = port->now;
	for (uint32_t i = 0; i < f->n && rc == 0; i++) {
		f->now[i].calls = f->now[i].torn = 0;
		if ((rc = want_end(port, s, &f->now[i], BELOW_FUNC_START, e)) == 0 && timing)
			rc = want_end(port, s, &f->now[i], BELOW_FUNC_DONE, e);
	}
	forest_touch_run(port->forest, s->diagnosis->run);
	search_enter(s, SEARCH_SWITCHING);
	return rc;
}

/* 1: there are no more functions; 0; or a negative code. */
static int
next(struct search_port *port, struct search *s, struct err *e)
{
	struct function_search *f = s->functions;
	uint32_t chosen[FUNCTIONS_AT_ONCE], n;

	while (f->steps < FUNCTIONS_STEPS &&
	       mono_since_ns(port->now, f->begun) < FUNCTIONS_MAX_NS &&
	       (n = functions_choose(chosen, FUNCTIONS_AT_ONCE, f->tree, f->count, f->at,
		    s->at.by_latency, port->settings.isolate_min, f->tried)) > 0) {
		f->n = 0;
		for (uint32_t i = 0; i < n; i++) {
			struct tried_function *x = &f->now[f->n];

			*x = (struct tried_function){ .node = chosen[i],
				.labels = { LABEL_NONE, LABEL_NONE } };
			f->n += function_name(x->name, &f->tree[chosen[i]]) &&
			        is_end_affordable(port, s, x, BELOW_FUNC_START);
		}
		if (f->n > 0) {
			f->steps++;
			return step_begin(port, s, false, e);
		}
	}
	return 1;
}

static struct found_function *
add_found(struct function_search *f, const struct tried_function *x)
{
	struct found_function *to = f->nfound < FOUND_MAX ? &f->found[f->nfound] : NULL;

	if (to == NULL)
		return NULL;
	f->nfound++;
	*to = (struct found_function){ .calls = (double)x->calls / (double)f->nrows };
	memcpy(to->name, x->name, sizeof to->name);
	return to;
}

static double
mean_of_edge(const struct function_search *f)
{
	double sum = 0;

	for (uint32_t i = 0; i < f->nrows; i++)
		sum += f->rows[i].parts_ns[0];
	return f->nrows > 0 ? sum / f->nrows : 0;
}

/* Those that were called in the edge, and not too often, are timed. */
static int
counted(struct search_port *port, struct search *s, struct err *e)
{
	struct function_search *f = s->functions;
	double edge_ns = mean_of_edge(f);
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct tried_function *x = &f->now[i];

		if (x->calls == 0)
			continue;
		if (function_is_timed((double)x->calls / f->nrows, edge_ns) &&
		    is_end_affordable(port, s, x, BELOW_FUNC_DONE))
			f->now[n++] = *x;
		else
			add_found(f, x);
	}
	f->n = n;
	return n > 0 ? step_begin(port, s, true, e) : next(port, s, e);
}

static struct part_row *
rows_of(const struct function_search *f, struct arena *a)
{
	struct part_row *rows = arena_alloc(a, f->nrows * sizeof *rows);

	for (uint32_t i = 0; i < f->nrows && rows != NULL; i++)
		rows[i] = (struct part_row){ f->rows[i].total_ns, f->rows[i].parts_ns };
	return rows;
}

/* All looks together are wrong by chance as seldom as one with the confidence of the settings is (Bonferroni). */
static double
confidence_of_look(const struct search_port *port)
{
	return 1 - (1 - port->settings.conditions.confidence) / LOOKS_MAX;
}

/* Which of them take over; the next ones are below the deepest of these. Slow requests are few: where the first ones leave it open, and it is
 * not late, as many again are waited for. */
static int
timed(struct search_port *port, struct search *s, bool late, struct err *e)
{
	struct function_search *f = s->functions;
	struct part_row *rows = rows_of(f, port->scratch);
	struct edge_share shares[1 + FUNCTIONS_AT_ONCE];
	uint32_t nodes[FUNCTIONS_AT_ONCE], best;
	bool over[FUNCTIONS_AT_ONCE];
	struct part_total total;
	int rc;

	if (rows == NULL)
		return search_no_memory(s, e);
	if ((rc = part_shares(shares, &total, rows, f->nrows, 1 + f->n, s->at.by_latency,
		 confidence_of_look(port), ROUNDS, s->diagnosis->seed, port->scratch, e)) != 0)
		return rc;
	for (uint32_t i = 0; i < f->n; i++) {
		nodes[i] = f->now[i].node;
		if ((double)f->now[i].torn > FUNCTION_TORN_MAX * f->nrows)
			shares[1 + i] = (struct edge_share){ 0 };
	}
	if (!late && f->nrows < ROWS_MAX &&
	    functions_are_unsure(shares + 1, f->n, shares[0].share, port->settings.isolate_min)) {
		f->enough = f->nrows + FUNCTIONS_TIMED < ROWS_MAX ? f->nrows + FUNCTIONS_TIMED
		                                                  : ROWS_MAX;
		return 0;
	}
	best = functions_follow(
	    over, shares + 1, nodes, f->n, shares[0].share, port->settings.isolate_min, f->tree);
	for (uint32_t i = 0; i < f->n; i++) {
		struct found_function *to = over[i] ? add_found(f, &f->now[i]) : NULL;

		if (to == NULL)
			continue;
		to->timed = true;
		to->share = shares[1 + i];
		to->of_edge = shares[1 + i].share / shares[0].share;
	}
	if (best != UINT32_MAX)
		f->at = nodes[best];
	return next(port, s, e);
}

int
search_functions_ready(struct search_port *port, struct search *s, struct err *e)
{
	struct function_search *f = s->functions;
	bool late = mono_since_ns(port->now, f->stepped) >
	            (f->timing ? FUNCTIONS_TIME_NS : FUNCTIONS_COUNT_NS);

	if (f->timing && (f->nrows >= f->enough || (late && f->nrows >= FUNCTIONS_FEW)))
		return timed(port, s, late, e);
	if (!f->timing && (f->nrows >= f->enough || (late && f->nrows > 0)))
		return counted(port, s, e);
	/* of those that are timed now no end comes, or no begin: others may have both */
	if (late && f->timing && !f->whole)
		return next(port, s, e);
	return late;
}

/* ---- begin and end ---- */

/* What was seen in the edge, as a tree of functions. False: there is not enough of it, or no memory: *rc. */
static bool
take_tree(struct function_search *f, const struct search_port *port, struct search *s, int *rc,
    struct err *e)
{
	struct differential d;

	*rc = below_parts_compare(&d, &f->tree, &f->count, below_list_parts(s->below.list),
	    (int64_t)s->at.tail_ns, port->settings.conditions.confidence, ROUNDS_TREE,
	    s->diagnosis->seed, &s->functions_kept, e);
	if (*rc != 0 || d.count == 0)
		return false;
	f->tried = arena_calloc(&s->functions_kept, f->count, sizeof *f->tried);
	if (f->tried == NULL)
		*rc = search_no_memory(s, e);
	return *rc == 0;
}

static bool
is_for_functions(const struct search_port *port, const struct search *s)
{
	const struct below_search *b = &s->below;

	return port->settings.functions && s->functions == NULL && b->list != NULL && !b->before &&
	       s->at.gap.from_unit == s->at.gap.to_unit && !port->paused && !port->backing_off &&
	       strchr(b->service, ':') == NULL;
}

bool
search_functions_begin(struct search_port *port, struct search *s, int *rc, struct err *e)
{
	struct function_search *f;

	*rc = 0;
	if (!is_for_functions(port, s) || !search_below_agrees(port, s, rc, e))
		return false;
	if ((f = arena_calloc(&s->functions_kept, 1, sizeof *f)) == NULL) {
		*rc = search_no_memory(s, e);
		return false;
	}
	s->functions = f;
	f->begun = f->stepped = port->now;
	if (!take_tree(f, port, s, rc, e))
		return false;
	f->hypothesis = hypothesis_new_from(port, s->diagnosis, s->at.hypothesis);
	if (f->hypothesis == NULL) {
		*rc = search_no_memory(s, e);
		return false;
	}
	hypothesis_enter(f->hypothesis, HYPOTHESIS_PROBING, port->when);
	f->gathers = true;
	*rc = next(port, s, e);
	if (*rc == 0)
		return true;
	search_functions_stop(port, s);
	*rc = *rc > 0 ? 0 : *rc;
	return false;
}

void
search_functions_stop(struct search_port *port, struct search *s)
{
	struct function_search *f = s->functions;

	if (!search_functions_gather(s))
		return;
	f->gathers = false;
	hypothesis_disable(port, f->hypothesis, REASON_EXPLORED);
	f->hypothesis->settled_traces = f->nrows;
	f->hypothesis->reason = REASON_EXPLORED;
	hypothesis_settle(port, f->hypothesis, HYPOTHESIS_NO_HELP);
}

/* ---- traces ---- */

static void
find_label(uint32_t *label, const struct search_port *port, const struct search *s,
    const struct tried_function *x, const char *end)
{
	char name[TOGGLE_NAME_MAX + 1], text[LABEL_TEXT_MAX + 1];
	int len;

	if (*label != LABEL_NONE)
		return;
	name_of(name, s, x, end);
	len = snprintf(text, sizeof text, "%s/%s", s->below.service, name);
	if (len < (int)sizeof text)
		*label = labels_find(port->labels, text, (size_t)len);
}

/* From one step of the path to the next one, in one unit; times by the clock of the node. */
static void
add_passage(struct function_row *row, struct function_time *sums, const struct function_search *f,
    const struct trace *t, const struct step *to)
{
	const struct event *begin = &t->events[to[-1].event], *end = &t->events[to->event];
	int64_t took_ns = to->time_ns - to[-1].time_ns;
	struct function_labels labels[FUNCTIONS_AT_ONCE];
	struct function_time times[FUNCTIONS_AT_ONCE];

	row->parts_ns[0] += (double)took_ns;
	if (begin->unit != end->unit)
		return;
	for (uint32_t i = 0; i < f->n; i++)
		labels[i] = f->now[i].labels;
	function_times_of(times, t, end->unit, labels, f->n, end->time_ns - took_ns, end->time_ns);
	for (uint32_t i = 0; i < f->n; i++) {
		row->parts_ns[1 + i] += (double)times[i].ns;
		sums[i].calls += times[i].calls;
		sums[i].torn |= times[i].torn;
	}
}

/*
 * Until both ends of a call have been seen, a torn one tells that the second probes are not attached yet: hone-below attaches probes after the
 * agent has taken its orders, on a busy machine a second later. Such a request is not counted.
 */
static bool
is_early(struct function_search *f, const struct function_time *sums)
{
	bool torn = false;

	for (uint32_t i = 0; i < f->n; i++) {
		f->whole |= sums[i].calls > 0 && !sums[i].torn;
		torn |= sums[i].torn;
	}
	return f->timing && torn && !f->whole;
}

int
search_functions_trace(struct search_port *port, struct search *s, const struct trace *t,
    const struct critpath *path, const struct shape *shape, struct err *e)
{
	struct function_search *f = s->functions;
	struct arena *a = port->scratch;
	bool *inside = arena_calloc(a, shape->nedges, sizeof *inside);
	struct function_time sums[FUNCTIONS_AT_ONCE] = { 0 };
	struct function_row *row;
	uint32_t *edges;
	int rc;

	if (inside == NULL)
		return search_no_memory(s, e);
	if (f->nrows == ROWS_MAX)
		return 0;
	gap_edges(shape, &s->at.gap, inside, a);
	if ((rc = shape_edges_of_steps(&edges, path, shape, a, e)) != 0)
		return rc;
	for (uint32_t i = 0; i < f->n; i++) {
		find_label(&f->now[i].labels.start, port, s, &f->now[i], BELOW_FUNC_START);
		find_label(&f->now[i].labels.done, port, s, &f->now[i], BELOW_FUNC_DONE);
	}
	row = &f->rows[f->nrows++];
	*row = (struct function_row){ .total_ns = t->end_ns - t->begin_ns };
	for (uint32_t i = 1; i < path->nsteps; i++)
		if (inside[edges[i]])
			add_passage(row, sums, f, t, &path->steps[i]);
	if (is_early(f, sums)) {
		f->nrows--;
		return 0;
	}
	for (uint32_t i = 0; i < f->n; i++) {
		f->now[i].calls += sums[i].calls;
		f->now[i].torn += sums[i].torn;
	}
	return 0;
}

/* ---- the verdict ---- */

int
search_functions_verdict(struct verdict *v, const struct search *s, struct err *e)
{
	const struct function_search *f = s->functions;
	struct buf out = { 0 };

	for (uint32_t i = 0; f != NULL && i < f->nfound; i++) {
		const struct found_function *x = &f->found[i];

		buf_printf(&out, "%s%d\t%.6g\t%.6g\t%.6g\t%.6g\t%.6g\t%.6g\t%s", i > 0 ? "\n" : "",
		    x->timed, x->calls, x->share.share, x->share.interval.low,
		    x->share.interval.high, x->of_edge, x->share.mean_ns, x->name);
	}
	buf_u8(&out, 0);
	v->below_functions = (char *)out.data;
	return out.failed ? search_no_memory(s, e) : 0;
}

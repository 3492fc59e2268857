/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the forest with the planted causes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/random.h"

struct said {
	const char *from, *to, *tracepoint, *key;
	bool separates;
	const char *
	    holder; /* the begin of the unit of the same request that holds the thread; "": another wait, or none */
};

/* The first verdict; where no edge was kept, the result of the hypothesis that ended the run. */
static bool
said_by(const struct made *m, const struct run *r, struct said *ret)
{
	const struct verdict *v = forest_verdict(m->stage.forest, r->id, 1);
	const struct hypothesis *h = forest_get(m->stage.forest, r->verdict);

	if (r->state != RUN_FOUND)
		return false;
	if (v != NULL)
		*ret = (struct said){ v->from, v->to, v->tracepoint, v->key,
			v->kind == VERDICT_SEPARATED,
			v->pool == POOL_OWN && v->wait_cause == WAIT_OCCUPIED ? v->wait_unit : "" };
	else if (h != NULL)
		*ret = (struct said){ h->edge_from, h->edge_to, h->tracepoint, h->key,
			h->state == HYPOTHESIS_SEPARATES, "" };
	return v != NULL || h != NULL;
}

static const char *
text(const struct made *m, uint32_t label)
{
	return texts_get(m->stage.labels, label);
}

static bool
one_of(const struct made *m, const char *is, const uint32_t *labels, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(is, text(m, labels[i])) == 0)
			return true;
	return false;
}

bool
judge_edge(const struct made *m, const struct cause *c, const char *from, const char *to)
{
	return one_of(m, from, c->from, c->nfrom) && one_of(m, to, c->to, c->nto);
}

static bool
starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* An edge that ends in the service, or a wait for its threads: to the begin of a unit, or to a join. */
static bool
ends_in(const struct said *s, int service, const char *join)
{
	char at[40];

	snprintf(at, sizeof at, "%s/%s", service_word(service), join);
	return starts(s->to, at);
}

static bool
key_of_loop(const struct made *m, const struct cause *c, const char *key)
{
	char callee[40];

	if (!c->iterates || !starts(key, "iterations of "))
		return false;
	for (int i = 0; i < c->nown; i++)
		if (strstr(key, text(m, c->own[i])) != NULL)
			return true;
	if (c->callee < 0)
		return false;
	snprintf(callee, sizeof callee, "(%s)", m->units[c->callee].name);
	return strstr(key, callee) != NULL;
}

/* Of kinds other than tree. */
static bool
is_right(const struct made *m, const struct cause *c, const struct said *s)
{
	if (c->within >= 0)
		return ends_in(s, c->within, "");
	if (c->waits_of >= 0 && m->services[c->waits_of].loop &&
	    ends_in(s, c->waits_of, "hone:join("))
		return true;
	/* A wait for the unit that has the cause: no tracepoint is in it, but it says which unit that is. */
	if (s->holder[0] != '\0' && strcmp(s->holder, text(m, m->units[c->unit].begin)) == 0)
		return true;
	return judge_edge(m, c, s->from, s->to) || key_of_loop(m, c, s->key) ||
	       (s->separates && one_of(m, s->tracepoint, c->own, c->nown));
}

void
judge(struct made *m, const struct run *r, bool quiet, struct result *ret)
{
	struct said said = { "", "", "", "", false, "" };

	ret->kind = m->kind;
	ret->class = m->class;
	ret->trouble = m->trouble;
	ret->ncauses = m->ncauses;
	ret->ended = r->state != RUN_ACTIVE;
	ret->quiet = quiet;
	ret->state = run_word(r->state);
	ret->size = m->size;
	ret->cycles = r->cycles;
	ret->used = m->used;
	ret->on_most = m->on_most;
	ret->healthy_cv = m->healthy_cv;
	ret->cause_cv = m->cause_cv;
	ret->cause_share = m->cause_share;
	ret->reuse = m->reuse;
	ret->hard = m->hard;
	ret->found = said_by(m, r, &said);
	for (int i = 0; i < m->ncauses && ret->found; i++) {
		const struct cause *c = &m->causes[i];
		bool from = one_of(m, said.from, c->from, c->nfrom),
		     to = one_of(m, said.to, c->to, c->nto);
		bool tells = m->kind == KIND_tree
		                 ? said.separates && one_of(m, said.tracepoint, c->own, c->nown)
		                 : is_right(m, c, &said);

		ret->both |= (from && to && m->kind == KIND_tree) || tells;
		ret->either |= from || to || tells;
		ret->key |= said.key[0] != '\0';
	}
	const struct verdict *first = forest_verdict(m->stage.forest, r->id, 1);

	snprintf(ret->outcome, sizeof ret->outcome, "%s %s%s%s",
	    first != NULL ? verdict_word(first->kind) : reason_word(r->reason),
	    first != NULL ? first->from : r->subject, first != NULL ? " -> " : "",
	    first != NULL ? first->to : "");
}

static void
truth_of_services(const struct made *m)
{
	const struct cause *c = &m->causes[0];

	printf(
	    "seed %llu: %s, %u tracepoints, %d units on %d nodes, %d request types, %.0f/s, mean %.2f ms\n"
	    "healthy CV %.1f %%, now %.1f %%; %.0f %% of the variance is of %s; learned %s\n",
	    (unsigned long long)m->seed, kind_of[m->kind].name, m->size, m->nunits, m->stage.nnodes,
	    m->ntypes, m->rate, m->mean_ns / 1e6, m->healthy_cv * 100, m->cause_cv * 100,
	    m->cause_share * 100, m->ncauses > 0 ? "the cause" : "the place that has most",
	    m->learn_faulty ? "with it" : "before it");
	for (int i = 0; i < m->nservices; i++)
		printf("service %s: %s, %d threads, %d nodes, load %.0f %%\n", service_word(i),
		    m->services[i].loop ? "loop" : "pool",
		    m->services[i].loop ? 1 : m->services[i].threads, m->replicas[i],
		    m->services[i].load * 100);
	if (m->ncauses == 0)
		return;
	printf("truth: %.2f ms for %.1f %%, unit %s;", c->ns / 1e6, c->share * 100,
	    m->units[c->unit].name);
	if (c->waits_of >= 0)
		printf(" waits for threads of %s", service_word(c->waits_of));
	if (c->within >= 0)
		printf(" anything within %s", service_word(c->within));
	for (int k = 0; k < c->nfrom; k++)
		printf("%s %s", k == 0 ? " from" : "", text(m, c->from[k]));
	for (int k = 0; k < c->nto; k++)
		printf("%s %s", k == 0 ? " to" : "", text(m, c->to[k]));
	for (int k = 0; k < c->nown; k++)
		printf("%s %s", k == 0 ? "; its own" : "", text(m, c->own[k]));
	printf("\n");
}

void
judge_truth(const struct made *m)
{
	if (m->kind != KIND_tree) {
		truth_of_services(m);
		return;
	}
	printf(
	    "seed %llu: %d x %s, trouble %s, harder by %s, %u tracepoints, %d units on %d nodes, %.0f/s, mean %.2f ms, %s noise\n"
	    "healthy CV %.1f %%, with causes %.1f %%, which make %.0f %% of %s; learned %s%s\n",
	    (unsigned long long)m->seed, m->ncauses, class_word(m->class), trouble_word(m->trouble),
	    hard_word(m->hard), m->size, m->nunits, m->stage.nnodes, m->rate, m->mean_ns / 1e6,
	    m->heavy ? "heavy-tailed" : "log-normal", m->healthy_cv * 100, m->cause_cv * 100,
	    m->cause_share * 100,
	    m->class == CAUSE_SLOW ? "the slow group's latency" : "the variance",
	    m->learn_faulty ? "with them" : "before them",
	    m->reuse == REUSE_NONE   ? ""
	    : m->reuse == REUSE_NEAR ? "; some labels stand in several places, near each other"
				     : "; some labels stand in several places, all over a unit");
	for (int i = 0; i < m->ncauses; i++) {
		const struct cause *c = &m->causes[i];

		printf("truth %d: from", i + 1);
		for (int k = 0; k < c->nfrom; k++)
			printf(" %s", text(m, c->from[k]));
		printf(" to");
		for (int k = 0; k < c->nto; k++)
			printf(" %s", text(m, c->to[k]));
		if (m->class == CAUSE_SLOW)
			printf("; %.2f ms in %.1f %%\n", c->ns / 1e6, c->share * 100);
		else
			printf("; standard deviation %.2f ms\n", c->sd_ns / 1e6);
	}
}

void
judge_verbose(const struct made *m, const struct run *r)
{
	const struct hypothesis *h;
	uint64_t at = 0;

	while ((h = forest_next(m->stage.forest, r->id, &at)) != NULL)
		printf(
		    "  cycle %u, %llu of %llu, %c%s %s: [%s .. %s] %.0f %% (CV %.1f %%, n %llu, mean %.2f ms) -> "
		    "%.0f %% (%.0f to %.0f, n %llu)%s%s\n",
		    h->cycle, (unsigned long long)h->id, (unsigned long long)h->parent, h->presence,
		    h->tracepoint, hypothesis_word(h->state), h->edge_from, h->edge_to,
		    h->share * 100, h->cv * 100, (unsigned long long)h->traces, h->mean_ns / 1e6,
		    h->settled_share * 100, h->settled_low * 100, h->settled_high * 100,
		    (unsigned long long)h->settled_traces, h->key[0] != '\0' ? ", key " : "",
		    h->key);
	if (r->reason != REASON_NONE)
		printf("  ended: %s %s\n", reason_word(r->reason), r->subject);
	for (uint32_t rank = 1;; rank++) {
		const struct verdict *v = forest_verdict(m->stage.forest, r->id, rank);

		if (v == NULL)
			break;
		printf(
		    "  verdict %u: %s: %s -> %s, share %.3f of the %s (%.3f to %.3f), effect %.3f, %.3f of the time%s%s",
		    rank, verdict_word(v->kind), v->from, v->to, v->share,
		    v->by_latency ? "latency" : "variance", v->share_low, v->share_high, v->effect,
		    v->latency_share, v->handed_over ? ", handed over, pool " : "",
		    pool_word(v->pool));
		if (v->pool != POOL_NONE)
			printf(
			    " (%u threads, held %.0f %%, %.2f ms, CV %.1f; waits %.2f ms, expected %.2f ms, at least %.2f)",
			    v->pool_threads, v->pool_utilisation * 100, v->pool_service_ns / 1e6,
			    v->pool_service_cv, v->pool_wait_ns / 1e6, v->pool_expected_ns / 1e6,
			    v->pool_low);
		if (!isnan(v->new_part))
			printf(", new %.3f (at least %.3f)", v->new_part, v->new_low);
		printf(
		    "; %llu requests, worth %.0f, %llu pass it, CV %.1f %% -> %.1f %% (%.1f to %.1f)",
		    (unsigned long long)v->traces, v->effective_traces,
		    (unsigned long long)v->passing, v->cv * 100, v->cv_then * 100,
		    v->cv_then_low * 100, v->cv_then_high * 100);
		if (v->wait_cause != WAIT_UNKNOWN)
			printf("; waits: %s %s %s %.0f %% (%.0f to %.0f) of %u",
			    wait_word(v->wait_cause), v->wait_type, v->wait_unit,
			    v->wait_share * 100, v->wait_share_low * 100, v->wait_share_high * 100,
			    v->waits);
		printf("; %s%s", verdict_sure(v) ? "sure" : "not sure",
		    verdict_worth(v, r->effect_min) ? ", worth mending" : "");
		printf("\n");
	}
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was switched, the traces that were evidence, and who asked. All only grow at
 * their end, and what is not written yet is their end: the changes are a part of them.
 * Pruning, which takes from their middle, moves what stays together.
 */
#include "forest/forest_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- switches ---- */

static const char *
intern(struct texts *t, const char *s)
{
	uint32_t id = texts_intern(t, s != NULL ? s : "", s != NULL ? strlen(s) : 0);

	return id != UINT32_MAX ? texts_get(t, id) : NULL;
}

static int
switched_append(struct forest *f, const struct switched *s, struct err *e)
{
	uint32_t cap = f->switched_cap != 0 ? f->switched_cap * 2 : 16;
	struct switched copy = *s;

	if (f->nswitched == f->switched_cap && forest_grow(&f->switched, cap, sizeof *f->switched))
		f->switched_cap = cap;
	copy.tracepoint = intern(f->texts, s->tracepoint);
	copy.subject = intern(f->texts, s->subject);
	copy.text = intern(f->texts, s->text);
	if (f->nswitched == f->switched_cap || copy.tracepoint == NULL || copy.subject == NULL ||
	    copy.text == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the log of what was switched");
	f->switched[f->nswitched++] = copy;
	return 0;
}

int
forest_switched(struct forest *f, const struct switched *s, struct err *e)
{
	int rc = switched_append(f, s, e);

	if (rc == 0)
		f->changes.nswitched++;
	return rc;
}

int
forest_put_switched(struct forest *f, const struct switched *s, struct err *e)
{
	const struct hypothesis *h = s->hypothesis != 0 ? forest_get(f, s->hypothesis) : NULL;

	assert(f->changes.nswitched == 0);
	if (!reason_valid(s->reason))
		return err_set(e, ERR_INPUT, "a switch of %s has reason %u, which there is not",
		    s->tracepoint, s->reason);
	if (s->run != 0 && forest_run(f, s->run) == NULL)
		return err_set(
		    e, ERR_INPUT, "a switch of %s is of a run that there is not", s->tracepoint);
	if (s->hypothesis != 0 && (h == NULL || h->run != s->run))
		return err_set(e, ERR_INPUT,
		    "a switch of %s is of a hypothesis that its run does not have", s->tracepoint);
	return switched_append(f, s, e);
}

/* Interned texts: equal ones are one. */
const struct switched *
forest_switched_next(const struct forest *f, const char *tracepoint, uint64_t *at)
{
	uint32_t id = tracepoint != NULL ? texts_find(f->texts, tracepoint, strlen(tracepoint))
	                                 : UINT32_MAX;
	const char *wanted = id != UINT32_MAX ? texts_get(f->texts, id) : NULL;

	if (tracepoint != NULL && wanted == NULL)
		return NULL;
	for (; *at < f->nswitched; ++*at)
		if (wanted == NULL || f->switched[*at].tracepoint == wanted)
			return &f->switched[(*at)++];
	return NULL;
}

/* ---- the audit ---- */

const char *
audit_word(enum audit_outcome o)
{
	static const char *const words[AUDIT_OUTCOMES] = {
		[AUDIT_DONE] = "done",
		[AUDIT_FAILED] = "failed",
		[AUDIT_REFUSED] = "refused",
	};

	return (unsigned)o < AUDIT_OUTCOMES ? words[o] : "?";
}

/* Twice as many as are kept: then the older half goes, but for what is not written yet. */
static bool
audit_room(struct forest *f)
{
	uint32_t cap = f->audit_cap != 0 ? f->audit_cap * 2 : 64,
		 written = f->naudit - f->changes.naudit, drop;

	if (f->naudit >= 2 * AUDIT_KEPT && written > 0) {
		drop = f->naudit - AUDIT_KEPT < written ? f->naudit - AUDIT_KEPT : written;
		f->naudit -= drop;
		memmove(f->audit, f->audit + drop, f->naudit * sizeof *f->audit);
	}
	if (f->naudit < f->audit_cap)
		return true;
	if (!forest_grow(&f->audit, cap, sizeof *f->audit))
		return false;
	f->audit_cap = cap;
	return true;
}

static int
audit_append(struct forest *f, const struct audit *a, struct err *e)
{
	struct audit copy = *a;

	copy.user = intern(f->texts, a->user);
	copy.asked = intern(f->texts, a->asked);
	copy.text = intern(f->texts, a->text);
	if (copy.user == NULL || copy.asked == NULL || copy.text == NULL || !audit_room(f))
		return err_set(e, ERR_MEMORY, "out of memory for the audit");
	f->audit[f->naudit++] = copy;
	return 0;
}

int
forest_audit_add(struct forest *f, const struct audit *a, struct err *e)
{
	int rc = audit_append(f, a, e);

	if (rc == 0)
		f->changes.naudit++;
	return rc;
}

void
forest_audit_own(struct forest *f, const char *by, const char *did, uint64_t run,
    enum reason reason, const char *text, struct wall when)
{
	struct audit row = { .when = when,
		.uid = -1,
		.pid = -1,
		.user = by,
		.asked = did,
		.outcome = AUDIT_DONE,
		.run = run,
		.times = 1,
		.reason = reason,
		.text = text };

	forest_audit_add(f, &row, NULL);
}

int
forest_put_audit(struct forest *f, const struct audit *a, struct err *e)
{
	assert(f->changes.naudit == 0);
	if ((unsigned)a->outcome >= AUDIT_OUTCOMES)
		return err_set(e, ERR_INPUT,
		    "a row of the audit has outcome %u, which there is not", (unsigned)a->outcome);
	if (!reason_valid(a->reason))
		return err_set(e, ERR_INPUT, "a row of the audit has reason %u, which there is not",
		    (unsigned)a->reason);
	return audit_append(f, a, e);
}

const struct audit *
forest_audit_next(const struct forest *f, uint64_t *at)
{
	return *at < f->naudit ? &f->audit[f->naudit - ++*at] : NULL;
}

/* ---- evidence ---- */

static uint32_t *
head_of(const struct by_trace *b, uint64_t low)
{
	return &b->heads[hash_u64(low ^ b->seed) & (b->cap - 1)];
}

static void
link_in(struct forest *f, uint32_t i)
{
	uint32_t *link = head_of(&f->by_trace, f->evidence[i].trace.low);

	while (*link != 0 && f->evidence[*link - 1].run > f->evidence[i].run)
		link = &f->by_trace.next[*link - 1];
	f->by_trace.next[i] = *link;
	*link = i + 1;
}

static void
link_all(struct forest *f)
{
	memset(f->by_trace.heads, 0, f->by_trace.cap * sizeof *f->by_trace.heads);
	for (uint32_t i = 0; i < f->nevidence; i++)
		link_in(f, i);
}

static bool
evidence_room(struct forest *f)
{
	uint32_t cap = f->evidence_cap != 0 ? f->evidence_cap * 2 : 64;

	if (f->nevidence < f->evidence_cap)
		return true;
	if (f->by_trace.cap == 0 &&
	    getrandom(&f->by_trace.seed, sizeof f->by_trace.seed, GRND_NONBLOCK) < 0)
		f->by_trace.seed = (uintptr_t)f;
	if (!forest_grow(&f->evidence, cap, sizeof *f->evidence) ||
	    !forest_grow(&f->by_trace.next, cap, sizeof *f->by_trace.next) ||
	    !forest_grow(&f->by_trace.heads, cap, sizeof *f->by_trace.heads))
		return false;
	f->evidence_cap = f->by_trace.cap = cap;
	link_all(f);
	return true;
}

/* The first in a chain, from link on, of that trace. */
static uint32_t
find(const struct forest *f, uint32_t link, struct trace_id id)
{
	for (; link != 0; link = f->by_trace.next[link - 1]) {
		const struct trace_id *is = &f->evidence[link - 1].trace;

		if (is->low == id.low && (id.high == 0 || is->high == id.high))
			break;
	}
	return link;
}

static bool
has_already(const struct forest *f, const struct evidence *v)
{
	uint64_t at = 0;
	const struct evidence *old;

	while ((old = forest_evidence(f, v->trace, &at)) != NULL)
		if (old->hypothesis == v->hypothesis && old->trace.high == v->trace.high)
			return true;
	return false;
}

static int
evidence_append(struct forest *f, const struct evidence *v, struct err *e)
{
	if (!evidence_room(f))
		return err_set(e, ERR_MEMORY, "out of memory for the evidence of hypothesis %llu",
		    (unsigned long long)v->hypothesis);
	f->evidence[f->nevidence] = *v;
	link_in(f, f->nevidence++);
	return 0;
}

int
forest_evidence_add(struct forest *f, const struct evidence *v, struct err *e)
{
	struct node *n = (struct node *)forest_get(f, v->hypothesis);
	int rc;

	assert(n != NULL && n->hypothesis.run == v->run);
	if (n->nevidence == EVIDENCE_MAX || has_already(f, v))
		return 0;
	if ((rc = evidence_append(f, v, e)) < 0)
		return rc;
	n->nevidence++;
	f->changes.nevidence++;
	return 0;
}

int
forest_put_evidence(struct forest *f, const struct evidence *v, struct err *e)
{
	struct node *n = (struct node *)forest_get(f, v->hypothesis);
	int rc;

	assert(f->changes.nevidence == 0);
	if (n == NULL || n->hypothesis.run != v->run)
		return err_set(e, ERR_INPUT,
		    "evidence is of hypothesis %llu, which its run does not have",
		    (unsigned long long)v->hypothesis);
	if ((rc = evidence_append(f, v, e)) == 0)
		n->nevidence++;
	return rc;
}

const struct evidence *
forest_evidence(const struct forest *f, struct trace_id id, uint64_t *at)
{
	uint32_t link;

	if (f->nevidence == 0)
		return NULL;
	link = find(f, *at == 0 ? *head_of(&f->by_trace, id.low) : f->by_trace.next[*at - 1], id);
	*at = link;
	return link != 0 ? &f->evidence[link - 1] : NULL;
}

/* ---- texts ---- */

enum { SWITCHED_TEXTS = 3, AUDIT_TEXTS = 3, TEXTS_DUE_MIN = 256 };

static uint64_t
count_texts(const struct forest *f)
{
	return SWITCHED_TEXTS * (uint64_t)f->nswitched + AUDIT_TEXTS * (uint64_t)f->naudit;
}

/* The i-th of all rows' texts. */
static const char **
text_at(struct forest *f, uint64_t i)
{
	if (i < SWITCHED_TEXTS * (uint64_t)f->nswitched) {
		struct switched *s = &f->switched[i / SWITCHED_TEXTS];

		return i % SWITCHED_TEXTS == 0   ? &s->tracepoint
		       : i % SWITCHED_TEXTS == 1 ? &s->subject
		                                 : &s->text;
	}
	i -= SWITCHED_TEXTS * (uint64_t)f->nswitched;
	struct audit *a = &f->audit[i / AUDIT_TEXTS];

	return i % AUDIT_TEXTS == 0 ? &a->user : i % AUDIT_TEXTS == 1 ? &a->asked : &a->text;
}

/* A seed, a number, a name: what is asked is rarely the same twice. Where most of the texts may be
 * of rows that went, those of rows that are there move; without memory for it they stay for now. */
void
forest_log_tidy(struct forest *f)
{
	uint64_t n = count_texts(f);
	struct texts *fresh;
	bool ok;

	if (texts_count(f->texts) < f->texts_due)
		return;
	ok = (fresh = texts_new()) != NULL;
	for (uint64_t i = 0; i < n && ok; i++)
		ok = intern(fresh, *text_at(f, i)) != NULL;
	for (uint64_t i = 0; i < n && ok; i++)
		*text_at(f, i) = intern(
		    fresh, *text_at(f, i)); /* all are there: no memory is needed any more */
	texts_free(ok ? f->texts : fresh);
	f->texts = ok ? fresh : f->texts;
	f->texts_due = 2 * texts_count(f->texts) > TEXTS_DUE_MIN ? 2 * texts_count(f->texts)
	                                                         : TEXTS_DUE_MIN;
}

/* ---- forgetting ---- */

/* Those of a run stand together mostly: *known is one that is there. */
static bool
gone(const struct forest *f, uint64_t run, uint64_t *known)
{
	if (run == *known)
		return false;
	if (forest_run(f, run) == NULL)
		return true;
	*known = run;
	return false;
}

static void
audit_forget(struct forest *f, struct wall before)
{
	uint32_t kept = 0, fresh = f->naudit - f->changes.naudit, waiting = 0;

	for (uint32_t i = 0; i < f->naudit; i++) {
		if (f->audit[i].when.ns < before.ns)
			continue;
		waiting += i >= fresh;
		f->audit[kept++] = f->audit[i];
	}
	f->naudit = kept;
	f->changes.naudit = waiting;
}

void
forest_log_forget(struct forest *f, struct wall before)
{
	struct forest_changes *c = &f->changes;
	uint32_t kept = 0, fresh = f->nswitched - c->nswitched, waiting = 0;
	uint64_t known = 0;

	for (uint32_t i = 0; i < f->nswitched; i++) {
		const struct switched *s = &f->switched[i];

		if (s->run != 0 ? gone(f, s->run, &known) : s->when.ns < before.ns)
			continue;
		waiting += i >= fresh;
		f->switched[kept++] = *s;
	}
	f->nswitched = kept;
	c->nswitched = waiting;
	fresh = f->nevidence - c->nevidence;
	kept = waiting = 0;
	for (uint32_t i = 0; i < f->nevidence; i++) {
		if (gone(f, f->evidence[i].run, &known))
			continue;
		waiting += i >= fresh;
		f->evidence[kept++] = f->evidence[i];
	}
	f->nevidence = kept;
	c->nevidence = waiting;
	audit_forget(f, before);
	if (f->by_trace.cap != 0)
		link_all(f);
}

void
forest_log_release(struct forest *f)
{
	free(f->switched);
	free(f->evidence);
	free(f->audit);
	free(f->by_trace.heads);
	free(f->by_trace.next);
}

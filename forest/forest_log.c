/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log of switches, the evidence and the audit. Each is an array that grows at its end; its last
 * rows are those that are not written yet. Pruning removes rows from the middle and closes the gap.
 */
#include "forest/forest_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/hash.h"

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
	struct switched copy = *s;

	copy.tracepoint = intern(f->texts, s->tracepoint);
	copy.subject = intern(f->texts, s->subject);
	copy.text = intern(f->texts, s->text);
	if (!array_reserve(f->switched, f->switched_cap, f->nswitched + 1) ||
	    copy.tracepoint == NULL || copy.subject == NULL || copy.text == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the log of switches");
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
switched_check(const struct switched *s, struct err *e)
{
	return reason_valid(s->reason)
	           ? 0
	           : err_set(e, ERR_INPUT, "a switch of %s has reason %u, which does not exist",
			 s->tracepoint, s->reason);
}

int
forest_put_switched(struct forest *f, const struct switched *s, struct err *e)
{
	const struct hypothesis *h = s->hypothesis != 0 ? forest_get(f, s->hypothesis) : NULL;

	int rc = switched_check(s, e);

	assert(f->changes.nswitched == 0);
	if (rc != 0)
		return rc;
	if (s->run != 0 && forest_run(f, s->run) == NULL)
		return err_set(
		    e, ERR_INPUT, "a switch of %s is of a run that does not exist", s->tracepoint);
	if (s->hypothesis != 0 && (h == NULL || h->run != s->run))
		return err_set(e, ERR_INPUT,
		    "a switch of %s is of a hypothesis that is not of its run", s->tracepoint);
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

static const char *const actor_words[] = {
#define ACTOR(name, number, word, text) [number] = word,
#include "forest/audit.tbl.h"
#undef ACTOR
};
static const char *const action_words[] = {
#define ACTION(name, number, word, text) [number] = word,
#include "forest/audit.tbl.h"
#undef ACTION
};
enum {
	ACTORS = sizeof actor_words / sizeof actor_words[0],
	ACTIONS = sizeof action_words / sizeof action_words[0]
};

const char *
audit_actor_word(enum audit_actor a)
{
	return (unsigned)a < ACTORS ? actor_words[a] : "?";
}

const char *
audit_action_word(enum audit_action a)
{
	return (unsigned)a < ACTIONS ? action_words[a] : "?";
}

/* At twice the number that is kept the older half is dropped, except rows that are not written. */
static bool
reserve_audit(struct forest *f)
{
	uint32_t written = f->naudit - f->changes.naudit, drop;

	if (f->naudit >= 2 * AUDIT_KEPT && written > 0) {
		drop = f->naudit - AUDIT_KEPT < written ? f->naudit - AUDIT_KEPT : written;
		f->naudit -= drop;
		memmove(f->audit, f->audit + drop, f->naudit * sizeof *f->audit);
	}
	return array_reserve(f->audit, f->audit_cap, f->naudit + 1);
}

static int
audit_append(struct forest *f, const struct audit *a, struct err *e)
{
	struct audit copy = *a;

	copy.user = intern(f->texts, a->user);
	copy.asked = intern(f->texts, a->asked);
	copy.text = intern(f->texts, a->text);
	copy.node = intern(f->texts, a->node);
	copy.types = intern(f->texts, a->types);
	if (copy.user == NULL || copy.asked == NULL || copy.text == NULL || copy.node == NULL ||
	    copy.types == NULL || !reserve_audit(f))
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
forest_audit_own(struct forest *f, const struct audit *own)
{
	struct audit row = *own;

	assert(own->actor != ACTOR_NONE && own->action != ACTION_NONE);
	if (own->action != ACTION_QUARANTINE)
		row.uid = row.pid = -1;
	row.user = row.asked = "";
	row.outcome = AUDIT_DONE;
	row.times = 1;
	forest_audit_add(f, &row, NULL);
}

int
audit_check(const struct audit *a, struct err *e)
{
	if ((unsigned)a->outcome >= AUDIT_OUTCOMES)
		return err_set(e, ERR_INPUT,
		    "a row of the audit has outcome %u, which does not exist",
		    (unsigned)a->outcome);
	if (!reason_valid(a->reason))
		return err_set(e, ERR_INPUT,
		    "a row of the audit has reason %u, which does not exist", (unsigned)a->reason);
	if (!reason_valid(a->cause) || (unsigned)a->actor >= ACTORS ||
	    (unsigned)a->action >= ACTIONS || (unsigned)a->queue >= QUEUES)
		return err_set(e, ERR_INPUT,
		    "a row of the audit has actor %u, action %u, cause %u and queue %u, not all of which exist",
		    (unsigned)a->actor, (unsigned)a->action, (unsigned)a->cause,
		    (unsigned)a->queue);
	return 0;
}

int
forest_put_audit(struct forest *f, const struct audit *a, struct err *e)
{
	int rc = audit_check(a, e);

	assert(f->changes.naudit == 0);
	return rc == 0 ? audit_append(f, a, e) : rc;
}

const struct audit *
forest_audit_next(const struct forest *f, uint64_t *at)
{
	return *at < f->naudit ? &f->audit[f->naudit - ++*at] : NULL;
}

/* ---- evidence ---- */

static uint64_t
trace_hash(const struct forest *f, uint64_t low)
{
	return hash_u64(low ^ f->traces.seed);
}

/* False: out of memory. */
static bool
index_row(struct forest *f, uint32_t row)
{
	struct trace_index *index = &f->traces;
	uint64_t hash = trace_hash(f, f->evidence[row].trace.low);
	struct hash_slot *slot = hash_table_first(&index->first, hash);
	uint32_t *link, first;

	if (slot == NULL) {
		index->next[row] = 0;
		return hash_table_put(&index->first, hash, row);
	}
	first = slot->entry + 1;
	for (link = &first; *link != 0 && f->evidence[*link - 1].run > f->evidence[row].run;)
		link = &index->next[*link - 1];
	index->next[row] = *link;
	*link = row + 1;
	slot->entry = first - 1;
	return true;
}

static bool
reserve_evidence(struct forest *f)
{
	if (f->traces.seed == 0 &&
	    getrandom(&f->traces.seed, sizeof f->traces.seed, GRND_NONBLOCK) < 0)
		f->traces.seed = (uintptr_t)f;
	return array_reserve(f->evidence, f->evidence_cap, f->nevidence + 1) &&
	       array_reserve(f->traces.next, f->traces.next_cap, f->nevidence + 1);
}

/* The first row of that trace from `link` (row + 1) on; 0: there is none. */
static uint32_t
find_trace(const struct forest *f, uint32_t link, struct trace_id id)
{
	for (; link != 0; link = f->traces.next[link - 1]) {
		const struct trace_id *is = &f->evidence[link - 1].trace;

		if (is->low == id.low && (id.high == 0 || is->high == id.high))
			break;
	}
	return link;
}

static bool
is_known_evidence(const struct forest *f, const struct evidence *v)
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
	if (!reserve_evidence(f))
		goto fail;
	f->evidence[f->nevidence] = *v;
	if (!index_row(f, f->nevidence))
		goto fail;
	f->nevidence++;
	return 0;
fail:
	return err_set(e, ERR_MEMORY, "out of memory for the evidence of hypothesis %llu",
	    (unsigned long long)v->hypothesis);
}

int
forest_evidence_add(struct forest *f, const struct evidence *v, struct err *e)
{
	struct tree_hypothesis *n = (struct tree_hypothesis *)forest_get(f, v->hypothesis);
	int rc;

	assert(n != NULL && n->hypothesis.run == v->run);
	if (n->nevidence == EVIDENCE_MAX || is_known_evidence(f, v))
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
	struct tree_hypothesis *n = (struct tree_hypothesis *)forest_get(f, v->hypothesis);
	int rc;

	assert(f->changes.nevidence == 0);
	if (n == NULL || n->hypothesis.run != v->run)
		return err_set(e, ERR_INPUT,
		    "evidence is of hypothesis %llu, which is not of its run",
		    (unsigned long long)v->hypothesis);
	if ((rc = evidence_append(f, v, e)) == 0)
		n->nevidence++;
	return rc;
}

const struct evidence *
forest_evidence(const struct forest *f, struct trace_id id, uint64_t *at)
{
	uint32_t link = 0;

	assert(*at <= f->nevidence);
	if (*at != 0)
		link = f->traces.next[*at - 1];
	else if ((link = hash_table_find(&f->traces.first, trace_hash(f, id.low))) !=
		 HASH_TABLE_NONE)
		link++;
	else
		link = 0;
	link = find_trace(f, link, id);
	*at = link;
	return link != 0 ? &f->evidence[link - 1] : NULL;
}

/* ---- texts ---- */

enum { SWITCHED_TEXTS = 3, AUDIT_TEXTS = 5, TEXTS_DUE_MIN = 256 };

static uint64_t
count_texts(const struct forest *f)
{
	return SWITCHED_TEXTS * (uint64_t)f->nswitched + AUDIT_TEXTS * (uint64_t)f->naudit;
}

/* Text number i of all rows. */
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
	const char **texts[AUDIT_TEXTS] = { &a->user, &a->asked, &a->text, &a->node, &a->types };

	return texts[i % AUDIT_TEXTS];
}

/* Questions differ by seed, number and name, so texts of dropped rows accumulate. When the number of
 * texts has doubled, those of present rows move to a new set; without memory for it they stay. */
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
		*text_at(f, i) = intern(fresh, *text_at(f, i)); /* present: needs no memory */
	texts_free(ok ? f->texts : fresh);
	f->texts = ok ? fresh : f->texts;
	f->texts_due = 2 * texts_count(f->texts) > TEXTS_DUE_MIN ? 2 * texts_count(f->texts)
	                                                         : TEXTS_DUE_MIN;
}

/* ---- forgetting ---- */

/* Whether the forest no longer has the run. *known: a run that it has, since rows of a run are mostly
 * neighbours. */
static bool
is_forgotten(const struct forest *f, uint64_t run, uint64_t *known)
{
	if (run == *known)
		return false;
	if (forest_run(f, run) == NULL)
		return true;
	*known = run;
	return false;
}

static void
forget_audit(struct forest *f, struct wall before)
{
	uint32_t kept = 0, fresh = f->naudit - f->changes.naudit, unwritten = 0;

	for (uint32_t i = 0; i < f->naudit; i++) {
		if (f->audit[i].when.ns < before.ns)
			continue;
		unwritten += i >= fresh;
		f->audit[kept++] = f->audit[i];
	}
	f->naudit = kept;
	f->changes.naudit = unwritten;
}

void
forest_log_forget(struct forest *f, struct wall before)
{
	struct forest_changes *c = &f->changes;
	uint32_t kept = 0, fresh = f->nswitched - c->nswitched, unwritten = 0;
	uint64_t known = 0;

	for (uint32_t i = 0; i < f->nswitched; i++) {
		const struct switched *s = &f->switched[i];

		if (s->run != 0 ? is_forgotten(f, s->run, &known) : s->when.ns < before.ns)
			continue;
		unwritten += i >= fresh;
		f->switched[kept++] = *s;
	}
	f->nswitched = kept;
	c->nswitched = unwritten;
	fresh = f->nevidence - c->nevidence;
	kept = unwritten = 0;
	for (uint32_t i = 0; i < f->nevidence; i++) {
		if (is_forgotten(f, f->evidence[i].run, &known))
			continue;
		unwritten += i >= fresh;
		f->evidence[kept++] = f->evidence[i];
	}
	f->nevidence = kept;
	c->nevidence = unwritten;
	forget_audit(f, before);
	hash_table_clear(&f->traces.first);
	for (uint32_t i = 0; i < f->nevidence; i++)
		index_row(f, i); /* the table has room: it had more entries before */
}

void
forest_log_release(struct forest *f)
{
	free(f->switched);
	free(f->evidence);
	free(f->audit);
	free(f->traces.next);
	hash_table_release(&f->traces.first);
}

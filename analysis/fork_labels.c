/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/fork_labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

enum { REMEMBERED = 65536 };

struct fork_label {
	bool begun;       /* a unit began by one of them */
	bool begun_twice; /* several units began by one of them */
	uint8_t seen;     /* up to FORKS_SEEN: since one was begun, or of this round */
	uint32_t round;
};

struct remembered_fork {
	uint64_t key; /* of trace and link */
	int64_t end_ns;
	uint32_t label;
	bool begun;
};

struct fork_labels {
	int64_t keep_ns;
	struct fork_label *labels;
	uint32_t n, cap;
	uint32_t round;
	uint8_t *begins; /* of each event of a trace: how many units began by it, at most 2 */
	uint32_t begins_cap;
	struct remembered_fork *remembered; /* REMEMBERED, by key; NULL: none yet */
};

struct fork_labels *
fork_labels_new(int64_t keep_ns)
{
	struct fork_labels *f = calloc(1, sizeof *f);

	if (f != NULL)
		f->keep_ns = keep_ns;
	return f;
}

void
fork_labels_free(struct fork_labels *f)
{
	if (f == NULL)
		return;
	free(f->labels);
	free(f->begins);
	free(f->remembered);
	free(f);
}

enum fork_rule
fork_labels_rule(const struct fork_labels *f, uint32_t label)
{
	const struct fork_label *l = label < f->n ? &f->labels[label] : NULL;

	if (l == NULL || l->begun_twice || l->seen < FORKS_SEEN)
		return FORK_UNKNOWN;
	if (l->begun)
		return FORK_ANSWERED;
	return l->round == f->round ? FORK_LEADS_OUT : FORK_UNKNOWN;
}

void
fork_labels_new_node(struct fork_labels *f)
{
	f->round++;
}

static void
note_begins(struct fork_label *l, uint32_t begins)
{
	if (begins > 0 && !l->begun)
		l->seen = 0;
	l->begun |= begins > 0;
	l->begun_twice |= begins > 1;
}

/* Counts for each fork the units that began by it. False: out of memory. */
static bool
count_begins(struct fork_labels *f, const struct trace *t)
{
	if (!array_reserve(f->begins, f->begins_cap, t->nevents))
		return false;
	memset(f->begins, 0, t->nevents);
	for (uint32_t i = 0; i < t->nunits; i++)
		if (t->units[i].fork != TRACE_NONE && f->begins[t->units[i].fork] < 2)
			f->begins[t->units[i].fork]++;
	return true;
}

void
fork_labels_learn(struct fork_labels *f, const struct trace *t, const struct labels *labels)
{
	const uint8_t *const *kinds = labels_kinds(labels);
	uint32_t n = labels_count(labels);

	if (t->nevents == 0 || !count_begins(f, t) || !array_reserve(f->labels, f->cap, n))
		return;
	for (; f->n < n; f->n++)
		f->labels[f->n] = (struct fork_label){ .round = f->round };
	for (uint32_t i = 0; i < t->nevents; i++) {
		struct fork_label *l = &f->labels[t->events[i].label];

		if (kind_in(kinds, t->events[i].label) != RECORD_FORK)
			continue;
		note_begins(l, f->begins[i]);
		if (!l->begun && l->round != f->round)
			l->seen = 0;
		l->round = f->round;
		l->seen += l->seen < FORKS_SEEN;
	}
}

static uint64_t
key_of(uint64_t trace_id, uint64_t link_id)
{
	return hash_u64(trace_id ^ hash_u64(link_id));
}

void
fork_labels_remember(struct fork_labels *f, const struct trace *t, const struct labels *labels)
{
	const uint8_t *const *kinds = labels_kinds(labels);

	if (f->remembered == NULL)
		f->remembered = calloc(REMEMBERED, sizeof *f->remembered);
	if (f->remembered == NULL || t->nevents == 0 || !count_begins(f, t))
		return;
	for (uint32_t i = 0; i < t->nevents; i++) {
		uint64_t key = key_of(t->id, t->events[i].link_id);
		struct remembered_fork *r = &f->remembered[key % REMEMBERED];

		if (kind_in(kinds, t->events[i].label) != RECORD_FORK)
			continue;
		/* Nor longer if a clock was wrong. */
		if (r->key != 0 && t->end_ns - r->end_ns <= f->keep_ns &&
		    r->end_ns - t->end_ns <= f->keep_ns)
			continue;
		*r = (struct remembered_fork){ key, t->end_ns, t->events[i].label,
			f->begins[i] > 0 };
	}
}

void
fork_labels_late(struct fork_labels *f, uint64_t trace_id, uint64_t link_id)
{
	uint64_t key = key_of(trace_id, link_id);
	const struct remembered_fork *r = f->remembered != NULL ? &f->remembered[key % REMEMBERED]
	                                                        : NULL;

	if (r != NULL && r->key == key && r->label < f->n)
		note_begins(&f->labels[r->label], r->begun + 1);
}

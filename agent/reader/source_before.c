/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/source_before.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/reader/record_list.h"
#include "agent/reader/source_losses.h"
#include "base/hash.h"

enum { TEXTS_MAX = 300 }; /* the texts of a wait: words, and a place of 240 bytes */

struct held_record { /* a wait or a sample */
	int64_t time_ns;
	uint32_t label, nvalues;
	struct value values[BEFORE_VALUES_MAX];
	char texts[TEXTS_MAX]; /* of values */
};

struct held_thread {
	uint32_t pid, tid;
	uint32_t count; /* in all; held[count % BEFORE_EACH_MAX] is next */
	struct held_record *held;
};

struct before_source {
	struct source inner;
	const bool *wanted;
	struct held_thread *threads; /* NULL: nothing is remembered */
	struct record_list records;  /* of the last poll, where something is remembered */
	struct arena arena;
	uint64_t dropped; /* without a trace */
	struct source_losses losses;
	uint64_t lost;
};

static void
forget(struct before_source *s)
{
	for (uint32_t i = 0; s->threads != NULL && i < BEFORE_THREADS_MAX; i++)
		free(s->threads[i].held);
	free(s->threads);
	s->threads = NULL;
}

static struct held_thread *
thread_of(struct before_source *s, uint32_t pid, uint32_t tid)
{
	return &s->threads[hash_u64((uint64_t)pid << 32 | tid) % BEFORE_THREADS_MAX];
}

static void
hold(struct before_source *s, const struct record *r)
{
	struct held_thread *t = thread_of(s, r->pid, r->tid);
	uint32_t used = 0;
	struct held_record *h;

	if (t->held == NULL && (t->held = calloc(BEFORE_EACH_MAX, sizeof *t->held)) == NULL)
		return; /* what it did is then unknown */
	if (t->pid != r->pid || t->tid != r->tid) {
		t->pid = r->pid;
		t->tid = r->tid;
		t->count = 0;
	}
	if (r->nvalues > BEFORE_VALUES_MAX)
		return;
	h = &t->held[t->count++ % BEFORE_EACH_MAX];
	h->time_ns = r->time_ns;
	h->label = r->label;
	h->nvalues = r->nvalues;
	for (uint32_t i = 0; i < r->nvalues; i++) {
		struct value *v = &h->values[i];

		*v = r->values[i];
		if (v->type != VALUE_TEXT)
			continue;
		v->len = v->len <= TEXTS_MAX - used ? v->len : 0;
		memcpy(h->texts + used, v->text, v->len);
		v->text = h->texts + used;
		used += v->len;
	}
}

/* What the thread did before this begin of a unit. */
static void
put_held(struct before_source *s, const struct record *begin, const struct batch_label *labels)
{
	const struct held_thread *t = thread_of(s, begin->pid, begin->tid);
	uint32_t from = t->count > BEFORE_EACH_MAX ? t->count - BEFORE_EACH_MAX : 0;

	if (t->held == NULL || t->pid != begin->pid || t->tid != begin->tid)
		return;
	for (uint32_t i = from; i < t->count; i++) {
		struct held_record *h = &t->held[i % BEFORE_EACH_MAX];
		struct record r = { .trace_id = begin->trace_id,
			.unit_id = begin->unit_id,
			.time_ns = begin->time_ns,
			.label = h->label,
			.pid = begin->pid,
			.tid = begin->tid,
			.nvalues = h->nvalues,
			.values = h->values };

		if (h->time_ns > begin->time_ns || begin->time_ns - h->time_ns > BEFORE_NS ||
		    h->nvalues == 0 ||
		    strcmp(labels[h->label].fields[h->nvalues - 1], "before_ns") != 0)
			continue;
		h->values[h->nvalues - 1] = (struct value){ .type = VALUE_UINT,
			.u = (uint64_t)(begin->time_ns - h->time_ns) };
		if (!record_list_copy(&s->records, &s->arena, &r)) {
			losses_add(&s->losses, LOSS_QUEUE, 1, h->time_ns, begin->time_ns);
			s->lost++;
		}
	}
}

static void
take(struct before_source *s, const struct record *r, const struct batch_label *labels)
{
	uint8_t kind = labels[r->label].kind;

	if (kind == RECORD_WAIT || kind == RECORD_SAMPLE) {
		hold(s, r);
		if (r->trace_id == 0) {
			s->dropped++;
			return;
		}
	}
	if (!record_list_add(&s->records, r)) {
		losses_add(&s->losses, LOSS_QUEUE, 1, r->time_ns, r->time_ns);
		s->lost++;
	}
	if (kind == RECORD_UNIT_BEGIN && r->trace_id != 0)
		put_held(s, r, labels);
}

static int
before_poll(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	struct before_source *s = state;
	const struct batch_label *labels;
	uint32_t nlabels, nlate = 0;
	int rc = s->inner.poll(s->inner.state, now, ret, e);

	if (rc != 0)
		return rc;
	if (!*s->wanted && s->threads != NULL)
		forget(s);
	if (*s->wanted && s->threads == NULL)
		s->threads = calloc(BEFORE_THREADS_MAX, sizeof *s->threads);
	if (s->threads == NULL)
		return 0;
	s->records.count = 0;
	arena_reset(&s->arena);
	losses_begin(&s->losses);
	for (uint32_t i = 0; i < ret->nlosses; i++) {
		const struct loss *l = &ret->losses[i];

		losses_add(&s->losses, (enum loss_reason)l->reason, l->count, l->from_ns, l->to_ns);
	}
	labels = s->inner.labels(s->inner.state, &nlabels);
	for (uint32_t i = 0; i < ret->nrecords; i++) {
		take(s, &ret->records[i], labels);
		nlate = i < ret->nlate ? s->records.count : nlate;
	}
	ret->nlate = nlate;
	ret->records = s->records.list;
	ret->nrecords = s->records.count;
	ret->losses = s->losses.list;
	ret->nlosses = s->losses.count;
	return 0;
}

static void
before_stats(void *state, struct source_stats *ret)
{
	struct before_source *s = state;

	s->inner.stats(s->inner.state, ret);
	ret->records -= s->dropped;
	ret->lost[LOSS_QUEUE] += s->lost;
}

static const struct batch_label *
before_labels(void *state, uint32_t *count)
{
	struct before_source *s = state;

	return s->inner.labels(s->inner.state, count);
}

static void
before_close(void *state)
{
	struct before_source *s = state;

	s->inner.close(s->inner.state);
	forget(s);
	record_list_release(&s->records);
	arena_release(&s->arena);
	losses_release(&s->losses);
	free(s);
}

int
source_before_open(
    struct source *ret, const struct source *inner, const bool *wanted, struct err *e)
{
	struct before_source *s = calloc(1, sizeof *s);

	if (s == NULL) {
		inner->close(inner->state);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	s->inner = *inner;
	s->wanted = wanted;
	*ret = (struct source){ s, before_poll, before_stats, before_labels, before_close };
	return 0;
}

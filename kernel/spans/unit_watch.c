/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/spans/unit_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/hash_table.h"

enum { NOTES_MAX = 1 << 22 };

struct watched { /* a thread with records, or of which something was said */
	uint32_t host, tid;
	size_t at,
	    end; /* of its records: the first that is not before the last event; past the last one */
	uint32_t unit; /* that was said last */
};

struct unit_watch {
	struct place_record *records; /* by thread and time */
	struct watched *threads;
	uint32_t nthreads, threads_cap;
	struct hash_table by_tid, by_id;
	uint32_t *units; /* of each id, in the order of `ids` */
	struct place_note *notes;
	size_t nnotes, notes_cap;
	uint64_t said; /* events KERNEL_UNIT */
};

static int
by_thread_and_time(const void *x, const void *y)
{
	const struct place_record *a = x, *b = y;

	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static uint64_t
key_of(uint32_t host, uint32_t tid)
{
	return hash_u64((uint64_t)host << 32 | tid);
}

static struct watched *
add_thread(struct unit_watch *w, uint32_t host, uint32_t tid, size_t at, size_t end)
{
	if (!array_reserve(w->threads, w->threads_cap, w->nthreads + 1) ||
	    !hash_table_put(&w->by_tid, key_of(host, tid), w->nthreads))
		return NULL;
	w->threads[w->nthreads] = (struct watched){ host, tid, at, end, SPAN_NONE };
	return &w->threads[w->nthreads++];
}

static bool
index_all(struct unit_watch *w, size_t n, const struct unit_id *ids, size_t nids)
{
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && w->records[end].host == w->records[i].host &&
				  w->records[end].tid == w->records[i].tid;)
			end++;
		if (add_thread(w, w->records[i].host, w->records[i].tid, i, end) == NULL)
			return false;
	}
	for (size_t i = 0; i < nids; i++) {
		uint32_t entry = hash_table_claim(&w->by_id, hash_u64(ids[i].id), (uint32_t)i);

		if (entry == HASH_TABLE_NONE)
			return false;
		w->units[entry] = ids[i].unit;
	}
	return true;
}

int
unit_watch_new(struct unit_watch **ret, const struct place_record *records, size_t nrecords,
    const struct unit_id *ids, size_t nids, struct err *e)
{
	struct unit_watch *w = calloc(1, sizeof *w);

	*ret = NULL;
	if (w != NULL) {
		w->records = calloc(nrecords + 1, sizeof *w->records);
		w->units = calloc(nids + 1, sizeof *w->units);
	}
	if (w == NULL || w->records == NULL || w->units == NULL)
		goto fail;
	if (nrecords > 0)
		memcpy(w->records, records, nrecords * sizeof *records);
	qsort(w->records, nrecords, sizeof *w->records, by_thread_and_time);
	if (!index_all(w, nrecords, ids, nids))
		goto fail;
	*ret = w;
	return 0;
fail:
	unit_watch_free(w);
	return err_set(e, ERR_MEMORY, "no memory for %zu records", nrecords);
}

void
unit_watch_free(struct unit_watch *w)
{
	if (w == NULL)
		return;
	hash_table_release(&w->by_tid);
	hash_table_release(&w->by_id);
	free(w->records);
	free(w->threads);
	free(w->units);
	free(w->notes);
	free(w);
}

static int
note(struct unit_watch *w, const struct watched *t, int64_t time_ns, struct err *e)
{
	if (w->nnotes == NOTES_MAX)
		return err_set(e, ERR_FULL,
		    "the recording says more than %d times which unit a thread works for",
		    NOTES_MAX);
	if (!array_reserve(w->notes, w->notes_cap, w->nnotes + 1))
		return err_set(e, ERR_MEMORY, "no memory for the places of units");
	w->notes[w->nnotes++] = (struct place_note){ time_ns, t->host, t->tid, t->unit };
	return 0;
}

int
unit_watch_take(void *of, const struct kernel_event *ev, struct err *e)
{
	struct unit_watch *w = of;
	struct watched *t;
	uint32_t thread;
	size_t before;

	if (ev->kind != KERNEL_UNIT && ev->kind != KERNEL_SYSCALL_IN && ev->kind != KERNEL_SWITCH)
		return 0;
	thread = hash_table_find(&w->by_tid, key_of(ev->host, ev->tid));
	if (thread == HASH_TABLE_NONE && ev->kind != KERNEL_UNIT)
		return 0;
	t = thread != HASH_TABLE_NONE ? &w->threads[thread]
	                              : add_thread(w, ev->host, ev->tid, 0, 0);
	if (t == NULL)
		return err_set(e, ERR_MEMORY, "no memory for the places of units");
	before = t->at;
	while (t->at < t->end && w->records[t->at].time_ns <= ev->time_ns)
		t->at++;
	if (ev->kind == KERNEL_UNIT) {
		uint32_t entry = ev->unit.id != 0
		                     ? hash_table_find(&w->by_id, hash_u64(ev->unit.id))
		                     : HASH_TABLE_NONE;

		t->unit = entry != HASH_TABLE_NONE ? w->units[entry] : SPAN_NONE;
		w->said++;
		return note(w, t, ev->time_ns, e);
	}
	return t->at > before ? note(w, t, ev->time_ns, e) : 0;
}

const struct place_note *
unit_watch_notes(const struct unit_watch *w, size_t *n)
{
	*n = w->said > 0 ? w->nnotes : 0;
	return w->notes;
}

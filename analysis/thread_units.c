/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/thread_units.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { THREADS = 4096 };

struct thread_state {
	uint32_t node, pid, tid;
	uint32_t nopen;
	struct open_unit open[THREAD_UNITS_MAX]; /* the oldest first */
};

struct thread_units {
	struct thread_state threads[THREADS]; /* by a hash; no chains */
};

struct thread_units *
thread_units_new(void)
{
	return calloc(1, sizeof(struct thread_units));
}

void
thread_units_free(struct thread_units *t)
{
	free(t);
}

static struct thread_state *
state_of(struct thread_units *t, uint32_t node, const struct record *r)
{
	uint64_t id = hash_u64((uint64_t)r->pid << 32 | r->tid) + node;
	struct thread_state *s = &t->threads[hash_u64(id) % THREADS];

	if (s->node != node || s->pid != r->pid || s->tid != r->tid)
		*s = (struct thread_state){ .node = node, .pid = r->pid, .tid = r->tid };
	return s;
}

static void
push(struct thread_state *s, const struct record *r)
{
	if (s->nopen == THREAD_UNITS_MAX)
		memmove(&s->open[0], &s->open[1], --s->nopen * sizeof s->open[0]);
	s->open[s->nopen++] = (struct open_unit){ r->trace_id, r->unit_id };
}

static void
take_out(struct thread_state *s, uint64_t unit_id)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nopen; i++)
		if (s->open[i].unit_id != unit_id)
			s->open[n++] = s->open[i];
	s->nopen = n;
}

uint32_t
thread_units_note(struct thread_units *t, uint32_t node, enum record_kind kind,
    const struct record *r, struct open_unit shared[THREAD_UNITS_MAX])
{
	struct thread_state *s;
	uint32_t n = 0;

	switch (kind) {
	case RECORD_REQUEST_BEGIN:
	case RECORD_UNIT_BEGIN:
		s = state_of(t, node, r);
		for (uint32_t i = 0; i < s->nopen; i++)
			if (s->open[i].trace_id != r->trace_id)
				shared[n++] = s->open[i];
		if (kind == RECORD_REQUEST_BEGIN)
			s->nopen = 0;
		push(s, r);
		break;
	case RECORD_REQUEST_END:
	case RECORD_UNIT_END:
		take_out(state_of(t, node, r), r->unit_id);
		break;
	default:
		break;
	}
	return n;
}

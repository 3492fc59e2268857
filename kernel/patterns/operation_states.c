/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel/patterns/mine.h"
#include "kernel/patterns/request_operations.h"

static const char LETTERS[BELOW_STATES + 1] = "RPDNTLBFU";

char
state_letter(enum below_state s)
{
	return (unsigned)s < BELOW_STATES ? LETTERS[s] : LETTERS[BELOW_UNKNOWN];
}

enum below_state
letter_state(char c)
{
	const char *at = c != '\0' ? strchr(LETTERS, c) : NULL;

	return at != NULL ? (enum below_state)(at - LETTERS) : BELOW_STATES;
}

struct folding {
	struct state_run *runs;
	uint32_t n, cap;
	uint32_t first; /* of the interval's sequence */
	struct state_run loose[BELOW_STATES];
};

static bool
equal_pairs(const struct state_run *r)
{
	return r[0].state == r[2].state && r[1].state == r[3].state;
}

static void
join(struct state_run *into, const struct state_run *from)
{
	into->ns += from->ns;
	into->passes += from->passes;
}

/* Appends a state to the sequence of its interval, which stays folded. */
static bool
push(struct folding *f, uint8_t state, int64_t ns, uint16_t interval)
{
	struct state_run new = { .ns = ns, .passes = 1, .interval = interval, .state = state };

	if (state == BELOW_READY || state == BELOW_UNKNOWN) {
		join(&f->loose[state], &new);
		return true;
	}
	if (f->n > f->first && f->runs[f->n - 1].state == state) {
		f->runs[f->n - 1]
		    .ns += ns; /* READY was between, or another part of the same wait */
		return true;
	}
	if (f->n - f->first == MINE_LENGTH_MAX) {
		join(&f->loose[state], &new);
		return true;
	}
	if (!array_reserve(f->runs, f->cap, f->n + 1))
		return false;
	f->runs[f->n++] = new;
	while (f->n - f->first >= 4 && equal_pairs(f->runs + f->n - 4)) {
		join(&f->runs[f->n - 4], &f->runs[f->n - 2]);
		join(&f->runs[f->n - 3], &f->runs[f->n - 1]);
		f->n -= 2;
	}
	return true;
}

static bool
end_interval(struct folding *f, uint16_t interval)
{
	for (uint8_t s = 0; s < BELOW_STATES; s++) {
		if (f->loose[s].passes == 0)
			continue;
		if (!array_reserve(f->runs, f->cap, f->n + 1))
			return false;
		f->runs[f->n] = f->loose[s];
		f->runs[f->n].state = s;
		f->runs[f->n].interval = interval;
		f->runs[f->n++].loose = true;
		f->loose[s] = (struct state_run){ 0 };
	}
	f->first = f->n;
	return true;
}

struct own_piece {
	int64_t ns;
	uint32_t order;
	uint16_t interval;
	uint8_t state;
};

static int
by_interval(const void *x, const void *y)
{
	const struct own_piece *a = x, *b = y;

	if (a->interval != b->interval)
		return a->interval < b->interval ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* The interval of what follows an operation in slot `last` and comes before one in slot `next`; OPERATION_NONE: there is none. */
static uint16_t
interval_of(uint32_t last, uint32_t next)
{
	uint32_t i = last == OPERATION_NONE ? 0 : last == next ? 2 * last + 1 : 2 * last + 2;

	return (uint16_t)(i < OPERATION_INTERVALS_MAX ? i : OPERATION_INTERVALS_MAX - 1);
}

static int
check(const struct operations *o, uint32_t operation, struct err *e)
{
	const struct operation *op = &o->list[operation];
	int64_t at = op->begin_ns;

	for (uint32_t i = 0; i < op->npieces; i++) {
		const struct operation_piece *p = &op->pieces[i];

		if (p->from_ns != at || p->to_ns < at || p->state >= BELOW_STATES ||
		    (p->within != OPERATION_NONE &&
			(p->within >= o->n || o->list[p->within].parent != operation)))
			return err_set(
			    e, ERR_INPUT, "operation %u: its piece %u is malformed", operation, i);
		at = p->to_ns;
	}
	return op->npieces == 0 || at == op->end_ns
	           ? 0
	           : err_set(e, ERR_INPUT, "operation %u: its pieces do not cover it", operation);
}

/* The pieces that passed in the operation itself, with their intervals, in the order of time. Returns how many. */
static uint32_t
own_pieces(struct own_piece *ret, const struct operation *op, const struct workflow *w)
{
	uint32_t last = OPERATION_NONE, n = 0;

	for (uint32_t i = 0, k; i < op->npieces; i = k) {
		uint32_t next;
		uint16_t interval;

		for (k = i; k < op->npieces && op->pieces[k].within == OPERATION_NONE;)
			k++;
		next = k < op->npieces ? w->slot[op->pieces[k].within] : OPERATION_NONE;
		interval = interval_of(last, next);
		for (; i < k; i++) {
			int64_t ns = op->pieces[i].to_ns - op->pieces[i].from_ns;

			if (ns > 0) {
				ret[n] = (struct own_piece){ ns, n, interval, op->pieces[i].state };
				n++;
			}
		}
		for (; k < op->npieces && op->pieces[k].within != OPERATION_NONE; k++)
			last = w->slot[op->pieces[k].within];
	}
	return n;
}

/* An interval may come several times: in a loop, and where operations of two slots take turns. It is one sequence. */
static bool
fold(struct operation_states *ret, struct folding *f, struct own_piece *own, uint32_t n)
{
	bool ok = true;

	qsort(own, n, sizeof *own, by_interval);
	for (uint32_t i = 0; i < n && ok; i++) {
		ret->own_ns += own[i].ns;
		ret->unknown_ns += own[i].state == BELOW_UNKNOWN ? own[i].ns : 0;
		ok = push(f, own[i].state, own[i].ns, own[i].interval) &&
		     ((i + 1 < n && own[i + 1].interval == own[i].interval) ||
			 end_interval(f, own[i].interval));
	}
	return ok;
}

int
operation_states_of(struct operation_states *ret, const struct operations *o,
    const struct workflow *w, uint32_t operation, struct arena *a, struct err *e)
{
	const struct operation *op = &o->list[operation];
	struct folding f = { 0 };
	struct own_piece *own;
	int rc;

	*ret = (struct operation_states){ 0 };
	if ((rc = check(o, operation, e)) != 0)
		return rc;
	if ((own = arena_calloc(a, (size_t)op->npieces + 1, sizeof *own)) == NULL ||
	    !fold(ret, &f, own, own_pieces(own, op, w)) ||
	    (f.n > 0 && (ret->runs = arena_copy(a, f.runs, f.n * sizeof *f.runs)) == NULL))
		rc = err_set(e, ERR_MEMORY, "out of memory");
	ret->n = rc == 0 ? f.n : 0;
	free(f.runs);
	return rc;
}

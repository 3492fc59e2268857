/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * matrix_tap LISTEN_URL CONTROLLER_URL STATE_FILE: the network between an agent and its controller.
 * Forwards every frame in both directions, and records in STATE_FILE (matrix_state.h) which
 * numbered requests are missing, and whether their loss was reported. A stopped tap is a silent
 * network; a killed one closes the connection. The account survives the tap: what arrives twice is
 * counted once.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stream.h"
#include "tests/common/accepted.h"
#include "tests/scenario/matrix_state.h"
#include "wire/agent_messages.h"
#include "wire/frame.h"
#include "wire/toggle.h"

enum { PATIENCE_MS = 600000, DIAL_MS = 2000 };

static struct matrix_tap *state;

#define put(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define add(p, v) put(p, *(p) + (v))

/* ---- the account ---- */

/* A tracer tells what it had no room for when there is room again, so it may come after the gap. */
static void
take_loss(const struct loss *l)
{
	unsigned at = (unsigned)(state->losses % MATRIX_LOSSES);

	state->spans[at].from_ns = l->from_ns;
	state->spans[at].to_ns = l->to_ns;
	add(&state->losses, 1);
	add(&state->lost, l->count);
	for (int i = 0; i < MATRIX_GAPS; i++) {
		struct matrix_gap *g = &state->gaps[i];

		if (g->count == 0 || g->from_ns > l->to_ns || g->to_ns < l->from_ns)
			continue;
		add(&state->told, g->count);
		add(&state->silent, -g->count);
		g->count = 0;
	}
	printf("%.3f loss reason %u count %llu from %.3f to %.3f\n", (double)clock_mono().ns / 1e9,
	    l->reason, (unsigned long long)l->count, (double)l->from_ns / 1e9,
	    (double)l->to_ns / 1e9);
}

static bool
was_told(int64_t from_ns, int64_t to_ns)
{
	for (unsigned i = 0; i < MATRIX_LOSSES && i < state->losses; i++)
		if (state->spans[i].from_ns <= to_ns && state->spans[i].to_ns >= from_ns)
			return true;
	return false;
}

static void
gap_keep(const struct matrix_gap *g)
{
	int i = 0;

	while (i < MATRIX_GAPS - 1 && state->gaps[i].count != 0)
		i++;
	state->gaps[i] = *g;
	add(&state->silent, g->count);
	printf("%.3f gap pid %llu number %llu, %llu of them, from %.3f to %.3f\n",
	    (double)clock_mono().ns / 1e9, (unsigned long long)g->pid, (unsigned long long)g->from,
	    (unsigned long long)g->count, (double)g->from_ns / 1e9, (double)g->to_ns / 1e9);
}

/* The program that has been silent for longest makes room. */
static struct matrix_row *
row_of(uint64_t pid)
{
	struct matrix_row *oldest = &state->rows[0];

	for (uint64_t i = 0; i < state->nrows; i++) {
		if (state->rows[i].pid == pid)
			return &state->rows[i];
		if (state->rows[i].last_ns < oldest->last_ns)
			oldest = &state->rows[i];
	}
	if (state->nrows < MATRIX_PROGRAMS) {
		oldest = &state->rows[state->nrows];
		memset(oldest, 0, sizeof *oldest);
		add(&state->nrows, 1);
	}
	*oldest = (struct matrix_row){ .pid = pid, .incarnation = state->incarnation };
	memset(state->seen[oldest - state->rows], 0, sizeof state->seen[0]);
	return oldest;
}

static struct matrix_seen *
seen_of(uint64_t trace_id)
{
	uint64_t number = trace_id & UINT32_MAX;
	struct matrix_seen
	    *s = &state->seen[row_of(trace_id >> 32) - state->rows][number % MATRIX_SEEN];

	if (s->number != number + 1)
		*s = (struct matrix_seen){ .number = number + 1 };
	return s;
}

static bool
is_probed(const struct record *r, const struct batch_label *l)
{
	for (uint32_t i = 0; i < r->nvalues; i++)
		if (strcmp(l->fields[i], "probed") == 0)
			return r->values[i].u != 0;
	return false;
}

/* What one record says of a request: its begin, its end, or a time that it waited. */
static void
take_seen(const struct record *r, const struct batch_label *l)
{
	if (l->kind == RECORD_REQUEST_BEGIN) {
		seen_of(r->trace_id)->begin_ns = r->time_ns;
		if (is_probed(r, l))
			seen_of(r->trace_id)->flags |= MATRIX_PROBED;
	} else if (l->kind == RECORD_REQUEST_END) {
		seen_of(r->trace_id)->end_ns = r->time_ns;
	} else if (l->kind == RECORD_WAIT && r->trace_id != 0) {
		seen_of(r->trace_id)->flags |= MATRIX_WAITED;
		add(&state->waits, 1);
	} else if (l->kind == RECORD_POINT && memmem(l->text, l->len, "/usdt.", 6) != NULL) {
		add(&state->hits, 1);
	}
}

/* It was delivered, only not in its turn. */
static void
take_late(uint64_t pid, uint64_t number)
{
	for (int i = 0; i < MATRIX_GAPS; i++) {
		struct matrix_gap *g = &state->gaps[i], after = *g;

		if (g->pid != pid || number < g->from || number >= g->from + g->count)
			continue;
		after.from = number + 1;
		after.count = g->from + g->count - after.from;
		g->count = number - g->from;
		add(&state->silent, -(1 + after.count));
		add(&state->late, 1);
		if (after.count > 0)
			gap_keep(&after);
		return;
	}
}

static void
take_request(const struct record *r)
{
	uint64_t number = r->trace_id & UINT32_MAX;
	struct matrix_row *row = row_of(r->trace_id >> 32);
	struct matrix_gap gap = { row->pid, row->next, number - row->next, row->last_ns,
		r->time_ns };

	if (number < row->next) {
		take_late(row->pid, number);
		return;
	}
	if (number > row->next && row->last_ns != 0) {
		if (row->incarnation != state->incarnation)
			add(&state->restarted, gap.count);
		else if (was_told(gap.from_ns, gap.to_ns))
			add(&state->told, gap.count);
		else
			gap_keep(&gap);
	}
	row->last_ns = r->time_ns;
	row->incarnation = state->incarnation;
	put(&row->next, number + 1);
}

static int
take_batch(const struct frame *f, const uint8_t *data, struct arena *a, struct err *e)
{
	struct batch b;
	int rc;

	if (f->seq <= state->have_seq)
		return 0;
	if ((rc = batch_decode(&b, a, data, f->length, e)) != 0)
		return rc;
	for (uint32_t i = 0; i < b.nlosses; i++)
		take_loss(&b.losses[i]);
	for (uint32_t i = 0; i < b.nrecords; i++) {
		if (b.labels[b.records[i].label].kind == RECORD_REQUEST_BEGIN)
			take_request(&b.records[i]);
		take_seen(&b.records[i], &b.labels[b.records[i].label]);
	}
	state->watermark_ns = b.watermark_ns;
	add(&state->batches, 1);
	add(&state->records, b.nrecords);
	put(&state->have_seq, f->seq);
	return 0;
}

static int
take_status(const uint8_t *data, size_t len, struct arena *a, struct err *e)
{
	static char trouble[512];
	char now[sizeof trouble];
	struct status s;
	int rc = status_decode(&s, a, data, len, e);

	if (rc != 0)
		return rc;
	put(&state->tracer_ok, s.tracer_ok);
	put(&state->guard_ok, s.guard_ok);
	put(&state->added, s.added);
	put(&state->nprograms, s.programs);
	put(&state->below_state, (uint64_t)s.below);
	put(&state->status_ns, clock_mono().ns);
	add(&state->statuses, 1);
	snprintf(now, sizeof now, "%s %s", trouble_kind_word(s.trouble.kind), s.trouble.text);
	if (strcmp(trouble, now) != 0)
		printf("%.3f trouble \"%s\"\n", (double)clock_mono().ns / 1e9, now);
	strcpy(trouble, now);
	return 0;
}

static int
take_done(const uint8_t *data, size_t len, struct arena *a, struct err *e)
{
	struct done d;
	int rc = done_decode(&d, a, data, len, e);

	if (rc != 0)
		return rc;
	put(&state->held_epoch, d.epoch);
	add(&state->dones, 1);
	return 0;
}

static int
take_hello(const uint8_t *data, size_t len, struct arena *a, struct err *e)
{
	struct hello h;
	int rc = hello_decode(&h, a, data, len, e);

	if (rc != 0)
		return rc;
	if (h.incarnation != state->incarnation) {
		if (state->incarnation != 0) { /* what the one before had not sent is lost */
			unsigned at = (unsigned)(state->ncuts % MATRIX_LOSSES);

			state->cuts[at].from_ns = state->watermark_ns;
			state->cuts[at].to_ns = clock_mono().ns;
			add(&state->ncuts, 1);
		}
		put(&state->incarnation, h.incarnation);
		put(&state->have_seq, 0);
	}
	add(&state->hellos, 1);
	return 0;
}

static int
take_frame(const struct frame *f, const uint8_t *data, struct err *e)
{
	struct arena a = { 0 };
	int rc = 0;

	switch (f->kind) {
	case FRAME_HELLO:
		rc = take_hello(data, f->length, &a, e);
		break;
	case FRAME_RECORDS:
		rc = take_batch(f, data, &a, e);
		break;
	case FRAME_STATUS:
		rc = take_status(data, f->length, &a, e);
		break;
	case FRAME_DONE:
		rc = take_done(data, f->length, &a, e);
		break;
	}
	arena_release(&a);
	return rc;
}

/* ---- handing on ---- */

struct way {
	struct accepted *agent;
	struct stream *controller;
	bool up; /* from the agent */
};

static int
take(struct way *w, void *data, size_t len, struct err *e)
{
	return w->up ? accepted_read(w->agent, data, len, PATIENCE_MS, e)
	             : stream_read(w->controller, data, len, PATIENCE_MS, e);
}

static int
give(struct way *w, const void *data, size_t len, struct err *e)
{
	return w->up ? stream_write(w->controller, data, len, PATIENCE_MS, e)
	             : accepted_write(w->agent, data, len, PATIENCE_MS, e);
}

static int
hand_on(struct way *w, struct err *e)
{
	uint8_t header[FRAME_HEADER_BYTES], *data = NULL;
	struct frame f;
	int rc;

	if ((rc = take(w, header, sizeof header, e)) != 0 || (rc = frame_open(&f, header, e)) != 0)
		return rc;
	if (f.length > 0) {
		if ((data = malloc(f.length)) == NULL)
			return err_set(e, ERR_MEMORY, "out of memory");
		rc = take(w, data, f.length, e);
	}
	if (rc == 0 && w->up && (rc = frame_check(&f, header, data, e)) == 0)
		rc = take_frame(&f, data, e);
	if (rc == 0 && (rc = give(w, header, sizeof header, e)) == 0 && f.length > 0)
		rc = give(w, data, f.length, e);
	free(data);
	return rc;
}

static void *
hand_all(void *arg)
{
	struct way *w = arg;
	struct err e = { 0 };

	while (hand_on(w, &e) == 0)
		;
	printf(
	    "%.3f %s: %s\n", (double)clock_mono().ns / 1e9, w->up ? "agent" : "controller", e.text);
	accepted_abort(w->agent);
	stream_abort(w->controller);
	return NULL;
}

static void
connect_both(struct accepted *agent, const char *controller_url)
{
	struct way up = { .agent = agent, .up = true }, down = { .agent = agent };
	pthread_t thread;
	struct err e;

	if (stream_dial(&up.controller, controller_url, DIAL_MS, &e) == 0) {
		down.controller = up.controller;
		add(&state->connections, 1);
		if (pthread_create(&thread, NULL, hand_all, &down) == 0) {
			hand_all(&up);
			pthread_join(thread, NULL);
		}
		stream_close(up.controller);
	}
	accepted_close(agent);
}

int
main(int argc, char **argv)
{
	int fd = argc == 4 ? open(argv[3], O_RDWR | O_CREAT, 0600) : -1;
	struct listen_socket *l;
	struct accepted *s;
	struct err e;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	if (fd < 0 || ftruncate(fd, sizeof *state) != 0 ||
	    (state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) ==
		MAP_FAILED) {
		fprintf(stderr, "usage: matrix_tap LISTEN_URL CONTROLLER_URL STATE_FILE\n");
		return 2;
	}
	if (accepted_listen(&l, argv[1], &e) != 0) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	for (;;)
		if (accepted_open(&s, l, 1000, &e) == 0)
			connect_both(s, argv[2]);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A graph for each run (wire/graph_babeltrace2.h). Records come out as
 * agent/ctf/ctf_trace.h describes them, so that both readers agree in every field.
 *
 * libbabeltrace2 2.0.4 aborts on some metadata that is incomplete, for example on a stream without an
 * event. So each run is in a child process, which sends the records through a pipe:
 *
 *	{ 1, record, kind, event, service, name, n, { field, value } * n } * , 0, return code, error
 *
 * The child is forked from a process with other threads. That is safe, because the other threads do
 * not use libbabeltrace2 or glib, and glibc keeps malloc() usable in the child.
 */
#define _GNU_SOURCE
#include "agent/reader/packets_babeltrace2.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <babeltrace2/babeltrace.h>

#include "agent/ctf/ctf_trace.h"
#include "wire/field_babeltrace2.h"
#include "wire/graph_babeltrace2.h"

enum { TEXT_MAX_BYTES = 1 << 16, CHILD_SECONDS = 20 };

struct packet_reader {
	struct graph_babeltrace2 graph; /* without a folder; each child adds one to its copy */
};

struct packet_sink {
	packet_record_fn *fn;
	void *ctx;
	struct err *e;
};

/* ---- fields ---- */

/* Records have texts of at most VALUE_TEXT_MAX bytes. */
static struct value
value_of(const bt_field *f)
{
	struct value v = field_value(f);

	if (v.type == VALUE_TEXT && v.len > VALUE_TEXT_MAX)
		v.len = VALUE_TEXT_MAX;
	return v;
}

static void
read_context(struct packet_record *r, const bt_field *context)
{
	struct value service;
	uint64_t n;

	if (context == NULL)
		return;
	/* CTF puts another _ in front of names that begin with one */
	if (field_number(context, "_app_hone_trace_id", &n))
		r->record.trace_id = n;
	if (field_number(context, "_app_hone_unit_id", &n))
		r->record.unit_id = n;
	if (field_number(context, "vpid", &n))
		r->record.pid = (uint32_t)n;
	if (field_number(context, "vtid", &n))
		r->record.tid = (uint32_t)n;
	service = value_of(
	    bt_field_structure_borrow_member_field_by_name_const(context, "procname"));
	if (service.type == VALUE_TEXT)
		r->service = service.text;
}

static bool
is_array(const bt_field *f)
{
	return bt_field_class_type_is(bt_field_get_class_type(f), BT_FIELD_CLASS_TYPE_ARRAY);
}

/* Whether `name` is "_NEXT_length", the member that CTF puts before a sequence NEXT. */
static bool
is_length(const char *name, const char *next)
{
	size_t len = strlen(next);

	return name[0] == '_' && strncmp(name + 1, next, len) == 0 &&
	       strcmp(name + 1 + len, "_length") == 0;
}

/* The payload's values. Of an array of numbers only its length remains; of a text only the text. */
static void
read_payload(struct packet_record *r, const bt_field *payload, struct value *values)
{
	const bt_field_class *class = bt_field_borrow_class_const(payload);
	uint64_t n = bt_field_class_structure_get_member_count(class);

	for (uint64_t i = 0; i < n; i++) {
		const char *name = bt_field_class_structure_member_get_name(
		    bt_field_class_structure_borrow_member_by_index_const(class, i));
		const bt_field *f = bt_field_structure_borrow_member_field_by_index_const(
		    payload, i);
		const char *next = i + 1 == n
		                       ? NULL
		                       : bt_field_class_structure_member_get_name(
					     bt_field_class_structure_borrow_member_by_index_const(
						 class, i + 1));

		if (next != NULL && is_length(name, next)) {
			if (!is_array(bt_field_structure_borrow_member_field_by_index_const(
				payload, i + 1)))
				continue;
			name++;
		} else if (is_array(f)) {
			continue;
		}
		if (r->kind != RECORD_POINT && strcmp(name, "name") == 0) {
			r->name = value_of(f);
		} else if (r->kind != RECORD_POINT && strcmp(name, "link_id") == 0) {
			r->record.link_id = value_of(f).u;
		} else if (r->nfields < RECORD_VALUES_MAX) {
			values[r->nfields] = value_of(f);
			r->fields[r->nfields++] = name;
		}
	}
}

/* ---- events ---- */

static int
take_event(struct packet_sink *s, const bt_message *m)
{
	const bt_event *event = bt_message_event_borrow_event_const(m);
	const bt_event_class *class = bt_event_borrow_class_const(event);
	const bt_clock_class *clock = bt_stream_class_borrow_default_clock_class_const(
	    bt_event_class_borrow_stream_class_const(class));
	const bt_trace *trace = bt_stream_borrow_trace_const(bt_event_borrow_stream_const(event));
	const bt_field *payload = bt_event_borrow_payload_field_const(event);
	const char *fields[RECORD_VALUES_MAX];
	struct value values[RECORD_VALUES_MAX];
	struct packet_record r = { .fields = fields };

	if (clock == NULL || bt_clock_class_get_frequency(clock) != 1000000000)
		return err_set(s->e, ERR_INPUT, "a trace without a clock of nanoseconds");
	r.event = bt_event_class_get_name(class);
	if (r.event == NULL)
		r.event = "unknown";
	r.kind = (enum record_kind)ctf_record_kind(r.event);
	r.service = environment_text(trace, "procname");
	r.record.pid = environment_number(trace, "vpid");
	r.record.time_ns = (int64_t)bt_clock_snapshot_get_value(
	    bt_message_event_borrow_default_clock_snapshot_const(m));
	read_context(&r, bt_event_borrow_common_context_field_const(event));
	read_context(&r, bt_event_borrow_specific_context_field_const(event));
	if (payload != NULL)
		read_payload(&r, payload, values);
	r.record.nvalues = r.nfields;
	r.record.values = values;
	return s->fn(s->ctx, &r);
}

/* A graph_take. */
static int
take_message(void *of, const bt_message *m)
{
	return bt_message_get_type(m) == BT_MESSAGE_TYPE_EVENT ? take_event(of, m) : 0;
}

static int
run_graph(
    struct graph_babeltrace2 *g, const char *folder, packet_record_fn *fn, void *ctx, struct err *e)
{
	struct packet_sink s = { fn, ctx, e };
	uint32_t bad;
	int rc = graph_add(g, folder, 0, e);

	if (rc != 0 || g->used == 0) /* a trace without a stream has no records */
		return rc;
	rc = graph_connect(g, take_message, &s, e);
	for (int more = GRAPH_MORE; rc == 0 && more == GRAPH_MORE;)
		if ((more = graph_more(g, &bad, e)) < 0)
			rc = more;
	return rc;
}

/* ---- the pipe ---- */

static void
put_text(FILE *f, const char *text, uint32_t len)
{
	fwrite(&len, sizeof len, 1, f);
	fwrite(text, 1, len, f);
}

static void
put_value(FILE *f, const struct value *v)
{
	fwrite(v, sizeof *v, 1, f);
	if (v->type == VALUE_TEXT)
		fwrite(v->text, 1, v->len, f);
}

/* A packet_record_fn of the child. */
static int
put_record(void *ctx, const struct packet_record *r)
{
	FILE *f = ctx;

	fputc(1, f);
	fwrite(&r->record, sizeof r->record, 1, f);
	fwrite(&r->kind, sizeof r->kind, 1, f);
	put_text(f, r->event, (uint32_t)strlen(r->event));
	put_text(f, r->service, (uint32_t)strlen(r->service));
	put_value(f, &r->name);
	fwrite(&r->nfields, sizeof r->nfields, 1, f);
	for (uint32_t i = 0; i < r->nfields; i++) {
		put_text(f, r->fields[i], (uint32_t)strlen(r->fields[i]));
		put_value(f, &r->record.values[i]);
	}
	return ferror(f) ? ERR_SYSTEM : 0;
}

/* A text in the arena, terminated; NULL: the child's output is incomplete or invalid. */
static const char *
get_text(FILE *f, struct arena *a)
{
	uint32_t len;
	char *text;

	if (fread(&len, sizeof len, 1, f) != 1 || len > TEXT_MAX_BYTES ||
	    (text = arena_alloc(a, len + 1)) == NULL || fread(text, 1, len, f) != len)
		return NULL;
	text[len] = '\0';
	return text;
}

static bool
get_value(FILE *f, struct arena *a, struct value *v)
{
	char *text;

	if (fread(v, sizeof *v, 1, f) != 1 || v->type > VALUE_TEXT)
		return false;
	if (v->type != VALUE_TEXT)
		return true;
	if (v->len > VALUE_TEXT_MAX || (text = arena_alloc(a, v->len + 1)) == NULL ||
	    fread(text, 1, v->len, f) != v->len)
		return false;
	v->text = text;
	return true;
}

static bool
get_record(FILE *f, struct arena *a, struct packet_record *r, struct value *values)
{
	if (fread(&r->record, sizeof r->record, 1, f) != 1 ||
	    fread(&r->kind, sizeof r->kind, 1, f) != 1 || r->kind >= RECORD_KINDS ||
	    (r->event = get_text(f, a)) == NULL || (r->service = get_text(f, a)) == NULL ||
	    !get_value(f, a, &r->name) || fread(&r->nfields, sizeof r->nfields, 1, f) != 1 ||
	    r->nfields > RECORD_VALUES_MAX)
		return false;
	for (uint32_t i = 0; i < r->nfields; i++)
		if ((r->fields[i] = get_text(f, a)) == NULL || !get_value(f, a, &values[i]))
			return false;
	r->record.nvalues = r->nfields;
	r->record.values = values;
	return true;
}

/* Passes on the child's records, and returns its return code. */
static int
get_records(FILE *f, packet_record_fn *fn, void *ctx, struct err *e)
{
	const char *fields[RECORD_VALUES_MAX];
	struct value values[RECORD_VALUES_MAX];
	struct packet_record r = { .fields = fields };
	struct arena a = { 0 };
	int rc = 0, what = 0;

	while (rc == 0 && (what = fgetc(f)) == 1) {
		arena_reset(&a);
		rc = get_record(f, &a, &r, values) ? fn(ctx, &r) : ERR_PEER;
	}
	arena_release(&a);
	if (rc == 0 &&
	    (what != 0 || fread(&rc, sizeof rc, 1, f) != 1 || fread(e, sizeof *e, 1, f) != 1))
		rc = ERR_PEER;
	if (rc == ERR_PEER)
		rc = err_set(e, ERR_INPUT, "libbabeltrace2 aborted while it read a trace");
	return rc;
}

/* The child: no core file, no messages, and no longer than the parent. Does not return. */
static void
run_child(struct packet_reader *p, const char *folder, int to)
{
	const struct rlimit none = { 0, 0 };
	int null = open("/dev/null", O_RDWR);
	struct err e = { 0 };
	FILE *f = fdopen(to, "w");
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "hone-babeltrace");
	setrlimit(RLIMIT_CORE, &none);
	signal(SIGABRT, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	alarm(CHILD_SECONDS);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	if (f == NULL)
		_exit(1);
	rc = run_graph(&p->graph, folder, put_record, f, &e);
	fputc(0, f);
	fwrite(&rc, sizeof rc, 1, f);
	fwrite(&e, sizeof e, 1, f);
	_exit(fflush(f) == 0 ? 0 : 1);
}

int
packet_reader_run(
    struct packet_reader *p, const char *folder, packet_record_fn *fn, void *ctx, struct err *e)
{
	int ends[2], rc;
	FILE *f = NULL;
	pid_t pid;

	assert(folder != NULL && fn != NULL);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(e, "pipe");
	if ((pid = fork()) == 0) {
		close(ends[0]);
		run_child(p, folder, ends[1]);
	}
	close(ends[1]);
	if (pid < 0 || (f = fdopen(ends[0], "r")) == NULL) {
		rc = err_errno(e, "fork");
		close(ends[0]);
	} else {
		rc = get_records(f, fn, ctx, e);
		fclose(f);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return rc;
}

int
packet_reader_new(struct packet_reader **ret, struct err *e)
{
	struct packet_reader *p = calloc(1, sizeof *p);
	int rc;

	if (p == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for babeltrace2");
	if ((rc = graph_begin(&p->graph, e)) != 0) {
		packet_reader_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void
packet_reader_free(struct packet_reader *p)
{
	if (p == NULL)
		return;
	graph_release(&p->graph);
	free(p);
}

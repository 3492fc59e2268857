/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/kernel_record.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "cli/below_record.h"
#include "cli/call.h"
#include "cli/progress.h"
#include "kernel/files/ctf_writer.h"

enum { SHOW_MS = 250, NOTES_MAX = 8, NAMES_MAX = 4 << 20 };

struct kernel_recording {
	struct invocation *call;
	const char *folder;
	struct kernel_names names;
	struct kernel_ctf_writer *to; /* NULL: nothing has come yet */
	uint64_t given[KERNEL_KINDS], events, lost, lost_spans;
	int64_t first_ns, last_ns;
	uint64_t below_us, late, missed; /* what hone-below says */
	json_t *notes;
	bool asked, ended; /* by a signal; as it should */
	struct err failed; /* what hone-below says; code 0: nothing */
	double seconds,
	    took_s; /* between the first and the last event; with all before and after */
};

/* ---- what comes ---- */

static int
begin(struct kernel_recording *r, struct err *e)
{
	struct kernel_ctf_options o = { .wall_offset_ns = clock_wall().ns - clock_mono().ns };
	struct utsname kernel;

	mkdir(r->folder, 0700); /* only its owner may read it; an error is told by what follows */
	if (uname(&kernel) == 0)
		o.kernel_release = kernel.release;
	return kernel_ctf_open(&r->to, r->folder, &r->names, &o, e);
}

static int
take(void *of, const struct kernel_event *ev, struct err *e)
{
	struct kernel_recording *r = of;
	int rc;

	if (r->to == NULL && (rc = begin(r, e)) != 0)
		return rc;
	if (texts_count(r->names.connections) > NAMES_MAX)
		return err_set(e, ERR_FULL, "more than %d connections in one recording", NAMES_MAX);
	if ((rc = kernel_ctf_take(r->to, ev, e)) != 0)
		return rc;
	r->given[ev->kind]++;
	if (r->events++ == 0)
		r->first_ns = ev->time_ns;
	r->last_ns = ev->time_ns;
	if (ev->kind == KERNEL_LOST) {
		r->lost += ev->lost.count;
		r->lost_spans++;
	}
	return 0;
}

static int
take_news(void *of, const struct kernel_news *n, struct err *e)
{
	struct kernel_recording *r = of;

	(void)e;
	r->below_us = n->cpu_us;
	r->late = n->late;
	r->missed = n->missed;
	if (n->kind == KERNEL_NOTE && json_array_size(r->notes) < NOTES_MAX)
		json_array_append_new(r->notes, json_string(pen_clean(r->call->err, n->text)));
	if (n->kind == KERNEL_FAILED)
		err_set(&r->failed, n->code != 0 ? n->code : ERR_SYSTEM, "%s", n->text);
	r->ended |= n->kind == KERNEL_END;
	return 0;
}

/* ---- the folder ---- */

/* The error before anything is started, if it is no folder that is new or empty. */
static int
check_folder(const char *path, struct err *e)
{
	DIR *d = opendir(path);
	const struct dirent *f;
	int n = 0;

	if (d == NULL)
		return errno == ENOENT ? 0 : err_errno(e, "%s", path);
	while ((f = readdir(d)) != NULL)
		n += strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0;
	closedir(d);
	return n == 0 ? 0
	              : err_set(e, ERR_BUSY, "%s: has files; a recording needs a new folder", path);
}

static const char *
usual_folder(struct invocation *c)
{
	time_t now = (time_t)(clock_wall().ns / 1000000000);
	char name[64];
	struct tm t;

	localtime_r(&now, &t);
	strftime(name, sizeof name, "kernel-%Y%m%d-%H%M%S", &t);
	return pen_printf(c->err, "%s", name);
}

/* ---- progress ---- */

static void
show(struct progress *g, const struct kernel_recording *r, double seconds, double done)
{
	struct pen *p = r->call->err;
	const char *lost = r->lost > 0 ? pen_printf(p, ", %s lost", pen_count(p, (double)r->lost))
	                               : "";

	progress_show(g, r->asked ? 1 : fmin(done / seconds, 1),
	    r->asked         ? "ending the recording"
	    : r->events == 0 ? "starting" /* the first event comes when all is attached */
			     : "recording the kernel",
	    pen_printf(p, "%s events%s, %s left", pen_count(p, (double)r->events), lost,
		pen_seconds(p, ceil(fmax(seconds - done, 0)))));
}

/* Until hone-below has ended. */
static int
follow(struct kernel_recording *r, struct below_record *b, struct err *e)
{
	struct mono begun = clock_mono(), shown = { 0 };
	double seconds = r->call->number[FLAG_SECONDS];
	struct progress g;
	int rc;

	progress_open(&g, r->call->err);
	do {
		if (mono_since_ns(clock_mono(), shown) > SHOW_MS * INT64_C(1000000)) {
			shown = clock_mono();
			show(&g, r, seconds, (double)mono_since_ns(shown, begun) / 1e9);
		}
		rc = below_record_wait(b, SHOW_MS, e);
		r->asked |= rc == BELOW_RECORD_ASKED;
	} while (rc == BELOW_RECORD_RUNS || rc == BELOW_RECORD_ASKED);
	progress_close(&g);
	return rc == BELOW_RECORD_ENDED ? 0 : rc;
}

/* ---- what it came to ---- */

static double
own_cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Why: the words are part of the interface. */
static const char *
ended(const struct kernel_recording *r)
{
	return r->asked                                    ? "asked"
	       : r->took_s < r->call->number[FLAG_SECONDS] ? "processes"
	                                                   : "time";
}

static json_t *
document(const struct kernel_recording *r, uint64_t bytes)
{
	json_t *kinds = json_object();

	for (int k = 0; k < KERNEL_KINDS; k++)
		if (r->given[k] > 0)
			json_object_set_new(kinds, kernel_event_word((enum kernel_event_kind)k),
			    json_integer((json_int_t)r->given[k]));
	return json_pack(
	    "{s:b, s:s, s:f, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:s, s:{s:f, s:f}, s:O}", "ok", 1,
	    "path", pen_clean(r->call->out, r->folder), "seconds", r->seconds, "events",
	    (json_int_t)r->events, "kinds", kinds, "lost", (json_int_t)r->lost, "lost_spans",
	    (json_int_t)r->lost_spans, "late", (json_int_t)r->late, "missed", (json_int_t)r->missed,
	    "bytes", (json_int_t)bytes, "ended", ended(r), "cpu_share", "hone_below",
	    (double)r->below_us / 1e6 / r->took_s, "hone", own_cpu_s() / r->took_s, "notes",
	    r->notes);
}

static void
print(const struct kernel_recording *r, const json_t *d)
{
	struct pen *p = r->call->out;
	const char *kinds = "";
	const json_t *cpu = json_object_get(d, "cpu_share");

	for (int k = 0; k < KERNEL_KINDS; k++)
		if (r->given[k] > 0)
			kinds = pen_printf(p, "%s%s%s %s", kinds, kinds[0] != '\0' ? ", " : "",
			    pen_count(p, (double)r->given[k]),
			    kernel_event_word((enum kernel_event_kind)k));
	fprintf(p->out, "%s: %s of kernel events%s\n", pen_clean(p, r->folder),
	    pen_seconds(p, r->seconds),
	    r->asked                             ? ", ended by a signal"
	    : strcmp(ended(r), "processes") == 0 ? ", until the processes had ended"
						 : "");
	line_print(p, "events",
	    pen_printf(p, "%s in %s bytes: %s", pen_count(p, (double)r->events),
		pen_count(p, number_of(d, "bytes")), kinds));
	line_print(p, "lost",
	    r->lost == 0 ? "none"
			 : pen_printf(p, "%s, in %s spans of time; --ring makes room for more",
			       pen_count(p, (double)r->lost), pen_count(p, (double)r->lost_spans)));
	line_print(p, "cost",
	    pen_printf(p, "hone-below %s of a core, hone %s",
		pen_share(p, number_of(cpu, "hone_below")), pen_share(p, number_of(cpu, "hone"))));
	for (size_t i = 0; i < json_array_size(r->notes); i++)
		line_print(p, "note", json_string_value(json_array_get(r->notes, i)));
}

static void
report(struct kernel_recording *r, uint64_t bytes)
{
	json_t *d = document(r, bytes);

	if (r->call->value[FLAG_JSON] != NULL)
		output_json.done(r->call->out, d);
	else
		print(r, d);
	json_decref(d);
}

/* ---- all of it ---- */

static void
set_arguments(const struct invocation *c, struct below_record_options *o, char pids[], size_t size)
{
	size_t n = 0, len = 0;

	o->arguments[n++] = "--seconds";
	o->arguments[n++] = pen_printf(c->err, "%.17g", c->number[FLAG_SECONDS]);
	if (c->value[FLAG_EVENTS] != NULL) {
		o->arguments[n++] = "--events";
		o->arguments[n++] = c->value[FLAG_EVENTS];
	}
	if (c->value[FLAG_RING] != NULL) {
		o->arguments[n++] = "--ring";
		o->arguments[n++] = c->value[FLAG_RING];
	}
	if (c->value[FLAG_TEXTS] != NULL)
		o->arguments[n++] = "--texts";
	for (int i = 0; c->pids[i] != NULL; i++)
		len += (size_t)snprintf(pids + (len < size ? len : size - 1),
		    len < size ? size - len : 1, "%s%s", i > 0 ? "," : "", c->pids[i]);
	if (len > 0) {
		o->arguments[n++] = "--pid";
		o->arguments[n++] = pids;
	}
}

/* What was recorded before an error is a recording, too. */
static enum exit_code
fail(struct kernel_recording *r, const struct err *e)
{
	enum exit_code code = call_failed(r->call, e);

	if (r->events > 0)
		fprintf(r->call->err->out, "hone: %s has the %s events before that\n",
		    pen_clean(r->call->err, r->folder), pen_count(r->call->err, (double)r->events));
	return e->code == ERR_INPUT ? MISUSED : code;
}

static enum exit_code
record(struct kernel_recording *r)
{
	struct below_record_options o = { .reader = { &r->names, false, take, take_news, r } };
	struct mono begun = clock_mono();
	struct below_record *b = NULL;
	char pids[4096] = "";
	uint64_t bytes = 0, events;
	struct err e = { 0 };
	int rc, closed;

	set_arguments(r->call, &o, pids, sizeof pids);
	rc = below_record_start(&b, &o, &e);
	if (rc == 0)
		rc = follow(r, b, &e);
	below_record_close(b);
	if (rc == 0 && r->to != NULL)
		rc = kernel_ctf_flush(r->to, &e);
	if (r->to != NULL)
		kernel_ctf_written(r->to, &events, &bytes);
	closed = kernel_ctf_close(r->to, rc == 0 ? &e : NULL);
	rc = rc != 0 ? rc : closed;
	if (rc == 0 && r->failed.code != 0)
		rc = err_set(&e, r->failed.code, "%s", r->failed.text);
	if (rc == 0 && !r->ended)
		rc = err_set(&e, ERR_PEER, "hone-below has ended unexpectedly");
	if (rc != 0)
		return fail(r, &e);
	r->seconds = (double)(r->last_ns - r->first_ns) / 1e9;
	r->took_s = (double)mono_since_ns(clock_mono(), begun) / 1e9;
	report(r, bytes);
	return DONE;
}

enum exit_code
kernel_record_run(struct invocation *c)
{
	struct kernel_recording r = { .call = c, .notes = json_array() };
	enum exit_code code;
	struct err e;

	r.folder = c->narguments > 1 ? c->arguments[1] : usual_folder(c);
	c->type = NULL; /* the argument is no request type */
	if (check_folder(r.folder, &e) != 0 || kernel_names_new(&r.names, &e) != 0)
		code = call_failed(c, &e);
	else
		code = record(&r);
	kernel_names_release(&r.names);
	json_decref(r.notes);
	return code;
}

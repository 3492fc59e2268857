/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Trace events (the "Trace Event Format" of Chromium). Viewers draw the events of a thread as a stack, so they have to nest: each span gets the
 * first lane of its process, within its request, whose innermost open span contains it; a lane is a thread. Times count from the begin of the day
 * of the first request: as microseconds since 1970 they would lose their nanoseconds in a double.
 *
 *	lane 0	[ GET /basket                    ]
 *	        [ SELECT ][ render      ]
 *	lane 1	   [ prefetch  ]
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/texts.h"
#include "cli/export/sink.h"
#include "formats/json_put.h"

enum { PROCESS_MAX = 512 };
#define DAY_NS (INT64_C(86400) * 1000000000)

struct lane {
	uint32_t process, thread;
	uint32_t innermost; /* unit; EXPORTED_NONE: no span is open */
};

struct lane_place { /* a unit of the request at hand */
	uint32_t lane;
	uint32_t around; /* the unit that is open below it in its lane; EXPORTED_NONE */
};

struct chrome {
	struct export_sink sink;
	FILE *to;
	struct texts *processes; /* "service on node" */
	uint32_t announced;      /* processes that were named in the file */
	uint32_t threads;
	uint64_t flows;
	int64_t base_ns;
	bool any;
	struct lane *lanes;
	uint32_t nlanes, lanes_cap;
};

static void
put_view(FILE *to, struct text_view t)
{
	json_put_text(to, t.s, t.len);
}

static void
begin_event(struct chrome *c, const char *phase, uint32_t process, uint32_t thread)
{
	fprintf(c->to, "%s{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, c->any ? ",\n" : "",
	    phase, process + 1, thread);
	c->any = true;
}

static void
put_us(struct chrome *c, const char *key, int64_t ns)
{
	fprintf(c->to, ",\"%s\":%s%" PRId64 ".%03d", key, ns < 0 ? "-" : "",
	    ns < 0 ? -(ns / 1000) : ns / 1000, (int)(ns < 0 ? -(ns % 1000) : ns % 1000));
}

static void
put_value(FILE *to, const struct value *v)
{
	if (v->type == VALUE_TEXT)
		json_put_text(to, v->text, v->len);
	else if (v->type == VALUE_INT)
		fprintf(to, "%" PRId64, v->i);
	else if (v->type == VALUE_UINT && v->u <= 1)
		fputs(v->u ? "true" : "false", to);
	else if (v->type == VALUE_UINT)
		fprintf(to, "%" PRIu64, v->u);
	else if (v->type == VALUE_REAL && isfinite(v->d))
		json_put_real(to, v->d);
	else
		fputs("null", to);
}

static void
put_args(struct chrome *c, const struct attribute *a, uint32_t n)
{
	fputs(",\"args\":{", c->to);
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			putc(',', c->to);
		json_put_text(c->to, a[i].key, a[i].key_len);
		putc(':', c->to);
		put_value(c->to, &a[i].value);
	}
	putc('}', c->to);
}

static void
name_it(struct chrome *c, const char *what, uint32_t process, uint32_t thread, const char *name)
{
	begin_event(c, "M", process, thread);
	fprintf(
	    c->to, ",\"ts\":0,\"name\":\"%s\",\"cat\":\"__metadata\",\"args\":{\"name\":", what);
	json_put_text(c->to, name, strlen(name));
	fputs("}}", c->to);
}

/* ---- lanes ---- */

static uint32_t
process_of(struct chrome *c, const struct span *s)
{
	char name[PROCESS_MAX];
	int n = snprintf(name, sizeof name, "%.*s%s%.*s", (int)s->service.len, s->service.s,
	    s->node.len > 0 ? " on " : "", (int)s->node.len, s->node.s);
	uint32_t id = texts_intern(
	    c->processes, name, n < PROCESS_MAX ? (size_t)n : (size_t)PROCESS_MAX - 1);

	if (id != UINT32_MAX && id >= c->announced) {
		name_it(c, "process_name", id, 0, name);
		c->announced = id + 1;
	}
	return id;
}

/* Closes the spans of the lane that ended before s begins. */
static void
close_ended(
    const struct exported *x, struct lane *l, const struct lane_place *placed, const struct span *s)
{
	while (l->innermost != EXPORTED_NONE && x->units[l->innermost].span.end_ns <= s->begin_ns)
		l->innermost = placed[l->innermost].around;
}

static bool
place(struct chrome *c, const struct exported *x, struct lane_place *placed, uint32_t unit)
{
	const struct span *s = &x->units[unit].span;
	uint32_t process = process_of(c, s), i;
	char name[64]; /* longer ones are cut */

	if (process == UINT32_MAX)
		return false;
	for (i = 0; i < c->nlanes; i++) {
		struct lane *l = &c->lanes[i];

		if (l->process != process)
			continue;
		close_ended(x, l, placed, s);
		if (l->innermost == EXPORTED_NONE ||
		    x->units[l->innermost].span.end_ns >= s->end_ns)
			break;
	}
	if (i == c->nlanes) {
		if (!array_reserve(c->lanes, c->lanes_cap, c->nlanes + 1))
			return false;
		c->lanes[c->nlanes++] = (struct lane){ process, ++c->threads, EXPORTED_NONE };
		snprintf(name, sizeof name, "%016" PRIx64 " %.*s", x->trace.low, (int)x->type.len,
		    x->type.s);
		name_it(c, "thread_name", process, c->threads, name);
	}
	placed[unit] = (struct lane_place){ i, c->lanes[i].innermost };
	c->lanes[i].innermost = unit;
	return true;
}

struct in_time {
	const struct span *span;
	uint32_t unit;
};

static int
by_begin(const void *a, const void *b)
{
	const struct in_time *x = a, *y = b;

	if (x->span->begin_ns != y->span->begin_ns)
		return x->span->begin_ns < y->span->begin_ns ? -1 : 1;
	if (x->span->end_ns != y->span->end_ns)
		return x->span->end_ns > y->span->end_ns ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

/* ---- a request ---- */

static void
put_span(struct chrome *c, const struct exported_unit *u, const struct lane *l)
{
	const struct span *s = &u->span;

	begin_event(c, "X", l->process, l->thread);
	put_us(c, "ts", s->begin_ns - c->base_ns);
	put_us(c, "dur", s->end_ns - s->begin_ns);
	fprintf(c->to, ",\"cat\":\"%s\",\"name\":", u->path_ns > 0 ? "hone,critical_path" : "hone");
	put_view(c->to, s->name);
	put_args(c, s->attributes, s->nattributes);
	putc('}', c->to);
	for (uint32_t i = 0; i < s->nevents; i++) {
		const struct span_event *v = &s->events[i];

		begin_event(c, "i", l->process, l->thread);
		put_us(c, "ts", v->time_ns - c->base_ns);
		fputs(",\"s\":\"t\",\"cat\":\"hone\",\"name\":", c->to);
		put_view(c->to, v->name);
		put_args(c, v->attributes, v->nattributes);
		putc('}', c->to);
	}
}

/* An arrow from the parent, at the time when the child begins or, if that is later, when the parent ends. */
static void
put_flow(struct chrome *c, const struct span *parent, const struct lane *from,
    const struct span *child, const struct lane *to)
{
	int64_t at_ns = child->begin_ns < parent->begin_ns ? parent->begin_ns
	                : child->begin_ns > parent->end_ns ? parent->end_ns
	                                                   : child->begin_ns;

	c->flows++;
	begin_event(c, "s", from->process, from->thread);
	put_us(c, "ts", at_ns - c->base_ns);
	fprintf(
	    c->to, ",\"id\":%" PRIu64 ",\"cat\":\"hone\",\"name\":\"fork\",\"args\":{}}", c->flows);
	begin_event(c, "f", to->process, to->thread);
	put_us(c, "ts", child->begin_ns - c->base_ns);
	fprintf(c->to,
	    ",\"id\":%" PRIu64 ",\"bp\":\"e\",\"cat\":\"hone\",\"name\":\"fork\",\"args\":{}}",
	    c->flows);
}

static int
put(struct export_sink *s, const struct exported *x, struct err *e)
{
	struct chrome *c = (struct chrome *)s;
	struct in_time *order = calloc(x->n + 1, sizeof *order);
	struct lane_place *placed = calloc(x->n + 1, sizeof *placed);
	bool ok = order != NULL && placed != NULL;

	if (c->base_ns == 0)
		c->base_ns = x->begin_ns / DAY_NS * DAY_NS;
	for (uint32_t i = 0; i < x->n && ok; i++)
		order[i] = (struct in_time){ &x->units[i].span, i };
	if (ok)
		qsort(order, x->n, sizeof *order, by_begin);
	c->nlanes = 0;
	for (uint32_t i = 0; i < x->n && ok; i++)
		ok = place(c, x, placed, order[i].unit);
	for (uint32_t i = 0; i < x->n && ok; i++) {
		const struct exported_unit *u = &x->units[order[i].unit];
		const struct lane *l = &c->lanes[placed[order[i].unit].lane];

		put_span(c, u, l);
		if (u->parent != EXPORTED_NONE &&
		    placed[u->parent].lane != placed[order[i].unit].lane)
			put_flow(c, &x->units[u->parent].span, &c->lanes[placed[u->parent].lane],
			    &u->span, l);
	}
	free(order);
	free(placed);
	if (!ok)
		return err_set(e, ERR_MEMORY, "out of memory");
	return ferror(c->to) ? err_set(e, ERR_SYSTEM, "the events cannot be written") : 0;
}

static int
close_chrome(struct export_sink *s, struct err *e)
{
	struct chrome *c = (struct chrome *)s;
	int rc = 0;

	fprintf(c->to,
	    "],\n\"displayTimeUnit\":\"ms\",\"otherData\":{\"program\":\"hone\",\"base_unix_ns\":\"%" PRId64
	    "\"}}\n",
	    c->base_ns);
	if (fflush(c->to) != 0 || ferror(c->to))
		rc = err_errno(e, "the events cannot be written");
	texts_free(c->processes);
	free(c->lanes);
	free(c);
	return rc;
}

int
sink_open_chrome(struct export_sink **ret, FILE *to, struct err *e)
{
	struct chrome *c = calloc(1, sizeof *c);

	if (c == NULL || (c->processes = texts_new()) == NULL) {
		free(c);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	c->sink = (struct export_sink){ put, close_chrome };
	c->to = to;
	fputs("{\"traceEvents\":[", to);
	*ret = &c->sink;
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone map: checks and prints mappings of programs without libhone (docs/mapping.md). */
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/texts.h"
#include "cli/call.h"
#include "cli/command.h"
#include "cli/tracepoint_list.h"
#include "mapping/lttng_list.h"

/* ---- the tracepoints of the program ---- */

/* All running programs that the mapping is for, taken together. */
struct mapped_programs {
	struct lttng_list listing;
	struct map_event *events; /* without duplicates; strings belong to the listing */
	uint32_t nevents, nprograms;
	uint32_t pid;                     /* of the first program */
	char comm[LTTNG_LIST_COMM_BYTES]; /* of the first program */
	struct texts *known;              /* name and fields of the events, to find duplicates */
};

static void
program_release(struct mapped_programs *p)
{
	lttng_list_release(&p->listing);
	texts_free(p->known);
	free(p->events);
}

/* The name of a program: /proc/PID/comm if the listing is of running processes, otherwise the name
 * in the listing, which is made from the command line. */
static void
comm_of(
    const struct invocation *c, const struct lttng_list_program *p, char ret[LTTNG_LIST_COMM_BYTES])
{
	char path[40];
	FILE *f;

	lttng_list_comm(p, ret);
	snprintf(path, sizeof path, "/proc/%u/comm", p->pid);
	if (c->value[FLAG_EVENTS] != NULL || (f = fopen(path, "r")) == NULL)
		return;
	if (fgets(path, sizeof path, f) != NULL)
		snprintf(ret, LTTNG_LIST_COMM_BYTES, "%.*s", (int)strcspn(path, "\n"), path);
	fclose(f);
}

static bool
is_new(struct mapped_programs *p, const struct map_event *v)
{
	struct buf key = { 0 };
	uint32_t before = texts_count(p->known);

	buf_printf(&key, "%s", v->name);
	for (uint32_t i = 0; i < v->nfields; i++)
		buf_printf(&key, " %s/%d", v->fields[i].name, v->fields[i].type);
	if (!key.failed)
		texts_intern(p->known, (const char *)key.data, key.len);
	buf_release(&key);
	return texts_count(p->known) > before;
}

static void
add_events(struct mapped_programs *p, const struct lttng_list_program *of)
{
	for (uint32_t i = 0; i < of->nevents; i++)
		if (is_new(p, &of->events[i]))
			p->events[p->nevents++] = of->events[i];
}

/* The error if no program matches; it names those that exist. */
static int
fail_no_program(
    const struct invocation *c, const struct mapped_programs *p, const char *service, struct err *e)
{
	char all[200] = "", comm[LTTNG_LIST_COMM_BYTES];
	size_t len = 0;

	for (uint32_t i = 0; i < p->listing.nprograms && len < sizeof all; i++) {
		comm_of(c, &p->listing.programs[i], comm);
		len += (size_t)snprintf(
		    all + len, sizeof all - len, "%s%s", i == 0 ? "" : ", ", comm);
	}
	return err_set(
	    e, ERR_MISSING, "no running program named %s has tracepoints; found: %s", service, all);
}

static int
choose(const struct invocation *c, struct mapped_programs *p, const char *service, struct err *e)
{
	char comm[LTTNG_LIST_COMM_BYTES];
	size_t most = 1;

	for (uint32_t i = 0; i < p->listing.nprograms; i++)
		most += p->listing.programs[i].nevents;
	if ((p->known = texts_new()) == NULL ||
	    (p->events = calloc(most, sizeof *p->events)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < p->listing.nprograms; i++) {
		comm_of(c, &p->listing.programs[i], comm);
		if (!glob_matches(service, comm))
			continue;
		if (p->nprograms++ == 0) {
			memcpy(p->comm, comm, sizeof p->comm);
			p->pid = p->listing.programs[i].pid;
		}
		add_events(p, &p->listing.programs[i]);
	}
	return p->nprograms > 0 ? 0 : fail_no_program(c, p, service, e);
}

static int
find_program(struct invocation *c, struct mapped_programs *p, const char *service, struct err *e)
{
	const char *path = c->value[FLAG_EVENTS];
	struct buf text = { 0 };
	int rc = path != NULL ? tracepoint_list_file(&text, path, e)
	                      : tracepoint_list_ask(&text, c->timeout_ms, e);

	if (rc == 0 &&
	    (rc = lttng_list_read(&p->listing, (const char *)text.data, text.len, e)) != 0)
		err_prefix(e, "%s", path != NULL ? path : "lttng list");
	buf_release(&text);
	return rc == 0 ? choose(c, p, service, e) : rc;
}

/* ---- check ---- */

struct remarks {
	struct invocation *call;
	const char *path;
	json_t *list;
	uint32_t wrong;
};

static void
remark(void *of, bool wrong, int line, const char *words)
{
	struct remarks *r = of;

	r->wrong += wrong;
	json_array_append_new(r->list,
	    json_pack("{s:o, s:b, s:s}", "line", line > 0 ? json_integer(line) : json_null(),
		"wrong", wrong, "words", pen_clean(r->call->out, words)));
	if (r->call->value[FLAG_JSON] != NULL)
		return;
	fprintf(r->call->out->out, line > 0 ? "%s:%d: " : "%s: ", pen_clean(r->call->out, r->path),
	    line);
	fprintf(r->call->out->out, "%s%s\n", wrong ? "" : "note: ", pen_clean(r->call->out, words));
}

/* Reports an error of the parser, "path:line: text", as a remark on its line. */
static void
remark_error(struct remarks *r, const struct err *e)
{
	size_t len = strlen(r->path);
	const char *text = e->text;
	long line = 0;
	char *end;

	if (strncmp(text, r->path, len) == 0 && text[len] == ':') {
		text += len + 1;
		line = strtol(text, &end, 10);
		text = line > 0 && *end == ':' ? end + 1 : text;
		text += strspn(text, " ");
	}
	remark(r, true, (int)line, text);
}

static void
print_sum(struct invocation *c, const struct remarks *r, const struct mapped_programs *p)
{
	FILE *out = c->out->out;

	fprintf(out, "%s: ", pen_clean(c->out, r->path));
	if (r->wrong == 0)
		fputs("no errors", out);
	else
		fprintf(out, "%u error%s", r->wrong, r->wrong == 1 ? "" : "s");
	if (p == NULL)
		fputs(r->wrong == 0 ? "; not compared with a program\n" : "\n", out);
	else
		fprintf(out, ", compared with %s tracepoints of %s (process %u%s)\n",
		    pen_count(c->out, p->nevents), pen_clean(c->out, p->comm), p->pid,
		    p->nprograms > 1 ? " and others" : "");
}

static void
print_check(struct invocation *c, struct remarks *r, const struct mapping *m,
    const struct mapped_programs *p)
{
	json_t *answer;

	if (c->value[FLAG_JSON] == NULL) {
		print_sum(c, r, p);
		return;
	}
	answer = json_pack("{s:b, s:s, s:s?, s:I, s:O}", "ok", r->wrong == 0, "file",
	    pen_clean(c->out, r->path), "service", m != NULL ? pen_clean(c->out, m->service) : NULL,
	    "wrong", (json_int_t)r->wrong, "said", r->list);
	json_object_set_new(answer, "program",
	    p == NULL ? json_null()
		      : json_pack("{s:s, s:I, s:I, s:I}", "name", pen_clean(c->out, p->comm), "pid",
			    (json_int_t)p->pid, "programs", (json_int_t)p->nprograms, "tracepoints",
			    (json_int_t)p->nevents));
	output_json.done(c->out, answer);
	json_decref(answer);
}

static enum exit_code
check(struct invocation *c, const char *path)
{
	bool ask = c->value[FLAG_NO_PROGRAM] == NULL, has_read;
	struct remarks r = { c, path, json_array(), 0 };
	struct mapped_programs p = { 0 };
	struct mapping *m = NULL;
	struct err e = { 0 };
	int rc = map_load(&m, path, &e);

	if (rc == ERR_INPUT) {
		remark_error(&r, &e);
		rc = 0;
	} else if (rc == 0 && map_has_probes(m)) {
		ask = false;
		map_check(m, NULL, 0, remark, &r);
		remark(&r, false, 0,
		    "USDT probes are not compared with the program; hone-below --pid N --all --probes 'usdt.*' lists those that it has");
	} else if (rc == 0 && (!ask || (rc = find_program(c, &p, m->service, &e)) == 0)) {
		map_check(m, p.events, p.nevents, remark, &r);
	}
	if (rc == 0)
		print_check(c, &r, m, m != NULL && ask ? &p : NULL);
	has_read = m != NULL;
	program_release(&p);
	map_free(m);
	json_decref(r.list);
	if (rc == 0)
		return r.wrong == 0 ? DONE : FAILED;
	call_failed(c, &e);
	if (has_read && c->value[FLAG_EVENTS] == NULL)
		fputs("hone: to check the file only, use --no-program\n", c->err->out);
	return FAILED;
}

/* ---- show ---- */

static const char *
id_text(struct pen *p, const struct map_rule *r, const char *field, uint32_t kind)
{
	return strcmp(field, r->ids[kind]) == 0 ? field
	                                        : pen_printf(p, "%s (as %s)", field, r->ids[kind]);
}

static void
show_thread(struct pen *p, const struct map_rule *r)
{
	pen_wrap(p, "     ",
	    pen_printf(p,
		"begins with %s and ends with %s on the same thread; all records of the thread between them "
		"belong to it",
		r->begin, r->end));
	pen_wrap(p, "     ",
	    r->nested
		? pen_printf(p,
		      "may be nested: inner pairs belong to the request, which ends with the outermost %s",
		      r->end)
		: pen_printf(p, "a second %s discards it and begins another", r->begin));
}

static void
show_field(struct pen *p, const struct map_rule *r)
{
	pen_wrap(
	    p, "     ", pen_printf(p, "begins with %s; its id is field %s", r->begin, r->begin_id));
	for (uint32_t i = 0; i < r->nsteps; i++) {
		const struct map_step *s = &r->steps[i];
		const char *id = id_text(p, r, s->id, s->id_kind);

		pen_wrap(p, "     ",
		    s->gives == NULL
			? pen_printf(p, "%s belongs to it if field %s matches", s->event, id)
			: pen_printf(p,
			      "%s belongs to it if field %s matches; from then on field %s is an id of it, too",
			      s->event, id, id_text(p, r, s->gives, s->gives_kind)));
	}
	pen_wrap(p, "     ",
	    pen_printf(p, "ends with %s, if field %s matches", r->end,
		id_text(p, r, r->end_id, r->end_kind)));
	pen_wrap(p, "     ",
	    r->carry
		? "the following records of the same thread belong to it, too, until it ends, the thread handles "
		  "another request, or another thread handles this one"
		: "no other record belongs to it");
}

static const char *
fields_text(struct pen *p, const struct map_fields *f)
{
	const char *text = f->n > 0 ? f->names[0] : "none";

	for (uint32_t i = 1; i < f->n; i++)
		text = pen_printf(p, "%s or %s", text, f->names[i]);
	return text;
}

static void
show_span(struct pen *p, const struct map_rule *r)
{
	pen_wrap(
	    p, "     ", pen_printf(p, "a span from %s to %s, over all programs", r->begin, r->end));
	pen_wrap(p, "     ",
	    pen_printf(p,
		"fields: trace %s; span %s, of the end %s; parent %s; service %s; name %s",
		fields_text(p, &r->trace_fields), fields_text(p, &r->span_fields),
		fields_text(p, &r->end_span_fields), fields_text(p, &r->parent_fields),
		fields_text(p, &r->service_fields), fields_text(p, &r->type_fields)));
}

static void
show_rule(struct pen *p, const struct map_rule *r)
{
	const char *type = r->correlate == MAP_SPAN ? ""
	                   : r->type != NULL        ? pen_printf(p, "type %s", r->type)
	                   : r->type_field != NULL  ? pen_printf(p, "its type is field %s of %s",
							  r->type_field, r->begin)
	                                           : "its type is the name of its begin tracepoint";

	fputs("\n  ", p->out);
	pen_put(p, BOLD, r->name);
	fprintf(p->out, "  %s\n", type);
	if (r->correlate == MAP_SPAN)
		show_span(p, r);
	else if (r->correlate == MAP_THREAD)
		show_thread(p, r);
	else
		show_field(p, r);
	if (r->correlate == MAP_SPAN)
		return;
	pen_wrap(p, "     ",
	    pen_printf(p, "discarded if it is not ended after %s",
		pen_seconds(p, (double)r->limit_ns / 1e9)));
}

static json_t *
fields_json(const struct map_fields *f)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < f->n; i++)
		json_array_append_new(all, json_string(f->names[i]));
	return all;
}

static json_t *
span_json(const struct map_rule *r)
{
	return json_pack("{s:s, s:i, s:s, s:s, s:s, s:s?, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
	    r->name, "line", r->line, "correlate", "span", "begin", r->begin, "end", r->end, "type",
	    r->type, "trace_id", fields_json(&r->trace_fields), "begin_id",
	    fields_json(&r->span_fields), "end_id", fields_json(&r->end_span_fields), "parent_id",
	    fields_json(&r->parent_fields), "service_field", fields_json(&r->service_fields),
	    "type_field", fields_json(&r->type_fields));
}

static json_t *
rule_json(const struct map_rule *r)
{
	json_t *o = json_pack("{s:s, s:i, s:s, s:s, s:s, s:s?, s:s?, s:f, s:b}", "name", r->name,
		   "line", r->line, "correlate", r->correlate == MAP_THREAD ? "thread" : "field",
		   "begin", r->begin, "end", r->end, "type", r->type, "type_field", r->type_field,
		   "limit_s", (double)r->limit_ns / 1e9,
		   r->correlate == MAP_THREAD ? "nested" : "carry",
		   r->correlate == MAP_THREAD ? r->nested : r->carry),
	       *steps;

	if (r->correlate == MAP_SPAN) {
		json_decref(o);
		return span_json(r);
	}
	if (r->correlate == MAP_THREAD)
		return o;
	json_object_set_new(
	    o, "begin_id", json_pack("{s:s, s:s}", "field", r->begin_id, "id", r->ids[0]));
	json_object_set_new(
	    o, "end_id", json_pack("{s:s, s:s}", "field", r->end_id, "id", r->ids[r->end_kind]));
	json_object_set_new(o, "steps", steps = json_array());
	for (uint32_t i = 0; i < r->nsteps; i++) {
		const struct map_step *s = &r->steps[i];

		json_array_append_new(
		    steps, json_pack("{s:s, s:{s:s, s:s}, s:o}", "tracepoint", s->event, "by",
			       "field", s->id, "id", r->ids[s->id_kind], "gives",
			       s->gives == NULL ? json_null()
						: json_pack("{s:s, s:s}", "field", s->gives, "id",
						      r->ids[s->gives_kind])));
	}
	return o;
}

static void
show_json(struct pen *p, const struct mapping *m)
{
	json_t *rules = json_array(), *always = json_array(), *o;

	for (uint32_t i = 0; i < m->nrules; i++)
		json_array_append_new(rules, rule_json(&m->rules[i]));
	for (uint32_t i = 0; map_pattern(m, i) != NULL; i++)
		json_array_append_new(always, json_string(map_pattern(m, i)));
	o = json_pack("{s:b, s:s, s:s, s:o, s:o}", "ok", 1, "file", pen_clean(p, m->path),
	    "service", pen_clean(p, m->service), "requests", rules, "always_on", always);
	output_json.done(p, o);
	json_decref(o);
}

static enum exit_code
show(struct invocation *c, const char *path)
{
	struct pen *p = c->out;
	struct mapping *m;
	struct err e = { 0 };
	const char *all = "";

	if (map_load(&m, path, &e) != 0)
		return call_failed(c, &e);
	if (c->value[FLAG_JSON] != NULL) {
		show_json(p, m);
	} else {
		fprintf(p->out, "%s: requests of ", pen_clean(p, path));
		pen_put(p, BOLD, pen_clean(p, m->service));
		fputc('\n', p->out);
		for (uint32_t i = 0; i < m->nrules; i++)
			show_rule(p, &m->rules[i]);
		for (uint32_t i = 0; map_pattern(m, i) != NULL; i++)
			all = pen_printf(p, "%s%s%s", all, i == 0 ? "" : ", ", map_pattern(m, i));
		fputc('\n', p->out);
		pen_wrap(p, "  ", pen_printf(p, "always-on tracepoints: %s", all));
	}
	map_free(m);
	return DONE;
}

static enum exit_code
run_map(struct invocation *c)
{
	const char *verb = c->arguments[0];
	bool checks = strcmp(verb, "check") == 0;
	enum exit_code code;

	if (!checks && strcmp(verb, "show") != 0)
		return call_misused(c, verb, "unknown action; must be check or show", NULL);
	if (c->narguments != 2)
		return call_misused(c, pen_printf(c->err, "map %s", verb), "needs one file", NULL);
	if ((code = call_either(c, FLAG_EVENTS, FLAG_NO_PROGRAM)) != DONE)
		return code;
	return checks ? check(c, c->arguments[1]) : show(c, c->arguments[1]);
}

const struct command command_map = {
	.name = "map",
	.arguments = "check|show FILE",
	.arguments_min = 1,
	.arguments_max = 2,
	.flags = FLAG_BIT(TIMEOUT) | FLAG_BIT(EVENTS) | FLAG_BIT(NO_PROGRAM),
	.run = run_map,
	.help = "check the mapping of a program without libhone",
	.more =
	    "check reads the file, asks LTTng for the tracepoints of the running program, and reports each\n"
	    "name and field that does not exist; the exit status is 1 if the mapping has an error. show\n"
	    "prints the mapping as Hone understands it.",
};

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/document_inside.h"
#include "report/operations.h"

/* ---- values ---- */

json_t *
text_json(const char *s, size_t len)
{
	json_t *j = json_stringn(s, len);
	char *plain;

	if (j != NULL || (plain = malloc(len + 1)) == NULL)
		return j;
	for (size_t i = 0; i < len; i++)
		plain[i] = (unsigned char)s[i] < 0x80 ? s[i] : '?';
	j = json_stringn(plain, len);
	free(plain);
	return j;
}

json_t *
number_json(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

json_t *
trace_id_json(uint64_t high, uint64_t low)
{
	if (high != 0)
		return json_sprintf(
		    "%016llx%016llx", (unsigned long long)high, (unsigned long long)low);
	return json_sprintf("%016llx", (unsigned long long)low);
}

json_t *
wall_json(struct wall w)
{
	char text[25];

	if (w.ns == 0)
		return json_null();
	wall_print(w, text);
	return json_string(text);
}

json_t *
document_label(struct document *d, uint32_t label)
{
	const char *text;

	if (label == LABEL_NONE)
		return json_null();
	if (d->labels[label] == NULL) {
		text = labels_get(report_labels(d->report), label)->text;
		d->labels[label] = text_json(text, strlen(text));
	}
	return json_incref(d->labels[label]);
}

json_t *
document_service(struct document *d, uint32_t label)
{
	const struct label *l;

	if (label == LABEL_NONE)
		return json_null();
	l = labels_get(report_labels(d->report), label);
	if (d->services[label] == NULL)
		d->services[label] = text_json(l->text, l->service_len);
	return json_incref(d->services[label]);
}

const char *
problem_word(enum problem p)
{
	static const char *const words[] = { [PROBLEM_NONE] = "none",
		[PROBLEM_UNPREDICTABLE] = "unpredictable",
		[PROBLEM_SLOW] = "slow",
		[PROBLEM_UNSURE] = "unsure" };

	return words[p];
}

/* ---- the document ---- */

static json_t *
text_list(const char *const *list)
{
	json_t *a = json_array();

	for (; list != NULL && *list != NULL; list++)
		json_array_append_new(a, text_json(*list, strlen(*list)));
	return a;
}

static json_t *
options_json(const struct report_options *o)
{
	json_t *j = json_object();

	put_number(j, "cv_max", o->conditions.cv_max);
	put_number(j, "slow_quantile", o->conditions.slow_quantile);
	put_count(j, "traces_min", o->conditions.traces_min);
	put_number(j, "confidence", o->conditions.confidence);
	put_count(j, "rounds", o->rounds);
	put_count(j, "seed", o->seed);
	put_count(j, "samples_max", o->samples_max);
	put_count(j, "groups_max", o->groups_max);
	put_count(j, "memory_max_bytes", o->memory_max_bytes);
	put(j, "type", o->type != NULL ? text_json(o->type, strlen(o->type)) : json_null());
	put(j, "ignore", text_list(o->ignore));
	put(j, "bins", text_list(o->bin_rules));
	return j;
}

static json_t *
type_json(struct document *d, const struct report_type *t)
{
	json_t *j = json_object(), *groups = json_array(), *other = json_object();
	size_t len;
	const char *name = report_type_name(d->report, t->label, &len);

	put(j, "type", text_json(name, len));
	put(j, "service", document_service(d, t->label));
	put(j, "label", document_label(d, t->label));
	put_count(j, "count", t->total.n);
	put_ms(j, "mean_ms", t->total.mean);
	put_number(j, "cv", moments_cv(&t->total));
	put_ms(j, "p50_ms", sketch_quantile(t->sketch, 0.50));
	put_ms(j, "p95_ms", sketch_quantile(t->sketch, 0.95));
	put_ms(j, "p99_ms", sketch_quantile(t->sketch, 0.99));
	put_ms(j, "slow_ms", t->slow_ns);
	for (uint32_t i = 0; i < t->ngroups; i++)
		json_array_append_new(groups, document_group(d, t->groups[i]));
	if (t->profile != NULL &&
	    operations_put(j, t->profile, report_labels(d->report), NULL) != 0)
		d->failed = true;
	put(j, "groups", groups);
	put(j, "times", document_times(d, t->times, t));
	put_count(other, "traces", t->other.n);
	put_ms(other, "mean_ms", t->other.mean);
	put(j, "other", other);
	return j;
}

static bool
is_meant(const struct document *d, const struct report_type *t)
{
	return d->o->label == LABEL_NONE || d->o->label == t->label;
}

static json_t *
problems_json(struct document *d)
{
	json_t *all = json_array();
	const struct report_problem *p;
	uint64_t rank = 0;
	size_t len;

	for (uint32_t i = 0; (p = report_problem(d->report, i)) != NULL; i++) {
		const struct finding *f = &p->judged->finding;
		const char *name = report_type_name(d->report, p->type->label, &len);
		json_t *j;

		if (!is_meant(d, p->type))
			continue;
		j = json_object();
		put_count(j, "rank", ++rank);
		put(j, "type", text_json(name, len));
		put(j, "service", document_service(d, p->type->label));
		put(j, "group", document_hash(p->judged));
		put(j, "problem", json_string(problem_word(f->problem)));
		put_ms(j, "cost_ms", f->cost_ns);
		json_array_append_new(all, j);
	}
	return all;
}

static json_t *
build(struct document *d)
{
	json_t *j = json_object(), *types = json_array();
	const struct report_type *t;

	put(j, "document", json_string("hone.analysis"));
	put_count(j, "version", DOCUMENT_VERSION);
	put(j, "hone", json_string(HONE_VERSION));
	put(j, "made", wall_json(d->o->made));
	put(j, "source", json_incref(d->o->source));
	put(j, "options", options_json(report_options(d->report)));
	for (uint32_t i = 0; (t = report_type(d->report, i)) != NULL; i++)
		if (is_meant(d, t))
			json_array_append_new(types, type_json(d, t));
	put(j, "types", types);
	put(j, "problems", problems_json(d));
	put(j, "lost_in", document_rollup(d));
	put(j, "baseline", json_null());
	return j;
}

json_t *
document_new(const struct report *r, const struct document_options *o)
{
	uint32_t n = labels_count(report_labels(r));
	struct document d = { .report = r, .o = o };
	json_t *j = NULL;

	d.labels = calloc((size_t)n + 1, sizeof *d.labels);
	d.services = calloc((size_t)n + 1, sizeof *d.services);
	if (d.labels != NULL && d.services != NULL && o->source != NULL)
		j = build(&d);
	if (d.failed) {
		json_decref(j);
		j = NULL;
	}
	for (uint32_t i = 0; d.labels != NULL && d.services != NULL && i < n; i++) {
		json_decref(d.labels[i]);
		json_decref(d.services[i]);
	}
	free(d.labels);
	free(d.services);
	buf_release(&d.words);
	json_decref(o->source);
	return j;
}

int
document_check(const json_t *document, const char *name, struct err *e)
{
	const char *what = json_string_value(json_object_get(document, "document"));
	const json_t *version = json_object_get(document, "version");

	if (what == NULL || strcmp(what, "hone.analysis") != 0)
		return err_set(e, ERR_INPUT,
		    "%s: is no analysis document; hone analyze --json makes one", name);
	if (!json_is_integer(version) || json_integer_value(version) != DOCUMENT_VERSION)
		return err_set(e, ERR_VERSION,
		    "%s: a document of version %lld, this hone reads version %d", name,
		    (long long)json_integer_value(version), DOCUMENT_VERSION);
	if (!json_is_array(json_object_get(document, "types")))
		return err_set(
		    e, ERR_INPUT, "%s: an analysis document without request types", name);
	return 0;
}

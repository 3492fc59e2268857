/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bins. The bin of a number is 1 + the number of cuts at or below it. The bin of a text is a
 * hash of the text, so that it is the same on every run; where another text has that bin, the
 * next free one is taken.
 */
#include <assert.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bins.h"
#include "base/array.h"
#include "base/hash_map.h"
#include "base/texts.h"

enum {
	CUTS_MAX = 64,
	TEXTS_MAX = 4096,
	TEXT_SEED = 0x62696e73,
	BIN_FURTHER = UINT32_MAX /* all values beyond TEXTS_MAX */
};

struct bin_rule {
	char *target; /* "LABEL.FIELD" */
	uint32_t ncuts;
	double cuts[CUTS_MAX];
};

struct rule_match { /* the rule for a label */
	bool known;
	const struct bin_rule *rule; /* NULL: none matches */
	uint32_t field;
};

struct bins {
	struct bin_rule **rules;
	uint32_t nrules, rules_cap;
	struct rule_match *matches; /* by label */
	uint32_t nmatches;          /* also the capacity */
	struct texts *texts;
	struct map text_of; /* bin to the number of its text, plus 1 */
};

struct bins *
bins_new(void)
{
	struct bins *b = calloc(1, sizeof *b);

	if (b != NULL && (b->texts = texts_new()) == NULL) {
		free(b);
		return NULL;
	}
	return b;
}

static void
rule_free(struct bin_rule *r)
{
	if (r != NULL)
		free(r->target);
	free(r);
}

void
bins_free(struct bins *b)
{
	if (b == NULL)
		return;
	for (uint32_t i = 0; i < b->nrules; i++)
		rule_free(b->rules[i]);
	free(b->rules);
	free(b->matches);
	texts_free(b->texts);
	map_release(&b->text_of);
	free(b);
}

/* ---- rules ---- */

static int
read_cuts(struct bin_rule *r, const char *s, const char *whole, struct err *e)
{
	char *end;

	while (*s != '\0') {
		double cut = strtod(s, &end);

		if (end == s || !isfinite(cut) || (*end != ',' && *end != '\0') ||
		    (*end == ',' && end[1] == '\0'))
			return err_set(
			    e, ERR_INPUT, "%s: cuts are numbers with commas between them", whole);
		if (r->ncuts == CUTS_MAX)
			return err_set(e, ERR_INPUT, "%s: more than %d cuts", whole, CUTS_MAX);
		if (r->ncuts > 0 && cut <= r->cuts[r->ncuts - 1])
			return err_set(e, ERR_INPUT, "%s: cuts do not rise", whole);
		r->cuts[r->ncuts++] = cut;
		s = *end == ',' ? end + 1 : end;
	}
	return 0;
}

/* Whether there is a dot with a label before it and a field behind it. */
static bool
has_parts(const char *target)
{
	const char *dot = strchr(target, '.');

	if (dot == target)
		dot = strchr(target + 1, '.');
	return dot != NULL && dot[1] != '\0';
}

static int
rule_new(struct bin_rule **ret, const char *text, struct err *e)
{
	const char *equals = strrchr(text, '=');
	size_t len = equals != NULL ? (size_t)(equals - text) : strlen(text);
	struct bin_rule *r = calloc(1, sizeof *r);
	int rc;

	*ret = r;
	if (r == NULL || (r->target = strndup(text, len)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", text);
	if (!has_parts(r->target))
		return err_set(e, ERR_INPUT, "%s: not LABEL.FIELD=CUT,CUT,...", text);
	if (equals != NULL && (rc = read_cuts(r, equals + 1, text, e)) != 0)
		return rc;
	return 0;
}

int
bins_add(struct bins *b, const char *text, struct err *e)
{
	struct bin_rule *r;
	int rc = rule_new(&r, text, e);

	if (rc == 0 && !array_reserve(b->rules, b->rules_cap, b->nrules + 1))
		rc = err_set(e, ERR_MEMORY, "%s: out of memory", text);
	if (rc != 0) {
		rule_free(r);
		return rc;
	}
	b->rules[b->nrules++] = r;
	for (uint32_t i = 0; i < b->nmatches; i++)
		b->matches[i].known = false;
	return 0;
}

/* Labels and field names may contain dots, so each dot is tried as the separator. */
static bool
rule_matches(const struct bin_rule *r, const struct label *l, uint32_t *field)
{
	char pattern[LABEL_TEXT_MAX + 1];

	for (const char *dot = strchr(r->target, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
		if ((size_t)(dot - r->target) >= sizeof pattern)
			return false;
		memcpy(pattern, r->target, (size_t)(dot - r->target));
		pattern[dot - r->target] = '\0';
		for (*field = 0; *field < l->nfields && strcmp(l->fields[*field], dot + 1) != 0;
		     ++*field)
			;
		if (*field < l->nfields && fnmatch(pattern, l->text, 0) == 0)
			return true;
	}
	return false;
}

static struct rule_match
find_rule(const struct bins *b, const struct labels *labels, uint32_t label)
{
	struct rule_match f = { .known = true };

	for (uint32_t i = 0; i < b->nrules && f.rule == NULL; i++)
		if (rule_matches(b->rules[i], labels_get(labels, label), &f.field))
			f.rule = b->rules[i];
	return f;
}

static struct rule_match
rule_of(struct bins *b, const struct labels *labels, uint32_t label)
{
	uint32_t n = b->nmatches;

	if (!array_reserve(b->matches, b->nmatches, label + 1))
		return find_rule(b, labels, label);
	for (; n < b->nmatches; n++)
		b->matches[n].known = false;
	if (!b->matches[label].known)
		b->matches[label] = find_rule(b, labels, label);
	return b->matches[label];
}

/* ---- values ---- */

static uint32_t
text_bin(struct bins *b, const char *s, size_t len)
{
	uint32_t bin = (uint32_t)hash_bytes(TEXT_SEED, s, len), id = texts_find(b->texts, s, len);
	void *there;

	for (;; bin++) {
		if (bin == BIN_NONE || bin == BIN_FURTHER)
			bin = 1;
		if ((there = map_get(&b->text_of, bin)) == NULL)
			break;
		if ((uintptr_t)there == (uintptr_t)id + 1)
			return bin;
	}
	if (texts_count(b->texts) == TEXTS_MAX ||
	    (id = texts_intern(b->texts, s, len)) == UINT32_MAX ||
	    !map_put(&b->text_of, bin, (void *)((uintptr_t)id + 1)))
		return BIN_FURTHER;
	return bin;
}

static uint32_t
cut_bin(const struct bin_rule *r, double x)
{
	uint32_t n = 0;

	while (n < r->ncuts && r->cuts[n] <= x)
		n++;
	return 1 + n;
}

static uint32_t
bin_of(struct bins *b, const struct bin_rule *r, const struct value *v)
{
	char text[32];
	double x;

	switch (v->type) {
	case VALUE_TEXT:
		return r->ncuts > 0 ? BIN_NONE : text_bin(b, v->text, v->len);
	case VALUE_INT:
		x = (double)v->i;
		snprintf(text, sizeof text, "%lld", (long long)v->i);
		break;
	case VALUE_UINT:
		x = (double)v->u;
		snprintf(text, sizeof text, "%llu", (unsigned long long)v->u);
		break;
	case VALUE_REAL:
		x = v->d;
		snprintf(text, sizeof text, "%.17g", v->d);
		break;
	default:
		return BIN_NONE;
	}
	if (isnan(x))
		return BIN_NONE;
	return r->ncuts > 0 ? cut_bin(r, x) : text_bin(b, text, strlen(text));
}

void
bins_apply(struct bins *b, const struct trace *t, const struct labels *labels, struct critpath *p)
{
	for (uint32_t i = 0; b != NULL && b->nrules > 0 && i < p->nsteps; i++) {
		const struct event *e = &t->events[p->steps[i].event];
		assert(p->steps[i].event < t->nevents);
		struct rule_match f = rule_of(b, labels, p->steps[i].label);

		if (f.rule != NULL && f.field < e->nvalues)
			p->steps[i].bin = bin_of(b, f.rule, &e->values[f.field]);
	}
}

void
bin_print(const struct bins *b, const struct labels *labels, uint32_t label, uint32_t bin,
    struct buf *out)
{
	struct rule_match f = { .rule = NULL };
	const char *name;
	void *text;

	if (b == NULL || bin == BIN_NONE || (f = find_rule(b, labels, label)).rule == NULL)
		return;
	name = labels_get(labels, label)->fields[f.field];
	if (f.rule->ncuts == 0) {
		text = map_get(&b->text_of, bin);
		if (text != NULL)
			buf_printf(out, "%s = %s", name,
			    texts_get(b->texts, (uint32_t)(uintptr_t)text - 1));
		else
			buf_printf(out, "%s further", name);
	} else if (bin == 1) {
		buf_printf(out, "%s < %g", name, f.rule->cuts[0]);
	} else if (bin - 2 < f.rule->ncuts - 1) {
		buf_printf(
		    out, "%g <= %s < %g", f.rule->cuts[bin - 2], name, f.rule->cuts[bin - 1]);
	} else {
		buf_printf(out, "%s >= %g", name, f.rule->cuts[f.rule->ncuts - 1]);
	}
}

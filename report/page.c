/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "report/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "report/html.h"

EMBED(page_html, "report/page.html");
EMBED(page_css, "report/page.css");
EMBED(page_elements, "report/elements.js");
EMBED(page_draw, "report/draw.js");
EMBED(page_figures, "report/figures.js");
EMBED(page_table, "report/table.js");
EMBED(page_group, "report/group.js");
EMBED(page_times, "report/times.js");
EMBED(page_below, "report/below.js");
EMBED(page_change, "report/change.js");
EMBED(page_js, "report/page.js");

struct page {
	struct buf *out;
	const json_t *document;
	struct buf data; /* the document as text for a script element */
	char nonce[33];
};

static void
put_string(struct buf *out, const json_t *object, const char *member)
{
	const json_t *s = json_object_get(object, member);

	if (json_is_string(s))
		html_text(out, json_string_value(s), json_string_length(s));
	else
		html_put(out, "–");
}

/* ---- the document ------------------------------------------------------------ */

/* Inside a script element only `<` could end it or begin a comment; `>` and `&` are escaped for
 * readers who copy the JSON elsewhere. All three occur only in JSON's strings. */
static int
escape(const char *text, size_t len, void *to)
{
	struct buf *out = to;
	size_t from = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] != '<' && text[i] != '>' && text[i] != '&')
			continue;
		buf_bytes(out, text + from, i - from);
		buf_printf(out, "\\u%04x", text[i]);
		from = i + 1;
	}
	buf_bytes(out, text + from, len - from);
	return out->failed ? -1 : 0;
}

static void
put_document(struct page *p)
{
	buf_bytes(p->out, p->data.data, p->data.len);
}

/* ---- the table without a script ---------------------------------------------- */

/* Three significant digits in ns, us, ms or s. */
static void
put_ms(struct buf *out, const json_t *v)
{
	double ms = json_number_value(v), size = fabs(ms);

	if (!json_is_number(v))
		html_put(out, "–");
	else if (size >= 1000)
		buf_printf(out, "%.4g s", ms / 1000);
	else if (size >= 1 || size == 0)
		buf_printf(out, "%.3g ms", ms);
	else
		buf_printf(out, "%.3g µs", ms * 1000);
}

static void
put_pct(struct buf *out, const json_t *v)
{
	if (json_is_number(v))
		buf_printf(out, "%.0f %%", json_number_value(v) * 100);
	else
		html_put(out, "–");
}

static void
put_edge(struct buf *out, const json_t *edge)
{
	if (edge == NULL) {
		html_put(out, "<td>–</td><td class=\"n\">–</td>");
		return;
	}
	html_put(out, "<td><code>");
	put_string(out, edge, "from");
	html_put(out, "</code> → <code>");
	put_string(out, edge, "to");
	html_put(out, "</code></td><td class=\"n\">");
	put_pct(out, json_object_get(edge, "share"));
	html_put(out, " (");
	put_pct(out, json_object_get(edge, "low"));
	html_put(out, " to ");
	put_pct(out, json_object_get(edge, "high"));
	html_put(out, ")</td>");
}

static void
put_problem(struct buf *out, const json_t *problem, const json_t *group)
{
	const json_t *top = json_object_get(group, "top"), *cv = json_object_get(group, "cv");

	html_put(out, "<tr><td>");
	put_string(out, problem, "type");
	html_put(out, "</td><td><code>");
	put_string(out, problem, "group");
	html_put(out, "</code></td><td>");
	put_string(out, problem, "problem");
	html_put(out, "</td><td class=\"n\">");
	put_ms(out, json_object_get(problem, "cost_ms"));
	html_put(out, "</td><td class=\"n\">");
	put_pct(out, cv);
	html_put(out, "</td><td class=\"n\">");
	put_ms(out, json_object_get(group, "p95_ms"));
	html_put(out, "</td>");
	put_edge(out,
	    json_is_integer(top) && json_integer_value(top) >= 0
		? json_array_get(json_object_get(group, "edges"), (size_t)json_integer_value(top))
		: NULL);
	html_put(out, "</tr>\n");
}

/* Groups by "type group", since two request types may have groups of the same id. The index borrows
 * the references. */
static bool
name_of(struct buf *ret, const json_t *type, const json_t *group)
{
	buf_reset(ret);
	if (!json_is_string(type) || !json_is_string(group))
		return false;
	buf_printf(ret, "%s %s", json_string_value(type), json_string_value(group));
	buf_u8(ret, 0);
	return !ret->failed;
}

static json_t *
index_groups(const json_t *document, struct buf *name)
{
	json_t *index = json_object(), *type, *group;
	size_t i, j;

	json_array_foreach (json_object_get(document, "types"), i, type) {
		json_array_foreach (json_object_get(type, "groups"), j, group) {
			if (name_of(name, json_object_get(type, "type"),
				json_object_get(group, "group")))
				json_object_set(index, (const char *)name->data, group);
		}
	}
	return index;
}

static void
put_problems(struct page *p)
{
	const json_t *problems = json_object_get(p->document, "problems");
	struct buf name = { 0 };
	json_t *index, *problem;
	size_t i;

	if (json_array_size(problems) == 0) {
		html_put(p->out, "<p>None was found.</p>\n");
		return;
	}
	index = index_groups(p->document, &name);
	html_put(p->out,
	    "<div class=\"wide\"><table id=\"plain\"><thead><tr><th>type</th><th>group</th><th>problem</th>"
	    "<th class=\"n\">cost</th><th class=\"n\">CV</th><th class=\"n\">p95</th><th>edge</th>"
	    "<th class=\"n\">share</th></tr></thead><tbody>\n");
	json_array_foreach (problems, i, problem) {
		bool known = name_of(
		    &name, json_object_get(problem, "type"), json_object_get(problem, "group"));

		put_problem(p->out, problem,
		    known ? json_object_get(index, (const char *)name.data) : NULL);
	}
	html_put(p->out, "</tbody></table></div>\n");
	p->out->failed |= name.failed || index == NULL;
	buf_release(&name);
	json_decref(index);
}

/* ---- the page ------------------------------------------------------------------ */

static void
put_title(struct page *p)
{
	const json_t *source = json_object_get(p->document, "source"),
		     *files = json_object_get(source, "files");
	size_t n = json_array_size(files);
	const json_t *first = json_array_get(files, 0);

	html_put(p->out, "Hone: ");
	if (json_is_true(json_object_get(source, "live"))) {
		html_put(p->out, "live traffic");
	} else if (json_is_string(first)) {
		html_text(p->out, json_string_value(first), json_string_length(first));
		if (n > 1)
			buf_printf(p->out, " and %zu more", n - 1);
	} else {
		html_put(p->out, "analysis");
	}
}

static void
put_nonce(struct page *p)
{
	html_put(p->out, p->nonce);
}

static void
put_style(struct page *p)
{
	html_lines(p->out, page_css, page_css_end);
}

static void
put_draw(struct page *p)
{
	html_lines(p->out, page_elements, page_elements_end);
	html_lines(p->out, page_draw, page_draw_end);
}

static void
put_figures(struct page *p)
{
	html_lines(p->out, page_figures, page_figures_end);
}

static void
put_group(struct page *p)
{
	html_lines(p->out, page_table, page_table_end);
	html_lines(p->out, page_group, page_group_end);
}

static void
put_times(struct page *p)
{
	html_lines(p->out, page_times, page_times_end);
}

/* Only for a document with edges that have `below`. */
static void
put_below(struct page *p)
{
	static const char member[] = "\"below\":{";

	if (memmem(p->data.data, p->data.len, member, sizeof member - 1) != NULL)
		html_lines(p->out, page_below, page_below_end);
}

/* Only for a document with changes: it is a tenth of the page. */
static void
put_change(struct page *p)
{
	const json_t *baseline = json_object_get(p->document, "baseline");

	if (baseline != NULL && !json_is_null(baseline))
		html_lines(p->out, page_change, page_change_end);
}

static void
put_page(struct page *p)
{
	html_lines(p->out, page_js, page_js_end);
}

static const struct {
	const char *name;
	void (*put)(struct page *p);
} places[] = {
	{ "{{title}}", put_title },
	{ "{{nonce}}", put_nonce },
	{ "{{style}}", put_style },
	{ "{{problems}}", put_problems },
	{ "{{document}}", put_document },
	{ "{{draw}}", put_draw },
	{ "{{figures}}", put_figures },
	{ "{{group}}", put_group },
	{ "{{times}}", put_times },
	{ "{{below}}", put_below },
	{ "{{change}}", put_change },
	{ "{{page}}", put_page },
};

static size_t
fill_place(struct page *p, const char *at, size_t left)
{
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		size_t len = strlen(places[i].name);

		if (left >= len && memcmp(at, places[i].name, len) == 0) {
			places[i].put(p);
			return len;
		}
	}
	buf_u8(p->out, (uint8_t)*at);
	return 1;
}

static int
fill(struct page *p, struct err *e)
{
	for (const char *at = page_html; at < page_html_end;) {
		const char *brace = memchr(at, '{', (size_t)(page_html_end - at));
		const char *to = brace != NULL ? brace : page_html_end;

		buf_bytes(p->out, at, (size_t)(to - at));
		at = brace != NULL ? to + fill_place(p, to, (size_t)(page_html_end - to)) : to;
	}
	return p->out->failed ? err_set(e, ERR_MEMORY, "page: out of memory") : 0;
}

int
page_write(struct buf *out, const json_t *document, struct err *e)
{
	struct page p = { .out = out, .document = document };
	struct hash128 h;
	int rc;

	if (!json_is_object(document))
		return err_set(e, ERR_INPUT, "page: not a document");
	if (json_dump_callback(document, escape, &p.data,
		JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9)) != 0) {
		rc = p.data.failed ? err_set(e, ERR_MEMORY, "page: out of memory")
		                   : err_set(e, ERR_INPUT, "page: the document is no JSON");
		goto done;
	}
	h = hash_bytes128(0, p.data.data, p.data.len);
	snprintf(p.nonce, sizeof p.nonce, "%016" PRIx64 "%016" PRIx64, h.a, h.b);
	rc = fill(&p, e);
done:
	buf_release(&p.data);
	return rc;
}

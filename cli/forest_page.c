/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The forest as an HTML page: one file that loads no other and has no script, in the style of
 * the report's page. Texts come from traced programs, so from anybody: each is escaped, and the
 * page's policy allows its own style alone.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "cli/output.h"
#include "cli/verdict_text.h"
#include "report/html.h"

EMBED(forest_style, "report/page.css");
EMBED(forest_style_more, "cli/forest.css");

enum { BAR_WIDTH = 160 };

static void
put_text(struct buf *out, const json_t *o, const char *key)
{
	const json_t *s = json_object_get(o, key);

	if (json_is_string(s))
		html_text(out, json_string_value(s), json_string_length(s));
}

/* Escapes the text and releases it. */
static void
put_made(struct buf *out, struct buf *text)
{
	html_text(out, (const char *)text->data, text->len);
	out->failed |= text->failed;
	buf_release(text);
}

/* A string as the name of a class: letters and hyphens only. */
static void
put_class(struct buf *out, const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	for (; s != NULL && *s != '\0'; s++)
		buf_u8(out, isalpha((unsigned char)*s) ? (uint8_t)*s : '-');
}

static void
put_state(struct buf *out, const json_t *o)
{
	html_put(out, "<span class=\"state ");
	put_class(out, o, "state");
	html_put(out, "\">");
	put_text(out, o, "state");
	html_put(out, "</span>");
}

static void
put_edge(struct buf *out, const json_t *edge)
{
	html_put(out, "<code>");
	put_text(out, edge, "from");
	html_put(out, "</code> → <code>");
	put_text(out, edge, "to");
	html_put(out, "</code>");
}

static double
within(double share)
{
	return share > 0 ? share < 1 ? share : 1 : 0;
}

/* A share with its interval as a whisker, and in words. */
static void
put_share(struct buf *out, double share, double low, double high)
{
	buf_printf(out,
	    "<svg class=\"share\" width=\"%d\" height=\"14\" role=\"img\" aria-label=\"%.0f %%\">"
	    "<rect class=\"box\" x=\"0.5\" y=\"2.5\" width=\"%d\" height=\"9\"/>"
	    "<rect class=\"bar\" x=\"0.5\" y=\"2.5\" width=\"%.1f\" height=\"9\"/>"
	    "<line class=\"whisk\" x1=\"%.1f\" x2=\"%.1f\" y1=\"7\" y2=\"7\"/></svg> <b>%.0f %%</b> (%.0f to %.0f)",
	    BAR_WIDTH + 1, share * 100, BAR_WIDTH, within(share) * BAR_WIDTH,
	    within(low) * BAR_WIDTH + 0.5, within(high) * BAR_WIDTH + 0.5, share * 100, low * 100,
	    high * 100);
}

/* Three digits in the unit that suits. */
static void
put_ms(struct buf *out, double ms)
{
	if (ms >= 999.5)
		buf_printf(out, "%.*f s", ms < 9995 ? 2 : ms < 99950 ? 1 : 0, ms / 1e3);
	else if (ms >= 0.9995 || ms == 0)
		buf_printf(out, "%.3g ms", ms);
	else
		buf_printf(out, "%.3g µs", ms * 1e3);
}

/* ---- hypotheses ---- */

static void
put_key(struct buf *out, const json_t *key)
{
	if (!json_is_object(key))
		return;
	html_put(out, key_explains(key) ? "<br>because of <code>" : "<br>related to <code>");
	put_text(out, key, "name");
	buf_printf(
	    out, "</code>: R %.2f over %.0f traces", number_of(key, "r"), number_of(key, "n"));
}

static void
put_hypothesis(struct buf *out, const json_t *h)
{
	bool settled = number_of(h, "settled_traces") > 0 && !is_null(h, "settled_share");
	struct buf reason = { 0 };

	html_put(out, "<span class=\"sign\">");
	put_text(out, h, "presence");
	html_put(out, "</span> <b>");
	html_text(out, title_of(h), strlen(title_of(h)));
	html_put(out, "</b> ");
	put_state(out, h);
	html_put(out, " <span class=\"soft small\">");
	reason_text_put(&reason, h, "reason");
	put_made(out, &reason);
	buf_printf(
	    out, " cycle %.0f, number %.0f</span><br>", number_of(h, "cycle"), number_of(h, "id"));
	put_edge(out, json_object_get(h, "edge"));
	html_put(out, "<br>");
	put_share(out, number_of(h, settled ? "settled_share" : "share"),
	    number_of(h, settled ? "settled_low" : "share_low"),
	    number_of(h, settled ? "settled_high" : "share_high"));
	buf_printf(out, " <span class=\"soft\">%.0f traces",
	    number_of(h, settled ? "settled_traces" : "traces"));
	if (number_of(h, "mean_ms") > 0) {
		html_put(out, ", mean ");
		put_ms(out, number_of(h, "mean_ms"));
		buf_printf(out, ", CV %.0f %%", number_of(h, "cv") * 100);
	}
	html_put(out, "</span>");
	put_key(out, json_object_get(h, "key"));
}

static void
put_children(struct buf *out, const json_t *all, double parent, struct tree_left *left)
{
	bool any = false;

	if (left->depth == 0)
		return;
	left->depth--;
	for (const json_t *h = NULL; (h = tree_child(all, parent, h)) != NULL && left->shown > 0;) {
		left->shown--;
		html_put(out, any ? "" : parent == 0 ? "<ul class=\"tree\">\n" : "<ul>\n");
		any = true;
		html_put(out, "<li>");
		put_hypothesis(out, h);
		put_children(out, all, number_of(h, "id"), left);
		html_put(out, "</li>\n");
	}
	html_put(out, any ? "</ul>\n" : "");
	left->depth++;
}

/* ---- runs ---- */

static void
put_verdict(struct buf *out, const json_t *run, const json_t *v)
{
	struct buf text = { 0 };
	const json_t *ex = json_object_get(v, "exemplars");

	html_put(out, "<tr><td>");
	put_text(out, v, "kind");
	html_put(out, "</td><td>");
	put_edge(out, json_object_get(v, "edge"));
	if (number_of(v, "rank") > 1) { /* those of the first stand above */
		html_put(out, "<br><span class=\"soft\">");
		verdict_text_put(&text, run, v);
		put_made(out, &text);
		html_put(out, "</span>");
	}
	put_key(out, json_object_get(v, "key"));
	html_put(out, "</td><td class=\"n\">");
	buf_printf(out, "%.0f %% (%.0f to %.0f)</td><td class=\"n\">%.0f %%</td><td class=\"n\">",
	    number_of(v, "share") * 100, number_of(v, "share_low") * 100,
	    number_of(v, "share_high") * 100, number_of(json_object_get(v, "group"), "cv") * 100);
	put_ms(out, number_of(v, "cost_ms"));
	html_put(out, "</td><td><code>");
	put_text(out, ex, "slowest");
	html_put(out, "</code></td></tr>\n");
}

static void
put_verdicts(struct buf *out, const json_t *run)
{
	const json_t *verdicts = json_object_get(run, "verdicts");
	size_t i;
	json_t *v;

	if (json_array_size(verdicts) == 0)
		return;
	html_put(out,
	    "<div class=\"wide\"><table><thead><tr><th>verdict</th><th>edge</th><th class=\"n\">share</th><th class=\"n\">CV</th>"
	    "<th class=\"n\">cost</th><th>slowest trace</th></tr></thead><tbody>\n");
	json_array_foreach (verdicts, i, v)
		put_verdict(out, run, v);
	html_put(out, "</tbody></table></div>\n");
}

static void
put_fact(struct buf *out, const char *name, double value)
{
	buf_printf(out, "<div><dt>%s</dt><dd>%.4g</dd></div>", name, value);
}

static void
put_run(struct buf *out, const json_t *run)
{
	const json_t *hypotheses = json_object_get(run, "hypotheses");
	struct tree_left left = tree_left(hypotheses);
	struct buf text = { 0 };

	html_put(out, "<section>\n<h2>");
	put_text(out, run, "type");
	html_put(out, " ");
	put_state(out, run);
	buf_printf(
	    out, "</h2>\n<p class=\"soft small\">diagnosis %.0f, strategy ", number_of(run, "run"));
	put_text(out, run, "strategy");
	html_put(out, ", begun ");
	put_text(out, run, "begun");
	html_put(out, "</p>\n<p class=\"verdict\">");
	run_text_put(&text, run);
	put_made(out, &text);
	html_put(out, "</p>\n<dl class=\"facts\">");
	put_fact(out, "cycles", number_of(run, "cycles"));
	put_fact(out, "seconds", number_of(run, "seconds"));
	put_fact(out, "requests", number_of(run, "requests"));
	buf_printf(out, "<div><dt>tracepoints enabled</dt><dd>%.0f of %.0f</dd></div></dl>\n",
	    number_of(run, "tracepoints_used"), number_of(run, "tracepoints_all"));
	put_verdicts(out, run);
	html_put(out, "<h3>The tree</h3>\n");
	put_children(out, hypotheses, 0, &left);
	html_put(out, "</section>\n");
}

/* ---- the page ---- */

static void
put_head(struct buf *out, const char *nonce)
{
	buf_printf(out,
	    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'nonce-%s'; base-uri 'none'; "
	    "form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	    "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
	    "<meta name=\"generator\" content=\"Hone\">\n<title>Hone: the forest</title>\n<style nonce=\"%s\">\n",
	    nonce, nonce);
	html_lines(out, forest_style, forest_style_end);
	html_lines(out, forest_style_more, forest_style_more_end);
	html_put(out,
	    "</style>\n</head>\n<body>\n<header id=\"head\">\n<h1>The forest</h1>\n</header>\n<main>\n");
}

int
forest_page_write(struct buf *out, const json_t *answer, struct err *e)
{
	const json_t *runs = json_object_get(answer, "runs");
	struct buf body = { 0 };
	struct hash128 h;
	char nonce[33];
	size_t i;
	json_t *run;

	json_array_foreach (runs, i, run)
		put_run(&body, run);
	if (json_array_size(runs) == 0)
		html_put(&body, "<p>No diagnosis has been started.</p>\n");
	h = hash_bytes128(0, body.data, body.len);
	snprintf(nonce, sizeof nonce, "%016" PRIx64 "%016" PRIx64, h.a, h.b);
	put_head(out, nonce);
	buf_bytes(out, body.data, body.len);
	html_put(out, "</main>\n</body>\n</html>\n");
	out->failed |= body.failed;
	buf_release(&body);
	return out->failed ? err_set(e, ERR_MEMORY, "page: out of memory") : 0;
}

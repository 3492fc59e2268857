/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "controlplane/web/web_files.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "controlplane/web/web_hash.h"
#include "report/html.h"

EMBED(live_html, "controlplane/web/live.html");
EMBED(live_css, "controlplane/web/live.css");
EMBED(live_js, "controlplane/web/live.js");
EMBED(live_charts, "controlplane/web/charts.js");
EMBED(live_verdict, "controlplane/web/verdict.js");
EMBED(live_forest, "controlplane/web/forest_view.js");
EMBED(live_nodes, "controlplane/web/nodes_view.js");
EMBED(live_type, "controlplane/web/type_view.js");
EMBED(live_parts, "controlplane/web/parts.js");
EMBED(live_types, "controlplane/web/types_view.js");
EMBED(live_first, "controlplane/web/first.js");
EMBED(live_page_css, "report/page.css");
EMBED(live_elements, "report/elements.js");
EMBED(live_table, "report/table.js");
EMBED(live_draw, "report/draw.js");
EMBED(live_figures, "report/figures.js");
EMBED(live_group, "report/group.js");
EMBED(live_times, "report/times.js");
EMBED(live_below, "report/below.js");
/* By gzip, from npm/uplot; without any text, where the build had no uPlot. */
EMBED(live_uplot_js, UPLOT_JS);
EMBED(live_uplot_css, UPLOT_CSS);

struct web_part {
	const char *at, *end;
};
#define PART(name)               \
	{                        \
		name, name##_end \
	}
enum { BEST = 9, POLICY = 512, GZIP = 16 + MAX_WBITS };

static const struct web_part STYLE[] = { PART(live_page_css), PART(live_css) };
/* What draws the first view, and the rest; the parts of each share one scope, as on the page of a report. */
static const struct web_part FIRST[] = { PART(live_elements), PART(live_table), PART(live_parts),
	PART(live_types), PART(live_first) };
static const struct web_part REST[] = { PART(live_draw), PART(live_figures), PART(live_group),
	PART(live_times), PART(live_below), PART(live_verdict), PART(live_charts),
	PART(live_forest), PART(live_nodes), PART(live_type), PART(live_js) };
enum {
	STYLES = sizeof STYLE / sizeof STYLE[0],
	FIRSTS = sizeof FIRST / sizeof FIRST[0],
	RESTS = sizeof REST / sizeof REST[0]
};
/* Where live.html has what comes from elsewhere. */
static const char STYLE_HERE[] = "{style}", STATES_HERE[] = "{states}", SCRIPT_HERE[] = "{script}";

/* The first script is not a module: that would run after a first frame without the table. Its names are those of all scripts; those of the rest are in
 * a block of their own, since browsers have some of them. */
static const char STRICT[] = "'use strict';\n", SCOPE[] = "{\n", SCOPE_END[] = "}\n";

static struct web_piece uplot, rest, head, tail;
static char policy[POLICY];
static const char JAVASCRIPT[] = "text/javascript; charset=utf-8";
static const struct web_file FILES[] = { { "/live.js", JAVASCRIPT, &rest },
	{ "/uplot.js", JAVASCRIPT, &uplot } };

/* Appends what a file by gzip has. False: it is damaged. */
static bool
put_unpacked(struct buf *out, const char *at, const char *end)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)at,
		.avail_in = (unsigned int)(end - at) };
	unsigned char block[16384];
	int rc = Z_OK;

	if (inflateInit2(&z, GZIP) != Z_OK)
		return false;
	while (rc == Z_OK) {
		z.next_out = block;
		z.avail_out = sizeof block;
		rc = inflate(&z, Z_NO_FLUSH);
		buf_bytes(out, block, sizeof block - z.avail_out);
	}
	inflateEnd(&z);
	return rc == Z_STREAM_END && !out->failed;
}

/* Takes what is in the buffer. */
static bool
piece_of(struct web_piece *p, struct buf *text)
{
	bool made = !text->failed && web_piece_make(p, (char *)text->data, text->len, BEST);

	if (text->failed)
		buf_release(text);
	*text = (struct buf){ 0 };
	return made;
}

static void
put_until(struct buf *to, const char **at, const char *mark, const char *end)
{
	const char *here = memmem(*at, (size_t)(end - *at), mark, strlen(mark));

	assert(here != NULL);
	buf_bytes(to, *at, (size_t)(here - *at));
	*at = here + strlen(mark);
}

static bool
make_page(const struct buf *html, const struct buf *style, const struct buf *script)
{
	const char *at = (const char *)html->data, *end = at + html->len;
	struct buf text = { 0 };

	put_until(&text, &at, STYLE_HERE, end);
	buf_bytes(&text, style->data, style->len);
	put_until(&text, &at, STATES_HERE, end);
	if (!piece_of(&head, &text))
		return false;
	put_until(&text, &at, SCRIPT_HERE, end);
	buf_bytes(&text, script->data, script->len);
	buf_bytes(&text, at, (size_t)(end - at));
	return piece_of(&tail, &text);
}

static bool
make_policy(const struct buf *style, const struct buf *script)
{
	char of_style[WEB_HASH], of_script[WEB_HASH];

	if (!web_hash(style->data, style->len, of_style) ||
	    !web_hash(script->data, script->len, of_script))
		return false;
	snprintf(policy, sizeof policy,
	    "default-src 'none'; script-src 'self' %s; style-src 'self' %s; img-src 'self' data:; connect-src 'self'; "
	    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	    of_script, of_style);
	return true;
}

static void
put_parts(struct buf *to, const struct web_part *parts, int n)
{
	for (int i = 0; i < n; i++)
		html_lines(to, parts[i].at, parts[i].end);
}

int
web_files_init(void)
{
	struct buf html = { 0 }, style = { 0 }, script = { 0 }, others = { 0 }, chart = { 0 };
	bool made;

	html_lines(&html, live_html, live_html_end);
	made = put_unpacked(&style, live_uplot_css, live_uplot_css_end);
	put_parts(&style, STYLE, STYLES);
	buf_bytes(&script, STRICT, sizeof STRICT - 1);
	put_parts(&script, FIRST, FIRSTS);
	buf_bytes(&others, STRICT, sizeof STRICT - 1);
	buf_bytes(&others, SCOPE, sizeof SCOPE - 1);
	put_parts(&others, REST, RESTS);
	buf_bytes(&others, SCOPE_END, sizeof SCOPE_END - 1);
	made = made && !html.failed && !style.failed && !script.failed &&
	       put_unpacked(&chart, live_uplot_js, live_uplot_js_end) &&
	       make_page(&html, &style, &script) && make_policy(&style, &script) &&
	       piece_of(&rest, &others) && piece_of(&uplot, &chart);
	buf_release(&html);
	buf_release(&style);
	buf_release(&script);
	buf_release(&others);
	buf_release(&chart);
	if (!made)
		web_files_release();
	return made ? 0 : -1;
}

const struct web_file *
web_file(const char *path)
{
	for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++)
		if (strcmp(FILES[i].path, path) == 0)
			return &FILES[i];
	return NULL;
}

const struct web_piece *
web_page_head(void)
{
	return &head;
}

const struct web_piece *
web_page_tail(void)
{
	return &tail;
}

const char *
web_page_policy(void)
{
	return policy;
}

void
web_files_release(void)
{
	web_piece_release(&uplot);
	web_piece_release(&rest);
	web_piece_release(&head);
	web_piece_release(&tail);
}

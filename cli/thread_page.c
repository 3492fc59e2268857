/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What threads did, annotated spans, and comparisons of states, as HTML pages: one file that loads no other, in the style of the report's page. Texts come from traced
 * programs, so from anybody: the script only makes text nodes of them, and the page's policy allows its own style and script alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "cli/output.h"
#include "report/html.h"

EMBED(thread_style, "report/page.css");
EMBED(thread_style_more, "cli/thread.css");
EMBED(thread_elements, "report/elements.js");
EMBED(thread_draw, "report/draw.js");
EMBED(thread_script, "cli/thread.js");
EMBED(annotation_script, "cli/annotation.js");
EMBED(states_script, "cli/states.js");

/* Inside a script element only `<` could end it. */
static int
put_escaped(const char *text, size_t len, void *to)
{
	struct buf *out = to;

	for (size_t i = 0; i < len; i++)
		if (text[i] == '<' || text[i] == '>' || text[i] == '&')
			buf_printf(out, "\\u%04x", text[i]);
		else
			buf_u8(out, (uint8_t)text[i]);
	return out->failed ? -1 : 0;
}

/* A page whose script draws the document. The title needs no escaping. */
static int
write_page(struct buf *out, const json_t *document, const char *title, const char *script,
    const char *script_end, struct err *e)
{
	struct buf data = { 0 };
	struct hash128 hash;
	char nonce[33];

	if (json_dump_callback(document, put_escaped, &data,
		JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9)) != 0) {
		buf_release(&data);
		return err_set(e, ERR_MEMORY, "page: out of memory");
	}
	hash = hash_bytes128(0, data.data, data.len);
	snprintf(nonce, sizeof nonce, "%016" PRIx64 "%016" PRIx64, hash.a, hash.b);
	html_put(out,
	    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
	buf_printf(out,
	    "style-src 'nonce-%s'; script-src 'nonce-%s'; base-uri 'none'; form-action 'none'\">\n",
	    nonce, nonce);
	html_put(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<meta name=\"color-scheme\" content=\"light dark\">\n");
	buf_printf(out, "<title>Hone: %s</title>\n<style nonce=\"%s\">\n", title, nonce);
	html_lines(out, thread_style, thread_style_end);
	html_lines(out, thread_style_more, thread_style_more_end);
	buf_printf(out, "</style></head>\n<body>\n<h1>Hone: %s</h1>\n", title);
	html_put(out,
	    "<noscript><p class=\"note\">The time lines on this page are drawn by a script, which does not run here.</p></noscript>\n"
	    "<main id=\"main\"></main>\n<script type=\"application/json\" id=\"document\">");
	buf_bytes(out, data.data, data.len);
	buf_printf(out, "</script>\n<script nonce=\"%s\">\n'use strict';\ntry {\n", nonce);
	html_lines(out, thread_elements, thread_elements_end);
	html_lines(out, thread_draw, thread_draw_end);
	html_lines(out, script, script_end);
	html_put(out,
	    "} catch (problem) {\n"
	    "document.getElementById('main').append('The time lines could not be drawn: ' + problem.message);\nthrow problem;\n}\n"
	    "</script>\n</body></html>\n");
	buf_release(&data);
	return out->failed ? err_set(e, ERR_MEMORY, "page: out of memory") : 0;
}

int
thread_page_write(struct buf *out, const json_t *document, struct err *e)
{
	return write_page(out, document, "what threads did", thread_script, thread_script_end, e);
}

int
annotation_page_write(struct buf *out, const json_t *document, struct err *e)
{
	return write_page(out, document, "what the kernel did for spans", annotation_script,
	    annotation_script_end, e);
}

int
states_page_write(struct buf *out, const json_t *document, struct err *e)
{
	return write_page(
	    out, document, "what operations wait for", states_script, states_script_end, e);
}

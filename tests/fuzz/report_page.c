/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON in, a page out; input that is not JSON becomes the texts of a small document. For any texts
 * the page has only its own markup, and the embedded document is the input. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                \
	do {                                                   \
		if (!(x)) {                                    \
			fprintf(stderr, "not true: %s\n", #x); \
			abort();                               \
		}                                              \
	} while (0)

static const char BEGIN[] = "<script type=\"application/json\" id=\"document\">";

/* All tags that page.html and page.c may emit before the document. */
static const char *const tags[] = { "<!doctype html>", "<!-- SPDX", "<html lang", "<head>",
	"</head>", "<meta ", "<title>", "</title>", "<style nonce=", "</style>", "<body>",
	"<header id=", "</header>", "<h1>", "</h1>", "<noscript>", "</noscript>", "<p>",
	"<p class=\"note\">", "</p>", "<main id=", "</main>", "<section id=", "</section>",
	"<h2 id=", "</h2>", "<div class=\"wide\">", "</div>", "<table id=\"plain\">", "</table>",
	"<thead>", "</thead>", "<tbody>", "</tbody>", "<tr>", "</tr>", "<th>", "<th class=\"n\">",
	"</th>", "<td>", "<td class=\"n\">", "</td>", "<code>", "</code>" };

static bool
begins_tag(const uint8_t *at, size_t left)
{
	for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
		size_t len = strlen(tags[i]);

		if (left >= len && memcmp(at, tags[i], len) == 0)
			return true;
	}
	return false;
}

/* The part between style and document, which contains the texts. */
static void
markup_is_ours(const struct buf *page)
{
	const uint8_t *at = memmem(page->data, page->len, "</style>", 8),
		      *end = memmem(page->data, page->len, BEGIN, sizeof BEGIN - 1);
	size_t open = 0, shut = 0;

	MUST(at != NULL && end != NULL && at < end);
	for (; at < end; at++) {
		MUST(*at != '<' || begins_tag(at, (size_t)(end - at)));
		open += *at == '<';
		shut += *at == '>';
	}
	MUST(open == shut);
}

static void
embedded_is(const struct buf *page, const json_t *document)
{
	const char *at = memmem(page->data, page->len, BEGIN, sizeof BEGIN - 1), *end;
	json_t *again, *short_numbers;
	char *text = json_dumps(document, JSON_REAL_PRECISION(9));

	MUST(at != NULL && text != NULL);
	at += sizeof BEGIN - 1;
	end = memmem(at, page->len - (size_t)((const uint8_t *)at - page->data), "</script", 8);
	MUST(end != NULL);
	again = json_loadb(at, (size_t)(end - at), JSON_ALLOW_NUL, NULL);
	short_numbers = json_loads(text, JSON_ALLOW_NUL, NULL);
	MUST(again != NULL && short_numbers != NULL && json_equal(again, short_numbers));
	json_decref(again);
	json_decref(short_numbers);
	free(text);
}

static json_t *
next_text(struct reader *r)
{
	const uint8_t *from = r->at;
	size_t len;

	while (reader_left(r) > 0 && *r->at != 0)
		r->at++;
	len = (size_t)(r->at - from);
	r->at += reader_left(r) > 0;
	return json_stringn((const char *)from, len);
}

static json_t *
document_of_texts(const uint8_t *data, size_t size)
{
	struct reader r = reader_of(data, size);
	json_t *type = next_text(&r), *group = next_text(&r);

	return json_pack(
	    "{s:{s:[o*]}, s:[{s:O*, s:[{s:O*, s:i, s:[{s:o*, s:o*, s:f}]}]}], s:[{s:o*, s:o*, s:o*}]}",
	    "source", "files", next_text(&r), "types", "type", type, "groups", "group", group,
	    "top", 0, "edges", "from", next_text(&r), "to", next_text(&r), "share", 0.5, "problems",
	    "type", type, "group", group, "problem", next_text(&r));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *document = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
	struct buf page = { 0 };
	struct err e;

	if (document == NULL)
		document = document_of_texts(data, size);
	if (document == NULL)
		return 0;
	if (page_write(&page, document, &e) < 0) {
		MUST(!json_is_object(document) && e.code == ERR_INPUT);
	} else {
		MUST(memchr(page.data, 0, page.len) == NULL);
		markup_is_ours(&page);
		embedded_is(&page, document);
	}
	json_decref(document);
	buf_release(&page);
	return 0;
}

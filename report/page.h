/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The document as one HTML file that contains its style, its script and the whole document, makes no
 * requests, and can be printed. The script draws the charts in the reader's browser; a table of the
 * problems is there without the script.
 *
 * Texts come from traces and are untrusted: `<`, `>` and `&` are JSON escapes in the document and HTML
 * escapes in the table; the script sets text only; the page's content security policy runs only the
 * script that carries a nonce hashed from the document.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends the page of a document (docs/report.md) to `out`, with samples if the document has them;
 * members that are missing or of another type are left out. Numbers keep nine digits. ERR_INPUT:
 * `document` is not an analysis document, or holds values that JSON cannot express; ERR_MEMORY.
 * O(document), which is twice in memory. */
int page_write(struct buf *out, const json_t *document, struct err *e);

#endif

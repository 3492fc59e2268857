/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The document as a page to look at: one file of HTML that holds its style, its
 * script and all of the document, loads nothing, and is readable in print. What
 * is drawn is drawn by the script in the reader's browser; a table of the
 * problems is there without it.
 *
 * Texts come from traces, so from anybody: in the document `<`, `>` and `&` are
 * written as escapes of JSON, in the table as those of HTML; the script sets
 * text only; and the page's policy lets nothing run but the script that bears a
 * number hashed from the document.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

/* Writes the page of a document (docs/report.md), with samples if it has some; members that are
 * missing or of another kind are left out. Appends to `out`. Numbers keep nine digits. ERR_INPUT:
 * `document` is none, or holds what JSON cannot; ERR_MEMORY. O(document), twice in memory. */
int page_write(struct buf *out, const json_t *document, struct err *e);

#endif

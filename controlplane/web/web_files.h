/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The live page, which is inside the program: it loads nothing from elsewhere. What is shown first is in one document, so that it takes one answer:
 *
 *	head, style | states of topics ... | who the page belongs to | script of the first view
 *
 * Style and script are permitted by their hashes (Content Security Policy Level 3, 6.7.2.3), nothing else inline is. The script of the other views and of
 * all that follows is a file of its own, which the page loads once the first view is painted; so is uPlot, which draws what changes with time.
 */
#ifndef CONTROLPLANE_WEB_WEB_FILES_H
#define CONTROLPLANE_WEB_WEB_FILES_H

#include <stddef.h>

#include "controlplane/web/web_document.h"

struct web_file {
	const char *path, *type; /* "/uplot.js", its Content-Type */
	const struct web_piece *text;
};

/* Puts the files together and compresses them, which takes some ms. -1: out of memory, or damaged at the build. */
int web_files_init(void);
/* The file of this path; NULL: there is none. Valid until web_files_release(), as are those below. */
const struct web_file *web_file(const char *path);
/* Before the states, and after who the page belongs to. */
const struct web_piece *web_page_head(void);
const struct web_piece *web_page_tail(void);
/* The Content-Security-Policy of the page. */
const char *web_page_policy(void);
void web_files_release(void);

#endif

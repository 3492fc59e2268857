/* SPDX-License-Identifier: MIT */
/*
 * The context that a statement's text carries, in the form of sqlcommenter
 * (google.github.io/sqlcommenter/spec): a block comment that is the first or
 * the last thing of the text and holds nothing but url-encoded pairs,
 *
 *	SELECT 1 / *controller='cart',traceparent='00-...-01',tracestate='hone%3D...'* /
 *
 * (without the two blanks). Nothing here knows of PostgreSQL's headers.
 */
#ifndef HONE_POSTGRES_COMMENT_H
#define HONE_POSTGRES_COMMENT_H

#include "instrument/hone.h"

/* A comment of more bytes is not looked at; nor is one whose place can only be
 * told by reading more of the text than that. */
enum { COMMENT_MAX_BYTES = 2048, COMMENT_LEX_MAX_BYTES = 16384 };

/* `sql`: a text that the server's lexer has accepted, `len` bytes. 0: *out is
 * what its last comment says, or else its first. -1: it says nothing, or not
 * in this form; *out is all zeroes. Looks at most at COMMENT_MAX_BYTES of either
 * end, and where the last line has a "--" before the comment, at
 * COMMENT_LEX_MAX_BYTES of the text. Never allocates. */
int comment_context(struct hone_carrier *out, const char *sql, size_t len);

/* The same from "<traceparent>[ <tracestate>]": what hone.context is set to. */
int setting_context(struct hone_carrier *out, const char *value);

#endif

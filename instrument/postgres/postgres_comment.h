/* SPDX-License-Identifier: MIT */
/*
 * The context in the text of a statement, in the format of sqlcommenter
 * (google.github.io/sqlcommenter/spec): a block comment at the begin or the end of
 * the text that consists of url-encoded pairs only,
 *
 *	SELECT 1 / *controller='cart',traceparent='00-...-01',tracestate='hone%3D...'* /
 *
 * (without the two blanks). Independent of PostgreSQL's headers.
 */
#ifndef HONE_POSTGRES_COMMENT_H
#define HONE_POSTGRES_COMMENT_H

#include "instrument/hone.h"

/* A longer comment is ignored; so is one for which more of the text would have to be parsed to know
 * whether it is inside of another comment. */
enum { COMMENT_MAX_BYTES = 2048, COMMENT_LEX_MAX_BYTES = 16384 };

/* Reads the context from a text of `len` bytes that the server's lexer has accepted. 0: *out is the
 * context of the last comment, or else of the first. -1: there is none in this format; *out is all
 * zeroes. Reads at most COMMENT_MAX_BYTES at either end, and, if the last line has a "--" before the
 * comment, COMMENT_LEX_MAX_BYTES of the text. Does not allocate. */
int comment_context(struct hone_carrier *out, const char *sql, size_t len);

/* The same from "<traceparent>[ <tracestate>]", the value of the setting hone.context. */
int setting_context(struct hone_carrier *out, const char *value);

#endif

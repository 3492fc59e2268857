/* SPDX-License-Identifier: MIT */
/*
 * Why parsing the end of the text alone is exact. The server's lexer has accepted
 * the text, so it ends outside of quotes and comments. Suppose that it ends with the
 * end of a comment, and that the last "begin of comment" before it is at p. If p were
 * inside of
 *	a literal 'x' or a quoted name "x",	the quote would have to end between p and the end of the
 *						text; but there is an even number of ' there, no \ and no ";
 *	a dollar-quoted text,			likewise: there is no $;
 *	another comment,			that comment would have no end;
 *	a comment from -- to the end of line:	possible; so if there is a -- between the begin of the
 *						line and p, the text is parsed from its beginning.
 * Otherwise a comment begins at p.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <string.h>

#include "instrument/postgres/postgres_comment.h"

/* The bytes that are left to parse. */
struct text {
	const char *at, *end;
};

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static bool
pair_at(const char *at, const char *end, char a, char b)
{
	return end - at >= 2 && at[0] == a && at[1] == b;
}

static void
skip_blanks(struct text *t)
{
	while (t->at < t->end && blank(*t->at))
		t->at++;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The class of each byte that may occur in a comment; 0: not allowed (see above). A table, since each
 * byte of the comment of each statement is tested. PLAIN: in a value. KEY: in a value or a key. CODE:
 * in a key, or the first of three bytes %xx in a value. */
enum { PLAIN = 1, KEY = 2, CODE = 4 };

static const uint8_t bytes[256] = {
	[' ' ... '!'] = PLAIN,
	['#'] = PLAIN,
	['%'] = CODE,
	['&'] = PLAIN,
	['(' ... '*'] = PLAIN,
	['+'] = KEY,
	[','] = PLAIN,
	['-' ... '.'] = KEY,
	['/'] = PLAIN,
	['0' ... '9'] = KEY,
	[':' ... '?'] = PLAIN,
	['@' ... 'Z'] = KEY,
	['['] = PLAIN,
	[']' ... '^'] = PLAIN,
	['_'] = KEY,
	['`'] = PLAIN,
	['a' ... 'z'] = KEY,
	['{' ... '}'] = PLAIN,
	['~'] = KEY,
	[0x80 ... 0xff] = PLAIN,
};

/* The byte of %xx; -1: malformed, or 0, which would end the C string too early. */
static int
code_read(const char *at, const char *end)
{
	int high = end - at > 2 ? hex_digit(at[1]) : -1;
	int low = high >= 0 ? hex_digit(at[2]) : -1;

	return low < 0 || (high | low) == 0 ? -1 : high << 4 | low;
}

/* Decodes a value and skips its closing quote; -1: malformed. `room` holds the value and a final 0. */
static int
value_read(struct text *t, char *room)
{
	const char *at = t->at, *end = t->end;
	uint8_t kind;
	int code;

	for (; at < end && (kind = bytes[(unsigned char)*at]) != 0; at++) {
		if (__builtin_expect(kind != CODE, 1)) {
			*room++ = *at;
			continue;
		}
		code = code_read(at, end);
		if (code < 0)
			return -1;
		*room++ = (char)code;
		at += 2;
	}
	*room = '\0';
	t->at = at + 1;
	return at < end && *at == '\'' ? 0 : -1;
}

/* Parses key='value'; -1: malformed, or a second traceparent or tracestate, which is ambiguous. */
static int
pair_read(struct text *t, char *parent, char *state)
{
	char other[COMMENT_MAX_BYTES + 1], *into = other;
	const char *key;
	size_t len;

	skip_blanks(t);
	for (key = t->at; t->at < t->end && bytes[(unsigned char)*t->at] >= KEY; t->at++)
		;
	len = (size_t)(t->at - key);
	if (len == 11 && memcmp(key, "traceparent", 11) == 0)
		into = parent;
	else if (len == 10 && memcmp(key, "tracestate", 10) == 0)
		into = state;
	if (len == 0 || (into != other && into[0] != '\0'))
		return -1;
	skip_blanks(t);
	if (t->at == t->end || *t->at++ != '=')
		return -1;
	skip_blanks(t);
	if (t->at == t->end || *t->at++ != '\'')
		return -1;
	return value_read(t, into);
}

/* Parses the inside of a comment, which must consist of pairs only. */
static int
pairs_read(struct hone_carrier *out, struct text t)
{
	char parent[COMMENT_MAX_BYTES + 1], state[COMMENT_MAX_BYTES + 1];

	parent[0] = state[0] =
	    '\0'; /* the rest is not cleared: each page that is touched costs time */
	for (;;) {
		if (pair_read(&t, parent, state) != 0)
			return -1;
		skip_blanks(&t);
		if (t.at == t.end)
			break;
		if (*t.at++ != ',')
			return -1;
	}
	return hone_carrier_read(out, parent, state);
}

/* Whether a byte may continue a name: letters, digits, _ and all bytes that are not ASCII ($ is
 * tested by the callers). */
static bool
name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (c & 0x80) != 0;
}

/* The position after a quoted text that begins at `at`. */
static const char *
past(const char *at, const char *end, char quote, bool escapes)
{
	for (at++; at < end; at++) {
		if ((*at == '\\' && escapes) || pair_at(at, end, quote, quote))
			at++;
		else if (*at == quote)
			return at + 1;
	}
	return end;
}

/* The position after a text $tag$...$tag$, or after a $ that begins no such text. */
static const char *
past_dollar(const char *at, const char *end)
{
	const char *tag_end = at + 1;
	size_t len;

	while (tag_end < end && name_char(*tag_end) &&
	       !(tag_end == at + 1 && *tag_end >= '0' && *tag_end <= '9'))
		tag_end++;
	if (tag_end >= end || *tag_end != '$')
		return at + 1;
	len = (size_t)(tag_end + 1 - at);
	for (const char *s = at + len; s < end; s++) {
		if (*s == '$' && (size_t)(end - s) >= len && memcmp(s, at, len) == 0)
			return s + len;
	}
	return end;
}

static const char *
past_comment(const char *at, const char *end)
{
	int deep = 0;

	while (at < end) {
		if (pair_at(at, end, '/', '*'))
			deep++, at += 2;
		else if (!pair_at(at, end, '*', '/'))
			at++;
		else if (at += 2, --deep == 0)
			break;
	}
	return at;
}

static const char *
past_name(const char *at, const char *end)
{
	bool escapes = (*at | 0x20) == 'e' && pair_at(at, end, *at, '\'');

	if (escapes)
		return past(at + 1, end, '\'', true);
	while (at < end && (name_char(*at) || *at == '$'))
		at++;
	return at;
}

/* Whether p is outside of all quotes and comments. Parses the text from its beginning. */
static bool
outside(const char *sql, const char *p, const char *end)
{
	const char *at = sql;

	while (at < p) {
		if (*at == '\'' || *at == '"')
			at = past(at, end, *at, false);
		else if (*at == '$')
			at = past_dollar(at, end);
		else if (pair_at(at, end, '/', '*'))
			at = past_comment(at, end);
		else if (pair_at(at, end, '-', '-'))
			while (at < end && *at != '\n' && *at != '\r')
				at++;
		else if (name_char(*at))
			at = past_name(at, end);
		else
			at++;
	}
	return at == p;
}

/* Whether p may be in a comment that extends to the end of its line. Examines at most
 * COMMENT_LEX_MAX_BYTES; true if that does not suffice. */
static bool
line_comment_before(const char *sql, const char *p)
{
	bool all = p - sql <= COMMENT_LEX_MAX_BYTES;
	const char *line = all ? sql : p - COMMENT_LEX_MAX_BYTES, *end;

	for (const char *c = "\n\r"; *c != '\0'; c++) {
		end = memrchr(line, *c, (size_t)(p - line));
		if (end != NULL) {
			line = end + 1;
			all = true;
		}
	}
	if (!all)
		return true;
	while ((line = memchr(line, '-', (size_t)(p - line))) != NULL) {
		if (pair_at(line++, p, '-', '-'))
			return true;
	}
	return false;
}

/* The begin of the comment that ends at `end`, not before `least`; NULL: not found, or another
 * comment ends in between. */
static const char *
beginning(const char *least, const char *end)
{
	const char *star = end;

	while ((star = memrchr(least, '*', (size_t)(star - least))) != NULL) {
		if (star > least && star[-1] == '/')
			return star - 1;
		if (pair_at(star, end, '*', '/'))
			return NULL;
	}
	return NULL;
}

/* Sets *in to the inside of the comment at the end of the text; -1: the text ends otherwise. */
static int
comment_last(struct text *in, const char *sql, const char *end)
{
	const char *p, *least;

	while (end > sql && (blank(end[-1]) || end[-1] == ';'))
		end--;
	if (end - sql < 4 || !pair_at(end - 2, end, '*', '/'))
		return -1;
	in->end = end - 2;
	least = in->end - sql > COMMENT_MAX_BYTES ? in->end - COMMENT_MAX_BYTES : sql;
	p = beginning(least, in->end);
	if (p == NULL || (p > sql && p[-1] == '*'))
		return -1;
	in->at = p + 2;
	if (line_comment_before(sql, p) &&
	    (p - sql > COMMENT_LEX_MAX_BYTES || !outside(sql, p, end)))
		return -1;
	return 0;
}

/* Sets *in to the inside of the comment at the begin of the text, after blanks; -1: there is none. */
static int
comment_first(struct text *in, const char *sql, const char *end)
{
	struct text t = { sql, end - sql > COMMENT_MAX_BYTES ? sql + COMMENT_MAX_BYTES : end };

	skip_blanks(&t);
	if (!pair_at(t.at, t.end, '/', '*'))
		return -1;
	for (in->at = t.at += 2; !pair_at(t.at, t.end, '*', '/'); t.at++) {
		if (t.end - t.at < 2 || pair_at(t.at, t.end, '/', '*'))
			return -1;
	}
	in->end = t.at;
	return 0;
}

int
comment_context(struct hone_carrier *out, const char *sql, size_t len)
{
	struct text in;

	if (comment_last(&in, sql, sql + len) == 0 && pairs_read(out, in) == 0)
		return 0;
	if (comment_first(&in, sql, sql + len) == 0 && pairs_read(out, in) == 0)
		return 0;
	*out = (struct hone_carrier){ 0 };
	return -1;
}

int
setting_context(struct hone_carrier *out, const char *value)
{
	char parent[COMMENT_MAX_BYTES + 1];
	size_t len = strcspn(value, " ");

	*out = (struct hone_carrier){ 0 };
	if (len >= sizeof parent)
		return -1;
	memcpy(parent, value, len);
	parent[len] = '\0';
	value += len + strspn(value + len, " ");
	return hone_carrier_read(out, parent, *value != '\0' ? value : NULL);
}

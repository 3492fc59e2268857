/* SPDX-License-Identifier: MIT */
/*
 * Reads texts of SQL's elements. The context that is found from a text's ends must be the one that
 * is found by reading the text from its beginning, byte by byte, if that reading ends outside of
 * all quotes and comments.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "instrument/postgres/postgres_comment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static const char *const words[] = {
	"'",
	"\"",
	"$$",
	"$a$",
	"$",
	"--",
	"\n",
	"/*",
	"*/",
	"/",
	"*",
	"-",
	"E'",
	"e",
	"\\",
	";",
	" ",
	"a",
	"1",
	"''",
	",",
	"=",
	"%",
	"\xc3",
	"/*traceparent='" PARENT "'*/",
	"traceparent='" PARENT "'",
	"tracestate='hone%3D00f067aa0ba902b7-123456783'",
	"a='b'",
	"/*traceparent='" PARENT "',tracestate='hone%3D00f067aa0ba902b7-123456783'*/",
	"SELECT",
	"--\n",
	"'--'",
};

/* The last block comment so far, and the first one if only blanks came before it. */
struct reading {
	size_t from, to;
	size_t first_from, first_to;
	bool last; /* only blanks and ; have come since */
	bool valid;
};

static bool
blank(char c)
{
	return c != '\0' && strchr(" \t\n\r\f\v", c) != NULL;
}

static bool
letter(char c)
{
	return c == '_' || (c & 0x80) != 0 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The position behind the quoted text that begins at i; 0: it does not end. */
static size_t
quoted(const char *s, size_t n, size_t i, bool escapes)
{
	char quote = s[i];

	for (i++; i < n; i++) {
		if (escapes && s[i] == '\\')
			i++;
		else if (s[i] == quote && i + 1 < n && s[i + 1] == quote)
			i++;
		else if (s[i] == quote)
			return i + 1;
	}
	return 0;
}

static size_t
dollars(const char *s, size_t n, size_t i)
{
	size_t end = i + 1, len;

	if (end < n && letter(s[end]))
		while (end < n && (letter(s[end]) || digit(s[end])))
			end++;
	if (end >= n || s[end] != '$')
		return i + 1;
	len = end + 1 - i;
	for (size_t at = end + 1; at + len <= n; at++) {
		if (memcmp(s + at, s + i, len) == 0)
			return at + len;
	}
	return 0;
}

static size_t
commented(const char *s, size_t n, size_t i)
{
	int deep = 1;

	for (i += 2; i + 1 < n; i++) {
		if (s[i] == '/' && s[i + 1] == '*')
			deep++, i++;
		else if (s[i] == '*' && s[i + 1] == '/' && i++ && --deep == 0)
			return i + 1;
	}
	return 0;
}

static size_t
word(const char *s, size_t n, size_t i)
{
	if ((s[i] == 'e' || s[i] == 'E') && i + 1 < n && s[i + 1] == '\'')
		return quoted(s, n, i + 1, true);
	while (i < n && (letter(s[i]) || digit(s[i]) || s[i] == '$'))
		i++;
	return i;
}

static struct reading
read_all(const char *s, size_t n)
{
	struct reading r = { .first_to = 0 };
	bool something = false;

	for (size_t i = 0, next; i < n; i = next) {
		char then = i + 1 < n ? s[i + 1] : '\0';

		next = i + 1;
		if (s[i] == '\'' || s[i] == '"')
			next = quoted(s, n, i, false);
		else if (s[i] == '$')
			next = dollars(s, n, i);
		else if (letter(s[i]) || digit(s[i]))
			next = word(s, n, i);
		else if (s[i] == '*' && then == '/')
			return r; /* at best an operator, which must be followed by another token */
		else if (s[i] == '-' && then == '-')
			for (next = i; next < n && s[next] != '\n' && s[next] != '\r'; next++)
				;
		else if (s[i] == '/' && then == '*') {
			next = commented(s, n, i);
			if (next != 0 && !something)
				r.first_from = i, r.first_to = next;
			r.from = i, r.to = next, r.last = true;
			something = true;
			if (next == 0)
				return r;
			continue;
		}
		if (next == 0)
			return r;
		r.last = r.last && (blank(s[i]) || s[i] == ';');
		something = something || !blank(s[i]);
	}
	r.valid = true;
	return r;
}

/* The result for this comment alone. */
static bool
alone(struct hone_carrier *c, const char *s, size_t from, size_t to)
{
	return to > from && comment_context(c, s + from, to - from) == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { ROOM = COMMENT_MAX_BYTES - 200 };
	char text[ROOM], *s;
	size_t n = 0;
	struct reading r;
	struct hone_carrier found, wanted = { 0 };
	int rc;

	for (size_t i = 0; i < size && n < ROOM - 160; i++) {
		const char *w = words[data[i] % (sizeof words / sizeof *words)];

		memcpy(text + n, w, strlen(w));
		n += strlen(w);
	}
	s = malloc(
	    n +
	    (n == 0)); /* a block of exactly its size, so that a read past its end is detected */
	if (s == NULL)
		abort();
	memcpy(s, text, n);
	rc = comment_context(&found, s, n);
	assert((rc == 0) == (found.trace_id != 0));
	r = read_all(s, n);
	if (r.valid) {
		if (!(r.last && alone(&wanted, s, r.from, r.to)) &&
		    !alone(&wanted, s, r.first_from, r.first_to))
			wanted = (struct hone_carrier){ 0 };
		assert(memcmp(&found, &wanted, sizeof found) == 0);
	}
	free(s);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/ctf/ctf_lex.h"

#include <ctype.h>
#include <string.h>

static const char *skip_blank(const char *p, const char *end);
static const char *skip_text(const char *p, const char *end);

void
ctf_lex_begin(struct ctf_lexer *l, const char *text, size_t len)
{
	memset(l, 0, sizeof *l);
	l->at = text;
	l->end = text + len;
	ctf_lex_next(l);
}

static bool
is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A decimal, octal or hexadecimal number with any suffix of C; TOKEN_BAD if it exceeds 64 bits. */
static void
lex_number(struct ctf_lexer *l)
{
	unsigned base = 10;
	const char *p = l->start;
	uint64_t v = 0;

	l->token = TOKEN_NUMBER;
	if (*p == '0' && p + 1 < l->end && (p[1] == 'x' || p[1] == 'X')) {
		base = 16;
		p += 2;
	} else if (*p == '0') {
		base = 8;
	}
	for (; p < l->end && isxdigit((unsigned char)*p); p++) {
		unsigned digit = isdigit((unsigned char)*p)
		                     ? (unsigned)(*p - '0')
		                     : (unsigned)(tolower((unsigned char)*p) - 'a') + 10;
		if (digit >= base || v > (UINT64_MAX - digit) / base) {
			l->token = TOKEN_BAD;
			break;
		}
		v = v * base + digit;
	}
	while (
	    p < l->end && (tolower((unsigned char)*p) == 'u' || tolower((unsigned char)*p) == 'l'))
		p++;
	if (p < l->end && is_word(*p))
		l->token = TOKEN_BAD;
	l->number = v;
	l->at = p;
}

static void
lex_text(struct ctf_lexer *l)
{
	const char *close = skip_text(l->start, l->end);

	l->token = close == NULL ? TOKEN_BAD : TOKEN_TEXT;
	l->at = close == NULL ? l->end : close;
	l->start++;
	l->len = close == NULL ? 0 : (size_t)(close - 1 - l->start);
}

void
ctf_lex_next(struct ctf_lexer *l)
{
	const char *p = skip_blank(l->at, l->end);

	if (p == NULL || p == l->end) {
		l->token = p == NULL ? TOKEN_BAD : TOKEN_END;
		l->start = l->at = l->end;
		l->len = 0;
		return;
	}
	l->start = p;
	if (*p == '"') {
		lex_text(l);
		return;
	}
	if (isdigit((unsigned char)*p)) {
		lex_number(l);
	} else if (is_word(*p)) {
		l->token = TOKEN_WORD;
		while (p < l->end && is_word(*p))
			p++;
		l->at = p;
	} else if (l->end - p >= 3 && memcmp(p, "...", 3) == 0) {
		l->token = TOKEN_DOTS;
		l->at = p + 3;
	} else if (l->end - p >= 2 && p[0] == ':' && p[1] == '=') {
		l->token = TOKEN_ASSIGN;
		l->at = p + 2;
	} else {
		l->token = (unsigned char)*p > TOKEN_BAD ? (unsigned char)*p : TOKEN_BAD;
		l->at = p + 1;
	}
	l->len = (size_t)(l->at - l->start);
}

bool
ctf_lex_is(const struct ctf_lexer *l, const char *word)
{
	return l->token == TOKEN_WORD && strlen(word) == l->len &&
	       memcmp(l->start, word, l->len) == 0;
}

/* Skips blanks and comments. NULL: a comment does not end. */
static const char *
skip_blank(const char *p, const char *end)
{
	while (p < end) {
		if (isspace((unsigned char)*p) || *p == '\0') {
			p++;
		} else if (end - p >= 2 && p[0] == '/' && p[1] == '*') {
			for (p += 2; end - p >= 2 && !(p[0] == '*' && p[1] == '/'); p++)
				;
			if (end - p < 2)
				return NULL;
			p += 2;
		} else if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
			while (p < end && *p != '\n')
				p++;
		} else {
			break;
		}
	}
	return p;
}

/* From the opening quote to behind the closing one. NULL: the text does not end. */
static const char *
skip_text(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		if (*p == '\\')
			p++;
		else if (*p == '"')
			return p + 1;
	}
	return NULL;
}

size_t
ctf_lex_statement(const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	int depth = 0;

	while ((p = skip_blank(p, end)) != NULL && p < end) {
		if (*p == '"') {
			if ((p = skip_text(p, end)) == NULL)
				break;
			continue;
		}
		depth += (*p == '{') - (*p == '}');
		if (*p++ == ';' && depth <= 0)
			return (size_t)(p - text);
	}
	return 0;
}

size_t
ctf_lex_unescape(char *out, const char *in, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (in[i] != '\\' || i + 1 == len) {
			out[n++] = in[i];
			continue;
		}
		switch (in[++i]) {
		case 'n':
			out[n++] = '\n';
			break;
		case 't':
			out[n++] = '\t';
			break;
		case 'r':
			out[n++] = '\r';
			break;
		default:
			out[n++] = in[i];
			break;
		}
	}
	return n;
}

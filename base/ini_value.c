/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "base/ini_value.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 24 }; /* 10^24 hours in ns are under 2^127 */

struct unit_suffix {
	const char *name;
	int64_t size;
};

/* In descending order: printing takes the first that divides the value. */
static const struct unit_suffix time_units[] = {
	{ "h", 3600000000000 },
	{ "min", 60000000000 },
	{ "s", 1000000000 },
	{ "ms", 1000000 },
	{ "us", 1000 },
	{ "ns", 1 },
	{ NULL, 0 },
};
static const struct unit_suffix byte_units[] = {
	{ "GiB", 1 << 30 },
	{ "MiB", 1 << 20 },
	{ "KiB", 1 << 10 },
	{ "B", 1 },
	{ NULL, 0 },
};

bool
piece_is(struct piece p, const char *s)
{
	return p.len == strlen(s) && memcmp(p.s, s, p.len) == 0;
}

struct piece
piece_trim(struct piece p)
{
	while (p.len > 0 && (p.s[0] == ' ' || p.s[0] == '\t')) {
		p.s++;
		p.len--;
	}
	while (p.len > 0 && (p.s[p.len - 1] == ' ' || p.s[p.len - 1] == '\t'))
		p.len--;
	return p;
}

/* ---- printing ---- */

/* As a whole number of the largest unit that divides it. */
static void
print_units(struct buf *b, int64_t v, const struct unit_suffix *units)
{
	if (v == 0) /* in seconds or bytes: every unit divides 0 */
		units = units == time_units ? &time_units[2] : &byte_units[3];
	while (v % units->size != 0)
		units++;
	buf_printf(b, "%lld%s", (long long)(v / units->size), units->name);
}

/* The shortest decimal text of v * scale that parses to v; "" if there is none. */
static void
shortest(char out[40], double v, double scale)
{
	char words[40];

	out[0] = 0;
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(words, sizeof words, "%.*g", digits, v * scale);
		if (strtod(words, NULL) / scale == v &&
		    (out[0] == 0 || strlen(words) < strlen(out)))
			strcpy(out, words);
	}
}

/* As a percentage, unless that is over two characters longer or does not parse to v. */
static void
print_share(struct buf *b, double v)
{
	char percent[40], plain[40];

	shortest(percent, v, 100);
	shortest(plain, v, 1);
	if (percent[0] != 0 && strlen(percent) <= strlen(plain) + 2)
		buf_printf(b, "%s%%", percent);
	else
		buf_printf(b, "%s", plain);
}

static bool
is_plain(const char *s)
{
	size_t len = strlen(s);

	if (len == 0)
		return true;
	if (s[0] == '"' || s[0] == '#' || s[0] == ' ' || s[len - 1] == ' ')
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f || (s[i] == '#' && s[i - 1] == ' '))
			return false;
	return true;
}

static void
print_text(struct buf *b, const char *s)
{
	if (is_plain(s)) {
		buf_printf(b, "%s", s);
		return;
	}
	buf_u8(b, '"');
	for (; *s != 0; s++) {
		if (*s == '\\' || *s == '"')
			buf_printf(b, "\\%c", *s);
		else if (*s == '\n')
			buf_printf(b, "\\n");
		else if (*s == '\t')
			buf_printf(b, "\\t");
		else if ((unsigned char)*s < ' ' || *s == 0x7f)
			buf_printf(b, "\\x%02x", (unsigned char)*s);
		else
			buf_u8(b, (uint8_t)*s);
	}
	buf_u8(b, '"');
}

void
ini_value_print(struct buf *b, const struct ini_key *k, const void *config)
{
	const void *at = (const char *)config + k->offset;

	assert(k->type <= INI_BOOL);
	switch (k->type) {
	case INI_TEXT:
		print_text(b, *(char *const *)at == NULL ? "" : *(char *const *)at);
		break;
	case INI_COUNT:
		buf_printf(b, "%lld", (long long)*(const int64_t *)at);
		break;
	case INI_TIME:
		print_units(b, *(const int64_t *)at, time_units);
		break;
	case INI_BYTES:
		print_units(b, *(const int64_t *)at, byte_units);
		break;
	case INI_SHARE:
		print_share(b, *(const double *)at);
		break;
	case INI_BOOL:
		buf_printf(b, "%s", *(const int *)at ? "yes" : "no");
		break;
	}
}

static bool
has_bounds(const struct ini_key *k)
{
	return k->type != INI_TEXT && k->type != INI_BOOL && !(k->min == 0 && k->max == 0);
}

static void
print_bound(struct buf *b, const struct ini_key *k, double v)
{
	if (k->type == INI_SHARE)
		print_share(b, v);
	else if (k->type == INI_COUNT)
		buf_printf(b, "%.0f", v);
	else
		print_units(b, (int64_t)v, k->type == INI_TIME ? time_units : byte_units);
}

void
ini_value_bounds(struct buf *b, const struct ini_key *k)
{
	bool open = k->max >= 0x1p62;

	if (!has_bounds(k))
		return;
	if (open)
		buf_printf(b, "at least ");
	print_bound(b, k, k->min);
	if (!open) {
		buf_printf(b, " to ");
		print_bound(b, k, k->max);
	}
}

/* ---- parsing ---- */

/* "12", "-3", "1.25": digits * 10^-decimals, and the rest of the text. No exponents. */
static bool
parse_decimal(struct piece p, __int128 *digits, int *decimals, struct piece *rest)
{
	bool negative = p.len > 0 && *p.s == '-', point = false;
	const char *at = p.s + negative, *end = p.s + p.len;
	int n = 0;

	*digits = *decimals = 0;
	for (; at < end && (isdigit((unsigned char)*at) || (*at == '.' && !point && n > 0)); at++) {
		if (*at == '.') {
			point = true;
			continue;
		}
		if (++n > DIGITS_MAX)
			return false;
		*digits = *digits * 10 + (*at - '0');
		*decimals += point;
	}
	if (negative)
		*digits = -*digits;
	*rest = (struct piece){ at, (size_t)(end - at) };
	return n > 0 && at[-1] != '.';
}

static bool
parse_count(struct piece p, int64_t *ret)
{
	char text[24], *end;

	if (p.len == 0 || p.len >= sizeof text ||
	    !(isdigit((unsigned char)p.s[0]) || p.s[0] == '-'))
		return false;
	memcpy(text, p.s, p.len);
	text[p.len] = 0;
	errno = 0;
	*ret = strtoll(text, &end, 10);
	return errno == 0 && end == text + p.len && end[-1] != '-';
}

/* Only values that are whole in the smallest unit: 1.5ms is 1500000 ns, 0.5ns is refused. */
static bool
parse_units(struct piece p, const struct unit_suffix *units, int64_t *ret)
{
	struct piece rest;
	__int128 digits, scale = 1, v;
	int decimals;

	if (!parse_decimal(p, &digits, &decimals, &rest))
		return false;
	rest = piece_trim(rest);
	while (units->name != NULL && !piece_is(rest, units->name))
		units++;
	if (units->name == NULL)
		return false;
	for (; decimals > 0; decimals--)
		scale *= 10;
	v = digits * units->size;
	if (v % scale != 0 || v / scale > INT64_MAX || v / scale < INT64_MIN)
		return false;
	*ret = (int64_t)(v / scale);
	return true;
}

/* A division by 100 rounds once, so 10% and 0.1 are the same number. strtod() needs the C locale, which no program
 * here changes. */
static bool
parse_share(struct piece p, double *ret)
{
	bool percent = p.len > 0 && p.s[p.len - 1] == '%';
	char text[40], *end;

	if (percent)
		p = piece_trim((struct piece){ p.s, p.len - 1 });
	if (p.len == 0 || p.len >= sizeof text)
		return false;
	memcpy(text, p.s, p.len);
	text[p.len] = 0;
	if (strspn(text, "0123456789.eE+-") != p.len) /* not nan, inf or 0x1p3 */
		return false;
	*ret = strtod(text, &end);
	if (percent)
		*ret /= 100;
	return end == text + p.len && *ret - *ret == 0;
}

static int
hex(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Decodes one character of a quoted text; false: malformed. */
static bool
unquote(const char **at, const char *end, char *ret)
{
	const char *s = *at;

	if (*s != '\\') {
		*ret = *s;
		*at = s + 1;
		return *s != '"';
	}
	if (end - s < 2)
		return false;
	*at = s + 2;
	*ret = s[1] == 'n' ? '\n' : s[1] == 't' ? '\t' : s[1];
	if (s[1] == 'x' && end - s >= 4 && isxdigit((unsigned char)s[2]) &&
	    isxdigit((unsigned char)s[3])) {
		*at = s + 4;
		*ret = (char)(hex(s[2]) << 4 | hex(s[3]));
		return *ret != 0;
	}
	return strchr("nt\\\"", s[1]) != NULL;
}

static int
parse_text(struct piece p, char **ret, struct err *e)
{
	const char *at = p.s, *end = p.s + p.len;
	size_t n = 0;
	char *text;

	if ((text = malloc(p.len + 1)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if (p.len == 0 || *at != '"') {
		memcpy(text, p.s, n = p.len);
	} else {
		if (p.len < 2 || *--end != '"')
			goto bad;
		for (at++; at < end;)
			if (!unquote(&at, end, &text[n++]))
				goto bad;
	}
	text[n] = 0;
	*ret = text;
	return 0;
bad:
	free(text);
	return err_set(e, ERR_INPUT,
	    "a quoted text ends with \" and knows \\\\ \\\" \\n \\t \\xHH, nothing else");
}

static int
set_text(char **at, const struct ini_key *k, struct piece p, struct err *e)
{
	struct buf line = { 0 };
	char *text = NULL;
	bool failed;
	size_t len;
	int rc;

	if ((rc = parse_text(p, &text, e)) != 0)
		return rc;
	print_text(&line, text); /* every accepted text can be printed in a line and read again */
	len = line.len + strlen(k->name) + strlen(" = ");
	failed = line.failed;
	buf_release(&line);
	if (failed || len > INI_LINE_MAX_BYTES) {
		free(text);
		return failed ? err_set(e, ERR_MEMORY, "out of memory")
		              : err_set(e, ERR_INPUT, "text too long: a line has at most %d bytes",
				    INI_LINE_MAX_BYTES);
	}
	free(*at);
	*at = text;
	return 0;
}

static const char *
wanted(enum ini_type type)
{
	switch (type) {
	case INI_COUNT:
		return "a whole number, as 12";
	case INI_TIME:
		return "a time with its unit (ns, us, ms, s, min, h), as 250ms";
	case INI_BYTES:
		return "a size with its unit (B, KiB, MiB, GiB), as 64MiB";
	case INI_SHARE:
		return "a share, as 10% or 0.1";
	default:
		return "yes or no";
	}
}

static int
fail_bounds(const struct ini_key *k, struct piece p, struct err *e)
{
	struct buf bounds = { 0 };
	int rc;

	ini_value_bounds(&bounds, k);
	rc = err_set(e, ERR_INPUT, "%.*s is out of range, want %.*s", (int)p.len, p.s,
	    (int)bounds.len, (const char *)bounds.data);
	buf_release(&bounds);
	return rc;
}

int
ini_value_set(const struct ini_key *k, void *config, struct piece p, struct err *e)
{
	void *at = (char *)config + k->offset;
	int64_t whole = 0;
	double share = 0, number;
	bool ok;

	assert(k->type <= INI_BOOL && (p.s != NULL || p.len == 0));
	if (k->type == INI_TEXT)
		return set_text(at, k, p, e);
	if (k->type == INI_COUNT)
		ok = parse_count(p, &whole);
	else if (k->type == INI_SHARE)
		ok = parse_share(p, &share);
	else if (k->type == INI_BOOL)
		ok = (whole = piece_is(p, "yes")) || piece_is(p, "no");
	else
		ok = parse_units(p, k->type == INI_TIME ? time_units : byte_units, &whole);
	if (!ok)
		return err_set(e, ERR_INPUT, "\"%.*s\" is not %s", (int)(p.len < 60 ? p.len : 60),
		    p.s, wanted(k->type));
	number = k->type == INI_SHARE ? share : (double)whole;
	if (has_bounds(k) && (number < k->min || number > k->max))
		return fail_bounds(k, p, e);
	if (k->type == INI_SHARE)
		*(double *)at = share;
	else if (k->type == INI_BOOL)
		*(int *)at = (int)whole;
	else
		*(int64_t *)at = whole;
	return 0;
}

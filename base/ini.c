/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * file    = { line }
 * line    = blanks [ "[" section "]" | key "=" value ] blanks [ "#" anything ]
 * value   = plain text without " #" | '"' text with \\ \" \n \t \xHH '"'
 *
 * A # begins a comment at the start of a line or after a blank, not inside quotes.
 */
#define _GNU_SOURCE
#include "base/ini.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

enum { LINE_MAX_BYTES = 4096, FILE_MAX_BYTES = 1 << 20, DIGITS_MAX = 24 /* times an hour in ns, still under 2^127 */ };

struct table {
	const struct ini_key *keys;
	size_t nkeys;
	char *config;
};

struct piece {			/* of a line, not terminated */
	const char *s;
	size_t len;
};

struct unit {
	const char *name;
	int64_t size;
};

static const struct unit time_units[] = {	/* the largest first: printing takes the first that fits */
	{ "h", 3600000000000 }, { "min", 60000000000 }, { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 },
	{ "ns", 1 }, { NULL, 0 },
};
static const struct unit byte_units[] = {
	{ "GiB", 1 << 30 }, { "MiB", 1 << 20 }, { "KiB", 1 << 10 }, { "B", 1 }, { NULL, 0 },
};

static void *
place(const struct table *t, const struct ini_key *k)
{
	return t->config + k->offset;
}

static bool
same(struct piece p, const char *s)
{
	return p.len == strlen(s) && memcmp(p.s, s, p.len) == 0;
}

static struct piece
trim(struct piece p)
{
	while (p.len > 0 && (p.s[0] == ' ' || p.s[0] == '\t')) {
		p.s++;
		p.len--;
	}
	while (p.len > 0 && (p.s[p.len - 1] == ' ' || p.s[p.len - 1] == '\t'))
		p.len--;
	return p;
}

/* ---- values as words ---- */

/* Whole numbers in the largest unit that divides them. */
static void
print_units(struct buf *b, int64_t v, const struct unit *units)
{
	if (v == 0)	/* any would do: the one that people expect */
		units = units == time_units ? &time_units[2] : &byte_units[3];
	while (v % units->size != 0)
		units++;
	buf_printf(b, "%lld%s", (long long)(v / units->size), units->name);
}

/* The shortest words of v * scale that read back to v. */
static void
shortest(char out[40], double v, double scale)
{
	char words[40];

	out[0] = 0;
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(words, sizeof words, "%.*g", digits, v * scale);
		if (strtod(words, NULL) / scale == v && (out[0] == 0 || strlen(words) < strlen(out)))
			strcpy(out, words);
	}
}

/* As percentage, unless that is much longer, or does not read back exactly. */
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

static void
print_value(struct buf *b, const struct table *t, const struct ini_key *k)
{
	const void *at = place(t, k);

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

/* "1ms to 1h", or "at least 1ms" where the upper one is past all numbers. */
static void
print_bounds(struct buf *b, const struct ini_key *k)
{
	bool open = k->max >= 0x1p62;

	if (open)
		buf_printf(b, "at least ");
	print_bound(b, k, k->min);
	if (!open) {
		buf_printf(b, " to ");
		print_bound(b, k, k->max);
	}
}

/* ---- words to values ---- */

/* "12", "-3", "1.25": digits * 10^-decimals, and what comes behind. No exponents. */
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

	if (p.len == 0 || p.len >= sizeof text || !(isdigit((unsigned char)p.s[0]) || p.s[0] == '-'))
		return false;
	memcpy(text, p.s, p.len);
	text[p.len] = 0;
	errno = 0;
	*ret = strtoll(text, &end, 10);
	return errno == 0 && end == text + p.len && end[-1] != '-';
}

/* Exact, or not at all: 1.5ms is 1500000 ns, 0.5ns is nothing. */
static bool
parse_units(struct piece p, const struct unit *units, int64_t *ret)
{
	struct piece rest;
	__int128 digits, scale = 1, v;
	int decimals;

	if (!parse_decimal(p, &digits, &decimals, &rest))
		return false;
	rest = trim(rest);
	while (units->name != NULL && !same(rest, units->name))
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

/* Dividing by 100 rounds once, so 10% and 0.1 are the same number. No program of ours sets a locale for strtod(). */
static bool
parse_share(struct piece p, double *ret)
{
	bool percent = p.len > 0 && p.s[p.len - 1] == '%';
	char text[40], *end;

	if (percent)
		p = trim((struct piece){ p.s, p.len - 1 });
	if (p.len == 0 || p.len >= sizeof text)
		return false;
	memcpy(text, p.s, p.len);
	text[p.len] = 0;
	if (strspn(text, "0123456789.eE+-") != p.len)	/* neither nan nor 0x1p3 */
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

/* One character of a quoted text; false: none. */
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
	if (s[1] == 'x' && end - s >= 4 && isxdigit((unsigned char)s[2]) && isxdigit((unsigned char)s[3])) {
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
	return err_set(e, ERR_INPUT, "a quoted text ends with \" and knows \\\\ \\\" \\n \\t \\xHH, nothing else");
}

static int
set_text(const struct table *t, const struct ini_key *k, struct piece p, struct err *e)
{
	char **at = place(t, k), *text = NULL;
	struct buf line = { 0 };
	bool failed;
	size_t len;
	int rc;

	if ((rc = parse_text(p, &text, e)) != 0)
		return rc;
	print_text(&line, text);	/* what we take we must be able to print and read again */
	len = line.len + strlen(k->name) + strlen(" = ");
	failed = line.failed;
	buf_release(&line);
	if (failed || len > LINE_MAX_BYTES) {
		free(text);
		return failed ? err_set(e, ERR_MEMORY, "out of memory")
				   : err_set(e, ERR_INPUT, "text too long: a line may have %d bytes", LINE_MAX_BYTES);
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

	print_bounds(&bounds, k);
	rc = err_set(e, ERR_INPUT, "%.*s is out of range, want %.*s", (int)p.len, p.s, (int)bounds.len,
	    (const char *)bounds.data);
	buf_release(&bounds);
	return rc;
}

static int
set_value(const struct table *t, const struct ini_key *k, struct piece p, struct err *e)
{
	int64_t whole = 0;
	double share = 0, number;
	bool ok;

	if (k->type == INI_TEXT)
		return set_text(t, k, p, e);
	if (k->type == INI_COUNT)
		ok = parse_count(p, &whole);
	else if (k->type == INI_SHARE)
		ok = parse_share(p, &share);
	else if (k->type == INI_BOOL)
		ok = (whole = same(p, "yes")) || same(p, "no");
	else
		ok = parse_units(p, k->type == INI_TIME ? time_units : byte_units, &whole);
	if (!ok)
		return err_set(e, ERR_INPUT, "\"%.*s\" is not %s", (int)(p.len < 60 ? p.len : 60), p.s, wanted(k->type));
	number = k->type == INI_SHARE ? share : (double)whole;
	if (has_bounds(k) && (number < k->min || number > k->max))
		return fail_bounds(k, p, e);
	if (k->type == INI_SHARE)
		*(double *)place(t, k) = share;
	else if (k->type == INI_BOOL)
		*(int *)place(t, k) = (int)whole;
	else
		*(int64_t *)place(t, k) = whole;
	return 0;
}

/* ---- keys ---- */

static bool
has_section(const struct table *t, struct piece section)
{
	for (size_t i = 0; i < t->nkeys; i++)
		if (same(section, t->keys[i].section))
			return true;
	return false;
}

/* The names of all keys of a section, or of all sections where section is NULL. */
static void
list(const struct table *t, const struct piece *section, char *out, size_t size)
{
	size_t len = 0;

	out[0] = 0;
	for (size_t i = 0; i < t->nkeys && len < size; i++) {
		const struct ini_key *k = &t->keys[i];
		bool again = false;

		if (section != NULL && !same(*section, k->section))
			continue;
		for (size_t j = 0; section == NULL && j < i; j++)
			again |= strcmp(t->keys[j].section, k->section) == 0;
		if (!again)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len == 0 ? "" : ", ",
			    section == NULL ? k->section : k->name);
	}
}

static int
fail_section(const struct table *t, struct piece section, struct err *e)
{
	char names[300];

	list(t, NULL, names, sizeof names);
	return err_set(e, ERR_INPUT, "no section [%.*s]; there are: %s", (int)(section.len < 60 ? section.len : 60),
	    section.s, names);
}

static int
find_key(const struct table *t, struct piece section, struct piece name, const struct ini_key **ret, struct err *e)
{
	char names[300];

	if (!has_section(t, section))
		return fail_section(t, section, e);
	for (size_t i = 0; i < t->nkeys; i++)
		if (same(section, t->keys[i].section) && same(name, t->keys[i].name)) {
			*ret = &t->keys[i];
			return 0;
		}
	list(t, &section, names, sizeof names);
	return err_set(e, ERR_INPUT, "no key \"%.*s\"; [%.*s] has: %s", (int)(name.len < 60 ? name.len : 60), name.s,
	    (int)section.len, section.s, names);
}

/* ---- files ---- */

struct file {
	struct table table;
	struct piece section;	/* s is NULL before the first */
	int *line_of;		/* for each key of the table, where it was given; 0: not yet */
};

/* Up to a # that begins a comment: the first, or one after a blank. */
static struct piece
without_comment(struct piece p)
{
	for (size_t i = 0; i < p.len; i++)
		if (p.s[i] == '#' && (i == 0 || p.s[i - 1] == ' ' || p.s[i - 1] == '\t'))
			return trim((struct piece){ p.s, i });
	return trim(p);
}

/* The value that p begins with; inside quotes, # is a letter. */
static struct piece
value_of(struct piece p)
{
	struct piece after;

	p = trim(p);
	if (p.len == 0 || *p.s != '"')
		return without_comment(p);
	for (size_t i = 1; i < p.len; i++) {
		if (p.s[i] == '\\')
			i++;
		else if (p.s[i] == '"') {
			after = without_comment((struct piece){ p.s + i + 1, p.len - i - 1 });
			return after.len == 0 ? (struct piece){ p.s, i + 1 } : p;	/* p: then it is malformed */
		}
	}
	return p;
}

static int
read_section(struct file *f, struct piece p, struct err *e)
{
	if (p.len < 2 || p.s[p.len - 1] != ']')
		return err_set(e, ERR_INPUT, "a section is written [name]");
	f->section = trim((struct piece){ p.s + 1, p.len - 2 });
	return has_section(&f->table, f->section) ? 0 : fail_section(&f->table, f->section, e);
}

static int
read_line(struct file *f, struct piece line, int number, struct err *e)
{
	struct piece p = trim(line), name, value;
	const struct ini_key *k;
	const char *equals;
	int rc, *given;

	if (p.len == 0 || *p.s == '#')
		return 0;
	if (*p.s == '[')
		return read_section(f, without_comment(p), e);
	if ((equals = memchr(p.s, '=', p.len)) == NULL)
		return err_set(e, ERR_INPUT, "want [section], key = value, or # comment");
	if (f->section.s == NULL)
		return err_set(e, ERR_INPUT, "a key before the first [section]");
	name = trim((struct piece){ p.s, (size_t)(equals - p.s) });
	value = value_of((struct piece){ equals + 1, (size_t)(p.s + p.len - equals - 1) });
	if ((rc = find_key(&f->table, f->section, name, &k, e)) != 0)
		return rc;
	given = &f->line_of[k - f->table.keys];
	if (*given != 0)
		return err_set(e, ERR_INPUT, "%s was given in line %d already", k->name, *given);
	*given = number;
	if ((rc = set_value(&f->table, k, value, e)) != 0)
		err_prefix(e, "%s", k->name);
	return rc;
}

static int
check_line(struct piece line, struct err *e)
{
	if (line.len > LINE_MAX_BYTES)
		return err_set(e, ERR_INPUT, "line too long: %d bytes are allowed", LINE_MAX_BYTES);
	for (size_t i = 0; i < line.len; i++)
		if (((unsigned char)line.s[i] < ' ' && line.s[i] != '\t') || line.s[i] == 0x7f)
			return err_set(e, ERR_INPUT, "byte 0x%02x: this is no text file",
			    (unsigned char)line.s[i]);
	return 0;
}

static int
read_text_file(struct file *f, const char *path, struct piece text, struct err *e)
{
	int rc = 0;

	for (int number = 1; rc == 0 && text.len > 0; number++) {
		const char *newline = memchr(text.s, '\n', text.len);
		struct piece line = { text.s, newline == NULL ? text.len : (size_t)(newline - text.s) };
		size_t step = line.len + (newline != NULL);

		if (line.len > 0 && line.s[line.len - 1] == '\r')	/* written on Windows */
			line.len--;
		if ((rc = check_line(line, e)) != 0 || (rc = read_line(f, line, number, e)) != 0)
			err_prefix(e, "%s:%d", path, number);
		text.s += step;
		text.len -= step;
	}
	return rc;
}

static int
slurp(struct buf *b, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	uint8_t *at;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? err_set(e, ERR_MISSING, "%s: no such file", path) : err_errno(e, "%s", path);
	do {
		if ((at = buf_reserve(b, 65536)) == NULL) {
			rc = err_set(e, ERR_MEMORY, "%s: out of memory", path);
			break;
		}
		if ((n = read(fd, at, 65536)) < 0 && errno != EINTR)
			rc = err_errno(e, "%s", path);
		b->len += n > 0 ? (size_t)n : 0;
		if (b->len > FILE_MAX_BYTES)
			rc = err_set(e, ERR_INPUT, "%s: over %d bytes: this is no configuration file", path,
			    FILE_MAX_BYTES);
	} while (rc == 0 && n != 0);
	close(fd);
	return rc;
}

/* ---- public ---- */

int
ini_defaults(const struct ini_key *keys, size_t nkeys, void *config, struct err *e)
{
	struct table t = { keys, nkeys, config };
	int rc;

	for (size_t i = 0; i < nkeys; i++)
		if (keys[i].type == INI_TEXT)
			*(char **)place(&t, &keys[i]) = NULL;
	for (size_t i = 0; i < nkeys; i++) {
		const char *s = keys[i].fallback == NULL ? "" : keys[i].fallback;

		rc = set_value(&t, &keys[i], (struct piece){ s, strlen(s) }, e);
		assert(rc == 0 || rc == ERR_MEMORY);	/* else the program's own table is wrong */
		if (rc != 0)
			return rc;
	}
	return 0;
}

int
ini_read(const struct ini_key *keys, size_t nkeys, void *config, const char *path, struct err *e)
{
	struct file f = { .table = { keys, nkeys, config } };
	struct buf text = { 0 };
	int rc;

	if ((f.line_of = calloc(nkeys + 1, sizeof *f.line_of)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", path);
	if ((rc = slurp(&text, path, e)) == 0)
		rc = read_text_file(&f, path, (struct piece){ (const char *)text.data, text.len }, e);
	buf_release(&text);
	free(f.line_of);
	return rc;
}

int
ini_set(const struct ini_key *keys, size_t nkeys, void *config, const char *assignment, struct err *e)
{
	struct table t = { keys, nkeys, config };
	const char *equals = strchr(assignment, '='), *dot = strchr(assignment, '.');
	const struct ini_key *k;
	int rc;

	if (equals == NULL || dot == NULL || dot > equals)
		return err_set(e, ERR_INPUT, "%s: want section.key=value", assignment);
	rc = find_key(&t, trim((struct piece){ assignment, (size_t)(dot - assignment) }),
	    trim((struct piece){ dot + 1, (size_t)(equals - dot - 1) }), &k, e);
	if (rc == 0)
		rc = set_value(&t, k, trim((struct piece){ equals + 1, strlen(equals + 1) }), e);
	if (rc != 0)
		err_prefix(e, "%s", assignment);
	return rc;
}

static void
print_help(const struct ini_key *k, FILE *out)
{
	struct buf bounds = { 0 };

	fprintf(out, "\n# %s\n# ", k->help);
	if (has_bounds(k)) {
		print_bounds(&bounds, k);
		fprintf(out, "%.*s; ", (int)bounds.len, (const char *)bounds.data);
		buf_release(&bounds);
	}
	fprintf(out, "default: %s\n", k->fallback == NULL || *k->fallback == 0 ? "none" : k->fallback);
}

void
ini_print(const struct ini_key *keys, size_t nkeys, const void *config, int with_help, FILE *out)
{
	struct table t = { keys, nkeys, (char *)(uintptr_t)config };
	struct buf value = { 0 };

	for (size_t i = 0; i < nkeys; i++) {
		if (i == 0 || strcmp(keys[i].section, keys[i - 1].section) != 0)
			fprintf(out, "%s[%s]\n", i == 0 ? "" : "\n", keys[i].section);
		if (with_help)
			print_help(&keys[i], out);
		buf_reset(&value);
		print_value(&value, &t, &keys[i]);
		fprintf(out, "%s =%s%.*s\n", keys[i].name, value.len > 0 ? " " : "", (int)value.len,
		    value.len > 0 ? (const char *)value.data : "");
	}
	buf_release(&value);
}

void
ini_release(const struct ini_key *keys, size_t nkeys, void *config)
{
	struct table t = { keys, nkeys, config };

	for (size_t i = 0; i < nkeys; i++)
		if (keys[i].type == INI_TEXT) {
			free(*(char **)place(&t, &keys[i]));
			*(char **)place(&t, &keys[i]) = NULL;
		}
}

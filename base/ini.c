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
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ini_value.h"

enum { FILE_MAX_BYTES = 1 << 20 };

struct key_list {
	const struct ini_key *keys;
	size_t nkeys;
	char *config;
};

/* ---- keys ---- */

static bool
has_section(const struct key_list *t, struct piece section)
{
	for (size_t i = 0; i < t->nkeys; i++)
		if (piece_is(section, t->keys[i].section))
			return true;
	return false;
}

/* The names of all keys of the section; if it is NULL, of all sections. */
static void
list(const struct key_list *t, const struct piece *section, char *out, size_t size)
{
	size_t len = 0;

	out[0] = 0;
	for (size_t i = 0; i < t->nkeys && len < size; i++) {
		const struct ini_key *k = &t->keys[i];
		bool again = false;

		if (section != NULL && !piece_is(*section, k->section))
			continue;
		for (size_t j = 0; section == NULL && j < i; j++)
			again |= strcmp(t->keys[j].section, k->section) == 0;
		if (!again)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len == 0 ? "" : ", ",
			    section == NULL ? k->section : k->name);
	}
}

static int
fail_section(const struct key_list *t, struct piece section, struct err *e)
{
	char names[300];

	list(t, NULL, names, sizeof names);
	return err_set(e, ERR_INPUT, "no section [%.*s]; there are: %s",
	    (int)(section.len < 60 ? section.len : 60), section.s, names);
}

static int
find_key(const struct key_list *t, struct piece section, struct piece name,
    const struct ini_key **ret, struct err *e)
{
	char names[300];

	if (!has_section(t, section))
		return fail_section(t, section, e);
	for (size_t i = 0; i < t->nkeys; i++)
		if (piece_is(section, t->keys[i].section) && piece_is(name, t->keys[i].name)) {
			*ret = &t->keys[i];
			return 0;
		}
	list(t, &section, names, sizeof names);
	return err_set(e, ERR_INPUT, "no key \"%.*s\"; [%.*s] has: %s",
	    (int)(name.len < 60 ? name.len : 60), name.s, (int)section.len, section.s, names);
}

/* ---- files ---- */

struct walk {
	const struct ini_reader *reader;
	bool in_section;
	char name[INI_LINE_MAX_BYTES + 1]; /* of a section or a key */
};

/* The part before the comment: before a # at the beginning or after a blank. */
static struct piece
without_comment(struct piece p)
{
	for (size_t i = 0; i < p.len; i++)
		if (p.s[i] == '#' && (i == 0 || p.s[i - 1] == ' ' || p.s[i - 1] == '\t'))
			return piece_trim((struct piece){ p.s, i });
	return piece_trim(p);
}

/* The value at the beginning of p; inside quotes # is an ordinary character. */
static struct piece
value_of(struct piece p)
{
	struct piece after;

	p = piece_trim(p);
	if (p.len == 0 || *p.s != '"')
		return without_comment(p);
	for (size_t i = 1; i < p.len; i++) {
		if (p.s[i] == '\\')
			i++;
		else if (p.s[i] == '"') {
			after = without_comment((struct piece){ p.s + i + 1, p.len - i - 1 });
			return after.len == 0 ? (struct piece){ p.s, i + 1 }
			                      : p; /* all of p, which is malformed */
		}
	}
	return p;
}

static const char *
name_of(struct walk *w, struct piece p)
{
	memcpy(w->name, p.s, p.len);
	w->name[p.len] = '\0';
	return w->name;
}

static int
read_section(struct walk *w, struct piece p, int number, struct err *e)
{
	if (p.len < 2 || p.s[p.len - 1] != ']')
		return err_set(e, ERR_INPUT, "a section is written [name]");
	w->in_section = true;
	return w->reader->section(
	    w->reader->of, name_of(w, piece_trim((struct piece){ p.s + 1, p.len - 2 })), number, e);
}

static int
read_line(struct walk *w, struct piece line, int number, struct err *e)
{
	struct piece p = piece_trim(line), name, value;
	const struct ini_key *k;
	const char *equals;
	void *into;
	int rc;

	if (p.len == 0 || *p.s == '#')
		return 0;
	if (*p.s == '[')
		return read_section(w, without_comment(p), number, e);
	if ((equals = memchr(p.s, '=', p.len)) == NULL)
		return err_set(e, ERR_INPUT, "want [section], key = value, or # comment");
	if (!w->in_section)
		return err_set(e, ERR_INPUT, "a key before the first [section]");
	name = piece_trim((struct piece){ p.s, (size_t)(equals - p.s) });
	value = value_of((struct piece){ equals + 1, (size_t)(p.s + p.len - equals - 1) });
	if ((rc = w->reader->key(w->reader->of, name_of(w, name), number, &k, &into, e)) != 0)
		return rc;
	if ((rc = ini_value_set(k, into, value, e)) != 0)
		err_prefix(e, "%s", k->name);
	return rc;
}

static int
check_line(struct piece line, struct err *e)
{
	if (line.len > INI_LINE_MAX_BYTES)
		return err_set(
		    e, ERR_INPUT, "line too long: %d bytes are allowed", INI_LINE_MAX_BYTES);
	for (size_t i = 0; i < line.len; i++)
		if (((unsigned char)line.s[i] < ' ' && line.s[i] != '\t') || line.s[i] == 0x7f)
			return err_set(
			    e, ERR_INPUT, "byte 0x%02x: not a text file", (unsigned char)line.s[i]);
	return 0;
}

static int
read_text_file(struct walk *w, const char *path, struct piece text, struct err *e)
{
	int rc = 0;

	for (int number = 1; rc == 0 && text.len > 0; number++) {
		const char *newline = memchr(text.s, '\n', text.len);
		struct piece line = { text.s,
			newline == NULL ? text.len : (size_t)(newline - text.s) };
		size_t step = line.len + (newline != NULL);

		if (line.len > 0 && line.s[line.len - 1] == '\r') /* lines end in CR LF */
			line.len--;
		if ((rc = check_line(line, e)) != 0 || (rc = read_line(w, line, number, e)) != 0)
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
		return errno == ENOENT ? err_set(e, ERR_MISSING, "%s: no such file", path)
		                       : err_errno(e, "%s", path);
	do {
		if ((at = buf_reserve(b, 65536)) == NULL) {
			rc = err_set(e, ERR_MEMORY, "%s: out of memory", path);
			break;
		}
		if ((n = read(fd, at, 65536)) < 0 && errno != EINTR)
			rc = err_errno(e, "%s", path);
		b->len += n > 0 ? (size_t)n : 0;
		if (b->len > FILE_MAX_BYTES)
			rc = err_set(e, ERR_INPUT, "%s: over %d bytes: not a configuration file",
			    path, FILE_MAX_BYTES);
	} while (rc == 0 && n != 0);
	close(fd);
	return rc;
}

/* ---- public ---- */

static char **
text_at(const struct ini_key *k, void *config)
{
	return (char **)((char *)config + k->offset);
}

int
ini_defaults(const struct ini_key *keys, size_t nkeys, void *config, struct err *e)
{
	int rc;

	for (size_t i = 0; i < nkeys; i++)
		if (keys[i].type == INI_TEXT)
			*text_at(&keys[i], config) = NULL;
	for (size_t i = 0; i < nkeys; i++) {
		const char *s = keys[i].fallback == NULL ? "" : keys[i].fallback;

		rc = ini_value_set(&keys[i], config, (struct piece){ s, strlen(s) }, e);
		/* Any other error: the default in the table is malformed. */
		assert(rc == 0 || rc == ERR_MEMORY);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int
ini_walk(const struct ini_reader *r, const char *path, struct err *e)
{
	struct walk w = { .reader = r };
	struct buf text = { 0 };
	int rc;

	assert(r->section != NULL && r->key != NULL && path != NULL);
	if ((rc = slurp(&text, path, e)) == 0)
		rc = read_text_file(
		    &w, path, (struct piece){ (const char *)text.data, text.len }, e);
	buf_release(&text);
	return rc;
}

/* ---- files with a table of keys ---- */

struct file {
	struct key_list list;
	char *section;
	int *line_of; /* of each key: the line of its value; 0: none yet */
};

static struct piece
piece_of(const char *s)
{
	return (struct piece){ s, strlen(s) };
}

static int
take_section(void *of, const char *name, int line, struct err *e)
{
	struct file *f = of;

	(void)line;
	if (!has_section(&f->list, piece_of(name)))
		return fail_section(&f->list, piece_of(name), e);
	free(f->section);
	return (f->section = strdup(name)) != NULL ? 0 : err_set(e, ERR_MEMORY, "out of memory");
}

static int
take_key(void *of, const char *name, int line, const struct ini_key **k, void **into, struct err *e)
{
	struct file *f = of;
	int rc = find_key(&f->list, piece_of(f->section), piece_of(name), k, e), *given;

	if (rc != 0)
		return rc;
	given = &f->line_of[*k - f->list.keys];
	if (*given != 0)
		return err_set(e, ERR_INPUT, "%s was given in line %d already", name, *given);
	*given = line;
	*into = f->list.config;
	return 0;
}

int
ini_read(const struct ini_key *keys, size_t nkeys, void *config, const char *path, struct err *e)
{
	struct file f = { .list = { keys, nkeys, config } };
	const struct ini_reader r = { &f, take_section, take_key };
	int rc;

	assert(keys != NULL && config != NULL && path != NULL);
	if ((f.line_of = calloc(nkeys + 1, sizeof *f.line_of)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", path);
	rc = ini_walk(&r, path, e);
	free(f.section);
	free(f.line_of);
	return rc;
}

int
ini_set(
    const struct ini_key *keys, size_t nkeys, void *config, const char *assignment, struct err *e)
{
	struct key_list t = { keys, nkeys, config };
	const char *equals = strchr(assignment, '='), *dot = strchr(assignment, '.');
	const struct ini_key *k;
	int rc;

	assert(keys != NULL && config != NULL);
	if (equals == NULL || dot == NULL || dot > equals)
		return err_set(e, ERR_INPUT, "%s: want section.key=value", assignment);
	rc = find_key(&t, piece_trim((struct piece){ assignment, (size_t)(dot - assignment) }),
	    piece_trim((struct piece){ dot + 1, (size_t)(equals - dot - 1) }), &k, e);
	if (rc == 0)
		rc = ini_value_set(
		    k, config, piece_trim((struct piece){ equals + 1, strlen(equals + 1) }), e);
	if (rc != 0)
		err_prefix(e, "%s", assignment);
	return rc;
}

static void
print_help(const struct ini_key *k, FILE *out)
{
	struct buf bounds = { 0 };

	fprintf(out, "\n# %s\n# ", k->help);
	ini_value_bounds(&bounds, k);
	if (bounds.len > 0)
		fprintf(out, "%.*s; ", (int)bounds.len, (const char *)bounds.data);
	buf_release(&bounds);
	fprintf(
	    out, "default: %s\n", k->fallback == NULL || *k->fallback == 0 ? "none" : k->fallback);
}

void
ini_print(const struct ini_key *keys, size_t nkeys, const void *config, int with_help, FILE *out)
{
	struct buf value = { 0 };

	assert(keys != NULL && config != NULL && out != NULL);
	for (size_t i = 0; i < nkeys; i++) {
		if (i == 0 || strcmp(keys[i].section, keys[i - 1].section) != 0)
			fprintf(out, "%s[%s]\n", i == 0 ? "" : "\n", keys[i].section);
		if (with_help)
			print_help(&keys[i], out);
		buf_reset(&value);
		ini_value_print(&value, &keys[i], config);
		fprintf(out, "%s =%s%.*s\n", keys[i].name, value.len > 0 ? " " : "", (int)value.len,
		    value.len > 0 ? (const char *)value.data : "");
	}
	buf_release(&value);
}

void
ini_release(const struct ini_key *keys, size_t nkeys, void *config)
{
	for (size_t i = 0; i < nkeys; i++)
		if (keys[i].type == INI_TEXT) {
			free(*text_at(&keys[i], config));
			*text_at(&keys[i], config) = NULL;
		}
}

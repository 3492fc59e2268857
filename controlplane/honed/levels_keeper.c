/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/levels_keeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "controlplane/engine/parts.h"
#include "controlplane/honed/file_replace.h"

#define HEAD \
	"# Written by honed: which log levels are on (hone levels). The last line that matches a service holds.\n"
#define RETRY_NS INT64_C(1000000000)

enum { WORD_MAX = 32, TEXT_MAX = 1024 + LEVEL_RULES_MAX * (WORD_MAX + LEVEL_PATTERN_MAX + 2) };

/* ---- reading ---- */

/* "debug shop-cart" */
static int
read_line(struct level_rules *r, const char *line, size_t len, struct err *e)
{
	char word[WORD_MAX + 1], pattern[LEVEL_PATTERN_MAX + 1];
	size_t end = 0;
	uint8_t level;

	while (end < len && line[end] != ' ')
		end++;
	if (end > WORD_MAX || end + 1 >= len || len - end - 1 > LEVEL_PATTERN_MAX)
		return err_set(e, ERR_INPUT,
		    "it is not a level and a pattern of services of at most %d bytes",
		    LEVEL_PATTERN_MAX);
	memcpy(word, line, end);
	word[end] = '\0';
	memcpy(pattern, line + end + 1, len - end - 1);
	pattern[len - end - 1] = '\0';
	if (strlen(word) != end || !loglevel_read(word, &level))
		return err_set(e, ERR_INPUT, "\"%s\" is no level", word);
	if (strlen(pattern) != len - end - 1)
		return err_set(e, ERR_INPUT, "it has a byte of 0");
	return level_rules_set(r, pattern, level, e);
}

int
levels_read(struct level_rules *ret, const char *path, const char *text, size_t len, struct err *e)
{
	struct level_rules r = { 0 };
	const char *end;
	int rc = 0;

	if (len > TEXT_MAX)
		return err_set(e, ERR_INPUT, "%s: it has over %d bytes", path, TEXT_MAX);
	for (unsigned line = 1; rc == 0 && len > 0;
	     line++, len -= (size_t)(end - text), text = end) {
		size_t n;

		end = memchr(text, '\n', len);
		n = end != NULL ? (size_t)(end - text) : len;
		end = text + n + (end != NULL);
		if (n == 0 || text[0] == '#')
			continue;
		if ((rc = read_line(&r, text, n, e)) != 0)
			err_prefix(e, "%s:%u (to begin anew, move the file away)", path, line);
	}
	if (rc == 0)
		*ret = r;
	return rc;
}

static int
load(struct levels_keeper *k, struct err *e)
{
	struct levels *l = &engine_parts(k->engine)->levels;
	char text[TEXT_MAX + 1];
	FILE *f = fopen(k->path, "re");
	size_t len;
	int rc;

	if (f == NULL)
		return errno == ENOENT ? 0 : err_errno(e, "%s", k->path);
	len = fread(text, 1, sizeof text, f);
	rc = ferror(f) ? err_errno(e, "%s", k->path)
	               : levels_read(&l->rules, k->path, text, len, e);
	fclose(f);
	if (rc == 0)
		l->stored = ++l->version;
	return rc;
}

int
levels_keeper_open(
    struct levels_keeper *k, struct engine *g, const char *path, const char *beside, struct err *e)
{
	int rc;

	*k = (struct levels_keeper){ .engine = g };
	if ((rc = file_beside(&k->path, path, beside, LEVELS_FILE, e)) != 0)
		return rc;
	return load(k, e);
}

void
levels_keeper_close(struct levels_keeper *k)
{
	free(k->path);
	*k = (struct levels_keeper){ 0 };
}

/* ---- writing ---- */

static int
store(const struct levels_keeper *k, const struct level_rules *r, struct err *e)
{
	struct buf b = { 0 };
	int rc;

	buf_printf(&b, "%s", HEAD);
	for (uint32_t i = 0; i < r->n; i++)
		buf_printf(&b, "%s %s\n", loglevel_word(r->items[i].level), r->items[i].pattern);
	rc = b.failed ? err_set(e, ERR_MEMORY, "%s: out of memory", k->path)
	              : file_replace(k->path, b.data, b.len, NULL, NULL, e);
	buf_release(&b);
	return rc;
}

void
levels_keeper_step(struct levels_keeper *k, struct mono now)
{
	struct levels *l = &engine_parts(k->engine)->levels;
	struct err e = { 0 };

	if (l->stored == l->version ||
	    (k->trouble.code != 0 && mono_since_ns(now, k->tried) < RETRY_NS))
		return;
	k->tried = now;
	if (store(k, &l->rules, &e) == 0)
		l->stored = l->version;
	else if (strcmp(e.text, k->trouble.text) != 0)
		log_line(LOG_ERROR, "%s; the log levels are kept in memory", e.text);
	k->trouble = e;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A source with SOURCE_LOADED is an object of its own, so that the agent does not depend on the
 * library that it needs:
 *
 *	PREFIX/sbin/hone-agent			or where it was built, with $(O) for PREFIX
 *	PREFIX/lib/hone/source_NAME.so		defines source_NAME_open
 */
#include "agent/reader/sources.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "agent/reader/source_fallback.h"
#include "agent/reader/source_lttng.h"
#include "agent/reader/source_set.h"
#include "base/shared_object.h"

static source_open_fn source_auto_open;

static const struct source_row {
	const char *name, *reads;
	source_open_fn *open; /* NULL: to be loaded */
} ROWS[] = {
#define SOURCE(name, open, reads, what) { #name, reads, open },
#define SOURCE_LOADED(name, reads, what) { #name, reads, NULL },
#include "agent/reader/sources.tbl.h"
#undef SOURCE
#undef SOURCE_LOADED
};

enum { NROWS = sizeof ROWS / sizeof ROWS[0] };

static const struct source_row *
find_row(const char *name, size_t len)
{
	for (int i = 0; i < NROWS; i++)
		if (strlen(ROWS[i].name) == len && memcmp(ROWS[i].name, name, len) == 0)
			return &ROWS[i];
	return NULL;
}

static int
unknown_name(const char *name, size_t len, struct err *e)
{
	char known[200] = "";

	for (int i = 0; i < NROWS; i++)
		snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s",
		    i > 0 ? ", " : "", ROWS[i].name);
	return err_set(e, ERR_INPUT, "\"%.*s\" is not one of %s", (int)len, name, known);
}

/* The rows of a list of names. */
static int
find_rows(
    const char *names, const struct source_row *rows[SOURCE_SET_MAX], uint32_t *n, struct err *e)
{
	*n = 0;
	for (const char *at = names; *(at += strspn(at, " ,")) != '\0';) {
		size_t len = strcspn(at, " ,");
		const struct source_row *row = find_row(at, len);

		if (row == NULL)
			return unknown_name(at, len, e);
		for (uint32_t i = 0; i < *n; i++)
			if (strcmp(rows[i]->reads, row->reads) == 0)
				return err_set(e, ERR_INPUT,
				    "%s and %s read the same %s: each record would be delivered "
				    "twice",
				    rows[i]->name, row->name, row->reads);
		if (*n == SOURCE_SET_MAX)
			return err_set(e, ERR_INPUT, "over %d sources", SOURCE_SET_MAX);
		rows[(*n)++] = row;
		at += len;
	}
	return *n > 0 ? 0 : err_set(e, ERR_INPUT, "no source is named");
}

int
sources_check(const char *names, struct err *e)
{
	const struct source_row *rows[SOURCE_SET_MAX];
	uint32_t n;

	assert(names != NULL);
	return find_rows(names, rows, &n, e);
}

static int
load(source_open_fn **open, const char *name, struct err *e)
{
	char file[64], symbol[64], failure[96];
	void *found;
	int rc;

	snprintf(file, sizeof file, "source_%s.so", name);
	snprintf(symbol, sizeof symbol, "source_%s_open", name);
	snprintf(failure, sizeof failure, "the reader %s cannot be loaded", name);
	if ((rc = shared_object_symbol(&found, file, symbol, failure, e)) == 0)
		memcpy(open, &found, sizeof *open);
	return rc;
}

static int
find_babeltrace2(source_open_fn **ret, struct err *e)
{
	return load(ret, "babeltrace2", e);
}

static int
source_auto_open(struct source *ret, const struct source_place *place,
    const struct source_options *options, struct err *e)
{
	static const struct source_second second = { "babeltrace2", find_babeltrace2 };

	return source_fallback_open(ret, source_lttng_follow, &second, place, options, e);
}

int
sources_open(struct source *ret, const char *names, const struct source_place *place,
    const struct source_options *options, struct err *e)
{
	const struct source_row *rows[SOURCE_SET_MAX];
	struct source members[SOURCE_SET_MAX];
	uint32_t n, opened = 0;
	int rc;

	assert(names != NULL && place != NULL);
	rc = find_rows(names, rows, &n, e);
	while (rc == 0 && opened < n) {
		source_open_fn *open = rows[opened]->open;
		if (open == NULL)
			rc = load(&open, rows[opened]->name, e);
		if (rc == 0)
			rc = open(&members[opened], place, options, e);
		opened += rc == 0;
	}
	if (rc == 0)
		return source_set_open(
		    ret, members, n, options != NULL ? options->memory_bytes : 0, e);
	for (uint32_t i = 0; i < opened; i++)
		members[i].close(members[i].state);
	return rc;
}

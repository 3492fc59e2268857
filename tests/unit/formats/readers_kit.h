/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the tests of readers share: bytes are put into a file, read as a user's would be, and its traces are kept. */
#ifndef TESTS_FORMATS_READERS_KIT_H
#define TESTS_FORMATS_READERS_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/critpath.h"
#include "base/buf.h"
#include "formats/reading.h"

enum { TRACES_MAX = 256 };

struct kit {
	struct labels *labels;
	struct reading *r;
	struct trace *traces[TRACES_MAX];	/* as they were handed out; further ones are only counted */
	uint32_t ntraces;
	struct reading_counts counts;
	struct arena arena;
	struct critpath path;
	int rc;			/* of reading_file() */
	struct err e;
};

static inline int
kit_take(void *ctx, struct trace *t, struct err *e)
{
	struct kit *k = ctx;

	(void)e;
	if (k->ntraces < TRACES_MAX)
		k->traces[k->ntraces++] = t;
	else
		trace_free(t);
	return 0;
}

/* Reads that file; format: NULL tells it by its content. */
static inline struct kit *
kit_file(const char *path, const char *format)
{
	struct kit *k = calloc(1, sizeof *k);
	struct reading_options o = { .format = format, .take = kit_take, .ctx = k };

	k->labels = labels_new();
	assert_int_equal(reading_new(&k->r, &o, k->labels, &k->e), 0);
	k->rc = reading_file(k->r, path, &k->e);
	assert_int_equal(reading_end(k->r, NULL), 0);
	reading_counts(k->r, &k->counts);
	return k;
}

static inline struct kit *
kit_bytes(const void *data, size_t len, const char *format)
{
	char path[] = "/tmp/hone-readers-XXXXXX";
	int fd = mkstemp(path);
	struct kit *k;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
	k = kit_file(path, format);
	unlink(path);
	return k;
}

/* Text, of a format that is told by its content. */
static inline struct kit *
kit_text(const char *text)
{
	return kit_bytes(text, strlen(text), NULL);
}

static inline void
kit_free(struct kit *k)
{
	for (uint32_t i = 0; i < k->ntraces; i++)
		trace_free(k->traces[i]);
	reading_free(k->r);
	labels_free(k->labels);
	arena_release(&k->arena);
	free(k);
}

static inline uint64_t
kit_skipped(const struct kit *k, enum skip why)
{
	return k->counts.skipped[why].count;
}

/* Nothing was passed over. */
static inline void
kit_assert_clean(const struct kit *k)
{
	for (int i = 0; i < SKIPS; i++)
		if (k->counts.skipped[i].count != 0)
			fail_msg("%s: %s", k->counts.skipped[i].file, k->counts.skipped[i].why);
	assert_int_equal(k->rc, 0);
}

/*
 * The critical path of trace i as "label@time label@time ...", with times since its
 * begin in microseconds. What comes before "hone:" or ends with it is left out of labels of structure: "service:name+" begins
 * a unit or the request, "service:name-" ends it.
 */
static inline const char *
kit_path(struct kit *k, uint32_t i)
{
	const struct trace *t = k->traces[i];
	struct buf b = { 0 };
	char *text;

	assert_true(i < k->ntraces);
	if (critpath_extract(&k->path, t, k->labels, NULL, &k->arena, &k->e) != 0)
		fail_msg("%s", k->e.text);
	for (uint32_t s = 0; s < k->path.nsteps; s++) {
		const struct label *l = labels_get(k->labels, k->path.steps[s].label);
		long long us = (k->path.steps[s].time_ns - t->begin_ns) / 1000;

		buf_printf(&b, s == 0 ? "" : " ");
		if (l->kind == RECORD_POINT)
			buf_printf(&b, "%s", l->text);
		else
			buf_printf(&b, "%.*s:%.*s%s", (int)l->service_len, l->text, (int)l->name_len, l->name,
			    l->kind == RECORD_REQUEST_END || l->kind == RECORD_UNIT_END ? "-" : "+");
		buf_printf(&b, "@%lld", us);
	}
	text = arena_text(&k->arena, (const char *)b.data, b.len);
	buf_release(&b);
	return text;
}

/* The value that the first event with that label text has in a field, as text; "" is none. */
static inline const char *
kit_value(struct kit *k, uint32_t i, const char *label, const char *field)
{
	const struct trace *t = k->traces[i];
	char *text = arena_alloc(&k->arena, VALUE_TEXT_MAX + 1);

	for (uint32_t v = 0; v < t->nevents; v++) {
		const struct event *x = &t->events[v];
		const struct label *l = labels_get(k->labels, x->label);

		if (strcmp(l->text, label) != 0)
			continue;
		for (uint32_t f = 0; f < x->nvalues; f++) {
			const struct value *value = &x->values[f];

			if (strcmp(l->fields[f], field) != 0)
				continue;
			text[0] = '\0';
			if (value->type == VALUE_TEXT)
				snprintf(text, VALUE_TEXT_MAX + 1, "%.*s", (int)value->len, value->text);
			else if (value->type == VALUE_INT)
				snprintf(text, VALUE_TEXT_MAX + 1, "%lld", (long long)value->i);
			else if (value->type == VALUE_UINT)
				snprintf(text, VALUE_TEXT_MAX + 1, "%llu", (unsigned long long)value->u);
			else if (value->type == VALUE_REAL)
				snprintf(text, VALUE_TEXT_MAX + 1, "%g", value->d);
			return text;
		}
	}
	return "";
}

/* The name of the node of trace i's event v. */
static inline const char *
kit_node(const struct kit *k, uint32_t i, uint32_t v)
{
	return reading_nodes(k->r)[k->traces[i]->events[v].node];
}

/* The path of a file of the real traces, or NULL after a word about it: they are not there. HONE_DATA says where they are. */
static inline const char *
kit_data(const char *name, char *path, size_t size)
{
	const char *where = getenv("HONE_DATA");
	struct stat st;

	snprintf(path, size, "%s/%s", where != NULL ? where : "../shared/data", name);
	if (stat(path, &st) == 0)
		return path;
	print_message("skipped: %s is not there (HONE_DATA says where the real traces are)\n", path);
	return NULL;
}

#endif

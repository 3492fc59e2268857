/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Helpers for tests of formats: they read input, keep its traces, and print their critical paths.
 * Either bit by bit, from kit_begin() to kit_end(); or a whole file as a user would read it, by
 * kit_file(), kit_bytes() or kit_text(), to kit_free().
 */
#ifndef TESTS_UNIT_FORMATS_KIT_H
#define TESTS_UNIT_FORMATS_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/critpath.h"
#include "base/buf.h"
#include "formats/reading.h"

struct kit {
	struct labels *labels;
	struct reading *r;
	struct trace **traces;
	uint32_t ntraces;
	struct err e;
	/* of a whole file: */
	int rc; /* of reading_file() */
	struct reading_counts counts;
	struct critpath path; /* of the last kit_steps() */
	struct arena arena;   /* of that, and of texts that are given out */
};

static inline int
kit_take(void *ctx, struct trace *t, struct err *e)
{
	struct kit *k = ctx;
	struct trace **more = realloc(k->traces, (k->ntraces + 1) * sizeof *more);

	(void)e;
	assert_non_null(more);
	k->traces = more;
	k->traces[k->ntraces++] = t;
	return 0;
}

/* memory_max_bytes: 0, or of spans that wait. */
static inline void
kit_begin(struct kit *k, size_t memory_max_bytes)
{
	struct reading_options o = {
		.memory_max_bytes = memory_max_bytes, .take = kit_take, .ctx = k
	};

	*k = (struct kit){ .labels = labels_new() };
	assert_int_equal(reading_new(&k->r, &o, k->labels, &k->e), 0);
}

static inline void
kit_end(struct kit *k)
{
	for (uint32_t i = 0; i < k->ntraces; i++)
		trace_free(k->traces[i]);
	free(k->traces);
	reading_free(k->r);
	labels_free(k->labels);
	arena_release(&k->arena);
}

static inline struct reading_counts
kit_counts(const struct kit *k)
{
	struct reading_counts c;

	reading_counts(k->r, &c);
	return c;
}

static inline uint64_t
kit_skipped(const struct kit *k, enum skip why)
{
	return kit_counts(k).skipped[why].count;
}

/* Reads bytes by one format, in pieces of the given number of bytes (0: all at once). */
static inline int
kit_read_pieces(struct kit *k, const struct format *f, const void *data, size_t len, size_t piece)
{
	struct input in;
	int rc;

	assert_int_equal(input_memory(&in, data, len, piece, &k->e), 0);
	rc = f->read(k->r, &in, &k->e);
	input_close(&in);
	return rc;
}

static inline int
kit_read(struct kit *k, const struct format *f, const char *text)
{
	return kit_read_pieces(k, f, text, strlen(text), 0);
}

/* The path of a file of the real traces; false, after a word about it: they are not there. */
static inline bool
kit_data(char path[512], const char *file)
{
	const char *data = getenv("HONE_DATA");

	snprintf(path, 512, "%s/%s", data != NULL ? data : "../shared/data", file);
	if (access(path, R_OK) == 0)
		return true;
	print_message("# %s is not there (HONE_DATA says where real traces are): skipped\n", path);
	return false;
}

/* "service.name" of a structure label. */
static inline void
kit_name(const struct labels *labels, uint32_t label, char *ret, size_t size)
{
	const struct label *l = labels_get(labels, label);

	snprintf(ret, size, "%.*s.%.*s", (int)l->service_len, l->text, (int)l->name_len, l->name);
}

/* The critical path as "S1.O1 10 S2.O2 50 S1.O1 40": whose time passed, in units of unit_ns; pieces
 * of no time are left out. Checks that they add up to the response time. */
static inline const char *
kit_path(const struct kit *k, const struct trace *t, int64_t unit_ns)
{
	static char text[65536];
	struct arena a = { 0 };
	struct critpath p;
	struct err e;
	int64_t sum = 0, run = 0;
	size_t len = 0;

	text[0] = '\0';
	assert_int_equal(critpath_extract(&p, t, k->labels, NULL, &a, &e), 0);
	for (uint32_t i = 1; i < p.nsteps; i++) {
		char name[512];
		bool last = i + 1 == p.nsteps || p.steps[i + 1].owner != p.steps[i].owner;

		run += p.steps[i].time_ns - p.steps[i - 1].time_ns;
		sum += p.steps[i].time_ns - p.steps[i - 1].time_ns;
		if (!last || run == 0)
			continue;
		if (p.steps[i].owner == LABEL_NONE)
			snprintf(name, sizeof name, "-");
		else
			kit_name(k->labels, p.steps[i].owner, name, sizeof name);
		len += (size_t)snprintf(text + len, sizeof text - len, "%s%s %lld",
		    len > 0 ? " " : "", name, (long long)(run / unit_ns));
		assert_true(len < sizeof text);
		run = 0;
	}
	assert_int_equal(sum, t->end_ns - t->begin_ns);
	arena_release(&a);
	return text;
}

/* ---- whole files ---- */

/* Reads that file; format: NULL detects it from the content. */
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

/* Reads a text whose format is detected from its content. */
static inline struct kit *
kit_text(const char *text)
{
	return kit_bytes(text, strlen(text), NULL);
}

static inline void
kit_free(struct kit *k)
{
	kit_end(k);
	free(k);
}

/* Asserts that no part of the input was skipped. */
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
 * begin in microseconds. What comes before "hone:" or ends with it is left out of labels of
 * structure: "service:name+" begins a unit or the request, "service:name-" ends it.
 */
static inline const char *
kit_steps(struct kit *k, uint32_t i)
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
			buf_printf(&b, "%.*s:%.*s%s", (int)l->service_len, l->text,
			    (int)l->name_len, l->name,
			    l->kind == RECORD_REQUEST_END || l->kind == RECORD_UNIT_END ? "-"
											: "+");
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
				snprintf(
				    text, VALUE_TEXT_MAX + 1, "%.*s", (int)value->len, value->text);
			else if (value->type == VALUE_INT)
				snprintf(text, VALUE_TEXT_MAX + 1, "%lld", (long long)value->i);
			else if (value->type == VALUE_UINT)
				snprintf(
				    text, VALUE_TEXT_MAX + 1, "%llu", (unsigned long long)value->u);
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

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "tests/unit/disk.h"
#include "tests/unit/searchspace/made.h"

struct fixture {
	char folder[32], path[64];
	struct labels *labels;
	struct space *space;
};

static int
fixture_make(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	strcpy(f->folder, "/tmp/hone-space-XXXXXX");
	if (mkdtemp(f->folder) == NULL)
		return -1;
	snprintf(f->path, sizeof f->path, "%s/space.db", f->folder);
	f->labels = labels_new();
	f->space = space_new(f->labels);
	*state = f;
	return 0;
}

static int
fixture_free(void **state)
{
	struct fixture *f = *state;
	char command[96];
	int rc;

	snprintf(command, sizeof command, "chmod 755 %s; rm -rf %s", f->folder, f->folder);
	rc = system(command);
	space_free(f->space);
	labels_free(f->labels);
	free(f);
	return rc;
}

/* ---- helpers ---- */

static void
learn_any(struct rng *r, struct space *s, struct labels *labels, int traces)
{
	static const char *const parts[] = { " a", " b", " c", " d_begin", " d_end", " e_entry",
		" e_exit", " F1", " J1", " f+7", " g+133" };

	while (traces-- > 0) {
		char text[1024];

		snprintf(text, sizeof text, "R%d", (int)rng_below(r, 3));
		for (uint64_t n = rng_below(r, 25); n > 0; n--)
			strcat(text, parts[rng_below(r, sizeof parts / sizeof parts[0])]);
		strcat(text, " E | U1");
		for (uint64_t n = rng_below(r, 10); n > 0; n--)
			strcat(text, parts[rng_below(r, sizeof parts / sizeof parts[0])]);
		strcat(text, " V1");
		learn(s, labels, text);
	}
}

static void
same_stats(const struct space_stats *a, const struct space_stats *b)
{
	assert_true(a->traces == b->traces && a->places == b->places && a->steps == b->steps &&
		    a->labels == b->labels && a->new_in_last_tenth == b->new_in_last_tenth);
}

/* Compares the answers of both spaces for every pair of labels; label numbers may differ. */
static void
same_answers(const struct space *a, struct labels *la, const struct space *b, struct labels *lb)
{
	static const char *const units[] = { "R0", "R1", "R2", "U1" };
	static const char *const words[] = { "R0", "R1", "R2", "U1", "V1", "E", "a", "b", "c",
		"d_begin", "d_end", "e_entry", "e_exit", "F1", "J1", "f", "g" };
	enum { WORDS = sizeof words / sizeof words[0] };
	struct between x[32], y[32];

	for (int i = 0; i < 3 * 4 * WORDS * WORDS; i++) {
		const char *type = units[i % 3], *unit = units[i / 3 % 4];
		const char *from = words[i / 12 % WORDS], *to = words[i / 12 / WORDS];
		struct gap ga = { label_of(la, from), label_of(la, to), label_of(la, unit),
			label_of(la, unit) };
		struct gap gb = { label_of(lb, from), label_of(lb, to), label_of(lb, unit),
			label_of(lb, unit) };
		int n = space_between(a, label_of(la, type), &ga, NULL, x, 32, NULL);

		assert_int_equal(n, space_between(b, label_of(lb, type), &gb, NULL, y, 32, NULL));
		for (int k = 0; k < n; k++) {
			assert_string_equal(
			    labels_get(la, x[k].label)->text, labels_get(lb, y[k].label)->text);
			assert_true(x[k].count == y[k].count && x[k].offset_ns == y[k].offset_ns &&
				    x[k].share == y[k].share);
		}
	}
	for (uint32_t i = 0; space_type(a, i) != LABEL_NONE || space_type(b, i) != LABEL_NONE;
	     i++) {
		struct space_stats sa, sb;

		assert_string_equal(
		    labels_get(la, space_type(a, i))->text, labels_get(lb, space_type(b, i))->text);
		assert_true(space_stats(a, space_type(a, i), &sa));
		assert_true(space_stats(b, space_type(b, i), &sb));
		same_stats(&sa, &sb);
	}
}

static void
save(const struct space *s, const char *path)
{
	struct err e = { 0 };

	if (space_save(s, path, &e) != 0)
		fail_msg("space_save: %s", e.text);
}

static void
load(struct space *s, struct labels *labels, const char *path)
{
	struct err e = { 0 };

	if (space_load(s, labels, path, NULL, &e) != 0)
		fail_msg("space_load: %s", e.text);
}

/* Replaces the fixture's space by an empty one. */
static struct space *
space_renewed(struct fixture *f)
{
	space_free(f->space);
	return f->space = space_new(f->labels);
}

/* Loading must fail and add no trace. */
static void
refuses_to_load(const char *path, int code, const char *words)
{
	struct labels *labels = labels_new();
	struct space *s = space_new(labels);
	struct err e = { 0 };

	assert_int_equal(space_load(s, labels, path, NULL, &e), code);
	if (strstr(e.text, words) == NULL || strstr(e.text, path) == NULL)
		fail_msg("\"%s\" ought to say \"%s\" of %s", e.text, words, path);
	assert_int_equal(space_type(s, 0), LABEL_NONE);
	space_free(s);
	labels_free(labels);
}

/* ---- saving and loading ---- */

static void
a_saved_space_gives_the_same_answers(void **state)
{
	struct fixture *f = *state;
	struct rng r;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct labels *labels = labels_new(), *other = labels_new();
		struct space *s = space_new(labels), *t = space_new(other);

		rng_seed(&r, seed);
		learn_any(&r, s, labels, (int)(seed * seed));
		for (char junk[8] = "junk_a"; seed % 2 != 0 && junk[5] <= 'z'; junk[5]++)
			label_of(other, junk);
		save(s, f->path);
		load(t, other, f->path);
		same_answers(s, labels, t, other);
		save(t, f->path); /* overwrites the old file */
		space_free(t);
		t = space_new(other);
		load(t, other, f->path);
		same_answers(s, labels, t, other);
		space_free(s);
		space_free(t);
		labels_free(labels);
		labels_free(other);
	}
}

static void
learning_continues_after_loading(void **state)
{
	struct fixture *f = *state;
	struct labels *other = labels_new();
	struct space *t = space_new(other);
	struct rng r, again;

	rng_seed(&r, 8);
	learn_any(&r, f->space, f->labels, 30);
	save(f->space, f->path);
	load(t, other, f->path);
	again = r;
	learn_any(&r, f->space, f->labels, 30);
	learn_any(&again, t, other, 30);
	same_answers(f->space, f->labels, t, other);
	space_free(t);
	labels_free(other);
}

static void
loading_adds_to_the_learned_space(void **state)
{
	struct fixture *f = *state;
	struct labels *labels = labels_new();
	struct space *s = space_new(labels);
	struct space_stats st;
	struct between found[4];
	uint32_t unit = label_of(labels, "R");
	struct gap g = { unit, label_of(labels, "E"), unit, unit };

	learn(f->space, f->labels, "R a+20 b E");
	save(f->space, f->path);
	learn(s, labels, "R a+40 c E");
	load(s, labels, f->path);
	assert_int_equal(space_between(s, unit, &g, NULL, found, 4, NULL), 3);
	assert_int_equal(found[0].label, label_of(labels, "a"));
	assert_int_equal(found[0].count, 2);
	assert_true(found[0].offset_ns == 30);
	assert_true(found[0].share == 1);
	assert_true(found[1].share == 0.5 && found[2].share == 0.5);
	assert_true(space_stats(s, unit, &st));
	assert_int_equal(st.traces, 2);
	assert_int_equal(st.places, 5);
	assert_int_equal(st.new_in_last_tenth, 1); /* b, as if the file's trace had come last */
	space_free(s);
	labels_free(labels);
}

static void
fields_and_unusual_texts_are_restored(void **state)
{
	static const char *const fields[] = { "rows", "\xc3\xbc 'quoted'" };
	struct fixture *f = *state;
	struct labels *other = labels_new();
	struct space *t = space_new(other);
	const char *text = "shop/app:o'dd \"x\"";
	const struct label *l;

	labels_intern(f->labels, RECORD_POINT, text, strlen(text), fields, 2);
	learn(f->space, f->labels, "R o'dd+1 E");
	{
		struct event events[2] = { { .label = label_of(f->labels, "R") },
			{ .label = labels_find(f->labels, text, strlen(text)) } };
		struct unit unit = { .count = 2 };
		struct trace trace = { .type = events[0].label,
			.nevents = 2,
			.nunits = 1,
			.events = events,
			.units = &unit };

		assert_int_equal(space_learn(f->space, &trace, NULL), 0);
	}
	save(f->space, f->path);
	load(t, other, f->path);
	assert_int_not_equal(labels_find(other, text, strlen(text)), LABEL_NONE);
	l = labels_get(other, labels_find(other, text, strlen(text)));
	assert_int_equal(l->nfields, 2);
	assert_string_equal(l->fields[0], fields[0]);
	assert_string_equal(l->fields[1], fields[1]);
	assert_int_equal(labels_get(other, label_of(other, "R"))->kind, RECORD_REQUEST_BEGIN);
	space_free(t);
	labels_free(other);
}

static void
an_empty_space_is_restored_empty(void **state)
{
	struct fixture *f = *state;

	save(f->space, f->path);
	load(f->space, f->labels, f->path);
	assert_int_equal(space_type(f->space, 0), LABEL_NONE);
}

/* ---- crashes ---- */

static void
save_version(struct fixture *f, uint64_t fingerprint, const char *name, int64_t learned_ns,
    const char *words)
{
	struct space *s = space_new(f->labels);

	assert_int_equal(space_version_set(s, fingerprint, name, learned_ns, NULL), 0);
	learn(s, f->labels, words);
	save(s, f->path);
	space_free(s);
}

static void
save_until_killed(struct fixture *f, struct space *other, int tell)
{
	for (;;)
		if (space_save(f->space, f->path, NULL) != 0 || write(tell, "1", 1) != 1 ||
		    space_save(other, f->path, NULL) != 0 || write(tell, "2", 1) != 1)
			_exit(1);
}

static void
kill_9_leaves_the_old_or_the_new_file_whole(void **state)
{
	struct fixture *f = *state;
	struct space *other = space_new(f->labels);
	struct space_stats small, big, got;
	char left[80];
	struct rng r;

	rng_seed(&r, 6);
	learn_any(&r, f->space, f->labels, 3);
	learn_any(&r, other, f->labels, 300);
	assert_true(
	    space_stats(f->space, LABEL_NONE, &small) && space_stats(other, LABEL_NONE, &big));
	save_version(f, 1, "another version", -1, "R a E"); /* learned before the others */
	for (int i = 0; i < 25; i++) {
		struct space *t = space_new(f->labels);
		struct space_version *versions;
		int pipes[2], status;
		uint32_t nversions;
		pid_t child;
		char byte;

		assert_int_equal(pipe(pipes), 0);
		if ((child = fork()) == 0)
			save_until_killed(f, other, pipes[1]);
		close(pipes[1]);
		for (uint64_t n = rng_below(&r, 4); n < 4; n++)
			assert_int_equal(read(pipes[0], &byte, 1), 1);
		for (volatile uint64_t spin = rng_below(&r, 3000000); spin > 0; spin--)
			;
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		assert_true(WIFSIGNALED(status));
		close(pipes[0]);
		load(t, f->labels, f->path);
		assert_true(space_stats(t, LABEL_NONE, &got));
		same_stats(&got, got.traces == small.traces ? &small : &big);
		assert_int_equal(space_versions(&versions, &nversions, f->path, NULL), 0);
		assert_true(nversions == 2 && strcmp(versions[1].name, "another version") == 0 &&
			    versions[1].traces == 1);
		free(versions);
		space_free(t);
	}
	save(f->space, f->path); /* a leftover temporary file does not matter */
	snprintf(left, sizeof left, "%s.new", f->path);
	assert_int_not_equal(access(left, F_OK), 0);
	space_free(other);
}

/* ---- foreign and damaged files ---- */

static void
a_missing_file_is_reported(void **state)
{
	struct fixture *f = *state;

	refuses_to_load(f->path, ERR_MISSING, "no such file");
}

static void
a_file_of_another_application_is_refused_and_not_overwritten(void **state)
{
	struct fixture *f = *state;
	struct err e;
	uint8_t *data;
	size_t len;

	file_write(f->path, "my thesis, only copy\n", 21);
	refuses_to_load(f->path, ERR_STORE, "is not a database");
	assert_int_equal(space_save(f->space, f->path, &e), ERR_STORE);
	data = file_read(f->path, &len);
	assert_memory_equal(data, "my thesis, only copy\n", 21);
	free(data);
	file_write(f->path, "", 0);
	refuses_to_load(f->path, ERR_STORE, "is empty");
	sql(f->path, "CREATE TABLE precious (x)");
	refuses_to_load(f->path, ERR_STORE, "not a search space");
	assert_int_equal(space_save(f->space, f->path, &e), ERR_STORE);
	/* the ids of a forest */
	sql(f->path, "PRAGMA application_id = 1215262309; PRAGMA user_version = 1");
	refuses_to_load(f->path, ERR_STORE, "not a search space");
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(mkdir(f->path, 0755), 0);
	refuses_to_load(f->path, ERR_STORE, "Is a directory");
	assert_int_equal(space_save(f->space, f->path, &e), ERR_STORE);
}

static void
a_newer_schema_is_refused_and_not_overwritten(void **state)
{
	struct fixture *f = *state;
	struct err e;

	learn(f->space, f->labels, "R a E");
	save(f->space, f->path);
	sql(f->path, "PRAGMA user_version = 7");
	refuses_to_load(f->path, ERR_VERSION, "schema 7; this one knows up to 2");
	assert_int_equal(space_save(f->space, f->path, &e), ERR_VERSION);
	assert_non_null(strstr(e.text, "schema 7"));
}

static void
a_truncated_file_is_refused(void **state)
{
	struct fixture *f = *state;
	struct rng r;
	uint8_t *data;
	size_t len;

	rng_seed(&r, 1);
	learn_any(&r, f->space, f->labels, 300);
	save(f->space, f->path);
	data = file_read(f->path, &len);
	assert_true(len > 20000);
	for (size_t keep = 50; keep < len; keep += len / 9) {
		file_write(f->path, data, keep);
		refuses_to_load(f->path, ERR_STORE, "damaged");
	}
	free(data);
}

static void
flipped_bytes_are_an_error_or_harmless(void **state)
{
	struct fixture *f = *state;
	struct rng r;
	uint8_t *data;
	size_t len;
	int refused = 0;

	rng_seed(&r, 17);
	learn_any(&r, f->space, f->labels, 100);
	save(f->space, f->path);
	data = file_read(f->path, &len);
	for (int i = 0; i < 200; i++) {
		struct labels *labels = labels_new();
		struct space *s = space_new(labels);
		size_t at = rng_below(&r, i % 4 == 0 ? 200 : len);
		uint8_t was = data[at];
		struct err e = { 0 };
		int rc;

		data[at] ^= (uint8_t)(1 + rng_below(&r, 255));
		file_write(f->path, data, len);
		rc = space_load(s, labels, f->path, NULL, &e);
		assert_true(
		    rc == 0 || ((rc == ERR_STORE || rc == ERR_VERSION) && strlen(e.text) > 20));
		assert_true(rc == 0 || space_type(s, 0) == LABEL_NONE);
		refused += rc != 0;
		space_free(s);
		labels_free(labels);
		data[at] = was;
	}
	assert_true(refused > 10);
	free(data);
}

static void
invalid_rows_are_damage(void **state)
{
	static const char *const wrongs[] = {
		"DELETE FROM label WHERE id = 2",
		"UPDATE label SET kind = 7 WHERE id = 1",
		"UPDATE label SET kind = -1 WHERE id = 1",
		"UPDATE label SET text = 'no service' WHERE id = 3",
		"UPDATE type SET label = 9999 WHERE id = 0",
		"UPDATE type SET label = -1 WHERE id = 0",
		"UPDATE type SET id = 3 WHERE id = 0",
		"UPDATE type SET label = (SELECT id FROM label WHERE kind = 0 LIMIT 1) WHERE id = 0",
		"UPDATE type SET traces = 0 WHERE id = 0",
		"UPDATE place SET unit = 4294967296",
		"UPDATE place SET label = -1",
		"UPDATE place SET span = 4711 WHERE id = 4",
		"UPDATE place SET type = 77 WHERE id = 4",
		"UPDATE place SET id = 999999 WHERE id = 4",
		"UPDATE place SET count = 0 WHERE id = 4",
		"UPDATE place SET traces = count + 1 WHERE id = 4",
		"UPDATE place SET offset_ns = 9e999 WHERE id = 4",
		"UPDATE place SET first = 0 WHERE id = 4",
		"UPDATE place SET last = first - 1 WHERE id = 4",
		"UPDATE place SET label = p.label, unit = p.unit, span = p.span FROM place p WHERE p.id = 1 AND place.id = 2",
		"UPDATE step SET from_place = 99999 WHERE id = 1",
		"UPDATE step SET to_place = -1 WHERE id = 1",
		/* a place of another type */
		"UPDATE step SET to_place = (SELECT max(id) FROM place) WHERE id = 1",
		"UPDATE step SET count = -1 WHERE id = 1",
		"UPDATE step SET mean_ns = -9e999 WHERE id = 1",
		"UPDATE step SET from_place = s.from_place, to_place = s.to_place FROM step s WHERE s.id = 1 AND step.id = 2",
	};
	struct fixture *f = *state;
	struct rng r;
	uint8_t *data;
	size_t len;

	rng_seed(&r, 4);
	learn_any(&r, f->space, f->labels, 40);
	save(f->space, f->path);
	data = file_read(f->path, &len);
	for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
		file_write(f->path, data, len);
		sql(f->path, wrongs[i]);
		refuses_to_load(f->path, ERR_STORE, "damaged");
	}
	file_write(f->path, data, len);
	sql(f->path, "DROP TABLE step");
	refuses_to_load(f->path, ERR_STORE, "no such table");
	free(data);
}

/*
 * SQLite may answer count(*) from an index, and a damaged index can have fewer rows than its table.
 */
static void
a_damaged_index_is_harmless(void **state)
{
	struct fixture *f = *state;
	struct rng r;

	rng_seed(&r, 4);
	learn_any(&r, f->space, f->labels, 40);
	save(f->space, f->path);
	sql(f->path,
	    "CREATE INDEX few ON place (version) WHERE 0; PRAGMA writable_schema = ON; UPDATE sqlite_schema SET"
	    " sql = 'CREATE INDEX few ON place (version)' WHERE name = 'few'");
	refuses_to_load(f->path, ERR_STORE, "damaged");
	assert_int_equal(unlink(f->path), 0);
	save(f->space, f->path);
	sql(f->path,
	    "CREATE INDEX few ON label (version) WHERE 0; PRAGMA writable_schema = ON; UPDATE sqlite_schema SET"
	    " sql = 'CREATE INDEX few ON label (version)' WHERE name = 'few'");
	refuses_to_load(f->path, ERR_STORE, "damaged");
}

/* Each row is valid by itself, but together they contradict each other. */
static void
rows_that_contradict_each_other_are_damage(void **state)
{
	static const struct {
		const char *sql, *words;
	} wrongs[] = {
		/* x lies in y and y in x, and neither in the unit */
		{ "UPDATE place SET span = (SELECT id FROM label WHERE text LIKE '%:y_begin') WHERE label = (SELECT id FROM"
		  " label WHERE text LIKE '%:x_begin')",
		    "spans are only inside each other" },
		{ "UPDATE place SET span = (SELECT id FROM label WHERE text LIKE '%(U1)') WHERE label = (SELECT id FROM label"
		  " WHERE text LIKE '%:p')",
		    "the span is not a tracepoint around place" },
		{ "UPDATE step SET to_place = (SELECT id FROM place WHERE label = (SELECT id FROM label WHERE text LIKE"
		  " '%:q')) WHERE id = 0",
		    "a step leads to another unit" },
		{ "UPDATE step SET count = 3 WHERE id = 1", "more steps than visits" },
		{ "UPDATE step SET count = 9223372036854775806 WHERE id = 1",
		    "more steps than visits" },
		{ "UPDATE place SET traces = 2, count = 2, first = 1, last = 1 WHERE id = 1",
		    "place 1" },
		{ "UPDATE place SET first = 0 WHERE id = 1", "place 1" },
		{ "UPDATE place SET first = 3 WHERE id = 1", "place 1" },
		{ "UPDATE type SET traces = 1", "damaged" },
		{ "UPDATE concurrency SET place = 999", "concurrency 0" },
		{ "UPDATE concurrency SET count = 0", "concurrency 0" },
		{ "UPDATE concurrency SET unit = (SELECT id FROM label WHERE text LIKE '%:p')",
		    "concurrency 0" },
		{ "UPDATE place_key SET count = 5 WHERE id = 0", "key 0" },
		{ "UPDATE place_key SET field = 5 WHERE id = 0", "key 0" },
		{ "UPDATE place_key SET type = 0 WHERE id = 0", "key 0" },
		{ "UPDATE place_key SET type = 5 WHERE id = 0", "key 0" },
		{ "UPDATE place_key SET low = 10, high = 9 WHERE id = 0", "key 0" },
		{ "UPDATE place_key SET high = 9e999 WHERE id = 0", "key 0" },
		{ "UPDATE place_key SET texts = x'010203' WHERE id = 1", "key 1" },
		{ "UPDATE place_key SET texts = x'0102030401020304' WHERE id = 1", "key 1" },
		{ "UPDATE place_key SET texts = x'00000000' WHERE id = 1", "key 1" },
		{ "UPDATE place_key SET texts = zeroblob(1028) WHERE id = 1", "key 1" },
		{ "UPDATE place_key SET type = 1, field = 0 WHERE id = 1", "key 1" },
	};
	static const char *const fields[] = { "rows", "shard" };
	const struct value values[2] = { { .type = VALUE_INT, .i = 7 },
		{ .type = VALUE_TEXT, .len = 2, .text = "eu" } };
	struct fixture *f = *state;
	struct trace *t;
	uint8_t *data;
	size_t len;

	labels_intern(f->labels, RECORD_POINT, "shop/app:p", 10, fields, 2);
	t = made(f->labels, "R x_begin y_begin p y_end x_end F1 J1 E | U1 q V1");
	t->events[3].values = values;
	t->events[3].nvalues = 2;
	t->events[6].link_id = 9;
	t->units[0].fork = TRACE_NONE;
	t->units[1].fork = 6;
	for (int i = 0; i < 2; i++)
		assert_int_equal(space_learn(f->space, t, NULL), 0);
	made_free(t);
	save(f->space, f->path);
	data = file_read(f->path, &len);
	for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
		file_write(f->path, data, len);
		load(space_renewed(f), f->labels, f->path);
		sql(f->path, wrongs[i].sql);
		refuses_to_load(f->path, ERR_STORE, wrongs[i].words);
	}
	free(data);
}

/* ---- versions ---- */

static void
knows(struct fixture *f, const char *version, const char *points)
{
	struct space *s = space_new(f->labels);
	struct err e = { 0 };

	if (space_load(s, f->labels, f->path, version, &e) != 0)
		fail_msg("%s", e.text);
	assert_string_equal(between(s, f->labels, "R", "R", "E", ""), points);
	space_free(s);
}

static void
versions_are_stored_side_by_side(void **state)
{
	struct fixture *f = *state;
	struct space_version *v;
	uint32_t n;

	save_version(f, 1, "1.0", 100, "R a E");
	save_version(f, UINT64_MAX, "1.1", 300, "R a b E");
	save_version(f, 3, "0.9", 200, "R c E");
	save_version(f, 4, "1.0", 100, "R a d E"); /* learned again */
	assert_int_equal(space_versions(&v, &n, f->path, NULL), 0);
	assert_int_equal(n, 3);
	assert_true(strcmp(v[0].name, "1.1") == 0 && v[0].fingerprint == UINT64_MAX &&
		    v[0].learned_ns == 300);
	assert_true(strcmp(v[1].name, "0.9") == 0 && v[1].traces == 1);
	assert_true(strcmp(v[2].name, "1.0") == 0 && v[2].fingerprint == 4);
	free(v);
	knows(f, "1.0", "a d");
	knows(f, "1.1", "a b");
	knows(f, "0.9", "c");
	knows(f, NULL, "a b");
}

static void
a_missing_version_is_reported(void **state)
{
	struct fixture *f = *state;
	struct space *s = space_new(f->labels);
	struct err e = { 0 };

	save_version(f, 1, "1.0", 100, "R a E");
	save_version(f, 2, "1.1", 300, "R b E");
	assert_int_equal(space_load(s, f->labels, f->path, "2.0", &e), ERR_MISSING);
	assert_non_null(
	    strstr(e.text, "has no version '2.0' of the application; it has: 1.1, 1.0"));
	assert_int_equal(space_type(s, 0), LABEL_NONE);
	assert_string_equal(space_version(s)->name, "");
	space_free(s);
}

static void
a_space_takes_the_version_that_it_loads_unless_it_has_one(void **state)
{
	struct fixture *f = *state;
	struct space *s = space_new(f->labels);

	save_version(f, 11, "1.0", 100, "R a E");
	load(s, f->labels, f->path);
	assert_string_equal(space_version(s)->name, "1.0");
	assert_true(space_version(s)->fingerprint == 11 && space_version(s)->learned_ns == 100);
	assert_int_equal(space_version(s)->traces, 1);
	save_version(f, 12, "2.0", 200, "R b E");
	load(s, f->labels, f->path);
	assert_string_equal(space_version(s)->name, "1.0");
	assert_int_equal(space_version(s)->traces, 2);
	assert_string_equal(between(s, f->labels, "R", "R", "E", ""), "a b");
	space_free(s);
}

static void
a_file_of_another_application_has_no_versions(void **state)
{
	struct fixture *f = *state;
	struct space_version *v;
	struct err e = { 0 };
	uint32_t n;

	assert_int_equal(space_versions(&v, &n, f->path, &e), ERR_MISSING);
	file_write(f->path, "my thesis, only copy\n", 21);
	assert_int_equal(space_versions(&v, &n, f->path, &e), ERR_STORE);
	assert_true(v == NULL && n == 0 && strstr(e.text, "is not a database") != NULL);
}

/* Files of Hone 0.1: one version of the application, without a name. */
static const char first_schema[] =
    "CREATE TABLE label (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, kind INTEGER NOT NULL) STRICT;"
    "CREATE TABLE field (label INTEGER NOT NULL REFERENCES label, number INTEGER NOT NULL, name TEXT NOT NULL,"
    " PRIMARY KEY (label, number)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE type (id INTEGER PRIMARY KEY, label INTEGER NOT NULL UNIQUE REFERENCES label,"
    " traces INTEGER NOT NULL) STRICT;"
    "CREATE TABLE place (id INTEGER PRIMARY KEY, type INTEGER NOT NULL REFERENCES type,"
    " unit INTEGER NOT NULL REFERENCES label, span INTEGER REFERENCES label,"
    " label INTEGER NOT NULL REFERENCES label, traces INTEGER NOT NULL, count INTEGER NOT NULL,"
    " offset_ns REAL NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL) STRICT;"
    "CREATE TABLE step (id INTEGER PRIMARY KEY, from_place INTEGER NOT NULL REFERENCES place,"
    " to_place INTEGER NOT NULL REFERENCES place, count INTEGER NOT NULL, mean_ns REAL NOT NULL) STRICT;"
    "INSERT INTO label VALUES (0, 'shop/hone:request_begin(R)', 1), (1, 'shop/app:x_begin', 0), (2, 'shop/app:a', 0),"
    " (3, 'shop/app:x_end', 0), (4, 'shop/hone:request_end(E)', 2);"
    "INSERT INTO field VALUES (2, 0, 'rows');"
    "INSERT INTO type VALUES (0, 0, 2);"
    "INSERT INTO place VALUES (0, 0, 0, NULL, 0, 2, 2, 0, 1, 2), (1, 0, 0, NULL, 1, 2, 2, 10, 1, 2),"
    " (2, 0, 0, 1, 2, 2, 2, 25, 1, 2), (3, 0, 0, NULL, 3, 2, 2, 30, 1, 2), (4, 0, 0, NULL, 4, 2, 2, 40, 1, 2);"
    "INSERT INTO step VALUES (1, 0, 1, 2, 10), (2, 1, 2, 2, 15), (3, 2, 3, 2, 5), (4, 3, 4, 2, 10);"
    "PRAGMA application_id = 1215262323; PRAGMA user_version = 1;";

static void
a_file_of_the_first_schema_loads_and_is_upgraded_on_saving(void **state)
{
	struct fixture *f = *state;
	struct space *s = space_new(f->labels);
	struct space_version *v;
	struct space_stats st;
	uint8_t *before, *after;
	size_t len, len_after;
	uint32_t n;

	sql(f->path, first_schema);
	before = file_read(f->path, &len);
	assert_int_equal(space_versions(&v, &n, f->path, NULL), 0);
	assert_true(n == 1 && v[0].name[0] == '\0' && v[0].traces == 2 && v[0].fingerprint == 0);
	free(v);
	load(s, f->labels, f->path);
	after = file_read(f->path, &len_after);
	assert_true(
	    /* reading does not change the file */
	    len == len_after && memcmp(before, after, len) == 0);
	assert_string_equal(between(s, f->labels, "R", "R", "E", ""), "x_begin a x_end");
	assert_true(
	    space_stats(s, LABEL_NONE, &st) && st.traces == 2 && st.places == 5 && st.steps == 4);
	save_version(f, 5, "1.0", 100, "R b E"); /* the old version is kept */
	knows(f, "", "x_begin a x_end");
	knows(f, "1.0", "b");
	learn(s, f->labels, "R x_begin a x_end c E");
	save(s, f->path); /* still without a name: replaces the old version */
	assert_int_equal(space_versions(&v, &n, f->path, NULL), 0);
	assert_true(n == 2 && strcmp(v[0].name, "1.0") == 0 && v[1].traces == 3);
	free(v);
	knows(f, "", "x_begin a x_end c");
	free(before);
	free(after);
	space_free(s);
}

static void
damage_of_a_file_of_the_first_schema_is_reported(void **state)
{
	struct fixture *f = *state;
	struct err e = { 0 };
	uint8_t *before, *after;
	size_t len, len_after;

	sql(f->path, first_schema);
	sql(f->path, "UPDATE step SET count = 9 WHERE id = 2");
	refuses_to_load(f->path, ERR_STORE, "more steps than visits at place 1");
	sql(f->path, "DROP TABLE step");
	refuses_to_load(f->path, ERR_STORE, "no such table");
	before = file_read(f->path, &len);
	assert_int_equal(space_version_set(f->space, 1, "1.0", 1, NULL), 0);
	learn(f->space, f->labels, "R a E");
	assert_int_equal(space_save(f->space, f->path, &e), ERR_STORE);
	after = file_read(f->path, &len_after);
	assert_true(len == len_after && memcmp(before, after, len) == 0);
	free(before);
	free(after);
}

/* The other versions in the file are kept as well. */
static void
a_damaged_file_is_not_overwritten(void **state)
{
	struct fixture *f = *state;
	struct err e = { 0 };
	struct rng r;
	uint8_t *data, *after;
	size_t len, len_after;
	char page[32];

	rng_seed(&r, 5);
	learn_any(&r, f->space, f->labels, 200);
	save(f->space, f->path);
	data = file_read(f->path, &len);
	memset(data + len / 4096 / 2 * 4096, 0xa5, 4096);
	file_write(f->path, data, len);
	snprintf(page, sizeof page, "age %zu", len / 4096 / 2 + 1);
	refuses_to_load(f->path, ERR_STORE, page);
	assert_int_equal(space_version_set(f->space, 1, "1.0", 1, NULL), 0);
	assert_int_equal(space_save(f->space, f->path, &e), ERR_STORE);
	assert_non_null(strstr(e.text, "damaged"));
	after = file_read(f->path, &len_after);
	assert_true(len == len_after && memcmp(data, after, len) == 0);
	free(data);
	free(after);
}

static void
only_one_process_saves_at_a_time(void **state)
{
	struct fixture *f = *state;
	struct err e = { 0 };
	char left[80];
	int fd;

	snprintf(left, sizeof left, "%s.new", f->path);
	learn(f->space, f->labels, "R a E");
	fd = open(left, O_RDWR | O_CREAT, 0600);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(space_save(f->space, f->path, &e), ERR_BUSY);
	assert_non_null(strstr(e.text, "another program is saving it"));
	assert_int_equal(access(left, F_OK), 0); /* the file of another process */
	close(fd);
	save(f->space, f->path);
	assert_int_not_equal(access(left, F_OK), 0);
}

/* The last save contains what all others have learned, also of processes that died. */
static void
versions_saved_by_many_at_once_are_all_there(void **state)
{
	struct fixture *f = *state;
	struct space_version *v;
	uint32_t n;

	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			char name[16], words[32];
			struct err e = { 0 };

			snprintf(name, sizeof name, "%d", i);
			snprintf(words, sizeof words, "R a%d E", i);
			learn(f->space, f->labels, words);
			space_version_set(f->space, 0, name, i + 1, NULL);
			for (int k = 0; k < 20;)
				if (space_save(f->space, f->path, &e) == 0)
					k++;
				else if (e.code != ERR_BUSY)
					_exit(1);
			_exit(0);
		}
	for (int i = 0; i < 4; i++) {
		int status;

		assert_true(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	assert_int_equal(space_versions(&v, &n, f->path, NULL), 0);
	assert_int_equal(n, 4);
	free(v);
	knows(f, "0", "a0");
	knows(f, NULL, "a3");
}

/* Keys, forks, partial traces: all fields survive two saves. */
static void
all_fields_of_a_place_are_restored(void **state)
{
	static const char *const fields[] = { "rows", "shard" };
	struct fixture *f = *state;
	struct labels *other = labels_new();
	struct space *t = space_new(other), *u = space_new(other);
	struct space_export a, b;
	struct trace *trace;

	labels_intern(f->labels, RECORD_POINT, "shop/app:a", 10, fields, 2);
	trace = made(f->labels, "R F1 a J1 E | U1 a V1");
	trace->events[1].link_id = trace->events[3].link_id = 4;
	trace->units[1].fork = 1;
	for (int i = 0; i < 500; i++) {
		char text[8];
		struct value v[2] = { { .type = VALUE_INT, .i = i - 3 },
			{ .type = VALUE_TEXT, .text = text } };

		v[1].len = (uint32_t)snprintf(text, sizeof text, "%d", i % 99);
		trace->events[2].values = v;
		trace->events[2].nvalues = 2;
		assert_int_equal(space_learn(f->space, trace, NULL), 0);
	}
	made_free(trace);
	trace = made(f->labels, "R n a E");
	assert_int_equal(space_learn_more(f->space, trace, NULL), 0);
	made_free(trace);
	save(f->space, f->path);
	label_of(other, "junk");
	load(t, other, f->path);
	save(t, f->path);
	load(u, other, f->path);
	assert_true(space_export(f->space, label_of(f->labels, "R"), &a) &&
		    space_export(u, label_of(other, "R"), &b));
	assert_true(a.nplaces == b.nplaces && a.nsteps == b.nsteps &&
		    a.nconcurrency == b.nconcurrency && a.nkeys == b.nkeys);
	assert_true(
	    a.nkeys == 2 && a.nconcurrency == 2 && b.keys[1].texts == 99 && b.keys[0].low == -3);
	for (uint32_t i = 0; i < a.nkeys; i++) {
		assert_string_equal(a.keys[i].field, b.keys[i].field);
		assert_true(a.keys[i].place == b.keys[i].place &&
			    a.keys[i].type == b.keys[i].type &&
			    a.keys[i].count == b.keys[i].count && a.keys[i].low == b.keys[i].low &&
			    a.keys[i].high == b.keys[i].high && a.keys[i].texts == b.keys[i].texts);
	}
	for (uint32_t i = 0; i < a.nconcurrency; i++)
		assert_true(a.concurrency[i].place == b.concurrency[i].place &&
			    a.concurrency[i].count == 500 && b.concurrency[i].count == 500 &&
			    b.concurrency[i].unit == label_of(other, "U1"));
	for (uint32_t i = 0; i < a.nplaces; i++)
		assert_true(a.places[i].count == b.places[i].count &&
			    a.places[i].traces == b.places[i].traces);
	/* also the mark that it was in partial traces only: its counts restart */
	learn(u, other, "R n a E");
	learn(u, other, "R n a E");
	assert_true(space_export(u, label_of(other, "R"), &b));
	for (uint32_t i = 0; i < b.nplaces; i++)
		assert_true(b.places[i].label != label_of(other, "n") || b.places[i].count == 2);
	space_free(t);
	space_free(u);
	labels_free(other);
}

/*
 * Any space that was learned can be read back, from whole traces, partial traces and merges of
 * both.
 */
static void
every_learned_space_can_be_read_back(void **state)
{
	static const char *const parts[] = { " a", " b", " c", " x_begin", " x_end", " y_begin",
		" y_end", " F1", " J1" };
	struct fixture *f = *state;
	struct rng r;

	rng_seed(&r, 2);
	for (int round = 0; round < 60; round++) {
		struct space *s = space_renewed(f), *other = space_new(f->labels),
			     *t = space_new(f->labels);

		for (uint64_t n = 1 + rng_below(&r, 12); n > 0; n--) {
			char text[256] = "R";
			struct trace *trace;
			int from = (int)rng_below(&r, 7);

			for (uint64_t k = rng_below(&r, 9); k > 0; k--)
				strcat(text, parts[from + (int)rng_below(&r, 3)]);
			strcat(text, " E | U1");
			for (uint64_t k = rng_below(&r, 5); k > 0; k--)
				strcat(text, parts[rng_below(&r, 9)]);
			trace = made(f->labels, text);
			trace->units[1].fork = (uint32_t)rng_below(&r, trace->nevents);
			assert_int_equal((rng_below(&r, 2) == 0 ? space_learn : space_learn_more)(
					     rng_below(&r, 3) == 0 ? other : s, trace, NULL),
			    0);
			made_free(trace);
			if (rng_below(&r, 8) == 0)
				assert_int_equal(space_merge(s, other, NULL), 0);
		}
		save(s, f->path);
		load(t, f->labels, f->path);
		assert_int_equal(space_merge(other, t, NULL), 0);
		save(other, f->path);
		load(s, f->labels, f->path);
		space_free(other);
		space_free(t);
	}
}

/* A tracepoint of another build may have other fields: keys are matched by name, not by number. */
static void
keys_are_matched_by_field_names(void **state)
{
	static const char *const here[] = { "rows", "shard" }, *const there[] = { "user", "shard" };
	const struct value v[2] = { { .type = VALUE_INT, .i = 5 }, { .type = VALUE_INT, .i = 6 } };
	struct fixture *f = *state;
	struct labels *other = labels_new();
	struct space *t = space_new(other);
	struct trace *trace;
	struct space_export l;

	labels_intern(f->labels, RECORD_POINT, "shop/app:a", 10, here, 2);
	labels_intern(other, RECORD_POINT, "shop/app:a", 10, there, 2);
	trace = made(f->labels, "R a E");
	trace->events[1].values = v;
	trace->events[1].nvalues = 2;
	assert_int_equal(space_learn(f->space, trace, NULL), 0);
	made_free(trace);
	save(f->space, f->path);
	load(t, other, f->path);
	assert_true(space_export(t, label_of(other, "R"), &l));
	assert_int_equal(l.nkeys, 1);
	assert_string_equal(l.keys[0].field, "shard");
	assert_true(l.keys[0].low == 6);
	space_free(t);
	labels_free(other);
}

/* ---- errors of the disk and the system ---- */

static void
try_full_disk(void *arg)
{
	struct fixture *f = arg;
	char filler[80], left[80];
	struct err e = { 0 };
	struct space *t = space_new(f->labels);
	struct space_stats st;

	mount_small_disk(f->folder);
	snprintf(filler, sizeof filler, "%s/filler", f->folder);
	snprintf(left, sizeof left, "%s.new", f->path);
	learn(f->space, f->labels, "R a E");
	CHECK(space_save(f->space, f->path, &e) == 0);
	fill_disk(filler);
	learn(f->space, f->labels, "R b E");
	CHECK(space_save(f->space, f->path, &e) == ERR_FULL);
	CHECK(strstr(e.text, "no space left") != NULL && strstr(e.text, f->path) != NULL);
	CHECK(access(left, F_OK) != 0);
	CHECK(space_load(t, f->labels, f->path, NULL, &e) == 0);
	CHECK(space_stats(t, LABEL_NONE, &st) && st.traces == 1); /* the old one, whole */
	unlink(filler);
	CHECK(space_save(f->space, f->path, &e) == 0);
	CHECK(space_load(t, f->labels, f->path, NULL, &e) == 0);
	CHECK(space_stats(t, LABEL_NONE, &st) && st.traces == 3);
	space_free(t);
	umount(f->folder);
}

static void
a_full_disk_leaves_the_old_file(void **state)
{
	in_child(try_full_disk, *state, "no mounts of our own here (needs root)");
}

static void
try_read_only(void *arg)
{
	struct fixture *f = arg;
	struct err e = { 0 };

	become_nobody();
	CHECK(space_save(f->space, f->path, &e) == ERR_STORE);
	CHECK(strstr(e.text, "check the permissions of the file and its folder") != NULL);
}

static void
a_read_only_folder_is_reported(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(chmod(f->folder, 0555), 0);
	in_child(try_read_only, f, "cannot become another user");
}

#define test(name) cmocka_unit_test_setup_teardown(name, fixture_make, fixture_free)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_saved_space_gives_the_same_answers),
		test(learning_continues_after_loading),
		test(loading_adds_to_the_learned_space),
		test(fields_and_unusual_texts_are_restored),
		test(an_empty_space_is_restored_empty),
		test(kill_9_leaves_the_old_or_the_new_file_whole),
		test(a_missing_file_is_reported),
		test(a_file_of_another_application_is_refused_and_not_overwritten),
		test(a_newer_schema_is_refused_and_not_overwritten),
		test(a_truncated_file_is_refused),
		test(flipped_bytes_are_an_error_or_harmless),
		test(invalid_rows_are_damage),
		test(a_damaged_index_is_harmless),
		test(rows_that_contradict_each_other_are_damage),
		test(versions_are_stored_side_by_side),
		test(a_missing_version_is_reported),
		test(a_space_takes_the_version_that_it_loads_unless_it_has_one),
		test(a_file_of_another_application_has_no_versions),
		test(a_file_of_the_first_schema_loads_and_is_upgraded_on_saving),
		test(damage_of_a_file_of_the_first_schema_is_reported),
		test(a_damaged_file_is_not_overwritten),
		test(only_one_process_saves_at_a_time),
		test(versions_saved_by_many_at_once_are_all_there),
		test(all_fields_of_a_place_are_restored),
		test(every_learned_space_can_be_read_back),
		test(keys_are_matched_by_field_names),
		test(a_full_disk_leaves_the_old_file),
		test(a_read_only_folder_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

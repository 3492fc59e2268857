/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "controlplane/relay/forest_entries.h"

/* ---- a database that is a text, and its writer ---- */

struct text {
	char *s;
	size_t len;
};

static void
text_set(struct text *t, const char *s, size_t len)
{
	char *copy = malloc(len + 1);

	memcpy(copy, s, len);
	copy[len] = '\0';
	free(t->s);
	*t = (struct text){ copy, len };
}

static void
text_add(struct text *t, const void *s, size_t len)
{
	t->s = realloc(t->s, t->len + len + 1);
	memcpy(t->s + t->len, s, len);
	t->len += len;
	t->s[t->len] = '\0';
}

struct copy {
	struct text now, fresh; /* fresh: of a state that is on */
	struct text files[FOREST_FILES];
	struct forest_place at;
	bool fails;
};

static int
rows(void *ctx, const void *s, size_t len, uint32_t schema, const struct forest_place *at,
    struct err *e)
{
	struct copy *c = ctx;

	assert_int_equal(schema, 7);
	if (c->fails)
		return err_set(e, ERR_FULL, "no space left");
	text_add(&c->now, s, len);
	c->at = *at;
	return 0;
}

static int
state_begin(void *ctx, struct err *e)
{
	struct copy *c = ctx;

	text_set(&c->fresh, "", 0);
	return c->fails ? err_set(e, ERR_FULL, "no space left") : 0;
}

static int
state_rows(void *ctx, const void *s, size_t len, uint32_t schema, struct err *e)
{
	(void)schema;
	(void)e;
	text_add(&((struct copy *)ctx)->fresh, s, len);
	return 0;
}

static int
state_end(void *ctx, const struct forest_place *at, struct err *e)
{
	struct copy *c = ctx;

	(void)e;
	text_set(&c->now, c->fresh.s, c->fresh.len);
	c->at = *at;
	return 0;
}

static void
state_undo(void *ctx)
{
	text_set(&((struct copy *)ctx)->fresh, "?", 1);
}

static int
file(void *ctx, uint32_t which, const void *s, size_t len, struct err *e)
{
	(void)e;
	text_set(&((struct copy *)ctx)->files[which], s, len);
	return 0;
}

static struct forest_follow
following(struct copy *c, const struct forest_place *at)
{
	const struct forest_calls calls = { c, rows, state_begin, state_rows, state_end, state_undo,
		file };
	struct forest_follow f;

	text_set(&c->now, c->now.s != NULL ? c->now.s : "", c->now.len);
	forest_follow_init(&f, &calls, at != NULL ? at : &(struct forest_place){ 0 });
	return f;
}

static void
copy_release(struct copy *c)
{
	free(c->now.s);
	free(c->fresh.s);
	for (int i = 0; i < FOREST_FILES; i++)
		free(c->files[i].s);
}

struct entry {
	struct buf bytes;
	struct text then; /* the writer's database when it is read */
};

struct log {
	struct entry items[4096];
	uint32_t n;
};

struct writer {
	uint64_t term, run, number;
	struct text now, state; /* state: of which the rest is to be written */
	size_t state_at;
	bool state_on;
	struct forest_place from;
};

static void
put(struct log *l, struct writer *w, struct forest_entry x, const char *body, size_t len)
{
	struct relay_head h = {
		.kind = RELAY_FOREST, .source = "d", .epoch = w->run, .number = ++w->number
	};
	struct entry *it = &l->items[l->n++];

	x.term = w->term;
	x.schema = 7;
	x.body = (const uint8_t *)body;
	x.len = len;
	forest_entry_encode(&h, &x, &it->bytes);
	text_set(&it->then, w->now.s, w->now.len);
}

static void
begin(struct log *l, struct writer *w, uint64_t term, uint64_t run, const struct text *db,
    const struct forest_place *from)
{
	w->term = term;
	w->run = run;
	w->number = 0;
	w->from = *from;
	w->state_on = false;
	text_set(&w->now, db->s, db->len);
	put(l, w, (struct forest_entry){ .kind = FOREST_BEGIN }, "", 0);
}

static void
commit(struct log *l, struct writer *w, const char *text, int parts)
{
	text_add(&w->now, text, strlen(text));
	for (int i = 0; i < parts; i++) {
		size_t from = strlen(text) * (size_t)i / (size_t)parts,
		       to = strlen(text) * (size_t)(i + 1) / (size_t)parts;

		put(l, w,
		    (struct forest_entry){
			.kind = FOREST_ROWS, .flags = i + 1 < parts ? FOREST_MORE : 0 },
		    text + from, to - from);
	}
}

/* The next piece of a state; a new one begins if none is on. */
static void
state(struct log *l, struct writer *w, size_t piece)
{
	bool first = !w->state_on, last;

	if (first) {
		text_set(&w->state, w->now.s, w->now.len);
		w->state_at = 0;
	}
	last = w->state.len - w->state_at <= piece;
	put(l, w,
	    (struct forest_entry){ .kind = FOREST_STATE,
		.flags = (uint8_t)((first ? FOREST_FIRST : 0) | (last ? FOREST_LAST : 0)),
		.from = w->from },
	    w->state.s + w->state_at, last ? w->state.len - w->state_at : piece);
	w->state_at += piece;
	w->state_on = !last;
	if (last)
		w->from = (struct forest_place){ w->term, w->run, w->number };
}

static void
feed(struct forest_follow *f, const struct entry *it)
{
	struct err e = { 0 };

	if (forest_follow_take(f, it->bytes.data, it->bytes.len, &e) != 0)
		fail_msg("%s", e.text);
}

static void
log_release(struct log *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		buf_release(&l->items[i].bytes);
		free(l->items[i].then.s);
	}
	free(l);
}

static void
writer_release(struct writer *w)
{
	free(w->now.s);
	free(w->state.s);
}

static const struct forest_place nowhere = { 0 };
static const struct text nothing = { "", 0 };

/* ---- promises ---- */

/* Two terms, states of any pieces with commits between them, commits of several entries; entries are lost, come twice, and those of the
 * first term come after the second has begun. */
static void
a_copy_that_says_it_is_whole_is_what_the_leader_had(void **state_of)
{
	uint32_t whole = 0, gaps = 0, older = 0;
	(void)state_of;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct log *l = calloc(1, sizeof *l);
		struct writer w = { 0 };
		struct copy c = { 0 };
		struct forest_follow f = following(&c, NULL);
		double loss = seed % 3 == 0 ? 0.02 : 0;
		uint32_t second = 0, last;
		struct rng r;

		rng_seed(&r, seed);
		begin(l, &w, 1, 50, &nothing, &nowhere);
		for (int i = 0; i < 150; i++) {
			char text[16];

			if (i == 80) {
				struct forest_place from = { w.term, w.run, w.number };
				struct text db = { 0 };

				text_set(&db, w.now.s, w.now.len);
				second = l->n;
				begin(l, &w, 5, 20, &db, &from);
				free(db.s);
			}
			if (w.state_on || rng_below(&r, 12) == 0 || i == 0 || i == 80)
				state(l, &w, 1 + rng_below(&r, 40));
			if (i % 80 == 0) /* what a decider writes first is a state */
				continue;
			for (int n = 0; n < 9; n++)
				text[n] = (char)('a' + rng_below(&r, 26));
			text[9] = '\0';
			commit(l, &w, text, 1 + (int)rng_below(&r, 3));
		}
		for (uint32_t i = 0; i < l->n; i++) {
			if (rng_unit(&r) >= loss)
				feed(&f, &l->items[i]);
			if (rng_below(&r, 10) == 0 && i > 0)
				feed(&f,
				    &l->items[rng_below(&r, i)]); /* again, or of a term before */
			if (f.whole && !f.state_on && f.waiting.len == 0 &&
			    (f.seen.term == 1 || f.seen.number > 1)) {
				uint64_t at = (f.seen.term == 1 ? 0 : second) + f.seen.number - 1;

				whole++;
				if (strcmp(c.now.s, l->items[at].then.s) != 0)
					fail_msg("seed %d, entry %u: \"%s\" ought to be \"%s\"",
					    (int)seed, (unsigned)at, c.now.s, l->items[at].then.s);
			}
		}
		last = l->n;
		if (w.state_on)
			state(l, &w, 1000000);
		state(l, &w, 1000000);
		for (; last < l->n; last++)
			feed(&f, &l->items[last]); /* also after a gap */
		assert_true(f.whole);
		assert_string_equal(c.now.s, w.now.s);
		gaps += (uint32_t)f.gaps;
		older += (uint32_t)f.older;
		assert_true(f.gaps == 0 || loss > 0);
		forest_follow_release(&f);
		copy_release(&c);
		writer_release(&w);
		log_release(l);
	}
	assert_true(whole > 1000 && gaps > 30 && older > 100);
}

static void
what_an_old_leader_writes_after_a_new_one_has_begun_counts_for_nobody(void **state_of)
{
	struct log *l = calloc(1, sizeof *l);
	struct writer a = { 0 }, b = { 0 };
	struct copy c = { 0 };
	struct forest_follow f = following(&c, NULL);
	(void)state_of;

	begin(l, &a, 1, 50, &nothing, &nowhere);
	state(l, &a, 9);
	commit(l, &a, "x", 1);
	for (uint32_t i = 0; i < l->n; i++)
		feed(&f, &l->items[i]);
	begin(l, &b, 2, 60, &a.now, &(struct forest_place){ 1, 50, a.number });
	feed(&f, &l->items[l->n - 1]);
	commit(l, &a, "late", 1);
	feed(&f, &l->items[l->n - 1]);
	assert_string_equal(c.now.s, "x");
	assert_int_equal(f.older, 1);
	state(l, &b, 9);
	feed(&f, &l->items[l->n - 1]);
	commit(l, &b, "y", 1);
	feed(&f, &l->items[l->n - 1]);
	assert_string_equal(c.now.s, "xy");
	assert_true(f.whole);
	forest_follow_release(&f);
	copy_release(&c);
	writer_release(&a);
	writer_release(&b);
	log_release(l);
}

/* It ended before its first state was complete: what it had written on top of the former one's is kept. */
static void
a_leader_that_ends_in_the_middle_of_its_state_loses_nothing(void **state_of)
{
	struct log *l = calloc(1, sizeof *l);
	struct writer a = { 0 }, b = { 0 }, d = { 0 };
	struct copy c = { 0 };
	struct forest_follow f = following(&c, NULL);
	(void)state_of;

	begin(l, &a, 1, 50, &nothing, &nowhere);
	state(l, &a, 9);
	commit(l, &a, "abcdefgh", 1);
	begin(l, &b, 2, 60, &a.now, &(struct forest_place){ 1, 50, a.number });
	state(l, &b, 3);
	commit(l, &b, "ij", 1);
	commit(l, &b, "kl", 2);
	for (uint32_t i = 0; i < l->n; i++)
		feed(&f, &l->items[i]);
	assert_true(f.state_on);
	assert_string_equal(c.now.s, "abcdefgh");
	begin(l, &d, 3, 70, &b.now, &(struct forest_place){ 2, 60, b.number });
	feed(&f, &l->items[l->n - 1]);
	assert_true(f.whole);
	assert_string_equal(c.now.s, "abcdefghijkl");
	assert_int_equal(c.at.term, 2);
	assert_int_equal(c.at.number, b.number);
	forest_follow_release(&f);
	copy_release(&c);
	writer_release(&a);
	writer_release(&b);
	writer_release(&d);
	log_release(l);
}

/* Half a commit is never written, and its place is not noted either. */
static void
a_commit_is_written_when_its_last_entry_has_come(void **state_of)
{
	struct log *l = calloc(1, sizeof *l);
	struct writer w = { 0 };
	struct copy c = { 0 };
	struct forest_follow f = following(&c, NULL), again;
	struct forest_place at;
	(void)state_of;

	begin(l, &w, 1, 50, &nothing, &nowhere);
	state(l, &w, 9);
	commit(l, &w, "one", 1);
	commit(l, &w, "twotwo", 3);
	for (uint32_t i = 0; i + 1 < l->n; i++)
		feed(&f, &l->items[i]);
	assert_string_equal(c.now.s, "one");
	at = c.at;
	forest_follow_end(&f);
	forest_follow_release(&f);
	again = following(&c, &at); /* it was started anew, and reads the log from its beginning */
	assert_true(again.whole);
	for (uint32_t i = 0; i < l->n; i++)
		feed(&again, &l->items[i]);
	assert_string_equal(c.now.s, "onetwotwo");
	assert_true(again.whole && again.gaps == 0);
	forest_follow_release(&again);
	copy_release(&c);
	writer_release(&w);
	log_release(l);
}

static void
a_copy_that_begins_in_the_middle_of_the_log_is_not_whole_until_a_state(void **state_of)
{
	struct log *l = calloc(1, sizeof *l);
	struct writer w = { 0 };
	struct copy c = { 0 };
	struct forest_follow f = following(&c, NULL);
	uint32_t cut;
	(void)state_of;

	begin(l, &w, 1, 50, &nothing, &nowhere);
	state(l, &w, 9);
	commit(l, &w, "one", 1);
	cut = l->n;
	commit(l, &w, "two", 1);
	feed(&f, &l->items[cut]);
	assert_false(f.whole);
	assert_int_equal(f.gaps, 1);
	assert_int_equal(f.missing, cut);
	assert_string_equal(c.now.s, "");
	state(l, &w, 4);
	commit(l, &w, "three", 1);
	state(l, &w, 4);
	for (uint32_t i = cut + 1; i < l->n; i++)
		feed(&f, &l->items[i]);
	assert_true(f.whole);
	assert_string_equal(c.now.s, "onetwothree");
	forest_follow_release(&f);
	copy_release(&c);
	writer_release(&w);
	log_release(l);
}

static void
an_error_ends_the_copy_until_a_state_is_complete(void **state_of)
{
	struct log *l = calloc(1, sizeof *l);
	struct writer w = { 0 };
	struct copy c = { 0 };
	struct forest_follow f = following(&c, NULL);
	(void)state_of;

	begin(l, &w, 1, 50, &nothing, &nowhere);
	state(l, &w, 9);
	for (uint32_t i = 0; i < l->n; i++)
		feed(&f, &l->items[i]);
	commit(l, &w, "one", 1);
	c.fails = true;
	feed(&f, &l->items[l->n - 1]);
	assert_false(f.whole);
	assert_int_equal(f.trouble.code, ERR_FULL);
	state(l, &w, 9);
	feed(&f, &l->items[l->n - 1]);
	assert_false(f.whole);
	assert_false(f.state_on);
	c.fails = false;
	commit(l, &w, "two", 1);
	feed(&f, &l->items[l->n - 1]); /* on top of what is not there */
	assert_string_equal(c.now.s, "");
	state(l, &w, 9);
	feed(&f, &l->items[l->n - 1]);
	assert_true(f.whole);
	assert_string_equal(c.now.s, "onetwo");
	forest_follow_release(&f);
	copy_release(&c);
	writer_release(&w);
	log_release(l);
}

static void
a_file_is_replaced_whole_or_not_at_all(void **state_of)
{
	static const struct forest_entry
	    first = { .kind = FOREST_FILE, .which = 1, .flags = FOREST_FIRST },
	    last = { .kind = FOREST_FILE, .which = 1, .flags = FOREST_LAST },
	    only = { .kind = FOREST_FILE, .which = 2, .flags = FOREST_FIRST | FOREST_LAST };
	struct log *l = calloc(1, sizeof *l);
	struct writer w = { 0 };
	struct copy c = { 0 };
	struct forest_follow f = following(&c, NULL);
	(void)state_of;

	begin(l, &w, 1, 50, &nothing, &nowhere);
	put(l, &w, first, "spa", 3);
	put(l, &w, last, "ce", 2);
	put(l, &w, only, "levels", 6);
	for (uint32_t i = 0; i < l->n; i++)
		feed(&f, &l->items[i]);
	assert_string_equal(c.files[1].s, "space");
	assert_string_equal(c.files[2].s, "levels");
	put(l, &w, first, "new", 3);
	feed(&f, &l->items[l->n - 1]);
	put(l, &w, only, "lost", 4);
	put(l, &w, last, "er", 2);
	feed(&f, &l->items[l->n - 1]); /* an entry before it is missing */
	assert_string_equal(c.files[1].s, "space");
	forest_follow_release(&f);
	copy_release(&c);
	writer_release(&w);
	log_release(l);
}

static void
a_malformed_entry_is_refused(void **state_of)
{
	struct forest_entry x = { .term = 300,
		.kind = FOREST_STATE,
		.flags = FOREST_FIRST,
		.schema = 7,
		.from = { 1, 2, 3 } },
			    y;
	struct relay_head h = {
		.kind = RELAY_FOREST, .source = "d", .epoch = 5, .number = 9, .items = 1
	};
	struct buf b = { 0 };
	struct err e;
	(void)state_of;

	forest_entry_encode(&h, &x, &b);
	assert_int_equal(forest_entry_decode(&h, &y, b.data, b.len, &e), 0);
	assert_int_equal(y.from.number, 3);
	assert_int_equal(y.len, 0);
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(forest_entry_decode(&h, &y, b.data, len, &e), ERR_INPUT);
	buf_reset(&b);
	x.flags = FOREST_MORE; /* of rows */
	forest_entry_encode(&h, &x, &b);
	assert_int_equal(forest_entry_decode(&h, &y, b.data, b.len, &e), ERR_INPUT);
	buf_reset(&b);
	x = (struct forest_entry){ .term = 1, .kind = FOREST_FILE, .which = FOREST_FILES };
	forest_entry_encode(&h, &x, &b);
	assert_int_equal(forest_entry_decode(&h, &y, b.data, b.len, &e), ERR_INPUT);
	buf_reset(&b);
	x = (struct forest_entry){ .term = 0, .kind = FOREST_BEGIN };
	forest_entry_encode(&h, &x, &b);
	assert_int_equal(forest_entry_decode(&h, &y, b.data, b.len, &e), ERR_INPUT);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_that_says_it_is_whole_is_what_the_leader_had),
		cmocka_unit_test(
		    what_an_old_leader_writes_after_a_new_one_has_begun_counts_for_nobody),
		cmocka_unit_test(a_leader_that_ends_in_the_middle_of_its_state_loses_nothing),
		cmocka_unit_test(a_commit_is_written_when_its_last_entry_has_come),
		cmocka_unit_test(
		    a_copy_that_begins_in_the_middle_of_the_log_is_not_whole_until_a_state),
		cmocka_unit_test(an_error_ends_the_copy_until_a_state_is_complete),
		cmocka_unit_test(a_file_is_replaced_whole_or_not_at_all),
		cmocka_unit_test(a_malformed_entry_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

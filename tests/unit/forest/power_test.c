/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Power loss: a diagnosis is recorded as what SQLite did to its files. Then, for each of these operations, the disk is made
 * as it may be if the power fails there: of each file what was synced, and of each later write any of its sectors or
 * none. So unsynced writes are lost, reordered and torn. The database must open, and have each cycle that was
 * acknowledged.
 *
 * A file that was never synced may be missing. A sector has 512 bytes; bytes outside a write are not changed by it, as
 * SQLite assumes too (SQLITE_IOCAP_POWERSAFE_OVERWRITE). The shared index (-shm) is not read after a crash.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/forest/faults.h"
#include "tests/unit/forest/made.h"
#include "tests/unit/sanitized.h"

enum { CYCLES = 4, FILES = 4, CHANGES_MAX = 4096, SECTOR_BYTES = 512, DRAWS = 5 };

static const char *const ENDS[FILES] = { "", "-wal", "-journal", "-shm" };

struct change {
	enum change_kind kind;
	int file;
	int64_t len, offset;
	uint8_t *data;
};

struct recording {
	const char *path;
	struct change changes[CHANGES_MAX];
	uint32_t n;
	uint32_t acknowledged_at[CYCLES + 1]; /* number of changes when a cycle was acknowledged */
};

struct image { /* of a file on the disk */
	bool exists;
	uint8_t *data;
	int64_t len;
};

/* ---- recording ---- */

static void
record(void *ctx, const struct file_change *c)
{
	struct recording *r = ctx;
	size_t base = strlen(r->path);
	struct change *to = &r->changes[r->n];

	for (int i = 0; i < FILES; i++) {
		if (strncmp(c->name, r->path, base) != 0 || strcmp(c->name + base, ENDS[i]) != 0)
			continue;
		assert_true(r->n < CHANGES_MAX);
		*to = (struct change){ c->kind, i, c->len, c->offset, NULL };
		if (c->kind == CHANGE_WRITE) {
			to->data = malloc((size_t)c->len);
			memcpy(to->data, c->data, (size_t)c->len);
		}
		r->n++;
	}
}

/* As a controller does; closes and opens the database in between, so that its log is checkpointed. */
static struct recording *
diagnosis(const char *path)
{
	struct recording *r = calloc(1, sizeof *r);
	struct forest *f = forest_new();
	struct store *s;

	r->path = path;
	faults_at(0, FAULT_NONE);
	faults_watch(record, r);
	s = open_store(path);
	for (uint32_t cycle = 1; cycle <= CYCLES; cycle++) {
		play(f, cycle);
		commit(s, f);
		r->acknowledged_at[cycle] = r->n;
		if (cycle != CYCLES / 2)
			continue;
		store_close(s);
		s = open_store(path);
		forest_free(f);
		f = loaded(s, 0);
	}
	store_close(s);
	faults_watch(NULL, NULL);
	forest_free(f);
	return r;
}

static void
recording_free(struct recording *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		free(r->changes[i].data);
	free(r);
}

/* ---- the disk after a power failure ---- */

/* Whether an unsynced sector is on the disk: in so many of 8 cases. */
struct chance {
	struct rng rng;
	uint64_t of_8;
};

static const uint64_t DRAWN_OF_8[DRAWS] = { 0, 4, 4, 7, 8 };

static bool
happens(struct chance *c)
{
	return rng_below(&c->rng, 8) < c->of_8;
}

static void
resize(struct image *m, int64_t len)
{
	m->data = realloc(m->data, (size_t)len + 1);
	if (len > m->len)
		memset(m->data + m->len, 0, (size_t)(len - m->len));
	m->len = len;
}

/* Does a write or truncation; with chance, of each sector of it or not. */
static void
apply(struct image *m, const struct change *c, struct chance *chance)
{
	int64_t n;

	m->exists = true;
	if (c->kind == CHANGE_TRUNCATE) {
		if (chance == NULL || happens(chance))
			resize(m, c->len);
		return;
	}
	for (int64_t at = 0; at < c->len; at += n) {
		n = SECTOR_BYTES - (c->offset + at) % SECTOR_BYTES;
		n = n < c->len - at ? n : c->len - at;
		if (chance != NULL && !happens(chance))
			continue;
		if (c->offset + at + n > m->len)
			resize(m, c->offset + at + n);
		memcpy(m->data + c->offset + at, c->data + at, (size_t)n);
	}
}

/* How many changes are on the disk for certain, of the content of this file: those before its last sync. */
static uint32_t
synced(const struct recording *r, int file, uint32_t end)
{
	while (end > 0 &&
	       (r->changes[end - 1].file != file || r->changes[end - 1].kind != CHANGE_SYNC))
		end--;
	return end;
}

/*
 * The same of names in the folder. SQLite syncs it with a deletion if it says so, and with the first sync of each new
 * journal and log (UNIXFILE_DIRSYNC).
 */
static uint32_t
folder_synced(const struct recording *r, uint32_t end)
{
	bool fresh[FILES] = { false, true, true, true };
	uint32_t ret = 0;

	for (uint32_t i = 0; i < end; i++) {
		const struct change *c = &r->changes[i];

		if ((c->kind == CHANGE_SYNC && fresh[c->file]) ||
		    (c->kind == CHANGE_DELETE && c->len != 0))
			ret = i + 1;
		fresh[c->file] = c->file != 0 && (c->kind == CHANGE_DELETE ||
						     (fresh[c->file] && c->kind != CHANGE_SYNC));
	}
	return ret;
}

static struct image
image_at(const struct recording *r, int file, uint32_t end, struct chance *chance)
{
	uint32_t certain = synced(r, file, end), names = folder_synced(r, end);
	struct image m = { 0 };

	for (uint32_t i = 0; i < end; i++) {
		const struct change *c = &r->changes[i];

		if (c->file != file)
			continue;
		if (c->kind == CHANGE_DELETE) {
			/* While the old file has its name, a new one has none. */
			if (i >= names && !happens(chance))
				break;
			free(m.data);
			m = (struct image){ 0 };
		} else if (c->kind != CHANGE_SYNC) {
			apply(&m, c, i < certain ? NULL : chance);
		}
	}
	return m;
}

static void
write_disk(const struct recording *r, uint32_t end, struct chance *chance)
{
	for (int file = 0; file < FILES; file++) {
		struct image m = image_at(r, file, end, chance);
		char name[96];
		int fd;

		snprintf(name, sizeof name, "%s%s", r->path, ENDS[file]);
		unlink(name);
		if (m.exists) {
			fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
			assert_int_equal(write(fd, m.data, (size_t)m.len), m.len);
			close(fd);
		}
		free(m.data);
	}
}

/* ---- the promise ---- */

static uint32_t
cycles_of(const struct forest *f)
{
	struct run *r;
	uint32_t n = 0;
	uint64_t at = 0;

	while ((r = forest_run_next(f, &at)) != NULL)
		n += r->cycles;
	return n;
}

/* Whether a tracepoint is enabled is what its last switch says: as the controller would know it. */
static void
knows_what_was_on(const struct forest *f, const struct forest *want)
{
	uint64_t at = 0, of = 0;
	const struct switched *a, *b;

	while ((a = forest_switched_next(want, NULL, &at)) != NULL) {
		assert_non_null(b = forest_switched_next(f, NULL, &of));
		assert_string_equal(a->tracepoint, b->tracepoint);
		assert_int_equal(a->on, b->on);
	}
	assert_null(forest_switched_next(f, NULL, &of));
}

/* With sanitizers only some of the writes: also those just before a cycle is acknowledged, after which the next one may be safe. */
static bool
is_tried(const struct recording *r, uint32_t end)
{
	for (uint32_t i = 1; i <= CYCLES; i++)
		if (end + 1 == r->acknowledged_at[i])
			return true;
	return end % SANITIZED_STRIDE == r->n % SANITIZED_STRIDE;
}

static void
after_a_power_failure_at_each_write_all_that_was_acknowledged_is_there(void **state)
{
	struct place *p = *state;
	struct recording *r = diagnosis(p->path);
	struct forest *want[CYCLES + 1], *f;
	struct store *s;
	struct chance chance;
	uint32_t acknowledged = 0, there, further = 0;

	rng_seed(&chance.rng, 11);
	for (uint32_t i = 0; i <= CYCLES; i++)
		want[i] = played(i);
	for (uint32_t end = 0; end <= r->n; end++) {
		if (!is_tried(r, end))
			continue;
		while (acknowledged < CYCLES && r->acknowledged_at[acknowledged + 1] <= end)
			acknowledged++;
		for (size_t draw = 0; draw < DRAWS; draw++) {
			chance.of_8 = DRAWN_OF_8[draw];
			write_disk(r, end, &chance);
			s = open_store(p->path); /* checks that it is not damaged */
			f = loaded(s, 0);
			there = cycles_of(f);
			/* The next one may be safe, but not acknowledged. */
			assert_in_range(
			    there, acknowledged, acknowledged < CYCLES ? acknowledged + 1 : CYCLES);
			further += there > acknowledged;
			same_forest(want[there], f);
			knows_what_was_on(f, want[there]);
			forest_free(f);
			store_close(s);
		}
	}
	assert_true(r->n > 10 * CYCLES && acknowledged == CYCLES && further > 0);
	print_message("# the power failed in each of %u operations, %d times\n", r->n, DRAWS);
	for (uint32_t i = 0; i <= CYCLES; i++)
		forest_free(want[i]);
	recording_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    after_a_power_failure_at_each_write_all_that_was_acknowledged_is_there,
		    folder_make, folder_remove),
	};

	return cmocka_run_group_tests_name("power", tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A snapshot of the flight recorder: three packets of one ring of one program, as LTTng 2.13 writes them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/reader/snapshot.h"
#include "agent/system/folder.h"

enum { PACKET_BYTES = 4096, PACKETS = 3 };

static const uint64_t TRACE = UINT64_C(0xe3893a5b0228c4b9); /* in the file's first packet */

struct folder {
	char path[64], process[200];
	uint8_t packets[PACKETS * PACKET_BYTES];
};

static void
load(const char *path, void *to, size_t size, size_t *len)
{
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	*len = fread(to, 1, size, f);
	fclose(f);
}

static void
write_file(const struct folder *x, const char *name, const void *data, size_t len)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", x->process, name);
	assert_non_null(f = fopen(path, "wb"));
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static int
begin(void **state)
{
	static uint8_t metadata[65536];
	struct folder *x = calloc(1, sizeof *x);
	size_t len;

	strcpy(x->path, "/tmp/hone-snapshot.XXXXXX");
	assert_non_null(mkdtemp(x->path));
	snprintf(x->process, sizeof x->process,
	    "%s/s-20261126-060000-0/ust/pid/kinds-%ld-20261126-055900", x->path, (long)getpid());
	assert_int_equal(folder_make(x->process, NULL), 0);
	load("tests/data/ctf-kinds.wrapped", metadata, sizeof metadata, &len);
	write_file(x, "metadata", metadata, len);
	load("tests/data/ctf-kinds.packets", x->packets, sizeof x->packets, &len);
	assert_int_equal(len, sizeof x->packets);
	*state = x;
	return 0;
}

static int
end(void **state)
{
	struct folder *x = *state;

	folder_remove(x->path);
	free(x);
	return 0;
}

/* Times of the packets are of 2^42 ns; a keep of all times. */
static struct keep
keep_from(int64_t from_ns)
{
	return (struct keep){ 1, TRACE, from_ns, INT64_MAX };
}

static uint64_t
word(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof v);
	return v;
}

/* In the packet context of LTTng-UST 2.13: begin at byte 32. */
static int64_t
begin_of(const struct folder *x, int packet)
{
	return (int64_t)word(x->packets + packet * PACKET_BYTES + 32);
}

static void
read_all(const struct folder *x, const struct keep *keeps, uint32_t n,
    const struct listed_users *users, struct kept *ret, struct buf *batches)
{
	struct snapshot *s;

	assert_int_equal(snapshot_open(&s, x->path, "hone", keeps, n, users, NULL), 0);
	while (snapshot_step(s))
		;
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(snapshot_kept(s, i, &ret[i], &batches[i], NULL), 0);
	snapshot_close(s);
}

static uint32_t
records_of(const struct kept *k)
{
	struct arena a = { 0 };
	struct batch b;
	uint32_t n;

	assert_int_equal(batch_decode(&b, &a, k->batch, k->batch_len, NULL), 0);
	for (uint32_t i = 0; i < b.nrecords; i++) {
		assert_int_equal(b.records[i].trace_id, k->trace_id);
		assert_non_null(memchr(
		    b.labels[b.records[i].label].text, '/', b.labels[b.records[i].label].len));
	}
	n = b.nrecords;
	arena_release(&a);
	return n;
}

static void
a_ring_that_was_not_full_yet_has_the_whole_trace(void **state)
{
	struct folder *x = *state;
	const struct keep k[2] = { keep_from(0), { 2, TRACE + 1, 0, INT64_MAX } };
	struct buf batch[2] = { 0 };
	struct kept got[2];

	write_file(x, "hone_1", x->packets, sizeof x->packets);
	write_file(x, "notes", "no ring", 7);
	read_all(x, k, 2, NULL, got, batch);
	assert_int_equal(got[0].result, KEPT_READ);
	assert_int_equal(got[0].rings, 1);
	assert_int_equal(got[0].overwritten, 0);
	assert_int_equal(got[0].undecoded, 0);
	assert_int_equal(got[0].horizon_ns, 0);
	assert_true(records_of(&got[0]) > 2);
	/* of another trace it has nothing, and says so without a doubt */
	assert_int_equal(records_of(&got[1]), 0);
	assert_int_equal(got[1].overwritten, 0);
	buf_release(&batch[0]);
	buf_release(&batch[1]);
}

static void
what_was_overwritten_is_told_to_those_whom_it_concerns(void **state)
{
	struct folder *x = *state;
	struct keep k[2] = { keep_from(begin_of(x, 0)), keep_from(begin_of(x, 1)) };
	struct buf batch[2] = { 0 };
	struct kept got[2];

	k[1].number = 2;
	k[1].trace_id = TRACE + 1;
	write_file(x, "hone_0", x->packets + PACKET_BYTES, 2 * PACKET_BYTES); /* 0 is gone */
	read_all(x, k, 2, NULL, got, batch);
	assert_int_equal(got[0].overwritten, 1);
	assert_int_equal(got[1].overwritten, 0);
	assert_int_equal(got[0].horizon_ns, begin_of(x, 1));
	buf_release(&batch[0]);
	buf_release(&batch[1]);
}

static void
a_gap_between_packets_is_told(void **state)
{
	struct folder *x = *state;
	const struct keep k = keep_from(0);
	struct buf batch = { 0 };
	struct kept got;

	memmove(x->packets + PACKET_BYTES, x->packets + 2 * PACKET_BYTES, PACKET_BYTES);
	write_file(x, "hone_0", x->packets, 2 * PACKET_BYTES);
	read_all(x, &k, 1, NULL, &got, &batch);
	assert_int_equal(got.overwritten, 1);
	assert_int_equal(got.horizon_ns, begin_of(x, 1));
	buf_release(&batch);
}

static void
what_cannot_be_decoded_is_counted(void **state)
{
	struct folder *x = *state;
	const struct keep k = keep_from(0);
	struct buf batch = { 0 };
	struct kept got;

	memset(x->packets + PACKET_BYTES, 0xee, PACKET_BYTES);
	write_file(x, "hone_0", x->packets, sizeof x->packets);
	read_all(x, &k, 1, NULL, &got, &batch);
	assert_int_equal(got.undecoded, 1);
	assert_int_equal(got.overwritten, 1); /* behind it nothing is known */
	assert_true(records_of(&got) > 0);    /* what came before is there */
	buf_release(&batch);
}

static void
programs_of_others_are_not_read(void **state)
{
	struct folder *x = *state;
	const struct keep k = keep_from(0);
	const struct listed_users nobody = { 1, { 4000000001u } }, own = { 1, { getuid() } };
	struct buf batch = { 0 };
	struct kept got;

	write_file(x, "hone_0", x->packets, sizeof x->packets);
	read_all(x, &k, 1, &nobody, &got, &batch);
	assert_int_equal(got.unlisted, 1);
	assert_int_equal(got.rings, 0);
	assert_int_equal(records_of(&got), 0);
	buf_reset(&batch);
	read_all(x, &k, 1, &own, &got, &batch);
	assert_int_equal(got.unlisted, 0);
	assert_int_equal(got.rings, 1);
	buf_release(&batch);
}

static void
a_folder_without_a_snapshot_is_refused(void **state)
{
	struct folder *x = *state;
	const struct keep k = keep_from(0);
	struct snapshot *s;
	char empty[80];

	snprintf(empty, sizeof empty, "%s/empty", x->path);
	assert_int_equal(folder_make(empty, NULL), 0);
	assert_int_equal(snapshot_open(&s, empty, "hone", &k, 1, NULL, NULL), ERR_INPUT);
	assert_int_equal(snapshot_open(&s, "/nowhere", "hone", &k, 1, NULL, NULL), ERR_SYSTEM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_ring_that_was_not_full_yet_has_the_whole_trace, begin, end),
		cmocka_unit_test_setup_teardown(
		    what_was_overwritten_is_told_to_those_whom_it_concerns, begin, end),
		cmocka_unit_test_setup_teardown(a_gap_between_packets_is_told, begin, end),
		cmocka_unit_test_setup_teardown(what_cannot_be_decoded_is_counted, begin, end),
		cmocka_unit_test_setup_teardown(programs_of_others_are_not_read, begin, end),
		cmocka_unit_test_setup_teardown(a_folder_without_a_snapshot_is_refused, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

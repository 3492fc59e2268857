/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The source on folders that the test writes as the daemons do, so that every order of events can be
 * tested. Packets and metadata are recorded ones, see ctf_test.c.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/ctf/ctf_trace.h"
#include "agent/reader/source_lttng.h"
#include "agent/system/process.h"
#include "tests/unit/leftovers.h"

#define MS INT64_C(1000000)
#define NAME "program-1-20260101-000000"
enum {
	PACKET = 4096,
	HEAD = 84,
	PRODUCED_AT = 128,
	CONSUMED_AT = 152,
	LOST_AT = 392,
	RING_PACKETS = 16
};

struct fixture {
	char dir[64];
	uint8_t *ring; /* head of the ring, mapped writable */
	uint8_t *packets, *index;
	size_t packets_len, index_len;
	struct source source;
	struct mono now;
};

static uint8_t *
load(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = malloc(1 << 16);

	assert_non_null(f);
	*len = fread(data, 1, 1 << 16, f);
	fclose(f);
	return data;
}

static void
path_of(const struct fixture *n, char *path, const char *what)
{
	snprintf(path, 512, "%s/%s", n->dir, what);
}

static void
write_file(const struct fixture *n, const char *what, const void *data, size_t len, bool append)
{
	char path[512];

	path_of(n, path, what);
	FILE *f = fopen(path, append ? "ab" : "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static void
make_dirs(const struct fixture *n, const char *what)
{
	char path[512];

	path_of(n, path, what);
	for (char *p = path + strlen(n->dir) + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
		*p = '\0';
		mkdir(path, 0700);
	}
	mkdir(path, 0700);
}

static void
word_set(struct fixture *n, uint32_t at, uint64_t v)
{
	__atomic_store_n((uint64_t *)(void *)(n->ring + at), v, __ATOMIC_RELEASE);
}

/* A ring in the layout of liblttng-ust 2.13 that holds the header of its first packet. */
static void
ring_make(struct fixture *n)
{
	static const uint8_t magic[16] = { 0x17, 0x7b, 0xf1, 0x77, 0xbf, 0x17, 0x7b, 0xf1, 0x77,
		0xbf, 0x17, 0x7b, 0xf1, 0x77, 0xbf, 0x17 };
	const uint16_t abi[3] = { 0x1234, 0, 0 };
	const uint32_t at[2] = { PRODUCED_AT, CONSUMED_AT };
	const uint64_t sizes[3] = { PACKET * RING_PACKETS, PACKET, RING_PACKETS };
	const uint32_t mode = 1;
	char path[512];

	path_of(n, path, "shm/ust/pid/" NAME "/hone_0");
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PACKET * (RING_PACKETS + 1)), 0);
	n->ring = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(n->ring != MAP_FAILED);
	close(fd);
	memcpy(n->ring, magic, 16);
	memcpy(n->ring + 24, abi, 6);
	n->ring[30] = 8;
	memcpy(n->ring + 32, at, 8);
	n->ring[76] = n->ring[77] = 8;
	memcpy(n->ring + 96, sizes, 24);
	memcpy(n->ring + 120, &mode, 4);
	word_set(n, PRODUCED_AT, HEAD);
}

static void
process_starts(struct fixture *n)
{
	size_t len;
	uint8_t *metadata = load("tests/data/ctf-kinds.metadata", &len);

	make_dirs(n, "shm/ust/pid/" NAME);
	make_dirs(n, "out/ust/pid/" NAME "/index");
	write_file(n, "shm/ust/pid/" NAME "/metadata", metadata, len, false);
	write_file(n, "out/ust/pid/" NAME "/hone_0", "", 0, false);
	write_file(n, "out/ust/pid/" NAME "/index/hone_0.idx", n->index, CTF_INDEX_HEAD, false);
	ring_make(n);
	free(metadata);
}

static void
remove_shm(struct fixture *n)
{
	char path[512];
	const char *const files[] = { "hone_0", "metadata" };

	for (int i = 0; i < 2; i++) {
		char what[128];
		snprintf(what, sizeof what, "shm/ust/pid/" NAME "/%s", files[i]);
		path_of(n, path, what);
		unlink(path);
	}
	path_of(n, path, "shm/ust/pid/" NAME);
	assert_int_equal(rmdir(path), 0);
}

/* Writes packet number i in the order of the consumer daemon: packet, ring position, index. */
static void
consume(struct fixture *n, unsigned i)
{
	write_file(n, "out/ust/pid/" NAME "/hone_0", n->packets + i * PACKET, PACKET, true);
	word_set(n, CONSUMED_AT, (i + 1) * PACKET);
	write_file(n, "out/ust/pid/" NAME "/index/hone_0.idx",
	    n->index + CTF_INDEX_HEAD + i * CTF_INDEX_ENTRY, CTF_INDEX_ENTRY, true);
}

static struct ctf_index
index_of(const struct fixture *n, unsigned i)
{
	struct ctf_index ret;
	struct err e;

	assert_int_equal(
	    ctf_index_entry(&ret, n->index + CTF_INDEX_HEAD + i * CTF_INDEX_ENTRY, &e), 0);
	return ret;
}

static struct source_output
take(struct fixture *n, int64_t now_ns)
{
	struct source_output t;
	struct err e = { 0 };

	n->now.ns = now_ns;
	if (n->source.poll(n->source.state, n->now, &t, &e) != 0)
		fail_msg("%s", e.text);
	return t;
}

static void
fixture_open(struct fixture *n, const struct source_options *o)
{
	char out[512], shm[512];
	struct err e = { 0 };

	memset(n, 0, sizeof *n);
	snprintf(n->dir, sizeof n->dir, "/tmp/hone-source-test-XXXXXX");
	assert_non_null(mkdtemp(n->dir));
	leftover(n->dir);
	n->packets = load("tests/data/ctf-kinds.packets", &n->packets_len);
	n->index = load("tests/data/ctf-kinds.index", &n->index_len);
	assert_true(n->packets_len >= 3 * PACKET);
	path_of(n, out, "out");
	path_of(n, shm, "shm");
	assert_int_equal(source_lttng_open(&n->source, out, shm, "hone", o, &e), 0);
}

/* Starts a process at the time of its first record, and polls. Returns that time. */
static int64_t
fixture_begin(struct fixture *n, const struct source_options *o)
{
	int64_t start;

	fixture_open(n, o);
	start = (int64_t)index_of(n, 0).begin_ns;
	process_starts(n);
	take(n, start);
	return start;
}

static void
fixture_close(struct fixture *n)
{
	n->source.close(n->source.state);
	if (n->ring != NULL)
		munmap(n->ring, 4096);
	free(n->packets);
	free(n->index);
}

static struct source_stats
stats_of(struct fixture *n)
{
	struct source_stats l;

	n->source.stats(n->source.state, &l);
	return l;
}

/* A time after the end of all packets. */
static int64_t
after(const struct fixture *n)
{
	return (int64_t)index_of(n, 2).end_ns + 1000 * MS;
}

static void
without_processes_the_watermark_is_now_less_what_may_be_in_flight(void **state)
{
	const struct source_options o = { .inflight_ns = 3 * MS };
	struct fixture n;
	(void)state;

	fixture_open(&n, &o);
	assert_true(take(&n, 1000 * MS).watermark_ns == 997 * MS);
	assert_true(take(&n, 2000 * MS).watermark_ns == 1997 * MS);
	assert_true(take(&n, 1500 * MS).watermark_ns == 1997 * MS); /* it does not decrease */
	fixture_close(&n);
}

static void
an_idle_ring_is_complete_and_one_with_data_is_not(void **state)
{
	const struct source_options o = { .outside = true };
	struct fixture n;
	struct source_output t;
	(void)state;

	fixture_open(&n, &o);
	struct ctf_index first = index_of(&n, 0), last = index_of(&n, 2);
	int64_t start = (int64_t)first.begin_ns - 100 * MS, late = after(&n);
	process_starts(&n);
	t = take(&n, start);
	assert_true(t.watermark_ns == start - 5 * MS); /* only a header: idle */
	word_set(&n, PRODUCED_AT, HEAD + 1);           /* a record replaces it */
	t = take(&n, start + MS);
	assert_true(t.watermark_ns == start - 5 * MS); /* unchanged */
	word_set(&n, PRODUCED_AT, PACKET * 2 + 500);
	consume(&n, 0);
	t = take(&n, late - MS);
	assert_true(t.watermark_ns == (int64_t)first.end_ns - 1); /* up to the last packet read */
	consume(&n, 1);
	consume(&n, 2);
	t = take(&n, late); /* everything was read */
	assert_true(t.watermark_ns == late - 5 * MS);
	assert_true(t.watermark_ns > (int64_t)last.end_ns);
	assert_int_equal(stats_of(&n).records, 19);
	assert_int_equal(stats_of(&n).late, 0);
	fixture_close(&n);
}

static void
a_consumed_packet_without_its_index_holds_the_watermark(void **state)
{
	struct fixture n;
	(void)state;

	int64_t start = fixture_begin(&n, NULL);

	word_set(&n, PRODUCED_AT, PACKET);
	word_set(&n, CONSUMED_AT, PACKET); /* between the daemon's two steps */
	assert_true(take(&n, start + 50 * MS).watermark_ns == start - 5 * MS);
	consume(&n, 0);
	assert_true(take(&n, start + 60 * MS).watermark_ns == start + 55 * MS);
	fixture_close(&n);
}

static void
records_past_the_watermark_wait(void **state)
{
	const struct source_options o = { .records_max = 3, .outside = true };
	struct fixture n;
	uint32_t total = 0, polls = 0;
	int64_t before_ns = 0;
	struct source_output t;
	(void)state;

	fixture_open(&n, &o);
	process_starts(&n);
	for (unsigned i = 0; i < 3; i++)
		consume(&n, i);
	word_set(&n, PRODUCED_AT, 3 * PACKET);
	do {
		t = take(&n, after(&n));
		assert_true(t.nrecords <= 3);
		for (uint32_t i = 0; i < t.nrecords; i++) {
			assert_true(t.records[i].time_ns > before_ns);
			assert_true(t.records[i].time_ns <= t.watermark_ns);
		}
		assert_int_equal(t.nlate, 0);
		before_ns = t.watermark_ns;
		total += t.nrecords;
		polls++;
	} while (t.more);
	assert_int_equal(total, 19);
	assert_int_equal(polls, 7);
	fixture_close(&n);
}

/* Sets each packet's end to the time of its last record. */
static void
fill_packets(struct fixture *n)
{
	struct ctf_trace t;
	size_t len, used;
	struct err e;
	char *text = (char *)load("tests/data/ctf-kinds.metadata", &len);

	ctf_trace_init(&t, 1 << 24);
	assert_int_equal(ctf_metadata(&t, text, len, &used, &e), 0);
	for (unsigned i = 0; i < 3; i++) {
		struct ctf_packet p;
		struct record r;
		struct value v[CTF_SLOTS];
		assert_int_equal(ctf_packet_open(&p, &t, n->packets + i * PACKET, PACKET, &e), 0);
		while (ctf_packet_next(&p, &e) == 1)
			assert_int_equal(ctf_packet_take(&p, &r, v, &e), 0);
		uint64_t end = htobe64((uint64_t)p.time_ns);
		memcpy(n->packets + i * PACKET + p.stream->end_at, &p.time_ns, 8);
		memcpy(n->index + CTF_INDEX_HEAD + i * CTF_INDEX_ENTRY + 32, &end, 8);
	}
	ctf_trace_release(&t);
	free(text);
}

static void
little_memory_does_not_stop_the_reader(void **state)
{
	const struct source_options o = { .memory_bytes = 1, .outside = true };
	struct fixture n;
	unsigned polls = 0;
	(void)state;

	fixture_open(&n, &o);
	fill_packets(&n); /* as when a record fills a packet to its last byte */
	process_starts(&n);
	for (unsigned i = 0; i < 3; i++)
		consume(&n, i);
	word_set(&n, PRODUCED_AT, 3 * PACKET + HEAD + 1);
	for (; stats_of(&n).records < 18 && polls < 20; polls++)
		take(&n, after(&n) + polls);
	word_set(&n, PRODUCED_AT, 3 * PACKET);
	take(&n, after(&n) + polls);
	assert_int_equal(stats_of(&n).records, 19);
	assert_int_equal(stats_of(&n).late, 0);
	fixture_close(&n);
}

static void
a_ring_that_is_not_drained_stops_holding_the_watermark_and_its_records_are_late(void **state)
{
	const struct source_options o = { .stall_ns = 300 * MS, .outside = true };
	struct fixture n;
	struct source_output t;
	(void)state;

	int64_t start = fixture_begin(&n, &o);

	word_set(&n, PRODUCED_AT, PACKET - 7);
	assert_true(take(&n, start + 250 * MS).watermark_ns == start - 5 * MS);
	t = take(&n, start + 900 * MS);
	assert_true(t.watermark_ns == start + 600 * MS);
	assert_int_equal(stats_of(&n).stalls, 1);
	word_set(&n, PRODUCED_AT, PACKET);
	consume(&n, 0);
	t = take(&n, start + 901 * MS);
	assert_true(t.nrecords > 0);
	assert_int_equal(t.nlate, t.nrecords);
	assert_true(t.watermark_ns == start + 896 * MS);
	fixture_close(&n);
}

static void
a_node_that_was_suspended_waits_for_its_rings(void **state)
{
	const struct source_options o = { .outside = true };
	struct fixture n;
	struct source_output t;
	(void)state;

	int64_t start = fixture_begin(&n, &o);

	word_set(&n, PRODUCED_AT, PACKET);
	assert_true(take(&n, start + 60000 * MS).watermark_ns == start - 5 * MS);
	assert_true(take(&n, start + 60900 * MS).watermark_ns == start - 5 * MS);
	assert_int_equal(stats_of(&n).stalls, 0);
	consume(&n, 0);
	t = take(&n, start + 60901 * MS);
	assert_true(t.nrecords > 0);
	assert_int_equal(t.nlate, 0);
	fixture_close(&n);
}

/* Polls every 100 ms for that long, or until the program is in quarantine; the last output. */
static struct source_output
take_until_quarantine(struct fixture *n, int64_t for_ms)
{
	struct source_output t = { 0 };

	for (int64_t ms = 0; ms < for_ms && stats_of(n).quarantines == 0; ms += 100)
		t = take(n, n->now.ns + 100 * MS);
	return t;
}

/* Nothing of the program is listed, counted, waited for or delivered. */
static void
is_in_quarantine(struct fixture *n, enum quarantine why)
{
	struct source_stats l = stats_of(n);
	struct source_output t;

	assert_int_equal(l.quarantines, 1);
	assert_int_equal(l.quarantined.why, why);
	assert_string_equal(l.quarantined.service, "source_program");
	assert_true(l.quarantined.pid > 0);
	assert_int_equal(l.nprocesses, 0);
	assert_true(l.fullest == 0);
	word_set(n, PRODUCED_AT, PACKET * RING_PACKETS);
	consume(n, 1);
	t = take(n, n->now.ns + 100 * MS);
	assert_int_equal(t.nrecords, 0);
	assert_true(t.watermark_ns == n->now.ns - 5 * MS);
	assert_int_equal(stats_of(n).files_bytes, 0);
	remove_shm(n);
	take(n, n->now.ns + 100 * MS);
	assert_null(stats_of(n).quarantined.service);
}

static void
a_program_that_damages_its_ring_is_put_into_quarantine_at_once(void **state)
{
	const struct source_options o = { .outside = true };
	struct fixture n;
	struct source_output t;
	(void)state;

	int64_t start = fixture_begin(&n, &o);

	word_set(&n, PRODUCED_AT, PACKET);
	consume(&n, 0);
	t = take(&n, start + 100 * MS);
	assert_int_equal(stats_of(&n).nprocesses, 1);
	word_set(&n, 0, 0);
	word_set(&n, PRODUCED_AT, PACKET * 2);
	t = take(&n, start + 200 * MS);
	assert_int_equal(t.nlosses, 1);
	assert_int_equal(t.losses[0].count, 1);
	is_in_quarantine(&n, QUARANTINE_DAMAGED);
	fixture_close(&n);
}

/* The fixture's program is process 1. */
static void
programs_of_users_that_are_not_listed_are_not_read(void **state)
{
	struct listed_users users = { 1, { 0 } };
	const struct source_options o = { .outside = true, .users = &users };
	struct fixture n;
	struct source_output t;
	(void)state;

	for (int listed = 0; listed < 2; listed++) {
		uint32_t user;

		assert_true(process_real_user(1, &user));
		users.ids[0] = listed ? user : user + 1;
		fixture_begin(&n, &o);
		word_set(&n, PRODUCED_AT, PACKET);
		consume(&n, 0);
		t = take(&n, n.now.ns + 100 * MS);
		assert_int_equal(t.nrecords > 0, listed);
		assert_int_equal(t.nlosses, 0);
		assert_int_equal(stats_of(&n).unlisted, !listed);
		assert_int_equal(stats_of(&n).nprocesses, listed);
		assert_null(stats_of(&n).quarantined.service);
		remove_shm(&n);
		take(&n, n.now.ns + 100 * MS);
		assert_int_equal(stats_of(&n).unlisted, 0);
		fixture_close(&n);
	}
}

static void
impossible_positions_fill_no_queue_and_put_a_program_into_quarantine(void **state)
{
	static const uint64_t CONSUMED[] = { UINT64_C(1) << 40, 0 };
	static const uint64_t PRODUCED[] = { PACKET, UINT64_C(1) << 40 };
	(void)state;

	for (int i = 0; i < 2; i++) {
		const struct source_options o = { .outside = true };
		struct fixture n;

		fixture_begin(&n, &o);
		word_set(&n, CONSUMED_AT, CONSUMED[i]);
		word_set(&n, PRODUCED_AT, PRODUCED[i]);
		take(&n, n.now.ns + 100 * MS);
		assert_true(stats_of(&n).fullest == 0);
		take_until_quarantine(&n, 800);
		assert_int_equal(stats_of(&n).quarantines, 0);
		take_until_quarantine(&n, 1000);
		is_in_quarantine(&n, QUARANTINE_POSITIONS);
		fixture_close(&n);
	}
}

static void
a_ring_that_stays_full_puts_its_program_into_quarantine(void **state)
{
	const struct source_options o = { .outside = true };
	struct fixture n;
	(void)state;

	fixture_begin(&n, &o);
	word_set(&n, PRODUCED_AT, PACKET * RING_PACKETS);
	take(&n, n.now.ns + 100 * MS);
	assert_true(stats_of(&n).fullest == 1);
	assert_string_equal(stats_of(&n).fullest_service, "source_program");
	take_until_quarantine(&n, 9000);
	assert_int_equal(stats_of(&n).quarantines, 0);
	take_until_quarantine(&n, 2000);
	is_in_quarantine(&n, QUARANTINE_STUCK);
	fixture_close(&n);
}

static void
losses_are_reported_once_with_their_time_span(void **state)
{
	struct fixture n;
	struct source_output t;
	(void)state;

	fixture_open(&n, NULL);
	int64_t start = clock_mono().ns;
	process_starts(&n);
	take(&n, start);
	word_set(&n, LOST_AT, 7);
	t = take(&n, start + MS);
	assert_int_equal(t.nlosses, 1);
	assert_int_equal(t.losses[0].reason, LOSS_RING);
	assert_int_equal(t.losses[0].count, 7);
	assert_true(t.losses[0].from_ns == start && t.losses[0].to_ns >= start);
	assert_int_equal(take(&n, start + 2 * MS).nlosses, 0);
	word_set(&n, LOST_AT, UINT64_C(1) << 63 | 9); /* an invalid value */
	assert_int_equal(take(&n, start + 3 * MS).nlosses, 0);
	word_set(&n, LOST_AT, 9);

	/* a packet with 9 reports no loss, one with 12 reports 3, and the word in the ring is not
	 * the counter then */
	uint64_t count = htobe64(9);
	memcpy(n.index + CTF_INDEX_HEAD + 40, &count, 8);
	count = htobe64(12);
	memcpy(n.index + CTF_INDEX_HEAD + CTF_INDEX_ENTRY + 40, &count, 8);
	word_set(&n, PRODUCED_AT, 2 * PACKET);
	consume(&n, 0);
	t = take(&n, start + 4 * MS);
	assert_int_equal(t.nlosses, 1);
	assert_int_equal(t.losses[0].count, 2);
	consume(&n, 1);
	t = take(&n, start + 5 * MS);
	assert_int_equal(t.nlosses, 1);
	assert_int_equal(t.losses[0].count, 3);
	word_set(&n, LOST_AT, 1000);
	assert_int_equal(take(&n, start + 6 * MS).nlosses, 0);
	assert_int_equal(stats_of(&n).lost[LOSS_RING], 12);
	fixture_close(&n);
}

static void
invalid_packets_are_counted_and_the_rest_is_read(void **state)
{
	const struct source_options o = { .outside = true };
	struct fixture n;
	struct source_output t;
	(void)state;

	fixture_open(&n, &o);
	process_starts(&n);
	take(&n, (int64_t)index_of(&n, 0).begin_ns);
	uint64_t huge = htobe64(UINT64_C(8) << 40);
	memcpy(n.index + CTF_INDEX_HEAD + 8, &huge, 8); /* larger than a sub-buffer */
	memset(n.packets + PACKET, 0x5a, 200);          /* no packet */
	word_set(&n, PRODUCED_AT, 3 * PACKET);
	for (unsigned i = 0; i < 3; i++)
		consume(&n, i);
	t = take(&n, after(&n));
	assert_true(t.nlosses >= 1);
	for (uint32_t i = 0; i < t.nlosses; i++)
		assert_int_equal(t.losses[i].reason, LOSS_DECODE);
	assert_true(stats_of(&n).lost[LOSS_DECODE] == t.nlosses);
	assert_true(t.watermark_ns == after(&n) - 5 * MS);
	assert_true(strlen(stats_of(&n).trouble) > 10);
	fixture_close(&n);
}

static void
a_program_that_ran_between_two_polls_is_read_from_disk(void **state)
{
	const struct source_options o = { .outside = true };
	struct fixture n;
	size_t len;
	struct source_output t;
	uint32_t total = 0;
	(void)state;

	fixture_open(&n, &o);
	take(&n, (int64_t)index_of(&n, 0).begin_ns - MS);
	process_starts(&n);
	for (unsigned i = 0; i < 3; i++)
		consume(&n, i);
	remove_shm(&n);
	int64_t now = after(&n);
	t = take(&n, now); /* its metadata is not on disk yet: the watermark stays */
	assert_true(t.watermark_ns == (int64_t)index_of(&n, 0).begin_ns - 6 * MS);
	assert_int_equal(stats_of(&n).nprocesses, 0);
	uint8_t *wrapped = load("tests/data/ctf-kinds.wrapped", &len);
	write_file(&n, "out/ust/pid/" NAME "/metadata", wrapped, len, false);
	free(wrapped);
	char path[512];
	path_of(&n, path, "out/ust/pid/" NAME "/metadata");
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	t = take(&n, now + 10 * MS);
	total += t.nrecords;
	assert_int_equal(total, 19);
	assert_int_equal(t.nlate, 0);
	assert_true(t.watermark_ns == now + 5 * MS);
	/* its folder is removed once the daemons no longer write to it */
	take(&n, now + 20 * MS);
	path_of(&n, path, "out/ust/pid/" NAME);
	assert_int_equal(access(path, F_OK), 0);
	take(&n, now + 3000 * MS);
	assert_int_equal(access(path, F_OK), -1);
	fixture_close(&n);
}

static void
programs_are_listed_while_they_run(void **state)
{
	struct fixture n;
	(void)state;

	fixture_open(&n, NULL);
	uint64_t before = stats_of(&n).changes;
	process_starts(&n);
	take(&n, after(&n));
	struct source_stats l = stats_of(&n);
	assert_int_equal(l.nprocesses, 1);
	assert_string_equal(l.processes[0].service, "source_program");
	assert_true(l.changes > before);
	assert_int_equal(l.rings, 1);
	assert_int_equal(l.ring_bytes, PACKET * RING_PACKETS);
	word_set(&n, PRODUCED_AT, 8 * PACKET);
	assert_true(stats_of(&n).fullest == 0.5);
	word_set(&n, PRODUCED_AT, HEAD);
	before = l.changes;
	remove_shm(&n);
	take(&n, after(&n) + MS);
	l = stats_of(&n);
	assert_int_equal(l.nprocesses, 0);
	assert_true(l.changes > before);
	fixture_close(&n);
}

static void
labels_keep_their_indexes(void **state)
{
	const struct source_options o = { .outside = true };
	struct fixture n;
	uint32_t count, forks = 0;
	bool odd = false, point = false;
	(void)state;

	fixture_open(&n, &o);
	process_starts(&n);
	for (unsigned i = 0; i < 3; i++)
		consume(&n, i);
	word_set(&n, PRODUCED_AT, 3 * PACKET);
	struct source_output t = take(&n, after(&n));
	const struct batch_label *l = n.source.labels(n.source.state, &count);
	for (uint32_t i = 0; i < t.nrecords; i++) {
		assert_true(t.records[i].label < count);
		assert_int_equal(t.records[i].nvalues, l[t.records[i].label].nfields);
		forks += l[t.records[i].label].kind == RECORD_FORK;
	}
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(l[i].text, l[k].text);
		assert_int_equal(l[i].len, strlen(l[i].text));
		odd |= strcmp(l[i].text, "source_program/hone:request_begin(GET_ODD)") == 0;
		point |= strcmp(l[i].text, "source_program/kinds:ints") == 0;
	}
	assert_true(odd && point);
	assert_int_equal(forks, 2);
	fixture_close(&n);
}

/*
 * A process with one record outside of any request. *came: how many of its 19 records are
 * delivered.
 */
static struct source_stats
one_outside(const struct source_options *o, uint32_t *came)
{
	struct source_stats l;
	struct fixture n;
	size_t len;

	/* sets the trace_id of that record, behind header and context, to 0 */
	fixture_open(&n, o);
	process_starts(&n);
	struct ctf_trace t;
	struct ctf_packet p;
	struct err e;
	size_t used;
	char *text = (char *)load("tests/data/ctf-kinds.metadata", &len);
	ctf_trace_init(&t, 1 << 24);
	assert_int_equal(ctf_metadata(&t, text, len, &used, &e), 0);
	unsigned i = 0;
	while (ctf_packet_open(&p, &t, n.packets + i * PACKET, PACKET, &e) != 0 ||
	       ctf_packet_next(&p, &e) != 1)
		i++;
	memset(n.packets + i * PACKET + (p.at - p.base) + 4 + 1, 0, 8); /* tid, tag */
	ctf_trace_release(&t);
	free(text);
	for (i = 0; i < 3; i++)
		consume(&n, i);
	word_set(&n, PRODUCED_AT, 3 * PACKET);
	*came = take(&n, after(&n)).nrecords;
	l = stats_of(&n);
	fixture_close(&n);
	return l;
}

static void
metadata_of_another_version_is_reported_with_that_version(void **state)
{
	static const char ctf2[] = "\x1e{\"type\": \"preamble\"}";
	static const char OLD[] = "tracer_minor = 13", NEW[] = "tracer_minor = 99";
	struct fixture n;
	struct source_stats l;
	size_t len;
	uint8_t *text = load("tests/data/ctf-kinds.metadata", &len);
	char *at = memmem(text, len, OLD, sizeof OLD - 1);
	(void)state;

	fixture_open(&n, NULL);
	process_starts(&n);
	take(&n, after(&n));
	l = stats_of(&n);
	assert_false(l.unknown_format);
	assert_non_null(at);
	memcpy(at, NEW, sizeof NEW - 1);
	fixture_close(&n);

	fixture_open(&n, NULL);
	process_starts(&n);
	write_file(&n, "shm/ust/pid/" NAME "/metadata", "future { x = 1; };", 18, false);
	write_file(&n, "shm/ust/pid/" NAME "/metadata", text, len, true);
	take(&n, after(&n));
	l = stats_of(&n);
	assert_true(l.unknown_format);
	assert_non_null(strstr(l.trouble, "lttng-ust 2.99"));
	assert_non_null(strstr(l.trouble, "agent.reader = babeltrace2"));
	fixture_close(&n);

	fixture_open(&n, NULL); /* CTF 2 metadata is JSON: no statement in it is ever complete */
	process_starts(&n);
	write_file(&n, "shm/ust/pid/" NAME "/metadata", ctf2, sizeof ctf2 - 1, false);
	take(&n, after(&n));
	l = stats_of(&n);
	assert_true(l.unknown_format);
	assert_non_null(strstr(l.trouble, "CTF 2"));
	fixture_close(&n);
	free(text);
}

static void
records_outside_of_requests_are_dropped_and_counted(void **state)
{
	uint32_t came;
	struct source_stats l = one_outside(NULL, &came);
	(void)state;

	assert_int_equal(came, 18);
	assert_int_equal(l.outside_dropped, 1);
	assert_int_equal(l.records, 18);
}

static bool
is_named(void *name, const char *service)
{
	return strcmp(name, service) == 0;
}

static void
records_outside_of_requests_are_delivered_on_request(void **state)
{
	char ours[] = "source_program", other[] = "other";
	struct source_options o = { .wants_outside = is_named, .of = ours };
	uint32_t came;
	(void)state;

	assert_int_equal(one_outside(&o, &came).outside_dropped, 0);
	assert_int_equal(came, 19);
	o.of = other;
	assert_int_equal(one_outside(&o, &came).outside_dropped, 1);
	assert_int_equal(came, 18);
}

/* Forks a process and makes the folder name by which /proc identifies it. */
static pid_t
process_start(char *name, size_t size, int second)
{
	char comm[16] = { 0 };
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	assert_int_equal(prctl(PR_GET_NAME, comm), 0);
	snprintf(name, size, "%s-%d-20260101-0000%02d", comm, (int)pid, second);
	return pid;
}

static void
dir(const struct fixture *n, const char *where, const char *name, bool there)
{
	char what[128], path[512];

	snprintf(what, sizeof what, "%s/ust/pid/%s", where, name);
	path_of(n, path, what);
	if (there)
		make_dirs(n, what);
	else
		assert_int_equal(rmdir(path), 0);
}

static void
ends(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_true(waitpid(pid, NULL, 0) == pid);
}

/* The output must have exactly one loss, with these times. */
static void
assert_one_loss(const struct source_output *t, int64_t from_ns, int64_t to_ns)
{
	assert_int_equal(t->nlosses, 1);
	assert_int_equal(t->losses[0].reason, LOSS_RING);
	assert_int_equal(t->losses[0].count, 1);
	assert_true(t->losses[0].from_ns == from_ns && t->losses[0].to_ns == to_ns);
}

static void
a_process_whose_registration_was_lost_is_reported_while_it_runs(void **state)
{
	struct source_output t;
	struct fixture n;
	char name[64];
	(void)state;

	fixture_open(&n, NULL);
	make_dirs(&n, "shm/ust/pid");
	int64_t now = after(&n);
	take(&n, now);
	pid_t pid = process_start(name, sizeof name, 0);
	dir(&n, "shm", name, true);
	dir(&n, "shm", name, false);
	t = take(&n, now + 10 * MS);
	assert_one_loss(&t, now, now + 10 * MS);
	assert_int_equal(stats_of(&n).untraced_pid, pid);
	assert_string_equal(stats_of(&n).untraced, "source_lttng_te");
	assert_int_equal(take(&n, now + 20 * MS).nlosses, 0); /* not in every poll */
	t = take(&n, now + 500 * MS);
	assert_one_loss(&t, now + 10 * MS, now + 500 * MS);
	ends(pid);
	t = take(&n, now + 2000 * MS);
	assert_one_loss(&t, now + 500 * MS, now + 2000 * MS);
	assert_int_equal(stats_of(&n).untraced_pid, 0); /* it is taken back */
	assert_int_equal(take(&n, now + 9000 * MS).nlosses, 0);
	fixture_close(&n);
}

static void
a_process_that_was_traced_before_it_ended_is_not_reported(void **state)
{
	struct fixture n;
	char name[64];
	(void)state;

	fixture_open(&n, NULL);
	make_dirs(&n, "shm/ust/pid");
	int64_t now = after(&n);
	take(&n, now);
	pid_t pid = process_start(name, sizeof name, 0);
	dir(&n, "shm", name, true);
	assert_int_equal(take(&n, now + 10 * MS).nlosses, 0);
	dir(&n, "out", name, true);
	assert_int_equal(take(&n, now + 20 * MS).nlosses, 0);
	ends(pid);
	dir(&n, "shm", name, false);
	assert_int_equal(take(&n, now + 30 * MS).nlosses, 0);
	assert_int_equal(take(&n, now + 9000 * MS).nlosses, 0);
	fixture_close(&n);
}

static void
a_process_that_lives_without_its_folder_is_reported_unless_it_gets_another(void **state)
{
	struct source_output t;
	struct fixture n;
	char name[64], again[64];
	(void)state;

	fixture_open(&n, NULL);
	int64_t now = after(&n);
	pid_t pid = process_start(name, sizeof name, 0);
	dir(&n, "shm", name, true);
	dir(&n, "out", name, true);
	take(&n, now);
	dir(&n, "shm", name, false);
	assert_int_equal(take(&n, now + 1000 * MS).nlosses, 0);
	snprintf(again, sizeof again, "%.*s01", (int)strlen(name) - 2, name);
	dir(&n, "shm", again, true);
	dir(&n, "out", again, true);
	assert_int_equal(take(&n, now + 2000 * MS).nlosses, 0);
	dir(&n, "shm", again, false);
	assert_int_equal(take(&n, now + 3000 * MS).nlosses, 0);
	t = take(&n, now + 9000 * MS);
	assert_one_loss(&t, now + 2000 * MS, now + 9000 * MS);
	assert_int_equal(stats_of(&n).untraced_pid, pid);
	/* it is registered at last: the report is taken back */
	snprintf(again, sizeof again, "%.*s02", (int)strlen(name) - 2, name);
	dir(&n, "shm", again, true);
	dir(&n, "out", again, true);
	take(&n, now + 11000 * MS);
	assert_int_equal(stats_of(&n).untraced_pid, 0);
	assert_int_equal(take(&n, now + 20000 * MS).nlosses, 0);
	ends(pid);
	fixture_close(&n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
		    without_processes_the_watermark_is_now_less_what_may_be_in_flight,
		    remove_leftovers),
		cmocka_unit_test_teardown(
		    an_idle_ring_is_complete_and_one_with_data_is_not, remove_leftovers),
		cmocka_unit_test_teardown(
		    a_consumed_packet_without_its_index_holds_the_watermark, remove_leftovers),
		cmocka_unit_test_teardown(records_past_the_watermark_wait, remove_leftovers),
		cmocka_unit_test_teardown(little_memory_does_not_stop_the_reader, remove_leftovers),
		cmocka_unit_test_teardown(
		    a_ring_that_is_not_drained_stops_holding_the_watermark_and_its_records_are_late,
		    remove_leftovers),
		cmocka_unit_test_teardown(
		    a_node_that_was_suspended_waits_for_its_rings, remove_leftovers),
		cmocka_unit_test_teardown(
		    a_program_that_damages_its_ring_is_put_into_quarantine_at_once,
		    remove_leftovers),
		cmocka_unit_test_teardown(
		    impossible_positions_fill_no_queue_and_put_a_program_into_quarantine,
		    remove_leftovers),
		cmocka_unit_test_teardown(
		    a_ring_that_stays_full_puts_its_program_into_quarantine, remove_leftovers),
		cmocka_unit_test_teardown(
		    losses_are_reported_once_with_their_time_span, remove_leftovers),
		cmocka_unit_test_teardown(
		    invalid_packets_are_counted_and_the_rest_is_read, remove_leftovers),
		cmocka_unit_test_teardown(
		    a_program_that_ran_between_two_polls_is_read_from_disk, remove_leftovers),
		cmocka_unit_test_teardown(programs_are_listed_while_they_run, remove_leftovers),
		cmocka_unit_test_teardown(labels_keep_their_indexes, remove_leftovers),
		cmocka_unit_test_teardown(
		    metadata_of_another_version_is_reported_with_that_version, remove_leftovers),
		cmocka_unit_test_teardown(
		    records_outside_of_requests_are_dropped_and_counted, remove_leftovers),
		cmocka_unit_test_teardown(
		    records_outside_of_requests_are_delivered_on_request, remove_leftovers),
		cmocka_unit_test_teardown(
		    a_process_whose_registration_was_lost_is_reported_while_it_runs,
		    remove_leftovers),
		cmocka_unit_test_teardown(
		    a_process_that_was_traced_before_it_ended_is_not_reported, remove_leftovers),
		cmocka_unit_test_teardown(
		    a_process_that_lives_without_its_folder_is_reported_unless_it_gets_another,
		    remove_leftovers),
		cmocka_unit_test_teardown(
		    programs_of_users_that_are_not_listed_are_not_read, remove_leftovers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libbabeltrace2 and Hone's own source on the same session folder of recorded packets (tests/data).
 */
#define _GNU_SOURCE
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/ctf/ctf_trace.h"
#include "agent/reader/source_fallback.h"
#include "agent/reader/source_lttng.h"
#include "tests/unit/leftovers.h"

source_open_fn source_babeltrace2_open;

#define MS INT64_C(1000000)
#define NAME "program-1-20260101-000000"
#define OUT "0/out/ust/pid/" NAME
#define SHM "0/shm/ust/pid/" NAME
enum { PACKET = 4096, TEXT_MAX = 65536 };

struct session {
	char folder[64];
	uint8_t *packets, *index;
	size_t packets_len, index_len;
	int64_t end_ns;
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
write_file(const struct session *s, const char *what, const void *data, size_t len, bool append)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", s->folder, what);
	for (char *p = path + strlen(s->folder) + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
		*p = '\0';
		mkdir(path, 0700);
	}
	FILE *f = fopen(path, append ? "ab" : "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static void
write_packet(const struct session *s, unsigned i)
{
	write_file(s, OUT "/hone_0", s->packets + i * PACKET, PACKET, true);
	write_file(s, OUT "/index/hone_0.idx", s->index + CTF_INDEX_HEAD + i * CTF_INDEX_ENTRY,
	    CTF_INDEX_ENTRY, true);
}

/*
 * A live process that has written no packet. cut: number of missing bytes at the end of its
 * metadata.
 */
static void
session_begin(struct session *s, size_t cut)
{
	size_t len;
	uint8_t *metadata = load("tests/data/ctf-kinds.metadata", &len);
	struct ctf_index index;
	struct err e;

	strcpy(s->folder, "/tmp/hone-babeltrace-XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	leftover(s->folder);
	s->packets = load("tests/data/ctf-kinds.packets", &s->packets_len);
	s->index = load("tests/data/ctf-kinds.index", &s->index_len);
	assert_int_equal(
	    ctf_index_entry(&index, s->index + CTF_INDEX_HEAD + 2 * CTF_INDEX_ENTRY, &e), 0);
	s->end_ns = (int64_t)index.end_ns;
	write_file(s, SHM "/metadata", metadata, len - cut, false);
	write_file(s, OUT "/metadata", "", 0, false);
	write_file(s, OUT "/index/hone_0.idx", s->index, CTF_INDEX_HEAD, false);
	free(metadata);
}

static void
session_end(struct session *s)
{
	free(s->packets);
	free(s->index);
}

static struct source
open_source(const struct session *s, source_open_fn *open, struct source_options o)
{
	const struct source_place place = { s->folder, "hone" };
	struct source ret;
	struct err e = { 0 };

	if (open(&ret, &place, &o, &e) != 0)
		fail_msg("%s", e.text);
	return ret;
}

static struct source_output
poll_at(struct source *s, int64_t now_ns)
{
	struct source_output o;
	struct err e = { 0 };

	if (s->poll(s->state, (struct mono){ now_ns }, &o, &e) != 0)
		fail_msg("%s", e.text);
	return o;
}

static struct source_stats
stats_of(struct source *s)
{
	struct source_stats ret;

	s->stats(s->state, &ret);
	return ret;
}

/* All records of a poll, as text. */
static void
print_records(struct source *s, const struct source_output *o, char *text, size_t *len)
{
	uint32_t n;
	const struct batch_label *labels = s->labels(s->state, &n);

	for (uint32_t i = 0; i < o->nrecords; i++) {
		const struct record *r = &o->records[i];
		const struct batch_label *l = &labels[r->label];
		assert_true(r->label < n);
		assert_int_equal(r->nvalues, l->nfields);
		*len += (size_t)snprintf(text + *len, TEXT_MAX - *len,
		    "%lld %.*s %u %u %u %llu %llu %llu", (long long)r->time_ns, (int)l->len,
		    l->text, l->kind, r->pid, r->tid, (unsigned long long)r->trace_id,
		    (unsigned long long)r->unit_id, (unsigned long long)r->link_id);
		for (uint32_t k = 0; k < r->nvalues; k++) {
			const struct value *v = &r->values[k];
			*len += (size_t)snprintf(
			    text + *len, TEXT_MAX - *len, " %s=%u:", l->fields[k], v->type);
			if (v->type == VALUE_TEXT)
				*len += (size_t)snprintf(
				    text + *len, TEXT_MAX - *len, "%.*s", (int)v->len, v->text);
			else if (v->type == VALUE_REAL)
				*len += (size_t)snprintf(text + *len, TEXT_MAX - *len, "%a", v->d);
			else if (v->type != VALUE_NONE)
				*len += (size_t)snprintf(
				    text + *len, TEXT_MAX - *len, "%llx", (unsigned long long)v->u);
		}
		*len += (size_t)snprintf(text + *len, TEXT_MAX - *len, "\n");
		assert_true(*len < TEXT_MAX - 1000);
	}
}

/* The process ends: its shm folder is removed, and its metadata is on disk, in a packet. */
static void
process_ends(struct session *s)
{
	char path[512], shm[512];
	uint8_t head[37] = { 0 };
	size_t len;
	uint8_t *text;

	snprintf(path, sizeof path, "%s/" SHM "/metadata", s->folder);
	snprintf(shm, sizeof shm, "%s/" SHM, s->folder);
	text = load(path, &len);
	const uint32_t magic = 0x75d11d57, bits = (uint32_t)(len + sizeof head) * 8;
	memcpy(head, &magic, 4);
	memcpy(head + 24, &bits, 4);
	memcpy(head + 28, &bits, 4);
	head[35] = 1;
	head[36] = 8;
	write_file(s, OUT "/metadata", head, sizeof head, false);
	write_file(s, OUT "/metadata", text, len, true);
	free(text);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(shm), 0);
	usleep(350000); /* until the metadata counts as complete */
}

/* Reads all records of a dead process. */
static char *
read_all(const struct session *s, source_open_fn *open)
{
	struct source source = open_source(
	    s, open, (struct source_options){ .keep = true, .outside = true });
	char *text = calloc(1, TEXT_MAX);
	size_t len = 0;
	struct source_output o = { 0 };

	for (int64_t now_ns = s->end_ns; o.watermark_ns < s->end_ns + 100 * MS;
	     now_ns += 500 * MS) {
		assert_true(now_ns < s->end_ns + 60000 * MS);
		o = poll_at(&source, now_ns);
		print_records(&source, &o, text, &len);
		assert_int_equal(o.nlosses, 0);
	}
	assert_int_equal(stats_of(&source).records, 19);
	source.close(source.state);
	return text;
}

static void
both_sources_deliver_the_same_records(void **state)
{
	struct session s;
	(void)state;

	session_begin(&s, 0);
	for (unsigned i = 0; i < 3; i++)
		write_packet(&s, i);
	process_ends(&s);
	char *ours = read_all(&s, source_lttng_follow);
	char *theirs = read_all(&s, source_babeltrace2_open);
	assert_string_equal(ours, theirs);
	assert_non_null(strstr(ours, "/kinds:ints"));
	free(ours);
	free(theirs);
	session_end(&s);
}

static int
find_second(source_open_fn **ret, struct err *e)
{
	(void)e;
	*ret = source_babeltrace2_open;
	return 0;
}

/* Metadata of a live process in which only a statement is unknown to Hone's own reader. */
static void
it_reads_on_where_the_own_reader_does_not_understand_the_metadata(void **state)
{
	static const char unknown[] = "callsite { name = \"x\"; func = \"f\"; line = 1; };\n";
	static const struct source_second second = { "babeltrace2", find_second };
	const struct source_options o = { .outside = true, .keep = true };
	struct source_place place;
	struct source source;
	struct session s;
	struct err e = { 0 };
	uint32_t total = 0;
	size_t len;
	uint8_t *metadata;
	char *at;
	(void)state;

	session_begin(&s, 0);
	metadata = load("tests/data/ctf-kinds.metadata", &len);
	at = memmem(metadata, len, "trace {", 7);
	assert_non_null(at);
	write_file(&s, SHM "/metadata", metadata, (size_t)(at - (char *)metadata), false);
	write_file(&s, SHM "/metadata", unknown, sizeof unknown - 1, true);
	write_file(&s, SHM "/metadata", at, len - (size_t)(at - (char *)metadata), true);
	free(metadata);
	place = (struct source_place){ s.folder, "hone" };
	assert_int_equal(
	    source_fallback_open(&source, source_lttng_follow, &second, &place, &o, &e), 0);
	poll_at(&source, s.end_ns - 4000 * MS);
	for (unsigned i = 0; i < 3; i++)
		write_packet(&s, i);
	for (int64_t now_ns = s.end_ns + 100 * MS; now_ns < s.end_ns + 9000 * MS;
	     now_ns += 500 * MS)
		total += poll_at(&source, now_ns).nrecords;
	assert_non_null(strstr(stats_of(&source).trouble, "babeltrace2 is used instead"));
	assert_int_equal(total, 19);
	source.close(source.state);
	session_end(&s);
}

static void
a_growing_file_is_read_packet_by_packet(void **state)
{
	const struct source_options o = { .outside = true };
	struct session s;
	struct source_output out;
	uint32_t total = 0, nfirst;
	int64_t before_ns = 0, now_ns;
	(void)state;

	session_begin(&s, 0);
	struct source source = open_source(&s, source_babeltrace2_open, o);
	now_ns = s.end_ns + 100 * MS;
	out = poll_at(&source, now_ns);
	assert_int_equal(stats_of(&source).nprocesses, 1);
	assert_string_equal(stats_of(&source).processes[0].service, "program");
	write_packet(&s, 0);
	out = poll_at(&source, now_ns += 2000 * MS);
	nfirst = out.nrecords;
	assert_true(nfirst > 0 && nfirst < 19);
	total = nfirst;
	write_packet(&s, 1);
	write_packet(&s, 2);
	for (int i = 0; i < 5; i++) {
		out = poll_at(&source, now_ns += 100 * MS);
		assert_true(out.watermark_ns >= before_ns);
		before_ns = out.watermark_ns;
		total += out.nrecords;
		assert_int_equal(out.nlate, out.nrecords); /* the files came after SETTLE_NS */
	}
	assert_int_equal(total, 19);
	assert_int_equal(stats_of(&source).processes[0].pid != 1, true); /* from the environment */
	source.close(source.state);
	session_end(&s);
}

static void
records_wait_for_the_watermark(void **state)
{
	const struct source_options o = { .outside = true, .records_max = 4 };
	struct session s;
	struct source_output out;
	uint32_t total = 0, polls = 0;
	int64_t before_ns = INT64_MIN;
	(void)state;

	session_begin(&s, 0);
	for (unsigned i = 0; i < 3; i++)
		write_packet(&s, i);
	struct source source = open_source(&s, source_babeltrace2_open, o);
	out = poll_at(&source, s.end_ns + 10 * MS);
	assert_int_equal(out.nrecords, 0);
	assert_true(out.watermark_ns < s.end_ns);
	do {
		out = poll_at(&source, s.end_ns + 3000 * MS);
		for (uint32_t i = 0; i < out.nrecords; i++) {
			assert_true(out.records[i].time_ns > before_ns);
			assert_true(out.records[i].time_ns <= out.watermark_ns);
		}
		before_ns = out.watermark_ns;
		total += out.nrecords;
		assert_true(out.nrecords <= 4 && out.nlate == 0);
	} while (++polls < 20 && out.more);
	assert_int_equal(total, 19);
	source.close(source.state);
	session_end(&s);
}

static void
incomplete_metadata_is_waited_for_and_then_counted_as_a_loss(void **state)
{
	const struct source_options o = { .outside = true };
	struct session s;
	struct source_output out;
	uint64_t lost = 0;
	(void)state;

	session_begin(&s, 8000); /* all events but one are missing */
	for (unsigned i = 0; i < 3; i++)
		write_packet(&s, i);
	struct source source = open_source(&s, source_babeltrace2_open, o);
	for (int64_t now_ns = s.end_ns; now_ns < s.end_ns + 5000 * MS; now_ns += 250 * MS) {
		out = poll_at(&source, now_ns);
		if (now_ns < s.end_ns + 2500 * MS)
			assert_true(out.nrecords == 0 && out.nlosses == 0);
		for (uint32_t i = 0; i < out.nlosses; i++) {
			assert_int_equal(out.losses[i].reason, LOSS_DECODE);
			lost += out.losses[i].count;
		}
	}
	assert_int_equal(lost, 3);
	assert_true(out.watermark_ns > s.end_ns);
	assert_non_null(strstr(stats_of(&source).trouble, "babeltrace2"));
	source.close(source.state);
	session_end(&s);
}

/* libbabeltrace2 2.0.4 aborts on such metadata. */
static void
a_trace_without_events_is_no_loss(void **state)
{
	struct session s;
	struct source_output out;
	(void)state;

	session_begin(&s, 8600);
	write_packet(&s, 0);
	struct source source = open_source(
	    &s, source_babeltrace2_open, (struct source_options){ 0 });
	for (int64_t now_ns = s.end_ns; now_ns < s.end_ns + 5000 * MS; now_ns += 250 * MS) {
		out = poll_at(&source, now_ns);
		assert_true(out.nrecords == 0 && out.nlosses == 0);
	}
	assert_true(out.watermark_ns > s.end_ns);
	assert_string_equal(stats_of(&source).trouble, "");
	source.close(source.state);
	session_end(&s);
}

static void
losses_of_the_tracer_are_reported_with_their_time(void **state)
{
	struct session s;
	struct source_output out;
	uint64_t count = htobe64(7);
	(void)state;

	session_begin(&s, 0);
	memcpy(s.index + CTF_INDEX_HEAD + CTF_INDEX_ENTRY + 40, &count, 8);
	struct source source = open_source(
	    &s, source_babeltrace2_open, (struct source_options){ 0 });
	write_packet(&s, 0);
	write_packet(&s, 1);
	out = poll_at(&source, s.end_ns);
	assert_int_equal(out.nlosses, 1);
	assert_true(out.losses[0].reason == LOSS_RING && out.losses[0].count == 7);
	assert_true(out.losses[0].from_ns < out.losses[0].to_ns);
	source.close(source.state);
	session_end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(both_sources_deliver_the_same_records, remove_leftovers),
		cmocka_unit_test_teardown(
		    it_reads_on_where_the_own_reader_does_not_understand_the_metadata,
		    remove_leftovers),
		cmocka_unit_test_teardown(
		    a_growing_file_is_read_packet_by_packet, remove_leftovers),
		cmocka_unit_test_teardown(records_wait_for_the_watermark, remove_leftovers),
		cmocka_unit_test_teardown(
		    incomplete_metadata_is_waited_for_and_then_counted_as_a_loss, remove_leftovers),
		cmocka_unit_test_teardown(a_trace_without_events_is_no_loss, remove_leftovers),
		cmocka_unit_test_teardown(
		    losses_of_the_tracer_are_reported_with_their_time, remove_leftovers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

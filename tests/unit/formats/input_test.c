/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading bytes of files: plain, gzip of one and of several members, damaged, from a pipe, by a
 * window that moves at any place. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/buf.h"
#include "tests/unit/formats/kit.h"

static char folder[] = "/tmp/input_test.XXXXXX";

static int
make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL;
}

static int
remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

/* Bytes that are easy to recognise at any position. */
static uint8_t
byte_at(uint64_t i)
{
	return (uint8_t)(hash_u64(i / 8) >> (i % 8 * 8)) & 0x3f;
}

static void
fill(struct buf *b, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf_u8(b, byte_at(i));
}

static void
put_gzip(struct buf *out, const uint8_t *data, size_t len)
{
	z_stream z = { .next_in = (Bytef *)data, .avail_in = (unsigned)len };
	size_t room = len + len / 100 + 1000;

	assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = buf_reserve(out, room);
	z.avail_out = (unsigned)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out->len += room - z.avail_out;
	deflateEnd(&z);
}

static void
write_file(char path[128], const void *data, size_t len)
{
	int fd;

	snprintf(path, 128, "%s/file", folder);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

/* Reads to the end in pieces of varying size and checks each byte. Returns the number of bytes;
 * *rc: the final status. */
static uint64_t
read_all(struct input *in, int *rc, struct err *e)
{
	uint64_t n = 0, step = 1;

	while ((*rc = input_more(in, e)) == 0) {
		size_t take = (size_t)(in->end - in->at),
		       leave = step++ % 5 == 0 ? take / 3 : step % 97;

		take -= leave < take ? leave : take;
		for (size_t i = 0; i < take; i++)
			assert_int_equal((uint8_t)in->at[i], byte_at(n + i));
		assert_int_equal(input_offset(in), n);
		for (int i = 0; i < INPUT_PAD_BYTES; i++)
			assert_int_equal(in->end[i], 0);
		in->at += take;
		n += take;
	}
	for (; in->at < in->end; n++)
		assert_int_equal((uint8_t)*in->at++, byte_at(n));
	return n;
}

static void
expect_file(const void *data, size_t len, uint64_t bytes, int code, const char *words)
{
	struct input in;
	struct err e;
	char path[128];
	uint64_t done, size;
	int rc;

	write_file(path, data, len);
	assert_int_equal(input_open(&in, path, &e), 0);
	assert_int_equal(read_all(&in, &rc, &e), bytes);
	assert_int_equal(rc, code);
	if (words != NULL)
		assert_non_null(strstr(e.text, words));
	assert_int_equal(input_more(&in, &e), code); /* it stays so */
	input_progress(&in, &done, &size);
	assert_int_equal(size, len);
	assert_true(code != 1 || done == len);
	input_close(&in);
	unlink(path);
}

static void
plain_files_are_read_unchanged(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 1000, 262143, 262144, 262145, 3000000 };
	(void)state;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct buf b = { 0 };

		fill(&b, sizes[i]);
		expect_file(b.data != NULL ? (void *)b.data : "", b.len, sizes[i], 1, NULL);
		buf_release(&b);
	}
}

static void
gzip_files_are_decompressed(void **state)
{
	static const size_t sizes[] = { 0, 1, 1000, 262144, 3000000 };
	(void)state;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct buf b = { 0 }, z = { 0 };

		fill(&b, sizes[i]);
		put_gzip(&z, b.data, b.len);
		expect_file(z.data, z.len, sizes[i], 1, NULL);
		buf_release(&b);
		buf_release(&z);
	}
}

/* Files as logrotate or cat makes them; also an empty member in between, and zeroes behind the
 * last member. */
static void
gzip_members_are_read_one_after_the_other(void **state)
{
	struct buf b = { 0 }, z = { 0 };
	(void)state;

	fill(&b, 700000);
	put_gzip(&z, b.data, 300000);
	put_gzip(&z, b.data, 0);
	put_gzip(&z, b.data + 300000, 400000);
	for (int i = 0; i < 100; i++)
		buf_u8(&z, 0);
	expect_file(z.data, z.len, 700000, 1, NULL);
	buf_release(&b);
	buf_release(&z);
}

/* Truncated anywhere or with any byte changed, the input gives a prefix of the original and then an
 * error. */
static void
damaged_input_gives_a_prefix_and_an_error(void **state)
{
	struct buf b = { 0 }, z = { 0 };
	struct input in;
	struct err e;
	int rc;
	(void)state;

	fill(&b, 3000);
	put_gzip(&z, b.data, b.len);
	for (size_t cut = 2; cut < z.len; cut += cut < 40 ? 1 : 37) {
		assert_int_equal(input_memory(&in, z.data, cut, 0, &e), 0);
		assert_true(read_all(&in, &rc, &e) <= b.len);
		assert_int_equal(rc, ERR_INPUT);
		assert_true(in.cut);
		assert_non_null(strstr(e.text, "ends in the middle"));
		input_close(&in);
	}
	rc = 0;
	z.data[z.len / 2] ^= 0x55;
	z.data[z.len / 2 + 1] ^= 0x55;
	assert_int_equal(input_memory(&in, z.data, z.len, 0, &e), 0);
	while (rc == 0) {
		in.at = in.end;
		rc = input_more(&in, &e);
	}
	assert_int_equal(rc, ERR_INPUT);
	assert_false(in.cut);
	assert_non_null(strstr(e.text, "at byte"));
	input_close(&in);
	buf_release(&b);
	buf_release(&z);
}

/* Plain bytes behind a gzip member are reported as damage. */
static void
bytes_behind_a_gzip_member_are_damage(void **state)
{
	struct buf b = { 0 }, z = { 0 };
	(void)state;

	fill(&b, 5000);
	put_gzip(&z, b.data, b.len);
	buf_bytes(&z, "rubbish", 7);
	expect_file(z.data, z.len, 5000, ERR_INPUT, "gzip");
	buf_release(&b);
	buf_release(&z);
}

static void
a_file_that_cannot_be_opened_is_named(void **state)
{
	struct input in;
	struct err e;
	(void)state;

	assert_int_equal(input_open(&in, "/nowhere/at/all", &e), ERR_SYSTEM);
	assert_non_null(strstr(e.text, "/nowhere/at/all"));
	assert_int_equal(input_open(&in, folder, &e), ERR_SYSTEM);
	input_close(&in);
}

/* ---- pipes ---- */

static void *
write_slowly(void *arg)
{
	int fd = *(int *)arg;
	struct buf b = { 0 };

	fill(&b, 400000);
	for (size_t at = 0, step = 1; at < b.len; at += step, step = step * 2 + 1)
		if (write(fd, b.data + at, at + step < b.len ? step : b.len - at) < 0)
			break;
	close(fd);
	buf_release(&b);
	return NULL;
}

static void
pipes_are_read_to_their_end(void **state)
{
	struct input in;
	struct err e;
	pthread_t writer;
	char path[64];
	int ends[2], rc;
	(void)state;

	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	assert_int_equal(pthread_create(&writer, NULL, write_slowly, &ends[1]), 0);
	assert_int_equal(input_open(&in, path, &e), 0);
	assert_int_equal(read_all(&in, &rc, &e), 400000);
	assert_int_equal(rc, 1);
	pthread_join(writer, NULL);
	input_close(&in);
	close(ends[0]);
}

/* Closing the input must not wait for the other end of a pipe that neither writes nor closes. */
static void
closing_does_not_wait_for_a_silent_pipe(void **state)
{
	struct input in;
	struct err e;
	char path[64];
	int ends[2];
	(void)state;

	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	assert_int_equal(input_open(&in, path, &e), 0);
	input_close(&in);
	close(ends[0]);
	close(ends[1]);
}

/* ---- the window ---- */

static void
the_window_moves_at_any_place(void **state)
{
	struct buf b = { 0 };
	(void)state;

	fill(&b, 300000);
	for (size_t piece = 1; piece < 200000; piece = piece * 5 + 3) {
		struct input in;
		struct err e;
		int rc;

		assert_int_equal(
		    input_memory(&in, b.data, piece < 30 ? 5000 : b.len, piece, &e), 0);
		assert_int_equal(read_all(&in, &rc, &e), piece < 30 ? 5000 : b.len);
		assert_int_equal(rc, 1);
		input_close(&in);
	}
	buf_release(&b);
}

/* If no bytes are consumed, or all are held, the window grows to its bound and reports that;
 * reading continues once there is room. */
static void
the_window_has_a_bound(void **state)
{
	size_t len = (size_t)INPUT_WINDOW_MAX_BYTES + (4 << 20), n = 0;
	uint8_t *data = calloc(1, len);
	struct input in;
	struct err e;
	int rc = 0;
	(void)state;

	for (int held = 0; held < 2; held++) {
		assert_int_equal(input_memory(&in, data, len, 0, &e), 0);
		if (held)
			input_hold(&in);
		for (rc = 0; rc == 0;) {
			rc = input_more(&in, &e);
			if (held && rc == 0)
				in.at = in.end;
		}
		assert_int_equal(rc, ERR_FULL);
		assert_int_equal(input_more(&in, &e), ERR_FULL);
		if (held)
			input_release(&in);
		else
			in.at += 1000;
		for (rc = 0; rc == 0; n++) {
			in.at = in.end;
			rc = input_more(&in, &e);
		}
		assert_int_equal(rc, 1);
		assert_int_equal(input_offset(&in), len);
		input_close(&in);
	}
	free(data);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_files_are_read_unchanged),
		cmocka_unit_test(gzip_files_are_decompressed),
		cmocka_unit_test(gzip_members_are_read_one_after_the_other),
		cmocka_unit_test(damaged_input_gives_a_prefix_and_an_error),
		cmocka_unit_test(bytes_behind_a_gzip_member_are_damage),
		cmocka_unit_test(a_file_that_cannot_be_opened_is_named),
		cmocka_unit_test(pipes_are_read_to_their_end),
		cmocka_unit_test(closing_does_not_wait_for_a_silent_pipe),
		cmocka_unit_test(the_window_moves_at_any_place),
		cmocka_unit_test(the_window_has_a_bound),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

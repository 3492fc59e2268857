/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A document of pieces is one member of gzip, and the pieces' text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "controlplane/web/web_document.h"

enum { PIECES = 5, ROUNDS = 200, TEXT_MAX = 70000 };

/* A text that can be compressed partly, of any bytes. */
static struct web_piece
some_piece(struct rng *rng, int level)
{
	size_t len = rng_below(rng, 4) == 0 ? rng_below(rng, 3) : rng_below(rng, TEXT_MAX);
	char *text = malloc(len + 1);
	struct web_piece p;

	assert_non_null(text);
	for (size_t i = 0; i < len; i++)
		text[i] = (char)(i % 7 < 4 ? 'a' + (int)(i % 26) : (int)rng_below(rng, 256));
	assert_true(web_piece_make(&p, text, len, level));
	return p;
}

/* What unpacks the document must find one member alone, as browsers do, with the right sum and length. */
static void
check_unpacked(const char *packed, size_t packed_len, const char *text, size_t len)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)packed,
		.avail_in = (unsigned int)packed_len };
	char *got = malloc(len + 1);

	assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
	z.next_out = (unsigned char *)got;
	z.avail_out = (unsigned int)len + 1;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	assert_int_equal(z.total_out, len);
	assert_memory_equal(got, text, len);
	inflateEnd(&z);
	free(got);
}

static void
a_packed_document_is_the_document(void **state)
{
	struct rng rng;
	(void)state;

	rng_seed(&rng, 20);
	for (int round = 0; round < ROUNDS; round++) {
		struct web_piece all[PIECES];
		const struct web_piece *of[PIECES];
		int n = (int)rng_below(&rng, PIECES + 1);
		size_t len, packed_len;
		char *text, *packed;

		for (int i = 0; i < n; i++) {
			all[i] = some_piece(&rng, (int)rng_below(&rng, 10));
			of[i] = &all[i];
		}
		text = web_document(of, n, false, &len);
		packed = web_document(of, n, true, &packed_len);
		for (int i = 0, at = 0; i < n; at += (int)all[i++].len)
			assert_memory_equal(text + at, all[i].text, all[i].len);
		check_unpacked(packed, packed_len, text, len);
		for (int i = 0; i < n; i++)
			web_piece_release(&all[i]);
		free(text);
		free(packed);
	}
}

static struct web_text *
text_of(struct web_feed *feed, const char *json, uint64_t hash)
{
	struct web_text *t = web_feed_text(feed, WEB_TOPIC_status, json, strlen(json));

	web_feed_put(feed, WEB_TOPIC_status, t, hash);
	return t;
}

static void
a_state_is_made_a_piece_once_and_cannot_end_its_element(void **state)
{
	static const char expected[] =
	    ",[\"status\",\"ab.1\",{\"type\":\"\\u003c/script>\\u003c!--\"}]";
	struct web_feed feed = { .instance = 0xab };
	struct web_first first = { 0 };
	const struct web_text *t = text_of(&feed, "{\"type\":\"</script><!--\"}", 1);
	const struct web_piece *p = web_first_piece(&first, WEB_TOPIC_status, 0xab, t);
	const uint8_t *packed = p->packed;
	(void)state;

	assert_int_equal(p->len, strlen(expected));
	assert_memory_equal(p->text, expected, p->len);
	p = web_first_piece(&first, WEB_TOPIC_status, 0xab, t);
	assert_ptr_equal(p->packed, packed);
	p = web_first_piece(&first, WEB_TOPIC_status, 0xab, text_of(&feed, "{}", 2));
	assert_memory_equal(p->text, ",[\"status\",\"ab.2\",{}]", p->len);
	web_first_release(&first);
	web_feed_release(&feed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packed_document_is_the_document),
		cmocka_unit_test(a_state_is_made_a_piece_once_and_cannot_end_its_element),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as JSON: values, errors and recovery after errors do not depend on where the window
 * moves; reading terminates. */
#include "base/hash.h"
#include "formats/json.h"
#include "tests/fuzz/common/fuzz.h"

static uint64_t
mix(uint64_t h, uint64_t x)
{
	return hash_u64(h ^ x) + 1;
}

static uint64_t
mix_value(uint64_t h, struct json *j)
{
	struct value v = { .type = VALUE_NONE };

	if (!json_value(j, &v))
		return mix(h, 77);
	h = mix(h, v.type);
	if (v.type == VALUE_TEXT) {
		check(v.len <= VALUE_TEXT_MAX);
		return mix(h, hash_bytes(1, v.text, v.len));
	}
	return v.type == VALUE_NONE ? h : mix(h, v.u);
}

/* A value at any depth: depending on a hash of the bytes so far it is read, skipped, or entered.
 * Reading continues after a failure. */
static uint64_t
walk(struct json *j, struct reading *r, uint64_t h)
{
	bool object = json_next(j) == JSON_OBJECT;
	struct text_view key;
	struct err e;
	uint32_t depth;

	if (h % 5 == 0) {
		json_skip(j);
		return mix(h, 1);
	}
	if (h % 5 == 1)
		return mix_value(h, j);
	if (!object && json_next(j) != JSON_ARRAY) {
		struct text_view t;
		int64_t i = 0;
		double d = 0;
		bool b = false;

		if (h % 4 == 0)
			return json_text(j, &t) ? mix(h, hash_bytes(1, t.s, t.len)) : mix(h, 2);
		if (h % 4 == 1)
			return mix(h, json_int(j, &i) + (uint64_t)i);
		if (h % 4 == 2)
			return mix(h, json_double(j, &d) && d == d);
		return mix(h, json_bool(j, &b) + 2 * b);
	}
	if (!(object ? json_enter_object(j) : json_enter_array(j)))
		return mix(h, 3);
	depth = j->depth;
	do {
		while (object ? json_key(j, &key) : json_element(j)) {
			if (object)
				h = mix(h, hash_bytes(2, key.s, key.len));
			if (h % 7 != 0)
				h = walk(j, r, h);
		}
	} while (j->code != 0 && h % 3 != 0 && json_trouble(j, r, depth, &e) > 0 &&
		 (h = mix(h, 4)) != 0);
	return mix(h, 5);
}

static uint64_t
read_all(const uint8_t *data, size_t len, size_t piece, bool hold)
{
	struct reading_options o = { 0 };
	struct reading_counts counts;
	struct labels *labels = labels_new();
	struct reading *r;
	struct input in;
	struct json j;
	struct err e;
	uint64_t h = 1;

	check(reading_new(&r, &o, labels, &e) == 0 && input_memory(&in, data, len, piece, &e) == 0);
	json_begin(&j, &in);
	if (hold)
		json_hold(&j);
	while (json_next(&j) != JSON_OVER || j.code != 0) {
		uint64_t before = input_offset(&in);
		int rc;

		h = walk(&j, r, h);
		rc = json_trouble(&j, r, 0, &e);
		check(rc >= 0);
		check(input_offset(&in) > before); /* otherwise it would not terminate */
		h = mix(h, input_offset(&in));
	}
	reading_counts(r, &counts);
	for (int i = 0; i < SKIPS; i++)
		h = mix(h, counts.skipped[i].count);
	json_end(&j);
	input_close(&in);
	reading_free(r);
	labels_free(labels);
	return h;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint64_t h;

	if (len >= 2 && data[0] == 0x1f && data[1] == 0x8b) /* formats_input.c tests that */
		return 0;
	h = read_all(data, len, 0, false);
	check(read_all(data, len, 1, false) == h);
	check(read_all(data, len, 7, true) == h);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any messages of agents of OpAMP, one after another: the table stays bounded, texts are clean, and each answer is a message that reads back.
 * Input: messages, each with a byte for its length before it.
 */
#include "formats/protobuf.h"
#include "otel/control/opamp_table.h"
#include "tests/fuzz/common/fuzz.h"

static void
check_text(const char *s, size_t max)
{
	check(strlen(s) <= max);
	for (; *s != '\0'; s++)
		check((unsigned char)*s >= ' ' && *s != '/' && *s != 0x7f);
}

static void
check_answer(const struct opamp_answer *w)
{
	struct buf b = { 0 };
	struct reader r;
	struct proto_field f = { 0 };

	opamp_answer_write(w, &b);
	check(!b.failed);
	r = reader_of(b.data, b.len);
	while (proto_next(&r, &f))
		check(f.number == 1 || f.number == 3 || f.number == 6 || f.number == 7);
	check(!proto_malformed(&r, &f));
	buf_release(&b);
}

static void
take(struct opamp_table *t, const uint8_t *data, size_t len, struct mono now)
{
	struct opamp_report r;
	struct opamp_answer w;
	struct arena a = { 0 };
	enum opamp_news news;
	struct err e;
	int rc = opamp_report_read(&r, &a, data, len, &e);

	check(rc == 0 || rc == ERR_INPUT);
	if (rc == 0) {
		check_text(r.service, OPAMP_NAME_MAX);
		check_text(r.distribution, OPAMP_NAME_MAX);
		check_text(r.error, 255);
		check(opamp_table_ask(t, &r, now, &w, &news, &e) == 0);
		check_answer(&w);
	}
	arena_release(&a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct opamp_table_options o = { "express,fs", 1000000000, INT64_C(3000000000) };
	struct toggle toggle = { .name = "opamp:fs_begin" };
	struct want w = { .toggles = &toggle, .ntoggles = 1 };
	struct opamp_table *t = opamp_table_new(&o);
	struct mono now = { 1000000000 };
	struct opamp_table_stats st;
	struct programs p = { 0 };
	struct arena a = { 0 };

	check(t != NULL);
	while (len > 0) {
		size_t n = data[0] < len - 1 ? data[0] : len - 1;

		take(t, data + 1, n, now);
		if (n % 3 == 0)
			opamp_table_want(t, &w, (struct mono){ now.ns + 2000000000 });
		data += 1 + n;
		len -= 1 + n;
		now.ns += 1000000000;
	}
	opamp_table_stats(t, &st);
	check(st.obey <= st.agents && st.failed <= st.obey && st.agents <= OPAMP_AGENTS_MAX);
	check(opamp_table_programs(t, &p, &a));
	check(p.nprograms == st.obey);
	opamp_table_scope(
	    t, (struct text_view){ (const char *)data, 0 }, (struct text_view){ "x.fs", 4 });
	arena_release(&a);
	opamp_table_free(t);
	return 0;
}

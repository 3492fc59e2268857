/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Agents of OpAMP by their messages: bytes in, bytes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "formats/protobuf.h"
#include "otel/control/opamp_table.h"

#define S INT64_C(1000000000)
static const struct opamp_table_options OPTIONS = { "express, fs", 1 * S, 30 * S };

struct told { /* what an agent read from an answer */
	bool report_all, offered;
	char config[600];
	uint8_t hash[8];
};

struct kit {
	struct opamp_table *t;
	struct mono now;
	enum opamp_news news;
	const char *client;
};

/* ---- messages ---- */

static void
put_bytes(struct buf *b, uint32_t field, const void *data, size_t len)
{
	buf_uint(b, field << 3 | PROTO_BYTES);
	buf_text(b, data, len);
}

static void
put_attribute(struct buf *b, uint32_t field, const char *key, const char *text, uint64_t number)
{
	struct buf any = { 0 }, pair = { 0 };

	if (text != NULL) {
		put_bytes(&any, 1, text, strlen(text));
	} else {
		buf_uint(&any, 3 << 3);
		buf_uint(&any, number);
	}
	put_bytes(&pair, 1, key, strlen(key));
	put_bytes(&pair, 2, any.data, any.len);
	put_bytes(b, field, pair.data, pair.len);
	buf_release(&any);
	buf_release(&pair);
}

/* service NULL: the agent does not describe itself; hash NULL: no status. */
static void
write_report(struct buf *b, uint8_t uid, const char *service, const char *distribution,
    uint64_t capabilities, const uint8_t *hash, enum opamp_status status)
{
	uint8_t id[OPAMP_UID_BYTES] = { uid };
	struct buf m = { 0 };

	put_bytes(b, 1, id, sizeof id);
	buf_uint(b, 2 << 3);
	buf_uint(b, 7);
	if (service != NULL) {
		put_attribute(&m, 1, "service.name", service, 0);
		put_attribute(&m, 1, "other", "x", 0);
		if (distribution != NULL)
			put_attribute(&m, 2, "telemetry.distro.name", distribution, 0);
		put_attribute(&m, 2, "process.pid", NULL, 4711);
		put_bytes(b, 3, m.data, m.len);
		buf_reset(&m);
	}
	buf_uint(b, 4 << 3);
	buf_uint(b, capabilities);
	if (hash != NULL) {
		put_bytes(&m, 1, hash, 8);
		buf_uint(&m, 2 << 3);
		buf_uint(&m, status);
		put_bytes(&m, 3, "cannot", 6);
		put_bytes(b, 7, m.data, m.len);
	}
	buf_release(&m);
}

static struct proto_field
field_of(const void *data, size_t len, uint32_t number)
{
	struct reader r = reader_of(data, len);
	struct proto_field f = { 0 };

	while (proto_next(&r, &f))
		if (f.number == number)
			return f;
	assert_false(proto_malformed(&r, &f));
	return (struct proto_field){ 0 };
}

static struct told
read_answer(const struct buf *b, uint8_t uid)
{
	struct proto_field f = field_of(b->data, b->len, 1), config = field_of(b->data, b->len, 3);
	struct told told = { .report_all = field_of(b->data, b->len, 6).n == 1,
		.offered = config.number == 3 };

	assert_int_equal(f.len, OPAMP_UID_BYTES);
	assert_int_equal(f.bytes[0], uid);
	assert_int_equal(field_of(b->data, b->len, 7).n, 3);
	if (!told.offered)
		return told;
	f = field_of(config.bytes, config.len, 2);
	assert_int_equal(f.len, 8);
	memcpy(told.hash, f.bytes, 8);
	f = field_of(config.bytes, config.len, 1); /* the map */
	f = field_of(f.bytes, f.len, 1);           /* its entry */
	config = field_of(f.bytes, f.len, 1);
	assert_int_equal(config.len, 7);
	assert_memory_equal(config.bytes, "elastic", 7);
	f = field_of(f.bytes, f.len, 2);
	config = field_of(f.bytes, f.len, 1);
	assert_in_range(config.len, 1, sizeof told.config - 1);
	memcpy(told.config, config.bytes, config.len);
	return told;
}

static struct told
ask(struct kit *k, uint8_t uid, const char *service, const char *distribution,
    uint64_t capabilities, const uint8_t *hash, enum opamp_status status)
{
	struct buf in = { 0 }, out = { 0 };
	struct arena a = { 0 };
	struct opamp_report r;
	struct opamp_answer w;
	struct told told;
	struct err e;

	write_report(&in, uid, service, distribution, capabilities, hash, status);
	assert_int_equal(opamp_report_read(&r, &a, in.data, in.len, &e), 0);
	r.client = k->client;
	assert_int_equal(opamp_table_ask(k->t, &r, k->now, &w, &k->news, &e), 0);
	opamp_answer_write(&w, &out);
	assert_false(out.failed);
	told = read_answer(&out, uid);
	arena_release(&a);
	buf_release(&in);
	buf_release(&out);
	return told;
}

static void
want(struct kit *k, const char *a, const char *b, int64_t lease_ns)
{
	struct toggle toggles[2] = { { .name = a }, { .name = b } };
	struct want w = { .toggles = toggles, .ntoggles = (a != NULL) + (b != NULL) };

	opamp_table_want(k->t, &w, (struct mono){ k->now.ns + lease_ns });
}

static struct kit
begin(const struct opamp_table_options *o)
{
	struct kit k = { opamp_table_new(o), { 100 * S }, OPAMP_NOTHING };

	assert_non_null(k.t);
	return k;
}

/* ---- promises ---- */

/* An agent is told what is off until it has said that it does so, and no more. */
static void
what_is_not_wanted_is_off_and_confirmed(void **state)
{
	struct kit k = begin(&OPTIONS);
	struct told told;
	(void)state;

	assert_false(opamp_table_has(k.t, "opamp:express_begin"));
	assert_true(opamp_table_confirmed(k.t));
	told = ask(&k, 1, NULL, NULL, 3, NULL, 0);
	assert_true(told.report_all && !told.offered);
	told = ask(&k, 1, "shop", NULL, 3, NULL, 0);
	assert_int_equal(k.news, OPAMP_NEW);
	assert_true(!told.report_all && told.offered);
	assert_string_equal(told.config,
	    "{\"opamp_polling_interval\":\"1000ms\",\"deactivate_instrumentations\":\"express,fs\"}");
	assert_false(opamp_table_confirmed(k.t));
	assert_true(ask(&k, 1, NULL, NULL, 3, NULL, 0).offered);
	assert_true(ask(&k, 1, NULL, NULL, 3, told.hash, OPAMP_APPLYING).offered);
	assert_false(ask(&k, 1, NULL, NULL, 3, told.hash, OPAMP_APPLIED).offered);
	assert_true(opamp_table_confirmed(k.t));
	assert_false(ask(&k, 1, NULL, NULL, 3, NULL, 0).offered); /* it says so once */
	assert_true(opamp_table_has(k.t, "opamp:express_begin"));
	assert_true(opamp_table_has(k.t, "opamp:*"));
	assert_false(opamp_table_has(k.t, "opamp:http_begin"));
	assert_false(opamp_table_has(k.t, "opamp:express"));
	opamp_table_free(k.t);
}

static void
what_is_wanted_is_on_until_the_lease_ends(void **state)
{
	struct kit k = begin(&OPTIONS);
	struct opamp_table_stats st;
	struct told told;
	(void)state;

	told = ask(&k, 1, "shop", "elastic", 3, NULL, 0);
	ask(&k, 1, NULL, NULL, 3, told.hash, OPAMP_APPLIED);
	want(&k, "opamp:fs_begin", "opamp:fs_end", 5 * S);
	assert_false(opamp_table_confirmed(k.t));
	told = ask(&k, 1, NULL, NULL, 3, NULL, 0);
	assert_non_null(strstr(told.config, "\"deactivate_instrumentations\":\"express\""));
	ask(&k, 1, NULL, NULL, 3, told.hash, OPAMP_APPLIED);
	assert_true(opamp_table_confirmed(k.t));
	opamp_table_stats(k.t, &st);
	assert_int_equal(st.on, 2);
	want(&k, "opamp:*", NULL, 5 * S);
	told = ask(&k, 1, NULL, NULL, 3, NULL, 0);
	assert_non_null(strstr(told.config, "\"deactivate_instrumentations\":\"\""));
	k.now.ns += 6 * S;
	told = ask(&k, 1, NULL, NULL, 3, NULL, 0);
	assert_non_null(strstr(told.config, "\"deactivate_instrumentations\":\"express,fs\""));
	opamp_table_free(k.t);
}

/* A configuration without keys resets an agent to what its application started with; so does one of a hone-otel that names nothing. */
static void
agents_are_set_back_at_the_end_and_at_the_next_start(void **state)
{
	struct opamp_table_options o = OPTIONS;
	struct kit k = begin(&o);
	struct told told = ask(&k, 1, "shop", NULL, 3, NULL, 0);
	(void)state;

	ask(&k, 1, NULL, NULL, 3, told.hash, OPAMP_APPLIED);
	opamp_table_set_back(k.t);
	assert_false(opamp_table_confirmed(k.t));
	told = ask(&k, 1, NULL, NULL, 3, NULL, 0);
	assert_string_equal(told.config, "{}");
	ask(&k, 1, NULL, NULL, 3, told.hash, OPAMP_APPLIED);
	assert_true(opamp_table_confirmed(k.t));
	opamp_table_free(k.t);
	o.off = "";
	k = begin(&o);
	told = ask(&k, 1, "shop", NULL, 3, (const uint8_t *)"12345678", OPAMP_APPLIED);
	assert_string_equal(told.config, "{}");
	assert_true(opamp_table_confirmed(k.t));
	assert_false(opamp_table_has(k.t, "opamp:*"));
	opamp_table_free(k.t);
}

/* Those of collectors, of other distributions, and those that take no configuration. */
static void
agents_that_do_not_know_the_keys_are_told_nothing(void **state)
{
	struct kit k = begin(&OPTIONS);
	struct opamp_table_stats st;
	(void)state;

	assert_false(ask(&k, 1, "a", "acme", 3, NULL, 0).offered);
	assert_false(ask(&k, 2, "b", NULL, 3 | OPAMP_REPORTS_EFFECTIVE, NULL, 0).offered);
	assert_false(ask(&k, 3, "c", "elastic", 1, NULL, 0).offered);
	k.client = "OTel-OpAMP-Python/0.1"; /* it would confirm what it does not do */
	assert_false(ask(&k, 4, "d", NULL, 3, NULL, 0).offered);
	assert_true(opamp_table_confirmed(k.t));
	opamp_table_stats(k.t, &st);
	assert_int_equal(st.agents, 4);
	assert_int_equal(st.obey, 0);
	k.client = "@elastic/opamp-client-node/0.5.0";
	assert_true(ask(&k, 5, "e", NULL, 3, NULL, 0).offered);
	opamp_table_free(k.t);
}

static void
an_agent_that_fails_is_told_of_once_and_not_waited_for(void **state)
{
	struct kit k = begin(&OPTIONS);
	struct opamp_table_stats st;
	struct told told = ask(&k, 1, "shop", NULL, 3, NULL, 0);
	(void)state;

	assert_false(ask(&k, 1, NULL, NULL, 3, told.hash, OPAMP_FAILED).offered);
	assert_int_equal(k.news, OPAMP_REFUSED);
	ask(&k, 1, NULL, NULL, 3, told.hash, OPAMP_FAILED);
	assert_int_equal(k.news, OPAMP_NOTHING);
	assert_true(opamp_table_confirmed(k.t));
	opamp_table_stats(k.t, &st);
	assert_int_equal(st.failed, 1);
	opamp_table_free(k.t);
}

static struct text_view
view(const char *s)
{
	return (struct text_view){ s, (uint32_t)strlen(s) };
}

static bool
is_point(const struct kit *k, const char *service, const char *scope, const char *point)
{
	struct text_view v = opamp_table_scope(k->t, view(service), view(scope));

	return v.len == strlen(point) && memcmp(v.s, point, v.len) == 0;
}

static void
scopes_of_all_languages_are_known_by_their_end(void **state)
{
	struct opamp_table_options o = { "express,jdbc,http,akka-http", S, 30 * S };
	struct kit k = begin(&o);
	(void)state;

	ask(&k, 1, "shop", NULL, 3, NULL, 0);
	assert_true(
	    is_point(&k, "shop", "@opentelemetry/instrumentation-express", "opamp:express"));
	assert_true(is_point(&k, "shop", "io.opentelemetry.jdbc", "opamp:jdbc"));
	assert_true(is_point(&k, "shop", "io.opentelemetry.akka-http-10.0", "opamp:akka-http"));
	assert_true(is_point(&k, "shop", "opentelemetry.instrumentation.http", "opamp:http"));
	assert_true(is_point(&k, "shop", "express", "opamp:express"));
	assert_true(is_point(&k, "shop", "myexpress", ""));
	assert_true(is_point(&k, "shop", "", ""));
	assert_true(is_point(&k, "shop", "-1.0", ""));
	assert_true(is_point(&k, "other", "io.opentelemetry.jdbc", ""));
	opamp_table_free(k.t);
}

static void
agents_are_bounded_and_forgotten(void **state)
{
	struct kit k = begin(&OPTIONS);
	struct opamp_report r = { .service = "s",
		.distribution = "",
		.error = "",
		.described = true,
		.capabilities = 3 };
	struct programs p = { 0 };
	struct opamp_answer w;
	struct arena a = { 0 };
	struct err e;
	(void)state;

	for (uint32_t i = 0; i <= OPAMP_AGENTS_MAX; i++) {
		memcpy(r.uid, &i, sizeof i);
		assert_int_equal(opamp_table_ask(k.t, &r, k.now, &w, &k.news, &e),
		    i < OPAMP_AGENTS_MAX ? 0 : ERR_FULL);
	}
	assert_true(opamp_table_programs(k.t, &p, &a));
	assert_int_equal(p.nprograms, OPAMP_AGENTS_MAX);
	assert_int_equal(p.nnames, 4);
	assert_string_equal(p.names[0], "opamp:express_begin");
	assert_int_equal(p.programs[7].count, 4);
	assert_int_equal(p.programs[7].lever, LEVER_OPAMP);
	memset(r.uid, 0, sizeof r.uid);
	r.leaves = true;
	assert_int_equal(opamp_table_ask(k.t, &r, k.now, &w, &k.news, &e), 0);
	p = (struct programs){ 0 };
	assert_true(opamp_table_programs(k.t, &p, &a));
	assert_int_equal(p.nprograms, OPAMP_AGENTS_MAX - 1);
	k.now.ns += 31 * S;
	opamp_table_turn(k.t, k.now);
	p = (struct programs){ 0 };
	assert_true(opamp_table_programs(k.t, &p, &a));
	assert_int_equal(p.nprograms + p.nnames, 0);
	arena_release(&a);
	opamp_table_free(k.t);
}

static void
malformed_messages_are_refused(void **state)
{
	static const char *const bad[] = { "", "hello", "\x0a\x03uid", "\x0a\x10short", "\x13" };
	struct opamp_report r;
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct err e;
	(void)state;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(opamp_report_read(&r, &a, bad[i], strlen(bad[i]), &e), ERR_INPUT);
	write_report(&b, 1, "shop/a\n", "elastic", 3, (const uint8_t *)"12345678", OPAMP_APPLIED);
	assert_int_equal(opamp_report_read(&r, &a, b.data, b.len, &e), 0);
	assert_string_equal(r.service, "shop.a?"); /* as in labels */
	assert_int_equal(r.pid, 4711);
	for (size_t i = 1; i < b.len; i++) { /* cut anywhere: refused, or less */
		if (opamp_report_read(&r, &a, b.data, i, &e) == 0)
			assert_true(r.capabilities == 0 || !r.has_status);
	}
	arena_release(&a);
	buf_release(&b);
	assert_true(opamp_off_fits(""));
	assert_true(opamp_off_fits("a,b-1, c.d_e"));
	assert_false(opamp_off_fits("a\"b"));
	assert_false(opamp_off_fits("a*"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_wanted_is_off_and_confirmed),
		cmocka_unit_test(what_is_wanted_is_on_until_the_lease_ends),
		cmocka_unit_test(agents_are_set_back_at_the_end_and_at_the_next_start),
		cmocka_unit_test(agents_that_do_not_know_the_keys_are_told_nothing),
		cmocka_unit_test(an_agent_that_fails_is_told_of_once_and_not_waited_for),
		cmocka_unit_test(scopes_of_all_languages_are_known_by_their_end),
		cmocka_unit_test(agents_are_bounded_and_forgotten),
		cmocka_unit_test(malformed_messages_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "otel/main/otel_config.h"
#include "base/buf.h"
#include "base/ini_value.h"

static char *
printed(const struct otel_config *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	otel_config_print(c, f);
	fclose(f);
	return text;
}

static void
printed_settings_are_read_back_unchanged(void **state)
{
	char *set[] = { "agent.node=web-7", "listen.zipkin=", "queue.memory=3MiB",
		"listen.otlp=[::1]:4318", "controller.url=tls://10.0.0.1:7777",
		"queue.batch_time=7ms" };
	char path[] = "/tmp/hone-config-test-XXXXXX", *text, *again;
	struct otel_config c, d;
	struct err e;
	int fd = mkstemp(path);
	(void)state;

	assert_int_equal(otel_config_load(&c, NULL, set, 6, &e), 0);
	text = printed(&c);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(otel_config_load(&d, path, NULL, 0, &e), 0);
	again = printed(&d);
	assert_string_equal(text, again);
	assert_string_equal(d.node, "web-7");
	assert_string_equal(d.zipkin, "");
	assert_int_equal(d.memory_bytes, 3 << 20);
	assert_int_equal(d.batch_ns, 7000000);
	free(text);
	free(again);
	otel_config_release(&c);
	otel_config_release(&d);
	unlink(path);
}

static void
defaults_work_on_one_machine(void **state)
{
	struct otel_config c;
	struct err e;
	(void)state;

	assert_int_equal(otel_config_load(&c, NULL, NULL, 0, &e), 0);
	assert_string_equal(c.otlp, "127.0.0.1:4318");
	assert_int_equal(c.hold_ns, INT64_C(5000000000));
	assert_string_equal(c.url, "ipc:///run/hone/agents.sock");
	assert_non_null(strstr(c.node, "-otel"));
	otel_config_release(&c);
}

static void
invalid_values_are_refused_with_their_key(void **state)
{
	static const struct {
		const char *set, *key;
	} CASES[] = {
		{ "agent.node=a/b", "agent.node" },
		{ "agent.node=-x", "agent.node" },
		{ "controller.url=http://x", "controller.url" },
		{ "log.level=loud", "log.level" },
		{ "queue.memory=1", "memory" },
		{ "queue.window=0", "window" },
		{ "listen.otlp=localhost:4318", "listen.otlp" },
		{ "listen.grpc=4317", "listen.grpc" },
		{ "listen.zipkin=127.0.0.1:99999", "listen.zipkin" },
		{ "listen.otlp=::1:4318", "listen.otlp" },
		{ "listen.body=33MiB", "body" },
		{ "spans.age=1s", "spans.age" },
		{ "spans.trace=20001", "trace" },
		{ "no.such=1", "no" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
		char *set[] = { (char *)(uintptr_t)CASES[i].set };
		struct otel_config c;
		struct err e;

		assert_int_not_equal(otel_config_load(&c, NULL, set, 1, &e), 0);
		assert_non_null(strstr(e.text, CASES[i].key));
		otel_config_release(&c);
	}
}

/* The entry of a key in hone-otel.conf(5): its default, then a description that states the range. */
static void
the_manual_has_every_key_with_its_default_and_range(void **state)
{
	char *page = calloc(1, 1 << 16), line[256];
	FILE *f = fopen("otel/main/hone-otel.conf.5", "r");
	unsigned listed = 0;
	(void)state;

	if (f == NULL)
		fail_msg("otel/main/hone-otel.conf.5: run this in the project's folder");
	assert_true(fread(page, 1, (1 << 16) - 1, f) > 0);
	fclose(f);
	for (size_t i = 0; i < otel_config_nkeys; i++) {
		const struct ini_key *k = &otel_config_keys[i];
		struct buf range = { 0 };
		char *section, *entry = NULL, *end;

		snprintf(line, sizeof line, "\n.Ss [%s]\n", k->section);
		section = strstr(page, line);
		snprintf(line, sizeof line, "\n.It Cm %s No =%s%s\n", k->name,
		    k->fallback[0] != '\0' ? " Ar " : "", k->fallback);
		if (section == NULL || (entry = strstr(section, line)) == NULL ||
		    ((end = strstr(section + 1, "\n.Ss")) != NULL && entry > end))
			fail_msg("[%s] lacks: %s", k->section, line);
		ini_value_bounds(&range, k);
		buf_u8(&range, 0);
		snprintf(line, sizeof line, "\nRange: %s.\n", (char *)range.data);
		entry++;
		end = strstr(entry + 1, "\n.It");
		if (range.len > 1 && ((section = strstr(entry, line)) == NULL || section > end))
			fail_msg("%s.%s lacks: %s", k->section, k->name, line);
		buf_release(&range);
	}
	for (char *at = page; (at = strstr(at, "\n.It Cm ")) != NULL; at++)
		listed++;
	assert_int_equal(listed, otel_config_nkeys);
	free(page);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(printed_settings_are_read_back_unchanged),
		cmocka_unit_test(defaults_work_on_one_machine),
		cmocka_unit_test(invalid_values_are_refused_with_their_key),
		cmocka_unit_test(the_manual_has_every_key_with_its_default_and_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

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

#include "agent/main/agent_config.h"

static char *
printed(const struct config *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	config_print(c, f);
	fclose(f);
	return text;
}

static void
what_is_printed_reads_back_the_same(void **state)
{
	char *set[] = { "agent.node=web-7", "tracer.sub_buffers=8", "queue.memory=3MiB",
		"status.shed=75%", "controller.url=tls://10.0.0.1:7777", "queue.batch_time=7ms" };
	char path[] = "/tmp/hone-config-test-XXXXXX", *text, *again;
	struct config c, d;
	struct err e;
	int fd = mkstemp(path);
	(void)state;

	assert_int_equal(config_load(&c, NULL, set, 6, &e), 0);
	text = printed(&c);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(config_load(&d, path, NULL, 0, &e), 0);
	again = printed(&d);
	assert_string_equal(text, again);
	assert_string_equal(d.run_dir, "/run/hone/agent-web-7");
	assert_int_equal(d.memory_bytes, 3 << 20);
	assert_int_equal(d.batch_ns, 7000000);
	free(text);
	free(again);
	config_release(&c);
	config_release(&d);
	unlink(path);
}

static void
defaults_work_on_one_machine(void **state)
{
	struct config c;
	struct err e;
	(void)state;

	assert_int_equal(config_load(&c, NULL, NULL, 0, &e), 0);
	assert_int_equal(c.sub_buffers, 16);
	assert_int_equal(c.sub_buffer_bytes, 32768);
	assert_int_equal(c.switch_timer_ns, 250000000);
	assert_string_equal(c.url, "ipc:///run/hone/agents.sock");
	assert_true(c.node[0] != '\0');
	config_release(&c);
}

static void
nonsense_is_refused_with_its_key(void **state)
{
	static const struct {
		const char *set, *key;
	} CASES[] = {
		{ "agent.node=a/b", "agent.node" },
		{ "agent.node=-x", "agent.node" },
		{ "agent.run_dir=here", "agent.run_dir" },
		{ "controller.url=http://x", "controller.url" },
		{ "tracer.sub_buffers=3", "tracer.sub_buffers" },
		{ "tracer.sub_buffer_size=5000B", "tracer.sub_buffer_size" },
		{ "log.level=loud", "log.level" },
		{ "queue.memory=1", "memory" },
		{ "queue.window=0", "window" },
		{ "status.shed=120%", "shed" },
		{ "no.such=1", "no" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
		char *set[] = { (char *)(uintptr_t)CASES[i].set };
		struct config c;
		struct err e;

		assert_int_not_equal(config_load(&c, NULL, set, 1, &e), 0);
		assert_non_null(strstr(e.text, CASES[i].key));
		config_release(&c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_printed_reads_back_the_same),
		cmocka_unit_test(defaults_work_on_one_machine),
		cmocka_unit_test(nonsense_is_refused_with_its_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

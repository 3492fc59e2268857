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
#include "tests/unit/manual_keys.h"

static char *
printed(const struct agent_config *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	agent_config_print(c, f);
	fclose(f);
	return text;
}

static void
printed_settings_are_read_back_unchanged(void **state)
{
	char *set[] = { "agent.node=web-7", "tracer.sub_buffers=8", "queue.memory=3MiB",
		"status.shed=75%", "controller.url=tls://10.0.0.1:7777", "queue.batch_time=7ms" };
	char path[] = "/tmp/hone-config-test-XXXXXX", *text, *again;
	struct agent_config c, d;
	struct err e;
	int fd = mkstemp(path);
	(void)state;

	assert_int_equal(agent_config_load(&c, NULL, set, 6, &e), 0);
	text = printed(&c);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(agent_config_load(&d, path, NULL, 0, &e), 0);
	again = printed(&d);
	assert_string_equal(text, again);
	assert_string_equal(d.run_dir, "/run/hone/agent-web-7");
	assert_int_equal(d.memory_bytes, 3 << 20);
	assert_int_equal(d.batch_ns, 7000000);
	free(text);
	free(again);
	agent_config_release(&c);
	agent_config_release(&d);
	unlink(path);
}

static void
defaults_work_on_one_machine(void **state)
{
	struct agent_config c;
	struct err e;
	(void)state;

	assert_int_equal(agent_config_load(&c, NULL, NULL, 0, &e), 0);
	assert_int_equal(c.sub_buffers, 16);
	assert_int_equal(c.sub_buffer_bytes, 32768);
	assert_int_equal(c.switch_timer_ns, 250000000);
	assert_string_equal(c.url, "ipc:///run/hone/agents.sock");
	assert_true(c.node[0] != '\0');
	assert_string_equal(c.services, ""); /* nobody is followed, and no message is read */
	assert_false(c.kernel_http);
	agent_config_release(&c);
}

static void
invalid_values_are_refused_with_their_key(void **state)
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
		{ "kernel.rule=some", "kernel.rule" },
		{ "kernel.gateways=10.0.0.1.2", "kernel.gateways" },
		{ "kernel.gateway_cgroups=/web", "kernel.gateway_cgroups" }, /* without services */
		{ "kernel.limit=1", "limit" },
		{ "no.such=1", "no" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
		char *set[] = { (char *)(uintptr_t)CASES[i].set };
		struct agent_config c;
		struct err e;

		assert_int_not_equal(agent_config_load(&c, NULL, set, 1, &e), 0);
		assert_non_null(strstr(e.text, CASES[i].key));
		agent_config_release(&c);
	}
}

static void
the_manual_has_every_key_with_its_default_and_range(void **state)
{
	(void)state;

	manual_has_keys("agent/main/hone-agent.conf.5", agent_config_keys, agent_config_nkeys);
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

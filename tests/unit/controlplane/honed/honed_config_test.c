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

#include "controlplane/honed/honed_config.h"

static void
load(struct config *c)
{
	struct err e;

	if (config_init(c, &e) < 0)
		fail_msg("%s", e.text);
}

static void
defaults_are_valid_and_reach_the_engine(void **state)
{
	struct config c;
	struct engine_options o;
	struct err e;
	(void)state;

	load(&c);
	assert_int_equal(config_check(&c, &e), 0);
	o = config_engine(&c);
	assert_true(o.conditions.cv_max == 0.10 && o.conditions.slow_quantile == 0.95 &&
		    o.conditions.confidence == 0.95);
	assert_int_equal(o.conditions.traces_min, 30);
	assert_int_equal(o.memory_max_bytes, INT64_C(512) << 20);
	assert_int_equal(o.skew_ns, 5000000);
	assert_int_equal(o.patience_ns, INT64_C(30000000000));
	assert_int_equal(o.groups_max, 2000);
	assert_int_equal(o.samples_max, 512);
	assert_int_equal(o.tracepoints_per_cycle, 3);
	assert_int_equal(o.searches_max, 3);
	assert_int_equal(o.effort_cycles, 64);
	assert_true(o.isolate_min == 0.3 && o.explain_min == 0.5 && o.pause_fill == 0.5 &&
		    o.resume_fill == 0.35);
	assert_int_equal(o.withdraw_ns, INT64_C(5000000000));
	assert_int_equal(o.cycle_max_ns, INT64_C(20000000000));
	assert_true(o.below && !o.recorder_always && o.sampled == 1.0);
	assert_true(o.budget_share == 0.01 && o.learn_share == 0.05);
	assert_int_equal(o.lease_ns, INT64_C(5000000000));
	assert_int_equal(o.seed, 1);
	config_release(&c);
}

/*
 * Printed settings are read back unchanged: every config key, each with a value that is not its
 * default.
 */
static void
printed_settings_are_read_back_unchanged(void **state)
{
	static const char *const other[] = {
		"controller.agents=tls://127.0.0.1:7700",
		"controller.operators=ipc:///tmp/x y#z.sock",
		"controller.log=debug",
		"tls.ca=/k/ca",
		"tls.certificate=/k/c",
		"tls.key=/k/k",
		"tls.revoked=/k/r",
		"controller.user=nobody",
		"controller.connections_max=17",
		"controller.strangers_max=19",
		"kafka.brokers=one:9092,two:9092",
		"kafka.role=shard",
		"kafka.name=s7",
		"kafka.prefix=my.hone-",
		"kafka.options=security.protocol=ssl",
		"kafka.wait=7s",
		"metrics.listen=[::1]:9464",
		"web.listen=unix:///run/hone/web.sock",
		"watch.types=GET*",
		"watch.window=30s",
		"watch.learn=2h",
		"watch.cost_min=10%",
		"watch.objectives=A<1s:99%",
		"watch.starts_per_day=3",
		"watch.cool_down=2h",
		"watch.alertmanager=http://a:9093",
		"watch.webhook=http://b/",
		"watch.command=/bin/c",
		"watch.receive_token=/k/token",
		"watch.healthy=/x/h.db",
		"operators.look=root @root",
		"operators.diagnose=nobody",
		"operators.questions_per_second=77",
		"agents.allow=@root",
		"agents.frames_per_second=44",
		"controller.mailbox_max=3MiB",
		"controller.silent_after=7s",
		"analysis.cv_max=12.5%",
		"analysis.slow_quantile=0.9",
		"analysis.traces_min=41",
		"analysis.confidence=99%",
		"analysis.memory_max=64MiB",
		"analysis.skew=250us",
		"analysis.patience=2min",
		"analysis.order=100ms",
		"analysis.open_forks=20s",
		"analysis.late_ends=2s",
		"analysis.records_max=5000",
		"analysis.groups_max=99",
		"analysis.samples_max=100",
		"analysis.report_max=5MiB",
		"analysis.ignore=*:poll_* s/x:y#z",
		"analysis.bins=*:request_end*.status=400,500 a.b",
		"search.tracepoints_per_cycle=5",
		"search.effect_min=7%",
		"search.causes_max=5",
		"search.isolate_min=33%",
		"search.searches_max=5",
		"search.effort_cycles=12",
		"search.budget=2.5%",
		"learn.budget=15%",
		"capture.budget=0.25%",
		"levels.budget=0.75%",
		"levels.file=/tmp/levels",
		"search.explain_min=44%",
		"search.cycle_max=1500ms",
		"search.seed=123456789",
		"search.below=off",
		"capture.always=on",
		"capture.wait=3s",
		"search.probes=off",
		"search.deep=my_probes, lttng_ust_*",
		"agents.sampled=25%",
		"agents.enough=60",
		"agents.diagnosed_most=77",
		"agents.budget=0.5%",
		"agents.network_max=3MiB",
		"agents.memory_max=64MiB",
		"agents.lease=2500ms",
		"agents.pause_fill=60%",
		"agents.resume_fill=20%",
		"agents.withdraw_after=1min",
		"agents.shed_for=30s",
		"storage.database=/tmp/a.db",
		"storage.space=/tmp/b.db",
		"storage.history_days=0",
		"storage.size_max=5MiB",
	};
	char path[] = "/tmp/hone-config-XXXXXX", *first = NULL, *second = NULL;
	size_t first_len, second_len;
	struct config a, b;
	struct err e;
	FILE *f;
	(void)state;

	assert_int_equal(sizeof other / sizeof other[0], config_nkeys);
	load(&a);
	load(&b);
	for (unsigned i = 0; i < config_nkeys; i++)
		if (config_set(&a, other[i], &e) < 0)
			fail_msg("%s", e.text);
	f = fdopen(mkstemp(path), "w");
	ini_print(config_keys, config_nkeys, &a, 1, f);
	fclose(f);
	if (config_read(&b, path, &e) < 0)
		fail_msg("%s", e.text);
	unlink(path);
	f = open_memstream(&first, &first_len);
	ini_print(config_keys, config_nkeys, &a, 0, f);
	fclose(f);
	f = open_memstream(&second, &second_len);
	ini_print(config_keys, config_nkeys, &b, 0, f);
	fclose(f);
	assert_string_equal(first, second);
	assert_string_equal(b.operators, "ipc:///tmp/x y#z.sock");
	assert_true(b.lease == INT64_C(2500000000));
	free(first);
	free(second);
	config_release(&a);
	config_release(&b);
}

/* Sets one or two config keys and expects an error with this text. */
static void
refused(const char *one, const char *two, const char *words)
{
	struct config c;
	struct err e = { 0 };
	int rc;

	load(&c);
	if ((rc = config_set(&c, one, &e)) == 0 &&
	    (two == NULL || (rc = config_set(&c, two, &e)) == 0))
		rc = config_check(&c, &e);
	assert_true(rc < 0);
	if (strstr(e.text, words) == NULL)
		fail_msg("'%s' without '%s'", e.text, words);
	config_release(&c);
}

static void
invalid_settings_are_refused(void **state)
{
	(void)state;
	refused("search.sed=1", NULL, "sed");
	refused("serch.seed=1", NULL, "serch");
	refused("search.seed=one", NULL, "seed");
	refused("search.seed=0", NULL, "seed");
	refused("analysis.skew=5", NULL, "skew");
	refused("search.deep=lttng_ust_libc:malloc", NULL, "search.deep: lttng_ust_libc:malloc");
	refused("analysis.cv_max=-1%", NULL, "cv_max");
	refused("agents.lease=1s", NULL, "lease");
	refused("controller.agents=/run/x.sock", NULL, "controller.agents");
	refused("kafka.role=gate", NULL, "kafka.role: gate: needs kafka.brokers");
	refused("kafka.brokers=k:9092", "kafka.role=broker", "gate, shard or decider");
	refused("kafka.prefix=a b", NULL, "kafka.prefix");
	refused("controller.agents=tcp://0.0.0.0:1", NULL, "use tls://address:port");
	refused("controller.operators=tls://0.0.0.0:1", NULL, "controller.operators");
	refused("controller.operators=tcp://0.0.0.0:1", NULL, "controller.operators");
	refused("controller.operators=ipc:///run/hone/agents.sock", NULL, "its own");
	refused("controller.log=loud", NULL, "debug, info, warn or error");
	refused("agents.pause_fill=30%", NULL, "resume_fill");
	refused("analysis.patience=1s", "analysis.skew=2s", "skew");
	refused("analysis.samples_max=32", "analysis.traces_min=33", "samples_max");
	refused("analysis.bins=a.b c", NULL, "analysis.bins: c: not LABEL.FIELD");
	refused("analysis.bins=a.b=2,1", NULL, "do not rise");
	refused("storage.space=/var/lib/hone/forest.db", NULL, "two files");
}

static void
errors_name_the_file_and_its_line(void **state)
{
	char path[] = "/tmp/hone-config-XXXXXX", at[64];
	struct config c;
	struct err e;
	FILE *f = fdopen(mkstemp(path), "w");
	(void)state;

	fputs("# mine\n[search]\nseed = 7\nseeed = 8\n", f);
	fclose(f);
	load(&c);
	assert_true(config_read(&c, path, &e) < 0);
	snprintf(at, sizeof at, "%s:4", path);
	assert_non_null(strstr(e.text, at));
	unlink(path);
	assert_true(config_read(&c, path, &e) < 0);
	assert_non_null(strstr(e.text, path));
	config_release(&c);
}

static void
every_key_is_in_the_manual_with_its_default(void **state)
{
	char path[512], line[256], *page = calloc(1, 1 << 16);
	FILE *f;
	(void)state;

	snprintf(path, sizeof path, "%.*s/../../../../controlplane/honed/honed.conf.5",
	    (int)(strrchr(__FILE__, '/') - __FILE__), __FILE__);
	f = fopen(path, "r");
	if (f == NULL)
		fail_msg("%s: cannot be read", path);
	assert_true(fread(page, 1, (1 << 16) - 1, f) > 0);
	fclose(f);
	for (unsigned i = 0; i < config_nkeys; i++) {
		snprintf(line, sizeof line, ".It Cm %s No =%s%s\n", config_keys[i].name,
		    config_keys[i].fallback[0] != '\0' ? " Ar " : "", config_keys[i].fallback);
		if (strstr(page, line) == NULL)
			fail_msg("honed.conf(5) lacks: %s", line);
	}
	free(page);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_valid_and_reach_the_engine),
		cmocka_unit_test(printed_settings_are_read_back_unchanged),
		cmocka_unit_test(invalid_settings_are_refused),
		cmocka_unit_test(every_key_is_in_the_manual_with_its_default),
		cmocka_unit_test(errors_name_the_file_and_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

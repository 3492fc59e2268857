/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "controlplane/alerts/healthy_store.h"
#include "controlplane/alerts/watcher.h"
#include "tests/unit/controlplane/alerts/simulated_server.h"

#define MINUTE_NS INT64_C(60000000000)

struct days {
	struct watcher w;
	struct simulated_server server;
	struct watched_type *type;
	struct mono now;
};

static void
take_time(void *of, int64_t ns)
{
	struct days *d = of;

	watcher_request(&d->w, d->type, ns, 1);
}

static void
minute(struct days *d, enum server_fault fault)
{
	struct err e;

	simulated_server_window(&d->server, 60, fault, take_time, d);
	d->now.ns += MINUTE_NS;
	assert_int_equal(watcher_end_window(&d->w, d->type, false, d->now, &e), 0);
	watcher_begin_window(&d->w, d->now, (struct wall){ d->now.ns });
}

static struct days *
begin(const char *objectives)
{
	struct days *d = calloc(1, sizeof *d);
	struct watcher_settings s = { .types = "server/G* other",
		.objectives = objectives,
		.cost_min = 0.05,
		.window_ns = MINUTE_NS,
		.learn_ns = 1440 * MINUTE_NS };
	struct err e;

	assert_non_null(d);
	assert_int_equal(watcher_init(&d->w, &s, &e), 0);
	simulated_server_init(&d->server, 5);
	d->type = watcher_type(&d->w, 3, 77, "server", "GET");
	assert_non_null(d->type);
	d->now.ns = 1;
	watcher_begin_window(&d->w, d->now, (struct wall){ 1 });
	return d;
}

static void
end(struct days *d)
{
	watcher_release(&d->w);
	free(d);
}

/* A day is learned; then, at night, a fault comes and goes. */
static void
a_fault_is_an_alert_with_its_number_and_cost(void **state)
{
	struct days *d = begin("");
	uint32_t minutes = 0;
	(void)state;

	for (int i = 0; i < 1440 + 180; i++)
		minute(d, FAULT_NONE);
	assert_int_equal(d->w.nalerts, 0);
	while (d->w.nalerts == 0 && minutes++ < 10)
		minute(d, FAULT_ALL);
	assert_in_range(minutes, 4, 6);
	assert_int_equal(d->w.alerts[0].number, 1);
	assert_int_equal(d->w.alerts[0].label, 77);
	assert_int_equal(d->w.alerts[0].self_start, SELF_START_UNDECIDED);
	assert_true(d->w.alerts[0].range.cost_share > 0.05);
	for (int i = 0; i < 20; i++)
		minute(d, FAULT_NONE);
	assert_int_not_equal(d->w.alerts[0].ended.ns, 0);
	end(d);
}

static void
what_an_operator_accepts_is_learned_anew(void **state)
{
	struct days *d = begin("");
	(void)state;

	for (int i = 0; i < 1500; i++)
		minute(d, FAULT_NONE);
	for (int i = 0; i < 6; i++)
		minute(d, FAULT_ALL);
	assert_true(d->type->state.firing);
	assert_true(watcher_accept(&d->w, 77, (struct wall){ 5 }));
	assert_false(watcher_accept(&d->w, 78, (struct wall){ 5 }));
	assert_int_equal(d->w.alerts[0].ended.ns, 5);
	assert_int_equal(d->type->healthy.n, 0);
	for (int i = 0; i < 6; i++)
		minute(d, FAULT_ALL);
	assert_int_equal(d->type->last.answer, RANGE_LEARNING);
	assert_int_equal(d->w.nalerts, 1);
	end(d);
}

static void
a_missed_objective_is_an_alert_of_its_own(void **state)
{
	struct days *d = begin("GET<300ms:99% other<1s:99%");
	(void)state;

	assert_int_equal(d->type->nslos, 1);
	for (int i = 0; i < 60; i++)
		minute(d, FAULT_NONE);
	for (int i = 0; i < 60; i++)
		minute(d, FAULT_FIFTIETH);
	assert_int_equal(d->w.nalerts, 0); /* 2 % fail where 1 % may: twice too fast */
	end(d);
	d = begin("GET<20ms:99%");
	for (int i = 0; i < 60; i++)
		minute(d, FAULT_ALL);
	assert_int_equal(d->w.nalerts, 1);
	assert_int_equal(d->w.alerts[0].kind, ALERT_OBJECTIVE);
	assert_int_equal(d->w.alerts[0].ended.ns, 0);
	end(d);
}

static void
types_that_no_pattern_names_are_not_watched(void **state)
{
	struct days *d = begin("");
	struct watched_type *t = watcher_type(&d->w, 4, 78, "front", "GET");
	(void)state;

	assert_false(t->watched);
	watcher_request(&d->w, t, 5, 1);
	t = watcher_type(&d->w, 4, 79, "front", "other"); /* another type has the place */
	assert_true(t->watched);
	assert_int_equal(t->label, 79);
	end(d);
}

static void
alerts_that_have_ended_give_their_place(void **state)
{
	struct days *d = begin("GET<1ms:99.9%");
	(void)state;

	for (int i = 0; i < ALERTS_MAX + 20; i++) {
		uint32_t n = 0;

		d->type->slos[0].counts = (struct slo_counts){ 0 };
		for (int k = 0; k < 2; k++) {
			minute(d, FAULT_NONE); /* each request takes longer than 1 ms */
			n += d->type->slos[0].firing;
		}
		assert_int_equal(n, 2);
		d->type->slos[0].counts = (struct slo_counts){ 0 };
		slo_counts_add(
		    &d->type->slos[0].counts, 4000000000, 0); /* so many that were in time */
		minute(d, FAULT_NONE);
		assert_false(d->type->slos[0].firing);
	}
	assert_int_equal(d->w.nalerts, ALERTS_MAX);
	assert_int_equal(d->w.left_out, 0);
	end(d);
}

/* ---- the store ---- */

static void
windows_come_back_as_they_were_stored(void **state)
{
	char path[] = "/tmp/hone-healthy-XXXXXX", beside[64];
	struct latency_window w = { .requests = 300, .per_second = 12.5, .mean_ns = 1e7 };
	const struct wall now = clock_wall();
	struct healthy_range h = { 0 };
	struct healthy_store *s;
	struct err e;
	(void)state;

	close(mkstemp(path));
	assert_int_equal(healthy_store_open(&s, path, &e), 0);
	assert_int_equal(healthy_store_begin(s, &e), 0);
	for (int i = 0; i < 50; i++) {
		w.begin.ns = now.ns + i;
		for (unsigned q = 0; q < RANGE_QUANTILES; q++)
			w.log_ns[q] = 16 + q / 3.0 + i / 7.0;
		assert_int_equal(healthy_store_add(s, "front", "GET", MINUTE_NS, &w, &e), 0);
		assert_int_equal(
		    healthy_store_add(s, "front", i % 2 ? "PUT" : "GET2", MINUTE_NS, &w, &e), 0);
	}
	assert_int_equal(healthy_store_forget(s, "front", "PUT", &e), 0);
	assert_int_equal(healthy_store_end(s, &e), 0);
	healthy_store_close(s);
	assert_int_equal(healthy_store_open(&s, path, &e), 0);
	assert_int_equal(healthy_store_load(s, "front", "PUT", MINUTE_NS, &h, &e), 0);
	assert_int_equal(healthy_store_load(s, "front", "GET", MINUTE_NS / 2, &h, &e), 0);
	assert_int_equal(h.n, 0);
	assert_int_equal(healthy_store_load(s, "front", "GET", MINUTE_NS, &h, &e), 0);
	assert_int_equal(h.n, 50);
	assert_memory_equal(&h.windows[49], &w, sizeof w);
	assert_true(h.windows[0].begin.ns == now.ns);
	healthy_range_release(&h);
	healthy_store_close(s);
	for (int i = 0; i < 3; i++) {
		snprintf(
		    beside, sizeof beside, "%s%s", path, (const char *[]){ "", "-wal", "-shm" }[i]);
		unlink(beside);
	}
}

static void
another_file_is_refused_and_left_alone(void **state)
{
	char path[] = "/tmp/hone-healthy-XXXXXX", back[32] = "";
	struct healthy_store *s;
	struct err e;
	int fd = mkstemp(path);
	(void)state;

	assert_int_equal(write(fd, "no database, but a text\n", 24), 24);
	assert_int_equal(healthy_store_open(&s, path, &e), ERR_STORE);
	assert_non_null(strstr(e.text, path));
	assert_int_equal(pread(fd, back, 24, 0), 24);
	assert_string_equal(back, "no database, but a text\n");
	close(fd);
	unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_is_an_alert_with_its_number_and_cost),
		cmocka_unit_test(what_an_operator_accepts_is_learned_anew),
		cmocka_unit_test(a_missed_objective_is_an_alert_of_its_own),
		cmocka_unit_test(types_that_no_pattern_names_are_not_watched),
		cmocka_unit_test(alerts_that_have_ended_give_their_place),
		cmocka_unit_test(windows_come_back_as_they_were_stored),
		cmocka_unit_test(another_file_is_refused_and_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

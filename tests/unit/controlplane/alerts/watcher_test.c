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
#include <sqlite3.h>

#include "controlplane/alerts/healthy_store.h"
#include "controlplane/alerts/watcher.h"
#include "forest/database.h"
#include "tests/unit/controlplane/alerts/simulated_server.h"

#define MINUTE_NS INT64_C(60000000000)

struct days {
	struct watcher w;
	struct simulated_server server;
	struct watched_type *type;
	struct mono now;
};

static void
take_time(void *of, int64_t begin_ns, int64_t ns)
{
	struct days *d = of;
	struct err e;

	assert_int_equal(watcher_request(&d->w, d->type, NULL, begin_ns, ns, 1, &e), 0);
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

/* Two groups: nine of ten requests and the rest; the fault is in the rest alone, and a tenth of it: 1 % of all requests. */
struct grouped {
	struct days *d;
	struct rng rng;
	bool fault;
};

static void
take_grouped(void *of, int64_t begin_ns, int64_t ns)
{
	struct grouped *x = of;
	struct days *d = x->d;
	bool few = rng_unit(&x->rng) < 0.15, slow = few && x->fault && rng_unit(&x->rng) < 0.1;
	const struct hash128 key = { few, 5 };
	struct err e;

	assert_int_equal(
	    watcher_request(&d->w, d->type, &key, begin_ns,
		(few ? 10000000 : ns) + (slow ? 80000000 : 0) + (int64_t)(1e6 * rng_unit(&x->rng)),
		1, &e),
	    0);
}

static void
grouped_minute(struct grouped *x)
{
	struct days *d = x->d;
	struct err e;

	simulated_server_window(&d->server, 60, FAULT_NONE, take_grouped, x);
	d->now.ns += MINUTE_NS;
	assert_int_equal(watcher_end_window(&d->w, d->type, false, d->now, &e), 0);
	watcher_begin_window(&d->w, d->now, (struct wall){ d->now.ns });
}

static void
a_fault_of_one_group_is_an_alert_that_names_it(void **state)
{
	struct grouped x = { .d = begin("") };
	uint32_t minutes = 0;
	(void)state;

	rng_seed(&x.rng, 6);
	for (int i = 0; i < 1440 + 200; i++)
		grouped_minute(&x);
	assert_int_equal(x.d->w.nalerts, 0);
	assert_int_equal(x.d->type->groups.n, 2);
	assert_int_equal(x.d->w.ngroups, 2);
	assert_true(x.d->w.judged_before == 3);
	x.fault = true;
	while (x.d->w.nalerts == 0 && minutes++ < 10)
		grouped_minute(&x);
	assert_in_range(minutes, 4, 5);
	assert_true(x.d->w.alerts[0].of_group);
	assert_true(x.d->w.alerts[0].group.a == 1 && x.d->w.alerts[0].group.b == 5);
	assert_true(x.d->type->firing && !x.d->type->all.state.firing);
	x.fault = false;
	for (int i = 0; i < 20; i++)
		grouped_minute(&x);
	assert_int_equal(x.d->w.nalerts, 1);
	assert_int_not_equal(x.d->w.alerts[0].ended.ns, 0);
	assert_true(watcher_accept(&x.d->w, 77, (struct wall){ 5 }));
	assert_int_equal(x.d->type->groups.items[0]->profile.healthy.n, 0);
	watcher_type(&x.d->w, 3, 78, "server", "GETTER"); /* another type has the place */
	assert_int_equal(x.d->w.ngroups, 0);
	end(x.d);
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
	assert_true(d->type->firing);
	assert_true(watcher_accept(&d->w, 77, (struct wall){ 5 }));
	assert_false(watcher_accept(&d->w, 78, (struct wall){ 5 }));
	assert_int_equal(d->w.alerts[0].ended.ns, 5);
	assert_int_equal(d->type->all.healthy.n, 0);
	for (int i = 0; i < 6; i++)
		minute(d, FAULT_ALL);
	assert_int_equal(d->type->all.last.answer, RANGE_LEARNING);
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
	struct err e;
	(void)state;

	assert_false(t->watched);
	assert_int_equal(watcher_request(&d->w, t, NULL, 1, 5, 1, &e), 0);
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
remove_store(const char *path)
{
	char beside[64];

	for (int i = 0; i < 3; i++) {
		snprintf(
		    beside, sizeof beside, "%s%s", path, (const char *[]){ "", "-wal", "-shm" }[i]);
		unlink(beside);
	}
}

static uint32_t
loaded(struct healthy_store *s, const struct healthy_key *of, int64_t window_ns,
    struct healthy_range *h)
{
	struct err e;

	healthy_range_release(h);
	assert_int_equal(healthy_store_load(s, of, window_ns, h, &e), 0);
	return h->n;
}

static void
windows_come_back_as_they_were_stored(void **state)
{
	char path[] = "/tmp/hone-healthy-XXXXXX";
	const struct hash128 shape = { 7, 8 }, other = { 7, 9 };
	const struct healthy_key get = { "front", "GET", NULL }, group = { "front", "GET", &shape },
				 put = { "front", "PUT", NULL },
				 put_group = { "front", "PUT", &shape };
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
		for (unsigned q = 0; q < RANGE_VALUES; q++)
			w.log_ns[q] = 16 + q / 3.0 + i / 7.0;
		assert_int_equal(healthy_store_add(s, &get, MINUTE_NS, &w, &e), 0);
		assert_int_equal(healthy_store_add(s, &put, MINUTE_NS, &w, &e), 0);
		if (i % 2 != 0)
			continue;
		assert_int_equal(healthy_store_add(s, &put_group, MINUTE_NS, &w, &e), 0);
		assert_int_equal(healthy_store_add(s, &group, MINUTE_NS, &w, &e), 0);
	}
	assert_int_equal(healthy_store_forget(s, "front", "PUT", &e), 0);
	assert_int_equal(healthy_store_end(s, &e), 0);
	healthy_store_close(s);
	assert_int_equal(healthy_store_open(&s, path, &e), 0);
	assert_int_equal(loaded(s, &put, MINUTE_NS, &h), 0);
	assert_int_equal(loaded(s, &put_group, MINUTE_NS, &h), 0);
	assert_int_equal(loaded(s, &get, MINUTE_NS / 2, &h), 0);
	assert_int_equal(
	    loaded(s, &(struct healthy_key){ "front", "GET", &other }, MINUTE_NS, &h), 0);
	assert_int_equal(loaded(s, &group, MINUTE_NS, &h), 25);
	assert_int_equal(loaded(s, &get, MINUTE_NS, &h), 50);
	assert_memory_equal(&h.windows[49], &w, sizeof w);
	assert_true(h.windows[0].begin.ns == now.ns);
	healthy_range_release(&h);
	healthy_store_close(s);
	remove_store(path);
}

/* Version 1 stored nine quantiles; its windows cannot be compared with those that have excesses. */
static void
windows_of_the_first_version_are_learned_anew(void **state)
{
	static const char first[] =
	    "CREATE TABLE healthy (id INTEGER PRIMARY KEY, service TEXT NOT NULL, type TEXT NOT NULL, window_ns INTEGER NOT NULL,"
	    " begin_ns INTEGER NOT NULL, requests INTEGER NOT NULL, per_second REAL NOT NULL, mean_ns REAL NOT NULL,"
	    " log_ns BLOB NOT NULL) STRICT; CREATE INDEX healthy_type ON healthy (service, type, id);"
	    "INSERT INTO healthy VALUES (1, 'front', 'GET', 60000000000, 1, 300, 12.5, 1e7, zeroblob(72));"
	    "PRAGMA user_version = 1;";
	const struct healthy_key get = { "front", "GET", NULL };
	struct latency_window w = { .requests = 300, .per_second = 12.5, .mean_ns = 1e7 };
	char path[] = "/tmp/hone-healthy-XXXXXX", stamp[60];
	struct healthy_range h = { 0 };
	struct healthy_store *s;
	sqlite3 *db;
	struct err e;
	(void)state;

	close(mkstemp(path));
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	snprintf(stamp, sizeof stamp, "PRAGMA application_id = %d;", DATABASE_HEALTHY);
	assert_int_equal(sqlite3_exec(db, stamp, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, first, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(healthy_store_open(&s, path, &e), 0);
	assert_int_equal(loaded(s, &get, MINUTE_NS, &h), 0);
	w.begin = clock_wall();
	assert_int_equal(healthy_store_begin(s, &e), 0);
	assert_int_equal(healthy_store_add(s, &get, MINUTE_NS, &w, &e), 0);
	assert_int_equal(healthy_store_end(s, &e), 0);
	healthy_store_close(s);
	assert_int_equal(healthy_store_open(&s, path, &e), 0); /* now of the newest version */
	assert_int_equal(loaded(s, &get, MINUTE_NS, &h), 1);
	healthy_range_release(&h);
	healthy_store_close(s);
	remove_store(path);
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
		cmocka_unit_test(a_fault_of_one_group_is_an_alert_that_names_it),
		cmocka_unit_test(what_an_operator_accepts_is_learned_anew),
		cmocka_unit_test(a_missed_objective_is_an_alert_of_its_own),
		cmocka_unit_test(types_that_no_pattern_names_are_not_watched),
		cmocka_unit_test(alerts_that_have_ended_give_their_place),
		cmocka_unit_test(windows_come_back_as_they_were_stored),
		cmocka_unit_test(windows_of_the_first_version_are_learned_anew),
		cmocka_unit_test(another_file_is_refused_and_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

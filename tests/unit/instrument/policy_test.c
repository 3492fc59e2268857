/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "instrument/inside.h"
#include "instrument/policy.h"

#define SECOND_NS UINT64_C(1000000000)
#define LEASE_NS (100 * SECOND_NS)

enum { IDS = 20000, TYPE = 4711 };

static char folder[] = "/tmp/hone-policy-test.XXXXXX", path[64];
static struct hone_policy *table; /* as the agent has it: writable */

static void
table_make(size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(table != MAP_FAILED);
	close(fd);
	if (size < sizeof *table)
		return; /* reading the mapping beyond the file's end would kill this process */
	table->version = HONE_POLICY_VERSION;
	table->ntypes = HONE_POLICY_TYPES;
	table->sample_until_ns = LEASE_NS;
	table->sample_rate = UINT32_MAX;
	table->magic = HONE_POLICY_MAGIC;
}

static struct hone_policy_entry *
entry_put(uint32_t slot, uint32_t type, uint32_t sample_rate, uint32_t probe_rate)
{
	struct hone_policy_entry *e = &table->types[slot % HONE_POLICY_TYPES];

	e->sample_rate = sample_rate;
	e->probe_rate = probe_rate;
	e->probe_until_ns = LEASE_NS;
	e->request_type = type;
	return e;
}

static int
fresh(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "%s/policy", folder);
	unlink(path);
	policy_init(path, true, false);
	return 0;
}

static struct hone_carrier
drawn(uint32_t draw, uint32_t type, uint64_t now_ns)
{
	struct hone_carrier c = {
		.trace_id_high = 3, .trace_id = 1, .request_type = type, .sampled = 9, .probed = 9
	};

	policy_decide(&c, now_ns, true, draw);
	assert_true(c.sampled <= 1 && c.probed <= 1);
	return c;
}

static struct hone_carrier
decided(uint64_t seed, uint32_t type, uint64_t now_ns)
{
	return drawn((uint32_t)(mix64(seed) >> 32), type, now_ns);
}

struct counts {
	int sampled, probed, probed_alone;
};

static struct counts
decide_many(uint32_t type, uint64_t now_ns)
{
	struct counts n = { 0 };

	for (uint64_t i = 0; i < IDS; i++) {
		struct hone_carrier c = decided(i + 1, type, now_ns);

		n.sampled += c.sampled;
		n.probed += c.probed;
		n.probed_alone += c.probed && !c.sampled;
	}
	return n;
}

static void
assert_counts(struct counts n, double sampled, double probed)
{
	assert_in_range(n.sampled, (sampled - 0.02) * IDS < 0 ? 0 : (sampled - 0.02) * IDS,
	    (sampled + 0.02) * IDS);
	assert_in_range(
	    n.probed, (probed - 0.02) * IDS < 0 ? 0 : (probed - 0.02) * IDS, (probed + 0.02) * IDS);
	assert_int_equal(n.probed_alone, 0);
}

static void
without_a_table_only_the_environment_samples(void **state)
{
	struct hone_carrier c = decided(1, TYPE, 1);
	(void)state;

	assert_true(c.sampled == 0 && c.probed == 0);
	policy_init(path, true, true);
	c = decided(1, TYPE, 1);
	assert_true(c.sampled == 1 && c.probed == 0);
}

static struct hone_carrier
decided_of(uint64_t trace_id, bool called, uint32_t draw)
{
	struct hone_carrier c = { .trace_id = trace_id, .request_type = TYPE };

	policy_decide(&c, 1, called, draw);
	return c;
}

/* hone-otel and its gates keep the traces whose draw, in shares of 1, is below the rate. */
static void
where_callers_are_known_the_trace_id_decides_as_in_hone_otel(void **state)
{
	int sampled = 0, probed = 0;
	(void)state;

	/* as tests/unit/otel/spans/span_points_test.c and npm/hone-otel-gate/test.js have it */
	assert_in_range(
	    hone_policy_draw(UINT64_C(0x0123456789abcdef)), 0.4426308 * 0x1p32, 0.4426309 * 0x1p32);
	table_make(sizeof *table);
	entry_put(TYPE, TYPE, UINT32_MAX / 4, UINT32_MAX / 10);
	for (uint64_t i = 1; i <= IDS; i++) {
		uint64_t id = mix64(i);
		double draw = hone_policy_draw(id) * 0x1p-32;
		struct hone_carrier c;

		table->callers_known = 1;
		c = decided_of(id, true, 0);
		assert_int_equal(c.sampled, draw < 0.25);
		assert_int_equal(c.probed, draw < 0.1);
		sampled += c.sampled;
		probed += c.probed;
		/* Requests that begin here, and those of anybody, are drawn by chance. */
		assert_int_equal(decided_of(id, false, 0).sampled, 1);
		assert_int_equal(decided_of(id, false, UINT32_MAX - 1).sampled, 0);
		table->callers_known = 0;
		assert_int_equal(decided_of(id, true, 0).sampled, 1);
		assert_int_equal(decided_of(id, true, UINT32_MAX - 1).sampled, 0);
	}
	assert_in_range(sampled, 0.23 * IDS, 0.27 * IDS);
	assert_in_range(probed, 0.08 * IDS, 0.12 * IDS);
}

static void
a_rate_of_0_is_never_and_of_all_ones_always(void **state)
{
	struct hone_policy_entry *e;
	struct counts n;
	(void)state;

	table_make(sizeof *table);
	e = entry_put(TYPE, TYPE, UINT32_MAX, 0);
	n = decide_many(TYPE, 1);
	assert_true(n.sampled == IDS && n.probed == 0);
	e->probe_rate = UINT32_MAX;
	n = decide_many(TYPE, 1);
	assert_true(n.sampled == IDS && n.probed == IDS);
	e->sample_rate = 0;
	n = decide_many(TYPE, 1);
	assert_true(n.sampled == 0 && n.probed == 0);
	table->sample_rate = 0;
	n = decide_many(TYPE + 1, 1);
	assert_true(n.sampled == 0 && n.probed == 0);
}

static void
the_ends_of_the_range_hold_for_the_rarest_draws(void **state)
{
	struct hone_policy_entry *e;
	(void)state;

	table_make(sizeof *table);
	e = entry_put(TYPE, TYPE, 0, 0);
	assert_int_equal(drawn(0, TYPE, 1).sampled, 0);
	e->sample_rate = 1;
	assert_int_equal(drawn(0, TYPE, 1).sampled, 1);
	e->sample_rate = UINT32_MAX - 1;
	assert_int_equal(drawn(UINT32_MAX, TYPE, 1).sampled, 0);
	e->sample_rate = UINT32_MAX;
	assert_int_equal(drawn(UINT32_MAX, TYPE, 1).sampled, 1);
}

static void
rates_are_shares_and_probed_is_among_sampled(void **state)
{
	struct hone_policy_entry *e;
	(void)state;

	table_make(sizeof *table);
	e = entry_put(TYPE, TYPE, 1u << 31, 1u << 30);
	assert_counts(decide_many(TYPE, 1), 0.5, 0.25);
	e->probe_rate = UINT32_MAX;
	assert_counts(decide_many(TYPE, 1), 0.5, 0.5);
	table->sample_rate = 1u << 29;
	assert_counts(decide_many(TYPE + 1, 1), 0.125, 0);
}

/* How many of n requests are sampled that begin with trace ids of a client: `step` apart, 0: all the same. */
static int
begin_from(int n, uint64_t step)
{
	struct hone_carrier from = { .trace_id_high = 3, .trace_id = 1, .link_id = 2 };
	struct hone_unit u;
	int sampled = 0;

	for (int i = 0; i < n; i++, from.trace_id += step) {
		hone_request_begin("GET", &from);
		assert_true(
		    hone_trace_id() == from.trace_id); /* the id names the trace all the same */
		hone_detach(&u);
		sampled += u.carrier.sampled;
	}
	return sampled;
}

/* Of ids that a client has chosen, also of an id that was sampled once, no more and no fewer requests are
 * sampled than of any others: the decision does not depend on the id. */
static void
a_client_does_not_choose_what_is_sampled_by_its_trace_ids(void **state)
{
	uint32_t type = hone_request_type("GET");
	(void)state;

	table_make(sizeof *table);
	table->sample_until_ns = UINT64_MAX;
	entry_put(type, type, UINT32_MAX / 10, 0);
	assert_in_range(begin_from(IDS, 0), 0.08 * IDS, 0.12 * IDS);
	assert_in_range(begin_from(IDS, 1), 0.08 * IDS, 0.12 * IDS);
	assert_in_range(begin_from(IDS, UINT64_C(0x9e3779b97f4a7c15)), 0.08 * IDS, 0.12 * IDS);
}

/* Each with its own draw: of 1,000 ids the same are sampled twice by chance only. */
static void
an_id_that_was_sampled_says_nothing_of_the_next_request_with_it(void **state)
{
	uint32_t type = hone_request_type("GET");
	int both = 0;
	(void)state;

	table_make(sizeof *table);
	table->sample_until_ns = UINT64_MAX;
	entry_put(type, type, 1u << 31, 0);
	for (int i = 0; i < IDS; i++)
		both += begin_from(2, 0) == 2;
	assert_in_range(both, 0.23 * IDS, 0.27 * IDS);
}

/* The rates are compared in the process in which the request begins. The others have its carrier. */
static void
what_the_upstream_decided_holds_downstream(void **state)
{
	struct hone_carrier up = { .trace_id = 1, .link_id = 2, .request_type = TYPE }, down, out;
	char parent[HONE_TRACEPARENT_SIZE], tracestate[HONE_TRACESTATE_SIZE];
	(void)state;

	table_make(sizeof *table); /* here all requests are sampled, and none is probed */
	for (int flags = 0; flags < 3; flags++) {
		up.sampled = flags > 0;
		up.probed = flags > 1;
		hone_traceparent(&up, parent);
		hone_tracestate(&up, tracestate);
		assert_int_equal(hone_carrier_read(&down, parent, tracestate), 0);
		assert_int_equal(hone_from_known(&down), 1);
		hone_unit_begin(&down, "x");
		hone_fork("y", &out);
		assert_true(out.sampled == up.sampled && out.probed == up.probed);
		hone_unit_end();
	}
}

static void
past_its_lease_a_rate_is_0(void **state)
{
	struct hone_policy_entry *e;
	struct counts n;
	(void)state;

	table_make(sizeof *table);
	e = entry_put(TYPE, TYPE, UINT32_MAX, UINT32_MAX);
	e->probe_until_ns = 10 * SECOND_NS;
	n = decide_many(TYPE, 10 * SECOND_NS - 1);
	assert_true(n.sampled == IDS && n.probed == IDS);
	n = decide_many(TYPE, 10 * SECOND_NS);
	assert_true(n.sampled == IDS && n.probed == 0);
	e->probe_until_ns =
	    2 * LEASE_NS; /* the lease for probing is valid, but no agent reads records: */
	n = decide_many(TYPE, LEASE_NS);
	assert_true(n.sampled == 0 && n.probed == 0);
	n = decide_many(TYPE + 1, LEASE_NS);
	assert_int_equal(n.sampled, 0);
	table->sample_until_ns = 2 * LEASE_NS; /* renewed in time for the next */
	n = decide_many(TYPE, LEASE_NS);
	assert_true(n.sampled == IDS && n.probed == IDS);
}

/* After an agent died, HONE_SAMPLE does not apply again: it is for machines that never had an
 * agent. */
static void
an_expired_table_is_still_a_table(void **state)
{
	(void)state;

	table_make(sizeof *table);
	policy_init(path, true, true);
	assert_int_equal(decided(1, TYPE, 1).sampled, 1);
	assert_int_equal(decided(1, TYPE, LEASE_NS).sampled, 0);
}

static void
entries_that_collide_are_found_around_the_end(void **state)
{
	uint32_t type = 5 * HONE_POLICY_TYPES - 1; /* its slot is the last one */
	(void)state;

	table_make(sizeof *table);
	entry_put(HONE_POLICY_TYPES - 1, type - HONE_POLICY_TYPES, 0, 0);
	entry_put(0, type - 2 * HONE_POLICY_TYPES, 0, 0);
	entry_put(1, type, UINT32_MAX, UINT32_MAX);
	assert_int_equal(decided(1, type, 1).probed, 1);
	assert_int_equal(decided(1, type - HONE_POLICY_TYPES, 1).sampled, 0);
}

static void
a_full_table_ends_the_search(void **state)
{
	(void)state;

	table_make(sizeof *table);
	for (uint32_t i = 0; i < HONE_POLICY_TYPES; i++)
		entry_put(i, 1000000 + i, 0, 0);
	assert_int_equal(decided(1, 77, 1).sampled, 1); /* the rate of types without an entry */
	assert_int_equal(decided(1, 77, 1).probed, 0);
}

static void
a_table_that_comes_late_is_found_within_a_second(void **state)
{
	uint64_t now_ns = 50 * SECOND_NS;
	(void)state;

	assert_int_equal(decided(1, TYPE, now_ns).sampled, 0);
	table_make(sizeof *table);
	assert_int_equal(decided(1, TYPE, now_ns + SECOND_NS - 1).sampled,
	    0); /* the table is not looked for at every request */
	assert_int_equal(decided(1, TYPE, now_ns + SECOND_NS).sampled, 1);
}

static void
a_table_that_was_replaced_is_found_when_the_old_one_expires(void **state)
{
	(void)state;

	table_make(sizeof *table);
	assert_int_equal(decided(1, TYPE, 1).sampled, 1);
	assert_int_equal(rename(path, strcat(strcpy((char[80]){ 0 }, path), ".old")), 0);
	table_make(sizeof *table);
	table->sample_until_ns = 2 * LEASE_NS;
	assert_int_equal(decided(1, TYPE, LEASE_NS).sampled, 1);
}

static void
assert_ignored(void)
{
	policy_init(path, true, true); /* sampled: as if there were no table */
	assert_int_equal(decided(1, TYPE, 1).sampled, 1);
	unlink(path);
}

static void
a_table_that_is_not_one_is_ignored(void **state)
{
	(void)state;

	for (size_t size = 0; size < sizeof *table; size += 4095) {
		table_make(size);
		assert_ignored();
	}
	table_make(sizeof *table - 1);
	assert_ignored();
	for (int what = 0; what < 3; what++) {
		table_make(sizeof *table);
		table->sample_rate = 0;
		if (what == 0)
			table->magic ^= 1;
		else if (what == 1)
			table->version++;
		else
			table->ntypes *= 2;
		assert_ignored();
	}
	assert_int_equal(mkdir(path, 0755), 0);
	policy_init(path, true, true);
	assert_int_equal(decided(1, TYPE, 1).sampled, 1);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0); /* reading it must not block either */
	assert_ignored();
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_ignored();
}

/* The owner of a mapped file can truncate it, which would kill this process. */
static void
a_strangers_file_is_not_mapped(void **state)
{
	(void)state;

	if (geteuid() != 0) {
		print_message("# skipped: only root can give a file to another user\n");
		return; /* cmocka's skip() is "not ok" in TAP */
	}
	table_make(sizeof *table);
	table->sample_rate = 0;
	assert_int_equal(chown(path, 65534, 65534), 0);
	policy_init(path, false, true);
	assert_int_equal(decided(1, TYPE, 1).sampled, 1);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(chmod(path, 0666), 0);
	policy_init(path, false, true);
	assert_int_equal(decided(1, TYPE, 1).sampled, 1);
	assert_int_equal(chmod(path, 0644), 0);
	policy_init(path, false, true);
	assert_int_equal(decided(1, TYPE, 1).sampled, 0);
}

/* How many knocks an agent at this socket has heard since the last call. */
static int
knocks(int listener)
{
	int count = 0, fd;

	for (; (fd = accept4(listener, NULL, NULL, 0)) >= 0; count++)
		close(fd);
	return count;
}

static int
listen_beside(int type)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);

	snprintf(at.sun_path, sizeof at.sun_path, "%s" HONE_POLICY_KNOCK, path);
	unlink(at.sun_path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void
a_program_that_is_not_recorded_knocks(void **state)
{
	uint64_t now_ns = SECOND_NS;
	int heard;
	(void)state;

	policy_unwritten(now_ns); /* no agent is there to hear it */
	table_make(sizeof *table);
	heard = listen_beside(SOCK_SEQPACKET);
	policy_init(path, true, false);
	assert_int_equal(decided(1, TYPE, now_ns).sampled, 1);
	assert_int_equal(knocks(heard), 0); /* to map the table is none */
	errno = 4711;
	policy_unwritten(now_ns);
	assert_int_equal(errno, 4711);
	assert_int_equal(knocks(heard), 1);
	policy_unwritten(now_ns + HONE_POLICY_KNOCK_NS / 2 - 1);
	assert_int_equal(knocks(heard), 0);
	policy_unwritten(now_ns + HONE_POLICY_KNOCK_NS / 2);
	assert_int_equal(knocks(heard), 1);
	close(heard);
	unlink(strcat(strcpy((char[80]){ 0 }, path), HONE_POLICY_KNOCK));
}

/* Another user fills the agent's queue: the program neither waits nor counts that as heard. */
static void
a_knock_at_a_full_queue_is_tried_again(void **state)
{
	uint64_t now_ns = SECOND_NS;
	int heard = listen_beside(SOCK_SEQPACKET), full = 0;
	(void)state;

	for (; full < 10; full++) { /* a queue of 1 */
		policy_init(path, true, false);
		policy_unwritten(now_ns);
	}
	policy_unwritten(now_ns);
	full = knocks(heard);
	assert_in_range(full, 1, 9);
	policy_unwritten(now_ns);
	assert_int_equal(knocks(heard), 1);
	close(heard);
	unlink(strcat(strcpy((char[80]){ 0 }, path), HONE_POLICY_KNOCK));
}

#define TEST(f) cmocka_unit_test_setup(f, fresh)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_table_only_the_environment_samples),
		TEST(where_callers_are_known_the_trace_id_decides_as_in_hone_otel),
		TEST(a_rate_of_0_is_never_and_of_all_ones_always),
		TEST(the_ends_of_the_range_hold_for_the_rarest_draws),
		TEST(rates_are_shares_and_probed_is_among_sampled),
		TEST(a_client_does_not_choose_what_is_sampled_by_its_trace_ids),
		TEST(an_id_that_was_sampled_says_nothing_of_the_next_request_with_it),
		TEST(what_the_upstream_decided_holds_downstream),
		TEST(past_its_lease_a_rate_is_0),
		TEST(an_expired_table_is_still_a_table),
		TEST(entries_that_collide_are_found_around_the_end),
		TEST(a_full_table_ends_the_search),
		TEST(a_table_that_comes_late_is_found_within_a_second),
		TEST(a_table_that_was_replaced_is_found_when_the_old_one_expires),
		TEST(a_table_that_is_not_one_is_ignored),
		TEST(a_strangers_file_is_not_mapped),
		TEST(a_program_that_is_not_recorded_knocks),
		TEST(a_knock_at_a_full_queue_is_tried_again),
	};
	int failed;

	if (mkdtemp(folder) == NULL)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	unlink(strcat(path, ".old"));
	rmdir(folder);
	return failed;
}

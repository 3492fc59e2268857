/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tracer/rates.h"
#include "instrument/policy.h"

static char path[64];

/* Maps the table as a program does. */
static const struct hone_policy *
look(void)
{
	int fd = open(path, O_RDONLY);
	const struct hone_policy *t;

	assert_true(fd >= 0);
	t = mmap(NULL, sizeof *t, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(t != MAP_FAILED);
	close(fd);
	return t;
}

static void
leave(const struct hone_policy *t)
{
	munmap((void *)(uintptr_t)t, sizeof *t);
}

/* Looks a type up as a program does. */
static const struct hone_policy_entry *
find(const struct hone_policy *t, const char *type)
{
	uint32_t id = hone_policy_type(type);

	for (uint32_t i = 0; i < HONE_POLICY_TYPES; i++) {
		const struct hone_policy_entry *e = &t->types[(id + i) % HONE_POLICY_TYPES];

		if (e->request_type == id)
			return e;
		if (e->request_type == 0)
			break;
	}
	return NULL;
}

static int
each(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "/dev/shm/hone-rates-test-%ld", (long)getpid());
	unlink(path);
	return 0;
}

static void
programs_read_the_written_rates(void **state)
{
	struct rate list[] = { { "GET", 1, 0.5 }, { "PUT", 0.25, 0 } };
	struct want w = { .sampled = 0.75, .nrates = 2, .rates = list };
	const struct hone_policy *t;
	struct rates *r;
	struct err e;
	(void)state;

	assert_int_equal(rates_open(&r, path, &e), 0);
	t = look();
	assert_true(t->magic == HONE_POLICY_MAGIC && t->version == HONE_POLICY_VERSION &&
		    t->ntypes == HONE_POLICY_TYPES);
	assert_true(t->sample_rate == 0 && t->sample_until_ns == 0 && t->callers_known == 0);
	rates_callers(r, true);
	assert_int_equal(t->callers_known, 1);
	rates_callers(r, false);
	assert_int_equal(t->callers_known, 0);
	assert_int_equal(rates_apply(r, &w, (struct mono){ 5000 }, &e), 0);
	rates_renew(r, (struct mono){ 7000 });
	assert_int_equal(t->sample_until_ns, 7000);
	assert_int_equal(t->sample_rate, (uint32_t)(0.75 * UINT32_MAX));
	assert_int_equal(find(t, "GET")->sample_rate, UINT32_MAX);
	assert_int_equal(find(t, "GET")->probe_rate, UINT32_MAX / 2);
	assert_int_equal(find(t, "GET")->probe_until_ns, 5000);
	assert_int_equal(find(t, "PUT")->sample_rate, (uint32_t)(0.25 * UINT32_MAX));
	assert_int_equal(find(t, "PUT")->probe_until_ns, 0);
	assert_null(find(t, "POST"));

	w.nrates = 1;
	w.rates = &list[1];
	assert_int_equal(rates_apply(r, &w, (struct mono){ 9000 }, &e), 0);
	/* as for any other type by now */
	assert_int_equal(find(t, "GET")->sample_rate, t->sample_rate);
	assert_int_equal(find(t, "GET")->probe_until_ns, 0);
	rates_close(r, true);
	assert_int_equal(t->sample_until_ns, 0);
	assert_int_not_equal(access(path, F_OK), 0);
	leave(t);
}

/*
 * /dev/shm is writable by all users: a symbolic link there must neither keep the agent from its
 * table nor redirect its writes.
 */
static void
a_symbolic_link_in_place_of_the_table_is_replaced(void **state)
{
	char other[96], words[8] = "";
	struct rates *r;
	struct stat st;
	struct err e;
	int fd;
	(void)state;

	snprintf(other, sizeof other, "%s.other", path);
	fd = open(other, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "mine", 4), 4);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(rates_open(&r, path, &e), 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(pread(fd, words, sizeof words, 0), 4);
	assert_string_equal(words, "mine");
	close(fd);
	unlink(other);
	rates_close(r, true);
}

static void
old_mappings_stay_valid_when_an_agent_restarts(void **state)
{
	struct rate rate = { "GET", 1, 1 };
	struct want w = { .sampled = 1, .nrates = 1, .rates = &rate };
	const struct hone_policy *t;
	struct rates *r;
	struct err e;
	(void)state;

	assert_int_equal(rates_open(&r, path, &e), 0);
	t = look();
	rates_apply(r, &w, (struct mono){ 5000 }, &e);
	rates_close(r, false);
	assert_int_equal(rates_open(&r, path, &e), 0);
	assert_int_equal(find(t, "GET")->probe_until_ns, 0); /* no value is inherited */
	rates_apply(r, &w, (struct mono){ 6000 }, &e);
	assert_int_equal(find(t, "GET")->probe_until_ns, 6000);
	rates_close(r, true);
	leave(t);
}

/* Agent and guardian are killed at once, with leases that would last for a long time. */
static void
the_table_of_a_killed_agent_is_silent_when_the_next_one_has_it(void **state)
{
	struct rate list[] = { { "GET", 1, 1 } };
	struct want w = { .sampled = 1, .nrates = 1, .rates = list };
	const struct hone_policy *t;
	struct rates *r;
	struct err e;
	pid_t child = fork();
	int status;
	(void)state;

	if (child == 0)
		_exit(rates_open(&r, path, &e) != 0 ||
		      rates_apply(r, &w, (struct mono){ INT64_MAX }, &e) != 0 ||
		      (rates_renew(r, (struct mono){ INT64_MAX }),
			  rates_choose(r, "GET", (struct mono){ 1 }, 0) != RATES_PROBE));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	t = look();
	assert_int_equal(t->sample_until_ns, INT64_MAX);

	assert_int_equal(rates_open(&r, path, &e), 0);
	assert_int_equal(t->sample_until_ns, 0);
	assert_true(find(t, "GET")->probe_until_ns == 0 && find(t, "GET")->probe_rate == 0);
	assert_int_equal(rates_choose(r, "GET", (struct mono){ 1 }, 0), RATES_SKIP);
	leave(t);
	rates_close(r, true);
}

static void
a_guardian_silences_a_dead_agents_table(void **state)
{
	struct rate rate = { "GET", 1, 1 };
	struct want w = { .sampled = 1, .nrates = 1, .rates = &rate };
	const struct hone_policy *t;
	struct rates *r, *next;
	struct err e;
	int spare;
	(void)state;

	rates_silence_fd(-1); /* without a table: no effect */
	assert_int_equal(rates_open(&r, path, &e), 0);
	t = look();
	spare = rates_spare(r);
	assert_true(spare >= 0);
	rates_apply(r, &w, (struct mono){ 5000 }, &e);
	assert_int_equal(find(t, "GET")->probe_until_ns, 5000);
	rates_silence_fd(spare);
	assert_int_equal(find(t, "GET")->probe_until_ns, 0);
	rates_close(r, false);
	assert_int_equal(
	    /* another process with the spare descriptor does not prevent it */
	    rates_open(&next, path, &e), 0);
	rates_close(next, true);
	close(spare);
	leave(t);
}

static void
two_agents_do_not_share_a_table(void **state)
{
	struct rates *r, *other;
	struct err e;
	(void)state;

	assert_int_equal(rates_open(&r, path, &e), 0);
	assert_int_equal(rates_open(&other, path, &e), ERR_BUSY);
	rates_close(r, true);
}

/* As another user, who can open the table for reading only, would do it: with flock(), and with a lock
 * for reading. */
static int
lock_as_reader(void)
{
	struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	flock(fd, LOCK_EX | LOCK_NB);
	fcntl(fd, F_OFD_SETLK, &l);
	return fd;
}

static void
a_reader_who_locks_the_table_keeps_no_agent_from_starting(void **state)
{
	struct want w = { .sampled = 1 };
	const struct hone_policy *old, *new;
	struct rates *r, *other;
	struct err e;
	int fd;
	(void)state;

	/* while an agent runs, it changes nothing */
	assert_int_equal(rates_open(&r, path, &e), 0);
	close(lock_as_reader());
	fd = lock_as_reader();
	assert_int_equal(rates_open(&other, path, &e), ERR_BUSY);
	rates_close(r, false);
	close(fd);
	/* between two agents, the next one has a table of its own, and ends the old one */
	assert_int_equal(rates_open(&r, path, &e), 0);
	old = look();
	rates_renew(r, (struct mono){ 1000 });
	rates_close(r, false);
	fd = lock_as_reader();
	assert_int_equal(rates_open(&r, path, &e), 0);
	assert_int_equal(rates_apply(r, &w, (struct mono){ 5000 }, &e), 0);
	rates_renew(r, (struct mono){ 2000 });
	new = look();
	assert_int_equal(old->sample_until_ns, 0);
	assert_int_equal(new->sample_until_ns, 2000);
	assert_int_equal(rates_open(&other, path, &e), ERR_BUSY);
	leave(old);
	leave(new);
	close(fd);
	rates_close(r, true);
}

/* What is left beside the table, whose name begins with the table's. */
static int
moved_aside(char *ret, size_t size)
{
	char dir[] = "/dev/shm";
	const char *name = strrchr(path, '/') + 1;
	DIR *d = opendir(dir);
	struct dirent *entry;
	int n = 0;

	while (d != NULL && (entry = readdir(d)) != NULL)
		if (strncmp(entry->d_name, name, strlen(name)) == 0 &&
		    strcmp(entry->d_name, name) != 0 && ++n > 0)
			snprintf(ret, size, "%s/%s", dir, entry->d_name);
	if (d != NULL)
		closedir(d);
	return n;
}

static void
a_folder_in_place_of_the_table_is_moved_aside(void **state)
{
	char inside[128], aside[512];
	struct rates *r;
	struct err e;
	(void)state;

	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(rates_open(&r, path, &e), 0);
	leave(look());
	rates_close(r, true);
	assert_int_equal(moved_aside(aside, sizeof aside), 0); /* an empty one is removed */
	snprintf(inside, sizeof inside, "%s/x", path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mkdir(inside, 0700), 0);
	assert_int_equal(rates_open(&r, path, &e), 0);
	leave(look());
	rates_close(r, true);
	assert_int_equal(moved_aside(aside, sizeof aside), 1);
	snprintf(inside, sizeof inside, "%.100s/x", aside);
	assert_int_equal(rmdir(inside), 0);
	assert_int_equal(rmdir(aside), 0);
}

static void
a_socket_in_place_of_the_table_is_replaced(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct rates *r;
	struct err e;
	(void)state;

	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(rates_open(&r, path, &e), 0);
	leave(look());
	rates_close(r, true);
	close(fd);
}

static void
another_file_is_replaced_not_overwritten(void **state)
{
	struct stat before, after;
	struct rates *r;
	struct err e;
	FILE *f = fopen(path, "w");
	(void)state;

	fputs("something else", f);
	fclose(f);
	stat(path, &before);
	assert_int_equal(rates_open(&r, path, &e), 0);
	stat(path, &after);
	assert_int_not_equal(before.st_ino, after.st_ino);
	leave(look());
	rates_close(r, true);
}

static void
a_full_table_is_reported_and_types_that_are_not_named_make_room(void **state)
{
	static char names[HONE_POLICY_TYPES + 1][24];
	static struct rate list[RATES_MAX + 1];
	struct want w = { .sampled = 1, .rates = list };
	struct rates *r;
	struct err e;
	(void)state;

	assert_int_equal(rates_open(&r, path, &e), 0);
	for (int i = 0; i <= HONE_POLICY_TYPES; i++) {
		snprintf(names[i], sizeof names[i], "TYPE_%d", i);
		if (i < HONE_POLICY_TYPES)
			list[i] = (struct rate){ names[i], 1, 1 };
	}
	w.nrates = HONE_POLICY_TYPES;
	assert_int_equal(rates_apply(r, &w, (struct mono){ 5000 }, &e), 0);
	w.nrates = HONE_POLICY_TYPES + 1;
	list[HONE_POLICY_TYPES] = (struct rate){ names[HONE_POLICY_TYPES], 1, 1 };
	assert_int_equal(rates_apply(r, &w, (struct mono){ 5000 }, &e), ERR_FULL);
	assert_int_equal(find(look(), names[1])->probe_rate, UINT32_MAX);
	assert_null(find(look(), names[HONE_POLICY_TYPES]));
	/* types that are not named any more make room */
	list[0].request_type = names[HONE_POLICY_TYPES];
	list[1].probed = 0;
	w.nrates = 2;
	assert_int_equal(rates_apply(r, &w, (struct mono){ 5000 }, &e), 0);
	assert_int_equal(find(look(), names[1])->probe_rate, 0);
	assert_int_equal(find(look(), names[HONE_POLICY_TYPES])->probe_rate, UINT32_MAX);
	rates_close(r, true);
}

/*
 * As in libhone: both decisions use the same random number, so that every probed request is
 * sampled.
 */
static void
a_request_is_chosen_by_the_table(void **state)
{
	struct rate list[] = { { "GET", 0.5, 0.25 }, { "ALL", 1, 1 } };
	struct want w = { .sampled = 0.75, .nrates = 2, .rates = list };
	const struct mono now = { 1000 }, late = { 6000 }, end = { 9000 };
	struct rates *r;
	struct err e;
	(void)state;

	assert_int_equal(rates_open(&r, path, &e), 0);
	rates_apply(r, &w, (struct mono){ 5000 }, &e);
	assert_int_equal(rates_choose(r, "GET", now, 0), RATES_SKIP); /* no lease */
	rates_renew(r, (struct mono){ 8000 });
	assert_int_equal(rates_choose(r, "GET", now, 0x30000000), RATES_PROBE);
	assert_int_equal(rates_choose(r, "GET", now, 0x50000000), RATES_SAMPLE);
	assert_int_equal(rates_choose(r, "GET", now, 0x90000000), RATES_SKIP);
	assert_int_equal(rates_choose(r, "GET", late, 0x30000000), RATES_SAMPLE);
	assert_int_equal(rates_choose(r, "ALL", now, UINT32_MAX), RATES_PROBE);
	assert_int_equal(rates_choose(r, "OTHER", now, 0xb0000000), RATES_SAMPLE);
	assert_int_equal(rates_choose(r, "OTHER", now, 0xd0000000), RATES_SKIP);
	assert_int_equal(rates_choose(r, "ALL", end, 0), RATES_SKIP);
	rates_close(r, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(programs_read_the_written_rates, each),
		cmocka_unit_test_setup(a_symbolic_link_in_place_of_the_table_is_replaced, each),
		cmocka_unit_test_setup(old_mappings_stay_valid_when_an_agent_restarts, each),
		cmocka_unit_test_setup(
		    the_table_of_a_killed_agent_is_silent_when_the_next_one_has_it, each),
		cmocka_unit_test_setup(a_guardian_silences_a_dead_agents_table, each),
		cmocka_unit_test_setup(two_agents_do_not_share_a_table, each),
		cmocka_unit_test_setup(
		    a_reader_who_locks_the_table_keeps_no_agent_from_starting, each),
		cmocka_unit_test_setup(a_folder_in_place_of_the_table_is_moved_aside, each),
		cmocka_unit_test_setup(a_socket_in_place_of_the_table_is_replaced, each),
		cmocka_unit_test_setup(another_file_is_replaced_not_overwritten, each),
		cmocka_unit_test_setup(
		    a_full_table_is_reported_and_types_that_are_not_named_make_room, each),
		cmocka_unit_test_setup(a_request_is_chosen_by_the_table, each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

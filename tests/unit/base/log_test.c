/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

static int real_stderr, file;

/* Redirects standard error to a file from here on. */
static void
capture(void)
{
	file = memfd_create("log", 0);
	real_stderr = dup(STDERR_FILENO);
	dup2(file, STDERR_FILENO);
}

static char *
captured(void)
{
	off_t len = lseek(file, 0, SEEK_END);
	char *text = calloc(1, (size_t)len + 1);

	if (pread(file, text, (size_t)len, 0) != len)
		abort();
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	close(file);
	return text;
}

static void
a_line_has_time_program_level_and_text(void **state)
{
	char *text;
	int year, ms;
	(void)state;

	capture();
	log_open("honed", LOG_INFO);
	log_line(LOG_DEBUG, "not this");
	log_line(LOG_WARN, "agent %s\nis\tgone\x1b[2J", "n1");
	text = captured();
	assert_int_equal(sscanf(text, "%4d-%*2d-%*2dT%*2d:%*2d:%*2d.%3dZ", &year, &ms), 2);
	assert_string_equal(text + 24, " honed warning: agent n1 is gone [2J\n");
	free(text);
}

static void
under_the_journal_it_has_a_priority(void **state)
{
	struct stat st;
	char stream[64], *text;
	(void)state;

	capture();
	fstat(STDERR_FILENO, &st);
	snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)st.st_dev,
	    (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_open("honed", LOG_DEBUG);
	log_line(LOG_ERROR, "no");
	log_line(LOG_DEBUG, "so");
	setenv("JOURNAL_STREAM", "1:1", 1); /* inherited, of another stream */
	log_open("honed", LOG_DEBUG);
	log_line(LOG_ERROR, "on");
	text = captured();
	unsetenv("JOURNAL_STREAM");
	log_open("honed", LOG_DEBUG);
	assert_memory_equal(text, "<3>no\n<7>so\n2", 13);
	free(text);
}

static void
a_long_line_is_cut_and_marked(void **state)
{
	char *text, big[5000];
	size_t len;
	(void)state;

	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = 0;
	capture();
	log_line(LOG_ERROR, "%s", big);
	text = captured();
	len = strlen(text);
	assert_true(len > 1000 && len < sizeof big);
	assert_string_equal(text + len - 5, "x...\n");
	free(text);
}

static void
control_characters_do_not_reach_a_terminal(void **state)
{
	char *text;
	(void)state;

	capture();
	log_line(LOG_INFO, "a\nb\033[2Jc\xc2\x9b"
			   "2Jd caf\xc3\xa9 \xc2\xa7 \xc2");
	text = captured();
	assert_non_null(strstr(text, "a b [2Jc  2Jd caf\xc3\xa9 \xc2\xa7 \xc2\n"));
	free(text);
}

enum { THREADS = 4, LINES = 500 };

static void *
chatter(void *arg)
{
	char letters[101];

	memset(letters, 'a' + (int)(intptr_t)arg, 100);
	letters[100] = 0;
	for (int i = 0; i < LINES; i++)
		log_line(LOG_INFO, "%s", letters);
	return NULL;
}

static void
lines_are_whole_from_many_threads(void **state)
{
	pthread_t threads[THREADS];
	char *text, *line, *rest = NULL;
	int seen[THREADS] = { 0 };
	(void)state;

	capture();
	for (intptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, chatter, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	text = captured();
	for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		const char *letters = strstr(line, "info: ") + 6;

		assert_int_equal(strlen(letters), 100);
		assert_true(letters[0] >= 'a' && letters[0] < 'a' + THREADS);
		assert_int_equal(strspn(letters, (char[]){ letters[0], 0 }), 100);
		seen[letters[0] - 'a']++;
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(seen[i], LINES);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_time_program_level_and_text),
		cmocka_unit_test(under_the_journal_it_has_a_priority),
		cmocka_unit_test(a_long_line_is_cut_and_marked),
		cmocka_unit_test(control_characters_do_not_reach_a_terminal),
		cmocka_unit_test(lines_are_whole_from_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions that a child process answers. */
#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "controlplane/honed/answer_process.h"

static const char REPORT[] = "{\"ask\":\"report\"}";
static const struct who WHO = { .uid = 0, .pid = 1, .role = ROLE_LOOK };

struct house {
	struct config config;
	struct forest_keeper keeper;
	struct questions questions;
};

static int
set_up(void **state)
{
	struct house *h = calloc(1, sizeof *h);
	struct engine_options o;
	struct err e;

	assert_int_equal(config_init(&h->config, NULL), 0);
	h->keeper.forest = forest_new();
	o = config_engine(&h->config);
	h->questions = (struct questions){ .config = &h->config, .keeper = &h->keeper };
	assert_int_equal(engine_new(&h->questions.engine, &o, h->keeper.forest, &e), 0);
	*state = h;
	return 0;
}

static int
tear_down(void **state)
{
	struct house *h = *state;

	engine_free(h->questions.engine);
	forest_free(h->keeper.forest);
	config_release(&h->config);
	free(h);
	return 0;
}

static void
start(struct house *h, struct answer_process *p)
{
	struct err e;

	assert_int_equal(
	    answer_process_start(p, &h->questions, &WHO, REPORT, strlen(REPORT), clock_mono(), &e),
	    0);
}

/* Waits for the end of the child, without taking its status. */
static void
wait_for(const struct answer_process *p)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOWAIT), 0);
}

static void
the_answer_is_that_of_honed_itself(void **state)
{
	struct house *h = *state;
	struct answer_process p;
	char *own, *end;
	char text[65536];
	ssize_t n;
	int file;

	start(h, &p);
	wait_for(&p);
	assert_int_equal(answer_process_step(&p, clock_mono(), &file), ANSWER_DONE);
	assert_int_equal(p.pid, 0);
	n = pread(file, text, sizeof text - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	close(file);
	own = questions_answer(&h->questions, &WHO, REPORT, strlen(REPORT));
	assert_non_null(strstr(text, "\"ok\":true"));
	assert_int_equal(strlen(own), n);
	/* They differ in the time that they were made only. */
	end = strstr(own, "\"made\":\"");
	assert_non_null(end);
	assert_memory_equal(own, text, end - own);
	assert_string_equal(own + (end - own) + 33, text + (end - own) + 33);
	free(own);
	assert_int_equal(h->questions.part, ANSWER_ALL);
}

static void
one_that_is_stopped_leaves_nothing(void **state)
{
	struct answer_process p;
	pid_t pid;

	start(*state, &p);
	pid = p.pid;
	answer_process_stop(&p);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(p.pid, 0);
	answer_process_stop(&p);
}

/* Stops the child before it has answered. False: it was faster. */
static bool
hangs(const struct answer_process *p)
{
	siginfo_t info;

	kill(p->pid, SIGSTOP);
	assert_int_equal(waitid(P_PID, (id_t)p->pid, &info, WEXITED | WSTOPPED | WNOWAIT), 0);
	return info.si_code == CLD_STOPPED;
}

static void
one_that_hangs_is_killed_and_gives_no_answer(void **state)
{
	struct answer_process p;
	struct mono later;
	int file, tries = 0;

	for (start(*state, &p); !hangs(&p); start(*state, &p)) {
		answer_process_stop(&p);
		assert_true(++tries < 100);
	}
	later.ns = p.begun.ns + ANSWER_PROCESS_S * INT64_C(1000000000) + 1;
	assert_int_equal(answer_process_step(&p, p.begun, &file), ANSWER_RUNS);
	assert_int_equal(answer_process_step(&p, later, &file), ANSWER_RUNS);
	wait_for(&p);
	assert_int_equal(answer_process_step(&p, later, &file), ANSWER_FAILED);
	assert_int_equal(file, -1);
	assert_int_equal(p.pid, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    the_answer_is_that_of_honed_itself, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    one_that_is_stopped_leaves_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    one_that_hangs_is_killed_and_gives_no_answer, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The whole main loop of the controller, with a database, and an agent and an operator over real
 * sockets.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/log.h"
#include "base/stream.h"
#include "controlplane/honed/honed.h"
#include "forest/forest.h"
#include "tests/unit/forest/faults.h"
#include "wire/toggle.h"

enum { SOON_MS = 10000 };

struct house {
	char folder[64], agents[96], operators[96], database[96], space[96];
	struct config config;
	struct honed *honed;
	pthread_t thread;
	atomic_bool stop;
	bool running, quiet;
};

static void
set(struct house *h, const char *key, char out[96], const char *fmt)
{
	char assignment[256];
	struct err e;

	snprintf(out, 96, fmt, h->folder);
	snprintf(assignment, sizeof assignment, "%s=%s", key, out);
	if (config_set(&h->config, assignment, &e) < 0)
		fail_msg("%s", e.text);
}

static int
set_up(void **state)
{
	struct house *h = calloc(1, sizeof *h);
	struct err e;

	log_open("test", LOG_ERROR);
	snprintf(h->folder, sizeof h->folder, "/tmp/hone-honed-XXXXXX");
	assert_non_null(mkdtemp(h->folder));
	assert_int_equal(config_init(&h->config, NULL), 0);
	set(h, "controller.agents", h->agents, "ipc://%s/agents.sock");
	set(h, "controller.operators", h->operators, "ipc://%s/honed.sock");
	set(h, "storage.database", h->database, "%s/forest.db");
	set(h, "storage.space", h->space, "%s/space.db");
	/* The agents here send nothing of themselves, and on a busy machine a test takes longer than the usual 5 s. */
	assert_int_equal(config_set(&h->config, "controller.silent_after=60s", &e), 0);
	*state = h;
	return 0;
}

static void *
run(void *arg)
{
	struct house *h = arg;

	h->quiet = honed_run(h->honed, &h->stop);
	return NULL;
}

static void
begin(struct house *h)
{
	struct err e;

	if (honed_open(&h->honed, &h->config, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(pthread_create(&h->thread, NULL, run, h), 0);
	h->running = true;
}

static void
end(struct house *h)
{
	atomic_store(&h->stop, true);
	pthread_join(h->thread, NULL);
	h->running = false;
	honed_close(h->honed);
	h->honed = NULL;
}

static int
tear_down(void **state)
{
	static const char *const files[] = { "agents.sock", "honed.sock", "forest.db",
		"forest.db-wal", "forest.db-shm", "forest.db.lock", "space.db" };
	struct house *h = *state;
	char path[128];

	if (h->running)
		end(h);
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", h->folder, files[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(h->folder), 0);
	config_release(&h->config);
	free(h);
	return 0;
}

/* ---- the peer ---- */

static void
put(struct stream *s, enum frame_kind kind, uint64_t seq, const void *data, size_t len)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct err e;

	frame_seal(header, kind, seq, data, len);
	if (stream_write(s, header, sizeof header, SOON_MS, &e) < 0 ||
	    (len > 0 && stream_write(s, data, len, SOON_MS, &e) < 0))
		fail_msg("%s", e.text);
}

/*
 * Returns the payload of the next frame of this kind, ignoring other frames; the caller frees it.
 */
static char *
get(struct stream *s, enum frame_kind kind, size_t *len)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct frame f;
	struct err e;
	char *payload;

	for (;;) {
		if (stream_read(s, header, sizeof header, SOON_MS, &e) < 0 ||
		    frame_open(&f, header, &e) < 0)
			fail_msg("waiting for %s: %s", frame_kind_name(kind), e.text);
		payload = calloc(1, f.length + 1);
		if (f.length > 0 && stream_read(s, payload, f.length, SOON_MS, &e) < 0)
			fail_msg("%s", e.text);
		if (f.kind == kind)
			break;
		free(payload);
	}
	*len = f.length;
	return payload;
}

static struct stream *
agent_of(struct house *h, const char *node, int64_t clock_ns)
{
	struct hello hello = { .node = node,
		.incarnation = 1,
		.first_seq = 1,
		.version = "test",
		.clock_ns = clock_ns };
	struct buf b = { 0 };
	struct stream *s;
	size_t len;

	assert_int_equal(stream_dial(&s, h->agents, SOON_MS, NULL), 0);
	hello_encode(&hello, &b);
	put(s, FRAME_HELLO, 0, b.data, b.len);
	buf_release(&b);
	free(get(s, FRAME_WELCOME, &len));
	return s;
}

static struct stream *
agent(struct house *h, const char *node)
{
	return agent_of(h, node, clock_mono().ns);
}

static void
get_refusal(struct stream *s, const char *words)
{
	size_t len;
	char *said = get(s, FRAME_REFUSE, &len);

	if (strstr(said, words) == NULL)
		fail_msg("refused with '%s', without '%s'", said, words);
	free(said);
	stream_close(s);
}

static char *
ask(struct house *h, const char *question)
{
	struct stream *s;
	size_t len;
	char *answer;

	assert_int_equal(stream_dial(&s, h->operators, SOON_MS, NULL), 0);
	put(s, FRAME_ASK, 0, question, strlen(question));
	answer = get(s, FRAME_ANSWER, &len);
	stream_close(s);
	return answer;
}

static void
asked(struct house *h, const char *question, const char *words)
{
	char *answer = ask(h, question);

	if (strstr(answer, words) == NULL)
		fail_msg("'%s' without '%s'", answer, words);
	free(answer);
}

/* ---- tests ---- */

static void
an_agent_gets_its_desired_state_and_its_lease_is_renewed(void **state)
{
	struct house *h = *state;
	struct want w;
	struct arena a = { 0 };
	struct stream *s;
	struct mono first;
	struct err e;
	size_t len;
	char *payload;

	begin(h);
	s = agent(h, "n1");
	payload = get(s, FRAME_WANT, &len);
	first = clock_mono();
	if (want_decode(&w, &a, payload, len, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(w.lease_ms, 5000);
	assert_int_equal(w.ntoggles, 0);
	free(payload);
	for (int i = 0; i < 2; i++)
		free(get(s, FRAME_WANT, &len));
	assert_true(mono_since_ns(clock_mono(), first) > INT64_C(1000000000));
	asked(h, "{\"ask\":\"status\"}", "\"agents\":1");
	asked(h, "{\"ask\":\"agents\"}", "\"n1\"");
	stream_close(s);
	arena_release(&a);
}

/* The controller asks at once and then regularly; the I/O threads take the time of receipt. */
static void
an_agent_is_asked_for_its_clock(void **state)
{
	const int64_t ahead_ns = INT64_C(86400000000000);
	double off_ms, uncertain_ms;
	struct house *h = *state;
	struct clock_echo c;
	struct buf b = { 0 };
	struct stream *s;
	json_t *j, *agent;
	size_t len;
	char *text;

	begin(h);
	s = agent_of(h, "n1", clock_mono().ns + ahead_ns);
	for (int i = 0; i < 12; i++) {
		text = get(s, FRAME_CLOCK, &len);
		assert_int_equal(clock_decode(&c, text, len, NULL), 0);
		c.came_ns = c.went_ns = clock_mono().ns + ahead_ns;
		buf_reset(&b);
		clock_encode(&c, &b);
		put(s, FRAME_CLOCK, 0, b.data, b.len);
		free(text);
	}
	free(get(s, FRAME_CLOCK, &len)); /* so that it has received at least one answer */
	text = ask(h, "{\"ask\":\"agents\"}");
	j = json_loads(text, 0, NULL);
	agent = json_array_get(json_object_get(j, "agents"), 0);
	off_ms = json_real_value(json_object_get(agent, "offset_ms")) + 86400e3;
	uncertain_ms = json_real_value(json_object_get(agent, "uncertain_ms"));
	if (!(off_ms <= uncertain_ms + 1e-6 && -off_ms <= uncertain_ms + 1e-6 && uncertain_ms > 0 &&
		uncertain_ms < 1000))
		fail_msg("%s", text);
	assert_int_equal(json_integer_value(json_object_get(agent, "clock_steps")), 0);
	json_decref(j);
	free(text);
	buf_release(&b);
	stream_close(s);
}

static void
malformed_messages_of_an_agent_are_refused_with_the_reason(void **state)
{
	static const enum frame_kind kinds[] = { FRAME_RECORDS, FRAME_STATUS, FRAME_PROGRAMS,
		FRAME_DONE, FRAME_CLOCK };
	static const uint8_t garbage[64] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff };
	struct house *h = *state;

	begin(h);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		struct stream *s = agent(h, "n1");

		put(s, kinds[i], kinds[i] == FRAME_RECORDS ? 1 : 0, garbage, sizeof garbage);
		get_refusal(s, frame_kind_name(kinds[i]));
	}
	asked(h, "{\"ask\":\"status\"}", "\"ok\":true");
}

static void
questions_get_answers_or_errors(void **state)
{
	struct house *h = *state;

	begin(h);
	asked(h, "{\"ask\":\"status\"}", "\"store_trouble\":\"\"");
	asked(h, "{\"ask\":\"start\",\"type\":\"X\"}", "no agent is connected");
	asked(h, "no json", "\"ok\":false");
	asked(h, "", "\"ok\":false");
	asked(h, "{\"ask\":\"forest\"}", "\"runs\":[]");
}

static void
runs_left_active_by_a_crash_are_stopped(void **state)
{
	struct house *h = *state;
	struct forest *f = forest_new();
	struct store *store;
	struct run *r = forest_run_new(f, "GET_HOME");
	struct hypothesis *hy = forest_hypothesis_new(f, r->id, 0),
			  *done = forest_hypothesis_new(f, r->id, hy->id);
	struct err e;

	hy->state = HYPOTHESIS_PROBING;
	done->state = HYPOTHESIS_NO_HELP;
	r->state = RUN_ACTIVE;
	forest_touch_run(f, r);
	forest_touch(f, hy);
	forest_touch(f, done);
	if (store_open(&store, h->database, &e) < 0 || store_commit(store, f, &e) < 0)
		fail_msg("%s", e.text);
	store_close(store);
	forest_free(f);

	begin(h);
	asked(h, "{\"ask\":\"forest\",\"type\":\"GET_HOME\"}", "\"state\":\"stopped\"");
	asked(h, "{\"ask\":\"forest\",\"type\":\"GET_HOME\"}", "\"state\":\"withdrawn\"");
	asked(h, "{\"ask\":\"forest\",\"type\":\"GET_HOME\"}", "\"state\":\"no help\"");
	asked(h, "{\"ask\":\"forest\",\"type\":\"GET_HOME\"}", "\"reason\":\"controller-ended\"");
	asked(h, "{\"ask\":\"status\"}", "\"runs\":[]");
	end(h);

	f = forest_new();
	if (store_open(&store, h->database, &e) < 0 || store_load(store, f, 0, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(forest_run_latest(f, NULL)->state, RUN_STOPPED);
	store_close(store);
	forest_free(f);
}

static void
a_second_controller_is_refused_and_does_not_affect_the_first(void **state)
{
	struct house *h = *state;
	struct honed *second;
	struct err e;

	begin(h);
	assert_true(honed_open(&second, &h->config, &e) < 0);
	assert_non_null(strstr(e.text, "another controller"));
	asked(h, "{\"ask\":\"status\"}", "\"ok\":true");
}

static void
a_file_that_is_no_database_is_refused(void **state)
{
	struct house *h = *state;
	struct honed *none;
	struct err e;
	FILE *f = fopen(h->database, "w");

	for (int i = 0; i < 1000; i++)
		fputs("a text\n", f);
	fclose(f);
	assert_true(honed_open(&none, &h->config, &e) < 0);
	assert_non_null(strstr(e.text, h->database));
}

/*
 * Stops the controller while an agent is connected, and expects the connection to be closed.
 * Returns whether all added tracepoints are confirmed off.
 */
static bool
ends_quiet(struct house *h, struct stream *s)
{
	uint8_t byte;
	int rc;

	end(h);
	while ((rc = stream_read(s, &byte, 1, SOON_MS, NULL)) == 0)
		;
	assert_int_equal(rc, ERR_PEER);
	stream_close(s);
	return h->quiet;
}

static void
it_ends_when_all_agents_have_confirmed_that_added_tracepoints_are_off(void **state)
{
	struct house *h = *state;
	struct buf b = { 0 };
	struct arena a = { 0 };
	struct stream *s;
	struct want w;
	size_t len;
	char *payload;

	begin(h);
	s = agent(h, "n1");
	payload = get(s, FRAME_WANT, &len);
	assert_int_equal(want_decode(&w, &a, payload, len, NULL), 0);
	done_encode(&(struct done){ .epoch = w.epoch, .from_ns = 1, .failure = "" }, &b);
	put(s, FRAME_DONE, 0, b.data, b.len);
	assert_true(ends_quiet(h, s));
	buf_release(&b);
	arena_release(&a);
	free(payload);
}

static void
it_does_not_claim_a_confirmation_that_no_agent_sent(void **state)
{
	struct house *h = *state;
	struct mono began;

	begin(h);
	struct stream *s = agent(h, "n1");

	began = clock_mono();
	assert_false(ends_quiet(h, s));
	assert_true(mono_since_ns(clock_mono(), began) > INT64_C(4000000000));
}

/* Its 50 lines; others' lines are not left out because of them. */
static void
a_node_that_connects_again_and_again_does_not_fill_the_log(void **state)
{
	struct house *h = *state;
	FILE *log = tmpfile();
	int before = dup(STDERR_FILENO), often = 0, others = 0;
	char line[4096];

	assert_non_null(log);
	log_open("test", LOG_INFO);
	dup2(fileno(log), STDERR_FILENO);
	begin(h);
	for (int i = 0; i < 100; i++)
		stream_close(agent(h, "n1"));
	stream_close(agent(h, "n2"));
	end(h);
	dup2(before, STDERR_FILENO);
	close(before);
	log_open("test", LOG_ERROR);
	rewind(log);
	while (fgets(line, sizeof line, log) != NULL) {
		often += strstr(line, "agent n1 ") != NULL;
		others += strstr(line, "agent n2 ") != NULL && strstr(line, " connected") != NULL;
	}
	fclose(log);
	assert_in_range(often, 50, 60);
	assert_int_equal(others, 1);
}

/* ---- reports, which a child process makes ---- */

static atomic_bool stop_children; /* at their begin, as if their answers took long */
static int born[2];               /* a pipe: the pids of children that stop */

static void
in_child(void)
{
	pid_t pid = getpid();

	if (atomic_load(&stop_children) && write(born[1], &pid, sizeof pid) == sizeof pid)
		raise(SIGSTOP);
}

/* Asks for a report whose child is stopped; its pid. The caller closes the stream. */
static pid_t
ask_report(struct house *h, const char *question, struct stream **s)
{
	siginfo_t info;
	pid_t child;

	atomic_store(&stop_children, true);
	assert_int_equal(stream_dial(s, h->operators, SOON_MS, NULL), 0);
	put(*s, FRAME_ASK, 0, question, strlen(question));
	assert_int_equal(read(born[0], &child, sizeof child), sizeof child);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WSTOPPED | WNOWAIT), 0);
	atomic_store(&stop_children, false);
	return child;
}

static void
a_question_is_answered_while_a_report_is_made(void **state)
{
	struct house *h = *state;
	struct stream *s;
	size_t len;
	char *report;
	pid_t child;

	begin(h);
	child = ask_report(h, "{\"ask\":\"report\"}", &s);
	for (int i = 0; i < 3; i++)
		asked(h, "{\"ask\":\"status\"}", "\"ok\":true");
	assert_int_equal(kill(child, SIGCONT), 0);
	report = get(s, FRAME_ANSWER, &len);
	assert_non_null(strstr(report, "\"document\":\"hone.analysis\""));
	assert_non_null(strstr(report, "\"ok\":true"));
	free(report);
	stream_close(s);
}

static void
the_report_of_an_operator_who_has_left_delays_no_other(void **state)
{
	struct house *h = *state;
	struct stream *s;

	begin(h);
	ask_report(h, "{\"ask\":\"report\"}", &s);
	stream_close(s);
	asked(h, "{\"ask\":\"report\"}", "\"document\":\"hone.analysis\"");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void
a_child_that_is_killed_is_said(void **state)
{
	struct house *h = *state;
	struct stream *s;
	size_t len;
	char *text;

	begin(h);
	kill(ask_report(h, "{\"ask\":\"report\"}", &s), SIGKILL);
	text = get(s, FRAME_ANSWER, &len);
	assert_non_null(strstr(text, "\"ok\":false"));
	assert_non_null(strstr(text, "was killed or failed"));
	free(text);
	stream_close(s);
}

/* When the report that a question brings began. */
static void
since(char *answer, char out[32])
{
	json_t *j = json_loads(answer, 0, NULL);
	const json_t *source = json_object_get(json_object_get(j, "report"), "source");

	if (!json_is_string(json_object_get(source, "since")))
		fail_msg("%s", answer);
	snprintf(out, 32, "%s", json_string_value(json_object_get(source, "since")));
	json_decref(j);
	free(answer);
}

/* It ends with the requests of the moment when the child begins: what comes while it is made is in the next one. */
static void
a_new_report_begins_when_the_last_one_is_made(void **state)
{
	struct house *h = *state;
	char first[32], reset[32], after[32];
	struct stream *s;
	size_t len;
	pid_t child;

	begin(h);
	since(ask(h, "{\"ask\":\"report\"}"), first);
	usleep(2000); /* times are told in ms */
	child = ask_report(h, "{\"ask\":\"report\",\"reset\":true}", &s);
	asked(h, "{\"ask\":\"audit\"}", "reset");
	kill(child, SIGCONT);
	since(get(s, FRAME_ANSWER, &len), reset);
	stream_close(s);
	assert_string_equal(first, reset);
	since(ask(h, "{\"ask\":\"report\"}"), after);
	assert_string_not_equal(first, after);
	asked(h, "{\"ask\":\"report\",\"type\":\"X\",\"reset\":true}", "no request of any type");
	since(ask(h, "{\"ask\":\"report\"}"), reset);
	assert_string_equal(after, reset); /* the failed one began none */
}

static void
reports_that_are_not_made_yet_end_with_the_controller(void **state)
{
	struct house *h = *state;
	struct stream *s, *behind;

	begin(h);
	ask_report(h, "{\"ask\":\"report\"}", &s);
	assert_int_equal(stream_dial(&behind, h->operators, SOON_MS, NULL), 0);
	put(behind, FRAME_ASK, 0, "{\"ask\":\"requests\"}", 18);
	asked(h, "{\"ask\":\"status\"}", "\"ok\":true"); /* the one before has come, too */
	end(h);
	get_refusal(s, "the controller ends");
	get_refusal(behind, "the controller ends");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

#define PROMISE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* ---- versions of the application ---- */

static void
tell_programs(struct stream *s, const struct programs *p)
{
	struct buf b = { 0 };

	programs_encode(p, &b);
	put(s, FRAME_PROGRAMS, 0, b.data, b.len);
	buf_release(&b);
}

/* Saves a space that was learned from these programs. */
static void
save_version(struct house *h, const char *name, const struct programs *p, int64_t learned_ns)
{
	struct engine_options o = config_engine(&h->config);
	struct forest *f = forest_new();
	struct engine *g;
	uint32_t node;
	struct err e;

	assert_int_equal(engine_new(&g, &o, f, &e), 0);
	assert_int_equal(engine_join(g, "n1", "test", (struct mono){ 1 }, &node, &e), 0);
	assert_int_equal(engine_programs(g, node, p, &e), 0);
	assert_int_equal(
	    space_version_set(engine_space(g), engine_fingerprint(g), name, learned_ns, &e), 0);
	if (space_save(engine_space(g), h->space, &e) < 0)
		fail_msg("%s", e.text);
	engine_free(g);
	forest_free(f);
}

/* Asks until the answer contains this text. */
static void
becomes(struct house *h, const char *words)
{
	int64_t until_ns = clock_mono().ns + SOON_MS * INT64_C(1000000);
	char *answer = ask(h, "{\"ask\":\"status\"}");

	while (strstr(answer, words) == NULL && clock_mono().ns < until_ns) {
		free(answer);
		usleep(20000);
		answer = ask(h, "{\"ask\":\"status\"}");
	}
	if (strstr(answer, words) == NULL)
		fail_msg("'%s' without '%s'", answer, words);
	free(answer);
}

/*
 * After a roll-back the old space is loaded automatically; for programs without a learned space,
 * the current one is stale.
 */
static void
the_loaded_space_is_that_of_the_running_programs(void **state)
{
	const char *names[] = { "s:one", "s:two", "s:three" };
	struct program one = { "s", 1, 0, 1 }, two = { "s", 1, 0, 2 }, three = { "s", 1, 0, 3 };
	const struct programs
	    old = { .nprograms = 1, .programs = &one, .nnames = 1, .names = names },
	    recent = { .nprograms = 1, .programs = &two, .nnames = 2, .names = names },
	    other = { .nprograms = 1, .programs = &three, .nnames = 3, .names = names };
	struct house *h = *state;
	struct stream *s;

	save_version(h, "old", &old, 1000);
	save_version(h, "recent", &recent, 2000);
	begin(h);
	asked(h, "{\"ask\":\"status\"}", "\"space_version\":\"recent\",\"space_stale\":false");
	s = agent(h, "n1");
	tell_programs(s, &old);
	becomes(h, "\"space_version\":\"old\",\"space_stale\":false");
	tell_programs(s, &other);
	becomes(h, "\"space_version\":\"old\",\"space_stale\":true");
	tell_programs(s, &recent);
	becomes(h, "\"space_version\":\"recent\",\"space_stale\":false");
	stream_close(s);
	end(h);
}

/* ---- the database comes first ---- */

enum { SYNC_MS = 300, REFUSED_MS = 1500 };

static const struct program FRONT = { .service = "front", .pid = 7, .count = 2 };
static const char *const FRONT_NAMES[] = { "p:a", "p:b" };

/* Whether the next WANT within the time has tracepoints. */
static bool
adds_within(struct stream *s, int ms)
{
	int64_t until_ns = clock_mono().ns + ms * INT64_C(1000000);
	bool adds = false;

	while (!adds && clock_mono().ns < until_ns) {
		struct arena a = { 0 };
		struct want w;
		size_t len;
		char *payload = get(s, FRAME_WANT, &len); /* the lease is renewed every second */

		assert_int_equal(want_decode(&w, &a, payload, len, NULL), 0);
		adds = w.ntoggles > 0;
		arena_release(&a);
		free(payload);
	}
	return adds;
}

static void
learn(struct house *h, struct stream *s)
{
	tell_programs(
	    s, &(struct programs){ 1, 2, (struct program *)&FRONT, (const char **)FRONT_NAMES });
	for (bool known = false; !known;) {
		char *answer = ask(h, "{\"ask\":\"agents\"}");

		known = strstr(answer, "front") != NULL;
		free(answer);
	}
	free(ask(h, "{\"ask\":\"learn\",\"seconds\":60}"));
}

/* Each sync takes a while; the time of the last one. */
static void
slow_sync(void *ctx, const struct file_change *c)
{
	_Atomic int64_t *synced_ns = ctx;

	if (c->kind != CHANGE_SYNC)
		return;
	usleep(SYNC_MS * 1000);
	atomic_store(synced_ns, clock_mono().ns);
}

static void
tracepoints_are_requested_after_the_database_is_written(void **state)
{
	struct house *h = *state;
	_Atomic int64_t synced_ns = 0;
	struct stream *s;

	faults_at(0, FAULT_NONE);
	begin(h);
	s = agent(h, "n1");
	faults_watch(slow_sync, &synced_ns);
	learn(h, s);
	assert_true(adds_within(s, SOON_MS));
	/* The commit of the decision has ended; requested before, the sync would still last. */
	assert_true(atomic_load(&synced_ns) != 0);
	faults_watch(NULL, NULL);
	stream_close(s);
}

static void
tracepoints_are_not_requested_while_the_database_cannot_be_written(void **state)
{
	struct house *h = *state;
	struct stream *s;

	faults_at(0, FAULT_NONE);
	begin(h);
	s = agent(h, "n1");
	log_open("test", LOG_ERROR);
	faults_at(1, FAULT_FULL_FROM);
	learn(h, s);
	assert_false(adds_within(s, REFUSED_MS));
	faults_at(0, FAULT_NONE);
	assert_true(adds_within(s, SOON_MS));
	stream_close(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PROMISE(an_agent_gets_its_desired_state_and_its_lease_is_renewed),
		PROMISE(an_agent_is_asked_for_its_clock),
		PROMISE(malformed_messages_of_an_agent_are_refused_with_the_reason),
		PROMISE(questions_get_answers_or_errors),
		PROMISE(a_question_is_answered_while_a_report_is_made),
		PROMISE(the_report_of_an_operator_who_has_left_delays_no_other),
		PROMISE(a_child_that_is_killed_is_said),
		PROMISE(a_new_report_begins_when_the_last_one_is_made),
		PROMISE(reports_that_are_not_made_yet_end_with_the_controller),
		PROMISE(a_node_that_connects_again_and_again_does_not_fill_the_log),
		PROMISE(runs_left_active_by_a_crash_are_stopped),
		PROMISE(a_second_controller_is_refused_and_does_not_affect_the_first),
		PROMISE(a_file_that_is_no_database_is_refused),
		PROMISE(it_ends_when_all_agents_have_confirmed_that_added_tracepoints_are_off),
		PROMISE(it_does_not_claim_a_confirmation_that_no_agent_sent),
		PROMISE(the_loaded_space_is_that_of_the_running_programs),
		PROMISE(tracepoints_are_requested_after_the_database_is_written),
		PROMISE(tracepoints_are_not_requested_while_the_database_cannot_be_written),
	};

	if (pipe(born) != 0 || pthread_atfork(NULL, NULL, in_child) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

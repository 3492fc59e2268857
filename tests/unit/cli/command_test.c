/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The whole program except its main(), with a controller on a real socket that gives the answers
 * which a test sets. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "forest/forest.h"
#include "searchspace/space.h"
#include "wire/frame.h"
#include "tests/common/accepted.h"
#include "tests/unit/cli/said.h"
#include "tests/unit/leftovers.h"

/* ---- running hone ---- */

static struct said
hone(const char *first, ...)
{
	struct said s;
	va_list ap;

	va_start(ap, first);
	s = said_by(NULL, first, ap);
	va_end(ap);
	return s;
}

/* With no words for err, nothing may be there. */
static void
check(struct said s, enum exit_code code, const char *out, const char *err)
{
	said_has(&s, code, out, err);
	if (err[0] == '\0' && s.err[0] != '\0')
		fail_msg("err '%s'", s.err);
	said_drop(&s);
}

/* ---- a controller ---- */

struct honed {
	struct listen_socket *listener;
	pthread_t thread;
	char url[96], path[80];
	const char *const
	    *answers; /* answers[n] is for the n-th question; NULL at the end: no answer */
	enum frame_kind kind;
	char *asked; /* all questions, one in each line */
};

static bool
take_question(struct accepted *s, FILE *asked)
{
	uint8_t header[FRAME_HEADER_BYTES];
	char text[4096] = "";
	struct frame f;

	if (accepted_read(s, header, sizeof header, 10000, NULL) < 0 ||
	    frame_open(&f, header, NULL) < 0 || f.length >= sizeof text ||
	    accepted_read(s, text, f.length, 10000, NULL) < 0)
		return false;
	fprintf(asked, "%s\n", text);
	return f.kind == FRAME_ASK;
}

static void *
answer(void *arg)
{
	struct honed *h = arg;
	uint8_t header[FRAME_HEADER_BYTES];
	struct accepted *s;
	size_t len;
	FILE *asked = open_memstream(&h->asked, &len);

	if (accepted_open(&s, h->listener, 10000, NULL) == 0) {
		for (const char *const *a = h->answers; take_question(s, asked) && *a != NULL;
		     a++) {
			frame_seal(header, h->kind, 0, *a, strlen(*a));
			accepted_write(s, header, sizeof header, 10000, NULL);
			accepted_write(s, *a, strlen(*a), 10000, NULL);
		}
		accepted_close(s);
	}
	fclose(asked);
	return NULL;
}

static void
honed_start(struct honed *h, enum frame_kind kind, const char *const *answers)
{
	struct err e;

	memset(h, 0, sizeof *h);
	snprintf(h->path, sizeof h->path, "/tmp/hone-cli-test-%d.sock", (int)getpid());
	snprintf(h->url, sizeof h->url, "ipc://%s", h->path);
	leftover(h->path);
	h->answers = answers;
	h->kind = kind;
	if (accepted_listen(&h->listener, h->url, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(pthread_create(&h->thread, NULL, answer, h), 0);
}

static void
honed_end(struct honed *h, const char *questions)
{
	pthread_join(h->thread, NULL);
	listen_socket_close(h->listener);
	unlink(h->path);
	if (questions != NULL)
		assert_string_equal(h->asked, questions);
	free(h->asked);
}

/* ---- promises ---- */

static void
misuse_is_reported_with_the_nearest_name(void **state)
{
	(void)state;
	check(hone(NULL), MISUSED, "", "usage: hone COMMAND");
	check(hone("statsu", NULL), MISUSED, "",
	    "hone: statsu: unknown command; did you mean status?");
	check(hone("trace", NULL), MISUSED, "", "did you mean tracepoints?");
	check(hone("xyzzy", NULL), MISUSED, "", "hone: xyzzy: unknown command; see hone --help");
	check(hone("--socket", "ipc:///x", "status", NULL), MISUSED, "",
	    "the command comes first, then its flags: hone COMMAND --socket URL");
	check(hone("status", "--jsno", NULL), MISUSED, "",
	    "hone: --jsno: unknown flag; did you mean --json?");
	check(hone("status", "--wait", NULL), MISUSED, "",
	    "hone: --wait: unknown flag; see hone status --help");
	check(hone("start", NULL), MISUSED, "", "needs a request type");
	check(hone("start", "A", "B", NULL), MISUSED, "", "hone: B: give one request type only");
	check(hone("status", "A", NULL), MISUSED, "", "hone: A: unexpected argument");
	check(hone("start", "A", "--k", NULL), MISUSED, "", "hone: --k: needs a value");
	check(hone("start", "A", "--k", "0", NULL), MISUSED, "",
	    "hone: --k 0: must be a whole number from 1 to 16");
	check(hone("start", "A", "--k=2.5", NULL), MISUSED, "", "a whole number");
	check(hone("start", "A", "--seed", "1x", NULL), MISUSED, "", "hone: --seed 1x");
	check(hone("start", "A", "--seed", "1", "--seed", "2", NULL), MISUSED, "",
	    "hone: --seed: given twice");
	check(hone("status", "--json=yes", NULL), MISUSED, "", "hone: --json: takes no value");
	check(hone("learn", "--seconds", "nan", NULL), MISUSED, "", "hone: --seconds nan");
	check(hone("status", "--timeout", "-1", NULL), MISUSED, "", "hone: --timeout -1");
	check(hone("analyze", NULL), MISUSED, "", "hone: analyze: needs a file");
	check(hone("analyze", "f", "--confidence", "100%", NULL), MISUSED, "",
	    "must be a share from 50% to 99.99%");
	check(hone("analyze", "f", "--cv", "10%%", NULL), MISUSED, "", "must be a share");
	check(hone("analyze", "f", "--memory", "1.5", NULL), MISUSED, "", "a whole number of MiB");
	check(hone("analyze", "f", "--socket", "x", NULL), MISUSED, "",
	    "hone: --socket: unknown flag");
	check(hone("baseline", NULL), MISUSED, "", "needs an action");
	check(hone("baseline", "keep", "x", NULL), MISUSED, "", "save, list, show or delete");
	check(hone("baseline", "save", NULL), MISUSED, "", "needs a name");
	check(hone("baseline", "save", "a", "--ignore", "x", NULL), MISUSED, "",
	    "--ignore is for files");
	check(hone("baseline", "delete", "a", "b", NULL), MISUSED, "", "give one name only");
	check(hone("report", "A", "B", NULL), MISUSED, "", "give one request type only");
	check(hone("start", "A", "--strategy", "psychic", NULL), MISUSED, "",
	    "hone: --strategy psychic: unknown strategy; known are flat");
	check(hone("start", "A", "--effort", "0", NULL), MISUSED, "",
	    "a whole number of cycles from 1 to 10000");
	check(hone("forest", "A", "B", NULL), MISUSED, "", "hone: B: give one request type only");
	check(hone("forest", "--dot", "x", "--json", NULL), MISUSED, "",
	    "hone: --dot: cannot be combined with --json");
	check(hone("forest", "--html", "-", NULL), MISUSED, "", "needs the name of a file");
	check(hone("forest", "--html", "x", "--dot", "x", NULL), MISUSED, "", "not the same file");
	check(hone("forest", "--run", "0", NULL), MISUSED, "", "the number of a diagnosis");
	check(
	    hone("forest", "--salvage", "a", NULL), MISUSED, "", "the damaged file and a new file");
	check(hone("forest", "--salvage", "a", "b", "--run", "1", NULL), MISUSED, "",
	    "--salvage: cannot be combined with --run");
	check(hone("why", NULL), MISUSED, "", "which trace?");
	check(hone("why", "0123456789abcde", NULL), MISUSED, "",
	    "hone: 0123456789abcde: malformed trace id: it has 16 or 32");
	check(hone("why", "0x0123456789abcdef", NULL), MISUSED, "", "malformed trace id");
	check(hone("why", "A", "B", NULL), MISUSED, "", "one trace or request type at a time");
	check(hone("why", "A", "--tracepoint", "a:b", NULL), MISUSED, "",
	    "cannot be combined with --tracepoint");
	check(hone("audit", "--since", "yesterday", NULL), MISUSED, "", "2026-11-21");
	check(hone("audit", "--since", "5 fortnights", NULL), MISUSED, "", "3d");
	check(hone("history", "--limit", "0", NULL), MISUSED, "", "from 1 to 100000");
	check(hone("diff", NULL), MISUSED, "", "needs two diagnoses");
	check(hone("diff", "1", NULL), MISUSED, "", "needs two diagnoses");
	check(hone("diff", "1", "x", NULL), MISUSED, "", "hone: x: no number of a diagnosis");
	check(hone("diff", "2", "2", NULL), MISUSED, "", "the same diagnosis twice");
	check(hone("diff", "1", "2", "3", NULL), MISUSED, "", "give exactly two diagnoses");
	check(hone("space", NULL), MISUSED, "", "needs an action");
	check(hone("space", "look", NULL), MISUSED, "",
	    "must be show, stats, versions, export, import, merge or use");
	check(hone("space", "show", NULL), MISUSED, "", "needs a request type");
	check(hone("space", "merge", "a", NULL), MISUSED, "",
	    "needs the file to write and the files to read");
	check(hone("space", "use", "1", "2", NULL), MISUSED, "", "hone: 2: unexpected argument");
	check(hone("space", "use", "1", "--space", "x", NULL), MISUSED, "",
	    "--space: does not apply to space use");
	check(hone("space", "show", "A", "--dot", "-", "--json", NULL), MISUSED, "",
	    "--dot: cannot be combined with --json");
	check(hone("st\033[1m", NULL), MISUSED, "", "hone: st?[1m: unknown command");
}

static const char *const names[] = {
#define COMMAND(name) #name,
#include "wire/questions.tbl.h"
};

static void
help_is_an_answer(void **state)
{
	(void)state;
	check(hone("--help", NULL), DONE, "usage: hone COMMAND", "");
	check(hone("--version", NULL), DONE, "hone " HONE_VERSION "\n", "");
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct said s = hone(names[i], "--help", NULL);

		/* these work without a controller */
		assert_int_equal(strstr(s.out, "--socket URL") == NULL,
		    strcmp(names[i], "analyze") == 0 || strcmp(names[i], "annotate") == 0 ||
			strcmp(names[i], "kernel") == 0 || strcmp(names[i], "keys") == 0 ||
			strcmp(names[i], "map") == 0);
		assert_non_null(strstr(s.out, "--json"));
		check(s, DONE, names[i], "");
	}
}

/* The lists that cli/hone.bash requests. */
static void
commands_and_flags_are_completed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		check(hone("--complete", NULL), DONE, names[i], "");
	check(hone("--complete", "audit", NULL), DONE, "--limit\n", "");
	check(hone("--complete", "audit", NULL), DONE, "--since\n", "");
	check(hone("--complete", "no such", NULL), DONE, "", "");
}

static void
no_connection_is_reported_with_advice(void **state)
{
	(void)state;
	check(hone("status", "--socket", "ipc:///tmp/hone-cli-nobody.sock", NULL), FAILED, "",
	    "ipc:///tmp/hone-cli-nobody.sock: Connection refused: no program listens there");
	check(hone("start", "A", "--socket", "ipc:///tmp/hone-cli-nobody.sock", NULL), FAILED, "",
	    "start it with honed -d");
	check(hone("stop", "--socket", "http://x", NULL), FAILED, "", "want ipc:///path");
}

static void
a_refusal_is_a_failure_with_its_reason(void **state)
{
	static const char *const no[] = {
		"{\"version\":3,\"ok\":false,\"code\":\"missing\",\"error\":\"X: no such request type; known are A, B\"}",
		NULL
	};
	struct honed h;
	(void)state;

	honed_start(&h, FRAME_ANSWER, no);
	check(hone("start", "X", "--k", "2", "--seed=7", "--strategy", "flat", "--socket", h.url,
		  NULL),
	    FAILED, "", "hone: start X: no such request type; known are A, B");
	honed_end(
	    &h, "{\"ask\":\"start\",\"type\":\"X\",\"strategy\":\"flat\",\"k\":2,\"seed\":7}\n");
	honed_start(&h, FRAME_ANSWER, no);
	check(hone("start", "X", "--json", "--socket", h.url, NULL), FAILED,
	    "\"code\": \"missing\"", "hone: start X");
	honed_end(&h, "{\"ask\":\"start\",\"type\":\"X\"}\n");
}

static void
malformed_answers_are_reported(void **state)
{
	static const struct {
		enum frame_kind kind;
		const char *answers[2], *words;
	} strange[] = {
		{ FRAME_ANSWER, { "{", NULL }, "malformed JSON" },
		{ FRAME_ANSWER, { "[1]", NULL }, "not a JSON object" },
		{ FRAME_ANSWER, { "{\"version\":4,\"ok\":true}", NULL },
		    "version 4, this hone reads version 3" },
		{ FRAME_REFUSE, { "user 7 may not", NULL }, "honed refuses: user 7 may not" },
		{ FRAME_WELCOME, { "x", NULL }, "received a frame WELCOME instead of an answer" },
	};
	struct honed h;
	(void)state;

	for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
		honed_start(&h, strange[i].kind, strange[i].answers);
		check(hone("status", "--socket", h.url, NULL), FAILED, "", strange[i].words);
		honed_end(&h, NULL);
	}
}

static void
a_hung_controller_ends_in_a_timeout(void **state)
{
	static const char *const nothing[] = { NULL };
	struct honed h;
	struct accepted *s;
	(void)state;

	/* accepted by the kernel, but never answered */
	snprintf(h.path, sizeof h.path, "/tmp/hone-cli-test-%d.sock", (int)getpid());
	snprintf(h.url, sizeof h.url, "ipc://%s", h.path);
	leftover(h.path);
	assert_int_equal(accepted_listen(&h.listener, h.url, NULL), 0);
	check(hone("status", "--timeout", "0.2", "--socket", h.url, NULL), FAILED, "",
	    "no answer within 0.2 s");
	assert_int_equal(accepted_open(&s, h.listener, 10000, NULL), 0);
	accepted_close(s);
	listen_socket_close(h.listener);
	unlink(h.path);
	/* closes the connection without an answer */
	honed_start(&h, FRAME_ANSWER, nothing);
	check(hone("status", "--socket", h.url, NULL), FAILED, "", "closed the connection");
	honed_end(&h, "{\"ask\":\"status\"}\n");
}

#define OK "\"version\":3,\"ok\":true,"
#define ACTIVE \
	"{" OK \
	"\"added\":2,\"quiet\":false,\"types\":[{\"type\":\"A\",\"traces\":5}],\"runs\":[{\"run\":7,\"type\":\"A\",\"cycles\":2,\"phase\":\"gathering\"}]}"
#define ENDING "{" OK "\"added\":0,\"quiet\":false,\"runs\":[]}"
#define QUIET "{" OK "\"added\":0,\"quiet\":true,\"runs\":[]}"
#define STARTED "{" OK "\"run\":{\"run\":7,\"type\":\"A\"}}"
#define QUESTIONS                                                                                                \
	"{\"ask\":\"start\",\"type\":\"A\"}\n{\"ask\":\"status\"}\n{\"ask\":\"status\"}\n{\"ask\":\"status\"}\n" \
	"{\"ask\":\"status\"}\n{\"ask\":\"forest\",\"run\":7}\n"

static void
waiting_ends_with_the_verdict(void **state)
{
	static const char *const found[] = { STARTED, ACTIVE, ENDING, ENDING, QUIET,
		"{" OK
		"\"runs\":[{\"run\":7,\"type\":\"A\",\"state\":\"found\",\"verdict\":{\"edge\":{\"from\":\"x/a:b\",\"to\":\"x/a:c\"}}}]}",
		NULL };
	static const char *const not_found[] = { STARTED, ACTIVE, ENDING, ENDING, QUIET,
		"{" OK
		"\"runs\":[{\"run\":7,\"type\":\"A\",\"state\":\"not found\",\"reason\":\"no-problem\",\"verdict\":null}]}",
		NULL };
	struct honed h;
	struct said s;
	(void)state;

	honed_start(&h, FRAME_ANSWER, found);
	s = hone("start", "A", "--wait", "--socket", h.url, NULL);
	assert_non_null(strstr(s.out, "all added tracepoints are off"));
	check(s, DONE, "A is unpredictable here", "A: cycle 2, 2 tracepoints enabled\n");
	honed_end(&h, QUESTIONS);
	honed_start(&h, FRAME_ANSWER, not_found);
	check(hone("start", "A", "--wait", "--json", "--socket", h.url, NULL), FAILED,
	    "\"state\": \"not found\"", "cycle 2");
	honed_end(&h, QUESTIONS);
}

/* Scripts tell the ends of a diagnosis apart by its exit status, as hone(1) says. */
static void
each_end_of_a_diagnosis_has_its_exit_status(void **state)
{
	static const struct {
		enum run_state is;
		int status;
	} ENDS[] = { { RUN_FOUND, 0 }, { RUN_BASELINE, 0 }, { RUN_NOT_FOUND, 1 },
		{ RUN_STOPPED, 1 }, { RUN_UNSURE, 1 }, { RUN_NOTHING, 3 }, { RUN_GONE, 4 } };
	(void)state;

	assert_int_equal(sizeof ENDS / sizeof ENDS[0], RUN_STATES - 1); /* all but active */
	for (size_t i = 0; i < sizeof ENDS / sizeof ENDS[0]; i++) {
		char runs[300];
		const char *const answers[] = { STARTED, QUIET, QUIET, runs, NULL };
		struct honed h;
		struct said s;

		snprintf(runs, sizeof runs,
		    "{" OK
		    "\"runs\":[{\"run\":7,\"type\":\"A\",\"state\":\"%s\",\"verdict\":null}]}",
		    run_word(ENDS[i].is));
		honed_start(&h, FRAME_ANSWER, answers);
		s = hone("start", "A", "--wait", "--socket", h.url, NULL);
		if ((int)s.code != ENDS[i].status)
			fail_msg("%s: %d, out '%s', err '%s'", run_word(ENDS[i].is), (int)s.code,
			    s.out, s.err);
		free(s.out);
		free(s.err);
		honed_end(&h, "{\"ask\":\"start\",\"type\":\"A\"}\n{\"ask\":\"status\"}\n"
			      "{\"ask\":\"status\"}\n{\"ask\":\"forest\",\"run\":7}\n");
	}
}

static void
learning_can_be_waited_for(void **state)
{
	static const char *const answers[] = { "{" OK "\"learning\":{\"left_s\":2}}",
		"{" OK "\"learning\":{\"left_s\":1,\"traces\":3,\"places\":4}}",
		"{" OK
		"\"learning\":null,\"types\":[{\"type\":\"A\",\"traces\":9,\"learned_traces\":7,\"learned_places\":44}]}",
		NULL };
	struct honed h;
	(void)state;

	honed_start(&h, FRAME_ANSWER, answers);
	check(hone("learn", "--seconds", "2", "--wait", "--socket", h.url, NULL), DONE,
	    "TRACES  LEARNED TRACES  LEARNED PLACES", "learning\n");
	honed_end(&h,
	    "{\"ask\":\"learn\",\"seconds\":2.0}\n{\"ask\":\"status\"}\n{\"ask\":\"status\"}\n");
}

static void
asks(const char *question, struct honed *h, struct said s)
{
	check(s, DONE, "\"ok\": true", "");
	honed_end(h, question);
}

static void
questions_hold_the_flags(void **state)
{
	static const char *const yes[] = { "{" OK "\"runs\":[]}", NULL };
	struct honed h;
	(void)state;

#define ASKS(question, ...)                  \
	(honed_start(&h, FRAME_ANSWER, yes), \
	    asks(question "\n", &h, hone(__VA_ARGS__, "--json", "--socket", h.url, NULL)))
	ASKS(
	    "{\"ask\":\"start\",\"type\":\"A\",\"strategy\":\"flat\",\"k\":2,\"seed\":3,\"effort\":9}",
	    "start", "A", "--strategy", "flat", "--k", "2", "--seed", "3", "--effort", "9");
	ASKS("{\"ask\":\"learn\",\"seconds\":10.0,\"name\":\"2.0\"}", "learn", "--version", "2.0");
	ASKS("{\"ask\":\"forest\",\"type\":\"A\",\"run\":7}", "forest", "A", "--run", "7");
	ASKS("{\"ask\":\"why\",\"trace\":\"0123456789abcdef\"}", "why", "0123456789abcdef");
	ASKS("{\"ask\":\"why\"}", "why", "slowest");
	ASKS("{\"ask\":\"why\",\"type\":\"A\"}", "why", "slowest", "A");
	ASKS("{\"ask\":\"why\",\"type\":\"GET_HOME\"}", "why", "GET_HOME");
	ASKS("{\"ask\":\"why\",\"tracepoint\":\"a:b\"}", "why", "--tracepoint", "a:b");
	ASKS("{\"ask\":\"audit\",\"limit\":50}", "audit");
	ASKS("{\"ask\":\"audit\",\"limit\":7,\"since\":1763728200.0}", "audit", "--limit", "7",
	    "--since", "2025-11-21T12:30Z");
	ASKS("{\"ask\":\"history\",\"type\":\"A\",\"limit\":3}", "history", "A", "--limit", "3");
	ASKS("{\"ask\":\"diff\",\"runs\":[1,3]}", "diff", "1", "3");
	ASKS("{\"ask\":\"space_use\",\"name\":\"2.0\"}", "space", "use", "2.0");
	ASKS("{\"ask\":\"space_import\",\"path\":\"/etc/passwd\",\"name\":\"2.0\"}", "space",
	    "import", "/etc/passwd", "--version", "2.0");
}

/* ---- commands that work on files ---- */

struct folder {
	char name[40], a[64], b[64], out[64];
};

static int
make_folder(void **state)
{
	struct folder *f = calloc(1, sizeof *f);

	strcpy(f->name, "/tmp/hone-cli-XXXXXX");
	assert_non_null(mkdtemp(f->name));
	snprintf(f->a, sizeof f->a, "%s/a.db", f->name);
	snprintf(f->b, sizeof f->b, "%s/b.db", f->name);
	snprintf(f->out, sizeof f->out, "%s/out.db", f->name);
	*state = f;
	return 0;
}

static int
drop_folder(void **state)
{
	struct folder *f = *state;
	char line[80];

	snprintf(line, sizeof line, "rm -rf '%s'", f->name);
	assert_int_equal(system(line), 0);
	free(f);
	return 0;
}

/* A space of one version, in which requests of two services, both called GET, took one step. */
static void
write_space(const char *path, const char *version, const char *middle)
{
	static const char *const services[] = { "front", "cart" };
	struct labels *labels = labels_new();
	struct space *s = space_new(labels);
	struct err e;

	for (int i = 0; i < 2; i++) {
		struct event events[3] = { 0 };
		struct unit unit = { .id = 1, .count = 3, .fork = TRACE_NONE };
		struct trace t = { .id = 1,
			.nevents = 3,
			.nunits = 1,
			.events = events,
			.units = &unit,
			.probed = true };
		char text[3][80];

		snprintf(text[0], sizeof text[0], "%s/hone:request_begin(%s)", services[i],
		    i == 0 ? "HOME" : "GET");
		snprintf(text[1], sizeof text[1], "%s/%s", services[i], middle);
		snprintf(text[2], sizeof text[2], "%s/hone:request_end", services[i]);
		for (int k = 0; k < 3; k++)
			events[k] = (struct event){ .time_ns = 1000000 * k,
				.label = labels_intern(labels,
				    k == 0   ? RECORD_REQUEST_BEGIN
				    : k == 1 ? RECORD_POINT
					     : RECORD_REQUEST_END,
				    text[k], strlen(text[k]), NULL, 0) };
		t.type = events[0].label;
		t.end_ns = 2000000;
		assert_int_equal(space_learn(s, &t, &e), 0);
	}
	assert_int_equal(space_version_set(s, 0, version, 1000000000, &e), 0);
	if (space_save(s, path, &e) != 0)
		fail_msg("%s", e.text);
	space_free(s);
	labels_free(labels);
}

static void
a_space_is_shown_without_a_controller(void **state)
{
	struct folder *f = *state;

	write_space(f->a, "1.0", "shop:middle");
	check(hone("space", "show", "HOME", "--space", f->a, NULL), DONE, "shop:middle", "");
	check(hone("space", "show", "front/HOME", "--space", f->a, "--json", NULL), DONE,
	    "\"per_trace\": 1.0", "");
	check(hone("space", "show", "HOME", "--space", f->a, "--dot", "-", NULL), DONE,
	    "digraph space {", "");
	check(hone("space", "show", "NOPE", "--space", f->a, NULL), FAILED, "",
	    "learned are HOME, GET");
	check(hone("space", "show", "HOME", "--space", f->b, NULL), FAILED, "", "no such file");
	check(hone("space", "show", "HOME", "--space", f->a, "--version", "9", NULL), FAILED, "",
	    "9");
	check(hone("space", "stats", "--space", f->a, NULL), DONE, "GET           cart ", "");
	check(hone("space", "versions", "--space", f->a, NULL), DONE, "1.0", "");
	check(hone("space", "stats", "--socket", "ipc:///tmp/hone-cli-nobody.sock", NULL), FAILED,
	    "", "give it with --space FILE");
	check(hone("space", "show", "HOME", "--space", "/etc/passwd", NULL), FAILED, "",
	    "/etc/passwd");
}

static void
no_file_is_overwritten(void **state)
{
	struct folder *f = *state;
	struct said s;

	write_space(f->a, "1.0", "shop:middle");
	write_space(f->b, "2.0", "shop:other");
	check(hone("space", "export", f->out, "--space", f->a, NULL), DONE, "version 1.0 written",
	    "");
	check(hone("space", "export", f->out, "--space", f->b, NULL), FAILED, "",
	    "already exists; not overwritten");
	check(hone("space", "versions", "--space", f->out, NULL), DONE, "1.0", "");
	check(hone("space", "merge", f->b, f->a, f->a, NULL), FAILED, "",
	    "already exists; not overwritten");
	check(hone("space", "show", "HOME", "--space", f->b, NULL), DONE, "shop:other", "");
	unlink(f->out);
	check(hone("space", "merge", f->out, f->a, f->b, NULL), FAILED, "",
	    "has version '2.0', the first file '1.0'");
	assert_int_equal(access(f->out, F_OK), -1);
	check(hone("space", "merge", f->out, f->a, f->b, "--version", "3.0", NULL), DONE,
	    "version 3.0 written, merged from 2 files", "");
	s = hone("space", "show", "HOME", "--space", f->out, NULL);
	assert_non_null(strstr(s.out, "shop:other"));
	check(s, DONE, "shop:middle", "");
}

static void
a_damaged_database_is_salvaged(void **state)
{
	struct folder *f = *state;
	struct forest *forest = forest_new();
	struct store *store;
	struct err e;
	FILE *file;

	assert_int_equal(store_open(&store, f->a, &e), 0);
	assert_non_null(forest_run_new(forest, "A"));
	assert_int_equal(store_commit(store, forest, &e), 0);
	store_close(store);
	forest_free(forest);
	check(hone("forest", "--salvage", f->a, f->out, NULL), DONE,
	    "1 diagnoses with 0 hypotheses", "");
	check(hone("forest", "--salvage", f->a, f->out, NULL), FAILED, "", "out.db");
	file = fopen(f->b, "w");
	fputs("nothing of a database", file);
	fclose(file);
	unlink(f->out);
	check(hone("forest", "--salvage", f->b, f->out, NULL), FAILED, "", "b.db");
	assert_int_equal(access(f->out, F_OK), -1);
}

static void
graphs_and_pages_are_written(void **state)
{
	static const char *const answer[] = {
		"{" OK
		"\"runs\":[{\"run\":1,\"type\":\"A\",\"state\":\"found\",\"hypotheses\":[]}]}",
		NULL
	};
	struct folder *f = *state;
	struct honed h;
	struct said s;

	honed_start(&h, FRAME_ANSWER, answer);
	s = hone("forest", "--dot", "-", "--socket", h.url, NULL);
	assert_null(strstr(s.out, "0 cycles")); /* only the graph */
	check(s, DONE, "digraph forest {", "");
	honed_end(&h, NULL);
	honed_start(&h, FRAME_ANSWER, answer);
	check(hone("forest", "--html", f->a, "--dot", f->b, "--socket", h.url, NULL), DONE,
	    "diagnosis 1", "");
	honed_end(&h, NULL);
	assert_int_equal(access(f->a, R_OK), 0);
	assert_int_equal(access(f->b, R_OK), 0);
	honed_start(&h, FRAME_ANSWER, answer);
	check(hone("forest", "--html", "/nowhere/x", "--socket", h.url, NULL), FAILED, "",
	    "/nowhere/x: cannot be written");
	honed_end(&h, NULL);
}

static void
each_command_asks_its_question(void **state)
{
	static const char *const yes[] = { "{" OK "\"stopped\":[\"A\"]}", NULL };
	static const struct {
		const char *command, *type, *question;
	} asked[] = {
		{ "status", NULL, "{\"ask\":\"status\"}\n" },
		{ "agents", NULL, "{\"ask\":\"agents\"}\n" },
		{ "tracepoints", NULL, "{\"ask\":\"tracepoints\"}\n" },
		{ "learn", NULL, "{\"ask\":\"learn\",\"seconds\":10.0}\n" },
		{ "forest", NULL, "{\"ask\":\"forest\"}\n" },
		{ "stop", NULL, "{\"ask\":\"stop\"}\n" },
		{ "forest", "A", "{\"ask\":\"forest\",\"type\":\"A\"}\n" },
		{ "stop", "-", "{\"ask\":\"stop\",\"type\":\"-\"}\n" },
	};
	struct honed h;
	(void)state;

	for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
		honed_start(&h, FRAME_ANSWER, yes);
		check(hone(asked[i].command, "--socket", h.url, "--json", asked[i].type, NULL),
		    DONE, "\"ok\": true", "");
		honed_end(&h, asked[i].question);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
		    misuse_is_reported_with_the_nearest_name, remove_leftovers),
		cmocka_unit_test_teardown(help_is_an_answer, remove_leftovers),
		cmocka_unit_test_teardown(commands_and_flags_are_completed, remove_leftovers),
		cmocka_unit_test_teardown(no_connection_is_reported_with_advice, remove_leftovers),
		cmocka_unit_test_teardown(a_refusal_is_a_failure_with_its_reason, remove_leftovers),
		cmocka_unit_test_teardown(malformed_answers_are_reported, remove_leftovers),
		cmocka_unit_test_teardown(a_hung_controller_ends_in_a_timeout, remove_leftovers),
		cmocka_unit_test_teardown(waiting_ends_with_the_verdict, remove_leftovers),
		cmocka_unit_test_teardown(
		    each_end_of_a_diagnosis_has_its_exit_status, remove_leftovers),
		cmocka_unit_test_teardown(learning_can_be_waited_for, remove_leftovers),
		cmocka_unit_test_teardown(each_command_asks_its_question, remove_leftovers),
		cmocka_unit_test_teardown(questions_hold_the_flags, remove_leftovers),
		cmocka_unit_test_setup_teardown(
		    a_space_is_shown_without_a_controller, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(no_file_is_overwritten, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		    a_damaged_database_is_salvaged, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		    graphs_and_pages_are_written, make_folder, drop_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

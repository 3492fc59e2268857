/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Questions: the input is a sequence of them, each of a name, fields and values from tables of
 * valid, nearly valid and invalid ones, or free text. The answer to each is a JSON object that says
 * whether the question was valid, and if not, why.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "wire/question.h"
#include "controlplane/answers/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                  \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)
#define COUNT(a) (sizeof a / sizeof a[0])

static const char *const NAMES[] = { "status", "agents", "tracepoints", "start", "stop", "learn",
	"forest", "verdict", "history", "why", "diff", "space", "space_import", "space_use",
	"report", "audit", "nothing" };
static const char *const FIELDS[] = { "type", "strategy", "k", "seed", "effort", "seconds", "name",
	"run", "limit", "trace", "tracepoint", "runs", "path", "samples", "reset", "since",
	"other" };
static const char *const VALUES[] = { "\"GET\"", "\"flat\"", "\"\"", "1", "0", "-1", "2", "1.5",
	"9223372036854775807", "1e300", "null", "true", "false", "[1,2]", "[1,1]", "[1,\"2\"]",
	"[]", "{}", "\"0000000000000007\"", "\"00000000000000010000000000000007\"", "\"shop:a\"",
	"\"s/shop:a\"", "\"1.0\"", "\"/dev/zero\"", "\"/nowhere\"", "\"\\u00e4\\ud83d\\ude00\"" };

static char space[64];

static void
forget(void)
{
	unlink(space);
}

static void
plant(struct forest *f, uint8_t state)
{
	struct run *r = forest_run_new(f, "GET");
	struct hypothesis *root = forest_hypothesis_new(f, r->id, 0),
			  *h = forest_hypothesis_new(f, r->id, root->id);
	struct evidence v = { { 1, 7 }, r->id, h->id, 30, 4 };
	struct switched w = { .run = r->id,
		.hypothesis = h->id,
		.cycle = 1,
		.on = true,
		.tracepoint = "shop:a",
		.reason = REASON_SPLITS_EDGE,
		.when = { 5 } };
	struct verdict u = { .run = r->id,
		.hypothesis = h->id,
		.kind = state % 5,
		.mean_ns = state,
		.cv = state / 50.0,
		.traces = state,
		.confidence = state / 255.0,
		.slowest = { 1, state } };

	r->state = state % RUN_STATES;
	MUST(forest_switched(f, &w, NULL) == 0 && forest_evidence_add(f, &v, NULL) == 0 &&
	     forest_verdict_new(f, &u) != NULL);
}

static void
join(struct engine *g)
{
	const char *names[] = { "shop:a", "shop:b" };
	struct program one = { "s", 1, 0, 2 };
	const struct programs p = { 1, 2, &one, names };
	uint32_t node;

	MUST(engine_join(g, "n1", "1", (struct mono){ 1 }, &node, NULL) == 0 &&
	     engine_programs(g, node, &p, NULL) == 0);
}

static void
write_question(struct buf *b, struct reader *r)
{
	uint8_t shape = read_u8(r);
	size_t len;

	if (shape >= 0xe0) {
		len = read_u8(r) % (reader_left(r) + 1);
		buf_bytes(b, read_bytes(r, len), len);
		return;
	}
	buf_printf(b, "{\"ask\":\"%s\"", NAMES[shape % COUNT(NAMES)]);
	for (unsigned n = shape / COUNT(NAMES) % 4; n > 0; n--) {
		uint8_t field = read_u8(r), value = read_u8(r);

		buf_printf(
		    b, ",\"%s\":%s", FIELDS[field % COUNT(FIELDS)], VALUES[value % COUNT(VALUES)]);
	}
	buf_printf(b, "}");
}

static void
ask(struct engine *g, struct forest *f, const struct buf *question, int64_t now_ns)
{
	static struct audit_book book;
	const struct answer_context c = { .now = { now_ns },
		.when = { now_ns },
		.database = "",
		.space_path = space,
		.store_trouble = "",
		.who = { .user = "root", .role = ROLE_DIAGNOSE },
		.book = &book };
	char *text = answer_ask(g, f, &c, (const char *)question->data, question->len);
	json_t *a;

	MUST(text != NULL && (a = json_loads(text, 0, NULL)) != NULL);
	MUST(json_integer_value(json_object_get(a, "version")) == ANSWER_VERSION &&
	     json_is_boolean(json_object_get(a, "ok")));
	MUST(json_is_true(json_object_get(a, "ok")) ||
	     (json_string_length(json_object_get(a, "error")) > 0 &&
		 json_string_length(json_object_get(a, "code")) > 0));
	MUST(strstr(text, "no memory for the answer") ==
	     NULL); /* a member of the question was no valid JSON */
	json_decref(a);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct engine_options options = {
		.conditions = { 0.10, 0.95, 30, 0.95 },
		.seed = 1,
		.memory_max_bytes = 1 << 20,
		.skew_ns = 1000000,
		.patience_ns = 1000000000,
		.groups_max = 16,
		.samples_max = 16,
		.tracepoints_per_cycle = 3,
		.searches_max = 4,
		.effort_cycles = 32,
		.budget_share = 0.01,
		.learn_share = 0.05,
		.isolate_min = 0.3,
		.explain_min = 0.5,
		.pause_fill = 0.5,
		.resume_fill = 0.35,
		.withdraw_ns = 1,
		.cycle_max_ns = 1,
		.sampled = 1,
		.lease_ns = 1,
		.report_max_bytes = 1 << 20,
	};
	struct reader r = reader_of(data, size);
	struct forest *f = forest_new();
	struct engine *g;
	struct buf question = { 0 };

	if (space[0] == '\0') {
		snprintf(space, sizeof space, "/dev/shm/hone-fuzz-%ld.db", (long)getpid());
		atexit(forget);
	}
	MUST(engine_new(&g, &options, f, NULL) == 0);
	join(g);
	for (unsigned n = read_u8(&r) % 4; n > 0; n--)
		plant(f, read_u8(&r));
	for (int64_t now_ns = 1000; reader_left(&r) > 0; now_ns += 1000) {
		buf_reset(&question);
		write_question(&question, &r);
		ask(g, f, &question, now_ns);
	}
	buf_release(&question);
	engine_free(g);
	forest_free(f);
	forget();
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "tests/unit/formats/kit.h"

#define REPORT(id, edges, time, more)                                       \
	"{\"X-Trace\":[\"190000000000000001" id "\"],\"Edge\":[" edges "]," \
	"\"Timestamp\":[\"" time                                            \
	"\"],\"Host\":[\"h1\"],\"ProcessID\":[\"26617@h1\"],\"ThreadID\":[\"7\"]," more "}"
#define SAYS(agent, class, label) \
	"\"Agent\":[\"" agent "\"],\"Class\":[\"" class "\"],\"Label\":[\"" label "\"]"
#define TASK(reports) "[{\"id\":\"1\",\"reports\":[" reports "]}]"
#define A "00000000000000aa"
#define B "00000000000000bb"
#define C "00000000000000cc"
#define D "00000000000000dd"

static void
reports_are_events_and_the_path_goes_through_the_latest_parent(void **state)
{
	struct kit *k = kit_text(
	    TASK(REPORT(A, "", "100.000", SAYS("cli", "x.Main", "start")) "," REPORT(
		B, "\"" A "\"", "100.020", SAYS("cli", "x.Main", "near")) "," REPORT(C, "\"" A "\"",
		"100.050", SAYS("srv", "x.Far", "far")) "," REPORT(D, "\"" B "\",\"" C "\"",
		"100.060", SAYS("cli", "x.Main", "done"))));
	(void)state;

	kit_assert_clean(k);
	assert_int_equal(k->counts.events, 4);
	assert_string_equal(kit_steps(k, 0), "cli:start+@0 cli/x.Main:start@0 srv/x.Far:far@50000 "
					     "cli/x.Main:done@60000 cli:start-@60000");
	assert_int_equal(k->traces[0]->id, 1);
	assert_false(k->traces[0]->lossy);
	assert_string_equal(kit_node(k, 0, 1), "h1");
	assert_int_equal(k->traces[0]->events[1].pid, 26617);
	assert_int_equal(k->traces[0]->events[1].tid, 7);
	kit_free(k);
}

static void
what_names_one_thing_is_no_part_of_a_label(void **state)
{
	static const char *const texts[][2] = {
		{ "Task:attempt_1364250529092_0384_r_000001_0 is done",
		    "Task:attempt_#_#_r_#_# is done" },
		{ "block 9f86d081884c7d65 of 3", "block # of #" },
		{ "deadbeef decade facade12", "deadbeef decade #" },
		{ "fetcher#5 about to shuffle 34 bytes", "fetcher## about to shuffle # bytes" },
		{ "a/b\\tc\\u0000d", "a/b c d" },
		{ "caf\\u00e9", "café" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char json[1024], expected[512];
		struct kit *k;

		snprintf(json, sizeof json, TASK(REPORT(A, "", "100.5", SAYS("a/g-1", "C", "%s"))),
		    texts[i][0]);
		k = kit_text(json);
		kit_assert_clean(k);
		snprintf(expected, sizeof expected, "a.g-#:%s+@0 a.g-#/C:%s@0 a.g-#:%s-@0",
		    texts[i][1], texts[i][1], texts[i][1]);
		assert_string_equal(kit_steps(k, 0), expected);
		kit_free(k);
	}
}

static void
reports_without_a_label_say_what_they_did_and_where(void **state)
{
	struct kit *k = kit_text(TASK(REPORT(A, "\"0000000000000000\"", "1384989797493",
	    "\"Class\":[\"io.File\"],\"Operation\":[\"filewrite\"],\"Source\":[\"Block.java:572\"],\"Bytes\":[\"4096\"],"
	    "\"Tag\":[\"one\",\"two\"],\"version\":\"X-Trace Report ver 1.0\"")));
	const char *label = "unknown/io.File:filewrite(Block.java:572)";
	(void)state;

	kit_assert_clean(k);
	assert_non_null(strstr(kit_steps(k, 0), label));
	assert_string_equal(kit_value(k, 0, label, "Bytes"), "4096");
	assert_string_equal(kit_value(k, 0, label, "Tag"), "one");
	assert_string_equal(kit_value(k, 0, label, "version"), "");
	assert_int_equal(k->traces[0]->begin_ns, INT64_C(1384989797493000000));
	kit_free(k);
}

static void
the_steady_clock_refines_times_unless_it_disagrees(void **state)
{
	struct kit *k = kit_text(
	    TASK(REPORT(A, "", "1384989797493", "\"HRT\":[\"1000400000\"]") "," REPORT(
		B, "\"" A "\"", "1384989797493", "\"HRT\":[\"1000700000\"]") "," REPORT(C,
		"\"" B "\"", "1384989797494", "\"HRT\":[\"1001100000\"]")));
	(void)state;

	kit_assert_clean(k);
	assert_int_equal(k->traces[0]->end_ns - k->traces[0]->begin_ns, 700000);
	kit_free(k);
	k = kit_text(TASK(REPORT(A, "", "1384989797493", "\"HRT\":[\"1000400000\"]") "," REPORT(
	    B, "\"" A "\"", "1384989797494", "\"HRT\":[\"5000700000\"]")));
	assert_int_equal(k->traces[0]->end_ns - k->traces[0]->begin_ns, 1000000);
	kit_free(k);
}

static void
nonsense_in_a_graph_is_counted(void **state)
{
	struct kit *k = kit_text(
	    TASK(REPORT(A, "\"" C "\"", "100.000", SAYS("a", "c", "one")) "," REPORT(
		B, "\"" A "\",\"" B "\"", "100.010", SAYS("a", "c", "two")) "," REPORT(C,
		"\"" B "\",\"" D "\"", "100.020", SAYS("a", "c", "three")) "," REPORT(C,
		"\"" B "\"", "100.030", SAYS("a", "c", "four"))));
	(void)state;

	assert_int_equal(kit_skipped(k, SKIP_CYCLE), 1);
	assert_int_equal(kit_skipped(k, SKIP_SELF_PARENT), 1);
	assert_int_equal(kit_skipped(k, SKIP_ORPHAN), 1);
	assert_int_equal(kit_skipped(k, SKIP_DUPLICATE), 1);
	assert_true(k->traces[0]->lossy);
	assert_string_equal(
	    kit_steps(k, 0), "a:one+@0 a/c:one@0 a/c:two@10000 a/c:three@20000 a:one-@20000");
	kit_free(k);
}

static void
what_is_malformed_is_counted_and_the_rest_read(void **state)
{
	struct kit *k = kit_text("[7,{\"id\":\"0\"},{\"reports\":[" REPORT(A, "", "100.000",
	    SAYS("a", "c", "one")) ",{\"X-Trace\":[\"19\"]},3,{\"Label\":nope}," REPORT(B,
	    "\"" A "\"", "100.020", SAYS("a", "c", "two")) "," REPORT(C, "\"" A "\"", "noon",
	    SAYS("a", "c", "three")) "]},{\"reports\":[" REPORT(D, "", "100.000",
	    SAYS("a", "c", "four")) ",{\"X-Tr");
	(void)state;

	assert_int_equal(k->rc, 0);
	assert_int_equal(k->ntraces, 2);
	assert_int_equal(kit_skipped(k, SKIP_INCOMPLETE), 2);
	assert_int_equal(kit_skipped(k, SKIP_MALFORMED), 4);
	assert_int_equal(kit_skipped(k, SKIP_TRUNCATED), 1);
	assert_string_equal(kit_steps(k, 0), "a:one+@0 a/c:one@0 a/c:two@20000 a:one-@20000");
	assert_true(k->traces[0]->lossy);
	assert_true(k->traces[1]->lossy);
	kit_free(k);
}

static void
unbalanced_brackets_terminate(void **state)
{
	static const char *const texts[] = { "]}}]", "{\"reports\":[{\"Label\":[}]}",
		"[{\"reports\":[}}}}", "[[[[[]" };
	(void)state;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct kit *k = kit_bytes(texts[i], strlen(texts[i]), "xtrace");

		assert_int_equal(k->rc, ERR_INPUT);
		assert_int_equal(k->ntraces, 0);
		kit_free(k);
	}
}

/* ---- the real ones ---- */

struct simple { /* a report, read by the simplest means */
	char id[17], edges[64][17];
	uint32_t nedges;
	double ms;
	long long hrt_ns;
};

/* The first text of the array after a key, between s and end; NULL: none. */
static const char *
after_key(const char *s, const char *end, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof quoted, "\"%s\"", key);
	at = memmem(s, (size_t)(end - s), quoted, strlen(quoted));
	if (at == NULL)
		return NULL;
	at = strchr(at + strlen(quoted), '[') + 1;
	return at + strspn(at, " \n\r\t\"");
}

static void
simple_report(struct simple *r, const char *s, const char *end)
{
	const char *at = after_key(s, end, "Timestamp");

	*r = (struct simple){ 0 };
	r->ms = strtod(at, NULL) * (memchr(at, '.', strcspn(at, "\"")) != NULL ? 1000 : 1);
	at = after_key(s, end, "HRT");
	r->hrt_ns = at != NULL ? strtoll(at, NULL, 10) : -1;
	memcpy(r->id, after_key(s, end, "X-Trace") + 18, 16);
	for (at = after_key(s, end, "Edge"); *at != ']'; at += strspn(at, "\", \n\r\t")) {
		assert_true(r->nedges < 64);
		memcpy(r->edges[r->nedges++], at, 16);
		at += 16;
	}
}

/* Reports are the objects at depth 2 of arrays and objects; braces in strings do not count. */
static struct simple *
simple_reports(const char *text, uint32_t *n)
{
	struct simple *all = calloc(4096, sizeof *all);
	const char *begin = NULL;
	int depth = 0;

	*n = 0;
	for (const char *s = text; *s != '\0'; s++) {
		if (*s == '"')
			for (s++; *s != '"'; s++)
				s += *s == '\\';
		else if (*s == '{' && ++depth == 2)
			begin = s;
		else if (*s == '}' && depth-- == 2)
			simple_report(&all[(*n)++], begin, s);
	}
	return all;
}

static char *
slurp(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text;
	long size;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	text = calloc(1, (size_t)size + 1);
	assert_int_equal(fread(text, 1, (size_t)size, f), size);
	fclose(f);
	return text;
}

/* The time of a report in ms, to compare reports of one host: of the steady clock if the report
 * has it. */
static double
when(const struct simple *r)
{
	return r->hrt_ns >= 0 ? (double)r->hrt_ns / 1e6 : r->ms;
}

static const struct simple *
find(const struct simple *all, uint32_t n, const char *id)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(all[i].id, id) == 0)
			return &all[i];
	return NULL;
}

/* Whether `early` is reachable backwards from `late`. */
static bool
comes_after(
    const struct simple *all, uint32_t n, const struct simple *late, const struct simple *early)
{
	bool *seen = calloc(n, sizeof *seen), ret;
	uint32_t *stack = calloc(n, sizeof *stack), depth = 1;

	stack[0] = (uint32_t)(late - all);
	seen[stack[0]] = true;
	while (depth > 0) {
		const struct simple *at = &all[stack[--depth]];

		for (uint32_t e = 0; e < at->nedges; e++) {
			const struct simple *p = find(all, n, at->edges[e]);

			if (p != NULL && when(p) >= when(early) && !seen[p - all]) {
				seen[p - all] = true;
				stack[depth++] = (uint32_t)(p - all);
			}
		}
	}
	ret = seen[early - all];
	free(seen);
	free(stack);
	return ret;
}

static bool
is_later(const struct simple *all, uint32_t n, const struct simple *a, const struct simple *b)
{
	return b == NULL || when(a) > when(b) || (when(a) == when(b) && comes_after(all, n, a, b));
}

/* From the last report to the latest of its parents, and so on: ids, last first. Of several
 * parents with equal times, the one that comes after the others. */
static uint32_t
simple_path(const struct simple *all, uint32_t n, const struct simple **path)
{
	const struct simple *at = NULL, *best, *p;
	uint32_t len = 0;

	for (uint32_t i = 0; i < n; i++)
		if (is_later(all, n, &all[i], at))
			at = &all[i];
	for (; at != NULL; at = best) {
		path[len++] = at;
		best = NULL;
		for (uint32_t e = 0; e < at->nedges; e++)
			if ((p = find(all, n, at->edges[e])) != NULL && is_later(all, n, p, best))
				best = p;
	}
	return len;
}

/* Of two reports at the same time, neither of which is reachable from the other, either may be
 * on the path: then only the times are compared. */
static void
compare_real(const char *name)
{
	char path[512], *text;
	const struct simple *expected[4096];
	struct simple *all;
	struct kit *k;
	uint32_t n, len, at = 0;

	if (!kit_data(path, name))
		return;
	all = simple_reports(text = slurp(path), &n);
	len = simple_path(all, n, expected);
	k = kit_file(path, NULL);
	assert_int_equal(k->ntraces, 1);
	assert_int_equal(k->counts.events, n);
	kit_steps(k, 0);
	assert_int_equal(k->path.nsteps, len + 2);
	for (uint32_t s = 1; s + 1 < k->path.nsteps; s++, at++) {
		const struct event *v = &k->traces[0]->events[k->path.steps[s].event];
		double ms = when(expected[len - 1 - at]) - when(expected[len - 1]);

		if ((double)(v->time_ns - k->traces[0]->begin_ns) / 1e6 - ms > 1e-3 ||
		    ms - (double)(v->time_ns - k->traces[0]->begin_ns) / 1e6 > 1e-3)
			fail_msg("%s: step %u is at %lld ns, and should be at %.6f ms", name, at,
			    (long long)(v->time_ns - k->traces[0]->begin_ns), ms);
	}
	assert_int_equal(k->path.moved, 0);
	kit_free(k);
	free(all);
	free(text);
}

static void
real_tasks_have_the_path_that_a_simple_search_finds(void **state)
{
	(void)state;
	compare_real("xtrace/small.json");
	compare_real("xtrace/medium.json");
	compare_real("xtrace/upload.json");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_are_events_and_the_path_goes_through_the_latest_parent),
		cmocka_unit_test(what_names_one_thing_is_no_part_of_a_label),
		cmocka_unit_test(reports_without_a_label_say_what_they_did_and_where),
		cmocka_unit_test(the_steady_clock_refines_times_unless_it_disagrees),
		cmocka_unit_test(nonsense_in_a_graph_is_counted),
		cmocka_unit_test(what_is_malformed_is_counted_and_the_rest_read),
		cmocka_unit_test(unbalanced_brackets_terminate),
		cmocka_unit_test(real_tasks_have_the_path_that_a_simple_search_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

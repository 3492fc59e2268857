/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Arbitrary paths, in graphs of malformed traces. Invariants: candidates are points, each once, in
 * order of their times, none on the path, absent or tried; both ends of a span refer to each other,
 * enclosing spans come before; the same seed gives the same result; every strategy selects from the
 * candidates, in order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "searchspace/match.h"
#include "searchspace/space.h"
#include "searchspace/strategy.h"
#include "tests/fuzz/common/known_points.h"

enum { EVENTS_MAX = 256, TOKENS_MAX = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
check_strategies(const struct candidate *c, uint32_t n, const struct gap_time *gap, uint32_t k)
{
	uint32_t picked[LABELS];
	struct rng rng;

	rng_seed(&rng, k);
	for (unsigned i = 0; strategy_at(i) != NULL; i++) {
		uint32_t got = strategy_at(i)->propose(c, n, gap, k, &rng, picked);

		must(got <= n && (got > 0) == (n > 0));
		for (uint32_t j = 0; j < got; j++)
			must(picked[j] < n && (j == 0 || picked[j] > picked[j - 1]));
	}
}

static void
check(const struct labels *labels, const struct match_path *p, const struct candidate *c,
    uint32_t n, const struct gap_time *gap, uint32_t hidden, uint32_t tried)
{
	uint32_t seen = 1u << hidden | 1u << tried;

	for (uint32_t i = 0; i < p->ntokens; i++)
		seen |= 1u << p->tokens[i];
	for (uint32_t i = 0; i < n; i++) {
		must(labels_get(labels, c[i].label)->kind == RECORD_POINT &&
		     (seen >> c[i].label & 1) == 0);
		must(c[i].count > 0 && c[i].share > 0 && c[i].share <= 1 && c[i].per_trace > 0);
		must(
		    i == 0 || c[i].offset_ns >= c[i - 1].offset_ns || c[i].drawn || c[i - 1].drawn);
		must(c[i].partner == UINT32_MAX ||
		     (c[i].partner < n && c[c[i].partner].partner == i));
		must(c[i].around == UINT32_MAX || c[i].around < i);
		seen |= 1u << c[i].label;
	}
	check_strategies(c, n, gap, 1 + hidden % 4);
}

static void
ask(const struct space *s, const struct labels *labels, const uint8_t *data, size_t len)
{
	uint32_t tokens[TOKENS_MAX], units[TOKENS_MAX], hidden, tried;
	struct match_path p = { .tokens = tokens, .units = units };
	struct label_set absent = { 0 }, without = { 0 };
	struct candidate *c, *again;
	struct arena a = { 0 };
	struct gap_time gap, same;
	struct rng rng;
	int n;

	for (; p.ntokens < TOKENS_MAX && p.ntokens + 4 < len; p.ntokens++) {
		tokens[p.ntokens] = data[4 + p.ntokens] % LABELS;
		units[p.ntokens] = data[4 + p.ntokens] < 128   ? 0
		                   : data[4 + p.ntokens] < 250 ? 2
		                                               : 6;
	}
	if (p.ntokens < 2)
		return;
	p.edge = data[0] % (p.ntokens - 1);
	p.edge_to = data[1] % 2 == 0 ? p.edge + 1 : data[1] / 2 % (p.edge + 1);
	hidden = data[2] % LABELS;
	tried = data[3] % LABELS;
	must(label_set_add(&absent, hidden) && label_set_add(&without, tried));
	rng_seed(&rng, data[3]);
	n = match_between(&c, &gap, s, 0, &p, &absent, &without, &rng, &a, NULL);
	must(n >= 0);
	check(labels, &p, c, (uint32_t)n, &gap, hidden, tried);
	rng_seed(&rng, data[3]);
	must(match_between(&again, &same, s, 0, &p, &absent, &without, &rng, &a, NULL) == n);
	must(same.mean_ns == gap.mean_ns);
	for (int i = 0; i < n; i++)
		must(c[i].label == again[i].label && c[i].drawn == again[i].drawn &&
		     c[i].offset_ns == again[i].offset_ns);
	label_set_release(&absent);
	label_set_release(&without);
	arena_release(&a);
}

static void
learn(struct space *s, const uint8_t **data, size_t *len)
{
	struct event events[EVENTS_MAX];
	struct unit units[EVENTS_MAX] = { { 0 } };
	struct trace t = { .nunits = 1, .events = events, .units = units };
	int64_t now = 0;

	for (; *len >= 2 && t.nevents < EVENTS_MAX; *data += 2, *len -= 2) {
		uint8_t what = (*data)[0];

		if (what >= 0xf8)
			break;
		if (what >= 0xf0)
			units[t.nunits++].first = t.nevents;
		now += (int8_t)(*data)[1];
		events[t.nevents++] = (struct event){
			.time_ns = now, .label = what % LABELS, .unit = t.nunits - 1
		};
		units[t.nunits - 1].count++;
	}
	if (*len >= 2) {
		*data += 2;
		*len -= 2;
	}
	must(space_learn(s, &t, NULL) == 0);
}

/* The last bytes, at most 28, are the path; the bytes before them are traces. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct labels *labels = labels_new();
	struct space *s = space_new(labels);
	size_t path = len < TOKENS_MAX + 4 ? len / 2 : TOKENS_MAX + 4;
	const uint8_t *last = data + len - path;

	for (int i = 0; i < LABELS; i++)
		must(labels_intern(labels, known[i].kind, known[i].text, strlen(known[i].text),
			 NULL, 0) == (uint32_t)i);
	len -= path;
	do
		learn(s, &data, &len);
	while (len >= 2);
	if (path >= 4)
		ask(s, labels, last, path);
	space_free(s);
	labels_free(labels);
	return 0;
}

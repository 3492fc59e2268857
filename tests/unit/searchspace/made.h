/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces from text, for tests: "R a b fork join E | U c d V" is two units of a request. */
#ifndef TESTS_SEARCHSPACE_MADE_H
#define TESTS_SEARCHSPACE_MADE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "searchspace/match.h"
#include "tests/unit/searchspace/between.h"

/*
 * R E: request begin, end; U V: unit begin, end; F J: fork, join; others: a point of that name. A
 * digit after one of these letters distinguishes links: F1, F2.
 */
static inline uint32_t
label_of(struct labels *labels, const char *word)
{
	static const struct {
		char letter;
		enum record_kind kind;
		const char *event;
	} kinds[] = {
		{ 'R', RECORD_REQUEST_BEGIN, "request_begin" },
		{ 'E', RECORD_REQUEST_END, "request_end" },
		{ 'U', RECORD_UNIT_BEGIN, "unit_begin" },
		{ 'V', RECORD_UNIT_END, "unit_end" },
		{ 'F', RECORD_FORK, "fork" },
		{ 'J', RECORD_JOIN, "join" },
	};
	char text[LABEL_TEXT_MAX];
	int len;

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (word[0] == kinds[i].letter &&
		    (word[1] == '\0' || (word[1] >= '0' && word[1] <= '9'))) {
			len = snprintf(text, sizeof text, "shop/hone:%s(%s)", kinds[i].event, word);
			return labels_intern(labels, kinds[i].kind, text, (size_t)len, NULL, 0);
		}
	len = snprintf(text, sizeof text, "shop/app:%s", word);
	return labels_intern(labels, RECORD_POINT, text, (size_t)len, NULL, 0);
}

/*
 * Each event is 10 ns after the one before it in its unit, or as long as "word+25" states. The
 * caller frees the result.
 */
static inline struct trace *
made(struct labels *labels, const char *words)
{
	struct trace *t = calloc(1, sizeof *t);
	char *copy = strdup(words), *rest = copy, *word, *plus;
	uint32_t cap = (uint32_t)strlen(words) + 2;
	int64_t now = 1000;

	t->events = calloc(cap, sizeof *t->events);
	t->units = calloc(cap, sizeof *t->units);
	t->nunits = 1;
	while ((word = strsep(&rest, " ")) != NULL) {
		struct event *e = &t->events[t->nevents];

		if (word[0] == '\0')
			continue;
		if (word[0] == '|') {
			t->units[t->nunits++].first = t->nevents;
			continue;
		}
		now += (plus = strchr(word, '+')) != NULL ? atoll(plus + 1) : 10;
		if (plus != NULL)
			*plus = '\0';
		*e = (struct event){
			.time_ns = now, .label = label_of(labels, word), .unit = t->nunits - 1
		};
		if (labels_get(labels, e->label)->kind == RECORD_REQUEST_BEGIN) {
			t->type = e->label;
			t->root = t->nunits - 1;
		}
		t->units[t->nunits - 1].count++;
		t->nevents++;
	}
	free(copy);
	return t;
}

static inline void
made_free(struct trace *t)
{
	free(t->events);
	free(t->units);
	free(t);
}

static inline void
learn(struct space *s, struct labels *labels, const char *words)
{
	struct trace *t = made(labels, words);

	assert_int_equal(space_learn(s, t, NULL), 0);
	made_free(t);
}

/* Candidates as text: "a b c". Static memory. */
static inline const char *
between(const struct space *s, struct labels *labels, const char *unit, const char *from,
    const char *to, const char *absent)
{
	static char text[65536];
	static struct between found[4096];
	struct gap g = { label_of(labels, from), label_of(labels, to), label_of(labels, unit),
		label_of(labels, unit) };
	struct label_set set = { 0 };
	char *copy = strdup(absent), *rest = copy, *word;
	int n;

	while ((word = strsep(&rest, " ")) != NULL)
		if (word[0] != '\0')
			label_set_add(&set, label_of(labels, word));
	n = space_between(s, label_of(labels, "R"), &g, &set, found, 4096, NULL);
	text[0] = '\0';
	for (int i = 0; i < n; i++) {
		strcat(text, i > 0 ? " " : "");
		strcat(text, strchr(labels_get(labels, found[i].label)->text, ':') + 1);
	}
	label_set_release(&set);
	free(copy);
	return n < 0 ? "error" : text;
}

/*
 * A path as text in the form of made(), units by their marks: "R a F | U c V | J b E" goes to
 * another unit and back: a section that does not begin with U continues the unit before. The caller
 * frees both arrays.
 */
static inline struct match_path
made_path(struct labels *labels, const char *words)
{
	struct match_path p = { 0 };
	size_t cap = strlen(words) + 2;
	uint32_t *tokens = calloc(cap, sizeof *tokens), *units = calloc(cap, sizeof *units);
	uint32_t open[64] = { 0 }, depth = 0;
	char *copy = strdup(words), *rest = copy, *word;
	bool ended = true;

	while ((word = strsep(&rest, " ")) != NULL) {
		if (word[0] == '\0')
			continue;
		if (word[0] == '|') {
			ended = true;
			continue;
		}
		tokens[p.ntokens] = label_of(labels, word);
		if (ended && (word[0] == 'U' || word[0] == 'R'))
			open[depth++] = tokens[p.ntokens];
		else if (ended)
			depth--;
		ended = false;
		units[p.ntokens++] = open[depth - 1];
	}
	free(copy);
	p.tokens = tokens;
	p.units = units;
	return p;
}

static inline void
made_path_free(struct match_path *p)
{
	free((void *)p->tokens);
	free((void *)p->units);
}

/*
 * The candidates of a gap as text: the gap after the edge-th token or, if edge_to is not greater,
 * back to that of edge_to. Static memory.
 */
static inline const char *
matched(const struct space *s, struct labels *labels, const char *path, uint32_t edge,
    uint32_t edge_to, const char *absent, uint64_t seed)
{
	static char text[65536];
	struct match_path p = made_path(labels, path);
	struct label_set set = { 0 };
	struct arena a = { 0 };
	struct candidate *found;
	struct gap_time gap;
	struct rng rng;
	char *copy = strdup(absent), *rest = copy, *word;
	int n;

	rng_seed(&rng, seed);
	p.edge = edge;
	p.edge_to = edge_to;
	while ((word = strsep(&rest, " ")) != NULL)
		if (word[0] != '\0')
			label_set_add(&set, label_of(labels, word));
	n = match_between(&found, &gap, s, label_of(labels, "R"), &p, &set, NULL, &rng, &a, NULL);
	text[0] = '\0';
	for (int i = 0; i < n; i++) {
		strcat(text, i > 0 ? " " : "");
		strcat(text, strchr(labels_get(labels, found[i].label)->text, ':') + 1);
	}
	label_set_release(&set);
	arena_release(&a);
	made_path_free(&p);
	free(copy);
	return n < 0 ? "error" : text;
}

#endif

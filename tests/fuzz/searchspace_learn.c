/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Malformed traces: units without begins, times that run backwards, spans that cross. Two bytes of
 * input are an event. Invariants: candidates are points, each once, in order, none of them an end
 * of the gap or absent.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/trace.h"
#include "searchspace/space.h"
#include "searchspace/space_inside.h"
#include "tests/fuzz/common/known_points.h"
#include "tests/unit/searchspace/between.h"

enum { EVENTS_MAX = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
ask(const struct space *s, const struct labels *labels, uint32_t from, uint32_t to, uint32_t unit,
    uint32_t hidden)
{
	struct gap g = { from, to, unit, unit };
	struct label_set absent = { 0 };
	struct between found[LABELS + 1];
	uint32_t seen = 0;
	int n;

	if (!label_set_add(&absent, hidden))
		abort();
	n = space_between(s, 0, &g, &absent, found, LABELS + 1, NULL);
	if (n < 0 || n > LABELS)
		abort();
	for (int i = 0; i < n; i++) {
		const struct between *c = &found[i];

		if (labels_get(labels, c->label)->kind != RECORD_POINT ||
		    (seen >> c->label & 1) != 0 || c->label == from || c->label == to ||
		    c->label == hidden || c->count == 0 || !(c->share > 0) || c->share > 1 ||
		    (i > 0 && found[i - 1].offset_ns > c->offset_ns))
			abort();
		seen |= 1u << c->label;
	}
	label_set_release(&absent);
}

/* more: traces in which only some tracepoints were enabled; also learned into another space, to
 * be merged. */
static void
learn(struct space *s, struct space *other, bool more, const uint8_t **data, size_t *len)
{
	struct event events[EVENTS_MAX];
	struct unit units[EVENTS_MAX] = { { 0 } };
	struct trace t = { .nunits = 1, .events = events, .units = units };
	int64_t now = 0;

	for (; *len >= 2 && t.nevents < EVENTS_MAX; *data += 2, *len -= 2) {
		uint8_t what = (*data)[0];

		if (what >= 0xf8)
			break;
		if (what >= 0xf0 && t.nunits < EVENTS_MAX)
			units[t.nunits++] = (struct unit){ .first = t.nevents,
				.fork = (*data)[1] % 8 };
		now += (int8_t)(*data)[1];
		events[t.nevents++] = (struct event){ .time_ns = now,
			.label = what % LABELS,
			.unit = t.nunits - 1,
			.link_id = (*data)[1] % 4 };
		units[t.nunits - 1].count++;
	}
	if (*len >= 2) {
		*data += 2;
		*len -= 2;
	}
	if ((more ? space_learn_more(s, &t, NULL) : space_learn(s, &t, NULL)) != 0 ||
	    space_learn(other, &t, NULL) != 0)
		abort();
}

/* Any learned space can be written: learning never produces what a file may not contain. */
static void
check(struct space *s, const struct labels *labels)
{
	struct space_export l;
	struct space_cover c;
	uint32_t at;

	for (uint32_t i = 0; space_type(s, i) != LABEL_NONE; i++) {
		if (graph_check(space_graph(s, i), labels, &at) != NULL ||
		    !space_export(s, space_type(s, i), &l))
			abort();
		for (uint32_t k = 0; k < l.nplaces; k++)
			if (l.places[k].traces == 0 || l.places[k].count < l.places[k].traces)
				abort();
		if (space_cover(s, space_type(s, i), &c) &&
		    !(c.next_new >= 0 && c.next_new <= 1 && c.unseen >= 0))
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct labels *labels = labels_new();
	struct space *s = space_new(labels), *other = space_new(labels);
	struct space_stats st;
	uint8_t seed = len > 0 ? data[len - 1] : 0;

	for (int i = 0; i < LABELS; i++) {
		char text[64];
		int n = snprintf(text, sizeof text, "%s", known[i].text);

		if (labels_intern(labels, known[i].kind, text, (size_t)n, NULL, 0) != (uint32_t)i)
			abort();
	}
	do
		learn(s, other, seed / 16 % 2 != 0 && len % 3 == 0, &data, &len);
	while (len >= 2);
	for (uint32_t from = 0; from < LABELS; from++)
		for (uint32_t to = 0; to < LABELS; to++)
			ask(s, labels, from, to, to % 2 != 0 ? 0 : 2, (from + to + seed) % LABELS);
	check(s, labels);
	if (space_merge(s, other, NULL) != 0)
		abort();
	check(s, labels);
	if (!space_stats(s, LABEL_NONE, &st) || st.new_in_last_tenth > st.places)
		abort();
	space_free(s);
	space_free(other);
	labels_free(labels);
	return 0;
}

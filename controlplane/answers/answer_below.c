/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What threads did in the edge of a verdict, below its tracepoints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/differential_text.h"
#include "controlplane/answers/answer_inside.h"
#include "report/differential_json.h"

/* Adds the member `place`, and another one: two texts with a tab between them, or the first only. */
static void
put_place(json_t *o, const char *other, const char *text, size_t len)
{
	const char *tab = memchr(text, '\t', len);
	size_t place = tab != NULL ? (size_t)(tab - text) : len;

	json_object_set_new(o, "place", json_stringn(text, place));
	json_object_set_new(
	    o, other, tab != NULL ? json_stringn(tab + 1, len - place - 1) : json_null());
}

/* The list of lines of fields with a tab between them, a word, three numbers, and a number or a place; with the names of the numbers, and
 * of what may stand behind the place. */
static json_t *
below_lines_json(const char *lines, const char *const names[3], const char *other)
{
	json_t *list = json_array();

	for (const char *at = lines; at != NULL && *at != '\0';) {
		const char *end = strchr(at, '\n');
		size_t len = end != NULL ? (size_t)(end - at) : strlen(at);
		double x[4] = { 0 };
		char word[16];
		int used = 0;

		if (sscanf(at, "%15s%lf%lf%lf%n", word, &x[0], &x[1], &x[2], &used) >= 4 &&
		    (size_t)used < len) {
			json_t *o = json_pack(
			    "{s:s, s:f, s:f}", "state", word, names[0], x[0], names[1], x[1]);

			if (other != NULL) {
				json_object_set_new(o, "mean_ms", number_json(x[2] / 1e6));
				put_place(o, other, at + used + 1, len - (size_t)used - 1);
			} else {
				json_object_set_new(o, names[2], number_json(x[2]));
				json_object_set_new(
				    o, "mean_ms", number_json(strtod(at + used, NULL) / 1e6));
			}
			json_array_append_new(list, o);
		}
		at = end != NULL ? end + 1 : NULL;
	}
	return list;
}

/* Null for an empty text. */
static json_t *
text_part_json(const char *from, const char *to)
{
	return from < to ? json_stringn(from, (size_t)(to - from)) : json_null();
}

/* The list of lines of three numbers, a request type, and perhaps the name of a thread. */
static json_t *
wakers_json(const char *lines)
{
	json_t *list = json_array();

	for (const char *at = lines; at != NULL && *at != '\0';) {
		const char *end = strchr(at, '\n');
		size_t len = end != NULL ? (size_t)(end - at) : strlen(at);
		unsigned waits;
		double share, of_edge;
		int used = 0;

		if (sscanf(at, "%u %lf %lf%n", &waits, &share, &of_edge, &used) == 3 &&
		    (size_t)used < len) {
			const char *type = at + used + 1,
				   *tab = memchr(type, '\t', len - (size_t)used - 1);
			const char *type_end = tab != NULL ? tab : at + len;

			json_array_append_new(list,
			    json_pack("{s:I, s:f, s:f, s:o, s:o}", "waits", (json_int_t)waits,
				"share", share, "of_edge", of_edge, "request_type",
				text_part_json(type, type_end), "thread",
				tab != NULL ? text_part_json(tab + 1, at + len) : json_null()));
		}
		at = end != NULL ? end + 1 : NULL;
	}
	return list;
}

/* Of lines as verdict.h has them. */
static json_t *
functions_json(const char *lines)
{
	json_t *list = json_array();

	for (const char *at = lines; at != NULL && *at != '\0';) {
		const char *end = strchr(at, '\n');
		size_t len = end != NULL ? (size_t)(end - at) : strlen(at);
		double calls, share, low, high, of_edge, mean_ns;
		int used = 0, timed;

		if (sscanf(at, "%d %lf %lf %lf %lf %lf %lf %n", &timed, &calls, &share, &low, &high,
			&of_edge, &mean_ns, &used) == 7 &&
		    used > 0 && (size_t)used < len)
			json_array_append_new(
			    list, json_pack("{s:o, s:f, s:o, s:o, s:o, s:o, s:o}", "function",
				      json_stringn(at + used, len - (size_t)used), "calls", calls,
				      "share", timed ? json_real(share) : json_null(), "share_low",
				      timed ? json_real(low) : json_null(), "share_high",
				      timed ? json_real(high) : json_null(), "of_edge",
				      timed ? json_real(of_edge) : json_null(), "mean_ms",
				      timed ? json_real(mean_ns / 1e6) : json_null()));
		at = end != NULL ? end + 1 : NULL;
	}
	return list;
}

json_t *
answer_differential(const struct verdict *v)
{
	struct difference_node *tree;
	struct arena a = { 0 };
	struct differential d;
	uint32_t count;
	struct err e;
	int rc = ERR_INPUT;
	json_t *o;

	if (v->below_differential[0] != '\0')
		rc = differential_read(&d, &tree, &count, v->below_differential, &a, &e);
	o = rc == 0 ? differential_json(&d, tree, count) : rc == ERR_MEMORY ? NULL : json_null();
	arena_release(&a);
	return o;
}

json_t *
answer_below(const struct verdict *v, bool whole)
{
	static const char *const STATE[3] = { "share", "share_low", "share_high" },
				 *const PLACE[3] = { "share", "of_edge", "" };
	const char *top = v->below_top, *missing = v->below_missing;

	if (v->below_requests == 0 && missing[0] == '\0')
		return json_null();
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "requests",
	    (json_int_t)v->below_requests, "top", top[0] != '\0' ? answer_text(top) : json_null(),
	    "states", below_lines_json(v->below_states, STATE, NULL), "places",
	    below_lines_json(v->below_places, PLACE, "caller"), "holders",
	    below_lines_json(v->below_holders, PLACE, "thread"), "released_by",
	    wakers_json(v->below_wakers), "held_for", wakers_json(v->below_held), "functions",
	    functions_json(v->below_functions), "differential",
	    whole ? answer_differential(v) : json_null(), "missing",
	    missing[0] != '\0' ? answer_text(missing) : json_null());
}

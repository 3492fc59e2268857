/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints annotated spans as text. */
#include <string.h>

#include "cli/output.h"

enum { CALLS_SHOWN = 20, SUMS_SHOWN = 8 };

static const char *
append(struct pen *p, const char *to, const char *what)
{
	return to[0] == '\0' ? what : pen_printf(p, "%s, %s", to, what);
}

static const char *
states_words(struct pen *p, const json_t *states, const json_t *times)
{
	const char *ret = "", *key;
	json_t *v;

	json_object_foreach ((json_t *)states, key, v) {
		double n = times != NULL ? number_of(times, key) : 0;

		ret = append(p, ret,
		    n > 1 ? pen_printf(p, "%s %s (%s times)", key, pen_ms(p, json_number_value(v)),
				pen_count(p, n))
			  : pen_printf(p, "%s %s", key, pen_ms(p, json_number_value(v))));
	}
	return ret;
}

static const char *
thread_words(struct pen *p, const json_t *t)
{
	const char *name = text_of(p, t, "name");

	return name[0] != '\0' ? pen_printf(p, "%s (%.0f)", name, number_of(t, "tid"))
	                       : pen_printf(p, "%.0f", number_of(t, "tid"));
}

static const char *
wait_words(struct pen *p, const json_t *w)
{
	const json_t *waker = json_object_get(w, "waker"), *owner = json_object_get(w, "owner");
	const char *ret;

	if (!json_is_object(w))
		return "";
	ret = pen_printf(p, "; %s %s", text_of(p, w, "state"), pen_ms(p, number_of(w, "ms")));
	if (json_is_object(owner))
		ret = pen_printf(p, "%s, held by %s", ret, thread_words(p, owner));
	if (json_is_object(waker))
		ret = pen_printf(p, "%s, woken by %s", ret, thread_words(p, waker));
	return ret;
}

/* A number of a call; an address in hexadecimal digits. */
static const char *
number_words(struct pen *p, const json_t *c, const char *key)
{
	long long v = json_integer_value(json_object_get(c, key));

	if (is_null(c, key))
		return "";
	return v > INT32_MAX || v < INT32_MIN ? pen_printf(p, "0x%llx", (unsigned long long)v)
	                                      : pen_printf(p, "%lld", v);
}

static void
print_call(struct pen *p, const json_t *c, bool threads)
{
	const char *argument = number_words(p, c, "argument"),
		   *result = is_true(c, "only_blocked") ? ", only its wait is known"
	                     : !is_true(c, "finished")  ? ", not finished"
	                     : !is_null(c, "error")
	                         ? pen_printf(p, " = %s", text_of(p, c, "error"))
	                         : pen_printf(p, " = %s", number_words(p, c, "result"));
	const char *peer = text_of(p, c, "peer");

	fprintf(p->out, "       %9s  +%-9s %s(%s)%s%s%s%s\n", pen_ms(p, number_of(c, "ms")),
	    pen_ms(p, number_of(c, "at_ms")), text_of(p, c, "name"), argument, result,
	    peer[0] != '\0' ? pen_printf(p, ", %s", peer) : "",
	    wait_words(p, json_object_get(c, "wait")),
	    threads ? pen_printf(p, "; on %s", thread_words(p, json_object_get(c, "thread"))) : "");
	if (!is_null(c, "stack"))
		fprintf(p->out, "                  in %s\n",
		    pen_shorten(p, text_of(p, c, "stack"), 90));
}

/* Whether calls of several threads are listed. */
static bool
of_several_threads(const json_t *calls)
{
	const json_t *first = json_object_get(json_array_get(calls, 0), "thread");
	size_t i;
	json_t *c;

	json_array_foreach ((json_t *)calls, i, c)
		if (number_of(json_object_get(c, "thread"), "tid") != number_of(first, "tid"))
			return true;
	return false;
}

static void
print_calls(struct pen *p, const json_t *s)
{
	const json_t *calls = json_object_get(s, "calls"), *summary = json_object_get(s, "summary");
	const char *words = "";
	size_t i, more = 0;
	json_t *c;

	json_array_foreach ((json_t *)calls, i, c)
		if (i < CALLS_SHOWN)
			print_call(p, c, of_several_threads(calls));
		else
			more++;
	if (more > 0 || number_of(s, "calls_left_out") > 0)
		fprintf(p->out, "                  %s further calls; --json lists them\n",
		    pen_count(p, (double)more + number_of(s, "calls_left_out")));
	json_array_foreach ((json_t *)summary, i, c) {
		double n = number_of(c, "count");

		if (i < SUMS_SHOWN && (n > 1 || n > number_of(c, "listed")))
			words = append(p, words,
			    pen_printf(p, "%s %s in %s, at most %s", text_of(p, c, "name"),
				pen_count(p, n), pen_ms(p, number_of(c, "total_ms")),
				pen_ms(p, number_of(c, "max_ms"))));
	}
	if (words[0] != '\0')
		document_line(p, "calls", words);
}

static const char *
counts_words(struct pen *p, const json_t *s)
{
	const char *ret = "", *key;
	json_t *v;

	json_object_foreach (json_object_get(s, "counted"), key, v)
		ret = append(p, ret,
		    pen_printf(p, "%s %s", pen_clean(p, key), pen_count(p, json_number_value(v))));
	if (number_of(s, "migrations") > 0)
		ret = append(p, ret,
		    pen_printf(p, "migrations %s", pen_count(p, number_of(s, "migrations"))));
	return ret;
}

static const char *
reason_words(const char *reason)
{
	static const struct {
		const char *reason, *words;
	} all[] = { { "untimed", "its begin or its end is missing" },
		{ "no-thread", "nothing says on which thread it was (no attribute thread.id)" },
		{ "other-host",
		    "its node is no host of the recording; --host NAME says that it is" },
		{ "nowhere", "no two of its records in turn are of one thread" },
		{ "other-thread", "the kernel knows the thread of this number by another name" },
		{ "unseen", "the recording does not know its thread at that time" },
		{ "lossy", "its request may lack a part, or have one of another request" } };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strcmp(all[i].reason, reason) == 0)
			return all[i].words;
	return reason;
}

static void
print_span(struct pen *p, const json_t *s)
{
	const char *counts, *reason = text_of(p, s, "not_attributed"), *line = "";

	pen_put(p, BOLD,
	    pen_printf(p, "%9s  %s %s", pen_ms(p, number_of(s, "ms")), text_of(p, s, "service"),
		text_of(p, s, "name")));
	fprintf(p->out, "  span %s", text_of(p, s, "span"));
	if (!is_null(s, "thread"))
		fprintf(p->out, "  thread %s", thread_words(p, json_object_get(s, "thread")));
	fprintf(p->out, "\n");
	if (reason[0] != '\0') {
		document_line(
		    p, "nothing", pen_printf(p, "is attributed: %s", reason_words(reason)));
		return;
	}
	document_line(p, "states",
	    states_words(p, json_object_get(s, "states"), json_object_get(s, "times")));
	if (number_of(s, "elsewhere_ms") > 0.0005)
		line = append(p, line,
		    pen_printf(p, "%s on no thread that is known",
			pen_ms(p, number_of(s, "elsewhere_ms"))));
	if (number_of(s, "shared_ms") > 0)
		line = append(p, line,
		    pen_printf(p, "%s on a thread on which unrelated spans were, too",
			pen_ms(p, number_of(s, "shared_ms"))));
	if (line[0] != '\0')
		document_line(p, "besides", line);
	if ((counts = counts_words(p, s))[0] != '\0')
		document_line(p, "counts", counts);
	print_calls(p, s);
}

/* What was not known, so that a reader does not take silence for an answer. */
static void
print_doubts(struct pen *p, const json_t *d)
{
	const json_t *r = json_object_get(d, "recording"),
		     *n = json_object_get(json_object_get(d, "counts"), "not_attributed");
	const char *words = "", *key;
	json_t *v;

	json_object_foreach ((json_t *)n, key, v)
		words = append(p, words,
		    pen_printf(p, "%s: %s", pen_count(p, json_number_value(v)), reason_words(key)));
	if (words[0] != '\0')
		pen_wrap(p, "", pen_printf(p, "Spans without anything attributed: %s.", words));
	if (number_of(r, "losses") > 0)
		pen_wrap(p, "",
		    pen_printf(p, "Events were lost %s times; %s calls during a loss are left out.",
			pen_count(p, number_of(r, "losses")),
			pen_count(p, number_of(r, "calls_lost"))));
	if (number_of(r, "calls_shared") > 0)
		pen_wrap(p, "",
		    pen_printf(p,
			"%s calls belong to none of several unrelated spans that were on their thread.",
			pen_count(p, number_of(r, "calls_shared"))));
	if (is_true(r, "lean"))
		pen_wrap(p, "",
		    "The recording has no system calls. Those that blocked are known from the switches, without arguments and results.");
	if (is_true(d, "host_assumed"))
		pen_wrap(p, "",
		    "The spans' node is taken for the recorded host, although their names differ, since there is one of each.");
	pen_wrap(p, "",
	    "Calls that the vDSO serves without the kernel (clock_gettime, gettimeofday, time, getcpu) are in no recording.");
}

void
annotation_print(struct pen *p, const json_t *d, double rows)
{
	const json_t *spans = json_object_get(d, "spans"), *n = json_object_get(d, "counts");
	size_t i;
	json_t *s;

	fprintf(p->out,
	    "%s spans, of which %s are over the threshold and %s are annotated; %s kernel events\n\n",
	    pen_count(p, number_of(n, "spans")), pen_count(p, number_of(n, "chosen")),
	    pen_count(p, number_of(n, "annotated")),
	    pen_count(p, number_of(json_object_get(d, "recording"), "events")));
	json_array_foreach ((json_t *)spans, i, s) {
		if ((double)i >= rows)
			break;
		print_span(p, s);
	}
	if ((double)json_array_size(spans) > rows)
		fprintf(p->out, "%s shorter spans are not shown; see --limit\n",
		    pen_count(p, (double)json_array_size(spans) - rows));
	fputc('\n', p->out);
	print_doubts(p, d);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/verdict_text.h"
#include "cli/mistake_text.h"

#include <math.h>
#include <string.h>

#include "cli/output.h"
#include "forest/reason.h"
#include "forest/verdict.h"

static const char *
member(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL ? s : "";
}

static bool
is_word(const json_t *o, const char *key, const char *word)
{
	return strcmp(member(o, key), word) == 0;
}

static const char *
plural(double n)
{
	return n == 1 ? "" : "s";
}

/* ---- reasons ---- */

void
reason_text_put(struct buf *out, const json_t *o, const char *key)
{
	const char *word = member(o, key), *text = reason_text(reason_of_word(word));

	if (text[0] == '\0') /* of a newer honed: print its identifier */
		text = word[0] != '\0' ? word : member(o, "text");
	for (; *text != '\0'; text++)
		if (strncmp(text, "{}", 2) == 0) {
			buf_printf(out, "%s", member(o, "subject"));
			text++;
		} else {
			buf_u8(out, (uint8_t)*text);
		}
}

/* ---- verdicts ---- */

#define EXPLAINS_R 0.5 /* |R| below it: the key has less than a quarter of the edge's variance */

bool
key_explains(const json_t *key)
{
	if (is_null(key, "r"))
		return number_of(key, "share") >= EXPLAINS_R * EXPLAINS_R;
	return fabs(number_of(key, "r")) >= EXPLAINS_R;
}

bool
interval_useful(double value, double low, double high)
{
	return high - low <= fmax(1, 3 * fabs(value));
}

void
verdict_position_put(struct buf *out, const json_t *v)
{
	const json_t *position = json_object_get(v, "position");

	if (number_of(position, "of") > 1)
		buf_printf(out, "occurrence %.0f of %.0f on the critical path%s",
		    number_of(position, "number"), number_of(position, "of"),
		    is_true(position, "loop_back") ? " (the way back of a loop)" : "");
}

void
verdict_sample_put(struct buf *out, const json_t *v)
{
	double traces = number_of(json_object_get(v, "group"), "traces"),
	       effective = number_of(v, "effective_traces");

	if (effective > 0 && traces >= 2 * effective)
		buf_printf(out, "autocorrelated; effective sample size %.0f", effective);
}

void
verdict_preload_put(struct buf *out, const json_t *v)
{
	static const struct {
		const char *word, *text;
	} kinds[] = {
#define PRELOAD(name, number, word, text) { word, text },
#include "forest/preload.tbl.h"
#undef PRELOAD
	};
	const json_t *preload = json_object_get(v, "preload"),
		     *edge = json_object_get(preload, "edge");
	const char *text = "inside";

	if (!json_is_object(preload))
		return;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (is_word(preload, "kind", kinds[i].word))
			text = kinds[i].text;
	buf_printf(out, "the time between %s and %s is %s (%s)", member(edge, "from"),
	    member(edge, "to"), text, member(preload, "call"));
	if (!is_null(preload, "object"))
		buf_printf(out, ", %.0f %% of it for %s", number_of(preload, "object_share") * 100,
		    member(preload, "object"));
}

void
verdict_within_put(struct buf *out, const json_t *v)
{
	const json_t *within = json_object_get(v, "within");

	if (json_is_object(within))
		buf_printf(out, "a part of what lies between %s and %s", member(within, "from"),
		    member(within, "to"));
}

void
verdict_waited_put(struct buf *out, const json_t *v)
{
	const json_t *waited = json_object_get(v, "waited");

	if (!json_is_object(waited))
		return;
	buf_printf(out, "%.0f %% (%.0f to %.0f %%) of this time in %.0f requests ",
	    number_of(waited, "share") * 100, number_of(waited, "share_low") * 100,
	    number_of(waited, "share_high") * 100, number_of(waited, "waits"));
	if (is_word(waited, "cause", "occupied") &&
	    is_word(json_object_get(v, "pool"), "state", "own-units")) {
		buf_printf(out, "the thread of %s worked for another unit of the same request (%s)",
		    member(waited, "service"), member(waited, "unit"));
		return;
	}
	if (is_word(waited, "cause", "occupied")) {
		buf_printf(out, "the thread of %s worked for another request, of type %s (%s)",
		    member(waited, "service"), member(waited, "type"), member(waited, "unit"));
		return;
	}
	buf_printf(
	    out, "no thread of %s recorded an event, unlike usually", member(waited, "service"));
	if (!is_null(waited, "also"))
		buf_printf(out, ", and none of %s either", member(waited, "also"));
	buf_printf(
	    out, ": the process was stopped, had no processor, or all of its threads waited");
}

void
verdict_pool_put(struct buf *out, const json_t *v)
{
	static const struct {
		const char *word, *text;
	} states[] = {
#define POOL(name, number, word, text) { word, text },
#include "forest/pools.tbl.h"
#undef POOL
	};
	const json_t *pool = json_object_get(v, "pool");
	double threads = number_of(pool, "threads");

	if (!json_is_object(pool))
		return;
	buf_printf(out,
	    "%.0f thread%s of %s, held %.0f %% of the time, %.3g ms each time (CV %.0f %%); mean wait %.3g ms, ",
	    threads, plural(threads), member(pool, "service"), number_of(pool, "utilisation") * 100,
	    number_of(pool, "service_ms"), number_of(pool, "service_cv") * 100,
	    number_of(pool, "wait_ms"));
	if (!is_null(pool, "expected_ms"))
		buf_printf(out, "%.3g ms expected: ", number_of(pool, "expected_ms"));
	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
		if (is_word(pool, "state", states[i].word))
			buf_printf(out, "%s", states[i].text);
	if (number_of(pool, "effect_low") > 0)
		buf_printf(out,
		    "; all waits for them have at least %.0f %% of what these requests vary by",
		    number_of(pool, "effect_low") * 100);
}

void
verdict_new_put(struct buf *out, const json_t *v)
{
	const json_t *new = json_object_get(v, "new");

	if (!json_is_object(new))
		return;
	if (number_of(new, "part") <= 0)
		buf_printf(out, "nothing: the baseline has as much of the variance here");
	else
		buf_printf(out, "%.0f %% of it (at least %.0f %%): the baseline has less here",
		    number_of(new, "part") * 100, number_of(new, "at_least") * 100);
}

static const char *
state_text(const json_t *o)
{
	static const struct {
		const char *word, *text;
	} states[] = {
#define STATE(name, number, word, text) { word, text },
#include "wire/below_states.tbl.h"
#undef STATE
	};

	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
		if (is_word(o, "state", states[i].word))
			return states[i].text;
	return member(o, "state"); /* of a newer honed */
}

/* "flush_log() at journal.c:88, in pthread_mutex_lock", of "flush_log() at journal.c:88;pthread_mutex_lock;futex_wait" */
static void
place_put(struct buf *out, const char *place)
{
	size_t len = strcspn(place, ";");

	if (place[0] == '\0')
		buf_printf(out, "an unknown place");
	else
		buf_printf(out, "%.*s", (int)len, place);
	if (place[len] != '\0')
		buf_printf(out, ", in %.*s", (int)strcspn(place + len + 1, ";"), place + len + 1);
}

/* Without "-0". */
static double
whole_pct(double share)
{
	return round(share * 100) + 0.0;
}

/* A state with a smaller part of the edge's time, and no share, is not told. */
#define NEXT_TO_NOTHING 0.005

static double
share_of_state(const json_t *below, const char *word)
{
	const json_t *state;
	size_t i;

	json_array_foreach (json_object_get(below, "states"), i, state)
		if (is_word(state, "state", word))
			return number_of(state, "share");
	return 0;
}

/* What stands out has a smaller share than the waits for a processor, which come of it (analysis/below_cause.h). */
static bool
comes_of_top(const json_t *below)
{
	const char *top = member(below, "top");

	return top[0] != '\0' && share_of_state(below, "ready") > share_of_state(below, top);
}

void
verdict_below_put(struct buf *out, const json_t *v)
{
	const json_t *below = json_object_get(v, "below"), *state;
	double all_ms = 0;
	unsigned told = 0;
	size_t i;

	if (!json_is_object(below))
		return;
	if (number_of(below, "requests") == 0) {
		const char *why = member(below, "missing");

		buf_printf(out, "not known: %s",
		    strcmp(why, "few-requests") == 0
			? "too few requests came while their threads were followed"
		    : strcmp(why, "over-budget") == 0
			? "to follow threads costs more than the overhead budget"
		    : strcmp(why, "congested") == 0 ? "agents were congested"
		    : strcmp(why, "unconfirmed") == 0
			? "an agent did not confirm in time that it follows threads"
		    : strcmp(why, "elsewhere") == 0
			? "the requests that were looked at had the problem elsewhere, or no more"
		    : strcmp(why, "no-records") == 0 ? "no node reported what threads did"
		    : strcmp(why, "no-node") == 0    ? "no connected node has the program"
		    : strcmp(why, "no-status") == 0
			? "a node with the program has not said yet what it can"
			: why);
		return;
	}
	json_array_foreach (json_object_get(below, "states"), i, state)
		all_ms += number_of(state, "mean_ms");
	json_array_foreach (json_object_get(below, "states"), i, state) {
		double pct = whole_pct(number_of(state, "share"));

		/* of next to no time; its interval is that of very few requests */
		if (pct == 0 && number_of(state, "mean_ms") < NEXT_TO_NOTHING * all_ms)
			continue;
		buf_printf(out, "%s%s %.0f %% [%.0f to %.0f]", told++ > 0 ? ", " : "",
		    member(state, "state"), pct, whole_pct(number_of(state, "share_low")),
		    whole_pct(number_of(state, "share_high")));
	}
	buf_printf(out, "; %.0f requests%s", number_of(below, "requests"),
	    member(below, "top")[0] == '\0' ? ": no state stands out" : "");
	if (comes_of_top(below))
		buf_printf(out,
		    ", of which %s is the cause: requests that do no more of it do not wait for a processor",
		    member(below, "top"));
	if (member(below, "missing")[0] != '\0')
		buf_printf(out, "; not known of all: %s", member(below, "missing"));
}

void
verdict_ground_put(struct buf *out, const json_t *v)
{
	static const struct {
		const char *word, *text;
	} grounds[] = {
#define GROUND(name, number, word, text) { word, text },
#include "forest/grounds.tbl.h"
#undef GROUND
	};

	for (size_t i = 0; i < sizeof grounds / sizeof *grounds; i++)
		if (!is_null(v, "ground") && is_word(v, "ground", grounds[i].word) &&
		    !is_word(v, "ground", "state"))
			buf_printf(out, "%s", grounds[i].text);
}

void
verdict_below_place_put(struct buf *out, const json_t *v)
{
	const json_t *place = json_array_get(
	    json_object_get(json_object_get(v, "below"), "places"), 0);

	if (!json_is_object(place))
		return;
	buf_printf(out, "%s in ", state_text(place));
	place_put(out, member(place, "place"));
	if (member(place, "caller")[0] != '\0')
		buf_printf(out, ", called from %s", member(place, "caller"));
	buf_printf(out, ": %.0f %% of the edge", number_of(place, "of_edge") * 100);
}

void
verdict_below_holder_put(struct buf *out, const json_t *v)
{
	const json_t *below = json_object_get(v, "below"), *holder;
	double of = number_of(json_array_get(json_object_get(below, "places"), 0), "share");
	size_t i;

	json_array_foreach (json_object_get(below, "holders"), i, holder) {
		const char *thread = member(holder, "thread");

		buf_printf(out, "%s%s%s%s%s in ", i > 0 ? "; " : "",
		    thread[0] != '\0' ? "thread \"" : "", thread, thread[0] != '\0' ? "\" " : "",
		    state_text(holder));
		place_put(out, member(holder, "place"));
		if (of > 0)
			buf_printf(out, ": %.0f %% of it", 100 * number_of(holder, "share") / of);
	}
}

/* Types of requests, of waits at the first place. */
static void
types_put(struct buf *out, const json_t *v, const char *list, const char *in_requests,
    const char *outside)
{
	const json_t *below = json_object_get(v, "below"), *item;
	double of = number_of(json_array_get(json_object_get(below, "places"), 0), "share");
	size_t i;

	json_array_foreach (json_object_get(below, list), i, item) {
		const char *type = member(item, "request_type"), *thread = member(item, "thread");

		buf_printf(out, "%s%s%s%s%s%s: %.0f waits", i > 0 ? "; " : "",
		    type[0] != '\0' ? in_requests : outside, type,
		    thread[0] != '\0' ? " (thread \"" : "", thread, thread[0] != '\0' ? "\")" : "",
		    number_of(item, "waits"));
		if (of > 0)
			buf_printf(out, ", %.0f %% of it", 100 * number_of(item, "share") / of);
	}
}

void
verdict_below_held_put(struct buf *out, const json_t *v)
{
	types_put(out, v, "held_for", "for requests of type ", "outside of requests");
}

void
verdict_below_released_put(struct buf *out, const json_t *v)
{
	types_put(out, v, "released_by", "by requests of type ", "by threads outside of requests");
}

void
verdict_below_functions_put(struct buf *out, const json_t *v)
{
	const json_t *function;
	size_t i;

	json_array_foreach (
	    json_object_get(json_object_get(v, "below"), "functions"), i, function) {
		double calls = number_of(function, "calls");

		buf_printf(out, "%s%s()", i > 0 ? "; " : "", member(function, "function"));
		if (is_null(function, "share"))
			buf_printf(out,
			    " is not timed: %.3g call%s a request would take too much of the edge",
			    calls, calls == 1 ? "" : "s");
		else
			buf_printf(out, " %.0f %% [%.0f to %.0f], %.3g call%s a request",
			    whole_pct(number_of(function, "share")),
			    whole_pct(number_of(function, "share_low")),
			    whole_pct(number_of(function, "share_high")), calls,
			    calls == 1 ? "" : "s");
	}
}

/* ---- what slow requests have more of ---- */

#define DIFFERS_P 0.05   /* by chance, at most */
#define STATE_TOLD 0.05  /* of the difference of the edge, that of a state at least */
#define ON_ITS_STACK 0.8 /* of the difference of the edge */

static double
more_ms(const json_t *o)
{
	return number_of(o, "slow_ms") - number_of(o, "usual_ms");
}

/* Slow requests have more of it, and not by chance. */
static bool
is_more(const json_t *item, const char *of)
{
	return is_word(item, "of", of) && !is_null(item, "p") &&
	       number_of(item, "p") <= DIFFERS_P && number_of(item, "low_ms") > 0;
}

static void
more_put(struct buf *out, const json_t *item)
{
	buf_printf(out, "%+.3g ms [%.3g to %.3g]", more_ms(item), number_of(item, "low_ms"),
	    number_of(item, "high_ms"));
}

/* The function of an entry of a stack, with all that it calls, where that has at least that difference; NULL: it has not. */
static const json_t *
function_of(const json_t *items, const char *entry, double least_ms)
{
	const char *place = strstr(entry, "() at ");
	size_t len = place != NULL ? (size_t)(place - entry) : strlen(entry), i;
	const json_t *item;

	json_array_foreach (items, i, item)
		if (is_more(item, "inclusive") && more_ms(item) >= least_ms &&
		    strlen(member(item, "name")) == len &&
		    strncmp(member(item, "name"), entry, len) == 0)
			return item;
	return NULL;
}

/* The number of the entry that this one calls with the largest difference; 0: it calls none that has one. */
static size_t
largest_called(const json_t *stacks, size_t caller)
{
	const json_t *entry;
	size_t i, largest = 0;
	double most_ms = 0;

	json_array_foreach (stacks, i, entry)
		if (i > 0 && number_of(entry, "parent") == (double)caller &&
		    more_ms(entry) > most_ms) {
			most_ms = more_ms(entry);
			largest = i;
		}
	return largest;
}

/*
 * The innermost function of the program whose calls have most of the difference. On the way down the tree, the innermost entry of
 * the program with a line and its innermost caller have one; what has none after the first of them is a library's. Of two stacks
 * that are cut at different callers both have a part of the difference, so what counts is that of the function on all stacks.
 * Returns its item; NULL: there is none.
 */
static const json_t *
place_with_calls_put(struct buf *out, const json_t *d)
{
	const json_t *stacks = json_object_get(d, "stacks"), *items = json_object_get(d, "items"),
		     *found = NULL, *item;
	double least_ms = ON_ITS_STACK * more_ms(d);
	const char *place = "";
	bool with_line = false;

	for (size_t at = largest_called(stacks, 0); at > 0; at = largest_called(stacks, at)) {
		const char *entry = member(json_array_get(stacks, at), "entry");
		bool has_line = strstr(entry, "() at ") != NULL;

		if (with_line && !has_line)
			continue;
		with_line |= has_line;
		if ((item = function_of(items, entry, least_ms)) != NULL) {
			found = item;
			place = entry;
		}
	}
	if (found != NULL) {
		buf_printf(out, "; %s with what it calls ", place);
		more_put(out, found);
	}
	return found;
}

void
verdict_below_differential_put(struct buf *out, const json_t *v)
{
	const json_t *d = json_object_get(json_object_get(v, "below"), "differential"),
		     *items = json_object_get(d, "items"), *item, *self = NULL;
	double slow = number_of(d, "slow"), usual = number_of(d, "usual");
	unsigned states = 0;
	size_t i;

	if (!json_is_object(d))
		return;
	buf_printf(out, "the %.0f slowest of %.0f requests (from %.3g ms on) take %+.3g ms there",
	    slow, slow + usual, number_of(d, "slow_from_ms"), more_ms(d));
	json_array_foreach (items, i, item) {
		if (is_more(item, "state") && more_ms(item) >= STATE_TOLD * more_ms(d)) {
			buf_printf(out, "%s%s ", states++ > 0 ? "; " : ": ", member(item, "name"));
			more_put(out, item);
			buf_printf(out, ", %.0f of %.0f have it, %.0f of %.0f others",
			    number_of(item, "slow"), slow, number_of(item, "usual"), usual);
		} else if (self == NULL && is_more(item, "self")) {
			self = item;
		}
	}
	if (states == 0)
		buf_printf(out, "; no state stands out");
	item = place_with_calls_put(out, d);
	if (self != NULL &&
	    (item == NULL || strcmp(member(self, "name"), member(item, "name")) != 0 ||
		more_ms(self) < more_ms(item))) {
		buf_printf(out, "; %s itself ", member(self, "name"));
		more_put(out, self);
	}
}

void
verdict_unlearned_put(struct buf *out, const json_t *v)
{
	const json_t *unlearned = json_object_get(v, "unlearned");
	const json_t *names = json_object_get(unlearned, "names"), *name;
	double n = number_of(unlearned, "tracepoints");
	size_t i;

	if (n <= 0)
		return;
	buf_printf(out, "%.0f tracepoint%s of %s", n, plural(n), member(unlearned, "service"));
	json_array_foreach (names, i, name)
		buf_printf(out, "%s%s", i == 0 ? " (" : ", ",
		    json_string_value(name) != NULL ? json_string_value(name) : "");
	if (json_array_size(names) > 0)
		buf_printf(out, "%s)", n > (double)json_array_size(names) ? ", ..." : "");
	buf_printf(out,
	    " %s not seen while learning; if the problem is new, run `hone learn` during it",
	    n == 1 ? "was" : "were");
}

void
verdict_budget_put(struct buf *out, const json_t *v)
{
	double own = is_word(v, "kind", "cut") ? number_of(v, "over_budget") : 0,
	       preload = number_of(v, "preload_over_budget");

	if (own > 0)
		buf_printf(out,
		    "%.0f tracepoint%s inside the edge %s over the overhead budget; raise search.budget",
		    own, plural(own), own == 1 ? "is" : "are");
	if (preload > 0)
		buf_printf(out,
		    "%s%.0f tracepoint%s of the preload layer %s over the overhead budget",
		    own > 0 ? "; " : "", preload, plural(preload), preload == 1 ? "is" : "are");
}

void
verdict_end_put(struct buf *out, const json_t *run, const json_t *v)
{
	if (is_word(v, "kind", "spread"))
		buf_printf(out, "no part inside this edge has most of it");
	else if (is_word(v, "kind", "hidden"))
		buf_printf(out,
		    "with tracepoints inside this edge enabled, the paths do not show where it is: "
		    "requests pass their labels many times");
	else if (is_word(v, "kind", "captured"))
		buf_printf(out,
		    "too few requests to cut this edge: what flight recorders had of these was compared "
		    "with usual ones (hone capture)");
	else if (is_word(v, "kind", "cut") && number_of(v, "over_budget") == 0)
		buf_printf(out,
		    "the search ended with its effort of %.0f cycle%s; --effort raises it",
		    number_of(run, "effort"), plural(number_of(run, "effort")));
	else if (is_true(v, "handed_over") && !json_is_object(json_object_get(v, "waited")))
		buf_printf(out,
		    "between two units of work no tracepoint can be inside: the request waits in a queue, "
		    "on the network, or for a thread");
	else if (!is_word(v, "kind", "cut") && !is_true(v, "handed_over") &&
		 !json_is_object(json_object_get(v, "pool")))
		buf_printf(out, "no learned tracepoint is left inside this edge: instrument there");
}

static void
put_separation(struct buf *out, const json_t *v)
{
	const json_t *separation = json_object_get(v, "separation");

	if (json_is_object(separation))
		buf_printf(out,
		    "whether a request passes %s divides slow from fast: requests %s it are slow (%.0f %% of "
		    "the %s of the edge lies between the two); ",
		    member(separation, "tracepoint"), member(separation, "slow"),
		    number_of(separation, "share") * 100,
		    is_word(v, "measure", "latency") ? "time" : "variance");
}

/* Which requests of a tail are slow, of how many. */
static void
put_slow_requests(struct buf *out, const json_t *run, const json_t *v)
{
	const json_t *tail = json_object_get(v, "tail");

	buf_printf(out,
	    ") of what the slowest %.0f of %.0f requests %s (beyond p%.4g, over %.4g ms) take longer",
	    number_of(tail, "requests"), number_of(json_object_get(v, "group"), "traces"),
	    member(run, "type"), number_of(tail, "quantile") * 100, number_of(tail, "above_ms"));
}

void
verdict_tail_put(struct buf *out, const json_t *v)
{
	const json_t *few = json_object_get(v, "few"),
		     *has = json_object_get(
			 json_is_object(few) ? few : json_object_get(v, "tail"), "has");

	if (!json_is_object(has) && json_is_true(json_object_get(v, "rare")))
		buf_printf(out, "few passages of it take nearly all of that time");
	if (!json_is_object(has))
		return;
	buf_printf(out, "%.0f %% of the ", number_of(has, "slow") * 100);
	if (json_is_object(few))
		buf_printf(out, "%.0f requests that take over %.4g ms there have ",
		    number_of(few, "requests"), number_of(few, "above_ms"));
	else
		buf_printf(out, "slow requests have ");
	buf_printf(out, "%s %s %s, and %.0f %% of the others (p = %.2g)", member(has, "key"),
	    is_word(has, "is", "at-least")  ? ">="
	    : is_word(has, "is", "at-most") ? "<="
					    : "=",
	    member(has, "value"), number_of(has, "others") * 100, number_of(has, "p"));
}

void
verdict_captured_put(struct buf *out, const json_t *v)
{
	const json_t *c = json_object_get(v, "captured");

	if (!json_is_object(c))
		return;
	buf_printf(out,
	    "%.0f of %.0f captured outlier%s (over %.4g ms) %s %.4g ms longer there than %.0f usual requests do: most of what %s longer in all "
	    "(so do %.0f to %.0f %% of all such outliers, confidence %.0f %%; by chance with p = %.2g)",
	    number_of(c, "with"), number_of(c, "slow"), plural(number_of(c, "slow")),
	    number_of(json_object_get(v, "tail"), "above_ms"),
	    number_of(c, "with") == 1 ? "takes" : "take", number_of(c, "excess_ms"),
	    number_of(c, "usual"), number_of(c, "with") == 1 ? "it takes" : "they take",
	    number_of(v, "share_low") * 100, number_of(v, "share_high") * 100,
	    number_of(v, "confidence") * 100, number_of(c, "p"));
}

static void
put_share(struct buf *out, const json_t *run, const json_t *v)
{
	const json_t *edge = json_object_get(v, "edge"), *group = json_object_get(v, "group");

	if (json_is_object(json_object_get(v, "captured"))) {
		verdict_captured_put(out, v);
		buf_printf(out, ", between %s and %s", member(edge, "from"), member(edge, "to"));
		return;
	}

	buf_printf(out, "%.0f %% (", number_of(v, "share") * 100);
	if (interval_useful(
		number_of(v, "share"), number_of(v, "share_low"), number_of(v, "share_high")))
		buf_printf(out, "%.0f to %.0f %%, confidence %.0f %%",
		    number_of(v, "share_low") * 100, number_of(v, "share_high") * 100,
		    number_of(v, "confidence") * 100);
	else
		buf_printf(out, "too few requests for a useful interval");
	if (json_is_object(json_object_get(v, "tail")))
		put_slow_requests(out, run, v);
	else
		buf_printf(out, ") of the %s of %.0f requests %s",
		    is_word(v, "measure", "latency") ? "response time" : "variance",
		    number_of(group, "traces"), member(run, "type"));
	buf_printf(out, " lies between %s and %s", member(edge, "from"), member(edge, "to"));
}

/* Appends the separator and the output of the put function, or neither if that is empty. */
static void
put_part(struct buf *out, const char *separator, void (*put)(struct buf *out, const json_t *o),
    const json_t *o)
{
	size_t len = out->len, begun;

	buf_printf(out, "%s", separator);
	begun = out->len;
	put(out, o);
	if (out->len == begun)
		out->len = len;
}

const char *
verdict_doubt_text(const json_t *v)
{
	if (is_word(v, "kind", "captured"))
		return "so few requests may show that by chance";
	return is_word(v, "kind", "spread") && number_of(v, "share_low") > 0
	           ? "the edge is the whole request, and no part of it was found"
	           : "the interval includes 0";
}

/* Why the verdict is not sure: a mistake of the instrumentation, else its edge or its interval. */
static void
put_doubt(struct buf *out, const json_t *v)
{
	const json_t *mistake = json_object_get(v, "mistake");

	if (json_is_object(mistake)) {
		buf_printf(out, "; not sure, since the instrumentation is wrong: ");
		mistake_text_put(out, mistake);
		buf_printf(out, " (hone check)");
	} else if (json_is_false(json_object_get(v, "sure"))) {
		buf_printf(out, "; not sure: %s", verdict_doubt_text(v));
	}
}

void
verdict_text_put(struct buf *out, const json_t *run, const json_t *v)
{
	const json_t *key = json_object_get(v, "key");
	size_t len;

	if (member(v, "text")[0] != '\0') {
		buf_printf(out, "%s", member(v, "text"));
		return;
	}
	put_separation(out, v);
	put_share(out, run, v);
	put_part(out, ", ", verdict_position_put, v);
	put_part(out, ", ", verdict_within_put, v);
	put_part(out, "; ", verdict_sample_put, v);
	put_doubt(out, v);
	if (json_is_object(key))
		buf_printf(out, "; %s %s (R = %.2f, n = %.0f)", member(key, "name"),
		    key_explains(key) ? "explains it" : "is related to it, but does not explain it",
		    number_of(key, "r"), number_of(key, "n"));
	len = out->len;
	put_part(out, "; ", verdict_preload_put, v);
	if (out->len == len && !(is_word(v, "kind", "cut") && number_of(v, "over_budget") > 0)) {
		size_t begun;

		buf_printf(out, "; ");
		begun = out->len;
		verdict_end_put(out, run, v);
		if (out->len == begun)
			out->len = len;
	}
	put_part(out, "; ", verdict_tail_put, v);
	put_part(out, "; ", verdict_waited_put, v);
	put_part(out, "; ", verdict_pool_put, v);
	put_part(out, "; new: ", verdict_new_put, v);
	put_part(out, "; below: ", verdict_below_put, v);
	put_part(out, "; ", verdict_ground_put, v);
	put_part(out, "; ", verdict_below_place_put, v);
	put_part(out, "; held meanwhile ", verdict_below_holder_put, v);
	put_part(out, "; held ", verdict_below_held_put, v);
	put_part(out, "; released ", verdict_below_released_put, v);
	put_part(out, "; timed: ", verdict_below_functions_put, v);
	put_part(out, "; ", verdict_below_differential_put, v);
	put_part(out, "; ", verdict_budget_put, v);
	put_part(out, "; ", verdict_unlearned_put, v);
}

static bool
is_usual_wait(const json_t *v)
{
	const json_t *pool = json_object_get(v, "pool");

	return is_word(pool, "state", "usual") || is_word(pool, "state", "waiting");
}

static bool
lacks_ground(const json_t *v)
{
	return is_word(v, "ground", "processor") || is_word(v, "ground", "none");
}

/* The sure verdict with the largest effect of those that are usual waits, or of the others, without those that have no ground. NULL: there is
 * none, or an older Hone stored them without an effect. */
static bool
has_sure(const json_t *run)
{
	const json_t *all = json_object_get(run, "verdicts");

	for (size_t i = 0; i < json_array_size(all); i++)
		if (json_is_true(json_object_get(json_array_get(all, i), "sure")))
			return true;
	return false;
}

static const json_t *
largest_effect(const json_t *run, bool usual)
{
	const json_t *all = json_object_get(run, "verdicts"), *most = NULL;
	bool sure = has_sure(run);

	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *v = json_array_get(all, i);

		if ((!sure || json_is_true(json_object_get(v, "sure"))) &&
		    is_usual_wait(v) == usual && !lacks_ground(v) &&
		    number_of(v, "effect") > (most != NULL ? number_of(most, "effect") : 0))
			most = v;
	}
	return most;
}

void
run_compared_put(struct buf *out, const json_t *run)
{
	const json_t *with = json_object_get(run, "compared");

	if (json_is_object(with))
		buf_printf(out, "with run %.0f%s%s, when the type was said to be healthy",
		    number_of(with, "run"), is_null(with, "when") ? "" : " of ",
		    member(with, "when"));
}

static void
put_nothing_new(struct buf *out, const json_t *run)
{
	const json_t *all = json_object_get(run, "verdicts"), *most = NULL, *new = NULL;

	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *v = json_array_get(all, i), *x = json_object_get(v, "new");

		if (number_of(v, "effect") * number_of(x, "part") >
		    (most != NULL ? number_of(most, "effect") * number_of(new, "part") : 0)) {
			most = v;
			new = x;
		}
	}
	buf_printf(out, "compared ");
	run_compared_put(out, run);
	if (most == NULL)
		buf_printf(out, ", no edge carries more of the variance of requests %s",
		    member(run, "type"));
	else
		buf_printf(out,
		    ", the edge with most that is new carries %.0f %% of the variance of requests %s, of which "
		    "%.0f %% are new, and certainly %.0f %%",
		    number_of(most, "effect") * 100, member(run, "type"),
		    number_of(new, "part") * 100, number_of(new, "at_least") * 100);
}

/* Verdicts that are no place in the program, whatever their effect. Whether there is one. */
static bool
put_without_ground(struct buf *out, const json_t *run)
{
	const json_t *all = json_object_get(run, "verdicts");

	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *v = json_array_get(all, i);

		if (!lacks_ground(v))
			continue;
		buf_printf(out, "%.0f %% of the variance of requests %s lie between %s and %s: ",
		    number_of(v, "effect") * 100, member(run, "type"),
		    member(json_object_get(v, "edge"), "from"),
		    member(json_object_get(v, "edge"), "to"));
		verdict_ground_put(out, v);
		return true;
	}
	return false;
}

void
run_nothing_put(struct buf *out, const json_t *run)
{
	const json_t *wait, *edge;
	double least = number_of(run, "effect_min");

	if (!is_word(run, "state", "nothing stands out"))
		return;
	if (json_is_object(json_object_get(run, "compared"))) {
		put_nothing_new(out, run);
		return;
	}
	if ((wait = largest_effect(run, true)) != NULL) {
		buf_printf(out,
		    "%.0f %% of the variance of requests %s is that of waits for threads, as their load leads to: ",
		    number_of(wait, "effect") * 100, member(run, "type"));
		verdict_pool_put(out, wait);
	}
	edge = largest_effect(run, false);
	if (wait != NULL && edge == NULL && !has_sure(run))
		return;
	if (wait != NULL)
		buf_printf(out, "; ");
	if (put_without_ground(out, run)) {
		if (edge == NULL)
			return;
		buf_printf(out, "; ");
	}
	if (edge != NULL && number_of(edge, "effect") >= number_of(run, "effect_min")) {
		buf_printf(out,
		    "the variance is spread over several edges: the largest %sone has %.0f %% of the variance of all requests "
		    "%s; %.0f %% of one edge alone (or as much of the squared CV that would go with it), %.0f %% of each of two, "
		    "%.0f %% of all that are named, or an edge that few passages take long in, are worth mending",
		    wait != NULL ? "other " : "", number_of(edge, "effect") * 100,
		    member(run, "type"), verdict_apart(VERDICT_ALONE, least) * 100,
		    verdict_apart(VERDICT_TWO, least) * 100, verdict_together(least) * 100);
		return;
	}
	if (edge != NULL && !has_sure(run)) {
		buf_printf(out,
		    "no %sedge certainly has any of the variance of all requests %s: by %.0f requests the largest one has "
		    "%.0f %%, and %.0f %% are worth mending",
		    wait != NULL ? "other " : "", member(run, "type"),
		    number_of(json_object_get(edge, "group"), "traces"),
		    number_of(edge, "effect") * 100, number_of(run, "effect_min") * 100);
		return;
	}
	buf_printf(out,
	    "the variance is spread over several edges: no %sedge carries more than %.0f %% of the variance of "
	    "all requests %s, and %.0f %% are worth mending",
	    wait != NULL ? "other " : "", edge != NULL ? number_of(edge, "effect") * 100 : 0,
	    member(run, "type"), number_of(run, "effect_min") * 100);
}

void
run_gone_put(struct buf *out, const json_t *run)
{
	const json_t *when = json_object_get(run, "problem");

	if (!is_word(run, "state", "gone"))
		return;
	if (json_is_object(when))
		buf_printf(out,
		    "the problem was there for %.1f s, from %s to %s, and has stopped since",
		    number_of(when, "seconds"), member(when, "from"), member(when, "to"));
	else
		buf_printf(out, "the problem has stopped");
	if (member(run, "subject")[0] != '\0')
		buf_printf(out, "; it was in the edge %s", member(run, "subject"));
}

void
run_left_put(struct buf *out, const json_t *run)
{
	double left = number_of(run, "left"), effect_min = number_of(run, "effect_min");
	size_t n = json_array_size(json_object_get(run, "verdicts"));

	if (!is_word(run, "state", "found") || is_null(run, "left") || is_null(run, "causes_max"))
		return;
	buf_printf(out, "%.0f %% of the problem, ", left * 100);
	if (left < effect_min)
		buf_printf(out, "less than the %.0f %% that are worth mending", effect_min * 100);
	else if ((double)n >= number_of(run, "causes_max"))
		buf_printf(out, "not searched: %.0f cause%s asked for (--causes)",
		    number_of(run, "causes_max"),
		    number_of(run, "causes_max") == 1 ? " was" : "s were");
	else
		buf_printf(out, "spread: no other edge certainly has %.0f %%", effect_min * 100);
}

void
run_text_put(struct buf *out, const json_t *run)
{
	const json_t *v = json_object_get(run, "verdict");
	size_t begun = out->len;

	run_nothing_put(out, run);
	run_gone_put(out, run);
	if (is_word(run, "state", "baseline"))
		buf_printf(out,
		    "what the edges of %s carry in %.0f requests is kept; later diagnoses are compared with it",
		    member(run, "type"), number_of(run, "requests"));
	if (out->len != begun)
		return;

	reason_text_put(out, run, "reason");
	if (out->len == begun && json_is_object(v))
		verdict_text_put(out, run, v);
}

/* ---- for a pen ---- */

static const char *
clean(struct pen *p, struct buf *b)
{
	const char *text;

	buf_u8(b, 0);
	text = pen_clean(p, b->failed ? "" : (const char *)b->data);
	buf_release(b);
	return text;
}

const char *
text_of_put(struct pen *p, void (*put)(struct buf *out, const json_t *o), const json_t *o)
{
	struct buf b = { 0 };

	put(&b, o);
	return clean(p, &b);
}

const char *
text_of_reason(struct pen *p, const json_t *o, const char *key)
{
	struct buf b = { 0 };

	reason_text_put(&b, o, key);
	return clean(p, &b);
}

const char *
text_of_verdict(struct pen *p, const json_t *run, const json_t *v)
{
	struct buf b = { 0 };

	verdict_text_put(&b, run, v);
	return clean(p, &b);
}

const char *
text_of_end(struct pen *p, const json_t *run, const json_t *v)
{
	struct buf b = { 0 };

	verdict_end_put(&b, run, v);
	return clean(p, &b);
}

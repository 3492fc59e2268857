/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * X-Trace (Fonseca et al., NSDI '07), as its server hands tasks out: an array of
 *
 *	{ "id": "...", "reports": [ { "X-Trace": ["19" task id, event id], "Edge": [event id...],
 *	  "Timestamp": ["1364279963.124"], "Agent": [..], "Class": [..], "Label": [..], "Host":
 *[..], "ProcessID": ["26617@gimli"], "ThreadID": ["1"], ...what the program adds } ... ] }
 *
 * Reports are events of a happens-before graph (dag.h), not spans. A label is "agent/class:label",
 * with ids replaced (label_text.h). A report without a label has its operation and source position
 * in its place: "filewrite(BlockReceiver.java:572)".
 *
 * Timestamps have milliseconds, which is too coarse to order events. If all reports of a host have
 * "HRT" (nanoseconds of its steady clock), times are HRT plus the offset between the two clocks.
 * Timestamps are truncated, so the largest difference is nearest to the offset.
 */
#define _GNU_SOURCE
#include <string.h>

#include "formats/dag.h"
#include "formats/span_names.h"
#include "formats/typed.h"
#include "formats/label_text.h"
#include "base/hash_map.h"

enum {
	/* of events, and of ids that they name; the memory limit is normally reached before */
	EVENTS_MAX = 1 << 28,
	ID_DIGITS = 16,
	SERVICE_MAX = 96,
	CLASS_MAX = 128,
	/* Ten ticks of a timestamp. If a host's clocks are apart by sums that differ by more, one
	 * was set, or its processes' steady clocks are not the same. */
	APART_MAX_NS = 10000000
};

enum word {
	METADATA,
	EDGE,
	TIMESTAMP,
	HRT,
	AGENT,
	CLASS,
	LABEL,
	OPERATION,
	SOURCE,
	HOST,
	PROCESS,
	THREAD,
	KNOWN
};

#define WORD(s)                 \
	{                       \
		s, sizeof s - 1 \
	}
static const struct text_view KEYS[KNOWN] = { WORD("X-Trace"), WORD("Edge"), WORD("Timestamp"),
	WORD("HRT"), WORD("Agent"), WORD("Class"), WORD("Label"), WORD("Operation"), WORD("Source"),
	WORD("Host"), WORD("ProcessID"), WORD("ThreadID") };
static const struct text_view PASSED_OVER[] = { WORD("version"), WORD("ThreadName"), WORD("Option"),
	WORD("NumOptions") };

struct xtrace_host { /* differences of its two clocks */
	int64_t least_ns, most_ns;
	bool without; /* a report has no HRT */
};

struct xtrace_report {
	struct text_view known[KNOWN];
	uint32_t nfields;
	struct text_view names[RECORD_VALUES_MAX], fields[RECORD_VALUES_MAX];
	uint32_t before, nbefore;
};

struct xtrace {
	struct reading *r;
	struct input *in;
	struct json j;
	struct arena arena;              /* of the task at hand: values */
	struct buf events, hrts, before; /* struct dag_event, int64_t, uint64_t */
	struct label_text label;
	struct map hosts; /* by node + 1 */
	struct trace_id task;
	uint32_t nevents;
	bool has_task, lossy;
};

static struct text_view
first_text(struct xtrace *x)
{
	struct text_view ret = { 0 }, value;
	bool have = false;

	if (json_next(&x->j) != JSON_ARRAY) {
		json_text(&x->j, &ret);
		return ret;
	}
	json_enter_array(&x->j);
	while (json_element(&x->j))
		if (!have && (have = json_text(&x->j, &value)))
			ret = value;
	return ret;
}

/* Ids have 8 bytes; all zeroes means none. */
static void
read_edges(struct xtrace *x, struct xtrace_report *p)
{
	struct text_view id;
	uint64_t v;

	if (!json_enter_array(&x->j))
		return;
	while (json_element(&x->j))
		if (json_text(&x->j, &id) && (v = span_id_of(id.s, id.len)) != 0) {
			buf_bytes(&x->before, &v, sizeof v);
			p->nbefore++;
		}
}

/* Which of the n words it is; n: none. */
static uint32_t
word_of(struct text_view key, const struct text_view *words, uint32_t n)
{
	uint32_t k = 0;

	while (k < n && (words[k].len != key.len || memcmp(words[k].s, key.s, key.len) != 0))
		k++;
	return k;
}

static bool
passed_over(struct text_view key)
{
	uint32_t n = sizeof PASSED_OVER / sizeof *PASSED_OVER;

	return key.len == 0 || word_of(key, PASSED_OVER, n) < n;
}

static void
read_report(struct xtrace *x, struct xtrace_report *p)
{
	struct text_view key;

	p->before = (uint32_t)(x->before.len / sizeof(uint64_t));
	p->nbefore = p->nfields = 0;
	memset(p->known, 0, sizeof p->known);
	while (json_key(&x->j, &key)) {
		uint32_t k = word_of(key, KEYS, KNOWN);

		if (k == EDGE) {
			read_edges(x, p);
		} else if (k < KNOWN) {
			p->known[k] = first_text(x);
		} else if (p->nfields < RECORD_VALUES_MAX && !passed_over(key)) {
			p->names[p->nfields] = key;
			p->fields[p->nfields++] = first_text(x);
		}
	}
}

/* "1364279963.124" seconds, or "1384989797493" milliseconds: seconds of that size come after the
 * year 5000. */
static bool
timestamp_ns(struct text_view s, int64_t *ret)
{
	const char *point = s.len > 0 ? memchr(s.s, '.', s.len) : NULL;
	size_t whole = point != NULL ? (size_t)(point - s.s) : s.len;
	int64_t scale = 1000000000, fraction = 0;

	if (whole == 0 || !json_number_int(s.s, whole, ret))
		return false;
	if (point == NULL && *ret >= 100000000000)
		scale = 1000000;
	for (size_t i = whole + 1, unit = 100000000; i < s.len; i++, unit /= 10) {
		if (s.s[i] < '0' || s.s[i] > '9')
			return false;
		fraction += (int64_t)unit * (s.s[i] - '0');
	}
	return *ret >= 0 && !__builtin_mul_overflow(*ret, scale, ret) &&
	       !__builtin_add_overflow(*ret, fraction, ret);
}

/* Task and event of "19" + task id + event id: the first byte is 0x10, 0x08 for event ids of 8
 * bytes instead of 4, and how long the task's is: 4, 8, 12 or 20 bytes. What may follow are
 * options. */
static bool
split_metadata(struct text_view s, struct text_view *task, struct text_view *event)
{
	static const uint8_t TASK_DIGITS[4] = { 8, 16, 24, 40 };
	uint32_t low, n;

	if (s.len < 2 || strchr("0123456789abcdefABCDEF", s.s[1]) == NULL)
		return false;
	low = (uint32_t)(s.s[1] <= '9' ? s.s[1] - '0' : (s.s[1] | 0x20) - 'a' + 10);
	n = TASK_DIGITS[low & 3];
	*task = (struct text_view){ s.s + 2, n };
	*event = (struct text_view){ s.s + 2 + n, (low & 8) != 0 ? ID_DIGITS : ID_DIGITS / 2 };
	return s.len >= 2 + n + event->len;
}

static void
put_service(struct label_text *to, struct text_view agent)
{
	if (agent.len == 0)
		agent = (struct text_view){ "unknown", 7 };
	label_text_general(to, agent, SERVICE_MAX);
	for (uint32_t i = 0; i < to->len; i++)
		if (to->s[i] == '/')
			to->s[i] = '.';
	label_text_char(to, '/');
}

static void
write_label(struct label_text *to, const struct xtrace_report *p)
{
	uint32_t class;

	to->len = 0;
	put_service(to, p->known[AGENT]);
	class = to->len;
	label_text_bytes(to, p->known[CLASS], CLASS_MAX);
	for (uint32_t i = class; i < to->len; i++)
		if (to->s[i] == ':')
			to->s[i] = '.';
	if (text_is(p->known[CLASS], "hone")) /* hone: is reserved for structure events */
		label_text_char(to, '_');
	label_text_char(to, ':');
	if (p->known[LABEL].len > 0) {
		label_text_general(to, p->known[LABEL], LABEL_TEXT_MAX);
	} else {
		label_text_bytes(to, p->known[OPERATION], CLASS_MAX / 2);
		label_text_char(to, '(');
		label_text_bytes(to, p->known[SOURCE], CLASS_MAX / 2);
		label_text_char(to, ')');
	}
	text_clean(to->s, to->len);
}

/* A copy that is UTF-8. NULL: out of memory. */
static char *
clean_copy(struct arena *a, const char *s, size_t len)
{
	char *copy = arena_text(a, s, len);

	if (copy != NULL)
		text_clean(copy, len);
	return copy;
}

/* The label of a report, with the fields of its first report. LABEL_NONE: out of memory. */
static uint32_t
label_of(struct xtrace *x, const struct xtrace_report *p)
{
	static const struct text_view other = WORD("(other)/(other):(other)");
	struct labels *labels = reading_labels(x->r);
	const char *names[RECORD_VALUES_MAX];
	struct arena a = { 0 };
	uint32_t ret;
	bool ok = true;

	write_label(&x->label, p);
	ret = labels_find(labels, x->label.s, x->label.len);
	if (ret == LABEL_NONE &&
	    (labels_count(labels) >= SPAN_NAMES_MAX || !reading_name_room(x->r, x->label.len))) {
		reading_skip(x->r, SKIP_NAMES, x->in, "%.*s", (int)x->label.len, x->label.s);
		x->label.len = 0;
		label_text_bytes(&x->label, other, UINT32_MAX);
		ret = labels_find(labels, x->label.s, x->label.len);
	}
	if (ret != LABEL_NONE)
		return ret;
	for (uint32_t i = 0; ok && i < p->nfields; i++)
		ok = (names[i] = clean_copy(&a, p->names[i].s, p->names[i].len)) != NULL;
	if (ok)
		ret = labels_intern(
		    labels, RECORD_POINT, x->label.s, x->label.len, names, p->nfields);
	arena_release(&a);
	return ret;
}

/* The report's field of that name, looked for from `at` on: as a rule fields come in the same
 * order. TRACE_NONE: none. */
static uint32_t
find_field(const struct xtrace_report *p, const char *name, uint32_t at)
{
	size_t len = strlen(name);

	for (uint32_t tried = 0; tried < p->nfields; tried++, at++) {
		if (at >= p->nfields)
			at = 0;
		if (p->names[at].len == len && memcmp(p->names[at].s, name, len) == 0)
			return at;
	}
	return TRACE_NONE;
}

/* The fields that the label has, as far as the report has them. */
static int
keep_values(struct xtrace *x, const struct xtrace_report *p, struct dag_event *v, struct err *e)
{
	const struct label *label = labels_get(reading_labels(x->r), v->label);
	struct value *values = arena_calloc(&x->arena, label->nfields, sizeof *values);
	bool ok = values != NULL;

	for (uint32_t i = 0, at = 0; ok && i < label->nfields; i++) {
		uint32_t field = find_field(p, label->fields[i], at);

		if (field == TRACE_NONE)
			continue;
		at = field + 1;
		values[i] = typed_value(p->fields[field]);
		ok = values[i].type != VALUE_TEXT || (values[i].text = clean_copy(&x->arena,
							  values[i].text, values[i].len)) != NULL;
	}
	v->values = values;
	v->nvalues = label->nfields;
	return ok ? 0 : err_set(e, ERR_MEMORY, "no memory for the fields of a report");
}

/* "26617@gimli" */
static uint32_t
leading_number(struct text_view s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s.len && i < 10 && s.s[i] >= '0' && s.s[i] <= '9'; i++)
		n = n * 10 + (uint64_t)(s.s[i] - '0');
	return n <= UINT32_MAX ? (uint32_t)n : 0;
}

/* Updates the clock differences of the report's host. False: out of memory. */
static bool
compare_clocks(struct xtrace *x, const struct dag_event *v, bool has_hrt, int64_t hrt_ns)
{
	struct xtrace_host *h = map_get(&x->hosts, (uint64_t)v->node + 1);
	int64_t apart;

	if (h == NULL) {
		if ((h = arena_alloc(&x->arena, sizeof *h)) == NULL ||
		    !map_put(&x->hosts, (uint64_t)v->node + 1, h))
			return false;
		*h = (struct xtrace_host){ INT64_MAX, INT64_MIN, false };
	}
	if (!has_hrt || __builtin_sub_overflow(v->time_ns, hrt_ns, &apart)) {
		h->without = true;
		return true;
	}
	h->least_ns = apart < h->least_ns ? apart : h->least_ns;
	h->most_ns = apart > h->most_ns ? apart : h->most_ns;
	return true;
}

static void
fail(struct xtrace *x, enum skip why, const char *words)
{
	reading_skip(x->r, why, x->in, "%s", words);
}

/* Adds the report to the task; an incomplete one is counted. */
static int
keep_report(struct xtrace *x, const struct xtrace_report *p, struct err *e)
{
	struct dag_event v = { .before = p->before, .nbefore = p->nbefore };
	struct text_view task, event;
	int64_t hrt_ns = 0;
	bool has_hrt = p->known[HRT].len > 0 &&
	               json_number_int(p->known[HRT].s, p->known[HRT].len, &hrt_ns);
	int rc;

	if (!split_metadata(p->known[METADATA], &task, &event) ||
	    !timestamp_ns(p->known[TIMESTAMP], &v.time_ns)) {
		fail(x, SKIP_INCOMPLETE, "a report without an id or a time");
		return 0;
	}
	v.id = span_id_of(event.s, event.len);
	v.label = label_of(x, p);
	v.node = reading_node(x->r, p->known[HOST].s, p->known[HOST].len);
	v.pid = leading_number(p->known[PROCESS]);
	v.tid = leading_number(p->known[THREAD]);
	if (v.label == LABEL_NONE || v.node == UINT32_MAX ||
	    !compare_clocks(x, &v, has_hrt, hrt_ns))
		return err_set(e, ERR_MEMORY, "no memory for a report");
	if ((rc = keep_values(x, p, &v, e)) != 0)
		return rc;
	if (!x->has_task)
		x->task = trace_id_of(task.s, task.len);
	x->has_task = true;
	x->nevents++;
	buf_bytes(&x->events, &v, sizeof v);
	buf_bytes(&x->hrts, &hrt_ns, sizeof hrt_ns);
	return 0;
}

static bool
has_room(const struct xtrace *x)
{
	size_t max = reading_options(x->r)->memory_max_bytes;

	return x->arena.total_bytes + x->events.len + x->hrts.len + x->before.len < max &&
	       x->nevents < EVENTS_MAX && x->before.len / sizeof(uint64_t) < EVENTS_MAX;
}

/* Takes the next element, which should be a report. */
static int
take_report(struct xtrace *x, struct err *e)
{
	struct json *j = &x->j;
	struct xtrace_report p;
	int rc = 0;

	if (!has_room(x)) {
		fail(x, SKIP_OVERSIZE, "a report of a task that is too large to be held");
		x->lossy = true;
		json_skip(j);
		return 0;
	}
	json_hold(j);
	if (json_enter_object(j)) {
		read_report(x, &p);
		if (j->code == 0)
			rc = keep_report(x, &p, e);
	} else if (j->code == 0) {
		fail(x, SKIP_MALFORMED, "a report that is not a JSON object");
	}
	json_release(j);
	return rc;
}

static int
read_reports(struct xtrace *x, struct err *e)
{
	struct json *j = &x->j;
	uint32_t depth = j->depth;
	int rc = 0;

	do {
		while (rc >= 0 && json_element(j))
			rc = take_report(x, e);
		x->lossy |= j->code != 0;
	} while (rc >= 0 && j->code != 0 && (rc = json_trouble(j, x->r, depth, e)) > 0);
	return rc < 0 ? rc : 0;
}

/* ---- a task ---- */

/* Replaces timestamps by HRT where a host's clocks agree. Needs all reports of the task. */
static void
refine_times(struct xtrace *x, struct dag_event *events)
{
	const int64_t *hrts = (const int64_t *)x->hrts.data;

	for (uint32_t i = 0; i < x->nevents; i++) {
		const struct xtrace_host *h = map_get(&x->hosts, (uint64_t)events[i].node + 1);

		if (!h->without && h->most_ns - h->least_ns <= APART_MAX_NS)
			events[i].time_ns = hrts[i] + h->most_ns;
	}
}

static void
count_lot(struct xtrace *x, enum skip why, uint64_t n, const char *words)
{
	if (n == 0)
		return;
	reading_skip(
	    x->r, why, x->in, "%s, in task %016llx", words, (unsigned long long)x->task.low);
	reading_count(x->r)->skipped[why].count += n - 1;
}

/* The labels of the request, by its first event's: "agent/hone:request_begin(words)". */
static uint32_t
request_label(struct xtrace *x, enum record_kind kind, const struct label *first)
{
	const char *words = memchr(first->event, ':', first->event_len);
	const char *name = kind == RECORD_REQUEST_BEGIN ? "/hone:request_begin("
	                                                : "/hone:request_end(";

	x->label.len = 0;
	label_text_bytes(
	    &x->label, (struct text_view){ first->text, first->service_len }, SERVICE_MAX);
	label_text_bytes(&x->label, (struct text_view){ name, (uint32_t)strlen(name) }, UINT32_MAX);
	label_text_bytes(&x->label,
	    (struct text_view){
		words + 1, (uint32_t)(first->event + first->event_len - (words + 1)) },
	    LABEL_TEXT_MAX - x->label.len - 1);
	label_text_char(&x->label, ')');
	text_clean(x->label.s, x->label.len);
	return labels_intern(reading_labels(x->r), kind, x->label.s, x->label.len, NULL, 0);
}

static int
hand_out(struct xtrace *x, struct err *e)
{
	struct dag d = { .events = (const struct dag_event *)x->events.data,
		.nevents = x->nevents,
		.before = (const uint64_t *)x->before.data };
	const struct label *first;
	uint32_t begin, end;
	struct trace *t;
	int rc;

	refine_times(x, (struct dag_event *)x->events.data);
	if ((rc = dag_order(&d, &x->arena, e)) != 0)
		return rc;
	count_lot(x, SKIP_DUPLICATE, d.duplicates, "reports whose id occurred before");
	count_lot(x, SKIP_ORPHAN, d.missing, "edges from events that are missing");
	count_lot(x, SKIP_CYCLE, d.cycles, "edges that close a cycle");
	count_lot(x, SKIP_SELF_PARENT, d.selves, "edges from events to themselves");
	first = labels_get(reading_labels(x->r), d.events[d.first].label);
	begin = request_label(x, RECORD_REQUEST_BEGIN, first);
	end = request_label(x, RECORD_REQUEST_END, first);
	if (begin == LABEL_NONE || end == LABEL_NONE)
		return err_set(e, ERR_MEMORY, "no memory for a label");
	if ((rc = dag_trace(&t, &d, x->task, begin, end, reading_labels(x->r), &x->arena, e)) != 0)
		return rc;
	t->lossy |= x->lossy;
	reading_count(x->r)->events += d.norder;
	return reading_trace(x->r, t, e);
}

/* Hands out the current task, if any, and discards it. */
static int
end_task(struct xtrace *x, struct err *e)
{
	int rc = 0;

	if (x->events.failed || x->hrts.failed || x->before.failed)
		rc = err_set(e, ERR_MEMORY, "no memory for a task");
	else if (x->nevents > 0)
		rc = hand_out(x, e);
	buf_reset(&x->events);
	buf_reset(&x->hrts);
	buf_reset(&x->before);
	map_release(&x->hosts);
	arena_reset(&x->arena);
	x->nevents = 0;
	x->has_task = x->lossy = false;
	return rc;
}

/* Reads a task: an object with reports. */
static int
read_task(struct xtrace *x, struct err *e)
{
	struct json *j = &x->j;
	bool any = false;
	struct text_view key;
	int rc = 0, end_rc;

	if (!json_enter_object(j)) {
		if (j->code == 0 && !j->lost)
			fail(x, SKIP_MALFORMED, "a task that is not a JSON object");
		return 0;
	}
	while (rc == 0 && json_key(j, &key))
		if (text_is(key, "reports") && json_enter_array(j)) {
			any = true;
			rc = read_reports(x, e);
		}
	if (!any && j->code == 0 && !j->lost)
		fail(x, SKIP_MALFORMED, "an object without reports");
	x->lossy |= j->code != 0;
	end_rc = end_task(x, rc == 0 ? e : NULL);
	return rc != 0 ? rc : end_rc;
}

static int
read_tasks(struct xtrace *x, struct err *e)
{
	struct json *j = &x->j;
	uint32_t depth;
	int rc = 0;

	if (json_next(j) != JSON_ARRAY)
		return read_task(x, e);
	json_enter_array(j);
	depth = j->depth;
	do {
		while (rc >= 0 && json_element(j))
			rc = read_task(x, e);
	} while (rc >= 0 && j->code != 0 && (rc = json_trouble(j, x->r, depth, e)) > 0);
	return rc < 0 ? rc : 0;
}

static int
read_xtrace(struct reading *r, struct input *in, struct err *e)
{
	struct xtrace x = { .r = r, .in = in };
	int rc = 0;

	json_begin(&x.j, in);
	while (rc >= 0 && (json_next(&x.j) != JSON_OVER || x.j.code != 0)) {
		rc = read_tasks(&x, e);
		if (rc == 0)
			rc = json_trouble(&x.j, r, 0, e);
	}
	json_end(&x.j);
	buf_release(&x.events);
	buf_release(&x.hrts);
	buf_release(&x.before);
	arena_release(&x.arena);
	return rc < 0 ? rc : 0;
}

static int
sniff_xtrace(const char *head, size_t len)
{
	return memmem(head, len, "\"X-Trace\"", 9) != NULL &&
	               memmem(head, len, "\"reports\"", 9) != NULL
	           ? 90
	           : 0;
}

const struct format format_xtrace = {
	.name = "xtrace",
	.what = "X-Trace reports in JSON",
	.resolution_ns = 1000000,
	.sniff = sniff_xtrace,
	.read = read_xtrace,
};

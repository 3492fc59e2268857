/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * uint and int are varints, text is a varint length and bytes (base/buf.h).
 *
 *	hello     node text | incarnation u64 | first_seq uint | version text | clock int, ns
 *	welcome   have_seq uint
 *	clock     asked int, ns | came int, ns | went int, ns
 *	status    QUEUES x double | LOSS_REASONS x uint | records uint | batches uint | mapped uint |
 *	          dropped uint | inherent uint | cpu int, us | tracer cpu int, us | memory int | ring int | files int |
 *	          sent uint | programs uint | added uint | epoch uint | record double, ns |
 *	          rejected double, ns | flags u8: 1 shed, 2 tracer ok, 4 guard ok | shed_by u8 | trouble |
 *	          below u8 | can uint | missing text | fullest text | its pid uint |
 *	          kernel u8 | its processes uint | requests uint | lossy uint | events a second double | missing text |
 *	          recorder uint | its bytes int | records uint | written uint | snapshots uint | refused uint | missing text
 *	trouble   kind u8 | subject text | text | seconds double | bytes uint | times uint | pid uint
 *	programs  nnames uint | nprograms uint | nnames x (text, level u8) |
 *	          nprograms x (service text, pid uint, first uint, count uint)
 */
#include "wire/below.h"
#include "wire/agent_messages.h"

#include <assert.h>

#include "wire/loglevel.h"
#include "wire/message_fields.h"

enum { VERSION_TEXT_MAX = 255, TROUBLE_TEXT_MAX = 4096, NAME_MAX_BYTES = 255 };
enum { NAME_MIN_BYTES = 5, PROGRAM_MIN_BYTES = 6 };
enum { FLAG_SHED = 1, FLAG_TRACER_OK = 2, FLAG_GUARD_OK = 4, FLAGS_ALL = 7 };

const char *
queue_name(enum queue q)
{
	static const char *const NAMES[QUEUES] = { [QUEUE_RING] = "ring",
		[QUEUE_FILES] = "files",
		[QUEUE_AGENT] = "agent",
		[QUEUE_LINK] = "link" };

	assert(q < QUEUES);
	return NAMES[q];
}

const char *
trouble_kind_word(enum trouble_kind k)
{
	static const char *const WORDS[NODE_TROUBLE_KINDS] = {
#define TROUBLE(name, number, word, text) [number] = word,
#include "wire/troubles.tbl.h"
#undef TROUBLE
	};

	assert(k < NODE_TROUBLE_KINDS);
	return WORDS[k];
}

#define SECONDS_MAX 1e10            /* 300 years: more is malformed */
#define EVENTS_MAX 1e12             /* a second */
#define COST_MAX_NS 1e9             /* 1 s a record: more is malformed */
#define TIME_MAX_NS (INT64_MAX / 4) /* 73 years since the machine started: more is malformed */

/* ---- hello, welcome, clock ---- */

static bool
take_time(int64_t *ret, struct reader *r)
{
	*ret = read_int(r);
	return !r->failed && *ret >= 0 && *ret <= TIME_MAX_NS;
}

void
hello_encode(const struct hello *h, struct buf *b)
{
	put_name(b, h->node, NODE_NAME_MAX);
	buf_u64(b, h->incarnation);
	buf_uint(b, h->first_seq);
	put_name(b, h->version, VERSION_TEXT_MAX);
	buf_int(b, h->clock_ns);
}

int
hello_decode(struct hello *ret, struct arena *a, const void *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	struct hello h = { 0 };
	int rc;

	if ((rc = take_name(&h.node, &r, a, NODE_NAME_MAX)) != 0)
		return err_set(e, rc, "hello: the node's name must have 1 to %d printable bytes",
		    NODE_NAME_MAX);
	h.incarnation = read_u64(&r);
	h.first_seq = read_uint(&r);
	if ((rc = take_text(&h.version, &r, a, VERSION_TEXT_MAX)) != 0)
		return err_set(
		    e, rc, "hello: cut off, or its version over %d bytes", VERSION_TEXT_MAX);
	if (!take_time(&h.clock_ns, &r))
		return err_set(e, ERR_INPUT, "hello: cut off, or its clock is out of range");
	if ((rc = take_end(&r, "hello", e)) != 0)
		return rc;
	*ret = h;
	return 0;
}

void
welcome_encode(const struct welcome *w, struct buf *b)
{
	buf_uint(b, w->have_seq);
}

int
welcome_decode(struct welcome *ret, const void *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	struct welcome w = { .have_seq = read_uint(&r) };
	int rc = take_end(&r, "welcome", e);

	if (rc == 0)
		*ret = w;
	return rc;
}

void
clock_encode(const struct clock_echo *c, struct buf *b)
{
	buf_int(b, c->asked_ns);
	buf_int(b, c->came_ns);
	buf_int(b, c->went_ns);
}

int
clock_decode(struct clock_echo *ret, const void *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	struct clock_echo c;

	if (!take_time(&c.asked_ns, &r) || !take_time(&c.came_ns, &r) ||
	    !take_time(&c.went_ns, &r) || c.went_ns < c.came_ns)
		return err_set(e, ERR_INPUT, "clock: cut off, or a time is out of range");
	if (take_end(&r, "clock", e) != 0)
		return ERR_INPUT;
	*ret = c;
	return 0;
}

/* ---- status ---- */

static void
put_trouble(struct buf *b, const struct node_trouble *t)
{
	assert(t->kind < NODE_TROUBLE_KINDS);
	buf_u8(b, (uint8_t)t->kind);
	put_name(b, t->subject, TROUBLE_TEXT_MAX);
	put_name(b, t->text, TROUBLE_TEXT_MAX);
	buf_double(b, t->seconds);
	buf_uint(b, t->bytes);
	buf_uint(b, t->times);
	buf_uint(b, t->pid);
	buf_uint(b, t->user);
}

static int
take_trouble(struct node_trouble *t, struct reader *r, struct arena *a, struct err *e)
{
	uint8_t kind = read_u8(r);
	uint64_t times, pid, user;
	int rc;

	if ((rc = take_text(&t->subject, r, a, TROUBLE_TEXT_MAX)) != 0 ||
	    (rc = take_text(&t->text, r, a, TROUBLE_TEXT_MAX)) != 0)
		return err_set(e, rc, "status: cut off, or a text of its trouble over %d bytes",
		    TROUBLE_TEXT_MAX);
	t->seconds = read_double(r);
	t->bytes = read_uint(r);
	times = read_uint(r);
	pid = read_uint(r);
	user = read_uint(r);
	if (kind >= NODE_TROUBLE_KINDS || !(t->seconds >= 0 && t->seconds <= SECONDS_MAX) ||
	    times > UINT32_MAX || pid > UINT32_MAX || user > UINT32_MAX)
		return err_set(e, ERR_INPUT, "status: its trouble is out of range");
	t->kind = (enum trouble_kind)kind;
	t->times = (uint32_t)times;
	t->pid = (uint32_t)pid;
	t->user = (uint32_t)user;
	return 0;
}

void
status_encode(const struct status *s, struct buf *b)
{
	assert(s->shed_by < QUEUES);
	for (int i = 0; i < QUEUES; i++)
		buf_double(b, s->fill[i]);
	for (int i = 0; i < LOSS_REASONS; i++)
		buf_uint(b, s->lost[i]);
	buf_uint(b, s->records);
	buf_uint(b, s->batches);
	buf_uint(b, s->mapped);
	buf_uint(b, s->dropped);
	buf_uint(b, s->inherent);
	buf_int(b, s->cpu_us);
	buf_int(b, s->tracer_cpu_us);
	buf_int(b, s->switch_cpu_us);
	buf_int(b, s->below_cpu_us);
	buf_int(b, s->memory_bytes);
	buf_int(b, s->ring_bytes);
	buf_int(b, s->files_bytes);
	buf_uint(b, s->sent_bytes);
	buf_uint(b, s->programs);
	buf_uint(b, s->added);
	buf_uint(b, s->epoch);
	buf_double(b, s->record_ns);
	buf_double(b, s->rejected_ns);
	buf_u8(b, (s->shed ? FLAG_SHED : 0) | (s->tracer_ok ? FLAG_TRACER_OK : 0) |
		      (s->guard_ok ? FLAG_GUARD_OK : 0));
	buf_u8(b, (uint8_t)s->shed_by);
	put_trouble(b, &s->trouble);
	buf_u8(b, (uint8_t)s->below);
	buf_uint(b, s->below_can);
	put_name(b, s->below_missing, BELOW_MISSING_MAX);
	put_name(b, s->fullest, NODE_NAME_MAX);
	buf_uint(b, s->fullest_pid);
	buf_u8(b, s->kernel);
	buf_uint(b, s->kernel_processes);
	buf_uint(b, s->kernel_requests);
	buf_uint(b, s->kernel_lossy);
	buf_double(b, s->kernel_events_per_s);
	put_name(b, s->kernel_missing, BELOW_MISSING_MAX);
	buf_uint(b, s->recorder);
	buf_int(b, s->recorder_bytes);
	buf_uint(b, s->recorder_records);
	buf_uint(b, s->recorder_written);
	buf_uint(b, s->recorder_snapshots);
	buf_uint(b, s->recorder_refused);
	put_name(b, s->recorder_missing, BELOW_MISSING_MAX);
}

static int
take_fills(struct status *s, struct reader *r, struct err *e)
{
	for (int i = 0; i < QUEUES; i++)
		if (!take_share(&s->fill[i], r))
			return err_set(
			    e, ERR_INPUT, "status: the fill of queue %d is not between 0 and 1", i);
	return 0;
}

static int
take_flags(struct status *s, struct reader *r, struct err *e)
{
	uint8_t flags = read_u8(r), shed_by = read_u8(r);

	if (flags > FLAGS_ALL || shed_by >= QUEUES)
		return err_set(e, ERR_INPUT, "status: a number is out of range");
	s->shed = flags & FLAG_SHED;
	s->shed_by = (enum queue)shed_by;
	s->tracer_ok = flags & FLAG_TRACER_OK;
	s->guard_ok = flags & FLAG_GUARD_OK;
	return 0;
}

const char *
below_on_node_word(enum below_on_node s)
{
	static const char *const WORDS[] = { "none", "unknown", "cannot", "ready", "active" };

	return WORDS[(unsigned)s < BELOW_NODE_STATES ? s : BELOW_NODE_UNKNOWN];
}

static int
take_below(struct status *s, struct reader *r, struct arena *a, struct err *e)
{
	uint8_t state = read_u8(r);
	uint64_t can = read_uint(r);
	int rc = take_text(&s->below_missing, r, a, BELOW_MISSING_MAX);

	if (rc != 0 || state >= BELOW_NODE_STATES || (can & ~(uint64_t)BELOW_CAN_FLAGS) != 0)
		return err_set(e, rc != 0 ? rc : ERR_INPUT,
		    "status: cut off, or what it can do below is out of range");
	s->below = (enum below_on_node)state;
	s->below_can = (uint32_t)can;
	return 0;
}

static int
take_fullest(struct status *s, struct reader *r, struct arena *a, struct err *e)
{
	int rc = take_text(&s->fullest, r, a, NODE_NAME_MAX);
	uint64_t pid = read_uint(r);

	if (rc != 0 || pid > UINT32_MAX)
		return err_set(e, rc != 0 ? rc : ERR_INPUT,
		    "status: cut off, or the program of the fullest ring buffer is out of range");
	s->fullest_pid = (uint32_t)pid;
	return 0;
}

static int
take_kernel(struct status *s, struct reader *r, struct arena *a, struct err *e)
{
	uint8_t on = read_u8(r);
	uint64_t processes = read_uint(r);
	int rc;

	s->kernel_requests = read_uint(r);
	s->kernel_lossy = read_uint(r);
	s->kernel_events_per_s = read_double(r);
	rc = take_text(&s->kernel_missing, r, a, BELOW_MISSING_MAX);
	if (rc != 0 || on > 1 || processes > UINT32_MAX ||
	    !(s->kernel_events_per_s >= 0 && s->kernel_events_per_s <= EVENTS_MAX))
		return err_set(e, rc != 0 ? rc : ERR_INPUT,
		    "status: cut off, or what is followed by kernel events is out of range");
	s->kernel = on;
	s->kernel_processes = (uint32_t)processes;
	return 0;
}

static int
take_recorder(struct status *s, struct reader *r, struct arena *a, struct err *e)
{
	uint64_t rules = read_uint(r);
	int rc;

	s->recorder_bytes = read_int(r);
	s->recorder_records = read_uint(r);
	s->recorder_written = read_uint(r);
	s->recorder_snapshots = read_uint(r);
	s->recorder_refused = read_uint(r);
	rc = take_text(&s->recorder_missing, r, a, BELOW_MISSING_MAX);
	if (rc != 0 || rules > UINT32_MAX || s->recorder_bytes < 0)
		return err_set(e, rc == ERR_MEMORY ? rc : ERR_INPUT,
		    "status: cut off, or what the flight recorder has is out of range");
	s->recorder = (uint32_t)rules;
	return 0;
}

int
status_decode(struct status *ret, struct arena *a, const void *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	struct status s = { 0 };
	uint64_t programs, added;
	int rc;

	if ((rc = take_fills(&s, &r, e)) != 0)
		return rc;
	for (int i = 0; i < LOSS_REASONS; i++)
		s.lost[i] = read_uint(&r);
	s.records = read_uint(&r);
	s.batches = read_uint(&r);
	s.mapped = read_uint(&r);
	s.dropped = read_uint(&r);
	s.inherent = read_uint(&r);
	s.cpu_us = read_int(&r);
	s.tracer_cpu_us = read_int(&r);
	s.switch_cpu_us = read_int(&r);
	s.below_cpu_us = read_int(&r);
	s.memory_bytes = read_int(&r);
	s.ring_bytes = read_int(&r);
	s.files_bytes = read_int(&r);
	s.sent_bytes = read_uint(&r);
	programs = read_uint(&r);
	added = read_uint(&r);
	if (programs > UINT32_MAX || added > UINT32_MAX)
		return err_set(e, ERR_INPUT, "status: a number is out of range");
	s.programs = (uint32_t)programs;
	s.added = (uint32_t)added;
	s.epoch = read_uint(&r);
	s.record_ns = read_double(&r);
	s.rejected_ns = read_double(&r);
	if (!(s.rejected_ns >= 0 && s.rejected_ns <= s.record_ns && s.record_ns <= COST_MAX_NS))
		return err_set(e, ERR_INPUT, "status: the cost of a record is out of range");
	if ((rc = take_flags(&s, &r, e)) != 0)
		return rc;
	if ((rc = take_trouble(&s.trouble, &r, a, e)) != 0)
		return rc;
	if ((rc = take_below(&s, &r, a, e)) != 0 || (rc = take_fullest(&s, &r, a, e)) != 0 ||
	    (rc = take_kernel(&s, &r, a, e)) != 0 || (rc = take_recorder(&s, &r, a, e)) != 0)
		return rc;
	if ((rc = take_end(&r, "status", e)) != 0)
		return rc;
	*ret = s;
	return 0;
}

/* ---- programs ---- */

const char *
lever_word(enum lever l)
{
	static const char *const words[LEVERS] = {
#define LEVER(name, word) [LEVER_##name] = word,
#include "wire/levers.tbl.h"
#undef LEVER
	};

	assert(l < LEVERS);
	return words[l];
}

void
programs_encode(const struct programs *p, struct buf *b)
{
	assert(p->nnames == 0 || p->names != NULL);
	assert(p->nprograms == 0 || p->programs != NULL);
	buf_uint(b, p->nnames);
	buf_uint(b, p->nprograms);
	for (uint32_t i = 0; i < p->nnames; i++) {
		put_name(b, p->names[i], NAME_MAX_BYTES);
		buf_u8(b, p->levels != NULL ? p->levels[i] : LOGLEVEL_NONE);
	}
	for (uint32_t i = 0; i < p->nprograms; i++) {
		put_name(b, p->programs[i].service, NAME_MAX_BYTES);
		buf_uint(b, p->programs[i].pid);
		buf_uint(b, p->programs[i].first);
		buf_uint(b, p->programs[i].count);
		buf_u8(b, p->programs[i].lever);
	}
}

static int
read_names(struct programs *p, uint8_t *levels, struct reader *r, struct arena *a, struct err *e)
{
	int rc;

	p->levels = levels;
	for (uint32_t i = 0; i < p->nnames; i++) {
		rc = take_name(&p->names[i], r, a, NAME_MAX_BYTES);
		if (rc == 0 && !is_tracepoint(p->names[i]))
			rc = ERR_INPUT;
		if (rc != 0)
			return err_set(
			    e, rc, "programs: name %u is not of the form provider:event", i);
		levels[i] = read_u8(r);
		if (r->failed || !loglevel_fits(levels[i]))
			return err_set(e, ERR_INPUT,
			    "programs: the log level of name %u is missing or out of range", i);
	}
	return 0;
}

static int
read_program(struct program *ret, uint32_t nnames, struct reader *r, struct arena *a)
{
	uint64_t pid, first, count;
	uint8_t lever;
	int rc = take_name(&ret->service, r, a, NAME_MAX_BYTES);

	assert(ret != NULL);
	if (rc != 0)
		return rc;
	pid = read_uint(r);
	first = read_uint(r);
	count = read_uint(r);
	lever = read_u8(r);
	if (r->failed || pid > UINT32_MAX || first > nnames || count > nnames - first ||
	    lever >= LEVERS)
		return ERR_INPUT;
	ret->pid = (uint32_t)pid;
	ret->first = (uint32_t)first;
	ret->count = (uint32_t)count;
	ret->lever = lever;
	return 0;
}

int
programs_decode(struct programs *ret, struct arena *a, const void *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	uint64_t nnames = read_uint(&r), nprograms = read_uint(&r);
	struct programs p = { 0 };
	uint8_t *levels;
	int rc;

	if (r.failed || nnames > TRACEPOINTS_MAX || nprograms > PROGRAMS_MAX ||
	    nnames * NAME_MIN_BYTES + nprograms * PROGRAM_MIN_BYTES > reader_left(&r))
		return err_set(e, ERR_INPUT,
		    "programs: cut off, or over %d programs or %d tracepoints", PROGRAMS_MAX,
		    TRACEPOINTS_MAX);
	p.nnames = (uint32_t)nnames;
	p.nprograms = (uint32_t)nprograms;
	p.names = arena_alloc(a, p.nnames * sizeof *p.names);
	p.programs = arena_alloc(a, p.nprograms * sizeof *p.programs);
	levels = arena_alloc(a, p.nnames * sizeof *levels);
	if (p.names == NULL || p.programs == NULL || levels == NULL)
		return err_set(
		    e, ERR_MEMORY, "programs: out of memory for %u tracepoints", p.nnames);
	if ((rc = read_names(&p, levels, &r, a, e)) != 0)
		return rc;
	for (uint32_t i = 0; i < p.nprograms; i++)
		if ((rc = read_program(&p.programs[i], p.nnames, &r, a)) != 0)
			return err_set(e, rc, "programs: program %u is malformed or cut off", i);
	if ((rc = take_end(&r, "programs", e)) != 0)
		return rc;
	*ret = p;
	return 0;
}

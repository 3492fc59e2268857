/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/reader/source_below.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/reader/source_before.h"
#include "agent/reader/record_list.h"
#include "agent/reader/source_labels.h"
#include "agent/reader/source_losses.h"
#include "base/array.h"
#include "base/hash_map.h"

#define SILENT_NS INT64_C(2000000000) /* without a mark */
#define START_NS INT64_C(10000000000) /* until the first one */
/* Without a mark, while it switches probes: the kernel does all places of a file in one call, which takes as long as that is mapped by
 * processes, seconds on a busy machine. */
#define SWITCHING_NS INT64_C(10000000000)

enum {
	LABELS_MAX = 8192,
	NAMES_MAX = 65536,
	PROCESSES_MAX = 65536, /* since it was attached */
	MESSAGES_MAX = 16384,  /* of one poll */
	PENDING_BYTES_MAX = 16 << 20,
	STACK_TEXT_MAX =
	    240, /* of a label, whose event has 255 bytes at most, and of the value owner_place */
	SERVICE_MAX = 63,
};

static const char *WAIT_FIELDS[] = { "off_ns", "ready_ns", "lock", "owner", "owner_state",
	"owner_place", "waker", "waker_trace", "waker_type", "owner_name", "owner_trace",
	"owner_type", "waker_name", "before_ns" };
_Static_assert(sizeof WAIT_FIELDS / sizeof *WAIT_FIELDS <= BEFORE_VALUES_MAX,
    "a wait before a unit is remembered");
static const char *SAMPLE_FIELDS[] = { "weight_ns", "before_ns" };
static const char *HIT_FIELDS[BELOW_VALUES_MAX] = { "arg0", "arg1", "arg2", "arg3", "arg4",
	"arg5" };

enum {
	NWAIT = sizeof WAIT_FIELDS / sizeof *WAIT_FIELDS,
	NSAMPLE = sizeof SAMPLE_FIELDS / sizeof *SAMPLE_FIELDS
};

struct named_probe { /* one that was asked for */
	const char *name;
	uint8_t word; /* as in struct below_probe */
	uint32_t
	    asked; /* number of the process that was asked, and has not answered yet; 0: none */
};

struct source_below {
	int socket; /* -1: idle */
	struct source_below_status status;
	int64_t cpu_before_us, cpu_us; /* of earlier ones; of this one */
	bool begins;       /* to follow a process, or to switch a probe, since the last poll; */
	struct mono begun; /* the last poll that found that, once in BELOW_BEGINS_EVERY_NS */
	int64_t mark_ns;   /* of this one; INT64_MIN: none yet */
	uint64_t message;  /* number of its last message; 0: none has one */
	uint64_t missing, missing_told; /* messages since its last mark, and of these, by LOST */
	struct mono heard;              /* its last mark, or when it was attached */
	int64_t attached_ns;

	struct map services; /* pid -> service, in `texts` */
	uint32_t nservices;
	struct map places; /* id of a NAME -> its stack, in `texts` */
	uint32_t nplaces;
	struct arena texts; /* since it was attached */
	struct map probes;  /* id -> struct named_probe, in `names` */
	uint32_t number;    /* of the present process, from 1 */
	uint32_t nasked;    /* probes of which it has not said yet what became of them */
	struct arena names;
	struct source_below_answers answers;
	struct source_process *programs;
	char (*program_names)[SERVICE_MAX + 1];
	uint32_t nprograms;
	uint64_t changes; /* of programs */

	struct source_labels labels;
	struct record_list pending, ready, scratch;
	struct arena arena[2]; /* values of pending, and of what the last poll returned */
	int turn;
	struct source_losses losses;
	int64_t end_ns; /* until when it has to report, while it is ending */
	int64_t watermark_ns;
	uint64_t records;
};

static void
lose(struct source_below *s, uint64_t count, int64_t from_ns, int64_t to_ns)
{
	losses_add(&s->losses, LOSS_RING, count, from_ns, to_ns);
}

/* The innermost entries of a stack, as many as fit. */
static const char *
stack_tail(const char *folded)
{
	size_t len = strlen(folded);
	const char *at;

	if (len <= STACK_TEXT_MAX)
		return folded;
	at = strchr(folded + len - STACK_TEXT_MAX, ';');
	return at != NULL ? at + 1 : folded + len - STACK_TEXT_MAX;
}

static const char *
place_of(const struct source_below *s, uint32_t id)
{
	const char *stack = id != 0 ? map_get(&s->places, id) : NULL;

	return stack != NULL ? stack : "";
}

static void
take_name(struct source_below *s, const struct below_name *n)
{
	const char *tail = stack_tail(n->folded), *stack;

	if (s->nplaces == NAMES_MAX || map_get(&s->places, n->id) != NULL)
		return;
	if ((stack = arena_text(&s->texts, tail, strlen(tail))) != NULL &&
	    map_put(&s->places, n->id, (void *)(uintptr_t)stack))
		s->nplaces++;
}

/* The label "SERVICE/below:STATE(STACK)"; when there are too many, of the stack "other". UINT32_MAX: the process is not
 * followed, or memory ran out. */
static uint32_t
label_of(struct source_below *s, enum record_kind kind, uint32_t pid, enum below_state state,
    uint32_t place, const char **fields, uint32_t nfields)
{
	const char *service = pid != 0 ? map_get(&s->services, pid) : NULL;
	const char *stack = s->labels.count < LABELS_MAX ? place_of(s, place) : "other";
	char event[STACK_TEXT_MAX + 64];

	if (service == NULL)
		return UINT32_MAX;
	snprintf(event, sizeof event, "below:%s(%s)", below_state_word(state), stack);
	return source_labels_get(&s->labels, kind, service, event, fields, nfields);
}

/* Appends the record to those that are pending, or counts it as lost. */
static void
keep(struct source_below *s, const struct record *r, int64_t from_ns)
{
	if (r->label == UINT32_MAX || r->time_ns <= s->watermark_ns ||
	    s->arena[s->turn].total_bytes > PENDING_BYTES_MAX ||
	    !record_list_copy(&s->pending, &s->arena[s->turn], r))
		lose(s, 1, from_ns, r->time_ns);
}

/* Whether it is of a thread whose request is known later. */
static bool
is_taken(struct source_below *s, const struct record *r)
{
	return r->trace_id == 0 && r->label != UINT32_MAX && s->answers.seen != NULL &&
	       s->answers.seen(s->answers.of, r, &s->labels.labels[r->label]);
}

static struct value
value_of(uint64_t u)
{
	return (struct value){ .type = VALUE_UINT, .u = u };
}

static struct value
value_of_text(const char *text)
{
	return (struct value){ .type = VALUE_TEXT, .len = (uint32_t)strlen(text), .text = text };
}

static void
take_wait(struct source_below *s, const struct below_wait *w)
{
	static const struct value none = { .type = VALUE_NONE };
	const struct value values[NWAIT] = { value_of((uint64_t)(w->end_ns - w->begin_ns)),
		value_of((uint64_t)(w->end_ns - w->woken_ns)), value_of(w->lock),
		value_of(w->owner_tid), value_of_text(below_state_word(w->owner_state)),
		value_of_text(place_of(s, w->owner_place)), value_of(w->waker_tid),
		value_of(w->waker_trace_id), value_of(w->waker_type), value_of_text(w->owner_name),
		w->owner_is_read ? value_of(w->owner_trace_id) : none,
		w->owner_is_read ? value_of(w->owner_type) : none, value_of_text(w->waker_name),
		value_of(0) };
	struct record r = { .trace_id = w->trace_id,
		.unit_id = w->unit_id,
		.time_ns = w->end_ns,
		.pid = w->pid,
		.tid = w->tid,
		.nvalues = NWAIT,
		.values = values };

	s->status.outside += w->trace_id == 0;
	r.label = label_of(s, RECORD_WAIT, w->pid, w->state, w->place, WAIT_FIELDS, NWAIT);
	if (!is_taken(s, &r))
		keep(s, &r, w->begin_ns);
}

static void
take_sample(struct source_below *s, const struct below_sample *m)
{
	const struct value values[NSAMPLE] = { value_of((uint64_t)m->weight_ns), value_of(0) };
	struct record r = { .trace_id = m->trace_id,
		.unit_id = m->unit_id,
		.time_ns = m->time_ns,
		.pid = m->pid,
		.tid = m->tid,
		.nvalues = NSAMPLE,
		.values = values };

	s->status.outside += m->trace_id == 0;
	r.label = label_of(
	    s, RECORD_SAMPLE, m->pid, BELOW_RUNNING, m->place, SAMPLE_FIELDS, NSAMPLE);
	if (!is_taken(s, &r))
		keep(s, &r, m->time_ns);
}

static void
take_hit(struct source_below *s, const struct below_hit *h)
{
	static const char *WORDS[BELOW_VALUES_MAX] = { "word0", "word1", "word2", "word3", "word4",
		"word5" };
	const char *service = h->pid != 0 ? map_get(&s->services, h->pid) : NULL;
	const struct named_probe *probe = map_get(&s->probes, h->id);
	const char *fields[BELOW_VALUES_MAX + 1];
	struct value values[BELOW_VALUES_MAX + 1];
	struct record r = { .trace_id = h->trace_id,
		.unit_id = h->unit_id,
		.time_ns = h->time_ns,
		.label = UINT32_MAX,
		.pid = h->pid,
		.tid = h->tid,
		.nvalues = h->nvalues,
		.values = values };

	for (uint32_t i = 0; i < h->nvalues; i++) {
		fields[i] = HIT_FIELDS[i];
		values[i] = (struct value){ .type = VALUE_INT, .i = h->values[i] };
	}
	if (service != NULL && probe != NULL && probe->word > 0) {
		fields[r.nvalues] = WORDS[probe->word - 1];
		values[r.nvalues++] = h->word[0] != '\0' ? value_of_text(h->word)
		                                         : (struct value){ .type = VALUE_NONE };
	}
	if (service != NULL && probe != NULL)
		r.label = source_labels_get(
		    &s->labels, RECORD_POINT, service, probe->name, fields, r.nvalues);
	keep(s, &r, h->time_ns);
}

static void
take_can(struct source_below *s, const struct below_can *c)
{
	s->status.known = true;
	s->status.can = c->flags;
	snprintf(s->status.missing, sizeof s->status.missing, "%s", c->missing);
	if (c->flags == 0) /* it will not send marks */
		s->status.state = SOURCE_BELOW_ACTIVE;
}

/* False: malformed. */
static bool
take_recorded(struct source_below *s, const struct below_message *m, struct mono now)
{
	if (m->kind == BELOW_EVENTS)
		return s->answers.events(s->answers.of, &m->events);
	if (m->kind == BELOW_RECORDING)
		s->answers.recording(s->answers.of, &m->recording, now);
	else if (m->events_mark_ns <= now.ns)
		s->answers.events_mark(s->answers.of, m->events_mark_ns);
	return true;
}

static void
note_answer(struct source_below *s, uint32_t id)
{
	struct named_probe *known = map_get(&s->probes, id);

	if (known == NULL || known->asked != s->number)
		return; /* it says by itself what it has switched off */
	known->asked = 0;
	s->nasked--;
}

/* False: a number that cannot follow the last one. */
static bool
take_number(struct source_below *s, uint64_t number)
{
	if (number == 0)
		return s->message == 0;
	if (number <= s->message)
		return false;
	s->missing += number - s->message - 1;
	s->message = number;
	return true;
}

static void
take_mark(struct source_below *s, int64_t mark_ns, struct mono now)
{
	if (s->missing > s->missing_told) /* nobody told of them */
		lose(s, s->missing - s->missing_told,
		    s->mark_ns != INT64_MIN ? s->mark_ns : s->attached_ns, now.ns);
	s->missing = s->missing_told = 0;
	if (mark_ns > s->mark_ns && mark_ns <= now.ns)
		s->mark_ns = mark_ns;
	if (s->status.state == SOURCE_BELOW_STARTING && s->status.known)
		s->status.state = SOURCE_BELOW_ACTIVE;
	s->heard = now;
}

static void
take_cost(struct source_below *s, int64_t cpu_us, struct mono now)
{
	if (cpu_us <= s->cpu_us)
		return;
	if (mono_since_ns(now, s->begun) < BELOW_BEGINS_NS)
		s->status.begin_cpu_us += cpu_us - s->cpu_us;
	s->cpu_us = cpu_us;
}

/* False: it sent what only the agent sends. */
static bool
take(struct source_below *s, const struct below_message *m, struct mono now)
{
	switch (m->kind) {
	case BELOW_CAN:
		take_can(s, &m->can);
		break;
	case BELOW_NAME:
		take_name(s, &m->name);
		break;
	case BELOW_WAIT:
		take_wait(s, &m->wait);
		break;
	case BELOW_SAMPLE:
		take_sample(s, &m->sample);
		break;
	case BELOW_HITS:
		for (uint32_t i = 0; i < m->hits.count; i++)
			take_hit(s, &m->hits.list[i]);
		break;
	case BELOW_LISTED:
		s->answers.listed(s->answers.of, &m->listed);
		break;
	case BELOW_PROBED:
		note_answer(s, m->probed.id);
		s->answers.probed(s->answers.of, &m->probed);
		break;
	case BELOW_LOST:
		lose(s, m->lost.count, m->lost.from_ns, m->lost.to_ns);
		s->missing_told += m->lost.messages;
		break;
	case BELOW_MARK:
		take_mark(s, m->mark_ns, now);
		break;
	case BELOW_COST:
		take_cost(s, m->cost_cpu_us, now);
		break;
	case BELOW_RECORDING:
	case BELOW_EVENTS:
	case BELOW_EVENTS_MARK:
		return s->answers.events != NULL && take_recorded(s, m, now);
	default:
		return false;
	}
	return true;
}

static void
detach(struct source_below *s, bool asked)
{
	if (s->socket >= 0) {
		close(s->socket);
		if (s->answers.gone != NULL)
			s->answers.gone(s->answers.of, asked);
	}
	s->socket = -1;
	s->cpu_before_us += s->cpu_us;
	s->cpu_us = 0;
	s->status.state = SOURCE_BELOW_IDLE;
	map_release(&s->services);
	map_release(&s->places);
	arena_release(&s->texts);
	s->services = s->places = (struct map){ 0 };
	s->nservices = s->nplaces = s->nasked = 0;
}

/* It has ended or sends what it must not: what it had not reported is lost. */
static void
fail(struct source_below *s, struct mono now, const char *why)
{
	bool ending = s->status.state == SOURCE_BELOW_ENDING;
	int64_t until_ns = ending ? s->end_ns : now.ns;
	struct err e;

	if (s->status.state != SOURCE_BELOW_STARTING && s->nservices > 0 && s->mark_ns < until_ns)
		lose(s, 1, s->mark_ns, until_ns);
	if (!ending) {
		err_set(&e, ERR_SYSTEM, "hone-below %s", why);
		trouble_set(&s->losses, &e);
		s->status.deaths++;
	}
	detach(s, ending);
}

/* Reads what has come; true: there may be more. */
static bool
read_messages(struct source_below *s, struct mono now)
{
	static _Thread_local uint8_t packet[BELOW_MESSAGE_MAX];
	struct arena a = { 0 };
	bool more = true;

	for (int i = 0; i < MESSAGES_MAX; i++) {
		struct below_message m;
		ssize_t n = recv(s->socket, packet, sizeof packet, MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0 && (errno == EINTR || errno == ECONNRESET))
			continue; /* reset, since it did not read all; once, before what it sent */
		if (n < 0 && errno == EAGAIN) {
			more = false;
			break;
		}
		if (n <= 0) {
			fail(s, now, "has ended");
			break;
		}
		arena_reset(&a);
		if ((size_t)n > sizeof packet ||
		    below_decode(&m, &a, packet, (size_t)n, NULL) != 0 ||
		    !take_number(s, m.number) || !take(s, &m, now)) {
			fail(s, now, "sends malformed messages: it is ended");
			break;
		}
	}
	arena_release(&a);
	if (s->status.state == SOURCE_BELOW_ENDING && s->mark_ns >= s->end_ns)
		detach(s, true);
	return more && s->socket >= 0;
}

static int64_t
patience_ns(const struct source_below *s)
{
	return s->mark_ns == INT64_MIN ? START_NS : s->nasked > 0 ? SWITCHING_NS : SILENT_NS;
}

/* Until its first mark, and if it is silent, the watermark goes on without it. */
static int64_t
reached_ns(struct source_below *s, struct mono now)
{
	int64_t silent_ns = mono_since_ns(now, s->heard), to_ns = now.ns;

	if (s->socket >= 0 && silent_ns > patience_ns(s))
		fail(s, now, "is silent: it is ended");
	if (s->socket >= 0 && s->mark_ns != INT64_MIN)
		to_ns = s->mark_ns;
	return to_ns > s->watermark_ns ? to_ns : s->watermark_ns;
}

/* Splits what is pending into what is returned and what stays, whose values are copied to the other arena. */
static void
deliver(struct source_below *s)
{
	struct arena *to = &s->arena[!s->turn];
	struct record_list stays = { 0 };

	s->ready.count = 0;
	arena_release(to);
	for (uint32_t i = 0; i < s->pending.count; i++) {
		const struct record *r = &s->pending.list[i];

		if (r->time_ns <= s->watermark_ns ? !record_list_add(&s->ready, r)
						  : !record_list_copy(&stays, to, r))
			lose(s, 1, r->time_ns, r->time_ns);
	}
	record_list_release(&s->pending);
	s->pending = stays;
	s->turn = !s->turn;
	if (!record_list_sort(&s->ready, &s->scratch)) {
		lose(s, s->ready.count, s->ready.list[0].time_ns, s->watermark_ns);
		s->ready.count = 0;
	}
	s->records += s->ready.count;
}

static int
below_poll(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	struct source_below *s = state;
	bool more = false;
	(void)e;

	losses_begin(&s->losses);
	if (s->begins && mono_since_ns(now, s->begun) >= BELOW_BEGINS_EVERY_NS)
		s->begun = now;
	s->begins = false;
	if (s->socket >= 0)
		more = read_messages(s, now);
	s->watermark_ns = reached_ns(s, now);
	deliver(s);
	*ret = (struct source_output){ .records = s->ready.list,
		.nrecords = s->ready.count,
		.losses = s->losses.list,
		.nlosses = s->losses.count,
		.watermark_ns = s->watermark_ns,
		.more = more };
	return 0;
}

static void
below_stats(void *state, struct source_stats *ret)
{
	const struct source_below *s = state;

	*ret = (struct source_stats){ .files_bytes = (int64_t)s->arena[s->turn].total_bytes,
		.records = s->records,
		.processes = s->programs,
		.nprocesses = s->nprograms,
		.changes = s->changes,
		.trouble = s->losses.trouble.text };
	memcpy(ret->lost, s->losses.total, sizeof ret->lost);
}

static const struct batch_label *
below_labels(void *state, uint32_t *count)
{
	const struct source_below *s = state;

	*count = s->labels.count;
	return s->labels.labels;
}

static void
below_close(void *state)
{
	struct source_below *s = state;

	s->answers.gone = NULL; /* it may be closed already */
	detach(s, true);
	map_release(&s->probes);
	arena_release(&s->names);
	free(s->programs);
	free(s->program_names);
	source_labels_release(&s->labels);
	record_list_release(&s->pending);
	record_list_release(&s->ready);
	record_list_release(&s->scratch);
	arena_release(&s->arena[0]);
	arena_release(&s->arena[1]);
	losses_release(&s->losses);
	free(s);
}

int
source_below_open(struct source *ret, struct source_below **handle,
    const struct source_below_answers *answers, struct err *e)
{
	struct source_below *s = calloc(1, sizeof *s);

	if (s == NULL || source_labels_init(&s->labels, LABELS_MAX) != 0) {
		if (s != NULL)
			source_labels_release(&s->labels);
		free(s);
		return err_set(e, ERR_MEMORY, "out of memory for what hone-below reports");
	}
	s->socket = -1;
	s->answers = *answers;
	s->watermark_ns = s->mark_ns = INT64_MIN;
	*ret = (struct source){ s, below_poll, below_stats, below_labels, below_close };
	*handle = s;
	return 0;
}

void
source_below_attach(struct source_below *s, int socket, struct mono now)
{
	assert(s->socket < 0 && socket >= 0);
	s->socket = socket;
	s->mark_ns = INT64_MIN;
	s->attached_ns = now.ns;
	s->message = s->missing = s->missing_told = 0;
	s->heard = now;
	s->number++;
	s->status.state = SOURCE_BELOW_STARTING;
	s->begun = now;
	s->losses.trouble = (struct err){ 0 };
}

bool
source_below_send(struct source_below *s, const struct below_message *m)
{
	struct buf b = { 0 };
	bool sent;

	if (s->socket < 0)
		return false;
	below_encode(m, &b);
	sent = !b.failed &&
	       send(s->socket, b.data, b.len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)b.len;
	buf_release(&b);
	return sent;
}

bool
source_below_follow(struct source_below *s, const struct below_follow *f, const char *service)
{
	const struct below_message m = { .kind = BELOW_FOLLOW, .follow = *f };
	const char *copy;

	if (s->socket < 0 || f->pid == 0)
		return false;
	if (map_get(&s->services, f->pid) != NULL) /* it is followed in another way now */
		return source_below_send(s, &m);
	if (s->nservices == PROCESSES_MAX ||
	    (copy = arena_text(&s->texts, service, strnlen(service, SERVICE_MAX))) == NULL ||
	    !map_put(&s->services, f->pid, (void *)(uintptr_t)copy))
		return false;
	s->nservices++;
	s->begins = true;
	return source_below_send(s, &m);
}

/* Its service stays known, since what it did may still be reported. */
void
source_below_unfollow(struct source_below *s, uint32_t pid)
{
	const struct below_message m = { .kind = BELOW_UNFOLLOW, .unfollow = pid };

	source_below_send(s, &m);
}

bool
source_below_probe(struct source_below *s, const struct below_probe *p)
{
	const struct below_message m = { .kind = BELOW_PROBE, .probe = *p };
	struct named_probe *known = map_get(&s->probes, p->id);

	if (known == NULL) {
		if ((known = arena_alloc(&s->names, sizeof *known)) == NULL ||
		    (known->name = arena_text(&s->names, p->name, strlen(p->name))) == NULL ||
		    !map_put(&s->probes, p->id, known))
			return false;
		known->asked = 0;
	}
	known->word = p->word;
	if (!source_below_send(s, &m))
		return false;
	s->begins = true;
	s->nasked += known->asked != s->number;
	known->asked = s->number;
	return true;
}

bool
source_below_list(struct source_below *s, uint32_t pid)
{
	const struct below_message m = { .kind = BELOW_LIST, .list = pid };

	return source_below_send(s, &m);
}

bool
source_below_record(struct source_below *s, uint8_t flags)
{
	const struct below_message m = { .kind = BELOW_RECORD, .record = flags };

	return source_below_send(s, &m);
}

bool
source_below_record_of(struct source_below *s, uint32_t pid)
{
	const struct below_message m = { .kind = BELOW_RECORD_OF, .record_of = pid };

	return source_below_send(s, &m);
}

bool
source_below_programs(struct source_below *s, const struct source_process *list, uint32_t n)
{
	struct source_process *programs = calloc((size_t)n + 1, sizeof *programs);
	char(*names)[SERVICE_MAX + 1] = calloc((size_t)n + 1, sizeof *names);

	if (programs == NULL || names == NULL) {
		free(programs);
		free(names);
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof names[i], "%s", list[i].service);
		programs[i] = list[i];
		programs[i].service = names[i];
	}
	free(s->programs);
	free(s->program_names);
	s->programs = programs;
	s->program_names = names;
	s->nprograms = n;
	s->changes++;
	return true;
}

void
source_below_end(struct source_below *s, struct mono now)
{
	const struct below_message m = { .kind = BELOW_END };

	if (s->socket < 0 || s->status.state == SOURCE_BELOW_ENDING)
		return;
	source_below_send(s, &m);
	s->end_ns = now.ns;
	if (s->nservices > 0)
		s->status.state = SOURCE_BELOW_ENDING;
	else
		detach(s, true); /* while it followed nothing, nothing was to be reported */
}

void
source_below_look(const struct source_below *s, struct source_below_status *ret)
{
	*ret = s->status;
	ret->cpu_us = s->cpu_before_us + s->cpu_us;
}

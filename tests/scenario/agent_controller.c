/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * agent_controller URL JOURNAL: the controller's end of an agent link, for tests of an agent.
 * Prints what it receives on standard output and reads commands from standard input:
 *
 *	want EPOCH LEASE_MS [tracepoint...]	sent every 300 ms: samples everything, probes WORK
 *	below EPOCH [program...]		programs to look below, in the WANT
 *	recorder EPOCH [tracepoint...]		what the flight recorder is to have, in the WANT
 *	keep | again				asks for what it has of the last request that has ended; of the same again
 *	silent					stops sending
 *	garbage | version | wrong | ack		sends bytes that are no frame; a frame of another version; a
 *						frame of an unknown kind; an acknowledgement of a batch
 *						that was never sent
 *	refuse WORDS				rejects the agent
 *
 * What has arrived is stored in JOURNAL before it is acknowledged, so that this program may be
 * killed at any time.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/common/accepted.h"
#include "wire/agent_messages.h"
#include "wire/frame.h"
#include "wire/keep.h"
#include "wire/toggle.h"

enum { TICK_MS = 300, PATIENCE_MS = 20000, PROCESSES = 16, LOSSES = 64 };

struct journal { /* mapped from JOURNAL, survives this process */
	uint64_t incarnation, have_seq;
	uint64_t records, ticks, gaps; /* gaps: in the numbers, without a reported loss */
	int64_t watermark_ns;          /* of the last batch */
	struct {
		uint32_t pid;
		uint64_t next;
		int64_t last_ns;
	} process[PROCESSES];
	struct {
		int64_t from_ns, to_ns;
	} told[LOSSES]; /* the newest losses */
	uint32_t ntold;
};

static struct journal *journal;
static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards writes to the agent and the variables below */
static struct accepted *accepted;
static bool silent, has_want;
static uint64_t epoch, lease_ms;
static char names[64][256], below[4][256], recorder[8][256];
static int nnames, nbelow, nrecorder;
static struct keep begun, ended; /* of the last requests */
static uint64_t nkeeps;

static void
send_frame(enum frame_kind kind, const void *data, size_t len)
{
	uint8_t header[FRAME_HEADER_BYTES];

	if (accepted == NULL || silent)
		return;
	frame_seal(header, kind, 0, data, len);
	if (accepted_write(accepted, header, sizeof header, PATIENCE_MS, NULL) == 0 && len > 0)
		accepted_write(accepted, data, len, PATIENCE_MS, NULL);
}

static void
send_want(void)
{
	struct toggle toggles[64] = { 0 };
	struct rate rate = { "WORK", 1, 1 };
	struct want w = { epoch, (int64_t)lease_ms, 1, 1, (uint32_t)nnames, &rate, toggles };
	const char *under[4] = { below[0], below[1], below[2], below[3] };
	const char *recorded[8];
	struct buf b = { 0 };

	if (!has_want)
		return;
	w.below = under;
	w.nbelow = (uint32_t)nbelow;
	w.recorder = recorded;
	w.nrecorder = (uint32_t)nrecorder;
	for (int i = 0; i < nrecorder; i++)
		recorded[i] = recorder[i];
	for (int i = 0; i < nnames; i++)
		toggles[i].name = names[i];
	want_encode(&w, &b);
	send_frame(FRAME_WANT, b.data, b.len);
	buf_release(&b);
}

static void *
tick(void *unused)
{
	(void)unused;
	for (;;) {
		usleep(TICK_MS * 1000);
		pthread_mutex_lock(&lock);
		send_want();
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void
send_bad(const char *what)
{
	uint8_t header[FRAME_HEADER_BYTES];

	if (accepted == NULL)
		return;
	memset(header, 'x', sizeof header);
	if (strcmp(what, "garbage") != 0) {
		frame_seal(
		    header, strcmp(what, "wrong") == 0 ? FRAME_STATUS : FRAME_WANT, 0, "", 0);
		if (strcmp(what, "version") == 0)
			header[4]++;
	}
	accepted_write(accepted, header, sizeof header, PATIENCE_MS, NULL);
}

/* again: the one that was asked for last. */
static void
send_keep(bool again)
{
	static struct keep k;
	struct buf b = { 0 };

	if (!again)
		k = ended;
	if (k.trace_id == 0)
		return;
	k.number = ++nkeeps;
	keep_encode(&k, &b);
	printf("keep %llu of trace %016llx\n", (unsigned long long)k.number,
	    (unsigned long long)k.trace_id);
	send_frame(FRAME_KEEP, b.data, b.len);
	buf_release(&b);
}

static void
command(char *line)
{
	char *word = strtok(line, " \n");
	struct buf b = { 0 };

	if (word == NULL)
		return;
	if (strcmp(word, "want") == 0) {
		epoch = strtoull(strtok(NULL, " \n"), NULL, 10);
		lease_ms = strtoull(strtok(NULL, " \n"), NULL, 10);
		for (nnames = 0; nnames < 64 && (word = strtok(NULL, " \n")) != NULL; nnames++)
			snprintf(names[nnames], sizeof names[0], "%s", word);
		has_want = true;
		silent = false;
		printf("asked %lld\n", (long long)clock_mono().ns);
		send_want();
	} else if (strcmp(word, "below") == 0) {
		epoch = strtoull(strtok(NULL, " \n"), NULL, 10);
		for (nbelow = 0; nbelow < 4 && (word = strtok(NULL, " \n")) != NULL; nbelow++)
			snprintf(below[nbelow], sizeof below[0], "%s", word);
		send_want();
	} else if (strcmp(word, "recorder") == 0) {
		epoch = strtoull(strtok(NULL, " \n"), NULL, 10);
		for (nrecorder = 0; nrecorder < 8 && (word = strtok(NULL, " \n")) != NULL;
		     nrecorder++)
			snprintf(recorder[nrecorder], sizeof recorder[0], "%s", word);
		send_want();
	} else if (strcmp(word, "keep") == 0) {
		send_keep(false);
	} else if (strcmp(word, "again") == 0) {
		send_keep(true);
	} else if (strcmp(word, "silent") == 0) {
		silent = true;
	} else if (strcmp(word, "refuse") == 0) {
		word = strtok(NULL, "\n");
		send_frame(FRAME_REFUSE, word, strlen(word));
	} else if (strcmp(word, "ack") == 0) {
		buf_u64(&b, UINT64_MAX / 2);
		send_frame(FRAME_ACK, b.data, b.len);
	} else {
		send_bad(word);
	}
	buf_release(&b);
}

static void *
listen_to_stdin(void *unused)
{
	char line[16384];

	(void)unused;
	while (fgets(line, sizeof line, stdin) != NULL) {
		pthread_mutex_lock(&lock);
		command(line);
		pthread_mutex_unlock(&lock);
	}
	_exit(0);
}

/* ---- what the agent sends ---- */

/* Whether a reported loss lies between two records. */
static bool
explained(int64_t from_ns, int64_t to_ns)
{
	for (int i = 0; i < LOSSES; i++)
		if (journal->told[i].from_ns <= to_ns && journal->told[i].to_ns >= from_ns)
			return true;
	return false;
}

static void
take_tick(const struct record *r, uint64_t n)
{
	int i = 0;

	while (
	    i < PROCESSES - 1 && journal->process[i].pid != 0 && journal->process[i].pid != r->pid)
		i++;
	if (journal->process[i].pid != r->pid) {
		journal->process[i].pid = r->pid;
		journal->process[i].next = n;
	}
	if (n < journal->process[i].next)
		return; /* killed between storing the record and storing the batch number */
	if (journal->process[i].next != n && !explained(journal->process[i].last_ns, r->time_ns)) {
		printf("gap pid %u wanted %llu got %llu\n", r->pid,
		    (unsigned long long)journal->process[i].next, (unsigned long long)n);
		journal->gaps++;
	}
	journal->process[i].next = n + 1;
	journal->process[i].last_ns = r->time_ns;
	journal->ticks++;
}

static void
take_loss(const struct loss *l)
{
	journal->told[journal->ntold % LOSSES].from_ns = l->from_ns;
	journal->told[journal->ntold++ % LOSSES].to_ns = l->to_ns;
	printf("loss reason %u count %llu for %.3f s from %lld to %lld\n", l->reason,
	    (unsigned long long)l->count, (double)(l->to_ns - l->from_ns) / 1e9,
	    (long long)l->from_ns, (long long)l->to_ns);
}

static bool
is_probe(const struct batch_label *l)
{
	return l->kind == RECORD_POINT && memmem(l->text, l->len, "/usdt.", 6) != NULL;
}

static const struct value *
field(const struct record *r, const struct batch_label *l, const char *name)
{
	for (uint32_t i = 0; i < r->nvalues; i++)
		if (strcmp(l->fields[i], name) == 0)
			return &r->values[i];
	return NULL;
}

/* -1: it has no such field, or no value. */
static int64_t
number_of(const struct record *r, const struct batch_label *l, const char *name)
{
	const struct value *v = field(r, l, name);

	return v != NULL && v->type == VALUE_UINT ? (int64_t)v->u : -1;
}

static const struct value *
text_of(const struct record *r, const struct batch_label *l, const char *name)
{
	static const struct value none = { .type = VALUE_TEXT, .text = "" };
	const struct value *v = field(r, l, name);

	return v != NULL && v->type == VALUE_TEXT ? v : &none;
}

/* What a thread did below its tracepoints, and the USDT probes that it passed. */
static void
take_below(const struct record *r, const struct batch_label *l)
{
	if (is_probe(l))
		printf("hit trace %llu unit %llu probed 1 number %lld %.*s of %u\n",
		    (unsigned long long)r->trace_id, (unsigned long long)r->unit_id,
		    r->nvalues > 0 ? (long long)r->values[0].i : 0LL, (int)l->len, l->text, r->pid);
	if (l->kind == RECORD_WAIT || l->kind == RECORD_SAMPLE)
		printf(
		    "below trace %llu unit %llu pid %u ms %.3f ready %.3f held for %lld woken by \"%.*s\" "
		    "released by %llu %.*s\n",
		    (unsigned long long)r->trace_id, (unsigned long long)r->unit_id, r->pid,
		    (double)r->values[0].u / 1e6,
		    l->kind == RECORD_WAIT ? (double)r->values[1].u / 1e6 : 0,
		    (long long)number_of(r, l, "owner_type"), (int)text_of(r, l, "waker_name")->len,
		    text_of(r, l, "waker_name")->text,
		    (unsigned long long)number_of(r, l, "waker_type"), (int)l->len, l->text);
}

/* Remembers a request that has ended. Those of this program do not overlap in a process. */
static void
take_request(const struct record *r, const struct batch_label *l)
{
	if (l->kind == RECORD_REQUEST_BEGIN)
		begun = (struct keep){ .trace_id = r->trace_id, .from_ns = r->time_ns };
	if (l->kind == RECORD_REQUEST_END && r->trace_id == begun.trace_id) {
		begun.to_ns = r->time_ns;
		ended = begun;
	}
}

static bool
ends_with(const struct batch_label *l, const char *end)
{
	size_t len = strlen(end);

	return l->len >= len && memcmp(l->text + l->len - len, end, len) == 0;
}

static int
take_batch(const struct frame *f, const uint8_t *data, struct err *e)
{
	struct arena a = { 0 };
	struct buf ack = { 0 };
	int64_t oldest_ns = 0;
	struct batch b;
	int rc;

	if (f->seq <= journal->have_seq)
		return 0;
	if (f->seq != journal->have_seq + 1)
		return err_set(e, ERR_INPUT, "batch %llu after %llu", (unsigned long long)f->seq,
		    (unsigned long long)journal->have_seq);
	if ((rc = batch_decode(&b, &a, data, f->length, e)) != 0)
		return rc;
	for (uint32_t i = 0; i < b.nlosses; i++)
		take_loss(&b.losses[i]);
	for (uint32_t i = 0; i < b.nrecords; i++) {
		if (ends_with(&b.labels[b.records[i].label], "/agentp:ev000"))
			take_tick(&b.records[i], b.records[i].values[0].u);
		take_below(&b.records[i], &b.labels[b.records[i].label]);
		take_request(&b.records[i], &b.labels[b.records[i].label]);
		if (oldest_ns == 0)
			oldest_ns = b.records[i].time_ns;
	}
	journal->records += b.nrecords;
	journal->watermark_ns = b.watermark_ns;
	journal->have_seq = f->seq;
	if (b.nrecords > 0)
		printf("records %llu ticks %llu gaps %llu age_ms %.1f\n",
		    (unsigned long long)journal->records, (unsigned long long)journal->ticks,
		    (unsigned long long)journal->gaps, (double)(clock_mono().ns - oldest_ns) / 1e6);
	arena_release(&a);
	pthread_mutex_lock(&lock);
	buf_u64(&ack, f->seq);
	send_frame(FRAME_ACK, ack.data, ack.len);
	pthread_mutex_unlock(&lock);
	buf_release(&ack);
	return 0;
}

static int
take_done(const uint8_t *data, size_t len, struct arena *a, struct err *e)
{
	struct done d;
	int rc = done_decode(&d, a, data, len, e);

	if (rc != 0)
		return rc;
	printf("done %llu results ", (unsigned long long)d.epoch);
	for (uint32_t i = 0; i < d.nresults; i++)
		putchar("+?!"[d.results[i]]);
	printf(". from %lld %s\n", (long long)d.from_ns, d.failure);
	return 0;
}

static int
take_status(const uint8_t *data, size_t len, struct arena *a, struct err *e)
{
	struct status s;
	int rc = status_decode(&s, a, data, len, e);

	if (rc == 0)
		printf(
		    "status epoch %llu added %u programs %u tracer %s shed %d fill %.2f %.2f %.2f %.2f cpu_ms %lld tracer_cpu_ms "
		    "%lld records %llu rings %lld below %s \"%s\" recorder %u bytes %lld records %llu snapshots %llu trouble \"%s %s\" of %s(%u) user %u\n",
		    (unsigned long long)s.epoch, s.added, s.programs, s.tracer_ok ? "ok" : "down",
		    s.shed, s.fill[0], s.fill[1], s.fill[2], s.fill[3], (long long)s.cpu_us / 1000,
		    (long long)s.tracer_cpu_us / 1000, (unsigned long long)s.records,
		    (long long)s.ring_bytes, below_on_node_word(s.below), s.below_missing,
		    s.recorder, (long long)s.recorder_bytes, (unsigned long long)s.recorder_records,
		    (unsigned long long)s.recorder_snapshots, trouble_kind_word(s.trouble.kind),
		    s.trouble.text, s.trouble.subject, s.trouble.pid, s.trouble.user);
	return rc;
}

static int
take_programs(const uint8_t *data, size_t len, struct arena *a, struct err *e)
{
	struct programs p;
	int rc = programs_decode(&p, a, data, len, e);

	if (rc != 0)
		return rc;
	printf("programs %u names %u:", p.nprograms, p.nnames);
	for (uint32_t i = 0; i < p.nprograms; i++)
		printf(" %s(%u)=%u", p.programs[i].service, p.programs[i].pid, p.programs[i].count);
	printf("\n");
	return 0;
}

/* "strange": records of other traces, or outside of the trace's time by over 1 ms. */
static int
take_kept(const uint8_t *data, size_t len, struct arena *a, struct err *e)
{
	struct batch b = { 0 };
	struct kept k;
	uint32_t strange = 0;
	int rc = kept_decode(&k, a, data, len, e);

	if (rc == 0 && k.batch_len > 0)
		rc = batch_decode(&b, a, k.batch, k.batch_len, e);
	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < b.nrecords; i++)
		strange += b.records[i].trace_id != k.trace_id;
	printf(
	    "kept %llu %s rings %u overwritten %u unlisted %u undecoded %llu cut %llu strange %u "
	    "records %u",
	    (unsigned long long)k.number, kept_result_word(k.result), k.rings, k.overwritten,
	    k.unlisted, (unsigned long long)k.undecoded, (unsigned long long)k.cut, strange,
	    b.nrecords);
	for (uint32_t i = 0; i < b.nlabels; i++)
		printf(" %.*s", (int)b.labels[i].len, b.labels[i].text);
	printf(" failure \"%s\"\n", k.failure);
	return 0;
}

static int
take_hello(const uint8_t *data, size_t len, struct arena *a, struct err *e)
{
	struct buf b = { 0 };
	struct hello h;
	int rc = hello_decode(&h, a, data, len, e);

	if (rc != 0)
		return rc;
	if (journal->incarnation != h.incarnation) { /* what the one before had not sent is lost */
		if (journal->incarnation != 0)
			printf("restarted from %lld to %lld\n", (long long)journal->watermark_ns,
			    (long long)clock_mono().ns);
		memset(journal, 0, sizeof *journal);
		journal->incarnation = h.incarnation;
	}
	if (journal->have_seq + 1 < h.first_seq)
		printf("lost batches %llu to %llu\n", (unsigned long long)journal->have_seq + 1,
		    (unsigned long long)h.first_seq - 1);
	printf("hello %s first %llu have %llu version %s\n", h.node,
	    (unsigned long long)h.first_seq, (unsigned long long)journal->have_seq, h.version);
	welcome_encode(&(struct welcome){ journal->have_seq }, &b);
	pthread_mutex_lock(&lock);
	send_frame(FRAME_WELCOME, b.data, b.len);
	send_want();
	pthread_mutex_unlock(&lock);
	buf_release(&b);
	return 0;
}

static int
take_frame(const struct frame *f, const uint8_t *data, struct err *e)
{
	struct arena a = { 0 };
	int rc = 0;

	switch (f->kind) {
	case FRAME_HELLO:
		rc = take_hello(data, f->length, &a, e);
		break;
	case FRAME_RECORDS:
		rc = take_batch(f, data, e);
		break;
	case FRAME_DONE:
		rc = take_done(data, f->length, &a, e);
		break;
	case FRAME_STATUS:
		rc = take_status(data, f->length, &a, e);
		break;
	case FRAME_PROGRAMS:
		rc = take_programs(data, f->length, &a, e);
		break;
	case FRAME_KEPT:
		rc = take_kept(data, f->length, &a, e);
		break;
	case FRAME_REFUSE:
		printf("refused %.*s\n", (int)f->length, data);
		break;
	default:
		rc = err_set(e, ERR_INPUT, "kind %u", f->kind);
	}
	arena_release(&a);
	return rc;
}

static int
read_frame(struct accepted *s, struct err *e)
{
	uint8_t header[FRAME_HEADER_BYTES], *data = NULL;
	struct frame f;
	int rc;

	if ((rc = accepted_read(s, header, sizeof header, PATIENCE_MS, e)) != 0 ||
	    (rc = frame_open(&f, header, e)) != 0)
		return rc;
	if (f.length > 0) {
		data = malloc(f.length);
		rc = accepted_read(s, data, f.length, PATIENCE_MS, e);
	}
	if (rc == 0 && (rc = frame_check(&f, header, data, e)) == 0)
		rc = take_frame(&f, data, e);
	free(data);
	return rc;
}

static void
serve(struct accepted *s)
{
	struct err e = { 0 };

	pthread_mutex_lock(&lock);
	accepted = s;
	pthread_mutex_unlock(&lock);
	while (read_frame(s, &e) == 0)
		;
	printf("closed: %s\n", e.text);
	pthread_mutex_lock(&lock);
	accepted = NULL;
	silent = false;
	pthread_mutex_unlock(&lock);
	accepted_close(s);
}

int
main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[2], O_RDWR | O_CREAT, 0600) : -1;
	struct listen_socket *l;
	struct accepted *s;
	pthread_t thread;
	struct err e;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (fd < 0 || ftruncate(fd, sizeof *journal) != 0 ||
	    (journal = mmap(NULL, sizeof *journal, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) ==
		MAP_FAILED) {
		fprintf(stderr, "usage: agent_controller URL JOURNAL\n");
		return 2;
	}
	if (accepted_listen(&l, argv[1], &e) != 0) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	printf("listening %s\n", listen_socket_url(l));
	if (pthread_create(&thread, NULL, tick, NULL) != 0 ||
	    pthread_create(&thread, NULL, listen_to_stdin, NULL) != 0)
		return 1;
	for (;;)
		if (accepted_open(&s, l, 1000, &e) == 0)
			serve(s);
}

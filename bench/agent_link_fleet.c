/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Many agents in one process, for fleet.sh: each has a connection of its own to a real honed and speaks the real frames on it (HELLO,
 * PROGRAMS, STATUS each second, batches with watermarks, answers to CLOCK and WANT), plain or over TLS. One thread and one epoll set serve
 * them all, so that they cost the machine little beside the controller. Traces go along a chain of nodes, which differs from trace to trace.
 *
 *	agent_link_fleet URL AGENTS SECONDS WATERMARK_MS RECORDS_PER_S HONED_PID [KEYS]
 *
 * URL: ipc:///path or tls://127.0.0.1:port. KEYS: the folder of `hone keys`. CALM_MS=n in the environment: an agent that had no record for
 * 2 s speaks each n ms. SHAPES=n: a chain goes one of n ways over the nodes, so that there are n times as many groups; each step takes its own
 * time, and one of them as long as the unit's field `bytes` says. TRACEPOINTS=n: of each program, in place of 100. DISTINCT=1: no two agents have
 * a program in common, in place of 50 programs for all. Prints one line of JSON: what the controller and the fleet used meanwhile, and what went over the connections.
 * An agent that loses its connection connects again as hone-agent does, with TLS by continuing its session; FULL=1: with a full handshake.
 *
 * RESTART=file: afterwards it kills honed (SIGKILL), and waits until all agents are welcome at another one, whose process the file then names.
 * A second line of JSON says what that took.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/rng.h"
#include "wire/agent_messages.h"
#include "wire/frame.h"
#include "wire/record.h"
#include "wire/toggle.h"

enum {
	TYPES = 20,
	SERVICES = 50,
	TRACEPOINTS = 100, /* of each program, at first */
	TRACEPOINTS_MOST = 10000,
	DEPTH = 6,       /* nodes of a trace; it has 4 * DEPTH - 2 records */
	SHAPES_MAX = 45, /* strides that lead to different services */
	BUSY = 3,        /* the node whose step follows its field */
	BYTES_MAX = 100,
	READ_BYTES = 4096,
	EVENTS = 512,
	DIALS = 100 /* in a turn, so that others are not kept silent */
};

#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)
#define SETTLE_NS (6 * SECOND)             /* clocks are asked often at first */
#define BACK_NS (10 * MS)                  /* a trace begins that long before it is recorded ... */
#define BEHIND_NS (20 * MS)                /* ... and watermarks are so far behind */
#define BYTES_STEP_NS (20 * INT64_C(1000)) /* for each of the field */
#define LOOK_NS (nagents > 1000 ? 5 * MS : MS)
#define CALM_AFTER_NS (2 * SECOND)
#define BATCH_NS (100 * MS) /* between two batches with records, as queue.batch_time */

struct fleet_agent {
	int fd; /* -1: not connected */
	SSL *ssl;
	SSL_CTX *keys;
	SSL_SESSION *session; /* of its last connection, which the next one continues */
	bool up, writes;      /* writes: epoll tells when it can write */
	bool
	    accepted; /* the byte has come that ends the handshake of tls:// (base/stream_tls.c); else always */
	char name[32];
	uint64_t seq, epoch, nrecords;
	struct buf out;
	size_t out_at;
	uint8_t *in;
	size_t nin, cap;
	struct record *records;
	uint32_t count, records_cap;
	int64_t last_batch, next_status, last_record, redial_at, pause_ns;
};

struct totals {
	uint64_t frames_in, frames_out, bytes_in, bytes_out, wants, clocks, acks, records, traces,
	    refused, lost, attempts, continued;
	double honed_cpu_s, fleet_cpu_s;
};

static struct fleet_agent *agents;
static int nagents, epoll;
static int ntracepoints = TRACEPOINTS;
static bool is_distinct;
static uint32_t nshapes; /* 1: all steps of a trace take the same time, and no record has a field */
static struct value
    sizes[BYTES_MAX]; /* what the field may be, since records point to their values */
static const char *url, *keys_folder;
static int64_t watermark_ns, calm_ns;
static struct totals total;
static struct rng rng;
static struct batch_writer writer;

static int64_t
now_ns(void)
{
	return clock_mono().ns;
}

static void
fail(const char *what)
{
	fprintf(stderr, "agent_link_fleet: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- connections ---- */

/* 50 ms, then twice as long each time, to 1 s, and up to as much again by chance. */
static void
hang_up(struct fleet_agent *a)
{
	if (a->up)
		total.lost++;
	if (a->ssl != NULL)
		SSL_set_shutdown(
		    a->ssl, SSL_SENT_SHUTDOWN); /* else its session would not continue */
	SSL_free(a->ssl);
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	a->ssl = NULL;
	a->up = a->writes = false;
	a->nin = a->out_at = 0;
	buf_reset(&a->out);
	a->pause_ns = a->pause_ns == 0           ? 50 * MS
	              : a->pause_ns < SECOND / 2 ? 2 * a->pause_ns
	                                         : SECOND;
	a->redial_at = now_ns() + a->pause_ns + (int64_t)rng_below(&rng, (uint64_t)a->pause_ns);
}

/* Bytes, 0: it would block; -1: the connection is gone. */
static ssize_t
tls_result(struct fleet_agent *a, int n)
{
	int why;

	if (n > 0)
		return n;
	why = SSL_get_error(a->ssl, n);
	ERR_clear_error();
	return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static ssize_t
plain_result(ssize_t n)
{
	return n > 0 ? n : n < 0 && errno == EAGAIN ? 0 : -1;
}

static void
flush(struct fleet_agent *a)
{
	ssize_t n = 0;
	bool wants;

	while (a->out_at < a->out.len) {
		const uint8_t *from = a->out.data + a->out_at;
		size_t len = a->out.len - a->out_at;

		n = a->ssl != NULL
		        ? tls_result(a, SSL_write(a->ssl, from, (int)len))
		        : plain_result(send(a->fd, from, len, MSG_NOSIGNAL | MSG_DONTWAIT));
		if (n <= 0)
			break;
		a->out_at += (size_t)n;
		total.bytes_out += (uint64_t)n;
	}
	if (n < 0) {
		hang_up(a);
		return;
	}
	if (a->out_at == a->out.len) {
		buf_reset(&a->out);
		a->out_at = 0;
	}
	wants = a->out_at < a->out.len;
	if (wants != a->writes) {
		struct epoll_event ev = { .events = EPOLLIN | (wants ? EPOLLOUT : 0),
			.data.ptr = a };

		epoll_ctl(epoll, EPOLL_CTL_MOD, a->fd, &ev);
		a->writes = wants;
	}
}

static void
put(struct fleet_agent *a, enum frame_kind kind, uint64_t seq, const struct buf *b)
{
	uint8_t header[FRAME_HEADER_BYTES];

	frame_seal(header, kind, seq, b->data, b->len);
	buf_bytes(&a->out, header, sizeof header);
	buf_bytes(&a->out, b->data, b->len);
	total.frames_out++;
}

/* OpenSSL's callback for a ticket. 0: the reference is not ours. */
static int
on_session(SSL *ssl, SSL_SESSION *session)
{
	struct fleet_agent *a = SSL_get_app_data(ssl);

	SSL_SESSION_free(a->session);
	a->session = SSL_SESSION_dup(
	    session); /* OpenSSL lets none continue whose connection has ended without an alert */
	return 0;
}

/* Each node has a certificate of its own; the files are read once. */
static void
load_keys(struct fleet_agent *a)
{
	char certificate[300], key[300];

	if (a->keys != NULL)
		return;
	a->keys = SSL_CTX_new(TLS_client_method());
	snprintf(certificate, sizeof certificate, "%s/agents/%s/agent.pem", keys_folder, a->name);
	snprintf(key, sizeof key, "%s/agents/%s/agent.key", keys_folder, a->name);
	if (SSL_CTX_use_certificate_chain_file(a->keys, certificate) != 1 ||
	    SSL_CTX_use_PrivateKey_file(a->keys, key, SSL_FILETYPE_PEM) != 1) {
		ERR_print_errors_fp(stderr);
		exit(1);
	}
	ERR_clear_error(); /* reading a chain leaves "no start line", which SSL_get_error() would take for its own */
	SSL_CTX_set_session_cache_mode(a->keys, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	if (getenv("FULL") == NULL)
		SSL_CTX_sess_set_new_cb(a->keys, on_session);
	SSL_CTX_set_mode(
	    a->keys, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

/*
 * Waits for nothing: one that waits here would keep all others silent. -1 and EAGAIN: the backlog of the local socket is full. A connection over
 * TCP goes on by itself, and what is written to it meanwhile waits.
 */
static int
open_socket(void)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	struct sockaddr_in remote = { .sin_family = AF_INET };
	int one = 1, fd, rc, why;

	if (strncmp(url, "ipc://", 6) == 0) {
		snprintf(local.sun_path, sizeof local.sun_path, "%s", url + 6);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		rc = connect(fd, (struct sockaddr *)&local, sizeof local);
	} else {
		remote.sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1));
		remote.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		rc = connect(fd, (struct sockaddr *)&remote, sizeof remote);
	}
	if (rc == 0 || errno == EINPROGRESS)
		return fd;
	why = errno;
	close(fd);
	errno = why;
	return -1;
}

static void
dial(struct fleet_agent *a)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = a };
	const struct hello h = { a->name, (uint64_t)a->seq + 1, a->seq + 1, "fleet", now_ns() };
	struct buf b = { 0 };

	if ((a->fd = open_socket()) < 0 && errno == EAGAIN) {
		a->redial_at = now_ns() + 20 * MS; /* hone-agent waits in connect() */
		return;
	}
	total.attempts++;
	if (a->fd < 0) {
		hang_up(a);
		return;
	}
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, a->fd, &ev) < 0)
		fail("epoll_ctl");
	a->accepted = strncmp(url, "tls://", 6) != 0;
	if (!a->accepted) {
		load_keys(a);
		a->ssl = SSL_new(a->keys);
		SSL_set_fd(a->ssl, a->fd);
		SSL_set_app_data(a->ssl, a);
		SSL_set_connect_state(a->ssl);
		if (a->session != NULL)
			SSL_set_session(a->ssl, a->session);
	}
	hello_encode(&h, &b);
	put(a, FRAME_HELLO, 0, &b);
	buf_release(&b);
	flush(a);
}

/* ---- what an agent says ---- */

static unsigned
service_of(const struct fleet_agent *a)
{
	return (unsigned)(a - agents) % SERVICES;
}

/* Two processes of the same program. */
static void
encode_programs(const struct fleet_agent *a, struct buf *b)
{
	static char text[TRACEPOINTS_MOST][80];
	static const char *names[TRACEPOINTS_MOST];
	uint32_t n = (uint32_t)ntracepoints;
	char service[32];
	struct program two[2] = { { service, 100, 0, n }, { service, 101, 0, n } };
	struct programs programs = { 2, n, two, names };

	snprintf(service, sizeof service, "svc%u", service_of(a));
	for (int i = 0; i < ntracepoints; i++) {
		if (is_distinct)
			snprintf(text[i], sizeof text[i], "svc%u:point_%d_of_%s", service_of(a), i,
			    a->name);
		else
			snprintf(text[i], sizeof text[i], "svc%u:point_%d", service_of(a), i);
		names[i] = text[i];
	}
	programs_encode(&programs, b);
}

/* Of 10,000 agents the lists of 50 programs are made once. */
static void
put_programs(struct fleet_agent *a)
{
	static struct buf made[SERVICES];
	struct buf *b = &made[service_of(a)];

	if (is_distinct)
		buf_reset(b);
	if (b->len == 0)
		encode_programs(a, b);
	put(a, FRAME_PROGRAMS, 0, b);
}

static void
put_status(struct fleet_agent *a, int64_t now)
{
	const struct status s = { .records = a->nrecords,
		.batches = a->seq,
		.programs = 2,
		.record_ns = 170,
		.rejected_ns = 27,
		.epoch = a->epoch,
		.memory_bytes = 10 << 20,
		.cpu_us = now / 500000,
		.tracer_cpu_us = now / 1000000,
		.tracer_ok = true,
		.guard_ok = true };
	struct buf b = { 0 };

	status_encode(&s, &b);
	put(a, FRAME_STATUS, 0, &b);
	buf_release(&b);
}

static int
by_time(const void *x, const void *y)
{
	const struct record *a = x, *b = y;

	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* A record's label until its batch is written: kind, service and type. */
static uint32_t
key_of(enum record_kind kind, uint32_t service, uint32_t type)
{
	return (uint32_t)kind + RECORD_KINDS * (service + SERVICES * type);
}

/* The number of the label in this batch. */
static uint32_t
label_of_key(uint32_t key)
{
	static const char *const EVENTS_OF[] = { [RECORD_REQUEST_BEGIN] = "request_begin",
		[RECORD_REQUEST_END] = "request_end",
		[RECORD_FORK] = "fork",
		[RECORD_UNIT_BEGIN] = "unit_begin",
		[RECORD_UNIT_END] = "unit_end",
		[RECORD_JOIN] = "join" };
	static uint32_t numbers[RECORD_KINDS * SERVICES * TYPES],
	    batches[RECORD_KINDS * SERVICES * TYPES], batch;
	const char *fields[1] = { "bytes" };
	enum record_kind kind = key % RECORD_KINDS;
	char text[96];
	int len;

	batch += writer.nlabels == 0;
	if (batches[key] == batch)
		return numbers[key];
	len = snprintf(text, sizeof text, "svc%u/hone:%s(T%u)", key / RECORD_KINDS % SERVICES,
	    EVENTS_OF[kind], key / RECORD_KINDS / SERVICES);
	batches[key] = batch;
	return numbers[key] = batch_label(&writer, kind, text, (size_t)len, fields,
		   nshapes > 1 && kind == RECORD_UNIT_BEGIN);
}

static void
put_batch(struct fleet_agent *a, int64_t watermark)
{
	struct buf b = { 0 };

	batch_begin(&writer);
	qsort(a->records, a->count, sizeof *a->records, by_time);
	for (uint32_t i = 0; i < a->count; i++) {
		a->records[i].label = label_of_key(a->records[i].label);
		batch_record(&writer, &a->records[i]);
	}
	if (batch_end(&writer, watermark, &b, NULL) != 0)
		fail("batch");
	a->nrecords += a->count;
	total.records += a->count;
	a->count = 0;
	put(a, FRAME_RECORDS, ++a->seq, &b);
	buf_release(&b);
}

static void
add_record(struct fleet_agent *a, const struct record *r, int64_t now)
{
	if (!a->up)
		return;
	if (!array_reserve(a->records, a->records_cap, a->count + 1))
		fail("records");
	a->records[a->count++] = *r;
	a->last_record = now;
}

/* Each of DEPTH nodes forks to the next one and waits for it. */
static void
make_trace(int64_t now)
{
	uint64_t root = rng_below(&rng, (uint64_t)nagents), id = rng_next(&rng) | 1;
	uint32_t type = (uint32_t)(root % TYPES);
	int64_t t = now - BACK_NS, step = 50000 + (int64_t)rng_below(&rng, 150000);
	uint64_t stride = nshapes > 1 ? 1 + rng_below(&rng, nshapes) : 7;
	uint32_t bytes = (uint32_t)rng_below(&rng, BYTES_MAX);

	for (int i = 0; i < 2 * DEPTH; i++) {
		bool down = i < DEPTH;
		uint32_t at = (uint32_t)(down ? i : 2 * DEPTH - 1 - i);
		struct fleet_agent *a = &agents[(root + at * stride) % (uint64_t)nagents];
		struct record r = { .trace_id = id, .unit_id = id + at, .pid = 100, .tid = 100 };
		uint64_t out = id * 31 + at + 1, in = id * 31 + at;
		struct record edge = r, outer = r;

		edge.link_id = out;
		outer.link_id = at > 0 ? in : down ? r.unit_id : 0;
		edge.label = key_of(down ? RECORD_FORK : RECORD_JOIN, service_of(a), type);
		outer.label = key_of(down ? (at > 0 ? RECORD_UNIT_BEGIN : RECORD_REQUEST_BEGIN)
					  : (at > 0 ? RECORD_UNIT_END : RECORD_REQUEST_END),
		    service_of(a), type);
		if (nshapes > 1 && down && at > 0) {
			outer.values = &sizes[at == BUSY ? bytes : rng_below(&rng, BYTES_MAX)];
			outer.nvalues = 1;
		}
		for (int second = 0; second < 2; second++) {
			bool is_outer = down == (second == 0);

			if (!is_outer && at == DEPTH - 1)
				continue;
			if (nshapes > 1)
				step = 50000 + (int64_t)rng_below(&rng, 150000);
			if (nshapes > 1 && down && at == BUSY && !is_outer)
				step += BYTES_STEP_NS * bytes;
			t += step;
			(is_outer ? &outer : &edge)->time_ns = t;
			add_record(a, is_outer ? &outer : &edge, now);
		}
	}
	total.traces++;
}

/* ---- what the controller says ---- */

static void
welcome(struct fleet_agent *a)
{
	int64_t now = now_ns();

	total.continued += a->ssl != NULL && SSL_session_reused(a->ssl) == 1;

	a->up = true;
	a->pause_ns = 0;
	put_programs(a);
	put_status(a, now);
	a->next_status = now + (int64_t)rng_below(&rng, SECOND);
	a->last_batch = now - (int64_t)rng_below(&rng, (uint64_t)watermark_ns);
}

static void
answer_clock(struct fleet_agent *a, const uint8_t *payload, size_t len)
{
	struct clock_echo c;
	struct buf b = { 0 };

	total.clocks++;
	if (clock_decode(&c, payload, len, NULL) != 0)
		return;
	c.came_ns = c.went_ns = now_ns();
	clock_encode(&c, &b);
	put(a, FRAME_CLOCK, 0, &b);
	buf_release(&b);
}

static void
answer_want(struct fleet_agent *a, const uint8_t *payload, size_t len)
{
	static uint8_t results[TOGGLES_MAX];
	struct arena arena = { 0 };
	struct buf b = { 0 };
	struct want w;

	total.wants++;
	if (want_decode(&w, &arena, payload, len, NULL) == 0 && w.epoch != a->epoch) {
		a->epoch = w.epoch;
		done_encode(&(struct done){ w.epoch, now_ns(), w.ntoggles, results, "" }, &b);
		put(a, FRAME_DONE, 0, &b);
	}
	buf_release(&b);
	arena_release(&arena);
}

static void
take(struct fleet_agent *a, const struct frame *f, const uint8_t *payload)
{
	total.frames_in++;
	switch (f->kind) {
	case FRAME_WELCOME:
		welcome(a);
		break;
	case FRAME_ACK:
		total.acks++;
		break;
	case FRAME_CLOCK:
		answer_clock(a, payload, f->length);
		break;
	case FRAME_WANT:
		answer_want(a, payload, f->length);
		break;
	case FRAME_REFUSE:
		if (total.refused++ < 3)
			fprintf(stderr, "%s is refused: %.*s\n", a->name, (int)f->length,
			    (const char *)payload);
		break;
	}
}

/* False: what came is no frame. */
static bool
take_frames(struct fleet_agent *a)
{
	struct frame f;
	size_t at = 0;

	if (!a->accepted && a->nin > 0) {
		a->accepted = true;
		at = 1;
	}
	while (a->nin - at >= FRAME_HEADER_BYTES) {
		const uint8_t *header = a->in + at;

		if (frame_open(&f, header, NULL) != 0)
			return false;
		if (a->nin - at < FRAME_HEADER_BYTES + f.length)
			break;
		take(a, &f, header + FRAME_HEADER_BYTES);
		at += FRAME_HEADER_BYTES + f.length;
	}
	memmove(a->in, a->in + at, a->nin - at);
	a->nin -= at;
	return true;
}

static void
readable(struct fleet_agent *a)
{
	ssize_t n;
	bool ok = true;

	do {
		if (a->cap - a->nin < READ_BYTES) {
			a->cap = a->cap > 0 ? 2 * a->cap : 2 * READ_BYTES;
			if ((a->in = realloc(a->in, a->cap)) == NULL)
				fail("memory");
		}
		n = a->ssl != NULL
		        ? tls_result(a, SSL_read(a->ssl, a->in + a->nin, (int)(a->cap - a->nin)))
		        : plain_result(recv(a->fd, a->in + a->nin, a->cap - a->nin, MSG_DONTWAIT));
		if (n > 0) {
			a->nin += (size_t)n;
			total.bytes_in += (uint64_t)n;
			ok = take_frames(a);
		}
	} while (n > 0 && ok);
	if (n < 0 || !ok)
		hang_up(a);
	else
		flush(a);
}

/* ---- the loop ---- */

static void
serve(int ms)
{
	struct epoll_event ev[EVENTS];
	int n = epoll_wait(epoll, ev, EVENTS, ms);

	for (int i = 0; i < n; i++) {
		struct fleet_agent *a = ev[i].data.ptr;

		if (a->fd >= 0 && (ev[i].events & EPOLLOUT))
			flush(a);
		if (a->fd >= 0 && (ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
			readable(a);
	}
}

static void
speak(struct fleet_agent *a, int64_t now)
{
	bool calm = calm_ns > 0 && now - a->last_record > CALM_AFTER_NS, any = false;

	if (!a->up)
		return;
	if (now - a->last_batch >= (a->count > 0 ? BATCH_NS : calm ? calm_ns : watermark_ns)) {
		put_batch(a, now - BEHIND_NS);
		a->last_batch = now;
		any = true;
	}
	if (now >= a->next_status) {
		put_status(a, now);
		a->next_status += SECOND;
		any = true;
	}
	if (any && !a->writes)
		flush(a);
}

/* Looks at all agents at most each LOOK_NS: of 10,000 that costs as much as what they say. */
static void
turn(void)
{
	static int64_t last;
	int64_t now = now_ns();
	int dials = 0;

	for (int i = 0; i < nagents && now - last >= LOOK_NS; i++) {
		if (agents[i].fd < 0 && now >= agents[i].redial_at && dials++ < DIALS)
			dial(&agents[i]);
		speak(&agents[i], now);
	}
	last = now - last >= LOOK_NS ? now : last;
	serve(1);
}

static int
connected(void)
{
	int n = 0;

	for (int i = 0; i < nagents; i++)
		n += agents[i].up;
	return n;
}

/* All at once if they are few; else as many as are answered, as the backlog is short. Seconds until all were welcome, at most 60. */
static double
connect_all(void)
{
	int64_t begin = now_ns();

	for (int i = 0; i < nagents; i++) {
		snprintf(agents[i].name, sizeof agents[i].name, "n%d", i);
		agents[i].fd = -1;
		agents[i].redial_at = begin + (int64_t)rng_below(&rng, (uint64_t)nagents * MS);
	}
	while (connected() < nagents && now_ns() < begin + 60 * SECOND)
		turn();
	return (double)(now_ns() - begin) / 1e9;
}

static double
cpu_of(int pid)
{
	char path[64], text[1024];
	unsigned long user = 0, system = 0;
	const char *at;
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	if ((f = fopen(path, "r")) == NULL)
		fail(path);
	n = fread(text, 1, sizeof text - 1, f);
	text[n] = '\0';
	fclose(f);
	if ((at = strrchr(text, ')')) == NULL ||
	    sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) !=
		2)
		fail(path);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* A number of /proc/PID/status. */
static long
status_of(int pid, const char *key)
{
	char path[64], line[256];
	long value = -1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	if ((f = fopen(path, "r")) == NULL)
		fail(path);
	while (value < 0 && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			value = atol(line + strlen(key) + 1);
	fclose(f);
	return value;
}

static struct totals
totals_now(int pid)
{
	struct totals t = total;
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	t.fleet_cpu_s = (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	                (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
	t.honed_cpu_s = cpu_of(pid);
	return t;
}

static void
run(int64_t ns, double traces_per_s)
{
	int64_t last = now_ns(), end = last + ns;
	double owed = 0;

	while (last < end) {
		int64_t now = now_ns();

		owed += traces_per_s * (double)(now - last) / 1e9;
		for (last = now; owed >= 1; owed--)
			make_trace(now);
		turn();
	}
}

/* ---- a restart of honed ---- */

/* The process that the file names, once it is another one than `former`; else 0. */
static int
successor(const char *file, int former)
{
	FILE *f = fopen(file, "r");
	int pid = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "%d", &pid) != 1 || pid == former)
		pid = 0;
	fclose(f);
	return pid;
}

static int
handshakes_open(void)
{
	int n = 0;

	for (int i = 0; i < nagents; i++)
		n += agents[i].fd >= 0 && !agents[i].accepted;
	return n;
}

/* At most 60 s. Looks each EACH_NS what honed uses, and in each turn how many connections are between connect() and
 * the end of their handshake. */
static void
restart(int pid, const char *file)
{
	const int64_t EACH_NS = SECOND / 4;
	int64_t began, look, now;
	double cpu_s = 0, before_s = 0, most_cores = 0, half_s = 0;
	int most_open = 0, n = 0, open;
	uint64_t attempts_before = total.attempts;

	kill(pid, SIGKILL);
	began = now = now_ns();
	while (connected() == nagents)
		turn(); /* until the first has seen it */
	while ((pid = successor(file, pid)) == 0 && now_ns() < began + 60 * SECOND)
		turn();
	if (pid == 0)
		fail(file);
	for (look = now_ns(); n < nagents && (now = now_ns()) < began + 60 * SECOND;) {
		turn();
		open = handshakes_open();
		most_open = open > most_open ? open : most_open;
		n = connected();
		if (half_s == 0 && n >= nagents / 2)
			half_s = (double)(now - began) / 1e9;
		if (now - look < EACH_NS)
			continue;
		cpu_s = cpu_of(pid);
		if ((cpu_s - before_s) / ((double)(now - look) / 1e9) > most_cores)
			most_cores = (cpu_s - before_s) / ((double)(now - look) / 1e9);
		before_s = cpu_s;
		look = now;
	}
	run(2 * SECOND, 0); /* so that the last lists of programs are taken */
	printf(
	    "{\"restart\": true, \"connected\": %d, \"half_s\": %.2f, \"all_s\": %.2f, \"attempts\": %llu, \"continued\": %llu, \"handshakes_open_most\": %d, "
	    "\"cpu_s\": %.2f, \"cores_most\": %.2f, \"rss_most_KiB\": %ld}\n",
	    connected(), half_s, (double)(now - began) / 1e9,
	    (unsigned long long)(total.attempts - attempts_before),
	    (unsigned long long)total.continued, most_open, cpu_of(pid), most_cores,
	    status_of(pid, "VmHWM"));
}

int
main(int argc, char **argv)
{
	struct rlimit files;
	struct totals from, to;
	double seconds, connect_s, connect_cpu_s, traces_per_s, s;
	int pid;

	if (argc < 7) {
		fprintf(stderr,
		    "usage: agent_link_fleet URL AGENTS SECONDS WATERMARK_MS RECORDS_PER_S HONED_PID [KEYS]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	url = argv[1];
	nagents = atoi(argv[2]);
	seconds = atof(argv[3]);
	watermark_ns = atoi(argv[4]) * MS;
	traces_per_s = atof(argv[5]) / (4 * DEPTH - 2);
	pid = atoi(argv[6]);
	keys_folder = argc > 7 ? argv[7] : ".";
	calm_ns = getenv("CALM_MS") != NULL ? atoi(getenv("CALM_MS")) * MS : 0;
	nshapes = getenv("SHAPES") != NULL ? (uint32_t)atoi(getenv("SHAPES")) : 1;
	ntracepoints = getenv("TRACEPOINTS") != NULL ? atoi(getenv("TRACEPOINTS")) : TRACEPOINTS;
	is_distinct = getenv("DISTINCT") != NULL;
	for (uint32_t i = 0; i < BYTES_MAX; i++)
		sizes[i] = (struct value){ .type = VALUE_UINT, .u = i };
	rng_seed(&rng, 1);
	if ((epoll = epoll_create1(EPOLL_CLOEXEC)) < 0 || nagents < 1 || watermark_ns < MS ||
	    nshapes < 1 || nshapes > SHAPES_MAX || ntracepoints < 1 ||
	    ntracepoints > TRACEPOINTS_MOST ||
	    (agents = calloc((size_t)nagents, sizeof *agents)) == NULL)
		fail("start");
	connect_cpu_s = cpu_of(pid);
	connect_s = connect_all();
	connect_cpu_s = cpu_of(pid) - connect_cpu_s;
	run(SETTLE_NS, traces_per_s);
	from = totals_now(pid);
	s = -(double)now_ns() / 1e9;
	run((int64_t)(seconds * 1e9), traces_per_s);
	s += (double)now_ns() / 1e9;
	to = totals_now(pid);
	printf(
	    "{\"agents\": %d, \"connected\": %d, \"connect_s\": %.2f, \"connect_cpu_s\": %.2f, \"seconds\": %.2f, \"honed_cores\": %.4f, "
	    "\"fleet_cores\": %.3f, \"threads\": %ld, \"rss_KiB\": %ld, \"rss_most_KiB\": %ld, \"frames_in_per_s\": %.0f, "
	    "\"frames_out_per_s\": %.0f, \"bytes_in_per_s\": %.0f, \"bytes_out_per_s\": %.0f, \"records_per_s\": %.0f, \"traces\": %llu, "
	    "\"wants_per_s\": %.0f, \"clocks_per_s\": %.0f, \"refused\": %llu, \"lost\": %llu}\n",
	    nagents, connected(), connect_s, connect_cpu_s, s,
	    (to.honed_cpu_s - from.honed_cpu_s) / s, (to.fleet_cpu_s - from.fleet_cpu_s) / s,
	    status_of(pid, "Threads"), status_of(pid, "VmRSS"), status_of(pid, "VmHWM"),
	    (double)(to.frames_out - from.frames_out) / s,
	    (double)(to.frames_in - from.frames_in) / s,
	    (double)(to.bytes_out - from.bytes_out) / s, (double)(to.bytes_in - from.bytes_in) / s,
	    (double)(to.records - from.records) / s, (unsigned long long)total.traces,
	    (double)(to.wants - from.wants) / s, (double)(to.clocks - from.clocks) / s,
	    (unsigned long long)total.refused, (unsigned long long)total.lost);
	fflush(stdout);
	if (getenv("RESTART") != NULL)
		restart(pid, getenv("RESTART"));
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spans by OTLP in protobuf, in batches of 512 as SDKs send them: traces of six spans in two services with four attributes each.
 *
 *	otel_spans_load read SPANS RATE		passes them to the room otel/spans, by a clock of their own at RATE spans a second,
 *						with the hold and the memory of hone-otel's defaults; for callgrind
 *	otel_spans_load send PORT RATE SECONDS	sends them to 127.0.0.1:PORT by OTLP/HTTP, on one connection
 *
 * Prints one line of JSON. Exit 1: an answer was not 200.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "otel/spans/otel_source.h"

#define SECOND INT64_C(1000000000)
enum { BATCH = 510, TRACE = 6, HEAD_MAX = 256 };

/* ---- a batch ---- */

static void
field(struct buf *to, uint8_t number, const void *bytes, size_t len)
{
	buf_u8(to, (uint8_t)(number << 3 | 2));
	buf_text(to, bytes, len);
}

static void
text_attribute(struct buf *to, uint8_t number, const char *key, const char *text)
{
	struct buf value = { 0 }, pair = { 0 };

	field(&value, 1, text, strlen(text));
	field(&pair, 1, key, strlen(key));
	field(&pair, 2, value.data, value.len);
	field(to, number, pair.data, pair.len);
	buf_release(&value);
	buf_release(&pair);
}

static void
number_attribute(struct buf *to, uint8_t number, const char *key, uint64_t n)
{
	struct buf value = { 0 }, pair = { 0 };

	buf_u8(&value, 3 << 3);
	buf_uint(&value, n);
	field(&pair, 1, key, strlen(key));
	field(&pair, 2, value.data, value.len);
	field(to, number, pair.data, pair.len);
	buf_release(&value);
	buf_release(&pair);
}

static void
time_field(struct buf *to, uint8_t number, int64_t ns)
{
	buf_u8(to, (uint8_t)(number << 3 | 1));
	buf_u64(to, (uint64_t)ns);
}

/* Span i of the trace n: the root, or one of its children, which follow each other. */
static void
put_span(struct buf *to, uint64_t n, unsigned i, int64_t now_ns)
{
	static const char *const names[TRACE] = { "GET /basket", "session", "stock", "price",
		"SELECT price", "render" };
	uint64_t trace[2] = { 7, hash_u64(n) }, id = hash_u64(n * TRACE + i + 1),
		 parent = hash_u64(n * TRACE + 1);
	int64_t begin_ns = now_ns - 20000000 + (int64_t)i * 3000000;
	struct buf span = { 0 };
	char path[32];

	field(&span, 1, trace, sizeof trace);
	field(&span, 2, &id, sizeof id);
	if (i > 0)
		field(&span, 4, &parent, sizeof parent);
	field(&span, 5, names[i], strlen(names[i]));
	buf_u8(&span, 6 << 3);
	buf_u8(&span, i == 0 ? 2 : 1);
	time_field(&span, 7, i == 0 ? now_ns - 21000000 : begin_ns);
	time_field(&span, 8, i == 0 ? now_ns : begin_ns + 2500000);
	snprintf(path, sizeof path, "/basket/%llu", (unsigned long long)n % 100000);
	text_attribute(&span, 9, "http.request.method", "GET");
	text_attribute(&span, 9, "url.path", path);
	number_attribute(&span, 9, "http.response.status_code", 200);
	number_attribute(&span, 9, "rows", n % 100);
	field(to, 2, span.data, span.len);
	buf_release(&span);
}

/* The spans of BATCH / TRACE traces from n on, those of one service in each of two resources. */
static void
put_batch(struct buf *to, uint64_t n, int64_t now_ns)
{
	static const char *const services[] = { "front", "back" };

	buf_reset(to);
	for (unsigned s = 0; s < 2; s++) {
		struct buf attributes = { 0 }, spans = { 0 }, resource = { 0 };

		text_attribute(&attributes, 1, "service.name", services[s]);
		for (uint64_t t = n; t < n + BATCH / TRACE; t++)
			for (unsigned i = s * 3; i < s * 3 + 3; i++)
				put_span(&spans, t, i, now_ns);
		field(&resource, 1, attributes.data, attributes.len);
		field(&resource, 2, spans.data, spans.len);
		field(to, 1, resource.data, resource.len);
		buf_release(&attributes);
		buf_release(&spans);
		buf_release(&resource);
	}
}

/* ---- read ---- */

static int
read_spans(uint64_t spans, double rate)
{
	struct otel_source_options o = { { 64 << 20, 10000, 5 * SECOND, 60 * SECOND }, 2 << 20,
		6 * SECOND, SECOND, 600 * SECOND };
	const struct want w = { .sampled = 1 };
	struct mono now = { 1000 * SECOND };
	struct otel_source_stats stats;
	struct source_output out;
	struct receipt receipt;
	struct otel_source *s;
	struct buf body = { 0 };
	uint64_t records = 0, lost = 0, bytes = 0;
	size_t most = 0;
	struct err e;

	if (otel_source_new(&s, &o, &e) != 0 || otel_source_want(s, &w, now, &e) != 0)
		return 1;
	otel_source_clocks(s, now, (struct wall){ now.ns }, now);
	otel_source_sample(s, true);
	for (uint64_t n = 0; n < spans; n += BATCH) {
		now.ns += (int64_t)(1e9 * BATCH / rate);
		put_batch(&body, n / TRACE, now.ns);
		bytes += body.len;
		otel_source_receive(s, SPANS_OTLP_PROTO, body.data, body.len, now, &receipt, &e);
		lost += receipt.lost + receipt.rejected;
		otel_source_stats(s, &stats);
		most = stats.gather.bytes > most ? stats.gather.bytes : most;
		do {
			otel_source_poll(s, now, false, &out, &e);
			records += out.nrecords;
		} while (out.more);
	}
	printf(
	    "{\"spans\": %llu, \"records\": %llu, \"lost\": %llu, \"body_bytes_span\": %.0f, \"held_bytes\": %zu}\n",
	    (unsigned long long)spans, (unsigned long long)records, (unsigned long long)lost,
	    (double)bytes / (double)spans, most);
	buf_release(&body);
	otel_source_free(s);
	return 0;
}

/* ---- send ---- */

static int
connect_to(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
		perror("connect");
		exit(1);
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

static bool
send_all(int fd, const void *data, size_t len)
{
	for (size_t sent = 0; sent < len;) {
		ssize_t n = send(fd, (const char *)data + sent, len - sent, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		sent += (size_t)n;
	}
	return true;
}

/* The status; *partial: the answer has a body, which names spans that were not taken. An answer fits into one read. */
static int
read_answer(int fd, bool *partial)
{
	char answer[4096];
	size_t len = 0;
	int status = 0;

	for (;;) {
		ssize_t n = recv(fd, answer + len, sizeof answer - 1 - len, 0);

		if (n <= 0)
			return 0;
		len += (size_t)n;
		answer[len] = '\0';
		if (strstr(answer, "\r\n\r\n") != NULL)
			break;
	}
	if (sscanf(answer, "HTTP/1.1 %d", &status) != 1)
		return 0;
	*partial = strstr(answer, "Content-Length: 0\r\n") == NULL;
	return status;
}

static int
send_spans(int port, double rate, double seconds)
{
	uint64_t batches = (uint64_t)(rate * seconds / BATCH), refused = 0, partial = 0, behind = 0;
	int fd = connect_to(port);
	int64_t began_ns = clock_mono().ns;
	struct buf body = { 0 };
	char head[HEAD_MAX];

	for (uint64_t n = 0; n < batches; n++) {
		int64_t due_ns = began_ns + (int64_t)((double)n * 1e9 * BATCH / rate), now_ns;
		bool some = false;
		int len;

		now_ns = clock_mono().ns;
		behind += now_ns > due_ns + SECOND;
		if (now_ns < due_ns)
			nanosleep(&(struct timespec){ (due_ns - now_ns) / SECOND,
				      (due_ns - now_ns) % SECOND },
			    NULL);
		put_batch(&body, (uint64_t)clock_wall().ns, clock_wall().ns);
		len = snprintf(head, sizeof head,
		    "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: %zu\r\n\r\n",
		    body.len);
		if (!send_all(fd, head, (size_t)len) || !send_all(fd, body.data, body.len) ||
		    read_answer(fd, &some) != 200)
			refused++;
		partial += some;
	}
	printf(
	    "{\"spans\": %llu, \"seconds\": %.2f, \"refused_batches\": %llu, \"partial_batches\": %llu, \"late_batches\": %llu}\n",
	    (unsigned long long)batches * BATCH, (double)(clock_mono().ns - began_ns) / 1e9,
	    (unsigned long long)refused, (unsigned long long)partial, (unsigned long long)behind);
	buf_release(&body);
	close(fd);
	return refused == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "read") == 0)
		return read_spans(strtoull(argv[2], NULL, 10), atof(argv[3]));
	if (argc == 5 && strcmp(argv[1], "send") == 0)
		return send_spans(atoi(argv[2]), atof(argv[3]), atof(argv[4]));
	fprintf(stderr, "usage: otel_spans_load read SPANS RATE | send PORT RATE SECONDS\n");
	return 2;
}

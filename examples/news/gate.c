/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * news-gate: receives all requests of users, over HTTP, and answers them. One thread runs everything: an event
 * loop (epoll) over the users' connections and those to news-desk and news-find. A request is on the thread
 * twice, when it comes and when its answer does; between them it is detached.
 */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "gate_trace.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "message.h"
#include "switches.h"
#include "work.h"

enum { VISITORS = 256, HEAD = 2048, EVENTS = 32 };
enum { AT_LISTENER = VISITORS, AT_DESK, AT_FIND }; /* epoll's data; below: the number of a client */

static const struct ask_kind {
	const char *line; /* what the request line begins with */
	const char *type, *link;
	uint32_t op;
} pages[] = {
	{ "GET /article?", "READ", "desk.read", OP_READ },
	{ "GET /search?", "SEARCH", "find.query", OP_SEARCH },
	{ "POST /article?", "PUBLISH", "desk.publish", OP_PUBLISH },
	{ 0 },
};

static struct visitor {
	int fd;                       /* 0: a free place */
	const struct ask_kind *asked; /* NULL: no request under way */
	uint32_t id;                  /* of its question */
	size_t have;
	char head[HEAD + 1]; /* as far as it has come; ends with a 0 */
	struct hone_unit unit;
	struct hone_carrier carrier;
} visitors[VISITORS];

static int loop, listener, desk, find, under_way;
static uint32_t questions;

static void
watch(int fd, uint32_t number)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = number };

	epoll_ctl(loop, EPOLL_CTL_ADD, fd, &e);
}

static void
leave(struct visitor *c)
{
	if (c->asked) {
		hone_attach(&c->unit);
		hone_request_end(499);
		under_way--;
	}
	close(c->fd);
	memset(c, 0, sizeof *c);
}

static void
reply(struct visitor *c, int status, const char *text, size_t length)
{
	char out[HEAD + MESSAGE_TEXT];
	int n = snprintf(out, HEAD, "HTTP/1.1 %d %s\r\nContent-Length: %zu\r\n\r\n", status,
	    status == 200 ? "OK" : "not well", length);

	memcpy(out + n, text, length);
	if (send(c->fd, out, (size_t)n + length, MSG_NOSIGNAL) < 0)
		shutdown(c->fd, SHUT_RDWR);
}

/* The number, or the first letters, behind NAME= in the request line. */
static const char *
argument(const struct visitor *c, const char *name)
{
	const char *at = strstr(c->head, name);

	return at ? at + strlen(name) : "0";
}

/* ---- a request comes ------------------------------------------------------------------ */

static void
session(int user)
{
	int known;

	span_begin(session, user);
	span_begin(session_decode, user);
	work_hash(&user, sizeof user, 200);
	span_end(session_decode, 64);
	span_begin(session_check, user);
	known = work_hash(&user, sizeof user, 100) != 0;
	span_end(session_check, known);
	span_end(session, known);
}

/* A new article must follow the schema, which is read from its file if that may have changed. */
static void
schema_check(int article)
{
	int problems;

	span_begin(schema_check, article);
	span_begin(schema_load, article);
	work_wait(15.0 * switch_degree(SWITCH_loop));
	span_end(schema_load, 40);
	span_begin(schema_apply, 40);
	problems = (int)(work_hash(&article, sizeof article, 500) % 2);
	span_end(schema_apply, problems);
	span_end(schema_check, problems);
}

static void
forward(struct visitor *c)
{
	struct message m = { .op = c->asked->op };

	span_begin(forward, under_way);
	m.id = c->id = (uint32_t)(c - visitors) + VISITORS * ++questions;
	m.number = atoi(argument(c, "id="));
	if (c->asked->op == OP_SEARCH) {
		m.length = (uint32_t)strcspn(argument(c, "q="), " &");
		memcpy(m.text, argument(c, "q="), m.length);
	}
	hone_fork(c->asked->link, &c->carrier);
	m.carrier = c->carrier;
	if (message_send(c->asked->op == OP_SEARCH ? find : desk, &m) != 0)
		exit(1); /* news.sh has ended them */
	span_end(forward, m.length);
}

static void
accept_request(struct visitor *c, const struct ask_kind *p)
{
	size_t fields = 0;

	hone_request_begin(p->type, NULL);
	span_begin(accept_request, (int64_t)c->have);
	c->asked = p;
	under_way++;
	span_begin(parse, (int64_t)c->have);
	for (const char *at = c->head; (at = strstr(at, "\r\n")); at += 2)
		fields++;
	span_end(parse, (int64_t)fields);
	session(atoi(argument(c, "user=")));
	if (p->op == OP_PUBLISH)
		schema_check(atoi(argument(c, "id=")));
	forward(c);
	span_end(accept_request, p->op);
	hone_detach(&c->unit);
}

/* POST /fault?name=X&on=N switches a fault; GET /health is answered. */
static void
answer_operator(struct visitor *c)
{
	char name[16];
	int degree = atoi(argument(c, "on="));

	snprintf(name, sizeof name, "%.*s", (int)strcspn(argument(c, "name="), " &"),
	    argument(c, "name="));
	if (strncmp(c->head, "GET /health ", 12) == 0)
		reply(c, 200, "news-gate\n", 10);
	else if (strncmp(c->head, "POST /fault?", 12) == 0 && degree >= 0 && degree < 100 &&
		 switch_set(name, degree) == 0)
		reply(c, 200, "switched\n", 9);
	else
		reply(c, 404, "no such page\n", 13);
}

static void
hear_visitor(struct visitor *c)
{
	ssize_t n = recv(c->fd, c->head + c->have, HEAD - c->have, 0);
	const struct ask_kind *p = pages;

	if (n <= 0 || c->asked) { /* it is gone, or does not wait for its answer */
		leave(c);
		return;
	}
	c->have += (size_t)n;
	c->head[c->have] = 0;
	if (!strstr(c->head, "\r\n\r\n"))
		return;
	while (p->line && strncmp(c->head, p->line, strlen(p->line)) != 0)
		p++;
	if (p->line)
		accept_request(c, p);
	else
		answer_operator(c);
	c->have = 0;
}

/* ---- its answer comes ----------------------------------------------------------------- */

static void
render(const struct message *m)
{
	span_begin(render, m->length);
	span_begin(render_head, m->op);
	work_hash(m, 64, 20);
	span_end(render_head, 200);
	span_begin(render_body, m->length);
	work_hash(m->text, m->length, 20);
	span_end(render_body, m->length);
	span_end(render, m->length);
}

static void
finish_request(struct visitor *c, const struct message *m)
{
	int status = m->op == STATUS_OK ? 200 : (int)m->op;

	hone_attach(&c->unit);
	hone_join(&c->carrier, c->asked->link);
	span_begin(finish_request, m->length);
	render(m);
	span_begin(compress, m->length);
	work_hash(m->text, m->length, 40);
	span_end(compress, (int64_t)(m->length / 3));
	span_begin(reply, m->length);
	reply(c, status, m->text, m->length);
	span_end(reply, status);
	span_end(finish_request, status);
	hone_request_end(status);
	c->asked = NULL;
	under_way--;
}

static void
hear_service(int fd)
{
	struct message m;
	struct visitor *c;

	if (message_receive(fd, &m) != 1)
		exit(1);
	c = &visitors[m.id % VISITORS];
	if (c->asked && c->id == m.id)
		finish_request(c, &m);
}

/* ---- the loop ------------------------------------------------------------------------- */

static void
welcome(void)
{
	int fd = accept(listener, NULL, NULL), one = 1, i = 0;

	while (i < VISITORS && visitors[i].fd)
		i++;
	if (fd < 0 || i == VISITORS) {
		if (fd >= 0)
			close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	visitors[i].fd = fd;
	watch(fd, (uint32_t)i);
}

/* Listens on a free port, and writes its number to DIR/port. 0; -1: failed. */
static int
open_port(const char *dir)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof at;
	char path[256], made[272];
	FILE *f;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 ||
	    listen(listener, 64) != 0 || getsockname(listener, (struct sockaddr *)&at, &size) != 0)
		return -1;
	snprintf(path, sizeof path, "%s/port", dir);
	snprintf(made, sizeof made, "%s.new", path);
	if (!(f = fopen(made, "w")))
		return -1;
	fprintf(f, "%d\n", ntohs(at.sin_port));
	return fclose(f) != 0 ? -1 : rename(made, path);
}

int
main(int argc, char **argv)
{
	struct epoll_event events[EVENTS];

	if (argc != 2) {
		fprintf(stderr, "usage: news-gate DIR\n");
		return 2;
	}
	if (switches_open(argv[1]) != 0 || (desk = message_connect(argv[1], "desk")) < 0 ||
	    (find = message_connect(argv[1], "find")) < 0)
		return 1;
	loop = epoll_create1(EPOLL_CLOEXEC);
	if (loop < 0 || open_port(argv[1]) != 0) {
		perror("news-gate");
		return 1;
	}
	watch(listener, AT_LISTENER);
	watch(desk, AT_DESK);
	watch(find, AT_FIND);
	for (;;) {
		int n = epoll_wait(loop, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			uint32_t at = events[i].data.u32;

			if (at == AT_LISTENER)
				welcome();
			else if (at == AT_DESK || at == AT_FIND)
				hear_service(at == AT_DESK ? desk : find);
			else if (visitors[at].fd)
				hear_visitor(&visitors[at]);
		}
	}
}

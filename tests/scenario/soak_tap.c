/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * soak_tap LISTEN DIAL: a proxy between agents and their controller (paths of sockets) that
 * forwards everything and decodes the batches. The WORK requests of each thread are numbered from 1
 * (soak_program), so that missing ones are detected. Prints on standard output, with times in ns of
 * the node's CLOCK_MONOTONIC:
 *
 *	loss NODE REASON COUNT FROM TO		a loss that an agent reported
 *	gap NODE NAME PID TID WANTED GOT FROM TO	missing numbers between two records of these times
 *	life NODE NAME PID TID LAST FROM TO	at the end, for each thread, or program after an exec:
 *						its last number, times of its first and last record
 *	hello NODE				an agent has connected
 *	bad WORDS				a message that no correct agent sends
 *	records COUNT				at the end
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/agent_messages.h"
#include "wire/frame.h"

enum { NODES_MAX = 8, BUCKETS = 4096 };
#define SILENT_NS INT64_C(60000000000) /* longer than any pause of a thread between two requests */

struct life {
	struct life *next; /* of its bucket */
	uint32_t pid, tid;
	char name[16]; /* of the process */
	uint64_t last;
	int64_t from_ns, to_ns;
	bool over; /* a later life has the same pid and tid */
};

struct node {
	char name[NODE_NAME_MAX + 1];
	uint64_t incarnation, have_seq;
	struct life *lives[BUCKETS];
};

struct link {
	int agent, controller;
	struct node *node;
};

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards the variables below and standard output */
static struct node nodes[NODES_MAX];
static unsigned long long records;
static const char *controller_path;

/* ---- reading ---- */

static void
take_hello(struct link *l, const uint8_t *data, size_t len)
{
	struct arena a = { 0 };
	struct hello h;
	struct err e;
	int i = 0;

	if (hello_decode(&h, &a, data, len, &e) != 0) {
		printf("bad hello: %s\n", e.text);
		return;
	}
	while (i < NODES_MAX - 1 && nodes[i].name[0] != '\0' && strcmp(nodes[i].name, h.node) != 0)
		i++;
	l->node = &nodes[i];
	snprintf(l->node->name, sizeof l->node->name, "%s", h.node);
	if (l->node->incarnation != h.incarnation)
		l->node->have_seq = 0;
	l->node->incarnation = h.incarnation;
	printf("hello %s\n", h.node);
	arena_release(&a);
}

static void
take_request(
    struct node *n, const struct batch_label *label, const struct record *r, uint64_t number)
{
	struct life **bucket = &n->lives[r->tid % BUCKETS], *l = *bucket;
	uint64_t last;

	while (l != NULL && (l->over || l->pid != r->pid || l->tid != r->tid))
		l = l->next;
	if (l == NULL || number <= l->last ||
	    strncmp(l->name, label->text, strcspn(label->text, "/")) != 0 ||
	    r->time_ns - l->to_ns > SILENT_NS) { /* new thread, exec(), or reused pid */
		if (l != NULL)
			l->over = true;
		if ((l = calloc(1, sizeof *l)) == NULL)
			abort();
		*l = (struct life){ *bucket, r->pid, r->tid, "", 0, r->time_ns, r->time_ns, false };
		snprintf(
		    l->name, sizeof l->name, "%.*s", (int)strcspn(label->text, "/"), label->text);
		*bucket = l;
	}
	last = l->last;
	if (number != last + 1)
		printf("gap %s %s %u %u %llu %llu %lld %lld\n", n->name, l->name, r->pid, r->tid,
		    (unsigned long long)last + 1, (unsigned long long)number, (long long)l->to_ns,
		    (long long)r->time_ns);
	l->last = number;
	l->to_ns = r->time_ns;
}

static bool
is_request(const struct batch_label *l)
{
	static const char start[] = "soak_", end[] = "/hone:request_end(WORK)";
	size_t len = sizeof end - 1;

	return l->kind == RECORD_REQUEST_END && l->len > len &&
	       memcmp(l->text, start, sizeof start - 1) == 0 &&
	       memcmp(l->text + l->len - len, end, len) == 0 && l->nfields > 0;
}

static void
take_records(struct node *n, uint64_t seq, const uint8_t *data, size_t len)
{
	struct arena a = { 0 };
	struct batch b;
	struct err e;

	if (n == NULL || (seq > n->have_seq + 1 && n->have_seq > 0)) {
		printf("bad batch %llu\n", (unsigned long long)seq);
		return;
	}
	if (seq <= n->have_seq) /* sent again after a new connection */
		return;
	n->have_seq = seq;
	if (batch_decode(&b, &a, data, len, &e) != 0) {
		printf("bad batch: %s\n", e.text);
		return;
	}
	for (uint32_t i = 0; i < b.nlosses; i++)
		printf("loss %s %u %llu %lld %lld\n", n->name, b.losses[i].reason,
		    (unsigned long long)b.losses[i].count, (long long)b.losses[i].from_ns,
		    (long long)b.losses[i].to_ns);
	for (uint32_t i = 0; i < b.nrecords; i++)
		if (is_request(&b.labels[b.records[i].label]) && b.records[i].values[0].i > 0)
			take_request(n, &b.labels[b.records[i].label], &b.records[i],
			    (uint64_t)b.records[i].values[0].i);
	records += b.nrecords;
	arena_release(&a);
}

static int
take_frame(struct link *l, const uint8_t *bytes)
{
	struct frame f;
	struct err e;
	int rc = frame_open(&f, bytes, &e);

	if (rc == 0)
		rc = frame_check(&f, bytes, bytes + FRAME_HEADER_BYTES, &e);
	pthread_mutex_lock(&lock);
	if (rc != 0)
		printf("bad frame: %s\n", e.text);
	else if (f.kind == FRAME_HELLO)
		take_hello(l, bytes + FRAME_HEADER_BYTES, f.length);
	else if (f.kind == FRAME_RECORDS)
		take_records(l->node, f.seq, bytes + FRAME_HEADER_BYTES, f.length);
	pthread_mutex_unlock(&lock);
	return rc;
}

/* ---- forwarding ---- */

static bool
read_all(int fd, uint8_t *to, size_t len)
{
	ssize_t n;

	for (; len > 0; to += n, len -= (size_t)n)
		if ((n = read(fd, to, len)) <= 0)
			return false;
	return true;
}

static bool
write_all(int fd, const uint8_t *from, size_t len)
{
	ssize_t n;

	for (; len > 0; from += n, len -= (size_t)n)
		if ((n = send(fd, from, len, MSG_NOSIGNAL)) <= 0)
			return false;
	return true;
}

static void *
downwards(void *arg)
{
	struct link *l = arg;
	uint8_t bytes[65536];
	ssize_t n;

	while ((n = read(l->controller, bytes, sizeof bytes)) > 0 &&
	       write_all(l->agent, bytes, (size_t)n))
		;
	shutdown(l->agent, SHUT_RDWR);
	return NULL;
}

/* Decodes a batch only after it was forwarded whole: a batch that the controller refused does not
 * count. */
static void
upwards(struct link *l)
{
	uint8_t header[FRAME_HEADER_BYTES], *bytes = NULL, *more;
	struct frame f;
	struct err e;

	while (read_all(l->agent, header, sizeof header) && frame_open(&f, header, &e) == 0) {
		if ((more = realloc(bytes, sizeof header + f.length)) == NULL)
			break;
		bytes = more;
		memcpy(bytes, header, sizeof header);
		if (!read_all(l->agent, bytes + sizeof header, f.length) ||
		    !write_all(l->controller, bytes, sizeof header + f.length) ||
		    take_frame(l, bytes) != 0)
			break;
	}
	free(bytes);
	shutdown(l->controller, SHUT_RDWR);
	shutdown(l->agent, SHUT_RDWR);
}

static int
open_socket(const char *path, bool dial)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	if (fd >= 0 && (dial ? connect(fd, (void *)&at, sizeof at)
			     : bind(fd, (void *)&at, sizeof at) | listen(fd, 16)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void *
pass_on(void *arg)
{
	struct link l = { (int)(intptr_t)arg, open_socket(controller_path, true) };
	pthread_t down;

	if (l.controller >= 0 && pthread_create(&down, NULL, downwards, &l) == 0) {
		upwards(&l);
		pthread_join(down, NULL);
	}
	close(l.agent);
	if (l.controller >= 0)
		close(l.controller);
	return NULL;
}

static void *
listen_on(void *arg)
{
	int fd, listener = (int)(intptr_t)arg;
	pthread_t thread;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == EINTR ||
	       errno == ECONNABORTED)
		if (fd >= 0 && pthread_create(&thread, NULL, pass_on, (void *)(intptr_t)fd) == 0)
			pthread_detach(thread);
		else if (fd >= 0)
			close(fd);
	fprintf(stderr, "soak_tap: %s\n", strerror(errno));
	exit(1);
}

static void
print_lives(const struct node *n)
{
	for (int i = 0; i < BUCKETS; i++)
		for (const struct life *l = n->lives[i]; l != NULL; l = l->next)
			printf("life %s %s %u %u %llu %lld %lld\n", n->name, l->name, l->pid,
			    l->tid, (unsigned long long)l->last, (long long)l->from_ns,
			    (long long)l->to_ns);
}

int
main(int argc, char **argv)
{
	int listener = argc == 3 ? open_socket(argv[1], false) : -1, got;
	pthread_t thread;
	sigset_t end;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (listener < 0) {
		fprintf(stderr, "usage: soak_tap LISTEN DIAL\n");
		return 2;
	}
	controller_path = argv[2];
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &end, NULL);
	if (pthread_create(&thread, NULL, listen_on, (void *)(intptr_t)listener) != 0)
		return 1;
	sigwait(&end, &got);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < NODES_MAX; i++)
		print_lives(&nodes[i]);
	printf("records %llu\n", records);
	unlink(argv[1]);
	fflush(stdout);
	_exit(0);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Listening sockets of an event loop, which blocking streams dial. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <pthread.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/listen_socket.h"
#include "base/stream.h"
#include "tests/unit/base/socket_folder.h"

enum { LONG_MS = 30000 };

static struct listen_socket *
listen_at(const char *url)
{
	struct listen_socket *l = NULL;
	struct err e;

	if (listen_socket_open(&l, url, 0600, &e) != 0)
		fail_msg("%s", e.text);
	return l;
}

/* Dials it and accepts. */
static struct accepted_socket
connect_to(struct listen_socket *l, struct stream **dialled)
{
	struct pollfd wait = { .fd = listen_socket_fd(l), .events = POLLIN };
	struct accepted_socket a;
	struct err e;

	if (stream_dial(dialled, listen_socket_url(l), LONG_MS, &e) != 0 ||
	    stream_write(*dialled, "x", 1, LONG_MS, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(poll(&wait, 1, LONG_MS), 1);
	if (listen_socket_accept(l, &a, &e) != 0)
		fail_msg("%s", e.text);
	return a;
}

static void
disconnect(struct accepted_socket *a, struct stream *dialled)
{
	close(a->fd);
	stream_close(dialled);
}

static void
accepting_never_waits(void **state)
{
	const char *urls[] = { ipc_url, tcp_url };
	struct accepted_socket a;
	struct stream *s;
	char byte = 0;
	(void)state;

	for (int i = 0; i < 2; i++) {
		struct listen_socket *l = listen_at(urls[i]);

		assert_int_equal(listen_socket_accept(l, &a, NULL), ERR_MISSING);
		a = connect_to(l, &s);
		assert_int_equal(
		    listen_socket_accept(l, &(struct accepted_socket){ 0 }, NULL), ERR_MISSING);
		/* what came before it was accepted is there; then reading does not wait either */
		while (recv(a.fd, &byte, 1, 0) < 0)
			;
		assert_int_equal(byte, 'x');
		assert_int_equal(recv(a.fd, &byte, 1, 0), -1);
		disconnect(&a, s);
		listen_socket_close(l);
	}
}

static void
a_peer_is_known_by_its_user_or_its_address(void **state)
{
	struct listen_socket *l = listen_at(ipc_url);
	struct accepted_socket a;
	struct stream *s;
	struct err e;
	(void)state;

	a = connect_to(l, &s);
	assert_true(a.local && a.uid == (int)getuid() && a.pid == (int)getpid());
	assert_string_equal(a.address, "");
	disconnect(&a, s);
	listen_socket_close(l);
	l = listen_at(tcp_url);
	assert_null(strstr(listen_socket_url(l), ":0"));
	a = connect_to(l, &s);
	assert_true(!a.local && a.uid == -1 && a.pid == -1);
	assert_string_equal(a.address, "127.0.0.1");
	assert_string_equal(a.network, "127.0.0.1");
	disconnect(&a, s);
	listen_socket_close(l);
	/* of IPv6 the network, if this machine has IPv6 */
	if (listen_socket_open(&l, "tcp://[::1]:0", 0, &e) != 0)
		return;
	a = connect_to(l, &s);
	assert_string_equal(a.address, "::1");
	assert_string_equal(a.network, "::/64");
	disconnect(&a, s);
	listen_socket_close(l);
}

static void
leave_stale_socket(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof to), 0);
	assert_int_equal(listen(fd, 1), 0);
	close(fd);
	assert_int_equal(access(path, F_OK), 0);
}

static void
a_stale_socket_is_replaced(void **state)
{
	struct accepted_socket a;
	struct listen_socket *l;
	struct stream *s;
	struct stat st;
	struct err e;
	(void)state;

	leave_stale_socket();
	assert_int_equal(stream_dial(&s, ipc_url, LONG_MS, &e), ERR_PEER);
	l = listen_at(ipc_url);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	a = connect_to(l, &s);
	disconnect(&a, s);
	listen_socket_close(l);
	assert_int_equal(access(path, F_OK), -1); /* closing removed it */
}

static void
a_socket_in_use_is_busy_and_stays(void **state)
{
	struct listen_socket *l = listen_at(ipc_url), *other;
	struct accepted_socket a;
	struct stream *s;
	struct err e;
	(void)state;

	assert_int_equal(listen_socket_open(&other, ipc_url, 0600, &e), ERR_BUSY);
	assert_non_null(strstr(e.text, path));
	a = connect_to(l, &s);
	disconnect(&a, s);
	listen_socket_close(l);
	l = listen_at(tcp_url);
	assert_int_equal(listen_socket_open(&other, listen_socket_url(l), 0, &e), ERR_BUSY);
	listen_socket_close(l);
}

static void
a_file_that_is_no_socket_is_left_alone(void **state)
{
	FILE *f = fopen(path, "w");
	struct listen_socket *l;
	struct stat st;
	struct err e;
	(void)state;

	fputs("somebody's data", f);
	fclose(f);
	assert_int_equal(listen_socket_open(&l, ipc_url, 0600, &e), ERR_BUSY);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 15);
	unlink(path);
}

static void
failures_name_the_url(void **state)
{
	static const struct {
		const char *url;
		int code;
	} cases[] = {
		{ "ipc:///tmp/no/such/socket", ERR_SYSTEM }, { "ipc://relative", ERR_INPUT },
		{ "tcp://host", ERR_INPUT }, { "tls://host:65536", ERR_INPUT },
		{ "http://host:80/", ERR_INPUT },
		{ "tcp://192.0.2.1:0", ERR_SYSTEM }, /* of no machine: RFC 5737 */
	};
	struct listen_socket *l;
	struct err e;
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(listen_socket_open(&l, cases[i].url, 0600, &e), cases[i].code);
		assert_non_null(strstr(e.text, cases[i].url));
	}
}

/* ---- several at once ---- */

enum { STARTERS = 6, STARTS = 100 };

struct starter {
	pthread_t thread;
	pthread_barrier_t *begin;
	struct listen_socket *socket;
	int rc;
};

static void *
start(void *arg)
{
	struct starter *s = arg;

	pthread_barrier_wait(s->begin);
	s->rc = listen_socket_open(&s->socket, ipc_url, 0600, NULL);
	return NULL;
}

static void
leave_stale(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	unlink(path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	close(fd);
}

static void
of_several_that_start_at_once_on_a_stale_file_one_listens(void **state)
{
	struct starter s[STARTERS];
	pthread_barrier_t begin;
	struct stream *dialled;
	struct err e;
	(void)state;

	pthread_barrier_init(&begin, NULL, STARTERS);
	for (int round = 0; round < STARTS; round++) {
		struct listen_socket *one = NULL;

		leave_stale();
		for (int i = 0; i < STARTERS; i++) {
			s[i] = (struct starter){ .begin = &begin };
			pthread_create(&s[i].thread, NULL, start, &s[i]);
		}
		for (int i = 0; i < STARTERS; i++) {
			pthread_join(s[i].thread, NULL);
			if (s[i].rc == 0) {
				assert_null(one);
				one = s[i].socket;
			} else {
				assert_int_equal(s[i].rc, ERR_BUSY);
			}
		}
		assert_non_null(one);
		if (stream_dial(&dialled, ipc_url, LONG_MS, &e) != 0)
			fail_msg("%s", e.text);
		stream_close(dialled);
		listen_socket_close(one);
	}
	pthread_barrier_destroy(&begin);
}

/* Whoever may read the folder can hold its lock. */
static void
a_folder_whose_lock_is_held_is_no_obstacle(void **state)
{
	struct listen_socket *l;
	int fd;
	(void)state;

	fd = open(folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	leave_stale_socket();
	l = listen_at(ipc_url);
	listen_socket_close(l);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_whose_lock_is_held_is_no_obstacle),
		cmocka_unit_test(accepting_never_waits),
		cmocka_unit_test(a_peer_is_known_by_its_user_or_its_address),
		cmocka_unit_test(a_stale_socket_is_replaced),
		cmocka_unit_test(a_socket_in_use_is_busy_and_stays),
		cmocka_unit_test(a_file_that_is_no_socket_is_left_alone),
		cmocka_unit_test(failures_name_the_url),
		cmocka_unit_test(of_several_that_start_at_once_on_a_stale_file_one_listens),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The notifications that a service manager receives, on a socket like its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/systemd.h"

static char heard[256];

static int
manager(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(at.sun_path, path, len);
	if (path[0] == '@')
		at.sun_path[0] = '\0';
	assert_int_equal(
	    bind(fd, (struct sockaddr *)&at,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (path[0] == '/'))),
	    0);
	setenv("NOTIFY_SOCKET", path, 1);
	return fd;
}

/* Returns the next datagram, or "" if there is none. */
static const char *
hear(int fd)
{
	ssize_t n = recv(fd, heard, sizeof heard - 1, 0);

	heard[n > 0 ? n : 0] = '\0';
	return heard;
}

static void
notifications_arrive_unchanged(void **state)
{
	char path[2][64];
	(void)state;

	snprintf(path[0], sizeof path[0], "/tmp/notify-test-%ld", (long)getpid());
	snprintf(path[1], sizeof path[1], "@notify-test-%ld", (long)getpid());
	for (int i = 0; i < 2; i++) {
		int fd = manager(path[i]);

		assert_true(systemd_notify("READY=1\nSTATUS=all is well"));
		assert_string_equal(hear(fd), "READY=1\nSTATUS=all is well");
		assert_string_equal(hear(fd), "");
		close(fd);
	}
	unlink(path[0]);
}

static void
without_a_manager_notifications_do_nothing(void **state)
{
	(void)state;

	unsetenv("NOTIFY_SOCKET");
	assert_false(systemd_notify("READY=1"));
	setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
	assert_false(systemd_notify("READY=1"));
	setenv("NOTIFY_SOCKET", "vsock:2:1", 1); /* for virtual machines: not supported */
	assert_false(systemd_notify("READY=1"));
}

/* The socket of a manager that does not read is full; a notification does not block. */
static void
a_manager_that_does_not_read_is_not_waited_for(void **state)
{
	char path[64];
	int fd, sent = 0;
	(void)state;

	snprintf(path, sizeof path, "@notify-full-%ld", (long)getpid());
	fd = manager(path);
	while (systemd_notify("STATUS=again"))
		assert_in_range(++sent, 1, 100000);
	assert_in_range(sent, 1, 100000);
	close(fd);
}

static void
the_watchdog_is_notified_twice_per_interval(void **state)
{
	char path[64], pid[24];
	int fd, count = 0;
	(void)state;

	snprintf(path, sizeof path, "@notify-dog-%ld", (long)getpid());
	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	fd = manager(path);
	setenv("WATCHDOG_USEC", "2000000", 1);
	setenv("WATCHDOG_PID", pid, 1);
	for (int64_t ms = 1; ms <= 10000; ms += 10) { /* a loop of ten seconds */
		systemd_watchdog((struct mono){ ms * 1000000 });
		if (strcmp(hear(fd), "WATCHDOG=1") == 0)
			count++;
		assert_string_equal(hear(fd), "");
	}
	assert_int_equal(count, 10);
	close(fd);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(notifications_arrive_unchanged),
		cmocka_unit_test(without_a_manager_notifications_do_nothing),
		cmocka_unit_test(a_manager_that_does_not_read_is_not_waited_for),
		cmocka_unit_test(the_watchdog_is_notified_twice_per_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What check_front and check_back send each other: datagrams on Unix sockets in one folder. */
#ifndef HONE_TESTS_SCENARIO_CHECK_MESSAGE_H
#define HONE_TESTS_SCENARIO_CHECK_MESSAGE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct check_message {
	uint32_t number;     /* of the request */
	uint32_t work_us;    /* how long the work takes */
	uint8_t carrier[32]; /* a struct hone_carrier */
};

static inline struct sockaddr_un
check_address(const char *folder, const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof a.sun_path, "%.80s/%s", folder, name);
	return a;
}

/* A socket bound to the name in the folder. Ends the program if that fails. */
static inline int
check_socket(const char *folder, const char *name)
{
	struct sockaddr_un a = check_address(folder, name);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	unlink(a.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0) {
		perror(a.sun_path);
		exit(1);
	}
	return fd;
}

static inline void
check_send(int fd, const char *folder, const char *name, const struct check_message *m)
{
	struct sockaddr_un a = check_address(folder, name);

	sendto(fd, m, sizeof *m, 0, (struct sockaddr *)&a, sizeof a);
}

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hostile_knock TABLE: says again and again, as fast as it can, that requests of its own are not recorded: it
 * connects to the socket beside the table of rates, and reads the table.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "instrument/policy.h"

int
main(int argc, char **argv)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (argc != 2)
		return 2;
	snprintf(at.sun_path, sizeof at.sun_path, "%s" HONE_POLICY_KNOCK, argv[1]);
	for (;;) {
		char byte;
		int fd = open(argv[1], O_RDONLY);

		if (fd < 0 || read(fd, &byte, 1) != 1)
			return 1;
		close(fd);
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
		(void)!connect(
		    fd, (const struct sockaddr *)&at, sizeof at); /* the queue may be full */
		close(fd);
	}
}

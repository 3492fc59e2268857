/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where to listen: "127.0.0.1:4318", "[::1]:4318". */
#ifndef BASE_LISTEN_ADDRESS_H
#define BASE_LISTEN_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

struct listen_address {
	struct sockaddr_storage place;
	int host_len; /* of the text: up to the colon before the port */
	bool local;   /* of this machine's loopback */
};

/* False: it is no address. Names are not looked up. */
bool listen_address_read(struct listen_address *ret, const char *text);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A listening socket (ipc:///path, tls://host:port or tcp://host:port) for one event loop: accepting never waits, and what
 * it gives are plain non-blocking sockets. Peers dial it with stream_dial() (base/stream.h). For one thread at a time.
 */
#ifndef BASE_LISTEN_SOCKET_H
#define BASE_LISTEN_SOCKET_H

#include <stdbool.h>

#include "base/err.h"

enum { ACCEPTED_ADDRESS_BYTES = 48 };

struct listen_socket;

struct accepted_socket {
	int fd;       /* the caller's; non-blocking, closed by exec */
	bool local;   /* connected by a local socket */
	int uid, pid; /* of the peer of a local socket, by the kernel; else -1 */
	/* "192.0.2.7", "2001:db8::1"; "": a local socket */
	char address[ACCEPTED_ADDRESS_BYTES];
	/* The same, but of IPv6 its /64 network, all of which one party has: "2001:db8::/64". */
	char network[ACCEPTED_ADDRESS_BYTES];
};

/*
 * Listens. A socket file is created with `mode`; a stale one that no program listens on is replaced, by one of several programs that
 * start at once: each has the lock of the folder for that, and waits for it at most 1 s. Port 0 takes a free
 * port, which listen_socket_url() names. Of a host name the first address that can be bound is taken; an empty name or *
 * is every address of the machine. ERR_BUSY: another program listens there, or the path is a file of another kind;
 * ERR_INPUT: malformed URL; ERR_SYSTEM; ERR_MEMORY.
 *
 * TCP: the kernel passes a connection on when its first bytes have come, or after 3 s (TCP_DEFER_ACCEPT), so silent ones
 * hold no place here, unless there are so many that the kernel answers with SYN cookies. For protocols in which the side
 * that dials begins.
 */
int listen_socket_open(struct listen_socket **ret, const char *url, unsigned mode, struct err *e);
const char *listen_socket_url(const struct listen_socket *l);
int listen_socket_fd(const struct listen_socket *l); /* to wait for; not to be closed */

/* A connection that waits, if there is one. ERR_MISSING: there is none; ERR_FULL: too many open files; ERR_SYSTEM. */
int listen_socket_accept(struct listen_socket *l, struct accepted_socket *ret, struct err *e);

void listen_socket_close(struct listen_socket *l); /* removes the socket file; NULL is fine */

#endif

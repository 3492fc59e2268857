/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A connection that a test or bench has accepted, which plays a controller: what honed does without waiting
 * (base/listen_socket.h, base/channel.h), as calls that wait, each with a time limit. One thread may read and another one
 * write at the same time.
 */
#ifndef TESTS_COMMON_ACCEPTED_H
#define TESTS_COMMON_ACCEPTED_H

#include <stddef.h>

#include "base/err.h"
#include "base/listen_socket.h"

struct accepted;
struct tls; /* base/tls.h */

/* Listens, a socket file for its owner alone. Unlike honed's, it gives TCP connections on before their first byte has come,
 * since here the accepting side may speak first. Errors of listen_socket_open(). */
int accepted_listen(struct listen_socket **ret, const char *url, struct err *e);

/* Waits for a connection. ERR_TIMEOUT; errors of listen_socket_accept(); ERR_MEMORY. */
int accepted_open(struct accepted **ret, struct listen_socket *l, int timeout_ms, struct err *e);

/* Does the handshake of a tls:// peer. ERR_DENIED: one side refuses the other; ERR_INPUT: the peer does not speak TLS;
 * ERR_PEER: it is gone; ERR_TIMEOUT; ERR_MEMORY. */
int accepted_secure(struct accepted *a, struct tls *t, int timeout_ms, struct err *e);

/* As channel_peer_name() and channel_trusted(). */
const char *accepted_name(struct accepted *a);
int accepted_trusted(struct accepted *a, struct err *e);

/* All len bytes, or a failure: ERR_TIMEOUT, ERR_PEER, ERR_MEMORY; with TLS also ERR_INPUT. */
int accepted_read(struct accepted *a, void *data, size_t len, int timeout_ms, struct err *e);
int accepted_write(struct accepted *a, const void *data, size_t len, int timeout_ms, struct err *e);

/* Ends the connection, so that calls that wait fail with ERR_PEER. From any thread. */
void accepted_abort(struct accepted *a);

void accepted_close(struct accepted *a); /* NULL is fine; no call on it may be under way */

#endif

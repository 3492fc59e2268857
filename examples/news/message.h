/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the programs of the news site say to each other: one message is one packet of a Unix socket
 * (SOCK_SEQPACKET), so it arrives whole or not at all, and threads may send on one socket. The carrier travels
 * as plain bytes, since both ends run on one machine.
 */
#ifndef NEWS_MESSAGE_H
#define NEWS_MESSAGE_H

#include <stdint.h>
#include "instrument/hone.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MESSAGE_TEXT = 2048 };

/* In a question: what to do. In an answer: how it went. */
enum message_op { OP_READ = 1, OP_PUBLISH, OP_SEARCH, OP_GET, OP_PUT, OP_ADS };
enum message_status { STATUS_OK = 200, STATUS_MISSING = 404, STATUS_BUSY = 503 };

struct message {
	uint32_t id;     /* chosen by the asker, repeated in the answer */
	uint32_t op;     /* enum message_op or message_status */
	int32_t number;  /* an article, a count */
	uint32_t length; /* of text */
	struct hone_carrier carrier;
	char text[MESSAGE_TEXT];
};

/* Sockets named DIR/NAME.sock. The descriptor; -1: failed, with a message on stderr. message_connect() waits up to 20 s
 * until the other program listens. */
int message_listen(const char *dir, const char *name);
int message_connect(const char *dir, const char *name);

/* Sends the used part. 0; -1: the other side is gone. May wait while the receiver's queue is full. */
int message_send(int fd, const struct message *m);

/* Waits for a message. 1; 0: the other side is gone, or sent something malformed. */
int message_receive(int fd, struct message *m);

/* Sends *m and receives the answer into *m. 0; -1: the other side is gone. */
int message_ask(int fd, struct message *m);

#ifdef __cplusplus
}
#endif
#endif

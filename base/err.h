/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error codes, and the text that tells a person what failed, where, and what to do. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err_code {
	ERR_OK = 0,
	ERR_SYSTEM = -1,   /* the operating system refused a call */
	ERR_MEMORY = -2,   /* out of memory, or over a configured limit of memory */
	ERR_INPUT = -3,    /* malformed message, file or command line */
	ERR_VERSION = -4,  /* well formed, but of a version that is not supported */
	ERR_STORE = -5,    /* the database */
	ERR_TRACER = -6,   /* LTTng */
	ERR_PEER = -7,     /* the other side is gone, or refuses us */
	ERR_TIMEOUT = -8,  /* a time limit has passed */
	ERR_FULL = -9,     /* a queue, a table, or a disk is full */
	ERR_MISSING = -10, /* it does not exist */
	ERR_BUSY = -11,    /* it exists already, or another process uses it */
	ERR_DENIED = -12,  /* the caller lacks the right */
};

struct err {
	int code; /* enum err_code */
	char text[400];
};

/* Sets text and code (e may be NULL) and returns the code, so that a failure is one statement:
 *	return err_set(e, ERR_INPUT, "%s: no such key", key);
 * Text that does not fit is cut. Arguments may point into e->text. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same with ": " and strerror(errno) at the end; the code is ERR_SYSTEM. */
int err_errno(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts the formatted text and ": " in front of e->text. Returns e->code, or ERR_OK if e is NULL. */
int err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

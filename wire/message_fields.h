/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside wire/: names, texts and shares, as the small messages have them. */
#ifndef WIRE_MESSAGE_FIELDS_H
#define WIRE_MESSAGE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* Appends at most max_len bytes of s (NULL is ""), as a varint length and bytes. */
void put_name(struct buf *b, const char *s, size_t max_len);

/* Copies a text into the arena, terminated. ERR_INPUT: cut off, over max_len, or with a 0 byte; ERR_MEMORY. */
int take_text(const char **ret, struct reader *r, struct arena *a, size_t max_len);

/* The same for a name: ERR_INPUT also if it is empty or has control characters. */
int take_name(const char **ret, struct reader *r, struct arena *a, size_t max_len);

/* A double between 0 and 1. False: out of range, NaN, or cut off. */
bool take_share(double *ret, struct reader *r);

/* Whether the name has the form "provider:event" ("provider:*" too). */
bool is_tracepoint(const char *name);

/* 0, or ERR_INPUT if the message `what` was cut off or has bytes left. */
int take_end(const struct reader *r, const char *what, struct err *e);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside wire/: names, words and shares, as all small messages carry them. */
#ifndef WIRE_MESSAGE_FIELDS_H
#define WIRE_MESSAGE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* At most max_len bytes of s (NULL is ""), as a varint length and bytes. */
void put_name(struct buf *b, const char *s, size_t max_len);

/* Words, terminated, copied into the arena. ERR_INPUT: cut off, over max_len, or a 0 inside;
 * ERR_MEMORY. */
int take_text(const char **ret, struct reader *r, struct arena *a, size_t max_len);

/* The same for a name: not empty, nothing unprintable (also ERR_INPUT). */
int take_name(const char **ret, struct reader *r, struct arena *a, size_t max_len);

/* A double between 0 and 1; false: it is not, or it is cut off. */
bool take_share(double *ret, struct reader *r);

/* "provider:event" or "provider:*". */
bool is_tracepoint(const char *name);

/* ERR_INPUT if the message `what` was cut off, or has bytes left. */
int take_end(const struct reader *r, const char *what, struct err *e);

#endif

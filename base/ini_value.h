/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside base/ini*.c: parsing and printing of one value. */
#ifndef BASE_INI_VALUE_H
#define BASE_INI_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/ini_key.h"

enum { INI_LINE_MAX_BYTES = 4096 };

struct piece { /* a part of a line, not terminated */
	const char *s;
	size_t len;
};

bool piece_is(struct piece p, const char *s);
struct piece piece_trim(struct piece p); /* without blanks and tabs at both ends */

/* Sets the value of k in the configuration. ERR_INPUT with what is allowed, or ERR_MEMORY; the
 * value is then unchanged. */
int ini_value_set(const struct ini_key *k, void *config, struct piece text, struct err *e);

/* Appends the shortest text that ini_value_set() parses to the same value. */
void ini_value_print(struct buf *b, const struct ini_key *k, const void *config);

/* Appends "1ms to 1h", or "at least 1ms" if the maximum is 2^62 or more; nothing if the key has no
 * limits. */
void ini_value_bounds(struct buf *b, const struct ini_key *k);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside base/ini*.c: one value, from words and to words. */
#ifndef BASE_INI_VALUE_H
#define BASE_INI_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/ini.h"

enum { INI_LINE_MAX_BYTES = 4096 };

struct piece { /* of a line, not terminated */
	const char *s;
	size_t len;
};

bool piece_is(struct piece p, const char *s);
struct piece piece_trim(struct piece p); /* without blanks at both ends */

/* Sets the value of k in the configuration, or says in *e what was wanted (ERR_INPUT; ERR_MEMORY)
 * and leaves it. */
int ini_value_set(const struct ini_key *k, void *config, struct piece words, struct err *e);

/* Appends the shortest words that ini_value_set() takes for the same value. */
void ini_value_print(struct buf *b, const struct ini_key *k, const void *config);

/* Appends "1ms to 1h", or "at least 1ms" where the upper one is past all numbers; nothing where any
 * value will do. */
void ini_value_bounds(struct buf *b, const struct ini_key *k);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The severity of a tracepoint, which its author gave it: less severe ones have greater numbers. */
#ifndef WIRE_LOGLEVEL_H
#define WIRE_LOGLEVEL_H

#include <stdbool.h>
#include <stdint.h>

enum loglevel {
#define LOGLEVEL(name, number, word) LOGLEVEL_##name = number,
#include "wire/loglevels.tbl.h"
#undef LOGLEVEL
	LOGLEVELS,
	/* Of a tracepoint: it has none, as a USDT probe. Of a service: no tracepoint is on by its level. */
	LOGLEVEL_NONE = 255
};

/* What LTTng gives a tracepoint whose author said nothing. */
#define LOGLEVEL_USUAL LOGLEVEL_DEBUG_LINE

static inline bool
loglevel_fits(uint8_t level)
{
	return level < LOGLEVELS || level == LOGLEVEL_NONE;
}

/* "info"; "off" for LOGLEVEL_NONE. The level fits. */
const char *loglevel_word(uint8_t level);

/* The level of a word, or of another word for it ("warn", "log"); "off" is LOGLEVEL_NONE. False: it is none, and *ret stays. */
bool loglevel_read(const char *word, uint8_t *ret);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flags of hone (cli/flags.tbl.h). */
#ifndef CLI_FLAG_H
#define CLI_FLAG_H

#include <stdbool.h>

enum flag {
#define FLAG(name, written, value, help) FLAG_##name,
#include "cli/flags.tbl.h"
#undef FLAG
	FLAGS
};

/* A set of flags: there are more than 64. */
__extension__ typedef unsigned __int128 flag_set;
_Static_assert(FLAGS <= 128, "a set of flags has 128 bits");

#define FLAG_BIT(name) ((flag_set)1 << FLAG_##name)
/* of commands that ask honed; of those that analyse traces */
#define FLAGS_ASK (FLAG_BIT(SOCKET) | FLAG_BIT(TIMEOUT))
#define FLAGS_ANALYSE                                                                      \
	(FLAG_BIT(FORMAT) | FLAG_BIT(CORRELATE) | FLAG_BIT(MAP) | FLAG_BIT(TYPE) |         \
	    FLAG_BIT(IGNORE) | FLAG_BIT(BIN) | FLAG_BIT(CONFIDENCE) | FLAG_BIT(CV) |       \
	    FLAG_BIT(MIN_TRACES) | FLAG_BIT(SEED) | FLAG_BIT(MEMORY) | FLAG_BIT(GATEWAY) | \
	    FLAG_BIT(RULE) | FLAG_BIT(COUNT))

struct flag_text {
	const char *name;  /* "--seed" */
	const char *value; /* what it takes, for --help; NULL: no value */
	const char *help;
};
extern const struct flag_text flag_texts[FLAGS];

static inline bool
flag_in(flag_set set, enum flag f)
{
	return set >> f & 1;
}

#endif

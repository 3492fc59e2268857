/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which connection is closed when too many have not identified themselves, and which sources have used up their
 * failures. Pure. A source is the address of another machine (of IPv6 its /64 network) or a local user.
 *
 * Sources are counted in cells, which a keyed hash chooses: fixed memory however many sources there are, and nobody
 * can choose whose cell he shares.
 */
#ifndef CONTROLPLANE_SERVER_STRANGERS_H
#define CONTROLPLANE_SERVER_STRANGERS_H

#include <stdbool.h>

#include "base/rng.h"
#include "controlplane/server/bucket.h"

enum {
	SOURCE_CELLS = 1024,
	SOURCE_PART = 4, /* a remote source has at most one in this many of strangers_max */
	/* Connections of a source that may send something and end without HELLO: each may cost a
	 * handshake, about 1 ms of CPU. */
	FAILURES_PER_S = 20,
	FAILURES_AT_ONCE = 100,
};

struct stranger {
	unsigned cell; /* of its source */
	bool spoke;    /* bytes came from it */
};

/* What admits a new connection. */
struct admission {
	int max;   /* strangers at this door */
	int share; /* of one source */
};

enum { CLOSE_NONE = -1, CLOSE_NEW = -2 };

/*
 * Which of all[0..n) is closed for a new connection from `cell`: its index, CLOSE_NONE if there is room, or
 * CLOSE_NEW: the new one itself.
 *
 *	1. Its source has `share` strangers: one of that source.
 *	2. There are `max` strangers: one of the source that has the most, the new one included.
 *	3. Otherwise there is room.
 *
 * Of the source's strangers, a silent one goes before one that spoke, and the new one has said nothing yet; among
 * equals chance decides. Were it the oldest, a fast source would always close the peers with the longest way to us.
 * O(n + SOURCE_CELLS).
 */
int stranger_to_close(const struct stranger *all, int n, unsigned cell,
    const struct admission *limits, struct rng *rng);

/* The cell of a source; secret: hash_seed(). O(length). */
unsigned source_cell(uint64_t secret, const char *source);

struct sources {
	struct bucket failures[SOURCE_CELLS];
};

void sources_init(struct sources *s, struct mono now);
/* A connection of this source has sent something and ended without identifying itself. */
void source_failed(struct sources *s, unsigned cell, struct mono now);
/* Whether connections of this source are closed without reading until it has failed less. */
bool source_penalised(struct sources *s, unsigned cell, struct mono now);

#endif

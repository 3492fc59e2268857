/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decides in which of an agent's sessions a tracepoint is enabled. A change costs the enabled rules
 * of its session times the tracepoints of the node; other sessions cost it nothing. So there are
 * many sessions with few rules each (a "shard").
 *
 * A record that matches rules of two sessions is written twice. So all wildcards are in session 0,
 * the base, which always has "hone:*", and so are the tracepoints that an enabled wildcard describes.
 *
 * It makes no calls: it says where, and is told what was done.
 */
#ifndef AGENT_TRACER_SHARDS_H
#define AGENT_TRACER_SHARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/tracer/tracer.h"

enum { SHARDS_MAX = 256, SHARD_BASE = 0, SHARD_NONE = -1 };

#define SHARDS_ALWAYS_ON "hone:*"

struct shards;

/* Up to `most` sessions beside the base (at most SHARDS_MAX), with `rules_each` enabled rules (at
 * least 1) until all are open, and more then. NULL: out of memory. */
struct shards *shards_new(uint32_t most, uint32_t rules_each);
void shards_free(struct shards *s);   /* NULL is fine */
void shards_forget(struct shards *s); /* no rule is enabled, only the base is open */

/* The session in which to enable it: an open one, or SHARD_NONE: open that of shards_vacant() first.
 * Where it is enabled already, that session. O(enabled wildcards + sessions). */
int shards_place(struct shards *s, const char *name);

/* The session in which it is enabled; SHARD_NONE: in none. O(1). */
int shards_where(const struct shards *s, const char *name);

/* It was enabled or disabled in that session, which is open. False: out of memory; nothing has
 * changed. */
bool shards_switched(struct shards *s, const char *name, int shard, bool on);

/* The widest filter with which it is enabled, as shards_set_filter() said; until it is disabled. */
enum tracer_filter shards_filter(const struct shards *s, const char *name);
void shards_set_filter(struct shards *s, const char *name,
    enum tracer_filter filter); /* no effect unless it is enabled */

/* A name that the wildcard describes and that is enabled outside of the base: it has to be moved
 * there before the wildcard is enabled. NULL: none is left. O(names). */
const char *shards_covered(const struct shards *s, const char *wildcard);

int shards_vacant(const struct shards *s);       /* a session that can be opened; SHARD_NONE */
void shards_opened(struct shards *s, int shard); /* not the base */
void shards_closed(struct shards *s, int shard); /* all rules in it are gone; not the base */

/* A session should be opened ahead: the open ones have room for less than half a session. */
bool shards_wants_spare(const struct shards *s);

/* A session to end, when no rule is enabled outside of the base: one with too many disabled rules,
 * which LTTng keeps as long as the session lives, or else the last one, if another stays open as a
 * spare. SHARD_NONE. */
int shards_to_close(const struct shards *s);

uint32_t shards_on(const struct shards *s, int shard); /* number of enabled rules */

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which of an agent's sessions a tracepoint is switched on in. A change costs
 * its session's rules that are on, times the tracepoints of the node; other
 * sessions cost it nothing. So there are many sessions of few rules.
 *
 * What matches in two sessions is recorded twice; so whatever a wildcard that
 * is on describes is in the same session as the wildcard, and all wildcards are
 * in session 0, the base, which always has one: "hone:*".
 *
 * Asks nobody and does nothing: says where, and is told what was done.
 */
#ifndef AGENT_TRACER_SHARDS_H
#define AGENT_TRACER_SHARDS_H

#include <stdbool.h>
#include <stdint.h>

enum { SHARDS_MAX = 256, SHARD_BASE = 0, SHARD_NONE = -1 };

#define SHARDS_ALWAYS_ON "hone:*"

struct shards;

/* At most `most` sessions beside the base, of `rules_each` rules each while there is room; then
 * more. NULL: out of memory. */
struct shards *shards_new(uint32_t most, uint32_t rules_each);
void shards_free(struct shards *s);
void shards_forget(struct shards *s); /* nothing is on, only the base is open */

/* Where to switch it on: an open session; or SHARD_NONE: open that of shards_vacant() first. One
 * that has it on already is told again. O(wildcards on + sessions). */
int shards_place(struct shards *s, const char *name);
int shards_where(const struct shards *s, const char *name); /* where it is on; SHARD_NONE */
/* It was switched there. False: out of memory, and nothing is known of it. */
bool shards_switched(struct shards *s, const char *name, int shard, bool on);
/* Whether it is on without a filter, as we were told: it stays so until it is off. */
bool shards_plain(const struct shards *s, const char *name);
void shards_set_plain(struct shards *s, const char *name);
/* Before a wildcard goes on: a name that is on outside of the base and that it describes; NULL: no
 * more. O(names). */
const char *shards_covered(const struct shards *s, const char *wildcard);

int shards_vacant(const struct shards *s); /* a session that could be opened; SHARD_NONE */
void shards_opened(struct shards *s, int shard);
void shards_closed(struct shards *s, int shard); /* all in it is off */
/* Whether one should be opened ahead: the open ones have room for less than half a session. */
bool shards_wants_spare(const struct shards *s);
/* While nothing is on outside of the base: a session beyond the one that stays as a spare, or one
 * that has seen too many rules, since they stay in it, even off, as long as it lives. SHARD_NONE.
 */
int shards_to_close(const struct shards *s);

uint32_t shards_on(const struct shards *s, int shard); /* rules that are on there */

#endif

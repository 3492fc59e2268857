/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which tracepoints of a node are on by their log level, as names for its tracer. Where all tracepoints of a provider are, it is one name,
 * "provider:*", since each name is a rule that every later change and every new program has to evaluate. Pure.
 *
 * Never: what has no log level, as USDT probes; and the preload layer, which records every mutex and every malloc. A tracer knows names
 * and no services: a tracepoint that two services have is on in both.
 */
#ifndef CONTROLPLANE_ENGINE_LEVEL_CHOICE_H
#define CONTROLPLANE_ENGINE_LEVEL_CHOICE_H

#include "base/arena.h"
#include "controlplane/engine/binaries.h"
#include "controlplane/engine/level_rules.h"
#include "controlplane/search/preload_labels.h"

enum { LEVEL_NAMES_MAX = 1024 }; /* for one node */

struct level_choice {
	const char **names; /* sorted; in the arena */
	uint32_t n;
	uint32_t left_out;    /* beyond LEVEL_NAMES_MAX: the least severe */
	uint32_t tracepoints; /* that the names stand for */
};

/* Whether a tracepoint may be on by its log level. O(patterns of the preload layer). */
bool level_is_eligible(const struct preload_labels *preload, const char *name, uint8_t level);

/* False: out of memory; *ret is then empty. O(names of the binaries). */
bool level_choose(struct level_choice *ret, const struct level_rules *rules,
    const struct preload_labels *preload, struct binary *const *binaries, uint32_t n,
    struct arena *a);

/* Whether the tracepoint is on by one of the names. O(log names). */
bool level_choice_has(const struct level_choice *c, const char *name);
/* Whether it has a name of its own among them: no other one counts. O(log names). */
bool level_choice_names(const struct level_choice *c, const char *name);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The deeper layer: providers that a program has without having written them, LTTng's
 * preloaded helpers above all. What they tell (each mutex, each malloc) would swamp what
 * is learned and what is searched; so they are left out of both, until an edge has no
 * tracepoint of the program's own left. Then they are asked, provider by provider, inside
 * that edge alone:
 *
 *	own tracepoints are used up --> explore a provider --> its pairs and points that lie in the
 *edge, one by one ^                          |                        |
 *	                                      '------ the next one ------'---- no part took over
 *-'--> one did: the verdict
 */
#ifndef CONTROLPLANE_SEARCH_PRELOAD_LAYER_H
#define CONTROLPLANE_SEARCH_PRELOAD_LAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/label.h"

struct engine;

/* Whether "provider:event" is of a provider that search.deep names. O(patterns). */
bool deep_is(const struct engine *g, const char *name);
/* The same of a label. O(patterns), for the first time. */
bool deep_label(struct engine *g, uint32_t label);
/* All labels of the deeper layer that were ever seen; the engine's, until more labels are made.
 * O(new labels). */
const struct label_set *deep_labels(struct engine *g);

#endif

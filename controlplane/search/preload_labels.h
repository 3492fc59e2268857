/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which tracepoints belong to the preload layer: those of the providers that search.deep
 * names, LTTng's preloaded helpers above all, and begins and ends of functions (search_functions.h). They record every mutex and every malloc, so
 * they are left out of the learned space and of searches, until an edge has no tracepoint of
 * the program's own left (preload_layer.c).
 */
#ifndef CONTROLPLANE_SEARCH_PRELOAD_LABELS_H
#define CONTROLPLANE_SEARCH_PRELOAD_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/label.h"

struct preload_labels {
	const char *const *patterns; /* of providers (fnmatch), NULL at the end; NULL: none */
	const struct labels *labels;
	struct label_set set; /* of the first `checked` labels, those of the layer */
	uint32_t checked;
};

/* Both are borrowed. */
void preload_init(
    struct preload_labels *p, const char *const *patterns, const struct labels *labels);
void preload_release(struct preload_labels *p); /* all zeroes is fine */

/* Whether the provider of "provider:event" matches the pattern. */
bool preload_provider_is(const char *pattern, const char *name, size_t len);
/* Whether "provider:event" is of the layer. O(patterns). */
bool preload_is(const struct preload_labels *p, const char *name);
/* The same of a label. O(new labels x patterns). */
bool preload_label(struct preload_labels *p, uint32_t label);
/* All labels of the layer that exist; owned by *p, valid until labels are made. Without memory the
 * set lacks the newest ones; the next call adds them. O(new labels x patterns). */
const struct label_set *preload_set(struct preload_labels *p);

#endif

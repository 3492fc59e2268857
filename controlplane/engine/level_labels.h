/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of labels of tracepoints: the number of the service, and the log level that its program lists. A cache. */
#ifndef CONTROLPLANE_ENGINE_LEVEL_LABELS_H
#define CONTROLPLANE_ENGINE_LEVEL_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/label.h"
#include "controlplane/engine/binaries.h"

enum { LEVEL_SERVICES_MAX = 65536 };

struct label_level {
	uint32_t service; /* its number; UINT32_MAX: no program lists it */
	uint8_t level;    /* enum loglevel */
	bool known;       /* the other fields are set */
	/* Of levels.c: whether it is on at this node, by the choice with this number. */
	bool on;
	uint32_t node;
	uint64_t choice;
};

struct level_labels {               /* all zeroes is empty */
	struct texts *services;     /* by number */
	struct label_level *labels; /* by label */
	uint32_t cap;
	uint64_t changes; /* of the binaries that the labels were looked up in */
};

void level_labels_release(struct level_labels *x);

/* The number of a service, new or not. UINT32_MAX: out of memory, or LEVEL_SERVICES_MAX others. O(length). */
uint32_t level_labels_service(struct level_labels *x, const char *service);

/* NULL: the label is no tracepoint that a program lists, or out of memory. Valid until the next call. O(1), but O(tracepoints of all
 * binaries) for each label the first time, and after binaries have changed. */
struct label_level *level_labels_of(struct level_labels *x, const struct labels *labels,
    const struct binaries *binaries, uint32_t label);

#endif

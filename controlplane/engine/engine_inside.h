/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine itself, for engine.c and search_port.c. */
#ifndef CONTROLPLANE_ENGINE_ENGINE_INSIDE_H
#define CONTROLPLANE_ENGINE_ENGINE_INSIDE_H

#include "controlplane/engine/parts.h"
#include "controlplane/engine/rules.h"
#include "controlplane/search/port.h"

struct engine {
	struct engine_parts parts;
	struct forest *forest; /* borrowed */
	struct rules rules;
	struct preload_labels preload;
	struct search_port port;    /* see engine_search_port() */
	struct mono no_evidence_at; /* when it was looked for last */
	struct arena scratch;       /* of one trace, or one decision */
	/* Traces that were assembled elsewhere (engine_take()), for the next step: [taken_at, ntaken). */
	struct trace **taken;
	uint32_t taken_at, ntaken, taken_cap;
};

/* The port of the searches, brought up to date with the engine's state. O(1). */
struct search_port *engine_search_port(struct engine *g);

#endif

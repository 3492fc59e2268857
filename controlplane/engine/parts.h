/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of an engine, for the code that displays its state. Each is documented in its own header; to
 * change one, use the functions of engine.h; engine_parts() is there too. */
#ifndef CONTROLPLANE_ENGINE_PARTS_H
#define CONTROLPLANE_ENGINE_PARTS_H

#include "analysis/assemble.h"
#include "analysis/thread_history.h"
#include "controlplane/alerts/watcher.h"
#include "controlplane/engine/below_asked.h"
#include "controlplane/engine/captures.h"
#include "controlplane/engine/desired_state.h"
#include "controlplane/engine/engine_options.h"
#include "controlplane/engine/instrumentation.h"
#include "controlplane/engine/kept_traces.h"
#include "controlplane/engine/learned_space.h"
#include "controlplane/engine/learning.h"
#include "controlplane/engine/level_table.h"
#include "controlplane/engine/levels.h"
#include "controlplane/engine/company.h"
#include "controlplane/engine/live_report.h"
#include "controlplane/engine/nodes.h"
#include "controlplane/engine/overhead.h"
#include "controlplane/engine/queues.h"
#include "controlplane/engine/recorder_plan.h"
#include "controlplane/engine/request_types.h"
#include "controlplane/engine/sampler.h"
#include "controlplane/search/diagnose.h"

struct engine_parts {
	struct engine_options options; /* with defaults filled in; the texts are not kept */
	struct labels *labels;
	struct assemble *assemble;
	bool elsewhere; /* engine_elsewhere() was called, with these counts */
	struct assemble_counts elsewhere_counts;
	struct clocks *clocks;
	struct plan *plan;
	struct learned_space learned;
	struct nodes nodes;
	struct below_asked below;
	struct request_types types;
	struct queues queues;
	struct overhead *overhead;
	struct sampler *sampler;
	struct company company;
	struct learning learning;
	struct live_report live;
	struct kept_traces kept; /* of the same window */
	struct captures captures;
	struct recorder_plan recorder;
	struct levels levels;
	struct instrumentation instrumentation;
	struct watcher watcher;
	struct thread_history *history; /* of all types, while a diagnosis runs; else NULL */
	struct path_counts diagnosed;   /* of diagnoses; reports count their own */
	/* ns from the oldest record of each batch to its arrival here; of traces that were assembled elsewhere, from their end */
	struct sketch delay;
};

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The flight recorder by LTTng: a session in snapshot mode, whose rings overwrite their oldest records. Its rules have the filter of
 * sampled requests, so that it falls silent with the lease of sampling, and its session is named as all others of the agent
 * (session_lttng.h), so that what ends those ends this one.
 */
#ifndef AGENT_TRACER_RECORDER_LTTNG_H
#define AGENT_TRACER_RECORDER_LTTNG_H

#include "agent/tracer/session_lttng.h"
#include "agent/tracer/tracer.h"

struct recorder { /* all zeroes: it is off */
	struct session session;
	struct recorder_rules rules; /* that are enabled */
	uint32_t made, snapshots;    /* in the agent's life; both number folders */
	bool ending;                 /* its session could not be ended yet */
};

/* As `record` of struct tracer. agent: the name of the agent's base session; folder: that of its sessions. */
int recorder_set(struct recorder *r, const char *agent, const char *folder,
    const struct session_rings *rings, const char *filter, const struct recorder_rules *rules,
    struct recorder_state *ret, struct err *e);
/* As `snapshot` of struct tracer. */
int recorder_snapshot(
    struct recorder *r, const char *agent_folder, char folder[PATH_MAX], struct err *e);
/* Frees memory; the session daemon keeps the session. */
void recorder_forget(struct recorder *r);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's part of the flight recorder: has the tracer record what the controller wants of it (wire/keep.h), and answers keeps.
 *
 *	wanted, leased ---> TASK_RECORD, again each 5 s ---> on ---> the lease ends, or it is not wanted ---> TASK_RECORD without rules
 *	keeps wait ---> TASK_SNAPSHOT ---> read, one ring a turn ---> KEPT for each of them; the folder is removed
 *
 * One snapshot serves all keeps that wait, and the next one is taken SNAPSHOT_EVERY_NS later at the earliest. Keeps that come while it is
 * taken wait for the next.
 */
#ifndef AGENT_MAIN_AGENT_RECORDER_H
#define AGENT_MAIN_AGENT_RECORDER_H

#include "agent/main/agent_state.h"

/* Takes what is wanted, until the lease ends. */
void recorder_want(struct agent *a, const struct want *w, struct mono now);

/* One turn: takes keeps, reads a ring of the snapshot, measures once a second what was written. */
void recorder_turn(struct agent *a, struct mono now);

/* Gives the tracer's thread, which is idle, a task if one is due: true. */
bool recorder_give_task(struct agent *a, struct mono now);
/* The result of TASK_RECORD or TASK_SNAPSHOT. */
void recorder_result(struct agent *a, struct task_result *r);
/* The tracer's sessions are gone, and with them the recorder. */
void recorder_lost(struct agent *a);

/* What the status says of it; texts are valid until the next turn. */
void recorder_status(const struct agent *a, struct status *s);

void recorder_release(struct agent *a);

#endif

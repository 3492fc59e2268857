/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's part of USDT probes, and of begins and ends of functions, which are tracepoints that hone-below switches (wire/below.h):
 *
 *	a program is new ---> LIST its probes ---> they are among its tracepoints (inventory.h)
 *	a LIST is not answered, or gives nothing where the file of a program is unknown ---> pause: 5 s, then 10 s, up to 300 s
 *	"usdt." names are wanted (reconcile.h) ---> PROBE each, in all programs that have it ---> done
 *	"func." names are wanted ---> PROBE each, in the files of a process of its service ---> done
 *
 * A program that a mapping describes by USDT probes alone needs no LTTng (probed_programs.h).
 */
#ifndef AGENT_MAIN_AGENT_PROBES_H
#define AGENT_MAIN_AGENT_PROBES_H

#include "agent/main/agent_state.h"

/* hone-below is needed: a probe is wanted, or a program's are not listed. */
bool probes_need(const struct agent *a, struct mono now);

/* The process has to be followed for its probes. */
bool probes_follow(const struct agent *a, const struct source_process *p);

/* A running program has the tracepoint, as inventory_has(); of a function: it is on. The first argument is a struct agent, so that it can
 * serve as a callback. */
bool probes_exist(void *agent, const char *name);

/* One turn; active: hone-below can be told. */
void probes_turn(struct agent *a, bool active, struct mono now);

/* What hone-below answers, for source_below_open(). */
struct source_below_answers probes_answers(struct agent *a);

/* hone-below has ended, or was: all is off. */
void probes_ended(struct agent *a, struct mono now);

void probes_release(struct agent *a);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A door: one protocol through which honed is reached from outside. The doors stand in doors.tbl.h;
 * each is a file door_NAME.c that defines `const struct door_ops door_NAME`. All functions run in
 * honed's one thread, between two steps of the engine. CONTRIBUTING.md ("Adding a door") shows how
 * to write one.
 */
#ifndef CONTROLPLANE_HONED_DOOR_H
#define CONTROLPLANE_HONED_DOOR_H

#include "base/clock.h"
#include "base/err.h"
#include "controlplane/honed/honed_config.h"
#include "controlplane/honed/questions.h"

struct door_ops {
	const char *name;
	/* Listens at the address that the configuration gives. *state NULL and 0: it gives none, and
	 * the door stays closed. The arguments outlive the door. */
	int (*open)(
	    void **state, const struct config *c, struct questions *questions, struct err *e);
	/* Accepts, reads, answers. Must not wait: it is called every 20 ms, or sooner. Trouble of a
	 * peer is the door's own to handle. */
	void (*step)(void *state, struct mono now);
	/* Closes the listener and all connections. */
	void (*close)(void *state);
	/* Where it really listens; valid until close. */
	const char *(*url)(const void *state);
};

#endif

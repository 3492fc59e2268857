/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps the learned space in its file: loads it, saves it after learning, and uses the version of it
 * that was learned of the programs that run. */
#ifndef CONTROLPLANE_HONED_SPACE_KEEPER_H
#define CONTROLPLANE_HONED_SPACE_KEEPER_H

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "controlplane/engine/engine.h"

struct space_keeper {
	const char *path;         /* borrowed */
	struct engine *engine;    /* borrowed */
	uint64_t fingerprint;     /* of the programs that run, ... */
	struct mono since;        /* ... since then */
	uint64_t chosen;          /* the fingerprint that the space was chosen for last */
	const struct space *seen; /* the engine's, at the last look; NULL: none yet */
};

/* Loads the newest version of the file into the engine's space, if there is a file. */
int space_keeper_load(struct space_keeper *k, struct err *e);
/* Saves the space if learning has ended, or a diagnosis that added to it. */
void space_keeper_save(struct space_keeper *k);
/*
 * When the programs that run have changed and stayed the same for 2 s (a start, a roll-out, a
 * roll-back), uses the newest version of the file that was learned of these programs. A version
 * that an operator chooses stays until the programs change again. Not while anything is
 * learned or diagnosed.
 */
void space_keeper_choose(struct space_keeper *k);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps the healthy windows of watched request types in a file: watch.healthy in honed.conf(5). */
#ifndef CONTROLPLANE_HONED_HEALTHY_KEEPER_H
#define CONTROLPLANE_HONED_HEALTHY_KEEPER_H

#include "controlplane/alerts/healthy_store.h"
#include "controlplane/engine/engine.h"

#define HEALTHY_FILE "healthy.db"

struct healthy_keeper {
	char *path;
	struct healthy_store *store; /* NULL: the file does not exist yet */
	struct engine *engine;       /* borrowed */
	struct err trouble;          /* of the last attempt; code 0: none */
};

/* path "": healthy.db in the folder of `beside`. A file that does not exist is made when a type is watched. Errors of
 * healthy_store_open(). */
int healthy_keeper_open(struct healthy_keeper *k, struct engine *g, const char *path,
    const char *beside, struct err *e);
/* Loads the windows of types that are new, and stores what is new of the others, in one transaction. Trouble is logged once, and
 * what could not be stored is tried again. O(types), and O(log rows) for each new window. */
void healthy_keeper_step(struct healthy_keeper *k);
void healthy_keeper_close(struct healthy_keeper *k);

#endif

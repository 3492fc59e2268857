/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The learned space in use, of which version of the application it is, and whether it has to be
 * saved. */
#ifndef CONTROLPLANE_ENGINE_LEARNED_SPACE_H
#define CONTROLPLANE_ENGINE_LEARNED_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "controlplane/engine/nodes.h"
#include "controlplane/engine/request_types.h"
#include "searchspace/space.h"

struct learned_space {
	struct space *space;
	uint64_t number; /* of the space in use: how many there were before it */
	bool taught;     /* a diagnosis added to it since it was saved */
	bool unsaved;    /* it is time to save it; learned_space_unsaved() clears this */
	uint64_t fingerprint, fingerprint_of; /* cached, of nodes.binaries.changes + 1 */
};

/* Takes ownership of `space`; the former one is freed. */
void learned_space_use(struct learned_space *ls, struct space *space);
/* nodes_fingerprint(), cached until programs change. */
uint64_t learned_space_fingerprint(
    struct learned_space *ls, const struct nodes *nodes, const struct preload_labels *preload);
/* The space was learned of another version of the application than the one that runs. False if
 * either is not known. */
bool learned_space_stale(
    struct learned_space *ls, const struct nodes *nodes, const struct preload_labels *preload);

/* Adds a trace of a type under diagnosis if it shows a label that the space has not, in the
 * context of its unit; always: without that condition. Incomplete traces and those that are not
 * probed are left out. O(events); O(places) once for each space. ERR_MEMORY. */
int learned_space_add(struct learned_space *ls, struct request_type *type, const struct trace *t,
    const struct labels *labels, struct preload_labels *preload, bool always, struct err *e);
/* A diagnosis has ended: if it added something the space is to be saved. It is of the programs that
 * run if it was of none before. */
void learned_space_diagnosed(struct learned_space *ls, const struct nodes *nodes,
    const struct preload_labels *preload, struct wall when);
/* True once after learning has ended, or learned_space_diagnosed() found something to save. */
bool learned_space_unsaved(struct learned_space *ls);

#endif

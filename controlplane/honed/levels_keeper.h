/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keeps the log levels that operators have set in a text file, levels.file in honed.conf(5), so that they hold when honed is started again.
 * A line for each rule, the last that matches a service holds:
 *
 *	info shop-*
 *	debug shop-cart
 */
#ifndef CONTROLPLANE_HONED_LEVELS_KEEPER_H
#define CONTROLPLANE_HONED_LEVELS_KEEPER_H

#include "base/clock.h"
#include "controlplane/engine/engine.h"

#define LEVELS_FILE "levels"

struct levels_keeper {
	char *path;
	struct engine *engine; /* borrowed */
	struct err trouble;    /* of the last attempt to write; code 0: none */
	struct mono tried;
};

/* path "": levels in the folder of `beside`. Reads the file, if there is one, into the engine. ERR_INPUT: a line is malformed, with its
 * number, or the file is longer than any that honed writes; ERR_SYSTEM: it cannot be read; ERR_MEMORY. *k is to be closed in any case. */
int levels_keeper_open(
    struct levels_keeper *k, struct engine *g, const char *path, const char *beside, struct err *e);
/* Writes the file anew if the rules have changed: whole, or not at all. Trouble is logged once, and it is tried again each second. */
void levels_keeper_step(struct levels_keeper *k, struct mono now);
void levels_keeper_close(struct levels_keeper *k);

/* The rules of a file's text. Errors as above; *ret is then unchanged. O(len). */
int levels_read(
    struct level_rules *ret, const char *path, const char *text, size_t len, struct err *e);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of [kernel] in hone-agent.conf, with commas or blanks between their items. */
#ifndef AGENT_MAIN_KERNEL_GATEWAYS_H
#define AGENT_MAIN_KERNEL_GATEWAYS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "kernel/requests/gateways.h"

/* Appends the items to ret, in the arena; *n of them are there. ERR_INPUT: more than max; ERR_MEMORY. */
int kernel_list_read(
    const char *list, struct arena *a, const char **ret, uint32_t *n, uint32_t max, struct err *e);

/* The gateways of a list of addresses and networks; *ret is the caller's, until gateways_free(). Errors of gateways_add(). */
int kernel_gateways_read(struct gateways **ret, const char *list, struct err *e);

#endif

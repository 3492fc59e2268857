/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tracepoints of programs, kept once for all nodes: thousands of nodes run the same few programs, and the list of one has thousands
 * of names. Two programs are the same here if they have the same service and the same tracepoints, with the same log levels, in the same order.
 */
#ifndef CONTROLPLANE_ENGINE_BINARIES_H
#define CONTROLPLANE_ENGINE_BINARIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash_table.h"
#include "base/texts.h"

struct binary {
	const char *service;
	uint32_t n;
	const char **names;    /* "provider:event" */
	const uint8_t *levels; /* of the names: enum loglevel */
	struct texts *has;     /* the names, and "provider:*" of each provider */
	uint64_t refs, hash;
	struct arena arena; /* of the texts above */
};

struct binaries {              /* all zeroes is empty */
	struct binary **items; /* NULL: a free place */
	uint32_t n, cap;
	struct hash_table index;
	uint64_t seed;    /* of its hashes, since agents choose the names; 0: none yet */
	uint64_t changes; /* grows when one comes or goes */
};

void binaries_release(struct binaries *b); /* also those that are still referenced */

/* The binary with these tracepoints, one reference the caller's; they are copied if it is new. levels NULL: they have none. NULL: out of
 * memory. O(names). */
struct binary *binaries_ref(struct binaries *b, const char *service, const char *const *names,
    const uint8_t *levels, uint32_t n);
/* Gives a reference back; the last one frees the binary. O(1), or O(names). */
void binaries_unref(struct binaries *b, struct binary *x);

/* Whether it has the tracepoint "provider:event", or with "provider:*" one of the provider. O(length). */
bool binary_has(const struct binary *x, const char *tracepoint);

#endif

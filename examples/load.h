/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The load generator of the examples. The content of the k-th request depends only on the seed and k. With a rate,
 * requests are sent at times of a Poisson process, which depend on the seed only; without, each connection sends its next
 * request after the answer and a pause.
 */
#ifndef EXAMPLES_LOAD_H
#define EXAMPLES_LOAD_H

#include <stddef.h>
#include <stdint.h>

enum { LOAD_TYPES_MAX = 8 };

struct load_type {
	const char *name;
	int weight; /* by default; --mix gives others */
};

struct load_app {
	const char *program; /* its name, for messages */
	const char *to;      /* the service that receives the requests */
	struct load_type
	    *types; /* ends with an entry of all zeroes; at most LOAD_TYPES_MAX before it */
	/* Writes the path of request k; returns 1 for POST, 0 for GET. */
	int (*path)(uint64_t k, int type, char *out, size_t size);
};

/* The exit status. */
int load_main(int argc, char **argv, const struct load_app *app);

/* Random numbers that depend on the seed, on k and on `which` only; the second is uniform in [0, 1). */
uint64_t load_chance(uint64_t k, uint64_t which);
double load_share(uint64_t k, uint64_t which);

#endif
